#!/usr/bin/env blis
-- A day of traffic, six autoscalers and an oracle: what do they cost, and who misses its target?
--
-- Traffic follows the first day of ServeGen's hours, played six times as fast. A new instance
-- takes two minutes until it serves. A request is kept if its first token comes within two seconds
-- and the others 60 ms apart; one instance keeps that up to about four requests a second.
local blis = require "blis"

local minutes, seconds = blis.minutes, blis.seconds
local per_instance = 4
local cold_start_us, slot_us = seconds(120), seconds(10)

local day = blis.workload {
  rate = 5, shape = { "servegen", days = 1, speed = 6 },
  prompt = { "gaussian", mean = 1750, std_dev = 700, min = 500, max = 3000 },
  output = { "gaussian", mean = 750, std_dev = 250, min = 300, max = 1200 },
}

-- What could be won at most: it knows the traffic, and how long a start takes.
local arrivals = {}
for _, request in day:requests() do
  local slot = request.arrival_us // slot_us
  arrivals[slot] = (arrivals[slot] or 0) + 1
end

--- How many instances the traffic needs at its highest minute between two times.
local function needed(from_us, to_us)
  local most = 0
  for slot = from_us // slot_us, to_us // slot_us do
    local sum = 0
    for k = slot, slot + 5 do sum = sum + (arrivals[k] or 0) end
    most = math.max(most, sum / (6 * slot_us / 1e6))
  end
  return math.ceil(most / per_instance)
end

local oracle = blis.autoscaler {
  name = "oracle", interval_us = seconds(30),
  decide = function(context)
    local target = needed(context.now_us, context.now_us + cold_start_us + seconds(60))
    return { target = target, reason = ("%d for the next minutes"):format(target) }
  end,
}

local function experiment(autoscaler, instances)
  return {
    cluster = { model = "qwen3-14b", tp = 1, instances = instances or 1 },
    workload = day, routing = "least-loaded", series_interval_us = minutes(4),
    slo_targets = { default = { ttft_ms = 2000, itl_ms = 60 } },
    autoscaler = autoscaler,
    scaling = autoscaler and {
      max_replicas = 8, loading_delay_us = cold_start_us, instance_capacity = per_instance,
    },
  }
end

local candidates = {
  { "a", "4 instances" },
  { "b", "threshold", signal = "batch-size", scale_up_threshold = 70, scale_down_threshold = 25,
    cooldown_seconds = 60 },
  { "c", "hpa", metrics = { requests_running = 55 } },
  { "d", "keda", metrics = { queue_depth = 2, kv_utilization = 0.4 } },
  { "e", "ray-serve", target = 55, interval_seconds = 1 },
  { "f", "knative", container_concurrency = 80 },
  { "g", "dynamo.planner", optimization_target = "sla", ttft_ms = 1000, itl_ms = 60,
    throughput_interval_seconds = 60, predictor = "holt", load_scaling = true },
  { "h", oracle },
}

--- What a run of one of them gave.
local function measure(candidate)
  local policy = candidate[2]
  local r
  if policy == "4 instances" then
    r = blis.run(experiment(nil, 4))
  elseif policy == oracle then
    r = blis.run(experiment(oracle))
  else
    local parameters = { policy }
    for key, value in pairs(candidate) do
      if type(key) == "string" then parameters[key] = value end
    end
    r = blis.run(experiment(parameters))
  end
  return { letter = candidate[1], name = policy == oracle and "oracle" or policy, result = r,
    usd = r.cost.usd, missed = 100 * (1 - r.goodput.attainment), scaling = rawget(r, "scaling") }
end

local function row(one)
  local r, s = one.result, one.scaling
  local text = ("%s %-15s %6.2f %6.1f %% %8.0f"):format(one.letter, one.name, one.usd, one.missed,
    r.ttft_ms.p99)
  if not s then return text .. "   4.00" end
  return ("%s %6.2f %5d %4d %7.0f %6.0f %6.0f"):format(text, s.mean_paid,
    s.scale_ups + s.scale_downs, s.oscillations, s.phases.under_provisioned.seconds,
    s.over_provisioned_seconds, s.under_provisioned_seconds)
end

--- Points on a grid of letters; one behind another is not seen. Small shares have more room.
local function plot(points)
  local width, height, most_usd, most_missed = 60, 14, 0, 0
  for _, p in ipairs(points) do
    most_usd, most_missed = math.max(most_usd, p.usd), math.max(most_missed, p.missed)
  end
  local grid = {}
  for y = 0, height do
    grid[y] = {}
    for x = 0, width do grid[y][x] = " " end
  end
  for _, p in ipairs(points) do
    grid[math.floor(math.sqrt(p.missed / most_missed) * height + 0.5)]
      [math.floor(p.usd / most_usd * width + 0.5)] = p.letter
  end
  for y = height, 0, -1 do
    print(("%5.1f %% |%s"):format(most_missed * (y / height) ^ 2,
      table.concat(grid[y], "", 0, width)))
  end
  print((" missed +%s> %.0f USD"):format(("-"):rep(width), most_usd))
end

--- Instances that were ready, a digit every four minutes.
local function replicas(one)
  return one.name .. (" "):rep(15 - #one.name) .. table.concat(one.result.series.replicas, "")
end

print("a day of traffic: " .. tostring(day):match "[^\n]*\n%s*([^\n]*)")
print("  autoscaler         USD   missed TTFT p99   paid steps osc. short, s   over  under")
local points = {}
for i, candidate in ipairs(candidates) do
  points[i] = measure(candidate)
  print(row(points[i]))
end
print("\nshort: time with fewer instances than wanted; over, under: instance-seconds against what "
  .. "the\nload of every minute takes\n")
plot(points)
print "\ninstances that were ready, every four minutes (of the day: 24)"
for _, one in ipairs(points) do
  if one.scaling then print(replicas(one)) end
end
