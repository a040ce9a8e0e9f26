local between = require "blis.results.between"
local blis = require "blis"

local llama = "meta-llama/llama-3.1-8b-instruct"

local function run(changes)
  local cluster = { model = llama, hardware = "H100", tp = 1, latency_model = "composed" }
  for key, value in pairs(changes) do cluster[key] = value end
  return blis.run { cluster = cluster, workload = { rate = 2, num_requests = 40,
    prompt_tokens = 200, output_tokens = 20 } }
end

describe("differences between setups", function()
  local one = run {}

  it("has a kind by what the setups share", function()
    assert.equal("same", between.kind(one, run { max_num_seqs = 4 }))
    assert.equal("part", between.kind(one, run { tp = 2 }))
    assert.equal("part", between.kind(one, run { async_scheduling = false }))
    assert.equal("model", between.kind(one, run { hardware = "H200" }))
    assert.equal("model", between.kind(one, run { model = "qwen/qwen3-14b" }))
    assert.is_nil(between.kind(one, run { latency_model = "calibrated" }))
  end)

  it("is not judged for equal step times", function()
    assert.same({}, between.judge(one, run { max_num_seqs = 4 }))
    assert.same({}, between.lines({ one, run { max_num_seqs = 4 } }, { "a", "b" }))
  end)

  it("is larger than the error where it is clear", function()
    local found = between.judge(one, run { hardware = "L40S" })
    assert.equal("TPOT", found[1].metric)
    assert.is_true(found[1].difference > 1)
    assert.is_false(found[1].is_inside)
    assert.is_true(found[1].error > 0)
  end)

  it("is reported as inside the error where it is small", function()
    local twin = run { hardware = "H100 NVL" }
    twin = setmetatable({ itl_ms = { count = 1, mean = one.itl_ms.mean * 1.01 },
      ttft_ms = { count = 1, mean = one.ttft_ms.mean }, setup = twin.setup,
      expected_error = twin.expected_error }, {})
    local found = between.judge(one, twin)
    assert.is_true(found[1].is_inside)
    assert.matches("TPOT of b against a: %+1.0%%, inside the error of the model between these "
      .. "setups %(%d+%%%)", between.lines({ one, twin }, { "a", "b" })[1])
  end)

  it("has no bound where TTFT has none", function()
    local other = run { hardware = "H200" }
    other = setmetatable({ itl_ms = other.itl_ms, ttft_ms = other.ttft_ms, setup = other.setup,
      expected_error = { tpot_band = 0.1, is_measured = true } }, {})
    local found = between.judge(one, other)
    assert.is_nil(found[2].error)
    assert.is_true(found[2].is_inside)
  end)

  it("is part of a comparison's text", function()
    local text = tostring(blis.compare { cluster = { model = llama, hardware = "H100",
      latency_model = "composed" }, workload = { rate = 2, num_requests = 40, prompt_tokens = 200,
      output_tokens = 20 }, variants = { { cluster = { tp = 1 } },
      { cluster = { tp = 1, hardware = "H200" } } } })
    assert.is_truthy(text:find("inside the error of the model", 1, true)
      or not text:find("note:", 1, true))
  end)
end)
