local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local function weighted(stages)
  stages[1] = "weighted"
  stages.scorers = stages.scorers or "queue-depth:1"
  return stages
end

local function run(stages)
  return blis.run(small.experiment { routing = weighted(stages) })
end

describe("a filter in Lua", function()
  local function not_the_second(_, instance) return instance.index ~= 2 end

  it("keeps candidates out, however it is written", function()
    local forms = {
      not_the_second,
      { name = "f", keep = not_the_second },
      blis.filter { name = "f", keep = not_the_second },
    }
    for _, filter in ipairs(forms) do
      local counts = run { filters = { filter } }.requests_per_instance
      assert.equal(0, counts[2])
      assert.equal(60, counts[1] + counts[3])
    end
  end)

  it("may work on columns", function()
    local function both(filter)
      return run { filters = { filter }, scorers = "prefix-affinity:1" }.hash
    end
    assert.equal(
      both { name = "f", keep = function(_, i) return i.in_flight < 3 end },
      both { name = "f", columns = true,
        keep = function(_, c) return blis.vec.lt(c.in_flight, 3) end })
  end)

  it("is one of several, and refuses a request when nobody is left", function()
    local result = run {
      filters = { not_the_second, function(request) return request.id ~= "request_7" end },
    }
    assert.equal(1, result.rejected)
    assert.equal("no-candidate", result.requests[8].reason)
    assert.equal(429, result.requests[8].status_code)
    assert.equal(59, result.completed)
  end)

  it("leaves to the stages behind it what it keeps", function()
    local seen = {}
    run {
      filters = { not_the_second },
      scorers = { { blis.scorer { name = "s", score_all = function(_, instances, scores)
        for i, instance in ipairs(instances) do
          scores[i] = blis.scorer and 1 / (1 + instance.queue_depth)
          seen[instance.id] = true
        end
      end }, 1 } },
      picker = function(_, instances, scores)
        assert(#instances == 2 and #scores == 2)
        return 1
      end,
    }
    assert.same({ instance_0 = true, instance_2 = true }, seen)
  end)

  it("says what is wrong with it", function()
    says(small.message_of(run, { filters = { function() return 1 end } }),
      "keep returned 1 for instance_0, expected true or false")
    says(small.message_of(run, { filters = { { name = "f", columns = true,
      keep = function() return 1 end } } }), "filter 'f', request_0, at")
    says(small.message_of(run, { filters = {} }), "the list is empty")
    says(small.message_of(run, { filters = { f = not_the_second } }),
      "filters are applied in order")
    says(small.message_of(run, { filters = { { name = "f" } } }),
      "filters[1].keep: invalid value nil")
    says(small.message_of(run, { filters = { "llm-d.utilization-filte" } }), "did you")
    local routing = { "weighted", filters = { not_the_second } }
    says(small.message_of(blis.run, { routing = routing }),
      "filters and pickers in Lua require scorers")
    says(small.message_of(run, { filters = { blis.scorer "queue-depth" } }),
      "got a scorer, expected a filter")
  end)

  it("is not a router, and a file is no name", function()
    says(small.message_of(blis.run, { routing = blis.scorer "queue-depth" }), "got a scorer, "
      .. 'expected a routing policy; write { "weighted", scorers = { { SCORER, 1 } } }')
    for _, name in ipairs { "mine.lua", "policies/mine" } do
      says(small.message_of(blis.run, { routing = name }), "'" .. name .. "' is a file, expected "
        .. "the name of a routing policy")
    end
  end)
end)

describe("a picker in Lua", function()
  it("takes a candidate by the scores", function()
    local function best(_, _, scores)
      local index = 1
      for i = 2, #scores do
        if scores[i] > scores[index] then index = i end
      end
      return index
    end
    local builtin = run { scorers = "load-balance:1", tie = "first" }
    local scripted = run { scorers = "load-balance:1", picker = { name = "mine", pick = best } }
    assert.equal(builtin.hash, scripted.hash)
    assert.equal("weighted(load-balance:1) > mine", scripted.routing)
  end)

  it("can be built in", function()
    local by_name = run { picker = "softmax" }
    assert.equal(by_name.hash, run { picker = blis.picker "softmax" }.hash)
  end)

  local function run_with(routing)
    return small.message_of(blis.run, small.experiment { routing = routing })
  end

  it("is any built-in one however it is written", function()
    local function hash_of(routing)
      return blis.run(small.experiment { routing = routing }).hash
    end
    for _, picker in ipairs(require "blis.core".policies().pickers) do
      local by_name = hash_of { "weighted", scorers = "load-balance:1", picker = picker.name }
      assert.equal(by_name,
        hash_of { "weighted", scorers = "load-balance:1", picker = { picker.name } })
      hash_of { "weighted", picker = blis.picker(picker.name) }
      hash_of { "weighted-stateless", picker = { picker.name } }
    end
    assert.equal(hash_of { "weighted", picker = "softmax", temperature = 3 },
      hash_of { "weighted", picker = { "softmax", temperature = 3 } })
    assert.equal("weighted(load-balance:1) > softmax", run { scorers = "load-balance:1",
      picker = { "softmax", temperature = 3 } }.routing)
  end)

  it("says what is wrong with it", function()
    says(run_with { "weighted", picker = "sofmax" },
      "routing.picker: unknown picker 'sofmax'; did you mean 'softmax'?")
    says(run_with { "weighted", picker = { "softmax", temprature = 3 } }, "temperature")
    says(run_with { "weighted", picker = "softmax", exploration = 0.1 },
      "picker softmax: unknown parameter 'exploration'; known are temperature")
    says(run_with { "weighted", picker = { "softmax", temperature = 3 }, temperature = 2 },
      "'temperature' is set twice, in picker and next to it")
    says(run_with { "weighted", scorers = "load-balance:1", tie = "first",
      picker = function() return 1 end }, "tie is a parameter of built-in pickers")
    says(run_with { "weighted-stateless", picker = function() return 1 end },
      "a picker in Lua requires 'weighted'")
  end)

  it("must return an index that exists", function()
    says(small.message_of(run, { picker = function() return 9 end }),
      "it returned 9, expected the index of a candidate, an integer from 1 to 3")
  end)
end)

describe("scripts that ask scorers", function()
  local changes = { workload = { rate = 200, requests = 200, prompt_tokens = 100,
    output_tokens = 20, prefixes = { groups = 5, tokens = 160 } } }

  local function hash_with(scorer)
    local spec = small.experiment(changes)
    spec.routing = { "weighted", scorers = { { scorer, 1 } } }
    return blis.run(spec).hash
  end

  for _, name in ipairs { "prefix-affinity", "queue-depth", "no-hit-lru" } do
    it("get what the built-in " .. name .. " says, in every form", function()
      local hash = hash_with(name)
      local base = blis.scorer(name)
      local copies = {
        { score = function(r, i) return base:score(r, i) end },
        { columns = true, score = function(r, c) return base:score(r, c) end },
        { score_all = function(r, list, scores) base:score_all(r, list, scores) end },
        { base = name, score = function(_, _, b) return b end },
        { base = base, columns = true, score = function(_, _, b) return b end },
        { base = { name = "inner", base = base, score_all = function() end },
          score_all = function() end },
      }
      for i, copy in ipairs(copies) do
        copy.name = "copy"
        assert.equal(hash, hash_with(blis.scorer(copy)), i)
      end
    end)
  end

  it("do so in whole routers, too", function()
    local base = blis.scorer "prefix-affinity"
    local spec = small.experiment(changes)
    spec.routing = function(request, instances)
      local scores = base:score_all(request, instances)
      local best = 1
      for i = 2, #scores do
        if scores[i] > scores[best] then best = i end
      end
      return best
    end
    assert.equal(hash_with "prefix-affinity", blis.run(spec).hash)
  end)

  it("score a list that was lengthened by its own items only", function()
    local base, decisions = blis.scorer "prefix-affinity", 0
    small.run_scorer(blis.scorer { name = "x", score_all = function(request, instances, scores)
      local count = #scores
      base:score_all(request, instances, scores)
      decisions = decisions + 1
      if decisions > 3 then return end
      for k = count + 1, 5000 do instances[k] = instances[count] end
      local more = base:score_all(request, instances)
      assert.equal(5000, #more)
      for k = 1, 5000 do assert.equal(scores[math.min(k, count)], more[k]) end
      for k = 5000, count + 1, -1 do instances[k] = nil end
    end })
  end)

  it("hear what is wrong", function()
    local base = blis.scorer "queue-depth"
    local function message(score)
      return small.message_of(small.run_scorer, blis.scorer { name = "x", score = score })
    end
    says(message(function(r) return base:score(r, 5) end), "expected a candidate")
    says(message(function(_, i) return base:score({}, i) end), "expected the request that the")
    says(message(function() return base.weight end), "the methods observe, score and score_all")
    says(small.message_of(small.run_scorer, blis.scorer { name = "x", columns = true,
      score = function(r, c) return base:score_all(r, c) end }), "got columns; score() takes those")
    local itself
    itself = blis.scorer { name = "x", score = function(r, i) return itself:score(r, i) end }
    says(small.message_of(small.run_scorer, itself), "overflow")
  end)
end)
