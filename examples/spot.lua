#!/usr/bin/env blis
-- Spot capacity: two instances on demand and four that are taken away when the market wants them,
-- against six on demand. Two alone are too few; a longer notice moves fewer requests, and keeps new
-- ones from an instance for longer.
local blis = require "blis"

-- A day's market in ten minutes: cheap and plentiful, then tight, then back. Invented numbers.
local market = {
  { at = 0, available = 4, gpu_price_per_hour = 1.1 },
  { at = blis.seconds(180), available = 2, gpu_price_per_hour = 1.6 },
  { at = blis.seconds(260), available = 0, gpu_price_per_hour = 2.4 },
  { at = blis.seconds(400), available = 4, gpu_price_per_hour = 1.2 },
}

local function run(groups)
  return blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", gpu_price_per_hour = 3.5,
                groups = groups },
    workload = { rate = 45, requests = 27000, prompt_tokens = 800, output_tokens = 150 },
    routing = "least-loaded",
    slo_targets = { default = { ttft_ms = 500, itl_ms = 50 } },
  }
end

local function show(title, r)
  local spot = rawget(r, "spot") or { reclaims = 0, rerouted = 0 }
  print(("%-39s %5.2f USD, %5.1f %% of requests in time, %d reclaims, %d requests moved"):format(
    title, r.cost.usd, 100 * r.goodput.attainment, spot.reclaims, spot.rerouted))
end

show("six on demand", run { { instances = 6 } })
for _, notice_s in ipairs { 120, 30, 0 } do
  show(("two on demand, four spot, %d s notice"):format(notice_s), run {
    { instances = 2 },
    { instances = 4, spot = { steps = market, notice = blis.seconds(notice_s),
                              restart_time = blis.seconds(60) } },
  })
end
