--- Chat with shared system prompts: many applications behind one gateway, each with a prompt of its
--- own that is worth keeping in one cache, and loads that make it worth leaving.
local routing = require "blis.eval.suites.routing"

local function chat(id, split, changes)
  return routing.change({
    id = id, split = split,
    cluster = { defaults = routing.defaults, instances = 8, snapshot_refresh_us = 50000,
      cache_signal_delay_us = 200000 },
    workload = {
      rate = 55, requests = 600, tokens = "lazy",
      prompt = { "gaussian", mean = 400, std_dev = 250, min = 16, max = 3000 },
      output = { "gaussian", mean = 160, std_dev = 90, min = 4, max = 800 },
      prefixes = { groups = 24, tokens = 2048, zipf = 1.0 },
      arrival = "poisson", timeout_us = 60000000,
    },
    slo = { default = { ttft_ms = 150, itl_ms = 25 } },
  }, changes)
end

return routing.add {
  version = "2",
  name = "chat",
  summary = "chat with shared system prompts",
  bounds = {
    catalogue = [[return "b3.leastwork_kappa"]],
    -- The least work, by what is cached as of now.
    oracle = [[
return { name = "least-work", route = function(request, instances)
  local best, least = 1, math.huge
  for i = 1, #instances do
    local one = instances[i]
    local work = one.pending_prefill_tokens
      + request.prompt_tokens * (1 - one.live_prefix_hit) + 40 * one.in_flight
    if work < least then best, least = i, work end
  end
  return best
end }
]],
  },
  seed_program = [[
local blis = require "blis"

# EVOLVE-BLOCK-START
local function score(request, instance)
  return 0.6 * instance.prefix_hit + 0.4 / (1 + instance.in_flight)
end
# EVOLVE-BLOCK-END

return blis.scorer { name = "evolved", score = score }
]],
  soft = { reject_frac = 0.05 },
  scenarios = {
    chat("chat-steady", "train", { weight = 2 }),
    chat("chat-burst", "train", { workload = { arrival = { "gamma", cv = 3 }, rate = 45 } }),
    chat("chat-many-prompts", "train", { workload = {
      prefixes = { groups = 96, tokens = 1536, zipf = 0.8 }, rate = 40 } }),
    chat("chat-long-prompts", "validation", { workload = {
      prefixes = { groups = 16, tokens = 4096, zipf = 1.2 }, rate = 40 } }),
    chat("chat-weibull", "test", { workload = { arrival = { "weibull", cv = 2 }, rate = 48 } }),
    chat("chat-few-instances", "test", { cluster = { instances = 5 }, workload = { rate = 30,
      prefixes = { groups = 12, tokens = 3072, zipf = 0.9 } } }),
  },
}
