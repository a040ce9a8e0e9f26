--- A gateway that several tenants share: a heavy one in bursts, a light one that must not notice,
--- work in batches that can wait, and instances that differ.
local routing = require "blis.eval.suites.routing"

local function tenant(id, share, class, arrival, prompt, output, prefix_tokens)
  return {
    id = id, tenant_id = id, slo_class = class, rate_fraction = share, arrival = arrival,
    prompt = { "gaussian", mean = prompt, std_dev = prompt / 2, min = 8, max = 6000 },
    output = { "gaussian", mean = output, std_dev = output / 2, min = 4, max = 1500 },
    prefix_group = prefix_tokens and id or nil, prefix_length = prefix_tokens,
    timeout = 60000000,
  }
end

local function gateway(id, split, changes)
  return {
    id = id, split = split, weight = changes.weight,
    cluster = {
      defaults = routing.defaults, snapshot_refresh_us = 50000, cache_signal_delay_us = 200000,
      groups = changes.groups
        or { { instances = 4 }, { instances = 3, hardware = "L40S", tp = 2 } },
    },
    workload = {
      aggregate_rate = changes.rate, num_requests = 600,
      clients = {
        tenant("acme", 0.55, "standard", { "gamma", cv = changes.burst or 3 }, 900, 180, 1024),
        tenant("bolt", 0.15, "critical", "poisson", 200, 60, 512),
        tenant("crow", 0.30, "batch", { "gamma", cv = 2 }, changes.batch_prompt or 1600, 300),
      },
    },
    slo = {
      critical = { ttft_ms = 150, itl_ms = 30 }, standard = { ttft_ms = 400, itl_ms = 40 },
      batch = { ttft_ms = 4000, e2e_ms = 60000 },
    },
  }
end

return routing.add {
  version = "3",
  name = "gateway",
  summary = "a bursty gateway of several tenants, with unequal instances",
  -- The best of the catalogue on the train split: it learns how fast each instance is.
  baseline = [[
return "blitz.least-wait-token"
]],
  baseline_sha = "a7f5fd2c16537fab",
  bounds = {
    catalogue = [[return "blitz.least-wait-token"]],
    -- What is cached as of now, and how fast the instances are.
    oracle = [[
return require("blis").scorer { name = "least-time", score = function(request, instance)
  local slowness = instance.tp == 2 and 4 or 1
  local missing = request.prompt_tokens * (1 - instance.live_prefix_hit)
  local work = instance.pending_prefill_tokens + missing + 150 * instance.in_flight
  return 1 / (1 + work / 1000 * slowness)
end }
]],
  },
  seed_program = [[
local blis = require "blis"

# EVOLVE-BLOCK-START
local function score(request, instance)
  local work = instance.pending_prefill_tokens + request.prompt_tokens * (1 - instance.prefix_hit)
  return 1 / (1 + work / 1000 + 0.1 * instance.in_flight)
end
# EVOLVE-BLOCK-END

return blis.scorer { name = "evolved", score = score }
]],
  parameters = {
    { name = "request", low = 0.001, high = 1, default = 0.1 },
    { name = "slowness", low = 0.5, high = 5, default = 1 },
  },
  policy = function(p)
    return { routing = { "weighted", scorers = { { require("blis").scorer {
      name = "least-work", score = function(request, instance)
        local work = instance.pending_prefill_tokens
          + request.prompt_tokens * (1 - instance.prefix_hit)
        local slowness = instance.tp == 2 and p.slowness or 1
        return 1 / (1 + (work / 1000 + p.request * instance.in_flight) * slowness)
      end,
    }, 1 } } } }
  end,
  soft = { reject_frac = 0.05, preemptions_per_request = 0.2 },
  scenarios = {
    gateway("gateway-bursts", "train", { rate = 36, weight = 2 }),
    gateway("gateway-calm", "train", { rate = 32, burst = 1.2 }),
    gateway("gateway-alike", "train", { rate = 38, groups = { { instances = 6 } } }),
    gateway("gateway-long-batches", "validation", { rate = 22, batch_prompt = 3500 }),
    gateway("gateway-storm", "test", { rate = 30, burst = 5 }),
    gateway("gateway-other-mix", "test", { rate = 30,
      groups = { { instances = 3 }, { instances = 4, hardware = "L40S", tp = 2 } } }),
  },
}
