--- The small experiment on which policies are held against each other: conversations and one-off
--- prompts, shared prefixes, caches that fill up, and signals as old as asked for.
local experiment = require "blis.experiment"
local stages = require "blis.production.stages"

local conformance_workload = {}

-- The version of the defaults that the recorded decisions were made with.
local defaults = "1.0-rc1"

--- The experiment with the policies of another one in it.
---@param points table<string, any> routing, admission, queue, disaggregation
---@param has_pools? boolean with prefill/decode disaggregation
---@return table
function conformance_workload.experiment(points, has_pools)
  local spec = {}
  for key, value in pairs(points) do spec[key] = value end
  spec.cluster = { defaults = defaults, instances = 4, kv_blocks = 2000,
    snapshot_refresh_us = 50000 }
  if has_pools then spec.cluster.prefill_instances, spec.cluster.decode_instances = 2, 2 end
  spec.disaggregation = stages.fitting(spec.disaggregation, spec.cluster)
  spec.workload = {
    rate = 14, requests = 300, arrival = { "gamma", cv = 2 },
    prompt = { "gaussian", mean = 500, std_dev = 400, min = 16, max = 4000 },
    output = { "gaussian", mean = 90, std_dev = 60, min = 4, max = 400 },
    prefixes = { groups = 6, tokens = 1100, zipf = 0.7 },
    sessions = { max_rounds = 3, think_time_us = 400000, closed_loop = false },
  }
  spec.seed = 20260822
  return spec
end

--- The run of policies: its result, with a trace of decisions.
---@return blis.Result
function conformance_workload.run(points, has_pools)
  local spec = conformance_workload.experiment(points, has_pools)
  spec.trace_level = "decisions"
  return experiment.run(spec)
end

--- How many decisions two runs have in common.
---@param a blis.Result
---@param b blis.Result
---@return integer equal
---@return integer all
function conformance_workload.agreement(a, b)
  local equal, all = 0, math.max(#a.decisions, #b.decisions)
  for i = 1, math.min(#a.decisions, #b.decisions) do
    local x, y = a.decisions[i], b.decisions[i]
    if x.request == y.request and x.chosen == y.chosen and x.verdict == y.verdict then
      equal = equal + 1
    end
  end
  return equal, all
end

return conformance_workload
