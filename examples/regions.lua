--- Three regions whose days are a third of a day apart: where must a request go?
---
--- The rate of each region varies between 20 and 100 of 180 parts, so the sum is constant. Each
--- region alone would need instances for its peak: 300 parts in all, 40 % more than the peak of the
--- sum. The table compares:
---
---   nearest   each region serves its own clients; its evening peak overloads it
---   spill     the same, but a full region sends requests on
---   cheapest  all requests go to the region with the lowest price, until it is full
---   prefix    a prompt returns to the region that last received its prefix
---
--- Client TTFT includes the network. Egress is the price of prompts and responses that cross
--- regions; it is far below the price of the GPUs, so latency and load decide.

local blis = require "blis"

local names = { "us", "eu", "asia" }
local day_us, rate, requests = 60e6, 30, 1800

--- The region of a client at a time: a sinusoid from 20 to 100 per region.
local function region_at(time_us, rng)
  local part = rng:number() * 180
  for i, name in ipairs(names) do
    part = part - (60 + 40 * math.sin(2 * math.pi * (time_us / day_us + i / 3)))
    if part < 0 then return name end
  end
  return names[3]
end

--- One day of requests; half of them start with one of 60 prefixes of 3,000 tokens.
local function day()
  local now_us, left = 0, requests
  return function(rng)
    if left == 0 then return nil end
    left, now_us = left - 1, now_us + rng:exponential(1e6 / rate)
    local request = { arrival_us = math.floor(now_us), prompt_tokens = 500, output_tokens = 100,
      tenant = region_at(now_us, rng) }
    if rng:number() < 0.5 then
      request.prefix_group, request.prefix_tokens = "p" .. rng:integer(1, 60), 3000
      request.prompt_tokens = 3500
    end
    return request
  end
end

local prices = { us = 4, eu = 5, asia = 3 }

local function run(title, routing, spill_above)
  local groups = {}
  for i, name in ipairs(names) do
    groups[i] = { instances = 2, region = name, cost_per_hour = prices[name],
      gpu_price_per_hour = prices[name] }
  end
  local r = blis.run {
    seed = 1, workload = { generator = day() },
    routing = { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 2 } } },
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", latency_model = "calibrated",
      max_num_batched_tokens = 2048, max_num_seqs = 256, kv_blocks = 4000, frontend = "none",
      groups = groups },
    regions = { routing = routing, spill_above = spill_above, egress_usd_per_gb = 0.02,
      rtt_ms = { us = { eu = 90, asia = 150 }, eu = { asia = 200 } } },
  }
  local all, away = r.regions, 0
  for _, request in ipairs(r.requests) do
    if request.region ~= request.client_region then away = away + 1 end
  end
  print(("%-22s %9.1f %9.1f %9.0f %% %9.3f %10.3f %12.6f"):format(title, all.client_ttft_ms.mean,
    all.client_ttft_ms.p99, 100 * away / #r.requests, r.cache_hit_rate_overall, r.cost.usd,
    all.egress_usd))
end

print("                       client TTFT (ms)   served away  hit rate   GPUs (USD)  egress (USD)")
print("                            mean       p99")
run("nearest", "nearest")
run("nearest, spill at 24", "nearest", 24)
run("cheapest, spill at 24", "least-cost", 24)
run("prefix, spill at 24", "prefix", 24)
