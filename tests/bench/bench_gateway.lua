--- What a queue at the gateway costs: the same requests of 1,000 tenants with and without it, in
--- overload and at a light load, as ratios of CPU time. What is fair to compare: the queue needs
--- the instances to be where the clock is, as a router does that reads their signals; and a
--- concurrency detector keeps batches small, as max_num_seqs does.
---
---   build/blis tests/bench/bench_gateway.lua [REQUESTS [REPETITIONS]]
--- topics: queue flow-control
local blis = require "blis"

local requests, repetitions = tonumber(arg and arg[1]) or 200000, tonumber(arg and arg[2]) or 3

local function traffic(rate)
  local classes, clients = { "critical", "standard", "batch" }, {}
  for i = 1, 1000 do
    clients[i] = {
      id = "client" .. i, tenant_id = "tenant" .. i, rate_fraction = 1,
      slo_class = classes[i % 3 + 1], arrival = { process = "poisson" },
      input_distribution = { type = "gaussian",
        params = { mean = 200, std_dev = 60, min = 50, max = 400 } },
      output_distribution = { type = "gaussian",
        params = { mean = 110, std_dev = 30, min = 20, max = 200 } },
    }
  end
  return { version = "2", seed = 5, aggregate_rate = rate, num_requests = requests,
    clients = clients }
end

--- Seconds of the fastest of several runs.
local function seconds_of(rate, routing, max_num_seqs, queue)
  local least = math.huge
  for _ = 1, repetitions do
    local before = os.clock()
    blis.run {
      cluster = { model = "qwen3-14b", hardware = "H100", instances = 4,
        max_num_seqs = max_num_seqs },
      workload = traffic(rate), routing = routing, queue = queue,
    }
    least = math.min(least, os.clock() - before)
  end
  return least
end

local function with(more)
  local queue = { ttl_us = 0, band_max_requests = 0, band_max_bytes = 0 }
  for key, value in pairs(more) do queue[key] = value end
  return queue
end

local full = { "concurrency", max_concurrency = 100 }
local cases = {
  { "utilization, round-robin", "round-robin", nil, {} },
  { "utilization, least-loaded", "least-loaded", nil, {} },
  { "concurrency, against max_num_seqs", "round-robin", 100, { saturation = full } },
  { "  by event", "round-robin", 100, { saturation = full, dispatch = "event" } },
  { "  tenants in turn", "round-robin", 100, { saturation = full, fairness = "round-robin" } },
  { "  least service", "round-robin", 100, { saturation = full, fairness = "least-service" } },
}

print(("%d requests of 1,000 tenants          overload     light"):format(requests))
for _, case in ipairs(cases) do
  local ratios = {}
  for i, rate in ipairs { 400, 40 } do
    ratios[i] = seconds_of(rate, case[2], nil, with(case[4]))
      / seconds_of(rate, case[2], case[3], nil)
  end
  print(("%-40s %6.2f x  %6.2f x"):format(case[1], ratios[1], ratios[2]))
end
