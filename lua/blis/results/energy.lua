--- Energy of the GPUs of a run, by activity.
---
--- The core reports the energy of steps; in the remaining billed seconds, instances are idle,
--- starting, or draining.
local carbon = require "blis.engine.carbon"
local power = require "blis.engine.power"

local energy = {}

local joules_per_kwh = 3.6e6

--- Energy of the steps of each group's instances, and the billed seconds without computation.
local function sums_by_group(summary, groups)
  local sums = {}
  for i, group in ipairs(groups) do
    sums[i] = { prefill_j = 0, busy_j = 0, busy_s = 0, carbon_g = 0, carbon_s = 0,
      paid_s = summary.paid and summary.paid[i].seconds
        or group.instances * summary.duration_us / 1e6 }
  end
  for i, instance in ipairs(summary.instances) do
    local of, drawn = sums[instance.group], summary.drawn[i]
    of.busy_s = of.busy_s + instance.busy_us / 1e6
    of.busy_j = of.busy_j + drawn.busy_j
    of.prefill_j = of.prefill_j + drawn.prefill_j
    of.carbon_g, of.carbon_s = of.carbon_g + drawn.carbon_g, of.carbon_s + drawn.carbon_s
  end
  for _, of in ipairs(sums) do of.idle_s = math.max(of.paid_s - of.busy_s, 0) end
  return sums
end

--- Grams of carbon dioxide for the energy of a group's GPUs, with changing intensity. Idle times of
--- permanent instances are exact; idle times of other instances are spread over the run.
local function carbon_of(sums, idle_kwh, group, steps, duration_s)
  local all_s = group.instances * duration_s
  local mean = carbon.mean(steps, duration_s)
  if sums.idle_s > 0 and math.abs(sums.paid_s - all_s) <= 1e-9 * all_s then
    mean = math.max(mean * all_s - sums.carbon_s, 0) / sums.idle_s
  end
  return sums.carbon_g + idle_kwh * mean
end

--- With changing intensity, g is the emission of the GPUs, and steps_g its part in steps.
local function add_carbon(given, cluster, completed, g, steps_g)
  local pue = cluster.pue or 1
  given.facility_kwh = given.kwh * pue
  if not cluster.carbon_g_per_kwh then return end
  local intensity = not cluster.carbon_steps and cluster.carbon_g_per_kwh
  given.carbon_g = intensity and given.facility_kwh * intensity or g * pue
  given.steps_carbon_g = intensity and (given.prefill_kwh + given.decode_kwh) * pue * intensity
    or steps_g * pue
  given.carbon_g_per_request = completed > 0 and given.carbon_g / completed or nil
end

local function share(sum, count) return count > 0 and sum / count or nil end

--- Energy of a run; empty if no group has power values. If only some groups have them, it covers
--- only these, and `coverage` is their fraction.
---@param summary table with cost
---@param cluster table its options
---@return blis.Energy
function energy.of(summary, cluster)
  if not summary.drawn then return {} end
  local duration_us = summary.market and summary.market.span_us or summary.duration_us
  local groups = summary.setup.groups or { summary.setup }
  local joules = { prefill = 0, busy = 0, idle = 0 }
  local known, all, carbon_g, steps_carbon_g = 0, 0, 0, 0
  for i, sums in ipairs(sums_by_group(summary, groups)) do
    local gpus = groups[i].tp * groups[i].dp
    local idle_watts = power.idle_watts(cluster.groups and cluster.groups[i] or cluster)
    joules.prefill = joules.prefill + sums.prefill_j
    joules.busy = joules.busy + sums.busy_j
    local idle_j = (idle_watts or 0) * gpus * sums.idle_s
    joules.idle = joules.idle + idle_j
    steps_carbon_g = steps_carbon_g + sums.carbon_g
    if cluster.carbon_steps then
      carbon_g = carbon_g + carbon_of(sums, idle_j / joules_per_kwh, groups[i],
        cluster.carbon_steps, duration_us / 1e6)
    end
    all = all + gpus * sums.paid_s
    known = known + (idle_watts and gpus * sums.paid_s or 0)
  end
  if known == 0 then return {} end
  local sum = joules.busy + joules.idle
  local given = {
    gpu_watts = cluster.gpu_watts, mean_gpu_watts = sum / known, kwh = sum / joules_per_kwh,
    prefill_kwh = joules.prefill / joules_per_kwh,
    decode_kwh = (joules.busy - joules.prefill) / joules_per_kwh,
    idle_kwh = joules.idle / joules_per_kwh, coverage = known / all,
    joules_per_output_token = share(sum, summary.output_tokens),
    joules_per_request = share(sum, summary.completed),
  }
  add_carbon(given, cluster, summary.completed, carbon_g, steps_carbon_g)
  return given
end

return energy
