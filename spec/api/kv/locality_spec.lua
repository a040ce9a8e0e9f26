-- What policies may see where they are.
local blis = require "blis"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

local function run(changes)
  changes.locality = changes.locality or "strict"
  return blis.run(small.experiment(changes))
end

describe("strict locality", function()
  it("hides where prompts are cached from functions, in every form", function()
    for _, signal in ipairs { "cached_tokens", "prefix_hit", "live_prefix_hit",
      "estimated_ttft_us" } do
      local hidden = "'" .. signal .. "' tells where prompts are cached"
      local function router(_, instances) return instances[1][signal] and 1 end
      says(message_of(run, { routing = router }), hidden)
      says(message_of(run, { routing = { "weighted", scorers = { { blis.scorer { name = "x",
        columns = true, score = function(_, c) return c[signal] end }, 1 } } } }), hidden)
      assert.equal(60, run({ routing = router, oracle = true }).completed)
      assert.equal(60, run({ routing = router, locality = "open" }).completed)
    end
    local asks = blis.scorer { name = "asks", score = function(request, instance)
      return blis.scorer("oracle-prefix"):score(request, instance)
    end }
    says(message_of(run, { routing = { "weighted", scorers = { { asks, 1 } } } }), "are cached")
  end)

  it("hides it from built-in policies", function()
    local oracle = { "weighted", scorers = "oracle-prefix:1" }
    says(message_of(run, { routing = oracle }), "'weighted' reads where prompts are cached")
    assert.equal(60, run({ routing = oracle, oracle = true }).completed)
    for _, routing in ipairs { "round-robin", "least-loaded", "weighted" } do
      assert.equal(run({ routing = routing, locality = "open" }).hash,
        run({ routing = routing }).hash)
    end
  end)

  it("shows routers what engines tell of themselves", function()
    local seen = 0
    local r = run { routing = function(_, instances)
      local i = instances[1]
      seen = seen + 1
      return i.queue_depth + i.batch_size + i.kv_utilization + i.cache_hit_rate + i.recent_ttft_us
        + i.recent_tpot_us + i.estimated_wait_us + i.in_flight >= 0 and 1
    end }
    assert.equal(60, r.completed)
    assert.equal(60, seen)
  end)

  it("shows admission what the router counts", function()
    local function admission(look)
      return { admission = function(request, cluster) return look(request, cluster) ~= nil end }
    end
    says(message_of(run, admission(function(_, c) return c.instances end)), "sees no instances")
    says(message_of(run, admission(function(_, c) return c.mean_queue_depth end)),
      "sees no 'mean_queue_depth'")
    assert.equal(60, run(admission(function(request, c)
      return c.sum_in_flight + request.tenant_active + request.request_rate
    end)).completed)
  end)

  it("is one of two words", function()
    says(message_of(run, { locality = "tight" }), "strict")
  end)
end)
