--- What the GPUs of a run drew, by what they did.
---
--- An instance that prefills, decodes or waits draws differently, so its paid seconds are cut in
--- three: steps that computed prompt tokens, other steps, and the rest, in which it is idle, starts
--- or drains. A step that does both draws the larger of the two.
local power = require "blis.engine.power"

local energy = {}

local joules_per_kwh = 3.6e6

--- Seconds of the instances of each group: busy with prompts, with decoding alone, and paid.
local function seconds_by_group(summary, groups)
  local seconds = {}
  for i, group in ipairs(groups) do
    seconds[i] = { prefill = 0, decode = 0, paid = summary.paid and summary.paid[i].seconds
      or group.instances * summary.duration_us / 1e6 }
  end
  for _, instance in ipairs(summary.instances) do
    local of = seconds[instance.group]
    of.prefill = of.prefill + instance.prefill_us / 1e6
    of.decode = of.decode + (instance.busy_us - instance.prefill_us) / 1e6
  end
  for _, of in ipairs(seconds) do of.idle = math.max(of.paid - of.prefill - of.decode, 0) end
  return seconds
end

local function add_carbon(given, cluster, completed)
  given.facility_kwh = given.kwh * (cluster.pue or 1)
  if not cluster.carbon_g_per_kwh then return end
  given.carbon_g = given.facility_kwh * cluster.carbon_g_per_kwh
  given.carbon_g_per_request = completed > 0 and given.carbon_g / completed or nil
end

--- Energy of a run; empty when no group says what its GPUs draw. Where some do, it is theirs, and
--- `coverage` tells their share.
---@param summary table with cost
---@param cluster table its options
---@return blis.Energy
function energy.of(summary, cluster)
  local groups = summary.setup.groups or { summary.setup }
  local joules = { prefill = 0, decode = 0, idle = 0 }
  local known, all = 0, 0
  for i, seconds in ipairs(seconds_by_group(summary, groups)) do
    local gpus = groups[i].tp * groups[i].dp
    local draw = power.draw_of(cluster.groups and cluster.groups[i] or cluster)
    for state, sum in pairs(joules) do
      joules[state] = sum + (draw and draw[state] * gpus * seconds[state] or 0)
    end
    all = all + gpus * seconds.paid
    known = known + (draw and gpus * seconds.paid or 0)
  end
  if known == 0 then return {} end
  local sum = joules.prefill + joules.decode + joules.idle
  local given = {
    gpu_watts = cluster.gpu_watts, mean_gpu_watts = sum / known, kwh = sum / joules_per_kwh,
    prefill_kwh = joules.prefill / joules_per_kwh, decode_kwh = joules.decode / joules_per_kwh,
    idle_kwh = joules.idle / joules_per_kwh, coverage = known / all,
    joules_per_output_token = summary.output_tokens > 0 and sum / summary.output_tokens or nil,
  }
  add_carbon(given, cluster, summary.completed)
  return given
end

return energy
