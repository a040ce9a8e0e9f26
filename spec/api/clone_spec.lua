local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local rng = blis.rng(11, "clone")

local lengths = { "gaussian", mean = 180, std_dev = 90, min = 2, max = 500 }
local workloads = {
  { rate = 60, requests = 120, prompt = lengths, output = lengths,
    prefixes = { groups = 4, tokens = 320 } },
  { rate = 200, requests = 90, prompt = lengths, output = lengths, timeout_us = 900000 },
  { num_requests = 60, clients = { { id = "u", concurrency = 12, think_time_us = 20000,
    input_distribution = lengths, output_distribution = lengths } } },
}
local admissions = { false, "always-admit", function(request)
  if request.prompt_tokens % 7 == 0 then return blis.reject("seven") end
  if request.now_us == request.arrival_us and request.prompt_tokens % 5 == 0 then
    return blis.delay(30000)
  end
  return blis.admit()
end }

local function least_waiting(_, instances)
  local best = 1
  for i, instance in ipairs(instances) do
    if instance.queue_depth + instance.pending < instances[best].queue_depth
      + instances[best].pending then
      best = i
    end
  end
  return best
end

local routings = { "round-robin", "least-loaded", "random", "power-of-two", "weighted",
  "consistent-hash", "lmetric", "prefix-affinity", "b3.least_loaded", "routesim.cost_escalation",
  "cognitora.score", "unified", least_waiting,
  { "weighted", scorers = { { { name = "mine", columns = true,
    score = function(_, c) return 1 / (1 + c.in_flight) end }, 1 }, { "no-hit-lru", 2 } } } }

--- A random experiment that needs all its parts.
local function random_experiment(routing)
  local function one_of(list) return list[rng:integer(1, #list)] end
  return {
    cluster = { instances = rng:integer(2, 4), max_num_seqs = one_of { 4, 64 },
      kv_blocks = one_of { 120, 4000 }, engine = one_of { "fast", "stepwise" },
      scheduler = one_of { "fcfs", "sjf" }, routing_latency_us = one_of { 0, 500 },
      snapshot_refresh_us = one_of { 0, 50000 }, cache_signal_delay_us = one_of { 0, 20000 },
      kv_cpu_blocks = one_of { 0, 60 } },
    workload = one_of(workloads), routing = routing, admission = one_of(admissions) or nil,
    seed = rng:integer(1, 1000), horizon_us = one_of { 900000, math.maxinteger },
  }
end

--- Drives it somewhere, in one of the ways in which that can be done.
local function drive(sim)
  for _ = 1, rng:integer(0, 3) do
    if rng:integer(1, 2) == 1 then
      sim:run_until(sim.now_us + rng:integer(0, 700000))
    else
      for _ = 1, rng:integer(1, 60) do sim:step() end
    end
  end
end

local known = {}
for _, routing in ipairs(routings) do
  local ok = pcall(blis.router, routing)
  if ok or type(routing) ~= "string" then known[#known + 1] = routing end
end

describe("sim:clone()", function()
  it("knows the policies of this test", function()
    assert.is_true(#known >= 12, #known)
  end)

  it("goes on as the original does, under every policy #slow", function()
    for _, routing in ipairs(known) do
      for _ = 1, 4 do
        local spec = random_experiment(routing)
        local expected = blis.run(spec).hash
        local sim = blis.simulation(spec)
        drive(sim)
        local clone = sim:clone()
        assert.equal(tostring(sim), tostring(clone))
        drive(clone)
        local other = clone:clone()
        for _, one in ipairs { other, sim, clone } do
          assert.equal(expected, one:run().hash, type(routing) == "string" and routing or "Lua")
        end
      end
    end
  end)

  it("leaves the original alone", function()
    local sim = blis.simulation(small.experiment()):run_until(500000)
    local before = tostring(sim)
    sim:clone():run()
    assert.equal(before, tostring(sim))
    assert.equal(500000, sim.now_us)
  end)

  it("has what was scheduled with sim:at", function()
    local seen = {}
    local function note(sim)
      seen[#seen + 1] = sim.now_us
      if sim.now_us < 900000 then sim:at(sim.now_us + 200000, note) end
    end
    local sim = blis.simulation(small.experiment()):run_until(50000)
    sim:at(100000, note):run_until(350000)
    assert.same({ 100000, 300000 }, seen)
    local clone = sim:clone()
    assert.same({ 100000, 300000, 100000, 300000 }, seen)
    clone:run()
    assert.same({ 100000, 300000, 100000, 300000, 500000, 700000, 900000 }, seen)
    sim:run()
    assert.equal(10, #seen)
  end)

  it("may be of a finished simulation", function()
    local sim = blis.simulation(small.experiment())
    local result = sim:run()
    local again = sim:clone():run()
    assert.equal(tostring(result), tostring(again))
  end)

  it("is refused where a function remembers what was before", function()
    local n = 0
    local spec = small.experiment { routing = function(_, instances)
      n = n + 1
      return n // 5 % #instances + 1
    end }
    local sim = blis.simulation(spec):run_until(280000)
    assert.is_true(n > 0 and n % 15 ~= 0)
    says(small.message_of(sim.clone, sim), "keeps state between runs")
    says(small.message_of(sim.clone, sim), "at 280000 us")
    assert.equal(60, sim:run().completed)
  end)

  it("is refused in the middle of an event, and after a failure", function()
    local message
    local sim
    sim = blis.simulation(small.experiment { routing = function()
      message = message or small.message_of(sim.clone, sim)
      return 1
    end })
    sim:run()
    says(message, "cannot be called inside a hook")
    local failing = blis.simulation(small.experiment { routing = function() error "oops" end })
    small.error_of(failing.run, failing)
    says(small.message_of(failing.clone, failing), "oops")
    failing:close()
    says(small.message_of(failing.clone, failing), "closed")
  end)
end)

describe("sim:pin()", function()
  local function routings_of(spec)
    local list = {}
    spec.trace_level = "decisions"
    local result = blis.run(spec)
    spec.trace_level = nil
    for _, decision in ipairs(result.decisions) do
      if decision.chosen then list[#list + 1] = decision end
    end
    return list, result
  end

  it("sends a request to an instance, and leaves the rest to the policy #slow", function()
    for _, routing in ipairs(known) do
      local spec = random_experiment(routing)
      local decisions = routings_of(spec)
      local decision = decisions[rng:integer(1, #decisions)]
      local target = decision.candidates[rng:integer(1, #decision.candidates)].instance
      local result = blis.simulation(spec):pin(decision.request, target):run()
      for _, record in ipairs(result.requests) do
        if record.id == decision.request then assert.equal(target, record.instance) end
      end
    end
  end)

  it("changes nothing when the policy would have done the same #slow", function()
    for _, routing in ipairs { "round-robin", "least-loaded", "weighted", "lmetric",
      least_waiting } do
      local spec = random_experiment(routing)
      local decisions, result = routings_of(spec)
      local sim = blis.simulation(spec)
      for _ = 1, 5 do
        local decision = decisions[rng:integer(1, #decisions)]
        sim:pin(decision.request, decision.chosen)
      end
      assert.equal(result.hash, sim:run().hash)
    end
  end)

  it("of a clone gives what a fresh run gives that is told the same #slow", function()
    for _, routing in ipairs(known) do
      for _ = 1, 2 do
        local spec = random_experiment(routing)
        local decisions = routings_of(spec)
        local decision = decisions[rng:integer(1, #decisions)]
        local target = decision.candidates[rng:integer(1, #decision.candidates)].instance
        local fresh = blis.simulation(spec):pin(decision.request, target):run()
        local sim = blis.simulation(spec):run_until(math.max(decision.time_us - 1, 0))
        local clone = sim:clone():pin(decision.request, target)
        assert.equal(fresh.hash, clone:clone():run().hash)
        assert.equal(fresh.hash, clone:run().hash)
        assert.equal(blis.run(spec).hash, sim:run().hash)
      end
    end
  end)

  it("takes ids of follow-ups", function()
    local spec = random_experiment("round-robin")
    spec.workload, spec.horizon_us, spec.admission = workloads[3], nil, nil
    local decisions = routings_of(spec)
    local decision = decisions[50]
    assert.matches("^session_", decision.request)
    local target = decision.candidates[decision.chosen == "instance_0" and 2 or 1].instance
    local result = blis.simulation(spec):pin(decision.request, target):run()
    local found
    for _, record in ipairs(result.requests) do
      if record.id == decision.request then found = record.instance end
    end
    assert.equal(target, found)
  end)

  it("tells of what was never routed", function()
    local notices, told = require "blis.notices", {}
    local before = notices.collect(function(line) told[#told + 1] = line end)
    local sim = blis.simulation(small.experiment())
    local result = sim:pin("request_0", "instance_1"):pin("request_77777", "instance_2"):run()
    local other = blis.simulation(small.experiment()):pin("session_a_1", "instance_1")
      :pin("request_99999", "instance_1"):run()
    notices.collect(before)
    local line = "sim:pin: request_77777 had no routing decision after it was pinned, so the pin "
      .. "had no effect"
    assert.equal(line, told[1])
    says(tostring(result), "note: " .. line)
    says(tostring(other), "the follow-up with number 1 and 1 more had no")
  end)

  it("tells what is wrong", function()
    local sim = blis.simulation(small.experiment())
    says(small.message_of(sim.pin, sim, "17", "instance_0"), "expected the id of a request")
    says(small.message_of(sim.pin, sim, "request_", "instance_0"), "expected the id of a request")
    says(small.message_of(sim.pin, sim, "request_1", "0"), "expected the id of an instance")
    says(small.message_of(sim.pin, sim, "request_1", "instance_3"),
      "there is no instance_3 among 3 instances")
  end)
end)

describe("blis.regret", function()
  local function uneven(routing)
    return { cluster = { instances = 3, max_num_seqs = 4 }, routing = routing,
      workload = { rate = 8, requests = 40, prompt = lengths,
        output = { "exponential", mean = 200 } } }
  end

  it("is what fresh runs give that are told the other choice #slow", function()
    local spec = uneven "random"
    local options = { experiment = spec, decisions = 4, continuations = 1 }
    local found = blis.regret(options)
    assert.equal(4, #found.decisions)
    assert.equal(13, found.runs)
    assert.equal(blis.run(spec).hash, found.result.hash)
    for _, one in ipairs(found.decisions) do
      local function pinned(instance)
        return blis.simulation(spec):pin(one.request, instance):run().e2e_ms.mean
      end
      assert.equal(pinned(one.chosen), one.value)
      local best = one.value
      assert.equal(2, #one.alternatives)
      for _, alternative in ipairs(one.alternatives) do
        assert.not_equal(one.chosen, alternative.instance)
        assert.equal(pinned(alternative.instance), alternative.value)
        best = math.min(best, alternative.value)
      end
      assert.equal(best, one.best_value)
      assert.near(one.value - best, one.regret, 1e-9)
    end
    assert.equal(tostring(found), tostring(blis.regret(options)))
  end)

  it("ranks nothing while the noise is not known", function()
    local found = blis.regret { experiment = uneven "random", decisions = 4, continuations = 3 }
    assert.equal(0, found.shown)
    assert.equal(0, found.max_regret)
    assert.is_nil(found.noise)
    says(tostring(found), "only 3 of the 4 continuations needed to estimate the noise: nothing is "
      .. "ranked")
    says(tostring(found), " or noise")
    local closed = blis.regret { decisions = 1, experiment = { cluster = { instances = 2 },
      workload = { rate = 5, requests = 20,
        sessions = { max_rounds = 3, think_time_us = 1000, closed_loop = true } } } }
    assert.equal(1, closed.continuations)
    assert.is_false(closed.decisions[1].is_shown)
  end)

  it("shows a choice that costs something in every future, and no other", function()
    -- All goes to the first of two instances; the decision looked at sends a prompt of 30,000
    -- tokens there, too, where everybody after it waits.
    local list =
      blis.workload { rate = 20, requests = 150, prompt_tokens = 200, output_tokens = 10 }
    list = list:map(function(request)
      return request.id == "request_20" and { prompt_tokens = 30000 } or {}
    end)
    local spec = { cluster = { instances = 2 }, workload = list,
      routing = function() return 1 end }
    local found = blis.regret { experiment = spec, decisions = { "request_20" },
      metric = "ttft_ms.mean" }
    local one = found.decisions[1]
    assert.equal(8, found.continuations)
    assert.equal(17, found.runs)
    assert.is_true(one.is_shown and one.low > 0)
    assert.is_true(one.low <= one.regret and one.regret <= one.high)
    assert.equal("instance_1", one.best)
    assert.same({ 1, one.regret }, { found.shown, found.max_regret })
    says(tostring(found), "1 of 1 decisions cost more than noise explains")

    -- Of two idle instances neither is the better one.
    local idle = blis.regret { decisions = 3, metric = "ttft_ms.p99", experiment = {
      cluster = { instances = 2 }, routing = "random",
      workload = { rate = 60, requests = 150, prompt_tokens = 300, output_tokens = 30 } } }
    assert.equal(0, idle.shown)
    assert.equal(0, idle.mean_regret)
    assert.is_true(idle.noise > 0)
    says(tostring(idle), "no decision cost more than noise explains; regrets below")
    says(tostring(idle), "may be undetected")
  end)

  it("ranks nothing where there was no choice", function()
    local function told(changes)
      local spec = { cluster = { instances = 1 }, workload = { rate = 20, requests = 10,
        prompt_tokens = 16, output_tokens = 4 } }
      for key, value in pairs(changes) do spec[key] = value end
      return tostring(blis.regret { experiment = spec, decisions = 2 })
    end
    says(told {}, "\n\nno decision had another candidate")
    says(told { admission = "reject-all" }, "\n\nno request was routed")
  end)

  it("takes ids, any figure and any goal", function()
    local found = blis.regret {
      experiment = uneven(least_waiting), decisions = { "request_20", "request_3" },
      metric = function(result) return result.ttft_ms.p99 end, goal = "max", continuations = 1,
    }
    assert.equal("request_3", found.decisions[1].request)
    assert.equal("request_20", found.decisions[2].request)
    assert.equal(found.result.ttft_ms.p99, found.value)
    assert.is_true(found.decisions[1].best_value >= found.value)
    local completed = blis.regret { experiment = uneven "random", decisions = 1,
      metric = "completed" }
    assert.equal(40, completed.value)
    assert.equal(0, completed.max_regret)
  end)

  it("tells what is wrong", function()
    local function message(changes)
      local options = { experiment = uneven "random" }
      for key, value in pairs(changes) do options[key] = value end
      return small.message_of(blis.regret, options)
    end
    says(message { decisions = 0 }, "regret.decisions: invalid value 0")
    says(message { decisions = { "request_99" } }, "'request_99' was not routed")
    says(message { metric = "e2e_ms" }, "regret.metric: e2e_ms is")
    says(message { metric = 5 }, "regret.metric: invalid value 5")
    says(message { goal = "low" }, "expected one of min, max")
    says(small.message_of(blis.regret, {}), "regret.experiment is missing")
  end)
end)
