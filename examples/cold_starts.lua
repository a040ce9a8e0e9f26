#!/usr/bin/env blis
-- How long may a start take? An autoscaler helps as long as instances start faster than the load
-- rises. Two loads swing between the same rates, one within minutes, the other ten times as slowly.
-- Dynamo's planner meets the targets of both while a start is short compared with the swing. With
-- longer starts, attainment drops sharply, for the slow load at ten times the start-up time.
--
-- The planner's own sweep on a trace of agents (Mooncake's tool-agent trace, not included) shows
-- the drop at start-up times of 100 to 120 s: planner-benchmarking.md of ai-dynamo/dynamo, a9e61f2.
local blis = require "blis"

local minutes, seconds = blis.minutes, blis.seconds

local planner = { "dynamo.planner", optimization_target = "sla", ttft_ms = 1000, itl_ms = 25,
  throughput_interval_seconds = 60, load_scaling = true }

local function run(period_us, cold_start_us)
  return blis.run {
    cluster = { model = "qwen3-14b", tp = 1, instances = 2 },
    workload = { rate = 8, horizon_us = minutes(40), prompt_tokens = 1500, output_tokens = 500,
      shape = { "diurnal", period_us = period_us, peak_us = period_us // 2, peak_to_trough = 8 } },
    routing = "least-loaded", slo_targets = { default = { ttft_ms = 2000, itl_ms = 60 } },
    autoscaler = planner,
    scaling = { max_replicas = 10, loading_delay_us = cold_start_us },
  }
end

local function bar(share) return ("#"):rep(math.floor(20 * share + 0.5)) .. (" "):rep(20) end

--- "100.0 % ####################", and how often it scaled.
local function cell(r)
  local share = r.goodput.attainment
  return ("%5.1f %% %s %3d"):format(100 * share, bar(share):sub(1, 20),
    r.scaling.scale_ups + r.scaling.scale_downs)
end

print("            requests within their targets, and changes of the number of instances")
print("cold start  load of 4 minutes                 load of 40 minutes")
for _, cold_start in ipairs { 0, 6, 12, 30, 60, 120, 300, 600 } do
  print(("%8d s  %s  %s"):format(cold_start, cell(run(minutes(4), seconds(cold_start))),
    cell(run(minutes(40), seconds(cold_start)))))
end
