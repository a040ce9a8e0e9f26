local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says = small.says

local function traced(changes)
  local spec = small.experiment { trace_level = "decisions", routing = "weighted" }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.run(spec)
end

local function routings(result)
  local list = {}
  for _, decision in ipairs(result.decisions) do
    if decision.kind == "routing" then list[#list + 1] = decision end
  end
  return list
end

--- Written as JSON lines, decisions are the same.
local function check_written(result)
  files.with(nil, function(path)
    result:save_decisions(path)
    local i = -1
    for line in io.lines(path) do
      i = i + 1
      local got = core.json_read(line)
      if i > 0 then
        got.number = result.decisions[i].number
        assert.same(result.decisions[i], got)
      else
        assert.same({ scorers = {} }, got)
      end
    end
    assert.equal(#result.decisions, i)
  end, ".jsonl")
end

describe("a trace of decisions", function()
  it("changes nothing #slow", function()
    for _, routing in ipairs { "weighted", "round-robin", "least-loaded", "lmetric" } do
      local spec = small.experiment { routing = routing }
      assert.equal(blis.run(spec).hash, traced({ routing = routing }).hash)
    end
  end)

  it("has every decision with its candidates", function()
    local result = traced()
    assert.equal(120, #result.decisions)
    local instance_of = {}
    for _, record in ipairs(result.requests) do instance_of[record.id] = record.instance end
    for i, decision in ipairs(routings(result)) do
      assert.equal("request_" .. i - 1, decision.request)
      assert.equal("weighted", decision.reason)
      assert.equal("admit", decision.verdict)
      assert.equal(instance_of[decision.request], decision.chosen)
      assert.equal(3, #decision.candidates)
    end
    assert.equal("always-admit", result.decisions[1].reason)
    assert.is_nil(result.decisions[1].candidates)
    assert.is_nil(result.decisions[121])
    says(small.message_of(function() return result.decisions.x end), "has no field 'x'")
  end)

  it("has what each scorer contributes #slow", function()
    local result = traced { routing = { "weighted",
      scorers = { { "queue-depth", 3 }, { "prefix-affinity", 1 } } } }
    local scorers = result.decisions:scorers()
    assert.same({ { name = "queue-depth", weight = 0.75 },
      { name = "prefix-affinity", weight = 0.25 } }, scorers)
    for _, decision in ipairs(routings(result)) do
      local best = -1
      for _, candidate in ipairs(decision.candidates) do
        local sum = 0
        for _, scorer in ipairs(scorers) do
          sum = sum + scorer.weight * candidate.scores[scorer.name]
        end
        assert.is_true(math.abs(sum - candidate.score) < 1e-12)
        best = math.max(best, candidate.score)
        if candidate.instance == decision.chosen then
          assert.equal(decision.score, candidate.score)
        end
      end
      assert.equal(best, decision.score)
      assert.equal(0, decision.regret)
    end
  end)

  it("shows candidates as the policy saw them, in Lua too #slow", function()
    local seen = {}
    local result = traced { routing = function(request, instances)
      seen[request.id] = {}
      for i, instance in ipairs(instances) do
        seen[request.id][i] = { instance.queue_depth, instance.batch_size, instance.in_flight,
          instance.free_kv_blocks, instance.kv_utilization, -instance.effective_load }
      end
      return #request.id % #instances + 1
    end }
    for _, decision in ipairs(routings(result)) do
      for i, c in ipairs(decision.candidates) do
        assert.same(seen[decision.request][i], { c.queue_depth, c.batch_size, c.in_flight,
          c.free_kv_blocks, c.kv_utilization, c.score })
        assert.is_nil(c.scores)
      end
    end
  end)

  it("has the regret of policies without scores by effective load #slow", function()
    local result = traced { routing = "always-busiest" }
    local sum, most = 0, 0
    for _, decision in ipairs(routings(result)) do
      local best, chosen = -math.huge, nil
      for _, c in ipairs(decision.candidates) do
        best = math.max(best, c.score)
        if c.instance == decision.chosen then chosen = c.score end
      end
      assert.equal(best - chosen, decision.regret)
      sum, most = sum + decision.regret, math.max(most, decision.regret)
    end
    local summary = result.decisions:summary()
    assert.is_true(most > 0)
    assert.equal(sum / 60, summary.mean_regret)
    assert.equal(most, summary.max_regret)
    assert.equal(0, traced({ routing = "least-loaded" }).decisions:summary().max_regret)
  end)

  it("keeps the best k candidates #slow", function()
    local all = routings(traced { routing = "round-robin" })
    for _, k in ipairs { 0, 1, 2, 5 } do
      local result = traced { routing = "round-robin", counterfactual_k = k }
      for i, decision in ipairs(routings(result)) do
        assert.equal(math.min(k, 3), #decision.candidates)
        assert.equal(k == 0 and 0 or all[i].regret, decision.regret)
        local sorted = table.move(all[i].candidates, 1, 3, 1, {})
        table.sort(sorted, function(a, b)
          if a.score ~= b.score then return a.score > b.score end
          return a.instance < b.instance
        end)
        for n, candidate in ipairs(decision.candidates) do
          assert.same(sorted[n], candidate)
        end
      end
    end
  end)

  it("has what policies tell beside scores, in files too", function()
    local result = traced { routing = "routesim.cost_escalation" }
    local facts = routings(result)[2].facts
    assert.is_true(facts.max_backend_cost > 0)
    assert.equal(facts.max_backend_cost - facts.min_backend_cost, facts.cost_spread)
    assert.is_nil(routings(traced())[1].facts)
    check_written(result)
  end)

  it("has refusals and delays with their reasons", function()
    local asked = {}
    local result = traced { admission = function(request)
      if not asked[request.id] then
        asked[request.id] = true
        return blis.delay(1000)
      end
      if request.prompt_tokens % 2 == 0 and #request.id % 2 == 0 then
        return blis.reject("even")
      end
      return blis.admit()
    end }
    local verdicts = { admit = 0, reject = 0, delay = 0 }
    for _, decision in ipairs(result.decisions) do
      if decision.kind == "admission" then
        verdicts[decision.verdict] = verdicts[decision.verdict] + 1
        if decision.verdict == "reject" then assert.equal("even", decision.reason) end
      end
    end
    assert.same({ admit = 60 - result.rejected, reject = result.rejected, delay = 60 }, verdicts)
    local summary = result.decisions:summary()
    assert.equal(60, summary.total)
    assert.equal(result.rejected, summary.rejected)
    assert.equal(60 - result.rejected, summary.routed)
  end)

  it("is printed and written", function()
    local result = traced { routing = "round-robin" }
    says(tostring(result.decisions), "120 decisions\nTotal Decisions: 60\n  Admitted: 60\n")
    says(tostring(result.decisions), "Target Distribution:\n  instance_0: 20\n")
    check_written(result)
  end)

  it("has to be asked for", function()
    local result = blis.run(small.experiment())
    says(small.message_of(function() return result.decisions end), 'trace_level = "decisions"')
  end)

  it("outlives its result", function()
    local list = traced().decisions
    collectgarbage()
    collectgarbage()
    assert.equal("request_59", list[120].request)
  end)
end)
