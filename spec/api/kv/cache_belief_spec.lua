local blis = require "blis"

local function run(routing, kv_blocks)
  return blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 3, kv_blocks = kv_blocks },
    workload = { rate = 20, requests = 300, prompt_tokens = 64, output_tokens = 32,
      prefixes = { groups = 12, tokens = 512 } },
    routing = routing,
  }
end

local affinity = { "weighted", scorers = "prefix-affinity:1" }

describe("what the router believes of the caches", function()
  it("is true as long as nothing is evicted and requests come one by one", function()
    local routing = { "weighted", scorers = "prefix-affinity:1,queue-depth:1" }
    local belief = run(routing, 20000).cache_prediction
    assert.equal(300, belief.decisions)
    assert.equal(300 * 576, belief.prompt_tokens)
    -- A prefix is believed to be there from the decision on, and is when it is computed.
    assert.is_true(belief.unknown_tokens == 0)
    assert.is_true(belief.predicted_tokens >= belief.true_tokens)
    assert.equal(belief.predicted_tokens - belief.true_tokens,
      belief.missing_tokens - belief.unknown_tokens)
    assert.equal(belief.predicted_tokens / belief.prompt_tokens, belief.predicted_hit_rate)
    assert.equal(belief.true_tokens / belief.prompt_tokens, belief.true_hit_rate)
  end)

  it("is wrong where caches are smaller than the index", function()
    local belief = run(affinity, 120).cache_prediction
    assert.is_true(belief.missing_tokens > 0)
    assert.is_true(belief.predicted_hit_rate > belief.true_hit_rate)
  end)

  it("is right for a policy that asks the caches", function()
    local belief = run({ "weighted", scorers = "precise-prefix-cache:1" }, 200).cache_prediction
    assert.is_true(belief.decisions > 0)
    assert.equal(0, belief.missing_tokens)
    assert.equal(0, belief.unknown_tokens)
  end)

  it("finds less than a policy that asks the caches", function()
    for _, kv_blocks in ipairs { 150, 200, 300, 20000 } do
      local function hits(scorer)
        return run({ "weighted", scorers = scorer .. ":1,queue-depth:1" }, kv_blocks)
          .cache_prediction.true_hit_rate
      end
      assert.is_true(hits "precise-prefix-cache" > hits "prefix-affinity")
    end
  end)

  it("is absent from policies that do not look at caches", function()
    local belief = run("least-loaded").cache_prediction
    assert.equal(0, belief.decisions)
    assert.equal(0, belief.predicted_hit_rate)
  end)
end)
