-- States of instances in timelines of runs with keep_timeline: what they are, why they are, and
-- what the router does not know of.
local blis = require "blis"
local check = require "spec.support.timeline"
local runs = require "spec.support.timeline_runs"
local truth = require "spec.support.timeline_truth"

local even_run, read = runs.even, runs.read

--- "pid name time reason" of failures: on the track of an instance, or at it.
local function failures_of(events, scope)
  local list = {}
  for _, event in ipairs(events) do
    if event.cat == "failure" and event.s == scope then
      list[#list + 1] = ("%d %s %g %s"):format(event.pid, event.name, event.ts / 1000,
        event.args.reason)
    end
  end
  return list
end

--- "track from to" of what hangs.
local function hangs_of(events)
  local list = {}
  for _, event in ipairs(events) do
    if event.cat == "hang" then
      list[#list + 1] = ("%d %g %g"):format(event.tid, event.ts / 1000,
        (event.ts + event.dur) / 1000)
    end
  end
  return list
end

describe("the states of instances in a timeline", function()
  it("has instances that load at the start", function()
    local result = even_run({ { 0, 16, 9 }, { 2500000, 16, 9 } }, 2, { autoscaler = "queue-depth",
      scaling = { warm_start = false, loading_delay_us = 2000000 } })
    local _, events = read(result)
    local states = runs.states_of(events)
    assert.matches("^instance_000 loading 0 2000 ", states[1])
    assert.matches("^instance_000 active 2000 ", states[2])
  end)

  it("says why instances come and go", function()
    local result = even_run({ { 0, 16, 9 }, { 250000, 16, 500 }, { 250000, 16, 500 } }, 1, {
      autoscaler = blis.autoscaler { name = "two", interval_us = 100000,
        decide = function(context)
          return context.now_us < 200000 and 2 or context.now_us < 500000 and 3 or 1
        end },
      scaling = { min_replicas = 1, max_replicas = 3, loading_delay_us = 100000 } })
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    local states = runs.states_of(events)
    local log = result.timeline_log.states
    assert.same({ 0, "instance_000", "active" }, { log.time_us[1], log.instance[1], log.state[1] })
    assert.matches("^instance_000 active 0 ", states[1])
    local seen = {}
    for _, state in ipairs(states) do
      local id, name, from, to, reason = state:match "^(%S+) (%S+) (%S+) (%S+) (.*)$"
      if id == "instance_001" then seen[name] = { tonumber(from), tonumber(to), reason } end
    end
    local first = result.scaling.events[1]
    assert.equal(100, seen.loading[2] - seen.loading[1])
    assert.equal(first.time_us / 1000, seen.loading[1])
    assert.matches("^" .. first.trigger, seen.loading[3])
    assert.is_true(seen.draining[2] > seen.draining[1])
    -- Another one is asked for as it starts to serve, which is not why it does.
    assert.same({ 200, "-" }, { seen.active[1], seen.active[3] })
    assert.equal(200000, result.scaling.events[2].time_us)
  end)

  it("gives instances the reasons of their own pool", function()
    local result = blis.run { keep_timeline = true,
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", prefill_instances = 2,
        decode_instances = 2 },
      disaggregation = {}, scaling = { max_replicas = 8, loading_delay_us = 200000 },
      workload = { rate = 40, requests = 400, prompt = { "constant", value = 3000 },
        output = { "constant", value = 150 } },
      autoscaler = { prefill = { "queue-depth", interval_seconds = 1 },
        decode = { "queue-depth", interval_seconds = 1 } } }
    local reasons, roles = {}, {}
    for _, event in ipairs(result.scaling.events) do
      reasons[("%d %s %s: %s"):format(event.time_us, event.pool, event.trigger, event.reason)] =
        event.to > event.from and "loading" or "draining"
    end
    for _, instance in ipairs(result.instances) do
      roles[instance.id] = result.setup.groups[instance.group].role
    end
    local count = 0
    for _, event in ipairs(select(2, read(result))) do
      if event.cat == "state" and event.args.reason then
        count = count + 1
        local key = ("%d %s %s"):format(event.ts, roles[event.args.instance], event.args.reason)
        assert.equal(event.name, reasons[key], key)
      end
    end
    assert.equal(2, count)
  end)

  --- Instance 0 hangs at 5.5 ms, in its 6th step, with a request; there is a request at 30 ms.
  local function hang(fault, more)
    local one = { kind = "hang", at = 5500, instance = "instance_0",
      requests = fault.recover_after and "rerouted" }
    for key, value in pairs(fault) do one[key] = value end
    local spec = { faults = { one }, keep_steps = true }
    for key, value in pairs(more or {}) do spec[key] = value end
    local result = even_run({ { 0, 16, 20 }, { 0, 16, 20 }, { 30000, 16, 20 } }, 2, spec)
    local _, events = read(result)
    check.check(events, result)
    truth.check(events, blis.rng(1, "truth"), "all")
    return events
  end

  it("tell that an instance hung and was killed, though it was up again at once", function()
    local events = hang { recover_after = 3000 }
    assert.same({ "instance_0 active 0 8.5 -", "instance_0 active 8.5 50 -",
      "instance_1 active 0 50 -" }, runs.states_of(events))
    assert.same({ "1 5.5 8.5" }, hangs_of(events))
    assert.same({ "990 failed 8.5 hang" }, failures_of(events, "t"))
    assert.same({ "10 failed 8.5 hang" }, failures_of(events, "p"))
  end)

  it("have what is left of a hang that somebody noticed", function()
    local events = hang { recover_after = 3000, restart_time = 4000 }
    assert.same({ "instance_0 active 0 8.5 -", "instance_0 recovering 8.5 12.5 -",
      "instance_0 active 12.5 50 -", "instance_1 active 0 50 -" }, runs.states_of(events))
    assert.same({ "1 5.5 8.5" }, hangs_of(events))
    -- A crash ends it before, and says itself why.
    events = hang({}, { faults = { { kind = "hang", at = 5500, instance = "instance_0",
      recover_after = 9000 }, { kind = "crash", at = 7000, instance = "instance_0" } } })
    assert.same({ "1 5.5 7" }, hangs_of(events))
    assert.same({}, failures_of(events, "p"))
    assert.equal("instance_0 failed 7 50 crash", runs.states_of(events)[2])
  end)

  it("have a hang that nobody ends, where no state ever changes", function()
    local events = hang({}, { horizon_us = 40000 })
    -- Nothing happens any more when the last request has come to it.
    assert.same({ "instance_0 active 0 30 -", "instance_1 active 0 30 -" }, runs.states_of(events))
    assert.same({ "1 5.5 30" }, hangs_of(events))
  end)

  it("have the hang of an instance that is told to go, until it is switched off", function()
    local events = hang({}, { faults = { { kind = "hang", at = 5500, instance = "instance_0" },
      { kind = "reclaim", at = 7000, notice = 3000, instance = "instance_0" } } })
    assert.same({ "1 5.5 7", "1 7 10" }, hangs_of(events))
    assert.same({ "instance_0 draining 7 10 reclaim", "instance_0 failed 10 50 hang" },
      { table.unpack(runs.states_of(events), 2, 3) })
  end)

  --- Instances of which a start takes a second, or two, and may fail.
  local function starts(more)
    local scaling = { warm_start = false, loading_delay_us = 1000000, start_failure = 0.6,
      start_retries = 3, min_replicas = 2, max_replicas = 2 }
    for key, value in pairs(more or {}) do scaling[key] = value end
    local result = even_run({ { 0, 16, 9 }, { 20000000, 16, 9 } }, 2, { autoscaler = "queue-depth",
      seed = 8, horizon_us = 30000000, scaling = scaling })
    local _, events = read(result)
    check.check(events, result)
    return events, result
  end

  it("tell of every start that failed, whatever state comes then", function()
    for _, provisioning_us in ipairs { 0, 1000000 } do
      local events, result = starts { provisioning_delay_us = provisioning_us }
      local marks, slices = failures_of(events, "t"), 0
      for _, state in ipairs(runs.states_of(events)) do
        local name, reason = state:match "^%S+ (%S+) %S+ %S+ (.*)$"
        if name == "failed" then
          assert.equal("start failed", reason)
          slices = slices + 1
        end
      end
      assert.equal(result.scaling.failed_starts, #marks + slices)
      assert.equal(result.scaling.failed_starts, #failures_of(events, "p"))
      assert.is_true(#marks > 2)
      local from_us = result.timeline_log.states.time_us
      for i = 2, #from_us do assert.is_true(from_us[i - 1] <= from_us[i]) end
    end
  end)

  it("have a start that failed for good as one that has failed", function()
    local events = starts { start_failure = 1, start_retries = 1 }
    assert.same({ "instance_000 loading 0 1000 -", "instance_000 loading 1000 2000 -",
      "instance_000 failed 2000 " }, { runs.states_of(events)[1], runs.states_of(events)[2],
      (runs.states_of(events)[3]:match "^.- failed %S+ ") })
    assert.equal("10 failed 1000 start failed", failures_of(events, "p")[1])
  end)
end)
