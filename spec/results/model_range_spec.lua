local blis = require "blis"
local model_range = require "blis.capacity.model_range"

local target = { name = "ttft_ms.p99", limit = 100, latency = "ttft" }

--- A search for the highest rate whose TTFT is 10 ms for each request/s.
local function linear()
  local curve = {}
  for i, rate in ipairs { 2, 4, 6, 8, 10, 12 } do
    curve[i] = { value = rate, figures = { ["ttft_ms.p99"] = 10 * rate } }
  end
  return { objective = "max", parameter = "rate", from = 2, curve = curve }
end

describe("the range of an answer over the expected error", function()
  it("is nil without an expected error, and for other parameters", function()
    assert.is_nil(model_range.of(linear(), 10, { target }, nil))
    local other = linear()
    other.parameter = "max_num_seqs"
    assert.is_nil(model_range.of(other, 10, { target }, 0.1))
    assert.is_nil(model_range.of_rate(10, nil))
  end)

  it("scales the rate, and tightens latency targets", function()
    local range = model_range.of(linear(), 10, { target }, 0.25)
    -- 80 ms are met at 8 requests/s, and a clock that is slower by 1.25 takes 1.25 times less.
    assert.near(8 / 1.25, range.low, 1e-9)
    -- 125 ms would be met beyond the highest rate that was tried, 12 requests/s.
    assert.near(12 * 1.25, range.high, 1e-9)
    assert.equal(0.25, range.error)
  end)

  it("interpolates between the rates that were tried", function()
    local range = model_range.of(linear(), 10, { target }, 0.1)
    assert.near(100 / 1.1 / 10 / 1.1, range.low, 1e-9)
    assert.near(11 * 1.1, range.high, 1e-9)
  end)

  it("scales the rate alone without latency targets", function()
    local range = model_range.of(linear(), 10, { { name = "tokens_per_sec", limit = 5 } }, 0.1)
    assert.near(10 / 1.1, range.low, 1e-9)
    assert.near(10 * 1.1, range.high, 1e-9)
  end)

  it("rounds numbers of instances up", function()
    local found = { objective = "min", parameter = "instances", curve = {} }
    assert.same({ error = 0.2, low = 9, high = 12 }, model_range.of(found, 10, {}, 0.2))
    assert.same({ error = 0.2, low = 1, high = 2 }, model_range.of(found, 1, {}, 0.2))
  end)

  it("is never empty, on random curves", function()
    local rng = blis.rng(7, "curves")
    for _ = 1, 200 do
      local found, figure = linear(), 0
      for _, point in ipairs(found.curve) do
        figure = figure + 30 * rng:number()
        point.figures["ttft_ms.p99"] = figure
      end
      local value = 2 + 10 * rng:number()
      local range = model_range.of(found, value, { target }, rng:number())
      assert.is_true(range.low > 0 and range.low <= value and value <= range.high)
    end
  end)

  it("is part of a capacity", function()
    local found = blis.capacity {
      experiment = { cluster = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100",
        tp = 1 }, workload = { prompt_tokens = 200, output_tokens = 30 } },
      targets = { ["ttft_ms.p99"] = 300 }, from = 1, to = 256, replications = 1, quiet = true,
      tolerance = 0.2, requests = 200, max_requests = 1600, jobs = 1,
    }
    local range = found.basis.model_range
    assert.is_true(range.low < found.basis.value and found.basis.value < range.high)
    assert.matches("\n[%d.]+ to [%d.]+ requests/s over the model's error %(%d+%%, %a[%a ]+%)\n",
      tostring(found))
  end)
end)
