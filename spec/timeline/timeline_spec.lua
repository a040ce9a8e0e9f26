-- Timelines of runs: what viewers take for granted, and that they tell what records tell.
local blis = require "blis"
local check = require "spec.support.timeline"
local files = require "spec.support.files"
local lanes = require "blis.timeline.lanes"

local function read(result, options, ending)
  local path = os.tmpname()
  os.remove(path)
  path = path .. (ending or ".json")
  result:timeline(path, options)
  local text = files.read(path)
  os.remove(path)
  return check.read(text)
end

local function experiment(more)
  local spec = {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 3, max_num_seqs = 8 },
    workload = { rate = 60, requests = 300, prompt = 300, output = 60 }, seed = 3,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return spec
end

--- Slices of a name, by the request that they are of.
local function slices(events, name)
  local by_request, count = {}, 0
  for _, event in ipairs(events) do
    if event.ph == "X" and event.name == name then
      by_request[event.args.req], count = event, count + 1
    end
  end
  return by_request, count
end

describe("the processes of a timeline", function()
  it("have a name and a place each, up to the last line", function()
    for _, more in ipairs { {}, { cluster = { model = "qwen3-14b", hardware = "H100",
      instances = 1 } } } do
      local names, places, used = {}, {}, {}
      for _, event in ipairs(select(2, read(blis.run(experiment(more))))) do
        if event.ph ~= "M" then
          used[event.pid] = true
        elseif event.name == "process_name" then
          names[event.pid] = event.args.name
        elseif event.name == "process_sort_index" then
          places[event.pid] = event.args.sort_index
        end
      end
      for pid in pairs(used) do assert.is_string(names[pid], pid) end
      for pid in pairs(names) do assert.equal(pid, places[pid]) end
      assert.is_not_nil(next(used))
    end
  end)
end)

describe("lanes", function()
  it("are the lowest free ones, and as many as there are things at once", function()
    local free, taken = lanes.new(), {}
    for i, one in ipairs { { 0, 10 }, { 2, 5 }, { 5, 9 }, { 10, 12 } } do
      taken[i] = free:take(one[1], one[2])
    end
    assert.same({ 1, 2, 2, 1 }, taken)
    assert.equal(2, free.count)
  end)

  it("do not overlap, at random", function()
    local rng = blis.rng(3, "lanes")
    local free, ends, now_us, most, live = lanes.new(), {}, 0, 0, {}
    for _ = 1, 3000 do
      now_us = now_us + rng:integer(0, 20)
      local end_us = now_us + rng:integer(1, 900)
      local lane = free:take(now_us, end_us)
      assert.is_true((ends[lane] or 0) <= now_us)
      for i = 1, lane - 1 do assert.is_true(ends[i] > now_us) end
      ends[lane], live[#live + 1] = end_us, end_us
      local count = 0
      for i = #live, 1, -1 do
        if live[i] <= now_us then table.remove(live, i) else count = count + 1 end
      end
      most = math.max(most, count)
    end
    assert.equal(most, free.count)
  end)
end)

describe("a timeline", function()
  it("has lanes and counts of requests at each time", function()
    -- A 0 to 10 ms, B 2 to 5, C 5 to 9, D 10 to 12, in steps of 1 ms.
    local requests, i = { { 0, 10 }, { 2, 3 }, { 5, 4 }, { 10, 2 } }, 0
    local result = blis.run {
      cluster = { instances = 1, kv_blocks = 100, async_scheduling = false,
        latency_model = blis.latency_model { name = "even",
          step_time = function() return 1000 end } },
      workload = { requests = 4, generator = function()
        i = i + 1
        local one = requests[i]
        return one and { arrival_us = 1000 * one[1], prompt_tokens = 4, output_tokens = one[2] }
      end },
    }
    local _, events = read(result)
    local active, lane_of, first_tid = {}, {}, math.huge
    for _, event in ipairs(events) do
      if event.ph == "C" and event.name == "requests" and event.pid >= 10 then
        local count = 0
        for _, value in pairs(event.args) do count = count + value end
        active[#active + 1] = ("%d:%d"):format(event.ts // 1000, count)
      elseif event.ph == "X" and event.args.req and event.pid >= 10 then
        lane_of[event.args.req] = event.tid
        first_tid = math.min(first_tid, event.tid)
      end
    end
    assert.same({ "0:1", "1:1", "2:2", "3:2", "5:2", "6:2", "9:1", "10:1", "11:1", "12:0" }, active)
    local lanes_taken = {}
    for k = 1, 4 do lanes_taken[k] = lane_of["request_" .. k - 1] - first_tid end
    assert.same({ 0, 1, 1, 0 }, lanes_taken)
  end)

  it("has the stages of every request, to the microsecond", function()
    local result = blis.run(experiment())
    local head, events = read(result)
    check.check(events)
    assert.equal(300, head.otherData.drawn)
    assert.equal(result.hash, head.otherData.hash)
    local queued, prefill, decode = slices(events, "queued"), slices(events, "prefill"),
      slices(events, "decode")
    for _, record in ipairs(result.requests) do
      local admitted_us = record.arrival_us + record.scheduling_delay_us
      local wait = queued[record.id]
      assert.equal(record.scheduling_delay_us, wait and wait.dur or 0)
      assert.equal(admitted_us, prefill[record.id].ts)
      assert.equal(record.arrival_us + record.ttft_us,
        prefill[record.id].ts + prefill[record.id].dur)
      assert.equal(record.arrival_us + record.ttft_us, decode[record.id].ts)
      assert.equal(record.end_us, decode[record.id].ts + decode[record.id].dur)
      assert.equal(10 + math.tointeger(record.instance:match "%d+$"), decode[record.id].pid)
    end
  end)

  it("shows the gateway's queue, with arrows to the instances", function()
    local result = blis.run(experiment { series_interval_us = 100000,
      queue = { saturation = { "concurrency", max_concurrency = 8 }, ttl_us = 2000000 } })
    local _, events = read(result)
    local counts = check.check(events)
    local waiting, count = slices(events, "waiting")
    assert.is_true(count > 100 and result.queue.expired > 10)
    assert.equal(result.queue.dispatched, counts.dispatch / 2)
    for _, record in ipairs(result.requests) do
      local slice = waiting[record.id]
      local waited_us = record.gateway_wait_us or record.end_us - record.arrival_us
      assert.equal(waited_us, slice and slice.dur or 0)
    end
  end)

  it("has no waits in a queue of the gateway where there is none", function()
    local result = blis.run(experiment { admission = "reject-all",
      cluster = { model = "qwen3-14b", hardware = "H100", admission_latency_us = 1000 } })
    local _, events = read(result)
    assert.same({}, (slices(events, "waiting")))
    local ways, count = slices(events, "routing")
    assert.equal(result.arrived, count)
    assert.equal(1000, ways.request_0.dur)
  end)

  it("shows hand-offs, transfers, faults, sessions and scaling", function()
    local apart = blis.run(experiment { cluster = { model = "qwen3-14b", hardware = "H100",
      instances = 4, prefill_instances = 2, decode_instances = 2 } })
    local counts = check.check((select(2, read(apart))))
    assert.equal(600, counts.handoff)
    assert.equal(600, counts.transfer)
    local faulty = blis.run(experiment { faults = { { kind = "crash", at = 1000000,
      instance = "instance_1", recover_after = 500000 } } })
    local events = select(2, read(faulty))
    assert.equal(1, check.check(events).fault)
    local names = {}
    for _, event in ipairs(events) do
      if event.name == "thread_name" and event.tid == 0 then
        names[#names + 1] = event.pid .. " " .. event.args.name
      end
    end
    assert.same({ "11 faults" }, names)
    local scaled = blis.run(experiment { autoscaler = { "queue-depth" },
      scaling = { interval_us = 200000, min_replicas = 1, max_replicas = 6 } })
    counts = check.check((select(2, read(scaled))))
    assert.equal(#scaled.scaling.events, counts.scaling or 0)
    assert.is_true(counts.scaling > 0)
    local chat = blis.run(experiment { workload = { version = "2", seed = 4, aggregate_rate = 5,
      num_requests = 60, clients = { { id = "a", tenant_id = "a", rate_fraction = 1,
        slo_class = "standard", arrival = { process = "poisson" },
        reasoning = { reason_ratio_distribution = { type = "constant", params = { value = 0 } },
          multi_turn = { max_rounds = 3, think_time_us = 100000, context_growth = "accumulate" } },
        input_distribution = { type = "constant", params = { value = 100 } },
        output_distribution = { type = "constant", params = { value = 20 } } } } } })
    counts = check.check((select(2, read(chat))))
    assert.is_true(counts.session > 20)
  end)

  it("shows the steps of instances, whose times add up to what these computed", function()
    local plain = blis.run(experiment())
    local result = blis.run(experiment { keep_steps = true })
    assert.equal(plain.hash, result.hash)
    local _, events = read(result)
    check.check(events)
    local busy_us, steps, prefilled = {}, {}, 0
    for _, event in ipairs(events) do
      if event.cat == "step" then
        assert.equal(1, event.tid)
        busy_us[event.pid] = (busy_us[event.pid] or 0) + event.dur
        steps[event.pid] = (steps[event.pid] or 0) + 1
        prefilled = prefilled + event.args.prefill_tokens
        local tokens, decodes = event.args.prefill_tokens, event.args.decode_requests
        local decode = decodes > 0 and "decode " .. decodes or nil
        if decode then assert.equal(decode, event.name:sub(-#decode)) end
        local start = event.args.prefill_requests > 0
          and ("prefill %d token%s"):format(tokens, tokens == 1 and "" or "s") or decode
        assert.equal(start, event.name:sub(1, #start))
        assert.is_true(event.args.kv_utilization > 0 and event.args.kv_utilization <= 1)
      end
    end
    for i, instance in ipairs(result.instances) do
      assert.equal(instance.busy_us, busy_us[9 + i])
      assert.equal(instance.steps, steps[9 + i])
    end
    assert.equal(300 * 300, prefilled)
  end)

  it("has steps of a window, of either profile and every kind of run, at random", function()
    local rng = blis.rng(11, "steps")
    for seed = 1, 10 do
      local more = { seed = seed, profile = seed % 2 == 0 and "go-blis" or nil,
        cluster = { model = "qwen3-14b", hardware = "H100", instances = 3, max_num_seqs = 8,
          total_kv_blocks = seed % 3 == 0 and 200 or nil },
        faults = seed % 4 == 0 and { { kind = "crash", at = rng:integer(0, 2000000),
          instance = "instance_1", recover_after = 300000 } } or nil }
      local plain = blis.run(experiment(more))
      more.keep_steps = true
      if seed > 6 then
        more.keep_steps_from_us, more.keep_steps_to_us = 1000000, 1500000
      end
      local result = blis.run(experiment(more))
      assert.equal(plain.hash, result.hash)
      local _, events = read(result)
      local counts, total = check.check(events), 0
      for _, instance in ipairs(result.instances) do total = total + instance.steps end
      assert.is_true(counts.step > 0 and counts.step <= total)
      for _, event in ipairs(seed > 6 and events or {}) do
        if event.cat == "step" then
          assert.is_true(event.ts + event.dur >= 1000000 and event.ts <= 1500000)
        end
      end
    end
  end)

  it("tells bands of the gateway and links apart", function()
    local is_odd, count = false, 0
    local result = blis.run(experiment { queue = { saturation = { "concurrency",
      max_concurrency = 8 } }, workload = function()
      count, is_odd = count + 1, not is_odd
      if count > 200 then return nil end
      return { arrival_us = count * 9000, prompt_tokens = 300, output_tokens = 60,
        slo_class = is_odd and "critical" or "batch" }
    end })
    local _, events = read(result)
    check.check(events)
    local track, bands, waits = {}, {}, 0
    for _, event in ipairs(events) do
      if event.name == "thread_name" and event.pid == 1 then
        local priority = event.args.name:match "^priority (%S+), lane %d+$"
        track[event.tid] = tonumber(priority)
      elseif event.ph == "C" and event.pid == 1 then
        bands[event.name] = true
      end
    end
    for _, event in ipairs(events) do
      if event.cat == "request" and event.pid == 1 then
        waits = waits + 1
        assert.equal(event.args.priority, track[event.tid])
      end
    end
    assert.is_true(waits > 50)
    local names = {}
    for name in pairs(bands) do names[#names + 1] = name end
    assert.equal(2, #names)
    local apart = blis.run(experiment { cluster = { model = "qwen3-14b", hardware = "H100",
      instances = 4, prefill_instances = 2, decode_instances = 2 } })
    _, events = read(apart)
    check.check(events)
    local links, rate = {}, 0
    for _, event in ipairs(events) do
      if event.name == "thread_name" and event.pid == 900 then
        links[event.args.name:match "^(instance_%d+ %a+)"] = true
      elseif event.ph == "C" and event.pid == 900 then
        rate = math.max(rate, event.args.GB_per_s)
      end
    end
    for _, name in ipairs { "instance_0 out", "instance_1 out", "instance_2 in",
      "instance_3 in" } do
      assert.is_true(links[name])
    end
    assert.is_true(rate > 0)
  end)

  --- Requests of { arrival_us, adapter, output tokens } on one instance whose steps take 1 ms.
  local function adapters_run(list, more, faults)
    local lora = { adapters = { "a", "b", "c" }, rank = 8, slots = 2, load_base_latency_us = 1000,
      footprint_bytes_per_rank = 10000000, load_bandwidth_bytes_us = 20000,
      step_overhead_tiers = {} }
    for key, value in pairs(more or {}) do lora[key] = value end
    local i = 0
    return blis.run {
      cluster = { instances = 1, kv_blocks = 1000, async_scheduling = false, lora = lora,
        latency_model = blis.latency_model { name = "even",
          step_time = function() return 1000 end } },
      workload = { requests = #list, generator = function()
        i = i + 1
        local one = list[i]
        return one and { arrival_us = one[1], prompt_tokens = 16, output_tokens = one[3],
          adapter = one[2] }
      end },
      faults = faults, keep_timeline = true,
    }
  end

  local four = { { 0, "a", 40 }, { 0, "b", 60 }, { 0, "a", 40 }, { 0, "c", 10 } }

  --- { name, start, end, who it began for, who waited as it ended } of loads of adapters.
  local function adapter_loads(events)
    local list = {}
    for _, event in ipairs(events) do
      if event.cat == "adapter" then
        assert.same({ 10, 2, 8, event.name }, { event.pid, event.tid, event.args.rank,
          event.args.adapter })
        list[#list + 1] = { event.name, event.ts, event.ts + event.dur, event.args.req,
          event.args.waiting }
      end
    end
    return list
  end

  it("shows loads of adapters on a track of their instance", function()
    local result = adapters_run(four)
    local _, events = read(result)
    assert.equal(3, check.check(events, result).adapter)
    -- A ends at 45 ms; b and c wait for the first load, c for the second.
    assert.same({ { "a", 0, 5000, "request_0", 2 }, { "b", 5000, 10000, "request_1", 1 },
      { "c", 45000, 50000, "request_3", 1 } }, adapter_loads(events))
    local _, part = read(result, { from_us = 5001, to_us = 44999 })
    check.check(part, result)
    assert.same({ { "b", 5000, 10000, "request_1", 1 } }, adapter_loads(part))
    -- Three loads are in one step.
    result = adapters_run(four, { mode = "block", slots = 3 })
    _, events = read(result)
    check.check(events, result)
    assert.same({ { "a", 0, 5000, "request_0", 2 }, { "b", 5000, 10000, "request_1", 1 },
      { "c", 10000, 15000, "request_3", 1 } }, adapter_loads(events))
  end)

  it("has no loads that were lost with their instance, in steps neither", function()
    -- Of three loads of 5 ms in the first step, one has ended at 7 ms; then all begin anew.
    local result = adapters_run({ four[1], four[2], { 0, "c", 10 } }, { mode = "block",
      slots = 3 }, { { kind = "crash", at = 7000, instance = 1, recover_after = 1000,
        requests = "rerouted" } })
    local _, events = read(result)
    assert.equal(4, check.check(events, result).adapter)
    assert.same({ { "a", 0, 5000, "request_0", 1 }, { "a", 8000, 13000, "request_0", 1 },
      { "b", 13000, 18000, "request_1", 1 }, { "c", 18000, 23000, "request_2", 1 } },
      adapter_loads(events))
  end)

  it("has the same rows of loads and moves with either engine", function()
    local rows = 0
    for k = 1, 6 do
      local function log(engine, horizon_us)
        return blis.run {
          cluster = { engine = engine, instances = 3, kv_blocks = 1000, max_num_seqs = 4,
            lora = { adapters = 12, slots = 2, mode = k % 3 == 0 and "block" or "overlap" } },
          workload = { rate = 30, requests = 200, prefixes = { groups = 12, tokens = 1000 } },
          kv_tiers = k > 3 and { { name = "cpu", gb = 4, read_gb_s = 32 } } or nil,
          routing = k % 2 == 0 and "round-robin" or nil, horizon_us = horizon_us,
          keep_timeline = true, seed = k,
        }.timeline_log
      end
      for _, horizon_us in ipairs { 3000000, 600000000 } do
        local fast = log("fast", horizon_us)
        assert.same(log("stepwise", horizon_us), fast)
        local ends, instances = fast.loads.end_us, fast.loads.instance
        for i = 2, #ends do
          assert.is_true(ends[i - 1] < ends[i]
            or ends[i - 1] == ends[i] and instances[i - 1] < instances[i])
        end
        rows = rows + #ends
      end
    end
    assert.is_true(rows > 300)
  end)

  local function tiers_run(more)
    local spec = {
      cluster = { instances = 2, kv_blocks = 1000 },
      workload = { rate = 8, requests = 120, prompt = 100, output = 20,
        prefixes = { groups = 12, tokens = 3000 } },
      kv_tiers = { { name = "cpu", gb = 4, read_gb_s = 32 },
        { name = "disk", gb = 100, read_gb_s = 3, scope = "cluster", stage = "cpu" } },
      keep_timeline = true, seed = 3,
    }
    for key, value in pairs(more or {}) do spec[key] = value end
    return blis.run(spec)
  end

  --- Slices and bytes of a kind on the tracks of links, by the name of these.
  local function on_links(events, category)
    local names, found = {}, {}
    for _, event in ipairs(events) do
      if event.name == "thread_name" and event.pid == 900 then
        names[event.tid] = event.args.name:gsub(", lane %d+$", "")
      end
    end
    for _, event in ipairs(events) do
      if event.cat == category then
        local name = names[event.tid]
        found[name] = found[name] or { count = 0, blocks = 0 }
        found[name].count = found[name].count + 1
        found[name].blocks = found[name].blocks + event.args.blocks
      end
    end
    return found
  end

  it("shows what KV tiers read and write, as much as was counted", function()
    local result = tiers_run()
    local _, events = read(result)
    local counts = check.check(events, result)
    local cpu, disk = result.kv_tiers.tiers[1],
      result.kv_tiers.tiers[2]
    local loads, stores = on_links(events, "load"), on_links(events, "store")
    local own = { reads = 0, writes = 0, read_blocks = 0, written_blocks = 0 }
    for i = 0, 1 do
      local reads = loads[("tier cpu of instance_%d, reads"):format(i)]
      local writes = stores[("tier cpu of instance_%d, writes"):format(i)]
      own.reads, own.writes = own.reads + reads.count, own.writes + writes.count
      own.read_blocks = own.read_blocks + reads.blocks
      own.written_blocks = own.written_blocks + writes.blocks
    end
    assert.same({ cpu.loaded_blocks, cpu.saved_blocks }, { own.read_blocks, own.written_blocks })
    assert.equal(disk.loaded_blocks, loads["tier disk, reads"].blocks)
    assert.equal(disk.saved_blocks, stores["tier disk, writes"].blocks)
    assert.equal(own.reads + loads["tier disk, reads"].count, counts.load)
    assert.is_true(disk.loaded_blocks > 0 and cpu.loaded_blocks > 0)
    -- Requests and their hash are those of a run that keeps nothing.
    assert.equal(result.hash, tiers_run({ keep_timeline = false }).hash)
    local shut = tiers_run { horizon_us = 9000000 }
    _, events = read(shut)
    check.check(events, shut)
  end)

  it("says what was cut short by a failure", function()
    local result = tiers_run { kv_tiers = { { name = "cpu", gb = 4, read_gb_s = 0.05 } },
      faults = { { kind = "crash", at = 8000000, instance = "instance_0",
        recover_after = 500000 } } }
    local _, events = read(result)
    check.check(events, result)
    local cut = 0
    for _, event in ipairs(events) do
      if event.args and event.args.cut then
        cut = cut + 1
        assert.equal(8000000, event.ts + event.dur)
      end
    end
    assert.is_true(cut > 0)
  end)

  -- A; B half a second later and C at once; D when both have ended, a quarter of a second later.
  local function diamond(name)
    return {
      name = name,
      { id = "A", prompt_tokens = 1000, output_tokens = 100 },
      { id = "B", after = "A", delay_us = 500000, prompt_tokens = 20, output_tokens = 50 },
      { id = "C", after = "A", prompt_tokens = 30, output_tokens = 200 },
      { id = "D", after = { "C", "B" }, tool_us = 250000, prompt_tokens = 40, output_tokens = 10 },
    }
  end

  local function graphs_run(graphs, more)
    local workload = { graphs = graphs }
    for key, value in pairs(more or {}) do workload[key] = value end
    return blis.run { cluster = { instances = 2 }, workload = workload, keep_timeline = true }
  end

  it("has an arrow for everything that a request of a session graph waited for", function()
    local result = graphs_run { diamond "t" }
    local _, events = read(result)
    local counts = check.check(events, result)
    assert.equal(2 * 4, counts.join)
    assert.is_nil(counts.session)
    local first, last = {}, {}
    for _, event in ipairs(events) do
      if event.cat == "join" then
        (event.ph == "s" and first or last)[event.id] = event.ts
      end
    end
    local id = {}
    for _, record in ipairs(result.requests) do
      id[({ ["t:0"] = "A", ["t:1"] = "B", ["t/C:0"] = "C",
        ["t/C:1"] = "D" })[record.session .. ":" .. record.round_index]] = record
    end
    for _, pair in ipairs { { "A", "B" }, { "A", "C" }, { "B", "D" }, { "C", "D" } } do
      local parent, child = id[pair[1]], id[pair[2]]
      local name = parent.id .. " > " .. child.id
      assert.equal(parent.end_us - 1, first[name])
      assert.equal(child.arrival_us, last[name])
    end
  end)

  it("has no loose joins in a window, a sample, or where requests are given up", function()
    local graphs = {}
    for i = 1, 30 do
      graphs[i] = diamond("t" .. i)
      graphs[i][2].timeout_us = i % 3 == 0 and 1000 or nil
    end
    for _, more in ipairs { { rate = 20 }, { rate = 20, on_failure = "continue" },
      { concurrency = 4 }, { rate = 20, horizon_us = 4000000 } } do
      local result = graphs_run(graphs, more)
      local joins = check.check(select(2, read(result)), result).join
      assert.is_true(joins > 20)
      for _, options in ipairs { { every = 2 }, { every = 3 },
        { from_us = 500000, to_us = 1500000 }, { to_us = 400000, every = 2 } } do
        local part = check.check(select(2, read(result, options)), result).join or 0
        assert.is_true(part < joins)
      end
    end
  end)

  it("of a result that was saved is the same", function()
    local path, written = os.tmpname(), os.tmpname()
    for _, result in ipairs { adapters_run(four), tiers_run(), graphs_run { diamond "t" } } do
      local function text_of(one)
        one:timeline(written .. ".json")
        return files.read(written .. ".json")
      end
      result:save(path)
      assert.equal(text_of(result), text_of(blis.load_result(path)))
    end
    os.remove(path)
    os.remove(written)
    os.remove(written .. ".json")
  end)

  it("keeps instances, links and control apart where there are many", function()
    local result = blis.run(experiment { cluster = { model = "qwen3-14b", hardware = "H100",
      instances = 1000, prefill_instances = 900, decode_instances = 100 } })
    check.check((select(2, read(result))))
  end)

  it("is whole where requests are rejected, lost, timed out or unfinished", function()
    local rng = blis.rng(5, "timeline")
    for seed = 1, 8 do
      local result = blis.run(experiment { seed = seed,
        admission = seed % 2 == 0 and { "token-bucket", refill_rate = 4000, bucket_size = 4000 }
          or nil,
        queue = seed % 3 == 0 and { max_requests = 5 } or nil, horizon_us = rng:integer(1000000,
          4000000), faults = { { kind = "crash", at = rng:integer(0, 2000000),
          instance = "instance_0" } } })
      local head, events = read(result)
      check.check(events)
      assert.equal(#result.requests, head.otherData.drawn)
    end
  end)

  it("can be a window, and only every n-th request", function()
    local result = blis.run(experiment())
    local head, events = read(result, { from_us = 1000000, to_us = 2000000, every = 3 })
    check.check(events)
    local wanted = 0
    for _, record in ipairs(result.requests) do
      if record.arrival_us <= 2000000 and record.end_us >= 1000000 then wanted = wanted + 1 end
    end
    assert.equal((wanted + 2) // 3, head.otherData.drawn)
    assert.is_true(head.otherData.drawn > 10)
  end)

  it("refuses what is no option", function()
    local result = blis.run(experiment { workload = { rate = 10, requests = 5 } })
    for _, case in ipairs {
      { { evry = 2 }, "evry" }, { { every = 0 }, "timeline.every: invalid value 0" },
      { { from_us = 5, to_us = 3 }, "timeline.to_us: 3 is before from_us, 5" },
      { "x", "timeline: invalid value 'x'" },
      { { from_us = -1 }, "timeline.from_us: invalid value -1" },
    } do
      local ok, problem = pcall(result.timeline, result, "/dev/null", case[1])
      assert.is_false(ok)
      assert.matches(case[2], tostring(problem), 1, true)
    end
    assert.is_false(pcall(result.timeline, result, "/no/such/folder/x.json"))
  end)

  it("keeps names apart from JSON", function()
    local is_sent = false
    local result = blis.run(experiment { workload = function()
      if is_sent then return nil end
      is_sent = true
      return { arrival_us = 0, prompt_tokens = 9, output_tokens = 2, tenant = 'a"}],\n<b>\\',
        slo_class = "batch" }
    end })
    local _, events = read(result)
    assert.equal('a"}],\n<b>\\', slices(events, "request_0").request_0.args.tenant)
  end)
end)

describe("the check of timelines", function()
  local function graph_run()
    local graph = { name = "t", { id = "A", prompt_tokens = 100, output_tokens = 10 },
      { id = "B", after = "A", prompt_tokens = 20, output_tokens = 5 } }
    return blis.run { cluster = { instances = 1, lora = { adapters = 1, slots = 1 },
      kv_blocks = 500 }, workload = { graphs = { graph } }, keep_timeline = true,
      kv_tiers = { { name = "cpu", gb = 1, read_gb_s = 32 } } }
  end

  local function first(events, wanted)
    for i, event in ipairs(events) do
      if wanted(event) then return i, event end
    end
    error "there is none"
  end
  local function join(kind)
    return function(event) return event.ph == kind and event.cat == "join" end
  end
  local function of(category) return function(event) return event.cat == category end end

  --- What must not pass: what it is, what the check says, and the change that makes it.
  local broken = {
    { "a join without an end", "joins are missing", function(events)
      table.remove(events, (first(events, join "f")))
    end },
    { "no joins", "joins are missing", function(events)
      table.remove(events, (first(events, join "f")))
      table.remove(events, (first(events, join "s")))
    end },
    { "a join that comes too early", "not where its requests are", function(events)
      select(2, first(events, join "f")).ts = 0
    end },
    { "a join of others", "a join of nobody", function(events)
      select(2, first(events, join "s")).id = "request_7 > request_9"
    end },
    { "an arrow with two ends", "ends twice", function(events)
      local _, event = first(events, function(one) return one.ph == "s" and one.cat ~= "join" end)
      events[#events + 1] = { ph = "f", pid = event.pid, tid = event.tid, name = "x", bp = "e",
        cat = event.cat, id = event.id, ts = event.ts }
      events[#events + 1] = events[#events]
    end, function(events)
      local _, event = first(events, of "request")
      events[#events + 1] = { ph = "s", pid = event.pid, tid = event.tid, name = "x", cat = "x",
        id = "x", ts = event.ts }
    end },
    { "a load inside of another one", "two of adapter at a time", function(events)
      local i, event = first(events, of "adapter")
      local copy = {}
      for key, value in pairs(event) do copy[key] = value end
      table.insert(events, i, copy)
    end },
    { "a write of nobody's track", "a track without a name", function(events)
      select(2, first(events, of "store")).tid = 77
    end },
    { "a request that there was not", "there is no request request_99", function(events)
      select(2, first(events, of "adapter")).args.req = "request_99"
    end },
    { "a load for nobody", "a slice of no request", function(events)
      select(2, first(events, of "adapter")).args.req = nil
    end },
    { "a counter of a tier that stays", "somebody is left", function(events)
      for _, event in ipairs(events) do
        if event.ph == "C" and event.name:find "^tier" then event.args.transfers = 1 end
      end
    end },
  }

  it("passes what is whole, and finds each of these", function()
    local result = graph_run()
    local counts = check.check(select(2, read(result)), result)
    assert.same({ 2, 1 }, { counts.join, counts.adapter })
    assert.is_true(counts.store > 0)
    for _, case in ipairs(broken) do
      local _, events = read(result)
      if case[4] then case[4](events) end
      case[3](events)
      local ok, problem = pcall(check.check, events, result)
      assert.is_false(ok, case[1])
      assert.matches(case[2], tostring(problem), 1, true)
    end
  end)
end)

describe("blis run --timeline #host", function()
  local program = require "spec.support.program"
  local flags = { "run", "--model", "qwen/qwen3-14b", "--hardware", "H100", "--rate", "40",
    "--num-requests" }

  it("writes a packed one, the same each time", function()
    local folder = os.tmpname()
    os.remove(folder)
    local path = folder .. ".json.gz"
    local function written()
      local all = table.move(flags, 1, #flags, 1, {})
      table.move({ "200", "--timeline", path }, 1, 3, #all + 1, all)
      assert.equal(0, program.run(table.unpack(all)).status)
      local text = files.read(path)
      os.remove(path)
      return text
    end
    local packed = written()
    assert.equal("\31\139", packed:sub(1, 2))
    assert.equal(packed, written())
  end)

  it("says which flags need it", function()
    local all = table.move(flags, 1, #flags, 1, {})
    table.move({ "20", "--timeline-every", "2" }, 1, 3, #all + 1, all)
    local outcome = program.run(table.unpack(all))
    assert.not_equal(0, outcome.status)
    assert.matches("--timeline-every needs --timeline", outcome.err, 1, true)
  end)

  it("says that its part of the run ends before it starts, before the run", function()
    local all = table.move(flags, 1, #flags, 1, {})
    table.move({ "20", "--timeline", "never.json", "--timeline-from", "2s", "--timeline-to", "1s" },
      1, 7, #all + 1, all)
    local outcome = program.run(table.unpack(all))
    assert.equal(2, outcome.status)
    assert.matches("--timeline-to is before --timeline-from", outcome.err, 1, true)
  end)
end)
