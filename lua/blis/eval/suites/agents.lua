--- Agents with long sessions: every turn brings back all that was said before, so that where a
--- session goes decides what has to be computed again; and sessions differ much in size.
local routing = require "blis.eval.suites.routing"

local function agents(id, split, changes)
  return routing.change({
    id = id, split = split,
    cluster = { instances = 6, snapshot_refresh_us = 50000, cache_signal_delay_us = 200000 },
    workload = {
      rate = 6, requests = 500, tokens = "lazy", arrival = "poisson", timeout_us = 120000000,
      prompt = { "gaussian", mean = 900, std_dev = 600, min = 32, max = 6000 },
      output = { "gaussian", mean = 200, std_dev = 120, min = 8, max = 1200 },
      prefixes = { groups = 4, tokens = 3000, zipf = 0.6 },
      sessions = { max_rounds = 10, think_time_us = 1500000, closed_loop = false },
    },
    slo = { default = { ttft_ms = 300, itl_ms = 45 } },
  }, changes)
end

local least_work = [[
return require("blis").scorer { name = "least-work", score = function(request, instance)
  local work = instance.pending_prefill_tokens
    + request.prompt_tokens * (1 - instance.prefix_hit)
  return 1 / (1 + work / 1000 + 0.1 * instance.in_flight)
end }
]]

return routing.add {
  version = "1",
  name = "agents",
  summary = "agents with long sessions",
  bounds = { oracle = least_work },
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
  soft = { reject_frac = 0.05, preemptions_per_request = 0.2 },
  scenarios = {
    agents("agents-steady", "train", { weight = 2 }),
    agents("agents-small-caches", "train", { cluster = { kv_blocks = 6000 },
      workload = { rate = 4 } }),
    agents("agents-waiting", "train", { workload = {
      sessions = { max_rounds = 8, think_time_us = 800000 }, rate = 5 } }),
    agents("agents-long", "validation", { workload = { rate = 3,
      sessions = { max_rounds = 20, think_time_us = 1000000, closed_loop = false } } }),
    agents("agents-bursts", "test", { workload = { arrival = { "gamma", cv = 3 }, rate = 5 } }),
    agents("agents-few-instances", "test", { cluster = { instances = 4 },
      workload = { rate = 3.5 } }),
  },
}
