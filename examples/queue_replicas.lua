#!/usr/bin/env blis
-- A gateway with several replicas: each one counts only the requests that it has sent itself. The
-- concurrency detector of one of R replicas sees about an R-th of what is in flight, so that
-- together they let R times as much through as its threshold says. A detector that knows how many
-- they are divides the threshold instead.
local blis = require "blis"

local seconds = blis.seconds
local per_instance = 16

--- Load of one of several replicas, if requests are spread evenly.
local function detector_of_one(replicas, knows_them)
  local threshold = knows_them and per_instance / replicas or per_instance
  return function(instances)
    local seen = 0
    for _, instance in ipairs(instances) do seen = seen + instance.in_flight / replicas end
    return #instances > 0 and seen / (#instances * threshold) or 1
  end
end

local function traffic(rng)
  local now_us = 0
  return function()
    now_us = now_us + rng:exponential(1e6 / 40)
    if now_us > seconds(20) then return nil end
    return { arrival_us = now_us // 1 | 0, slo_class = rng:integer(0, 3) == 0 and "critical"
      or "batch", prompt_tokens = 600, output_tokens = rng:integer(50, 250) }
  end
end

local function run(replicas, knows_them)
  local result = blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 2 },
    workload = traffic(blis.rng(5, "replicas")), routing = "least-loaded",
    queue = { saturation = detector_of_one(replicas, knows_them), ttl_us = 0 },
    series_interval_us = seconds(1),
  }
  local in_flight = 0
  for row = 5, 20 do
    local series = result.series
    local waiting = 0
    for _, band in ipairs(series.bands) do waiting = waiting + band.waiting[row] end
    in_flight = math.max(in_flight, series.arrived[row] - series.completed[row] - waiting)
  end
  local critical = result.by_slo_class.critical
  print(("%8d %-10s %18d %14.0f %10.1f"):format(replicas, knows_them and "knows" or "does not",
    in_flight, critical.ttft_ms.p99, critical.itl_ms.mean))
  return in_flight, critical.itl_ms.mean
end

print("replicas  of others  in flight, at most  TTFT p99, ms  ITL, ms   of the critical requests")
local one, itl_of_one = run(1)
local two = run(2)
local four, itl_of_four = run(4)
local wise = run(4, true)

--- Prints what the metrics show, and fails if they do not show it.
local function claim(text, holds)
  assert(holds, text)
  print(text)
end

print()
claim("The threshold holds for one gateway", one == 2 * per_instance)
claim("Of several, each adds as much again", two == 4 * per_instance and four > two)
claim("What is let through slows down everybody", itl_of_four > 1.2 * itl_of_one)
claim("Dividing the threshold mends it", wise == one)
