-- What holds for every scorer in the pipeline filters -> scorers -> picker.
local blis = require "blis"

local cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4, kv_blocks = 8000 }

local function shared_prefixes(requests)
  return { rate = 30, requests = requests or 400, prompt_tokens = 96, output_tokens = 64,
    prefixes = { groups = 16, tokens = 768 } }
end

local function run(scorers, more)
  local spec = { cluster = cluster, workload = shared_prefixes(),
    routing = { "weighted", scorers = scorers } }
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local three = "prefix-affinity:%g,queue-depth:%g,kv-utilization:%g"

describe("the scorer framework", function()
  it("knows only ratios of weights", function()
    local first = run(three:format(3, 2, 2))
    for _, factor in ipairs { 0.5, 10, 1000 } do
      assert.equal(first.hash, run(three:format(3 * factor, 2 * factor, 2 * factor)).hash)
    end
    assert.not_equal(first.hash, run(three:format(1, 9, 2)).hash)
  end)

  it("decides the same for the same input", function()
    for _, scorers in ipairs { three:format(3, 2, 2), "no-hit-lru:1,load-aware:1" } do
      assert.equal(run(scorers).hash, run(scorers).hash)
    end
  end)

  it("takes scores from 0 to 1 whatever a scorer returns", function()
    local function of(low, high)
      return blis.scorer { name = "wild", score = function(_, instance)
        return instance.index == 2 and high or low
      end }
    end
    local tame = run { { of(0, 1), 1 }, { "queue-depth", 3 } }
    assert.equal(tame.hash, run { { of(-5, 7), 1 }, { "queue-depth", 3 } }.hash)
    assert.equal(tame.hash, run { { of(-math.huge, math.huge), 1 }, { "queue-depth", 3 } }.hash)
  end)

  it("takes missing scores as 0 where it is asked to", function()
    local function of(score) return blis.scorer { name = "gaps", score = score } end
    local whole = run { { of(function(_, i) return i.index > 2 and 0.7 or 0 end), 1 },
      { "queue-depth", 1 } }
    local gaps = { { of(function(_, i) if i.index > 2 then return 0.7 end end), 1 },
      { "queue-depth", 1 } }
    local list = { { blis.scorer { name = "gaps", score_all = function(_, instances, scores)
      for k, i in ipairs(instances) do if i.index > 2 then scores[k] = 0.7 end end
    end }, 1 }, { "queue-depth", 1 } }
    for _, scorers in ipairs { gaps, list } do
      local r = run(nil, { routing = { "weighted", scorers = scorers, missing_scores = "zero" } })
      assert.equal(whole.hash, r.hash)
      assert.is_false((pcall(run, scorers)))
      assert.is_false((pcall(run, nil,
        { routing = { "weighted", scorers = scorers, missing_scores = "error" } })))
    end
    local function refuses(routing, part)
      local ok, problem = pcall(run, nil, { routing = routing })
      assert.is_false(ok)
      assert.is_truthy(tostring(problem):find(part, 1, true), tostring(problem))
    end
    refuses({ "weighted", scorers = gaps, missing_scores = "null" }, "zero")
    refuses({ "weighted", missing_scores = "zero" }, "requires scorers")
    refuses({ "weighted", scorers = { { of(function() return 0 / 0 end), 1 } },
      missing_scores = "zero" }, "nan")
  end)

  it("asks for a score of every candidate, and tells scorers of every decision", function()
    local asked, told = {}, 0
    local counting = blis.scorer {
      name = "counting",
      score = function(_, instance)
        asked[instance.index] = (asked[instance.index] or 0) + 1
        return 0.5
      end,
      observe = function() told = told + 1 end,
    }
    local result = run { { counting, 1 }, { "prefix-affinity", 2 } }
    assert.same({ 400, 400, 400, 400 }, asked)
    assert.equal(400, told)
    assert.equal(400, result.completed)
  end)

  it("follows prefixes more, the more they weigh", function()
    local believed, evenness = {}, {}
    for i, weight in ipairs { 0.01, 0.5, 2, 50 } do
      local r = run(("prefix-affinity:%g,queue-depth:1"):format(weight),
        { workload = shared_prefixes(1500) })
      believed[i], evenness[i] = r.cache_prediction.predicted_hit_rate, r.balance
    end
    for i = 2, 4 do
      assert.is_true(believed[i] >= believed[i - 1] - 0.005)
      assert.is_true(evenness[i] <= evenness[i - 1] + 0.005)
    end
    assert.is_true(believed[4] > believed[1] + 0.01)
    assert.is_true(evenness[4] < evenness[1] - 0.01)
  end)

  it("does not touch the other policies", function()
    local function plain() return blis.run { cluster = cluster, workload = shared_prefixes(),
      routing = "least-loaded" } end
    local before = plain().hash
    run(three:format(3, 2, 2))
    assert.equal(before, plain().hash)
  end)

  it("believes no more than its index holds", function()
    local r = run { { "prefix-affinity", 1, capacity = 4 }, { "queue-depth", 1 } }
    assert.is_true(r.cache_prediction.predicted_tokens <= r.cache_prediction.decisions * 4 * 16)
  end)

  it("gives the same decisions with signals that are late by nothing", function()
    local live = run(three:format(3, 2, 2))
    local late = run(three:format(3, 2, 2), { cluster = { model = cluster.model,
      hardware = cluster.hardware, instances = 4, kv_blocks = 8000, snapshot_refresh_us = 0,
      cache_signal_delay_us = 0 } })
    assert.equal(live.hash, late.hash)
  end)
end)
