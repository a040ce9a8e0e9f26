--- LoRA adapters from scripts: what is loaded, who waits, what routers see and results tell.
local blis = require "blis"
local files = require "spec.support.files"

--- Requests one after the other, from a list of { arrival_us, adapter, output tokens }.
local function traffic(list)
  local i = 0
  return {
    generator = function()
      i = i + 1
      local one = list[i]
      return one and { arrival_us = one[1], prompt_tokens = one.prompt or 16,
        timeout_us = one.timeout_us,
        output_tokens = one[3], adapter = one[2], prefix_group = one.group,
        prefix_tokens = one.group and 16 or nil, session = one.session } or nil
    end,
    requests = #list,
  }
end

local function run(lora, list, more)
  local cluster = { instances = 1, kv_blocks = 1000, lora = lora, async_scheduling = false,
    latency_model = blis.latency_model { name = "even", step_time = function() return 1000 end } }
  for key, value in pairs(more or {}) do cluster[key] = value end
  local profile, routing = cluster.profile, cluster.routing
  cluster.profile, cluster.routing = nil, nil
  return blis.run { cluster = cluster, workload = traffic(list), profile = profile,
    routing = routing }
end

-- 1000 us + 8 * 10 MB / 20,000 bytes per us = 5000 us.
local function example(more)
  local lora = { adapters = { "a", "b", "c" }, rank = 8, slots = 2, load_base_latency_us = 1000,
    footprint_bytes_per_rank = 10000000, load_bandwidth_bytes_us = 20000,
    step_overhead_tiers = {} }
  for key, value in pairs(more or {}) do lora[key] = value end
  return lora
end

local four = { { 0, "a", 40 }, { 0, "b", 60 }, { 0, "a", 40 }, { 0, "c", 10 } }

local function starts(r)
  local at = {}
  for i = 1, #r.requests do
    at[i] = r.requests[i].arrival_us + r.requests[i].scheduling_delay_us
  end
  return at
end

local function says(pattern, fn, ...)
  local ok, message = pcall(fn, ...)
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

describe("LoRA adapters", function()
  it("are loaded one after the other, and those behind a cold one may pass", function()
    local r = run(example(), four)
    assert.same({ 5000, 10000, 5000, 50000 }, starts(r))
    assert.equal(3, r.lora.loads)
    assert.equal(1, r.lora.evictions)
    assert.equal(5.0, r.lora.mean_load_ms)
    assert.equal(0.0, r.lora.hit_rate)
    assert.equal(10000, r.requests[2].adapter_wait_us)
    assert.equal("a", r.requests[3].adapter)
    assert.equal(10.0, r.by_adapter.b.adapter_wait_ms.mean)
    assert.same({ "a", "b", "c" }, { r.by_adapter[1].name, r.by_adapter[2].name,
      r.by_adapter[3].name })
    assert.truthy(tostring(r):find("adapters    3 loads, 0.0 % found loaded", 1, true))
  end)

  --- Prefill and decode apart, with one slot each, where this stage gives the first token.
  local function in_stages(first_token)
    return blis.run { cluster = { model = "qwen3-14b", prefill_instances = 1, decode_instances = 1,
        lora = { adapters = 6, slots = 1 } },
      disaggregation = { first_token = first_token },
      workload = { rate = 5, requests = 40, prompt_tokens = 100, output_tokens = 60 } }
  end

  it("are waited for in both stages, before the first token or behind it", function()
    for _, first_token in ipairs { "prefill", "decode" } do
      local r = in_stages(first_token)
      local sum_us, behind = 0, 0
      for _, one in ipairs(r.requests) do
        assert.is_true(one.adapter_wait_us <= one.e2e_us)
        sum_us = sum_us + one.adapter_wait_us
        if one.adapter_wait_us > one.ttft_us then behind = behind + 1 end
      end
      assert.equal(2 * #r.requests, r.lora.requests)
      assert.near(sum_us / 1000 / r.lora.requests, r.lora.mean_wait_ms, 1e-6)
      assert.equal(first_token == "prefill", behind > 0)
    end
  end)

  it("are loaded to the end when nobody waits for them any more", function()
    -- The load is there at 5000 us, the request gone at 2000.
    local r = run(example(), { { 0, "a", 4, timeout_us = 2000 }, { 10000, "a", 4 } })
    assert.same({ "timed_out", "completed" }, { r.requests[1].state, r.requests[2].state })
    assert.same({ 1, 0, 10000 }, { r.lora.loads, r.requests[2].scheduling_delay_us,
      r.requests[2].arrival_us })
  end)

  it("make the steps of every latency model longer alike", function()
    for _, model in ipairs { "roofline", "trained-physics", "calibrated", "blackbox" } do
      local function busy_us(factor)
        local r = blis.run { cluster = { model = "qwen3-14b", hardware = "H100", tp = 1,
          latency_model = model, async_scheduling = false,
          alpha_coeffs = model == "blackbox" and { 0, 0, 0 } or nil,
          beta_coeffs = model == "blackbox" and { 5000, 50, 9 } or nil,
          lora = { adapters = { "a" }, slots = 1, rank = 8, reserve_memory = false,
            step_overhead_tiers = { { rank = 8, factor = factor } } } },
          workload = traffic { { 0, "a", 3 } } }
        return r.instances[1].busy_us
      end
      local plain_us = busy_us(0) -- of three steps
      assert.is_true(plain_us > 1000)
      assert.near(1.15 * plain_us, busy_us(0.15), 3, model)
    end
  end)

  --- The columns of the series of a run of those four, in rows 4 ms apart.
  local function series_of(lora, more)
    local cluster = { instances = 1, kv_blocks = 1000, lora = lora, async_scheduling = false,
      latency_model = blis.latency_model { name = "even", step_time = function() return 1000 end } }
    for key, value in pairs(more or {}) do cluster[key] = value end
    return blis.run { cluster = cluster, workload = traffic(four), series_interval_us = 4000 }
  end

  it("are seen over time", function()
    local r = series_of(example())
    local lora = r.series.lora
    local function at(t_us)
      local row = t_us // 4000 + 1
      assert.equal(t_us, r.series.t_us[row])
      return { lora.loaded[row], lora.loading[row], lora.running[row], lora.waiting[row],
        lora.free_slots[row], lora.loads[row] }
    end
    -- Loaded, loading, running, waited for, free slots, loads so far. A is loaded until 5 ms, B
    -- until 10 ms; C takes the slot of A when its requests have ended, from 45 to 50 ms.
    assert.same({ 0, 0, 0, 0, 2, 0 }, at(0)) -- rows come before what instances do
    assert.same({ 0, 1, 0, 3, 1, 1 }, at(4000))
    assert.same({ 1, 1, 1, 2, 0, 2 }, at(8000))
    assert.same({ 2, 0, 2, 1, 0, 2 }, at(12000))
    assert.same({ 2, 0, 2, 1, 0, 2 }, at(44000))
    assert.same({ 1, 1, 1, 1, 0, 3 }, at(48000))
    assert.same({ 2, 0, 2, 0, 0, 3 }, at(52000))
    assert.same({ 2, 0, 1, 0, 0, 3 }, at(64000)) -- C ends at 60 ms
    assert.is_nil(rawget(blis.run { workload = traffic { { 0, nil, 1 } },
      series_interval_us = 1000 }.series, "lora"))
  end)

  it("are seen over time as sums over instances, and in files and charts", function()
    local r = series_of(example { adapters = { "a", "b", "c" } }, { instances = 2 })
    local path = os.tmpname() .. ".csv"
    r:export_series(path)
    local file = assert(io.open(path))
    local names, rows = file:read "l", 0
    for line in file:lines() do
      rows = rows + 1
      local cells = {}
      for cell in line:gmatch "[^,]+" do cells[#cells + 1] = tonumber(cell) end
      local place, at = 0, {}
      for name in names:gmatch "[^,]+" do
        place = place + 1
        at[name] = cells[place]
      end
      assert.equal(4, at["lora.loaded"] + at["lora.loading"] + at["lora.free_slots"])
      assert.is_true(at["lora.loads"] >= at["lora.loaded"])
    end
    file:close()
    os.remove(path)
    assert.equal(r.series.rows, rows)
    assert.matches("LoRA adapters", r:plot { show = "lora" }, 1, true)
    local ok, problem = pcall(r.plot, blis.run { workload = traffic { { 0, nil, 1 } } },
      { show = "lora" })
    assert.is_false(ok)
    assert.matches("requires series_interval_us and cluster.lora", tostring(problem), 1, true)
  end)

  it("hold up everybody behind a cold one where the order says so", function()
    local at = starts(run(example { order = "head-of-line" }, four))
    assert.same({ 5000, 10000, 10000 }, { at[1], at[2], at[3] })
  end)

  it("are served as BLIS (Go) does under its profile, and lost by parts of hand-offs", function()
    local r = run(example(), four, { profile = "go-blis" })
    assert.same({ 5000, 10000, 10000 }, { table.unpack(starts(r), 1, 3) })
    local function apart(profile)
      return blis.run { profile = profile, workload = traffic(four), disaggregation = "always",
        cluster = { lora = example(), prefill_instances = 1, decode_instances = 1 } }
    end
    assert.equal(0, apart("go-blis").lora.loads)
    assert.equal(6, apart("design").lora.loads)
  end)

  it("make the step wait that a request joins, in mode block", function()
    local r = run(example { mode = "block" }, { { 0, nil, 4 }, { 500, "a", 2 }, { 500, "b", 1 } })
    assert.same({ 0, 1000, 1000 }, starts(r))
    assert.equal(14000, r.requests[1].e2e_us)
  end)

  it("make steps longer by their number and the largest rank", function()
    local function e2e(rank, tiers)
      local r = run({ adapters = { { id = "a", rank = 8 }, { id = "b", rank = rank } }, slots = 2,
        mode = "block", load_base_latency_us = 1, footprint_bytes_per_rank = 1e-9,
        step_overhead_tiers = tiers }, { { 0, "a", 5 }, { 0, "b", 5 } })
      return r.requests[1].e2e_us - 4 -- of two loads, 2 us each
    end
    assert.equal(5 * 1040, e2e(8))
    assert.equal(5 * 1120, e2e(64))
    assert.equal(5 * 1300, e2e(8, { { rank = 8, factor = 0.15 } }))
    assert.equal(5 * 1000, e2e(8, {}))
  end)

  it("share no prefixes, but in the reference", function()
    local list = { { 0, "a", 1, group = "g", prompt = 32 }, { 100000, "b", 1, group = "g",
      prompt = 32 }, { 200000, "a", 1, group = "g", prompt = 32 } }
    local function hits(profile)
      local r = run(example { adapters = { "a", "b" } }, list, { profile = profile })
      return r.requests[2].had_hit, r.requests[3].had_hit
    end
    assert.same({ false, true }, { hits("design") })
    assert.same({ true, true }, { hits("go-blis") })
  end)

  it("are given by weights where requests name none, alike in a session", function()
    local list = {}
    for i = 1, 4000 do
      list[i] = { i * 100000, nil, 1, session = i % 2 == 0 and ("s%d"):format(i % 50) or nil }
    end
    list[5][2] = "rare"
    local r = run({ adapters = { { id = "often", weight = 3 }, { id = "rare", weight = 1 },
      { id = "never" } }, slots = 3 }, list)
    local of_session, often, single = {}, 0, 0
    for i = 1, #r.requests do
      local one = r.requests[i]
      if one.session ~= "" then
        assert.equal(of_session[one.session] or one.adapter, one.adapter)
        of_session[one.session] = one.adapter
      else
        single, often = single + 1, often + (one.adapter == "often" and 1 or 0)
      end
    end
    assert.near(0.75, often / single, 0.04)
    assert.equal("rare", r.requests[5].adapter)
    assert.is_nil(r.by_adapter.never)
  end)

  it("have a long tail when they are only a number", function()
    local list = {}
    for i = 1, 3000 do list[i] = { i * 100000, nil, 1 } end
    local r = run({ adapters = 3, zipf = 1, slots = 3 }, list)
    assert.near(6 / 11, r.by_adapter.adapter_1.arrived / 3000, 0.04)
    assert.near(2 / 11, r.by_adapter.adapter_3.arrived / 3000, 0.04)
  end)

  it("tell policies where they are, as fresh as other signals", function()
    local seen = {}
    local function route(request, instances)
      local one = instances[1]
      seen[#seen + 1] = { request.adapter, one.adapter_slots, one.adapters_loaded,
        one.adapters_running, one.adapters_waiting, one.adapter_loaded, one.adapter_loading,
        one.adapter_running, one.adapter_waiting }
      return 1
    end
    local list = { { 0, "a", 40 }, { 1000, "a", 40 }, { 2000, "b", 1 }, { 7000, "a", 1 },
      { 8000, "", 1 } }
    run(example(), list, { instances = 2, routing = route })
    assert.same({
      { "a", 2, 0, 0, 0, 0, 0, 0, 0 },
      { "a", 2, 0, 0, 1, 0, 1, 0, 1 },
      { "b", 2, 0, 0, 1, 0, 0, 0, 0 },
      { "a", 2, 1, 1, 1, 1, 0, 2, 0 },
      { "", 2, 1, 1, 1, 0, 0, 0, 0 },
    }, seen)
    seen = {}
    run(example(), list, { instances = 2, routing = route, snapshot_refresh_us = 7500 })
    assert.same({ "a", 2, 0, 0, 0, 0, 0, 0, 0 }, seen[4])
    assert.same({ "", 2, 1, 1, 1, 0, 0, 0, 0 }, seen[5])
  end)

  it("are followed by lora-affinity, and by llm-d's scorer in its order", function()
    local function chosen(scorer, list)
      local r = run(example { slots = 1 }, list, { instances = 2,
        routing = { "weighted", scorers = { { scorer, 1 }, { "queue-depth", 0.2 } } } })
      local at = {}
      for i = 1, #r.requests do at[i] = r.requests[i].instance:match "%d" end
      return table.concat(at)
    end
    local list = { { 0, "a", 90 }, { 1000, "b", 90 }, { 9000, "a", 90 }, { 9000, "c", 90 },
      { 20000, "c", 1 } }
    assert.equal("01010", chosen("lora-affinity", list))
    -- b finds room at the other one; the second c goes where the first one waits.
    assert.equal("01011", chosen("llm-d.lora-affinity-scorer", list))
    local before = { "llm-d.lora-affinity-scorer", version = "before-2625" }
    assert.equal("01010", chosen(before, list))
  end)

  it("take their place from the KV cache", function()
    local function blocks(lora)
      return blis.run { cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, lora = lora },
        workload = { requests = 1 } }.setup
    end
    local without, with = blocks(nil), blocks { adapters = { { id = "a", rank = 16 } }, slots = 4,
      footprint_bytes_per_rank = 1 << 24 }
    local bytes = 4 * 16 * (1 << 24)
    assert.near(without.kv_blocks - bytes / without.capacity.bytes_per_block, with.kv_blocks, 1)
    assert.near(bytes / 2 ^ 30, with.capacity.reserved_gib, 1e-9)
  end)

  it("group results also where no request came with one, loaded or not", function()
    local r = blis.run { cluster = { lora = { adapters = { "x", "y" } } },
      workload = { requests = 5 } }
    assert.equal(1, #r.by_adapter)
    assert.equal(5, r.by_adapter[""].completed)
    files.with(nil, function(path)
      r:save(path)
      assert.same(r.by_adapter, blis.load_result(path).by_adapter)
    end)
  end)

  it("are in saved results and exports", function()
    local path = os.tmpname()
    local r = run(example(), four)
    r:save(path)
    local loaded = blis.load_result(path)
    assert.same(r.by_adapter, loaded.by_adapter)
    assert.same(r.lora, loaded.lora)
    assert.equal(r.hash, loaded.hash)
    os.remove(path)
    path = path .. ".csv"
    r:export_requests(path)
    local file <close> = assert(io.open(path))
    assert.truthy(file:read("l"):find(",adapter,adapter_wait_us", 1, true))
    os.remove(path)
  end)

  it("cost nothing and change nothing where they are not configured", function()
    local list = { { 0, "a", 40 }, { 0, "b", 60 } }
    local r = run(nil, list)
    assert.is_nil(rawget(r, "lora"))
    assert.equal(run(nil, { { 0, nil, 40 }, { 0, nil, 60 } }).hash, r.hash)
    says("result.lora requires cluster = { lora = ... }",
      function() return r.lora end)
  end)

  it("say what is wrong", function()
    local list = { { 0, "legl", 1 } }
    says("session_talk_round_1_1 needs adapter 'zzz', which", function()
      local two = { name = "talk", { prompt_tokens = 1, output_tokens = 1 },
        { after = 1, prompt_tokens = 1, output_tokens = 1, adapter = "zzz" } }
      blis.run { cluster = { lora = { adapters = 2 } }, workload = { graphs = { two } } }
    end)
    says("request_0 needs adapter 'legl', which cluster.lora.adapters does not have; did you "
      .. "mean 'legal'?", run, { adapters = { "legal" } }, list)
    says("cluster.lora.adapters[2]: duplicate adapter 'a'", run,
      { adapters = { "a", "a" } }, list)
    says("cluster.lora.adapters", run, { adapters = {} }, list)
    says("cluster.lora.adapters is missing, expected a list of ids or of { id =, rank =, "
      .. "weight = }, or a number from 1 to 100000", run, { slots = 4 }, list)
    says("cluster.lora.adapters[1]: invalid value 5: expected an id or { id =", run,
      { adapters = { 5 } }, list)
    says("cluster.lora.adapters", run, { adapters = 0 }, list)
    says("cluster.lora.host_slots: invalid value 2: expected at least slots, 4, or 0 for all",
      run, { adapters = 9, slots = 4, host_slots = 2 }, list)
    says("did you mean 'slots'?", run, { adapters = 9, slot = 4 }, list)
    assert.is_nil(rawget(run({ adapters = { "legl" }, slots = 0 }, list), "lora"))
    says("cluster.lora.adapters[2] is nil", run, { adapters = { "a", nil, "b" } }, list)
    says("cluster.lora.adapters: got a value at [b]", run, { adapters = { "a", b = 8 } }, list)
    says("cluster.lora.adapters[1]: invalid value ''", run, { adapters = { "" } }, list)
    says("expected a name without control characters", run, { adapters = { "a\0b", "a\0c" } },
      list)
    says("cluster.lora: to load an adapter of rank 8 takes 1.6e+307 us", run,
      { adapters = 9, load_bandwidth_bytes_us = 1e-300 }, list)
    says("cluster.lora: to fetch an adapter of rank 8 takes 1.6e+16 us", run,
      { adapters = 9, fetch_bandwidth_bytes_us = 1e-9 }, list)
    says("does not fit", blis.run, { workload = { requests = 1 }, cluster = {
      model = "qwen3-14b", lora = { adapters = 9, slots = 1000000, rank = 65536,
        footprint_bytes_per_rank = 1e12, load_bandwidth_bytes_us = 1e12,
        fetch_bandwidth_bytes_us = 1e12 } } })
    says("cluster.lora: invalid value 9", run, 9, list)
    says("cluster.lora.order", run, { adapters = 9, order = "any" }, list)
    says("cluster.lora.step_overhead_tiers[1].factor", run, { adapters = 9,
      step_overhead_tiers = { { rank = 8, factor = -1 } } }, list)
    says("cluster.lora.step_overhead_tiers: got a value at [", run, { adapters = 9,
      step_overhead_tiers = { rank = 8, factor = 1 } }, list)
    says("cluster.lora.step_overhead_tiers[2]: duplicate rank 8", run, { adapters = 9,
      step_overhead_tiers = { { rank = 8, factor = 1 }, { rank = 8, factor = 2 } } }, list)
    says("client 1 ('x'): unknown adapter 'c': cluster.lora (--lora-config) has none", blis.run, {
      workload = { aggregate_rate = 5, num_requests = 5, clients = { { id = "x", rate_fraction = 1,
        adapter = "c", arrival = { process = "poisson" },
        input_distribution = { type = "constant", params = { value = 10 } },
        output_distribution = { type = "constant", params = { value = 10 } } } } } })
  end)

  it("are the same in both engines, beside much else", function()
    local function hash(engine, k)
      return blis.run {
        cluster = { engine = engine, instances = 3, kv_blocks = 400 + 100 * k,
          max_num_seqs = 4 + 8 * (k % 3), snapshot_refresh_us = 20000 * (k % 2),
          prefill_instances = k % 4 == 3 and 1 or nil, decode_instances = k % 4 == 3 and 2 or nil,
          lora = { adapters = 12, slots = 1 + k % 5, zipf = k / 4, rank = 8 << k % 3,
            host_slots = k % 3 == 0 and 6 or 0, mode = k % 4 == 1 and "block" or "overlap",
            order = k % 5 == 2 and "head-of-line" or "skip",
            max_skip_us = k % 2 * 100000 } },
        workload = { rate = 30, requests = 300, prefixes = { groups = 4, tokens = 128 },
          sessions = k % 2 == 1 and { max_rounds = 3 } or nil, timeout_us = 20000000 },
        routing = { "weighted", scorers = { { "lora-affinity", 2 }, { "prefix-affinity", 1 },
          { "queue-depth", 1 } } },
        queue = k % 3 == 1 or nil,
        faults = k % 2 == 0 and { { kind = "crash", at = 2000000, instance = 2,
          recover_after = 3000000, requests = "rerouted" } } or nil,
        seed = k,
      }.hash
    end
    for k = 1, 10 do assert.equal(hash("stepwise", k), hash("fast", k)) end
  end)

  it("are given to the requests of session graphs, to each of a fork as well", function()
    local function fork()
      local graph = { { id = "a", prompt_tokens = 40, output_tokens = 4 } }
      for k = 2, 4 do
        graph[k] = { after = "a", prompt_tokens = 9, output_tokens = k, session = "s" .. k }
      end
      return graph
    end
    local r = blis.run { cluster = { lora = { adapters = 3 } },
      workload = { graphs = fork, count = 20, concurrency = 4 } }
    assert.equal(80, r.completed)
    assert.equal(20, r.tasks.completed)
    local seen = {}
    for _, request in ipairs(r.requests) do seen[request.adapter] = true end
    assert.same({ adapter_1 = true, adapter_2 = true, adapter_3 = true }, seen)
  end)

  it("are never all kept by preempted requests that may not pass", function()
    local function preempting(engine)
      return blis.run { profile = "go-blis", seed = 1319, priority = "slo-based",
        cluster = { kv_blocks = 110, max_num_seqs = 3, max_num_batched_tokens = 200,
          engine = engine, hardware = "H100", tp = 1, scheduler = "sjf",
          preemption_policy = "priority",
          async_scheduling = false,
          lora = { adapters = 5, slots = 1, host_slots = 4, load_base_latency_us = 40000,
            max_skip_us = 200000, mode = "block", reserve_memory = false } },
        workload = { rate = 5, requests = 75, sessions = { max_rounds = 4, think_time_us = 0 },
          prompt = { "gaussian", mean = 300, std_dev = 250, min = 4, max = 1400 },
          output = { "gaussian", mean = 40, std_dev = 40, min = 1, max = 150 } } }
    end
    local r = preempting "fast"
    assert.is_true(r.preemptions > 0)
    assert.equal(0, r.timed_out)
    assert.equal(r.hash, preempting("stepwise").hash)
  end)
end)
