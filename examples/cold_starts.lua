#!/usr/bin/env blis
-- How long may a start take? An autoscaler helps as long as instances come faster than the load
-- does. Two loads swing between 2 and 22 requests a second, one within minutes, the other ten times
-- as slowly: where the targets are missed depends on cold start and time scale together.
local blis = require "blis"

local minutes, seconds = blis.minutes, blis.seconds

--- Traffic that swings with a period; the highest rate is thinned out.
local function swinging(period_us, length_us)
  local highest, states = 22, setmetatable({}, { __mode = "k" })
  return function(rng)
    local now_us = states[rng] or 0
    repeat
      now_us = now_us + rng:exponential(1e6 / highest)
    until rng:number() * highest < 12 - 10 * math.cos(2 * math.pi * now_us / period_us)
    states[rng] = now_us
    if now_us >= length_us then return nil end
    return { arrival_us = now_us // 1 | 0, prompt_tokens = 700, output_tokens = 250 }
  end
end

local function attainment(period_us, cold_start_us)
  return blis.run({
    cluster = { model = "qwen3-14b", tp = 1, instances = 1, max_num_seqs = 32 },
    workload = { generator = swinging(period_us, minutes(40)) }, routing = "least-loaded",
    slo_targets = { default = { ttft_ms = 2000 } },
    autoscaler = { "hpa", metrics = { requests_running = 16 }, down_window_seconds = 60 },
    scaling = { max_replicas = 10, loading_delay_us = cold_start_us },
  }).goodput.attainment
end

print("cold start   period 4 min   period 40 min    (requests within 2 s)")
for _, cold_start in ipairs { 0, 10, 30, 60, 120, 240 } do
  print(("%8d s   %10.1f %%   %11.1f %%"):format(cold_start,
    100 * attainment(minutes(4), seconds(cold_start)),
    100 * attainment(minutes(40), seconds(cold_start))))
end
