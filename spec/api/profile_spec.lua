local blis = require "blis"

local function run(cluster, workload, profile)
  return blis.run { cluster = cluster, workload = workload, profile = profile }
end

describe("async_scheduling", function()
  --- TTFTs of two requests, the second of which arrives when the first has been served, or
  --- while it decodes.
  local function ttfts(gap_us, async, profile)
    local r = run({ latency_model = "calibrated", async_scheduling = async }, {
      requests = 2, arrival = function() return gap_us end, timeout_us = 0,
      prompt_tokens = 100, output_tokens = 200 }, profile)
    return { r.requests[1].ttft_us, r.requests[2].ttft_us }, r
  end

  it("lets first tokens wait, the longer when a step is under way", function()
    local idle, idle_before = ttfts(60000000, true), ttfts(60000000, false)
    local delay_us = idle[1] - idle_before[1]
    assert.is_true(delay_us > 0)
    assert.equal(delay_us, idle[2] - idle_before[2])
    local busy, busy_before = ttfts(500000, true), ttfts(500000, false)
    assert.equal(delay_us, busy[1] - busy_before[1])
    local step_us = 6000 -- no step of qwen3-14b on an H100 is shorter
    assert.is_true(busy[2] - busy_before[2] > delay_us + step_us)
  end)

  it("moves all tokens of a request alike", function()
    local _, on = ttfts(500000, true)
    local _, off = ttfts(500000, false)
    for i = 1, 2 do
      assert.equal(off.requests[i].itl_sum_us, on.requests[i].itl_sum_us)
      assert.equal(on.requests[i].ttft_us - off.requests[i].ttft_us,
        on.requests[i].e2e_us - off.requests[i].e2e_us)
    end
  end)

  it("is what engines of today do, and those of BLIS in Go do not", function()
    assert.same(ttfts(500000, true), (ttfts(500000, nil)))
    assert.same(ttfts(500000, false, "go-blis"), (ttfts(500000, nil, "go-blis")))
  end)
end)
