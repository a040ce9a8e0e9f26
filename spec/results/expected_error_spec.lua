local blis = require "blis"
local core = require "blis.core"
local expected_error = require "blis.results.expected_error"
local json = require "blis.results.json"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function run(cluster)
  cluster.latency_model = cluster.latency_model or "composed"
  cluster.model, cluster.tp = cluster.model or llama, cluster.tp or 1
  return blis.run { cluster = cluster, workload = { rate = 5, num_requests = 40,
    prompt_tokens = 200, output_tokens = 20 } }
end

describe("the expected error of a run", function()
  it("is that of its regime", function()
    local error = run({ hardware = "H100" }).expected_error
    assert.same({ 0.04, 0.09, 0.09, 0.16, true },
      { error.tpot, error.tpot_band, error.ttft, error.ttft_band, error.is_measured })
    assert.equal("H100, bf16, dense, asynchronous scheduling", error.regime)
    local sync = run({ hardware = "H100", async_scheduling = false }).expected_error
    assert.equal(0.05, sync.tpot_band)
    assert.is_nil(sync.ttft)
    assert.equal("TTFT was not measured in this regime", sync.ttft_reason)
  end)

  it("is larger where nothing was measured", function()
    local function band(cluster)
      local error = run(cluster).expected_error
      assert.is_false(error.is_measured)
      return error.tpot_band
    end
    local good = run({ hardware = "H100" }).expected_error
    assert.is_true(good.tpot_band <= band { hardware = "RTX 4090" } / 2)
    assert.is_true(good.tpot_band <= band { hardware = "H20" } / 2)
    assert.is_true(good.tpot_band <= band { hardware = "H100",
      model = "deepseek-ai/deepseek-v2-lite" } / 2)
  end)

  it("leaves TTFT without bound where requests wait for KV blocks", function()
    local result = blis.run { cluster = { model = llama, hardware = "H100", tp = 1, kv_blocks = 70,
      latency_model = "composed" }, workload = { rate = 200, num_requests = 60, prompt_tokens = 100,
      output_tokens = 300 } }
    assert.is_true(result.preemptions > 0)
    assert.is_nil(result.expected_error.ttft)
    assert.matches("TTFT without bound: requests waited for KV blocks", tostring(result), 1, true)
  end)

  it("is nil with other latency models", function()
    local result = run { hardware = "H100", latency_model = "calibrated" }
    assert.is_nil(result.expected_error)
    assert.is_nil(tostring(result):match "expected error")
    assert.is_nil(expected_error.line(nil))
  end)

  it("is part of the text and of JSON", function()
    local result = run { hardware = "H200" }
    assert.matches("expected error  TPOT 4% (80% of setups within 9%), TTFT 9%",
      tostring(result), 1, true)
    local read = core.json_read(json.text { result = result })
    assert.equal(0.09, read.expected_error.tpot_band)
  end)
end)
