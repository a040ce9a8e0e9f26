local blis = require "blis"

--- Requests at these times, for these models; results by state.
local function run(options)
  local i = 0
  return blis.run {
    cluster = options.cluster or { instances = 2 }, disaggregation = options.disaggregation,
    routing = options.routing or { "cognitora.score", max_queue = options.permits },
    workload = function()
      i = i + 1
      if not options.at_ms[i] then return nil end
      return { arrival_us = options.at_ms[i] * 1000, prompt_tokens = 400, output_tokens = 40,
        model = options.models and options.models[i] }
    end,
  }
end

local function counts(result)
  return ("%d completed, %d rejected, %d failed"):format(result.completed, result.rejected,
    result.failed)
end

local pools = { prefill_instances = 1, decode_instances = 1 }

describe("Cognitora's permits after scoring", function()
  it("are held until a request ends", function()
    assert.equal("3 completed, 1 rejected, 0 failed",
      counts(run { permits = 2, at_ms = { 0, 1, 2, 10000 } }))
    assert.equal("4 completed, 0 rejected, 0 failed",
      counts(run { permits = 0, at_ms = { 0, 1, 2, 10000 } }))
    local reasons = {}
    blis.run {
      cluster = { instances = 1 }, routing = { "cognitora.score", max_queue = 1 },
      workload = { rate = 1000, requests = 3, prompt = 100, output = 10 },
      on_rejection = function(_, reason) reasons[#reasons + 1] = reason end,
    }
    assert.same({ "cognitora.score: full (503)", "cognitora.score: full (503)" }, reasons)
  end)

  it("are counted for each model", function()
    local groups = { { instances = 1, model = "qwen/qwen3-14b" },
      { instances = 1, model = "meta-llama/llama-3.1-8b-instruct" } }
    local function served(models)
      return counts(run { permits = 1, cluster = { hardware = "H100", groups = groups },
        at_ms = { 0, 1 }, models = models })
    end
    assert.equal("2 completed, 0 rejected, 0 failed", served { groups[1].model, groups[2].model })
    assert.equal("1 completed, 1 rejected, 0 failed", served { groups[1].model, groups[1].model })
  end)

  it("are counted for each role", function()
    -- One request needs a permit of either role; one that prefills leaves none to the next.
    assert.equal("1 completed, 0 rejected, 0 failed",
      counts(run { permits = 1, cluster = pools, at_ms = { 0 } }))
    assert.equal("1 completed, 1 rejected, 0 failed",
      counts(run { permits = 1, cluster = pools, at_ms = { 0, 1 } }))
    local function apart(prefill, decode, at_ms)
      return counts(run { cluster = pools, at_ms = at_ms,
        routing = { "cognitora.score", max_queue = decode },
        disaggregation = { prefill_routing = { "cognitora.score", max_queue = prefill } } })
    end
    assert.equal("1 completed, 2 rejected, 0 failed", apart(1, 9, { 0, 1, 2 }))
    assert.equal("2 completed, 1 rejected, 0 failed", apart(9, 2, { 0, 1, 2 }))
    -- The permit to prefill is free again long before the answer is complete.
    assert.equal("2 completed, 0 rejected, 0 failed", apart(1, 9, { 0, 150 }))
    assert.equal("1 completed, 1 rejected, 0 failed", apart(9, 1, { 0, 150 }))
  end)

  it("come back when a hand-off fails", function()
    assert.equal("0 completed, 0 rejected, 3 failed", counts(run {
      permits = 1, cluster = pools, at_ms = { 0, 10000, 20000 },
      disaggregation = { transfer_timeout_us = 1, on_failure = "fail" },
    }))
    assert.equal("3 completed, 0 rejected, 0 failed", counts(run {
      permits = 1, cluster = pools, at_ms = { 0, 10000, 20000 },
      disaggregation = { transfer_timeout_us = 1, on_failure = "recompute" },
    }))
  end)
end)
