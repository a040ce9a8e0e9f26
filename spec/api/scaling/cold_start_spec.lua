local blis = require "blis"

local minutes, seconds = blis.minutes, blis.seconds

--- The share of requests within their targets, under Dynamo's planner.
local function attainment(period_us, cold_start_us)
  return blis.run({
    cluster = { model = "qwen3-14b", tp = 1, instances = 2 },
    workload = { rate = 8, horizon_us = minutes(40), prompt_tokens = 1500, output_tokens = 500,
      shape = { "diurnal", period_us = period_us, peak_us = period_us // 2, peak_to_trough = 8 } },
    routing = "least-loaded", slo_targets = { default = { ttft_ms = 2000, itl_ms = 60 } },
    autoscaler = { "dynamo.planner", optimization_target = "sla", ttft_ms = 1000, itl_ms = 25,
      throughput_interval_seconds = 60, load_scaling = true },
    scaling = { max_replicas = 10, loading_delay_us = cold_start_us },
  }).goodput.attainment
end

-- The published sweep (ai-dynamo/dynamo planner-benchmarking.md, a9e61f2) has the cliff of its
-- trace at 100 to 120 s; that trace is not here.
describe("a cold start under the planner", function()
  local fast, slow = minutes(4), minutes(40)

  -- As docs/autoscaling.md has it, in percent.
  local shares = {
    { fast, 6, 99.7 }, { fast, 30, 59.8 }, { slow, 30, 98.3 }, { slow, 120, 68.1 },
    { slow, 300, 31.8 },
  }

  it("breaks the targets of a slow load ten times as late as those of a fast one", function()
    for _, one in ipairs(shares) do
      assert.near(one[3], 100 * attainment(one[1], seconds(one[2])), 0.5)
    end
  end)

  it("is no harm where there is none", function()
    assert.is_true(attainment(fast, 0) > 0.999 and attainment(slow, 0) > 0.999)
  end)
end)
