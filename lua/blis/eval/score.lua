--- Scores: how much better than the baseline, on the same requests, as one number.
---
--- Each scenario and seed contributes the logarithm of baseline cost / candidate cost, within 1/16
--- to 16. The mean over scenarios is weighted. The score is the exponential of the mean over seeds,
--- times a factor for soft violations. The baseline has 1, and invalid candidates have 0.
local statistics = require "blis.statistics"

local score = {}

local log_limit = math.log(16)

--- ln(baseline / candidate) of a metric where less is better, clamped.
---@param baseline number
---@param candidate number
---@return number
function score.log_ratio(baseline, candidate)
  if baseline == candidate then return 0.0 end
  if candidate <= 0 then return log_limit end
  if baseline <= 0 then return -log_limit end
  return math.max(-log_limit, math.min(log_limit, math.log(baseline / candidate)))
end

--- Weighted mean of the log ratios of the metrics of a scenario's cost.
---@param cost { metric: string, weight: number }[]
---@param baseline table<string, number>
---@param candidate table<string, number>
---@return number
function score.of_run(cost, baseline, candidate)
  local sum, weights = 0.0, 0.0
  for _, one in ipairs(cost) do
    sum = sum + one.weight * score.log_ratio(baseline[one.metric], candidate[one.metric])
    weights = weights + one.weight
  end
  return math.max(-log_limit, math.min(log_limit, sum / weights))
end

--- exp of the weighted mean.
---@param items { log_ratio: number, weight: number }[]
---@return number log_ratio
function score.combined(items)
  local sum, weights = 0.0, 0.0
  for _, one in ipairs(items) do
    sum, weights = sum + one.weight * one.log_ratio, weights + one.weight
  end
  return sum / weights
end

--- The factor of a soft constraint that is exceeded by violation.
---@param violation number 0 = not
---@param tolerance number
---@return number
function score.penalty(violation, tolerance)
  return violation <= 0 and 1.0 or 1 / (1 + violation / tolerance)
end

---@class blis.eval.ScenarioScore
---@field scenario blis.eval.Scenario
---@field log_ratio number mean over seeds
---@field weight number
---@field low? number of the interval over seeds
---@field high? number
---@field per_seed number[]

---@class blis.eval.Score
---@field log_ratio number
---@field combined number
---@field penalty number
---@field low? number of the interval of log_ratio; nil with fewer than 4 seeds
---@field high? number
---@field scenarios blis.eval.ScenarioScore[]
---@field soft { name: string, excess: number, factor: number }[]

-- Minimum number for an interval.
local least_seeds = 4

local function interval(values)
  if #values < least_seeds then return nil, nil end
  local estimate = statistics.estimate(values)
  return estimate.low, estimate.high
end

local function mean(values) return (statistics.moments(values)) end

local function score_scenario(scenario, seeds, baseline, candidate)
  local per_seed = {}
  for i = 1, #seeds do per_seed[i] = score.of_run(scenario.cost, baseline[i], candidate[i]) end
  local low, high = interval(per_seed)
  return { scenario = scenario, weight = scenario.weight, per_seed = per_seed,
    log_ratio = mean(per_seed), low = low, high = high }
end

--- Mean of a measure over scenarios and seeds.
local function mean_of(measures, name)
  local sum, n = 0.0, 0
  for _, runs in ipairs(measures) do
    for _, one in ipairs(runs) do sum, n = sum + (one[name] or 0), n + 1 end
  end
  return n > 0 and sum / n or 0.0
end

score.mean_of = mean_of

local function soft_violations(soft, baseline, candidate)
  local list, factor = {}, 1.0
  for _, name in ipairs { "preemptions_per_request", "reject_frac" } do
    if soft[name] then
      local excess = mean_of(candidate, name) - mean_of(baseline, name)
      local own = score.penalty(excess, soft[name])
      factor = factor * own
      if own < 1 then list[#list + 1] = { name = name, excess = excess, factor = own } end
    end
  end
  return list, factor
end

--- The score of measures[scenario][seed].
---@param stage blis.eval.Stage
---@param soft table<string, number>
---@param baseline blis.eval.Measures[][]
---@param candidate blis.eval.Measures[][]
---@return blis.eval.Score
function score.of(stage, soft, baseline, candidate)
  local scenarios, per_seed = {}, {}
  for s, scenario in ipairs(stage.scenarios) do
    scenarios[s] = score_scenario(scenario, stage.seeds, baseline[s], candidate[s])
  end
  for i = 1, #stage.seeds do
    local items = {}
    for s, one in ipairs(scenarios) do
      items[s] = { log_ratio = one.per_seed[i], weight = one.weight }
    end
    per_seed[i] = score.combined(items)
  end
  local violations, penalty = soft_violations(soft, baseline, candidate)
  local log_ratio = mean(per_seed)
  local low, high = interval(per_seed)
  return { log_ratio = log_ratio, combined = math.exp(log_ratio) * penalty, penalty = penalty,
    low = low, high = high, scenarios = scenarios, soft = violations, n = #stage.seeds }
end

-- A share of fewer requests than this is chance.
local least_of_class = 20

--- The first class or tenant that is served much worse than by the baseline, or nil.
---@param stage blis.eval.Stage
---@param floor number
---@param baseline blis.eval.Measures[][]
---@param candidate blis.eval.Measures[][]
---@return string?
function score.starved(stage, floor, baseline, candidate)
  for s, scenario in ipairs(stage.scenarios) do
    local sums = {}
    for side, measures in ipairs { baseline[s], candidate[s] } do
      for _, one in ipairs(measures) do
        for _, class in ipairs(one.classes) do
          sums[class.name] = sums[class.name] or { name = class.name, { 0, 0 }, { 0, 0 } }
          local sum = sums[class.name][side]
          sum[1], sum[2] = sum[1] + class.good, sum[2] + class.offered
        end
      end
    end
    local names = {}
    for name in pairs(sums) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      local b, c = sums[name][1], sums[name][2]
      local wanted = b[2] > 0 and b[1] / b[2] or 0
      local share = c[2] > 0 and c[1] / c[2] or 0
      if b[2] >= least_of_class and share < floor * wanted then
        return ("%s is starved in %s: %.1f %% served well, %.1f %% by the baseline, at least %.1f "
          .. "%% are expected"):format(name, scenario.id, 100 * share, 100 * wanted,
          100 * floor * wanted)
      end
    end
  end
end

return score
