--- Statistical evidence that a target is met, from one run and from several seeds.
---
--- A margin is the distance of a metric beyond its limit. For a percentile, it is the fraction of
--- requests beyond the limit minus the fraction that the percentile allows. The noise of a margin
--- is measured between batches of the requests of a run, and between seeds. The larger noise
--- counts, because batches that depend on each other vary too little.
local statistics = require "blis.statistics"

local evidence = {}

--- Lag-1 autocorrelation; 0 of a constant, whose mean may be off by rounding.
local function autocorrelation(values, mean)
  local products, squares = 0.0, 0.0
  for i, value in ipairs(values) do
    squares = squares + (value - mean) ^ 2
    if i > 1 then products = products + (value - mean) * (values[i - 1] - mean) end
  end
  local rounding = #values * (1e-12 * mean) ^ 2
  return squares > rounding and products / squares or 0.0
end

-- For one run; see src/results/analysis/arrivals.h.
evidence.batches = 20

-- Beyond that a run of batches says next to nothing of the time between its ups and downs.
local most_correlated = 0.9

--- Mean of batches and its standard error, widened for what neighbours have in common (an
--- autoregressive process of first order).
---@param batches number[]
---@return number mean
---@return number error
---@return number correlation
function evidence.of_batches(batches)
  local mean, deviation = statistics.moments(batches)
  local correlation = math.min(math.max(autocorrelation(batches, mean), 0), most_correlated)
  local widened = math.sqrt((1 + correlation) / (1 - correlation))
  return mean, deviation * widened / math.sqrt(#batches), correlation
end

-- A percentile requires this number of independent requests beyond it.
evidence.least_tail = 10

--- How many of the requests beyond a percentile are independent: slow requests come in bursts, and
--- then differ more between batches than independent ones would (their variance is their mean).
---@param shares number[] of the batches
---@param requests integer in all of them
---@return number at most one for each request
function evidence.independent(shares, requests)
  local mean, deviation = statistics.moments(shares)
  local size = requests / #shares
  if mean == 0 then return requests end
  return mean * requests / math.max(1, deviation ^ 2 * size / mean)
end

-- Saturated clusters get slower by far more than that from half to half.
local material = 0.1

--- By how many standard errors a series is higher in its second half; changes of less than a tenth
--- count in proportion.
---@param batches number[]
---@return number
function evidence.rise(batches)
  local half = #batches // 2
  local before, spread = statistics.moments(table.move(batches, 1, half, 1, {}))
  local after, other = statistics.moments(table.move(batches, half + 1, 2 * half, 1, {}))
  local change = (after - before) / math.max(before, 1e-9)
  local error = math.sqrt((spread ^ 2 + other ^ 2) / half) / math.max(before, 1e-9)
  return change / math.max(error, 1e-9) * math.min(1, math.abs(change) / material)
end

-- For a rise that chance does not explain.
evidence.rise_in_errors = 2.5

--- The half-width of an interval for the mean margin of seeds; nil when nothing shows the noise.
local function half_width(margins, errors, level)
  local n, tail, half = #margins, (1 + level) / 2, nil
  if errors then
    local squares = 0.0
    for _, error in ipairs(errors) do squares = squares + error ^ 2 end
    half = statistics.t_quantile(tail, n * (evidence.batches - 1)) * math.sqrt(squares) / n
  end
  if n >= statistics.fewest_for_interval or n > 1 and not errors then
    local _, deviation = statistics.moments(margins)
    half = math.max(half or 0, statistics.t_quantile(tail, n - 1) * deviation / math.sqrt(n))
  end
  return half
end

---@class blis.capacity.Judgement
---@field sure -1|0|1 kept, too close to call, missed
---@field likely -1|1

--- The evidence of several seeds for one target. A seed without a margin misses the target.
---@param margins number[] by seed, above 0 = missed
---@param errors number[]? of the margins; nil when one of them is not known
---@param level number
---@param n? integer seeds
---@return blis.capacity.Judgement
function evidence.judge(margins, errors, level, n)
  if #margins < (n or 1) then return { sure = 1, likely = 1 } end
  local mean = statistics.moments(margins)
  local half = half_width(margins, errors, level) or 0
  local sure = mean - half > 0 and 1 or mean + half <= 0 and -1 or 0
  return { sure = sure, likely = mean > 0 and 1 or -1 }
end

--- What seeds say of a value.
---@param names string[] of the margins
---@param seen blis.capacity.Seen[] by seed
---@param level number
---@return blis.capacity.Judgement
function evidence.judge_all(names, seen, level)
  local all = { sure = -1, likely = -1 }
  for _, name in ipairs(names) do
    local margins, errors = {}, {}
    for _, one in ipairs(seen) do
      margins[#margins + 1] = one["margin." .. name]
      errors[#errors + 1] = one["error." .. name]
    end
    local one = evidence.judge(margins, #errors == #seen and errors or nil, level, #seen)
    all.sure, all.likely = math.max(all.sure, one.sure), math.max(all.likely, one.likely)
  end
  return all
end

local function joint_rise(seen, name)
  local sum = 0.0
  for _, one in ipairs(seen) do sum = sum + (one[name] or 0) end
  return sum / math.sqrt(#seen)
end

--- True when latencies were still getting longer, over all of them (Stouffer's sum of z-scores), or
--- runs were too short.
---@param seen blis.capacity.Seen[] of some seeds
---@param seeds integer total number of seeds
---@return boolean
function evidence.is_unsettled(seen, seeds)
  local tail = 0
  for _, one in ipairs(seen) do
    if one.settled == 0 then return true end
    tail = tail + (one.tail or math.huge)
  end
  if tail < evidence.least_tail * #seen / seeds then return true end
  return math.max(joint_rise(seen, "rise_ttft"), joint_rise(seen, "rise_e2e"))
    > evidence.rise_in_errors
end

return evidence
