--- When there are enough replications.
---
--- A rule is evaluated at fixed numbers of replications ("looks"). It reads replications in the
--- order of their seeds, so the result does not depend on the order in which they end.
local distribution = require "blis.statistics.distribution"
local statistics = require "blis.statistics"

local stopping = {}

-- Two-sided 0.05 overall at equally spaced looks (Jennison and Turnbull 2000, tables 2.1 and 2.3).
local boundaries = {
  ["obrien-fleming"] = {
    [2] = { 2.796, 1.977 }, [3] = { 3.471, 2.454, 2.004 }, [4] = { 4.048, 2.862, 2.337, 2.024 },
    [5] = { 4.562, 3.226, 2.634, 2.281, 2.040 },
  },
  ["pocock"] = {
    [2] = { 2.178, 2.178 }, [3] = { 2.289, 2.289, 2.289 }, [4] = { 2.361, 2.361, 2.361, 2.361 },
    [5] = { 2.413, 2.413, 2.413, 2.413, 2.413 },
  },
}

---@class blis.StoppingRule
---@field rule "fixed"|"precision"|"obrien-fleming"|"pocock"
---@field min integer replications of the first look
---@field max integer
---@field precision? number half-width of the interval to reach, relative to the mean
---@field level number

--- A boundary for z as one for t with few pairs: the same probability beyond it.
local function t_boundary(z, n)
  local tail = 1 - distribution.normal_probability(z)
  return -distribution.t_quantile(tail, n - 1)
end

--- The numbers of replications at which the rule is evaluated.
---@param rule blis.StoppingRule
---@return integer[]
function stopping.looks(rule)
  if rule.rule == "fixed" then return { rule.max } end
  local list = {}
  if rule.rule == "precision" then
    local n = rule.min
    while n < rule.max do
      list[#list + 1] = n
      n = math.max(n + 1, n * 5 // 4)
    end
    list[#list + 1] = rule.max
    return list
  end
  local count = math.min(5, math.max(2, rule.max // rule.min))
  for k = 1, count do list[k] = math.max(2, rule.max * k // count) end
  return list
end

--- The level of intervals at look k that together, at all looks, cover the truth as often as a rule
--- says: the repeated confidence intervals of a group-sequential test (Jennison and Turnbull 2000,
--- 9.1). Other rules have intervals of their own level.
---@param rule blis.StoppingRule
---@param k integer
---@return number
function stopping.level_at(rule, k)
  local of_rule = boundaries[rule.rule]
  if not of_rule then return rule.level end
  return 2 * distribution.normal_probability(of_rule[#stopping.looks(rule)][k]) - 1
end

--- True if an estimate of a mean is precise enough.
---@param rule blis.StoppingRule
---@param values number[]
---@return boolean
function stopping.is_mean_known(rule, values)
  local estimate = statistics.estimate(values, { level = rule.level })
  return estimate.half_width ~= nil
    and estimate.half_width <= rule.precision * math.abs(estimate.mean)
end

--- True when a paired comparison is decided at look k of the rule, or known precisely enough.
---@param rule blis.StoppingRule
---@param k integer
---@param paired blis.PairedEstimate
---@return boolean
function stopping.is_decided(rule, k, paired)
  if rule.rule == "precision" then
    local scale = paired.kind ~= "difference" and 1 or math.abs(paired.mean_a)
    return paired.half_width ~= nil and paired.half_width <= rule.precision * scale
  end
  if not paired.p_value or paired.p_value == 0 then return paired.p_value == 0 end
  local bounds = boundaries[rule.rule][#stopping.looks(rule)]
  return paired.effect ~= nil
    and math.abs(paired.effect) * math.sqrt(paired.n) > t_boundary(bounds[k], paired.n)
end

return stopping
