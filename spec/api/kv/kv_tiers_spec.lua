local blis = require "blis"
local files = require "spec.support.files"
local small = require "spec.support.small"

--- The call fails, and says so.
local function says(part, call)
  local ok, problem = pcall(call)
  assert.is_false(ok)
  small.says(problem.message, part)
end

--- Long prompts of many groups on small caches, with such tiers.
local function experiment(tiers, more)
  local spec = {
    cluster = { instances = 2, kv_blocks = 1000 },
    workload = { rate = 8, requests = 120, prompt = 100, output = 20,
      prefixes = { groups = 12, tokens = 3000 } },
    kv_tiers = tiers, seed = 3,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return spec
end

local function run(tiers, more) return blis.run(experiment(tiers, more)) end

local function cpu(more)
  local tier = { name = "cpu", gb = 100, read_gb_s = 32 }
  for key, value in pairs(more or {}) do tier[key] = value end
  return tier
end

describe("KV tiers", function()
  it("bring back what the caches have lost", function()
    local without, with = run(), run { cpu() }
    assert.is_nil(rawget(without, "kv_tiers"))
    assert.is_true(with.cache_hit_rate_overall > without.cache_hit_rate_overall + 0.2)
    assert.is_true(with.ttft_ms.mean < without.ttft_ms.mean)
    local tiers = with.kv_tiers
    assert.equal(tiers.requests, tiers.completed)
    assert.equal(tiers.loaded_blocks, tiers.tiers[1].loaded_blocks)
    assert.is_true(tiers.hit_rate > 0.2 and tiers.mean_load_ms > 0)
    assert.equal("cpu", tiers.tiers[1].name)
    small.says(tostring(with), "KV tiers")
    small.says(tostring(with), "of the prompt blocks loaded")
  end)

  it("are the same in both engines, and in a clone", function()
    local tiers = { cpu { gb = 1 }, { name = "disk", gb = 50, read_gb_s = 3, stage = "cpu" } }
    local fast = run(tiers)
    local plain = run(tiers, { cluster = { instances = 2, kv_blocks = 1000, engine = "stepwise" } })
    assert.equal(plain.hash, fast.hash)
    local sim <close> = blis.simulation(experiment(tiers))
    sim:run_until(5000000)
    local other <close> = sim:clone()
    assert.equal(fast.hash, sim:run().hash)
    assert.equal(fast.hash, other:run().hash)
  end)

  it("have transfers of their own kind among the events", function()
    local sim <close> = blis.simulation(experiment { cpu { read_gb_s = 1 } })
    local kinds = {}
    while not kinds.tiers and sim:step() do
      for _, event in ipairs(sim:events()) do kinds[event.kind] = true end
    end
    assert.is_true(kinds.tiers)
    assert.is_nil(kinds.queue)
  end)

  it("of no blocks change nothing", function()
    local nothing = run { { name = "cpu", blocks = 0, read_gb_s = 1 } }
    assert.equal(run().hash, nothing.hash)
    assert.equal(0, nothing.kv_tiers.requests)
  end)

  --- Some prompts are handed over to few blocks, where they wait for these and for adapters.
  local function handed_over(case, engine, tiers)
    return run(tiers, { seed = case,
      cluster = { model = "qwen3-14b", prefill_instances = 1, decode_instances = 1, engine = engine,
        kv_blocks = 150 + case % 5 * 40, max_num_seqs = 2 + case % 7 * 3, max_model_len = 2000,
        lora = case % 4 > 0 and { adapters = 4, slots = 1 + case % 2, reserve_memory = false,
          load_base_latency_us = 40000 } or nil },
      disaggregation = { decider = "prefix-threshold", prefix_threshold = 200 },
      workload = { rate = 20 + case, requests = 60, output_tokens = 60,
        prompt = { "gaussian", mean = 300, std_dev = 250, min = 4, max = 1400 } } })
  end

  it("of no blocks change nothing for who waits with the KV of another instance", function()
    local nothing = { { name = "cpu", blocks = 0, read_gb_s = 1 } }
    local waits, preemptions = 0, 0
    for case = 1, 12 do
      local without = handed_over(case, "fast")
      for _, engine in ipairs { "fast", "stepwise" } do
        assert.equal(without.hash, handed_over(case, engine, nothing).hash, case)
      end
      waits = waits + (rawget(without, "lora") and without.lora.waits or 0)
      preemptions = preemptions + without.preemptions
    end
    assert.is_true(waits > 0 and preemptions > 0)
  end)

  it("of no blocks change nothing where the one who lacks a block is not the first", function()
    local function hash(tiers, engine)
      return run(tiers, { seed = 202,
        cluster = { model = "qwen3-14b", prefill_instances = 2, decode_instances = 1,
          engine = engine, kv_blocks = 60, max_num_seqs = 18, max_model_len = 800,
          scheduler = "sjf", lora = { adapters = 5, slots = 2, reserve_memory = false,
            load_base_latency_us = 31000 } },
        disaggregation = { decider = "prefix-threshold", prefix_threshold = 100 },
        routing = "round-robin",
        workload = { rate = 40, requests = 60,
          prompt = { "gaussian", mean = 100, std_dev = 100, min = 4, max = 600 },
          output = { "gaussian", mean = 60, std_dev = 50, min = 1, max = 150 } } }).hash
    end
    local nothing = { { name = "cpu", blocks = 0, read_gb_s = 1 } }
    for _, engine in ipairs { "fast", "stepwise" } do
      assert.equal(hash(nil, engine), hash(nothing, engine))
    end
  end)

  --- Requests of one instance: of two adapters with one slot, where the tier is slow to read. The
  --- blocks of the first are away, and so is its adapter when they are back.
  local function back_without_adapter(engine, order)
    local function one(at_s, adapter, output, shared)
      return { start_us = blis.seconds(at_s), adapter = adapter,
        prefix_group = shared and "x" or nil, prefix_tokens = shared and 3200 or nil,
        { prompt_tokens = shared == false and 6000 or 10, output_tokens = output } }
    end
    return blis.run { routing = "round-robin",
      cluster = { instances = 1, kv_blocks = 400, engine = engine, lora = { slots = 1,
        adapters = { "a", "b" }, load_base_latency_us = 1000, order = order,
        reserve_memory = false } },
      kv_tiers = { { name = "cpu", blocks = 100000, read_gb_s = 0.2, write_gb_s = 32 } },
      workload = { graphs = { one(0, "a", 2, true), one(5, "b", 2, false), one(10, "a", 2),
        one(20, "a", 2, true), one(20.5, "b", 1500), one(28, "b", 2) } } }
  end

  it("let others pass who waits for its adapter when its KV is back", function()
    for _, engine in ipairs { "fast", "stepwise" } do
      local r = back_without_adapter(engine)
      local waits, last = r.requests[4], r.requests[6]
      assert.is_true(waits.tier_tokens[1] > 2000 and waits.adapter_wait_us > 10000000)
      assert.is_true(last.ttft_us < 50000, last.ttft_us)
      assert.is_true(last.arrival_us + last.ttft_us < waits.arrival_us + waits.ttft_us)
      -- Nobody passes where the order says so.
      last = back_without_adapter(engine, "head-of-line").requests[6]
      assert.is_true(last.ttft_us > 5000000, last.ttft_us)
    end
  end)

  it("get what the caches evict, if that is asked", function()
    local evicted = run { cpu { store = "on-evict" } }
    assert.is_true(evicted.kv_tiers.tiers[1].saved_blocks > 0)
    assert.is_true(evicted.cache_hit_rate_overall > run().cache_hit_rate_overall + 0.2)
    -- With a cache for everything there is nothing to save.
    local roomy = run({ cpu { store = "on-evict" } }, { cluster = { instances = 2 } })
    assert.equal(0, roomy.kv_tiers.tiers[1].saved_blocks)
  end)

  it("get each evicted block, also a block that is evicted alone", function()
    local function saved(engine, blocks)
      local number = 0
      local result = blis.run { routing = "round-robin",
        cluster = { instances = 1, kv_blocks = 10, max_model_len = 160, engine = engine },
        kv_tiers = { cpu { store = "on-evict" } },
        workload = function()
          number = number + 1
          local prompts = { { "a", 64 }, { "b", 16 * blocks } }
          return prompts[number] and { arrival_us = (number - 1) * 5000000, output_tokens = 1,
            content = { prompts[number] } } or nil
        end }
      return result.kv_tiers.tiers[1].saved_blocks
    end
    for _, engine in ipairs { "fast", "stepwise" } do -- 4 of 10 blocks have content, 6 are free
      assert.same({ 0, 1, 2, 3 }, { saved(engine, 6), saved(engine, 7), saved(engine, 8),
        saved(engine, 9) })
    end
  end)

  it("are seen over time", function()
    local series = run({ cpu() }, { series_interval_us = 1000000 }).series
    local tier = series.kv_tiers[1]
    assert.equal("cpu", tier.name)
    assert.equal(series.rows, #tier.used_blocks)
    assert.is_true(tier.saved_blocks[series.rows] >= tier.used_blocks[series.rows])
    assert.is_true(tier.loaded_blocks[series.rows] > tier.loaded_blocks[1])
    assert.is_nil(rawget(run(nil, { series_interval_us = 1000000 }).series, "kv_tiers"))
  end)

  --- Prompt tokens of the requests of a run, and of these those that were found nowhere.
  local function found_of(r)
    local prompts, left, of_tiers = 0, 0, {}
    for _, record in ipairs(r.requests) do
      if record.cached_tokens then
        local here = record.prompt_tokens - record.cached_tokens
        assert.equal(#r.kv_tiers.tiers, #record.tier_tokens)
        for i, tokens in ipairs(record.tier_tokens) do
          assert.is_true(tokens >= 0)
          here, of_tiers[i] = here - tokens, (of_tiers[i] or 0) + tokens
        end
        assert.is_true(here >= 1 and here <= record.prompt_tokens, record.id)
        assert.equal(here < record.prompt_tokens, record.had_hit)
        prompts, left = prompts + record.prompt_tokens, left + here
      end
    end
    return left, of_tiers, prompts
  end

  --- Prompt tokens that the steps of a run computed.
  local function computed_in(r)
    local tokens = 0
    for _, instance in ipairs(r.step_log.instances) do
      for _, count in ipairs(instance.prefill_tokens) do tokens = tokens + count end
    end
    return tokens
  end

  it("are busy for no more than all the time, up to the last write", function()
    local r = blis.run { cluster = { kv_blocks = 1500 },
      kv_tiers = { { name = "cpu", blocks = 40000, read_gb_s = 10, write_gb_s = 0.05 } },
      workload = { rate = 30, requests = 60, prompt_tokens = 900, output_tokens = 4 } }
    local share = r.kv_tiers.tiers[1].write_utilization
    assert.is_true(share > 0.99 and share <= 1, share)
  end)

  it("lose blocks in lots once they are fuller than evict_above", function()
    local pool = { name = "pool", scope = "cluster", gb = 5, read_gb_s = 100 }
    local function used_share(tiers)
      local tier = run(tiers).kv_tiers.tiers[1]
      assert.is_true(tier.evicted_blocks > 0)
      return tier.used_blocks / tier.capacity_blocks
    end
    assert.equal(1, used_share { pool })
    pool.evict_above = 0.6
    local share = used_share { pool }
    assert.is_true(share > 0.5 and share <= 0.6, share)
    -- Mooncake Store: 0.05 and more of them above 0.9.
    share = used_share { preset = "mooncake-store", { name = "pool", gb = 5 } }
    assert.is_true(share > 0.75 and share <= 0.9, share)
  end)

  it("lose blocks in lots also once what is written or promoted has come", function()
    local r = blis.run {
      workload = { requests = 1, prompt_tokens = 4800, output_tokens = 500 },
      kv_tiers = { { name = "cpu", blocks = 300, read_gb_s = 10, evict_above = 0.5 } } }
    local tier = r.kv_tiers.tiers[1]
    assert.same({ 1, 300, 135, 165 }, { tier.saves, tier.peak_blocks, tier.used_blocks,
      tier.evicted_blocks })
    local function brought_back(horizon_us)
      return blis.run { cluster = { kv_blocks = 320 }, horizon_us = horizon_us,
        workload = { rate = 0.1, requests = 4, prompt = 1, output_tokens = 8,
          prefixes = { groups = 3, tokens = 4000 } },
        kv_tiers = { { name = "cpu", blocks = 250, read_gb_s = 10, evict_above = 0.5 },
          { name = "disk", blocks = 9000, read_gb_s = 1, stage = "cpu" } } }
    end
    local last = brought_back().requests[4]
    assert.equal(181 * 16, last.tier_tokens[2])
    r = brought_back(last.arrival_us + last.scheduling_delay_us + 1)
    tier = r.kv_tiers.tiers[1]
    assert.same({ 181, 131 }, { tier.promoted_blocks, tier.used_blocks })
  end)

  it("are told in records: what was found where, and the rest was computed", function()
    local two = { cpu { gb = 1 }, { name = "disk", gb = 50, read_gb_s = 3, stage = "cpu" } }
    local pool = { cpu { gb = 2, shared = true }, { name = "pool", scope = "cluster", gb = 4,
      read_gb_s = 10 }, network_gb_s = 25 }
    for i, case in ipairs {
      { two }, { pool }, { { cpu { store = "on-evict" } } }, { { cpu(), load = "if-faster" } },
      { { cpu(), load = function(_, offer) return offer.offered_tokens // 3 end } },
      { two, { cluster = { instances = 2, kv_blocks = 1000, max_num_batched_tokens = 256 } } },
      { two, { cluster = { prefill_instances = 2, decode_instances = 1, kv_blocks = 2000 },
        disaggregation = "always" } },
    } do
      local more = { keep_steps = true }
      for key, value in pairs(case[2] or {}) do more[key] = value end
      local r = run(case[1], more)
      assert.equal(0, r.preemptions, i)
      local left, of_tiers = found_of(r)
      -- Who decodes what another instance has prefilled computes the last token again.
      local again = rawget(r, "handoffs") and #r.requests or 0
      assert.equal(computed_in(r), left + again, i)
      for t, tier in ipairs(r.kv_tiers.tiers) do
        assert.equal(tier.loaded_blocks * 16, of_tiers[t], i)
      end
      assert.is_true(r.kv_tiers.loaded_blocks > 0, i)
    end
  end)

  it("are told of those who compute a prompt that was to be handed off", function()
    local function tasks_and_records(crashes, decider)
      local r = blis.run { seed = 38, horizon_us = 20000000,
        cluster = { prefill_instances = 1, decode_instances = 2 },
        disaggregation = { decider = decider, on_failure = "recompute" },
        kv_tiers = { { name = "pool", scope = "cluster", blocks = 5000, read_gb_s = 50 } },
        faults = { { kind = "crash", instance = crashes, at = 2038000, recover_after = 1000000,
          requests = crashes == 2 and "rerouted" or nil } },
        workload = { preset = "coding-agent", concurrency = 4, count = 4 } }
      local of_tasks, of_records = 0, 0
      for _, task in ipairs(r.requests:tasks()) do of_tasks = of_tasks + task.cached_tokens end
      for _, one in ipairs(r.requests) do
        if one.state == "completed" then
          of_records = of_records + one.cached_tokens + one.tier_tokens[1]
        end
      end
      assert.is_true(of_records > 0)
      return of_tasks, of_records, r
    end
    local of_tasks, of_records, r = tasks_and_records(1, "always")
    assert.equal(of_records, of_tasks)
    assert.is_true(r.handoffs.recomputed > 0)
    -- One that has been handed off, and is sent again, is computed whole.
    local seen = {}
    of_tasks, of_records, r = tasks_and_records(2, function(request)
      local choice = seen[request.id] and "local" or "split"
      seen[request.id] = true
      return choice
    end)
    assert.equal(of_records, of_tasks)
    assert.is_true(r.rerouted > 0)
  end)

  it("are told of the first admission alone where requests are preempted", function()
    local function crowded(engine)
      return run({ cpu { gb = 1 } }, { keep_steps = engine == "stepwise",
        cluster = { instances = 1, kv_blocks = 700, engine = engine },
        workload = { rate = 30, requests = 150, prompt = 100, output = 600,
          prefixes = { groups = 6, tokens = 1500 } } })
    end
    local r, fast = crowded "stepwise", crowded "fast"
    assert.equal(r.hash, fast.hash)
    assert.is_true(r.preemptions > 10)
    local left, of_tiers, prompts = found_of(r)
    -- Lost tokens are computed again, or brought again.
    assert.is_true(computed_in(r) > left and left < prompts)
    assert.is_true(r.kv_tiers.tiers[1].loaded_blocks * 16 >= of_tiers[1])
    for i, record in ipairs(r.requests) do
      local other = fast.requests[i]
      assert.same({ record.cached_tokens, record.tier_tokens },
        { other.cached_tokens, other.tier_tokens })
    end
  end)

  it("are told in records of where a request was sent again, and of nobody else", function()
    local r = run({ cpu { read_gb_s = 0.5 } }, { faults = { { kind = "crash", at = 8000000,
      instance = "instance_0", requests = "rerouted", recover_after = 1000000 } },
      horizon_us = 12000000 })
    found_of(r)
    local known = 0
    for _, record in ipairs(r.requests) do
      assert.equal(record.scheduling_delay_us ~= nil, record.cached_tokens ~= nil)
      known = known + (record.cached_tokens and 1 or 0)
    end
    assert.is_true(known > 20 and known < #r.requests)
    assert.is_nil(run().requests[1].cached_tokens)
  end)

  it("are in files of requests and of results", function()
    local r = run { cpu(), { name = "disk", gb = 50, read_gb_s = 3 } }
    local path = os.tmpname()
    r:save(path)
    local again = blis.load_result(path)
    for i, record in ipairs(r.requests) do
      assert.same({ record.cached_tokens, record.tier_tokens },
        { again.requests[i].cached_tokens, again.requests[i].tier_tokens })
    end
    local function exported(result, name)
      result:export_requests(name)
      local text = files.read(name)
      os.remove(name)
      return text
    end
    local csv = exported(r, path .. ".csv")
    assert.equal(csv, exported(again, path .. ".csv"))
    assert.matches(",had_hit,frontend_us,cached_tokens,tier_cpu_tokens,tier_disk_tokens\n", csv, 1,
      true)
    local last = r.requests[#r.requests]
    assert.matches(('"cached_tokens":%d,"tier_cpu_tokens":%d,"tier_disk_tokens":%d}\n$'):format(
      last.cached_tokens, table.unpack(last.tier_tokens)), exported(r, path .. ".jsonl"))
    -- A line that says something else of tiers than the others.
    local text = files.read(path)
    for _, case in ipairs {
      { "%[%d+,%d+%]%]\n$", "[1]]\n", "tokens in 1 KV tiers, and another one in 2" },
      { "%[%d+,%d+%]%]\n$", "3]\n", "tier_tokens = 3, expected a list of 1 to 8" },
      { "%[%d+,%d+%]%]\n$", "[1,-2]]\n", "tier_tokens[2] = -2, expected a number of tokens" },
    } do
      local broken, count = text:gsub(case[1], case[2])
      assert.equal(1, count)
      files.with(broken, function(name)
        local ok, problem = pcall(blis.load_result, name)
        assert.is_false(ok)
        assert.matches(case[3], tostring(problem), 1, true)
      end)
    end
    os.remove(path)
  end)

  it("share a pool, which holds each text once", function()
    local own = run { cpu { gb = 3 } }
    local pool = run { cpu { name = "pool", scope = "cluster", gb = 6 } }
    assert.is_true(pool.cache_hit_rate_overall > own.cache_hit_rate_overall)
    local node = run { cpu { scope = "node", instances_per_node = 2, gb = 6 } }
    assert.equal(pool.hash, node.hash)
  end)

  it("make TTFT worse where the link is slow, and not if that is asked", function()
    local slow = run { cpu { read_gb_s = 0.5 } }
    local careful = run { cpu { read_gb_s = 0.5 }, load = "if-faster" }
    assert.is_true(slow.ttft_ms.mean > run().ttft_ms.mean)
    assert.is_true(careful.ttft_ms.mean < slow.ttft_ms.mean)
    assert.is_true(careful.kv_tiers.declined > 0)
  end)

  -- A step takes 1 us or 10 s, whatever is in it: loads take longer than the one, and less than the
  -- other.
  it("ask functions of step times whether computing is faster", function()
    local function declined(step_us)
      local latency = blis.latency_model { name = "flat",
        step_time = function() return step_us end }
      local r = run({ cpu(), load = "if-faster" }, {
        cluster = { instances = 2, kv_blocks = 1000, latency_model = latency } })
      return r.kv_tiers.declined, r.kv_tiers.loaded_blocks
    end
    local never, loaded = declined(10000000)
    assert.equal(0, never)
    assert.is_true(loaded > 0)
    never, loaded = declined(1)
    assert.is_true(never > 0)
    assert.equal(0, loaded)
  end)

  it("ask a function what to bring", function()
    local seen
    local half = run { cpu(), load = function(request, offer)
      seen = seen or { prompt = request.prompt_tokens, cached = offer.cached_tokens,
        offered = offer.offered_tokens, of_cpu = offer.tiers.cpu, load_us = offer.load_us,
        compute_us = offer.compute_us, instance = offer.instance }
      return offer.offered_tokens // 2
    end }
    assert.equal(seen.offered, seen.of_cpu)
    assert.is_true(seen.cached + seen.offered < seen.prompt)
    assert.is_true(seen.load_us > 0 and seen.compute_us > seen.load_us)
    assert.is_true(seen.instance == 1 or seen.instance == 2)
    local all, none = run { cpu() }, run { cpu(), load = function() return false end }
    assert.is_true(half.kv_tiers.loaded_blocks > 0)
    assert.is_true(half.kv_tiers.loaded_blocks < all.kv_tiers.loaded_blocks)
    assert.equal(0, none.kv_tiers.requests)
    assert.equal(all.hash, run { cpu(), load = function() return true end }.hash)
    says("it returned the string 'x', expected a number of tokens from 0, true or false",
      function() run { cpu(), load = function() return "x" end } end)
  end)

  it("ask a function who leaves", function()
    local depths = 0
    local scored = run { cpu { gb = 2, policy = function(block)
      depths = math.max(depths, block.depth)
      assert(block.tier == "cpu" and block.uses >= 1 and block.now_us >= 0)
      return -block.depth
    end } }
    assert.is_true(depths > 100)
    assert.is_true(scored.kv_tiers.tiers[1].evicted_blocks > 0)
    says("it returned nil, expected a number",
      function() run { cpu { policy = function() end } } end)
  end)

  it("are seen by routing policies, by their weights", function()
    local most, seen = 0, 0
    local function routed(signal)
      return run({ cpu { weight = 0.5 } }, { routing = { "weighted", scorers = {
        { blis.scorer { name = signal, score = function(_, instance)
          assert(instance.tiered_prefix_hit >= instance.prefix_hit / 2)
          seen = math.max(seen, instance.tiered_prefix_hit - instance.prefix_hit)
          most = math.max(most, instance.tiered_prefix_hit)
          return instance[signal]
        end }, 3 }, { "queue-depth", 1 } } } })
    end
    local blind, knowing = routed "prefix_hit", routed "tiered_prefix_hit"
    assert.is_true(seen > 0.4 and seen <= 0.5 and most <= 1)
    assert.is_true(knowing.cache_hit_rate_overall >= blind.cache_hit_rate_overall)
    local columns = run({ cpu { weight = 0.5 } }, { routing = { "weighted", scorers = {
      { blis.scorer { name = "c", columns = true, score = function(_, c)
        return c.tiered_prefix_hit
      end }, 3 }, { "queue-depth", 1 } } } })
    assert.equal(knowing.hash, columns.hash)
  end)

  it("are seen by routers where peers have them, if they have a weight", function()
    --- The signal, by instance, for a text that the tier of the first instance has alone.
    local function seen_with(peer_weight)
      local seen
      blis.run { cluster = { instances = 2, kv_blocks = 210 },
        kv_tiers = { { name = "cpu", blocks = 1000, read_gb_s = 32, shared = true, weight = 0.5,
          peer_weight = peer_weight } },
        workload = { graphs = {
          { start_us = 0, prefix_group = "a", prefix_tokens = 1600,
            { prompt_tokens = 16, output_tokens = 1 } },
          { start_us = 2000000, { prompt_tokens = 3359, output_tokens = 1 } }, -- takes all blocks
          { start_us = 4000000, prefix_group = "a", prefix_tokens = 1600,
            { prompt_tokens = 1600, output_tokens = 1 } } } },
        routing = function(_, instances)
          seen = { instances[1].tiered_prefix_hit, instances[2].tiered_prefix_hit }
          return 1
        end }
      return seen
    end
    -- Half of the prompt is that text.
    assert.same({ 0.25, 0.0 }, seen_with(nil))
    assert.same({ 0.25, 0.0 }, seen_with(0))
    assert.same({ 0.25, 0.125 }, seen_with(0.25))
  end)

  it("have policies by name", function()
    local hashes = {}
    for _, policy in ipairs { "lru", "fifo", "lfu", "arc" } do
      local result = run { cpu { gb = 2, policy = policy } }
      assert.is_true(result.kv_tiers.tiers[1].evicted_blocks > 0)
      hashes[result.hash] = true
    end
    assert.is_not_nil(next(hashes, next(hashes)))
  end)

  it("lose with an instance what does not survive it", function()
    local function fail(survives)
      return run({ cpu { survives = survives } },
        { faults = { { kind = "crash", at = 8000000, instance = 1, recover_after = 1000000,
          requests = "rerouted" } } })
    end
    local lost, kept = fail(false), fail(true)
    assert.is_true(lost.kv_tiers.tiers[1].removed_blocks > 0)
    assert.equal(0, kept.kv_tiers.tiers[1].removed_blocks)
    assert.is_true(kept.kv_tiers.loaded_blocks > lost.kv_tiers.loaded_blocks)
  end)

  it("come in presets", function()
    local lmcache = run { preset = "lmcache", kv_bytes_per_token = 163840 }
    -- Of two instances, 5e9 / (163840 * 16) each.
    assert.equal(2 * 1907, lmcache.kv_tiers.tiers[1].capacity_blocks)
    for preset, tier in pairs { ["vllm-0.22"] = "cpu", ["llm-d"] = "cpu", ["dynamo-kvbm"] = "g2",
      ["mooncake-store"] = "pool" } do
      local result = run { preset = preset, { name = tier, gb = 40 } }
      assert.is_true(result.kv_tiers.completed > 0, preset)
    end
    local more = run { preset = "vllm-0.22", { name = "cpu", gb = 2 }, { name = "disk", gb = 100 },
      { name = "far", gb = 10, read_gb_s = 1, scope = "cluster" } }
    assert.equal(3, #more.kv_tiers.tiers)
    assert.is_true(more.kv_tiers.tiers[2].loaded_blocks > 0)
  end)

  it("say what is wrong", function()
    says("preset vllm-0.22 does not set the size of tier 'cpu'", function() run "vllm-0.22" end)
    says("did you mean 'vllm-0.22'?", function() run { preset = "vllm" } end)
    says("unknown option 'red_gb_s'; did you mean 'read_gb_s'?",
      function() run { { name = "a", gb = 1, red_gb_s = 3 } } end)
    says("kv_tiers[1].policy: invalid value 'lrv': expected lru, fifo, lfu, arc, reuse-hint or a "
      .. "function",
      function() run { cpu { policy = "lrv" } } end)
    says("kv_tiers[1].stage: 'b' is not an earlier tier",
      function() run { cpu { stage = "b" } } end)
    says("kv_tiers[2].name: 'cpu' is the name of an earlier tier",
      function() run { cpu(), cpu() } end)
    says("expected a name without control characters",
      function() run { cpu { name = "a\nb" } } end)
    says("expected a size, either blocks or gb",
      function() run { cpu { blocks = 1 } } end)
    says("got 0 tiers, expected 1 to 8", function() run {} end)
    says("kv_tiers: invalid value 3", function() run(3) end)
    says("kv_tiers[2] is nil", function() run { cpu {}, [3] = cpu { name = "b" } } end)
    says("has no effect without scope", function() run { cpu { instances_per_node = 2 } } end)
    says("requires instances_per_node", function() run { cpu { scope = "node" } } end)
    says("requires scope instance", function() run { cpu { scope = "cluster",
      shared = true } } end)
    says("peer_weight: has no effect without shared",
      function() run { cpu { peer_weight = 0.1 } } end)
    says("evict_share: has no effect without evict_above",
      function() run { cpu { evict_share = 0.1 } } end)
    says("evict_above", function() run { cpu { evict_above = 0 } } end)
    says("max_tracked: has no effect", function() run { cpu { max_tracked = 5 } } end)
    says("expected a multiple of the KV blocks' 16 tokens",
      function() run { cpu(), chunk_tokens = 100 } end)
    says("requires profile design", function() run({ cpu() }, { profile = "go-blis" }) end)
    says("cannot be combined with kv_cpu_blocks", function()
      run({ cpu() }, { cluster = { instances = 2, kv_cpu_blocks = 10 } })
    end)
    says("the stage has a stage itself", function()
      run { cpu(), cpu { name = "b", stage = "cpu" }, cpu { name = "c", stage = "b" } }
    end)
  end)

  it("keep what a program says it uses again, and lose what others would have used", function()
    -- Agents come back to their context after 8 s of a tool; in between, many single requests with
    -- shared prefixes, which fill the tier several times.
    local function agents(rng, number)
      if number % 8 ~= 0 then
        return { prefix_group = "g" .. rng:integer(1, 12), prefix_tokens = 1600,
          { prompt_tokens = 60, output_tokens = 4 } }
      end
      local calls = { { id = "c1", prompt_tokens = 3000, output_tokens = 8 } }
      for k = 2, 4 do
        calls[k] = { id = "c" .. k, after = "c" .. (k - 1), tool_us = 8000000,
          prompt_tokens = 200, output_tokens = 8 }
      end
      return calls
    end
    local function found(policy, hints, more, rate)
      local tier = { name = "cpu", blocks = 1500, read_gb_s = 32, policy = policy }
      for key, value in pairs(more or {}) do tier[key] = value end
      local shares = {}
      local r = blis.run { seed = 3,
        cluster = { instances = 1, kv_blocks = 600, model = "qwen3-14b" },
        workload = { graphs = agents, rate = rate or 2, count = 240, hints = hints },
        kv_tiers = { tier, load = function(request, offer)
          shares[request.id] = (offer.cached_tokens + offer.offered_tokens) / request.prompt_tokens
          return true
        end } }
      local again, others = 0, 0
      for _, request in ipairs(r.requests) do
        local share = shares[request.id] or 0
        if request.prompt_tokens > 3000 then again = again + share / 90 end
        if request.prompt_tokens < 2000 then others = others + share / 210 end
      end
      return again, others, r.hash, r.ttft_ms.mean
    end
    local lru_again, lru_others = found("lru", true)
    local kept_again, kept_others = found("reuse-hint", true)
    assert.is_true(kept_again > 0.9 and lru_again < 0.1)
    assert.is_true(kept_others < lru_others / 2)
    -- More is kept than fits: what is kept is lost before it is used, and the rest at once.
    local _, _, _, lru_ms = found("lru", true, nil, 4)
    local _, _, _, kept_ms = found("reuse-hint", true, nil, 4)
    assert.is_true(kept_ms > lru_ms)
    -- Without hints, and where they are longer than is honoured, it is as lru.
    local blind_again, _, blind_hash = found("reuse-hint", false)
    local _, _, short_hash = found("reuse-hint", true, { keep_us = 7999999 })
    assert.is_true(blind_again < 0.1)
    assert.equal(blind_hash, short_hash)
    -- A function can do the same as far as it is told while blocks are saved.
    local scored = found(function(block)
      return block.now_us + (block.reused_after_us or 0)
    end, true)
    assert.is_true(scored > lru_again + 0.3)
    says("keep_us: has no effect without policy = \"reuse-hint\"",
      function() run { cpu { keep_us = 5 } } end)
  end)

  it("read the first of peers that have as much", function()
    -- The third instance reads for seconds what both others have; one of them fails meanwhile.
    local function failing(instance)
      local at = { 0, 20, 40 }
      local i = 0
      return blis.run { cluster = { instances = 3 }, routing = "round-robin",
        kv_tiers = { cpu { read_gb_s = 0.1, write_gb_s = 100, shared = true } },
        faults = { { kind = "crash", at = blis.seconds(42), instance = instance } },
        workload = function()
          i = i + 1
          return at[i] and { arrival_us = blis.seconds(at[i]), prompt_tokens = 3010,
            output_tokens = 4, prefix_group = "g", prefix_tokens = 3000 } or nil
        end }.kv_tiers
    end
    local first, second = failing(1), failing(2)
    assert.equal(2, first.requests)
    assert.equal(1, first.failed)
    assert.equal(0, second.failed)
    assert.is_true(second.tiers[1].peer_blocks > 300)
  end)
end)
