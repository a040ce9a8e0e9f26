#!/usr/bin/env blis
-- A day of traffic, six autoscalers and an oracle: what do they cost, and who misses its target?
--
-- Traffic follows the hours of a day, played six times as fast, with a burst in the evening. A new
-- instance takes two minutes until it serves. A request is kept if its first token comes within
-- two seconds and the others 60 ms apart; one instance keeps that up to about four requests a
-- second.
local blis = require "blis"

local minutes, seconds = blis.minutes, blis.seconds
local day_us = minutes(24 * 60 // 6)
local per_instance, highest = 4, 16
local cold_start_us = seconds(120)

--- Requests per second at a time of the day.
local function rate_at(time_us)
  local hour = 24 * time_us / day_us
  local usual = 5 - 4 * math.cos((hour - 3) * math.pi / 12)
  return hour > 19 and hour < 20 and usual + 6 or usual
end

--- Arrivals at the highest rate, of which as many are kept as there should be.
local function traffic(rng)
  local now_us = 0
  return function()
    repeat
      now_us = now_us + rng:exponential(1e6 / highest)
    until rng:number() * highest < rate_at(now_us)
    if now_us >= day_us then return nil end
    return {
      arrival_us = now_us // 1 | 0, prompt_tokens = rng:integer(500, 3000),
      output_tokens = rng:integer(300, 1200),
    }
  end
end

-- Every run has an rng of its own, and its traffic begins anew with it.
local generators = setmetatable({}, { __mode = "k" })

local function next_request(rng)
  generators[rng] = generators[rng] or traffic(rng)
  return generators[rng]()
end

--- How many instances the traffic needs at its highest between two times.
local function needed(from_us, to_us)
  local most = 0
  for k = 0, 20 do most = math.max(most, rate_at(from_us + (to_us - from_us) * k / 20)) end
  return math.ceil(most / per_instance)
end

-- What could be won at most: it knows the traffic, and how long a start takes.
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
    workload = { generator = next_request }, routing = "least-loaded",
    slo_targets = { default = { ttft_ms = 2000, itl_ms = 60 } },
    autoscaler = autoscaler,
    scaling = autoscaler and {
      max_replicas = 8, loading_delay_us = cold_start_us, ttft_target_us = seconds(2),
    },
  }
end

local function show(name, r)
  local scaling = rawget(r, "scaling")
  print(("%-22s %7.2f %6.1f %% %8.0f %6s %5s %5s"):format(name, r.cost.usd,
    100 * (1 - r.goodput.attainment), r.ttft_ms.p99,
    scaling and ("%.2f"):format(scaling.mean_paid) or "4.00",
    scaling and scaling.scale_ups + scaling.scale_downs or "-",
    scaling and scaling.oscillations or "-"))
end

print(("%-22s %7s %8s %8s %6s %5s %5s"):format("autoscaler", "USD", "missed", "TTFT p99", "paid",
  "steps", "osc."))
show("4 instances", blis.run(experiment(nil, 4)))
for _, autoscaler in ipairs {
  { "threshold", signal = "batch-size", scale_up_threshold = 70, scale_down_threshold = 25,
    cooldown_seconds = 60 },
  { "hpa", metrics = { requests_running = 55 } },
  { "keda", metrics = { queue_depth = 2, kv_utilization = 0.4 } },
  { "ray-serve", target = 55, interval_seconds = 1 },
  { "knative", container_concurrency = 80 },
  { "dynamo.planner", optimization_target = "sla", ttft_ms = 1000, itl_ms = 60,
    throughput_interval_seconds = 60, predictor = "holt", load_scaling = true },
} do
  show(autoscaler[1], blis.run(experiment(autoscaler)))
end
show("oracle", blis.run(experiment(oracle)))
