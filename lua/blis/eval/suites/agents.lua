--- Agents with long sessions. Every turn repeats the whole conversation, so the placement of a
--- session determines the tokens to recompute. Sessions differ much in size.
local routing = require "blis.eval.suites.routing"

local function agents(id, split, changes)
  return routing.change({
    id = id, split = split,
    cluster = { defaults = routing.defaults, instances = 6, snapshot_refresh_us = 50000,
      cache_signal_delay_us = 200000 },
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

-- The instance with the least work, given its current cache. A session stays on its instance unless
-- a move saves much: an instance with many sessions must serve all their later turns.
local least_work = [[
local bound_to, sessions = {}, {}
return { name = "least-work", route = function(request, instances)
  local best, least = 1, math.huge
  local bound = request.session ~= "" and bound_to[request.session]
  for i = 1, #instances do
    local one = instances[i]
    local work = one.pending_prefill_tokens + request.prompt_tokens * (1 - one.live_prefix_hit)
      + 200 * one.in_flight + 400 * (sessions[i] or 0)
    if bound == i then work = 0.6 * work end
    if work < least then best, least = i, work end
  end
  if bound ~= best then
    sessions[best] = (sessions[best] or 0) + 1
    if bound then sessions[bound] = sessions[bound] - 1 end
  end
  bound_to[request.session] = best
  return best
end }
]]

return routing.add {
  version = "2",
  name = "agents",
  summary = "agents with long sessions",
  bounds = {
    catalogue = [[return "vllm-router.least_conn_sticky"]],
    oracle = least_work,
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
