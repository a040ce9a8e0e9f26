-- Timelines of runs with keep_timeline: every instance that a request was at, preemptions, states
-- of instances; and, at random, that what is drawn agrees with itself and with steps.
local blis = require "spec.support.old_defaults"
local check = require "spec.support.timeline"
local truth = require "spec.support.timeline_truth"
local mixes = require "spec.support.mixes"
local runs = require "spec.support.timeline_runs"

local even_run, read, written = runs.even, runs.read, runs.written

--- "pid name from to" of the parts of a request in order of time, in milliseconds.
local function parts_of(events, id)
  local parts = {}
  for _, event in ipairs(events) do
    if event.cat == "stage" and event.args.req == id then parts[#parts + 1] = event end
  end
  table.sort(parts, function(a, b) return a.ts < b.ts end)
  for i, event in ipairs(parts) do
    parts[i] = ("%d %s %g %g"):format(event.pid, event.name, event.ts / 1000,
      (event.ts + event.dur) / 1000)
  end
  return parts
end

--- The slices of a request in order of time.
local function visits_of(events, id)
  local visits = {}
  for _, event in ipairs(events) do
    if event.cat == "request" and event.args.req == id then visits[#visits + 1] = event end
  end
  table.sort(visits, function(a, b) return a.ts < b.ts end)
  return visits
end

--- "time name ..." of a counter.
local function levels_of(events, pid, names)
  local levels = {}
  for _, event in ipairs(events) do
    if event.ph == "C" and event.name == "requests" and event.pid == pid then
      local line = { ("%g:"):format(event.ts / 1000) }
      for i, name in ipairs(names) do line[i + 1] = event.args[name] end
      levels[#levels + 1] = table.concat(line, " ")
    end
  end
  return levels
end

--- "kind from-pid from-time to-pid to-time" of arrows.
local function arrows_of(events)
  local starts, arrows = {}, {}
  for _, event in ipairs(events) do
    if event.ph == "s" then
      starts[event.cat .. event.id] = event
    elseif event.ph == "f" then
      local from = starts[event.cat .. event.id]
      arrows[#arrows + 1] = ("%s %d %d > %d %d"):format(event.cat, from.pid, from.ts, event.pid,
        event.ts)
    end
  end
  return arrows
end

describe("what a timeline shows of visits", function()
  -- Both have a block for their prompt and one for 16 tokens behind it, which is all there is. At
  -- 17 ms each wants a third one: the first takes a block of the second, and the other at 33 ms. It
  -- ends with its 40th token, at 40 ms. The second has 17 of its 20 then: its prompt and these are
  -- computed once more, with the 18th.
  local function tight(engine)
    return even_run({ { 0, 16, 40 }, { 0, 16, 20 } }, 1, { keep_steps = engine == nil,
      cluster = { kv_blocks = 4, block_size = 16, engine = engine } })
  end

  it("cuts preemptions out, by hand", function()
    local result = tight()
    local _, events = read(result)
    check.check(events, result)
    local steps, preemptions = truth.check(events, blis.rng(1, "truth"), "all")
    assert.same({ 43, 1 }, { steps, preemptions })
    assert.same({ "10 prefill 0 1", "10 decode 1 40" }, parts_of(events, "request_0"))
    assert.same({ "10 prefill 0 1", "10 decode 1 17", "10 preempted 17 40", "10 prefill 40 41",
      "10 decode 41 43" }, parts_of(events, "request_1"))
    assert.same({ "0: 0 2 0 0", "1: 0 0 2 0", "17: 0 0 1 1", "40: 0 1 0 0", "41: 0 0 1 0",
      "43: 0 0 0 0" }, levels_of(events, 10, { "queued", "prefill", "decode", "preempted" }))
    assert.same({ "completed", 1 }, { visits_of(events, "request_1")[1].args.ended,
      visits_of(events, "request_1")[1].args.preemptions })
    assert.is_nil(visits_of(events, "request_0")[1].args.preemptions)
    local log = result.timeline_log.preemptions
    assert.same({ request = { "request_1" }, instance = { "instance_0" }, visit = { 1 },
      time_us = { 17000 }, resumed_us = { 40000 }, recomputed_us = { 41000 } }, log)
    assert.same(log, tight("stepwise").timeline_log.preemptions)
    -- No instance has changed its state, so there is nothing to be seen of these.
    assert.same({}, runs.states_of(events))
    for _, event in ipairs(events) do assert.is_true(event.pid < 900) end
  end)

  it("shows what was lost before it was computed again as prefill", function()
    local result = even_run({ { 0, 16, 40 }, { 0, 16, 20 } }, 1, { cluster = { kv_blocks = 4,
      block_size = 16 }, faults = { { kind = "crash", at = 40300, instance = "instance_0",
      requests = "failed" } } })
    local _, events = read(result)
    check.check(events, result)
    assert.same({ "10 prefill 0 1", "10 decode 1 17", "10 preempted 17 40",
      "10 prefill 40 40.3" }, parts_of(events, "request_1"))
    assert.same({ -1 }, result.timeline_log.preemptions.recomputed_us)
  end)

  it("says how many rows were left out", function()
    local result = tight()
    assert.equal(0, result.timeline_log.left_out)
    assert.is_nil(read(result).otherData.left_out)
    result.timeline_log.left_out = 5
    assert.equal(5, (read(result)).otherData.left_out)
  end)

  -- Besides 4999 us, there is one for the 8 bytes.
  it("names the adapter that a queued request waited for", function()
    local i = 0
    local result = even_run({}, 1, { cluster = { lora = { adapters = { "a" }, rank = 8,
      load_base_latency_us = 4999, footprint_bytes_per_rank = 1, step_overhead_tiers = {} } },
      workload = { requests = 1, generator = function()
        i = i + 1
        return i == 1 and { arrival_us = 0, prompt_tokens = 16, output_tokens = 2, adapter = "a" }
          or nil
      end } })
    local _, events = read(result)
    check.check(events, result)
    local stages = {}
    for _, event in ipairs(events) do
      if event.cat == "stage" then
        stages[event.name] = { event.dur, event.args.adapter, event.args.adapter_wait_us }
      end
    end
    assert.same({ queued = { 5000, "a", 5000 }, prefill = { 1000, "a" }, decode = { 1000, "a" } },
      stages)
  end)

  it("has what a server does before its wait queue apart, by hand", function()
    local result = even_run({ { 0, 16, 3 }, { 500, 16, 3 } }, 1, { keep_steps = true,
      cluster = { max_num_seqs = 1, latency_model = blis.latency_model { name = "even",
        step_time = function() return 1000 end, queueing_time = 2500 } } })
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    assert.same({ "10 arriving 0 2.5", "10 prefill 2.5 3.5", "10 decode 3.5 5.5" },
      parts_of(events, "request_0"))
    assert.same({ "10 arriving 0.5 3", "10 queued 3 5.5", "10 prefill 5.5 6.5",
      "10 decode 6.5 8.5" }, parts_of(events, "request_1"))
  end)

  it("agrees with the steps of profile go-blis, where every request is on its way first", function()
    local result = blis.run { profile = "go-blis", keep_timeline = true, keep_steps = true,
      cluster = { model = "qwen3-14b", hardware = "H100", instances = 3, max_num_seqs = 8 },
      workload = { rate = 60, requests = 300, prompt = 300, output = 60 }, seed = 3 }
    local _, events = read(result)
    check.check(events, result)
    assert.is_true(truth.check(events, blis.rng(1, "truth"), "some") > 1000)
    local log = result.timeline_log.visits
    for i, queued_us in ipairs(log.queued_us) do
      assert.is_true(queued_us > log.from_us[i] and queued_us <= log.admitted_us[i])
    end
  end)

  it("counts requests whose KV is being loaded as waiting, as steps do", function()
    local result = blis.run { keep_timeline = true, keep_steps = true, seed = 3,
      cluster = { instances = 2, kv_blocks = 1000 },
      workload = { rate = 8, requests = 120, prompt = 100, output = 20,
        prefixes = { groups = 12, tokens = 3000 } },
      kv_tiers = { { name = "cpu", gb = 4, read_gb_s = 1 } } }
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "some")
    local loads = result.timeline_log.moves
    local during = 0
    for _, event in ipairs(events) do
      if event.cat == "step" and event.args.waiting > 0 then
        for i, start_us in ipairs(loads.start_us) do
          local is_loading = loads.is_read[i] and loads.instance[i] == "instance_" .. event.pid - 10
          if is_loading and start_us < event.ts and loads.end_us[i] > event.ts then
            during = during + 1
          end
        end
      end
    end
    assert.is_true(during > 5, during .. " steps began during loads")
  end)

  it("counts at the gateway who waits there and who is at an instance", function()
    local result = even_run({ { 0, 16, 4 }, { 0, 16, 2 }, { 1000, 16, 2 } }, 2, {
      cluster = { max_num_seqs = 1, admission_latency_us = 500 } })
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "some")
    assert.same({ "0.5: 0 2", "1.5: 0 3", "2.5: 0 2", "4.5: 0 1", "6.5: 0 0" },
      levels_of(events, 1, { "waiting", "in_flight" }))
  end)

  it("counts in bands of the gateway who is at an instance, whether it waited or not", function()
    local i = 0
    local classes = { "critical", "batch", "batch" }
    local result = even_run({}, 1, { cluster = { max_num_seqs = 1 },
      queue = { saturation = { "concurrency", max_concurrency = 1 }, dispatch = "event" },
      workload = function()
        i = i + 1
        return classes[i] and { arrival_us = 0, prompt_tokens = 16, output_tokens = 2,
          slo_class = classes[i] } or nil
      end })
    local _, events = read(result)
    check.check(events, result)
    local most, bands = {}, 0
    for _, event in ipairs(events) do
      if event.ph == "C" and event.pid == 1 and event.name:find "^requests of priority" then
        if not most[event.name] then most[event.name], bands = 0, bands + 1 end
        most[event.name] = math.max(most[event.name], event.args.in_flight)
      end
    end
    assert.equal(2, bands)
    for name, count in pairs(most) do assert.equal(1, count, name) end
  end)

  it("draws requests of a run that is stuck until its last event, which ends it", function()
    local faults = {}
    for i = 1, 2 do faults[i] = { kind = "hang", at = blis.seconds(1), instance = i } end
    local result = blis.run { keep_timeline = true, horizon_us = blis.seconds(20), faults = faults,
      cluster = { model = "qwen3-14b", hardware = "H100", instances = 2 },
      workload = { rate = 20, requests = 60, prompt = 300, output = 60 } }
    local head, events = read(result)
    check.check(events, result)
    local last_us = result.requests[60].arrival_us
    assert.is_true(last_us > blis.seconds(1) and last_us < blis.seconds(10))
    assert.same({ last_us, last_us }, { head.otherData.end_us, result.duration_us })
    local held = 0
    for _, record in ipairs(result.requests) do
      if record.state:find "^still" and record.arrival_us < last_us then
        local visits = visits_of(events, record.id)
        assert.equal(last_us, visits[#visits].ts + visits[#visits].dur)
        held = held + 1
      end
    end
    assert.is_true(held > 20)
  end)

  it("draws requests that are still there at the horizon until then, also the last ones", function()
    for _, keep in ipairs { true, false } do
      local result = blis.run { keep_timeline = keep, horizon_us = 1000000, seed = 3,
        cluster = { model = "qwen3-14b", hardware = "H100", routing_latency_us = 30000 },
        workload = { rate = 60, requests = 100, prompt = 300, output = 60 } }
      local head, events = read(result)
      check.check(events, result)
      assert.equal(1000000, head.otherData.end_us)
      local late = 0
      for _, record in ipairs(result.requests) do
        local visits = visits_of(events, record.id)
        local last = visits[#visits]
        if record.state:find "^still" then
          assert.equal(1000000, last.ts + last.dur)
          assert.is_true(last.dur > 0)
        end
        -- These come when nothing happens any more.
        if record.arrival_us > result.duration_us then
          late = late + 1
          assert.same({ "still_arriving", 1, record.arrival_us },
            { record.state, last.pid, last.ts })
        end
      end
      assert.is_true(late > 1)
    end
  end)

  it("starts anew after a preemption under profile go-blis", function()
    local result = even_run({ { 0, 16, 40 }, { 0, 16, 20 } }, 1, { profile = "go-blis",
      cluster = { kv_blocks = 4, block_size = 16, async_scheduling = nil } })
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    -- What it has given is lost. Its prompt is still in the cache, which is admitted there without
    -- a block, and its output gets the last one, until the first request wants that at 33 ms.
    assert.same({ "10 prefill 0 1", "10 decode 1 17", "10 preempted 17 18", "10 prefill 18 19",
      "10 decode 19 33", "10 preempted 33 40", "10 prefill 40 41", "10 decode 41 60" },
      parts_of(events, "request_1"))
  end)

  -- The first one has 5 of 20 tokens when its instance fails, in the middle of its 6th step. It
  -- goes to the other one, where it is in the batch at 6 ms and begins anew.
  local function crash(more)
    local fault = { kind = "crash", at = 5500, instance = "instance_0", recover_after = 3000 }
    for key, value in pairs(more) do fault[key] = value end
    return even_run({ { 0, 16, 20 }, { 0, 16, 20 } }, 2, { faults = { fault }, keep_steps = true })
  end

  it("has a slice at each instance of a request that was routed again, by hand", function()
    local result = crash { requests = "rerouted" }
    local _, events = read(result)
    check.check(events, result)
    assert.equal(0, select(2, truth.check(events, blis.rng(1, "truth"), "all")))
    assert.same({ "10 prefill 0 1", "10 decode 1 5.5", "11 queued 5.5 6", "11 prefill 6 7",
      "11 decode 7 26" }, parts_of(events, "request_0"))
    local visits = visits_of(events, "request_0")
    assert.same({ "rerouted", "failed" }, { visits[1].args.ended, visits[1].args.instance_state })
    assert.same({ "completed" }, { visits[2].args.ended, visits[2].args.instance_state })
    assert.same({ "reroute 10 5499 > 11 5500" }, arrows_of(events))
    assert.same({ "0: 0 1 0", "1: 0 0 1", "5.5: 0 0 0" },
      levels_of(events, 10, { "queued", "prefill", "decode" }))
    assert.same({ "0: 0 1 0", "1: 0 0 1", "5.5: 1 0 1", "6: 0 1 1", "7: 0 0 2", "20: 0 0 1",
      "26: 0 0 0" }, levels_of(events, 11, { "queued", "prefill", "decode" }))
    assert.same({ "instance_0 active 0 5.5 -", "instance_0 failed 5.5 8.5 crash",
      "instance_0 active 8.5 26 -", "instance_1 active 0 26 -" }, runs.states_of(events))
  end)

  it("shows the pause of one that is sent again, by hand", function()
    local result = crash { requests = "retried", retry_after = 2000 }
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    assert.same({ "10 prefill 0 1", "10 decode 1 5.5", "1 retrying 5.5 7.5", "11 queued 7.5 8",
      "11 prefill 8 9", "11 decode 9 28" }, parts_of(events, "request_0"))
    assert.equal("retried", visits_of(events, "request_0")[1].args.ended)
    assert.same({ "retry 10 5499 > 11 7500" }, arrows_of(events))
  end)

  it("has one that nobody takes any more in front of instances", function()
    local result = even_run({ { 0, 16, 20 } }, 1, { faults = { { kind = "crash", at = 5500,
      instance = "instance_0", requests = "retried", retry_after = 2000 } } })
    local _, events = read(result)
    check.check(events, result)
    assert.equal("rejected", result.requests[1].state)
    assert.same({ "10 prefill 0 1", "10 decode 1 5.5", "1 retrying 5.5 7.5" },
      parts_of(events, "request_0"))
    assert.same({ "retry 10 5499 > 1 5500" }, arrows_of(events))
  end)

  it("tells pauses from waits in the gateway's queue", function()
    local result = even_run({ { 0, 16, 20 }, { 0, 16, 20 }, { 1000, 16, 20 } }, 2, {
      cluster = { max_num_seqs = 1 },
      queue = { saturation = { "concurrency", max_concurrency = 1 }, dispatch = "event" },
      faults = { { kind = "crash", at = 5500, instance = "instance_0", requests = "retried",
        retry_after = 2000 } } })
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "some")
    -- The second one ends at 20 ms, on the instance that is left; the third one has its place until
    -- 40 ms, and then comes the first, which is sent again at 7.5 ms.
    -- The gateway looks a microsecond after there is room.
    local function rounded(id)
      return table.concat(parts_of(events, id), ", "):gsub("%.00%d", "")
    end
    assert.equal("10 prefill 0 1, 10 decode 1 5.5, 1 retrying 5.5 7.5, 1 waiting 7.5 40, "
      .. "11 prefill 40 41, 11 decode 41 60", (rounded "request_0"))
    assert.equal("1 waiting 1 20, 11 prefill 20 21, 11 decode 21 40", (rounded "request_2"))
  end)

  it("ends one that is lost with its instance", function()
    local result = crash { requests = "failed" }
    local _, events = read(result)
    check.check(events, result)
    assert.same({ "10 prefill 0 1", "10 decode 1 5.5" }, parts_of(events, "request_0"))
    assert.equal("failed", visits_of(events, "request_0")[1].args.ended)
    assert.same({}, arrows_of(events))
  end)

  it("has the tokens on their way behind the last step", function()
    local result = blis.run { cluster = { instances = 1 }, keep_timeline = true, keep_steps = true,
      workload = { requests = 1, rate = 1, prompt = 100, output = 10 } }
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    local last_us = 0
    for _, event in ipairs(events) do
      if event.cat == "step" then last_us = math.max(last_us, event.ts + event.dur) end
    end
    local record = result.requests[1]
    assert.is_true(record.end_us > last_us)
    local parts = parts_of(events, "request_0")
    assert.equal(("10 delivery %g %g"):format(last_us / 1000, record.end_us / 1000), parts[#parts])
  end)

  it("draws what records tell where there is no log", function()
    local fault = { kind = "crash", at = 5500, instance = "instance_0", requests = "rerouted",
      recover_after = 3000 }
    local result = even_run({ { 0, 16, 20 }, { 0, 16, 20 } }, 2, { faults = { fault },
      keep_timeline = false })
    local _, events = read(result)
    check.check(events, result)
    assert.same({ "11 queued 0 6", "11 prefill 6 7", "11 decode 7 26" },
      parts_of(events, "request_0"))
    assert.same({}, runs.states_of(events))
  end)

  it("draws what records tell of requests that ended when the log was full", function()
    local fault = { kind = "crash", at = 5500, instance = "instance_0", requests = "rerouted",
      recover_after = 3000 }
    local result = even_run({ { 0, 16, 20 }, { 0, 16, 3 } }, 2, { faults = { fault } })
    local whole = { parts_of(select(2, read(result)), "request_0"),
      parts_of(select(2, read(result)), "request_1") }
    assert.equal(10, tonumber(whole[1][1]:match "^%d+"))
    result.timeline_log.complete_until_us = 10000
    local _, events = read(result)
    check.check(events, result)
    assert.same({ "11 queued 0 5.5", "11 prefill 5.5 6.5", "11 decode 6.5 25.5" },
      parts_of(events, "request_0"))
    assert.same(whole[2], parts_of(events, "request_1"))
    for _, state in ipairs(runs.states_of(events)) do
      assert.is_true(tonumber(state:match "^%S+ %S+ %S+ (%S+)") <= 10, state)
    end
  end)

  it("has an arrow to each model that a cascade asks", function()
    local small, large = "qwen/qwen2.5-7b-instruct", "qwen/qwen3-14b"
    local i = 0
    local result = blis.run { keep_timeline = true,
      cluster = { groups = { { instances = 1, model = small, hardware = "H100" },
        { instances = 1, model = large, hardware = "H100" } } },
      cascade = { chain = { small, large }, confidence_threshold = -1 },
      workload = function()
        i = i + 1
        return i == 1 and { arrival_us = 0, prompt_tokens = 100, output_tokens = 20,
          mean_logprob = { [small] = -2, [large] = -0.5 } } or nil
      end }
    local _, events = read(result)
    check.check(events, result)
    local visits = visits_of(events, "request_0")
    assert.same({ 2, 10, "completed", 11, "completed" }, { #visits, visits[1].pid,
      visits[1].args.ended, visits[2].pid, visits[2].args.ended })
    local end_us = visits[1].ts + visits[1].dur
    assert.same({ ("escalate 10 %d > 11 %d"):format(end_us - 1, visits[2].ts) }, arrows_of(events))
  end)

  local function pools(more)
    local spec = { keep_timeline = true, keep_steps = true, seed = 3,
      cluster = { model = "qwen3-14b", hardware = "H100", instances = 4, prefill_instances = 2,
        decode_instances = 2 },
      workload = { rate = 60, requests = 300, prompt = 300, output = 60 } }
    for key, value in pairs(more or {}) do spec[key] = value end
    return blis.run(spec)
  end

  it("has requests that are handed off in the queue of who decodes until they decode", function()
    local result
    -- Who decodes computes the last token of the prompt, unless it has the first one already.
    for _, first_token in ipairs { "decode", "prefill" } do
      result = pools { disaggregation = { first_token = first_token } }
      local _, events = read(result)
      check.check(events, result)
      truth.check(events, blis.rng(1, "truth"), "all")
      local counts = {}
      for _, event in ipairs(events) do
        if event.cat == "stage" and event.pid >= 12 then
          counts[event.name] = (counts[event.name] or 0) + 1
        end
      end
      assert.is_true(counts.queued > 200)
      for _, event in ipairs(events) do
        if event.name == "handoff" and event.ph == "X" and event.pid == 1 then
          local record = result.requests[1 + tonumber(event.args.req:match "%d+$")]
          assert.equal(record.id, event.args.req)
          assert.same({ record.prefill_end_us, record.transfer_end_us },
            { event.ts, event.ts + event.dur })
          counts.handoff = (counts.handoff or 0) + 1
        end
      end
      assert.equal(300, counts.handoff)
      assert.equal(first_token == "decode" and 300 or nil, counts.prefill)
    end
    local log = result.timeline_log.visits
    local last = {}
    for i, id in ipairs(log.request) do
      last[id] = (last[id] or 0) + 1
      assert.equal(last[id], log.number[i])
      assert.equal(last[id] == 1 and "prefilled" or "completed", log.outcome[i])
    end
  end)

  it("has requests that are lost there before they decode in the queue", function()
    local result = pools { cluster = { model = "qwen3-14b", hardware = "H100", instances = 4,
      prefill_instances = 2, decode_instances = 2, max_num_seqs = 4 }, faults = { { kind = "crash",
      at = 2000000, instance = "instance_2", requests = "failed" } } }
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    local log, lost = result.timeline_log.visits, 0
    for i, outcome in ipairs(log.outcome) do
      if outcome == "failed" and log.instance[i] == "instance_2" and log.number[i] == 2 then
        lost = lost + (log.admitted_us[i] == -1 and 1 or 0)
      end
    end
    assert.is_true(lost > 0)
  end)

  it("has an arrow to where a hand-off that failed is tried again", function()
    local result = pools { disaggregation = { on_failure = "retry" },
      faults = { { kind = "crash", at = 1000000, instance = "instance_0" } } }
    local _, events = read(result)
    check.check(events, result)
    local outcomes = {}
    for i, outcome in ipairs(result.timeline_log.visits.outcome) do
      if result.timeline_log.visits.instance_state[i] == "failed" then
        outcomes[outcome] = (outcomes[outcome] or 0) + 1
      end
    end
    assert.is_true((outcomes.rerouted or 0) > 0)
    assert.is_nil(outcomes.recomputed)
  end)

  it("draws faults of no instance at control", function()
    local result = crash { requests = "rerouted" }
    result.faults[#result.faults + 1] = { time_us = 7000, kind = "outage" }
    local _, events = read(result)
    local pids = {}
    for _, event in ipairs(events) do
      if event.cat == "fault" then pids[event.name] = event.pid end
    end
    assert.same({ crash = 10, outage = 990 }, pids)
    check.check(events, result)
  end)

  it("is the same of a saved result", function()
    local result = crash { requests = "retried" }
    local path = os.tmpname() .. ".json"
    result:save(path)
    assert.equal(written(result), written(blis.load_result(path)))
    os.remove(path)
  end)
end)

-- Few KV blocks, instances that fail, come and go, both profiles.
local function hard_case(seed, engine)
  local rng = blis.rng(seed, "hard")
  local function of(list) return list[rng:integer(1, #list)] end
  local instances = rng:integer(2, 4)
  local spec = {
    seed = seed, keep_timeline = true, profile = rng:number() < 0.3 and "go-blis" or nil,
    cluster = { model = "qwen3-14b", hardware = "H100", instances = instances,
      kv_blocks = of { 60, 90, 150 }, max_num_seqs = of { 4, 16 }, engine = engine,
      async_scheduling = rng:number() < 0.5 },
    workload = { rate = of { 20, 60 }, requests = 80, timeout_us = of { 2000000, 30000000 },
      prompt = { "gaussian", mean = 200, std_dev = 150, min = 4, max = 500 },
      output = { "gaussian", mean = 100, std_dev = 80, min = 1, max = 300 } },
  }
  local kind = spec.profile and "none" or of { "faults", "spot", "autoscaler", "none" }
  if kind == "faults" then
    spec.faults = {}
    for i = 1, 3 do
      local fault = { kind = of { "crash", "crash", "reclaim" }, at = rng:integer(0, 3000000),
        instance = rng:integer(1, instances), recover_after = of { 200000, 900000 },
        requests = of { "rerouted", "retried", "failed" } }
      if fault.requests == "retried" then fault.retry_after = of { 0, 400000 } end
      spec.faults[i] = fault
    end
  elseif kind == "spot" then
    spec.cluster.spot = { notice = of { 0, 300000 }, restart_time = 200000,
      requests = of { "rerouted", "retried" },
      steps = { { at = 0, available = instances, gpu_price_per_hour = 1 },
        { at = 700000, available = 1 }, { at = 1500000, available = instances } } }
  elseif kind == "autoscaler" then
    spec.autoscaler = { "queue-depth", interval_seconds = 1 }
    spec.scaling = { min_replicas = 1, max_replicas = 5, loading_delay_us = 300000,
      drain = of { "wait", "redirect", "immediate" } }
  end
  return spec
end

describe("a timeline at random", function()
  local cases = tonumber(os.getenv "BLIS_CASES") or 30

  it("agrees with itself, with steps and with states, in hard cases", function()
    local seen = { steps = 0, preemptions = 0 }
    for seed = 1, cases do
      local spec = hard_case(seed)
      spec.keep_steps = true
      local result = blis.run(spec)
      local _, events = read(result)
      local counts = check.check(events, result)
      local ok, steps, preemptions = pcall(truth.check, events, blis.rng(seed, "truth"),
        spec.profile and "some" or "all")
      assert.is_true(ok, ("case %d: %s"):format(seed, steps))
      assert.equal(result.preemptions, preemptions, "case " .. seed)
      seen.steps, seen.preemptions = seen.steps + steps, seen.preemptions + preemptions
      for _, name in ipairs { "reroute", "retry", "state" } do
        seen[name] = (seen[name] or 0) + (counts[name] or 0)
      end
      local rerouted = 0
      for _, outcome in ipairs(result.timeline_log.visits.outcome) do
        rerouted = rerouted + ((outcome == "rerouted" or outcome == "retried") and 1 or 0)
      end
      if spec.faults or spec.cluster.spot then
        assert.equal(result.rerouted + result.retried, rerouted, "case " .. seed)
      end
    end
    for name, count in pairs(seen) do assert.is_true(count > 20, name .. " " .. count) end
  end)

  --- The result of a mix; nil where parts of it exclude each other, an error of its options.
  local function made(spec)
    local is_made, result = pcall(blis.run, spec)
    if is_made then return result end
    assert.equal("invalid", result.code, tostring(result))
  end

  it("agrees with itself whatever meets whatever", function()
    local count = 0
    for seed = 1, cases do
      local spec = mixes.experiment(seed)
      spec.keep_timeline, spec.keep_steps = true, true
      local result = made(spec)
      if result then
        count = count + 1
        local last, states = {}, result.timeline_log.states
        for i, id in ipairs(states.instance) do
          assert.are_not.equal(last[id], states.state[i], ("case %d: %s"):format(seed, id))
          last[id] = states.state[i]
        end
        local _, events = read(result)
        check.check(events, result)
        local ok, problem = pcall(truth.check, events, blis.rng(seed, "truth"),
          spec.cluster.speculation and "drafts" or "some")
        assert.is_true(ok, ("case %d: %s"):format(seed, problem))
      end
    end
    assert.is_true(count > cases / 2, count .. " were made")
  end)

  it("is the same file of both engines", function()
    local count = 0
    for seed = 1, cases do
      local fast = blis.run(hard_case(seed, "fast"))
      assert.equal(written(fast), written(blis.run(hard_case(seed, "stepwise"))), "case " .. seed)
      local spec = mixes.experiment(seed, "fast")
      spec.keep_timeline = true
      fast = made(spec)
      spec = mixes.experiment(seed, "stepwise")
      spec.keep_timeline = true
      local stepwise = made(spec)
      assert.equal(fast == nil, stepwise == nil, "mix " .. seed)
      if fast then
        count = count + 1
        assert.equal(written(fast), written(stepwise), "mix " .. seed)
      end
    end
    assert.is_true(count > cases / 2, count .. " were made")
  end)
end)
