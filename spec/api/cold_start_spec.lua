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

  it("is no harm while it is short against the swing of the load", function()
    assert.is_true(attainment(fast, 0) > 0.99)
    assert.is_true(attainment(fast, seconds(6)) > 0.95)
    assert.is_true(attainment(slow, seconds(30)) > 0.95)
  end)

  it("breaks the targets of a load that swings within minutes", function()
    assert.is_true(attainment(fast, seconds(30)) < 0.75)
    assert.is_true(attainment(fast, seconds(60)) < 0.6)
  end)

  it("breaks those of a load that swings ten times as slowly ten times as late", function()
    assert.is_true(attainment(slow, seconds(300)) < 0.75)
    assert.is_true(attainment(slow, seconds(600)) < 0.6)
  end)
end)
