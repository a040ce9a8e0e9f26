--- Statistics of a mean, a difference, or a quantile from a few runs.
---
--- The unit is the replication. Requests of one run depend on each other, so intervals use one
--- value per run, never the requests of one run.
local core = require "blis.core"
local distribution = require "blis.statistics.distribution"
local errors = require "blis.errors"
local show = require "blis.show"
local transfer = require "blis.statistics.transfer"
local words = require "blis.statistics.words"

local statistics = {
  t_quantile = distribution.t_quantile,
  t_probability = distribution.t_probability,
  normal_quantile = distribution.normal_quantile,
  normal_probability = distribution.normal_probability,
  spearman = transfer.spearman,
  transfer = transfer.compare,
}

---@class blis.Estimate
---@field n integer
---@field mean number?
---@field std_dev number? with n - 1; nil below 2 values
---@field low number? lower end of the interval of the mean; nil below 2 values
---@field high number?
---@field half_width number?
---@field level number
---@field windows integer? of one run that the interval comes from; nil for replications

--- Mean and standard deviation (n - 1) in two passes, in the order of the list.
---@param values number[]
---@return number? mean
---@return number? std_dev
function statistics.moments(values)
  local n, sum = #values, 0.0
  if n == 0 then return nil, nil end
  for _, value in ipairs(values) do sum = sum + value end
  local mean = sum / n
  if n == 1 then return mean, nil end
  local squares = 0.0
  for _, value in ipairs(values) do squares = squares + (value - mean) ^ 2 end
  return mean, math.sqrt(squares / (n - 1))
end

--- The p-quantile by linear interpolation between sorted values, at rank p (n - 1).
---@param values number[]
---@param p number 0 to 1
---@return number?
function statistics.quantile(values, p)
  local n = #values
  if n == 0 then return nil end
  local sorted = table.move(values, 1, n, 1, {})
  table.sort(sorted)
  local rank = p * (n - 1)
  local below = math.floor(rank)
  local low, high = sorted[below + 1], sorted[math.min(below + 2, n)]
  return low + (rank - below) * (high - low)
end

-- Fewer resamples would move the ends of the interval visibly.
local resamples = 1999

--- Studentised means of resamples with replacement; the stream depends on nothing but the seed.
local function studentised(values, mean, seed)
  local stream, n, list, sample = core.rng(seed, "bootstrap"), #values, {}, {}
  for _ = 1, resamples do
    for i = 1, n do sample[i] = values[stream:integer(n)] end
    local resampled, std_dev = statistics.moments(sample)
    if std_dev > 0 then list[#list + 1] = (resampled - mean) / (std_dev / math.sqrt(n)) end
  end
  return list
end

--- The ends of the bootstrap-t interval (Efron and Tibshirani 1993, 12.5).
local function bootstrap_interval(values, mean, std_dev, level, seed)
  local list = studentised(values, mean, seed)
  if #list == 0 then return mean, mean end
  local tail, error_of_mean = (1 - level) / 2, std_dev / math.sqrt(#values)
  return mean - statistics.quantile(list, 1 - tail) * error_of_mean,
    mean - statistics.quantile(list, tail) * error_of_mean
end

---@class blis.EstimateOptions
---@field level? number of confidence, default 0.95
---@field method? "student-t"|"bootstrap" default "student-t"
---@field seed? integer of the bootstrap, default 42

--- The mean of independent values and an interval that covers the true one with probability level.
---@param values number[]
---@param options? blis.EstimateOptions
---@return blis.Estimate
function statistics.estimate(values, options)
  options = options or {}
  local level, n = options.level or 0.95, #values
  local mean, std_dev = statistics.moments(values)
  local estimate = words.estimate { n = n, mean = mean, std_dev = std_dev, level = level }
  if n < 2 then return estimate end
  if options.method == "bootstrap" then
    estimate.low, estimate.high =
      bootstrap_interval(values, mean, std_dev, level, options.seed or 42)
  else
    local half = distribution.t_quantile((1 + level) / 2, n - 1) * std_dev / math.sqrt(n)
    estimate.low, estimate.high = mean - half, mean + half
  end
  estimate.half_width = (estimate.high - estimate.low) / 2
  return estimate
end

--- Ranks l and u such that the l-th and the u-th of n sorted values enclose the p-quantile with at
--- least probability level, for any distribution. Source: David and Nagaraja, Order Statistics,
--- 7.1. Returns nil if n is too small.
local function quantile_ranks(n, p, level)
  local below, tail = {}, (1 - level) / 2
  local probability, sum = (1 - p) ^ n, 0.0
  for k = 0, n do
    sum = sum + probability
    below[k] = sum -- P(at most k values below the quantile)
    probability = probability * (n - k) / (k + 1) * p / (1 - p)
  end
  local low, high
  for k = 0, n - 1 do
    if below[k] <= tail then low = k + 1 end
    if not high and below[k] >= 1 - tail then high = k + 1 end
  end
  if low and high and high <= n then return low, high end
end

--- The p-quantile of independent values and an interval for it that assumes nothing about them.
---@param values number[]
---@param p number above 0 and below 1
---@param level? number default 0.95
---@return { value: number?, low: number?, high: number?, n: integer } low and high are nil when
--- there are too few values
function statistics.quantile_interval(values, p, level)
  local sorted = table.move(values, 1, #values, 1, {})
  table.sort(sorted)
  local low, high = quantile_ranks(#sorted, p, level or 0.95)
  return show.figures {
    n = #sorted, value = statistics.quantile(sorted, p),
    low = low and sorted[low], high = low and sorted[high],
  }
end

---@class blis.PairedEstimate
---@field n integer pairs
---@field kind "ratio"|"ratio-of-means"|"difference"
---@field mean_a number
---@field mean_b number
---@field change number b / a - 1, or b - a
---@field low number? of change
---@field high number?
---@field half_width number? of change, or of ln (b / a)
---@field effect number? mean of the differences over their standard deviation
---@field p_value number? two-sided
---@field lower integer pairs in which b is below a
---@field higher integer
---@field ties integer
---@field least number? smallest change of a pair
---@field most number? largest one
---@field median number? of the draws, if change is at an edge of an interval from windows
---@field withheld string? why there is no interval: the runs of one side are invalid
---@field level number
---@field windows integer? of one run that the interval comes from; nil for replications
---@field is_shown boolean? of windows: chance is no good explanation of the change
---@field model_error number? relative error of the step-time model between the two setups, which
--- four fifths of the pairs of setups are within; nil: no bound, or not judged
---@field model_error_basis "assumed"? of that error; nil: measured or neighbouring
---@field is_inside_model_error boolean? the change is smaller, or has no bound; nil: not judged

local kinds = { ratio = true, ["ratio-of-means"] = true, difference = true }

--- ln (b / a) of every pair, or b - a when a ratio means nothing.
local function differences(a, b, kind)
  local list = {}
  for i = 1, #a do
    list[i] = kind == "ratio" and math.log(b[i] / a[i]) or b[i] - a[i]
  end
  return list
end

local function sum_of(values)
  local sum = 0.0
  for _, value in ipairs(values) do sum = sum + value end
  return sum
end

--- Pseudo-values of ln (mean of b / mean of a), whose mean is without most of the bias that the
--- logarithm of an average has (jackknife; Efron and Tibshirani 1993, 11).
local function ratio_of_means(a, b)
  local n, sum_a, sum_b, list = #a, sum_of(a), sum_of(b), {}
  if n < 2 then return differences(a, b, "ratio") end
  local whole = math.log(sum_b / sum_a)
  for i = 1, n do
    list[i] = n * whole - (n - 1) * math.log((sum_b - b[i]) / (sum_a - a[i]))
  end
  return list
end

local function all_positive(values)
  for _, value in ipairs(values) do
    if not (value > 0 and value < math.huge) then return false end
  end
  return true
end

local function count_signs(list)
  local lower, higher, ties = 0, 0, 0
  for _, d in ipairs(list) do
    if d < 0 then lower = lower + 1 elseif d > 0 then higher = higher + 1 else ties = ties + 1 end
  end
  return lower, higher, ties
end

--- The probability of differences at least as large if there were none.
local function p_value(estimate)
  if not estimate.std_dev then return nil end
  if estimate.std_dev == 0 then return estimate.mean == 0 and 1.0 or 0.0 end
  local t = math.abs(estimate.mean) / (estimate.std_dev / math.sqrt(estimate.n))
  return 2 * distribution.t_probability(-t, estimate.n - 1)
end

--- Compares two lists with one value per seed and the same seeds: b against a. Uses ratios if all
--- values are positive, otherwise differences.
---
--- "ratio" describes single runs: the mean of ln (b / a), the typical effect of b on a run. It
--- differs from ln of the ratio of means, because the logarithm of a mean is biased. The difference
--- is about half the difference of the squared coefficients of variation of a and b over runs. More
--- runs do not reduce it. "ratio-of-means" describes the ratio of means.
---@param a number[]
---@param b number[]
---@param options? { level?: number, kind?: "ratio"|"ratio-of-means"|"difference",
--- method?: "student-t"|"bootstrap", seed?: integer }
---@return blis.PairedEstimate
function statistics.paired(a, b, options)
  options = options or {}
  if #a ~= #b then
    errors.invalid("paired: lists of %d and %d values cannot be paired", #a, #b)
  end
  local kind = options.kind or (all_positive(a) and all_positive(b) and "ratio" or "difference")
  if not kinds[kind] then
    errors.invalid("paired: kind: %s: expected ratio, ratio-of-means or difference",
      errors.invalid_value(kind))
  end
  local list = differences(a, b, kind == "difference" and kind or "ratio")
  local estimate = statistics.estimate(kind == "ratio-of-means" and ratio_of_means(a, b) or list,
    { level = options.level, method = options.method, seed = options.seed })
  local function change(x)
    if not x or kind == "difference" then return x end
    return math.exp(x) - 1
  end
  local lower, higher, ties = count_signs(list)
  local least, most = math.huge, -math.huge
  for _, d in ipairs(list) do least, most = math.min(least, d), math.max(most, d) end
  local deviation = estimate.std_dev
  return words.paired {
    n = #a, kind = kind, level = estimate.level, half_width = estimate.half_width,
    mean_a = statistics.moments(a), mean_b = (statistics.moments(b)),
    change = change(estimate.mean), low = change(estimate.low), high = change(estimate.high),
    effect = deviation and deviation > 0 and estimate.mean / deviation or nil,
    p_value = p_value(estimate), lower = lower, higher = higher, ties = ties,
    least = #list > 0 and change(least) or nil, most = #list > 0 and change(most) or nil,
  }
end

--- The comparison of a metric; nil: chosen by its values. Fractions are not compared as ratios:
--- from 1 % to 2 % is one point more.
---@param name string
---@return "difference"?
function statistics.kind_of(name)
  for _, ending in ipairs { "hit_rate", "hit_rate_overall", "attainment", "balance", "fairness",
    "utilization" } do
    if name:sub(-#ending) == ending then return "difference" end
  end
end

--- The number of pairs that show a difference: the test at the two-sided significance detects a
--- mean difference with the given power.
---@param std_dev number of the differences
---@param difference number the smallest of interest
---@param options? { significance?: number, power?: number } default 0.05 and 0.8
---@return integer
function statistics.needed_pairs(std_dev, difference, options)
  options = options or {}
  local z = distribution.normal_quantile(1 - (options.significance or 0.05) / 2)
    + distribution.normal_quantile(options.power or 0.8)
  return math.ceil((z * std_dev / difference) ^ 2)
end

-- With fewer, Student's t is so wide, and the deviation so unsure, that intervals mislead.
statistics.fewest_for_interval = 4

--- Whether an estimate, or a pair, rests on too few replications for an interval.
---@param estimate blis.Estimate|blis.PairedEstimate
---@return boolean
function statistics.is_few(estimate)
  return estimate.n < statistics.fewest_for_interval and not estimate.windows
end

---@class blis.Power
---@field std_dev number? of the values, or of ln (b / a); nil below 2 values, and where it means
--- nothing as a share
---@field needed table<number, integer> replications by the smallest change of interest: 0.01, 0.02,
--- 0.05, 0.1

local power_meta = {
  __name = "blis.power",
  __tostring = function(power)
    if not power.std_dev then return "too few values to tell" end
    local parts = {}
    for _, change in ipairs { 0.01, 0.02, 0.05, 0.1 } do
      parts[#parts + 1] = ("%g %% with %d"):format(change * 100, power.needed[change])
    end
    return "a change shows, of " .. table.concat(parts, ", ") .. " replications"
  end,
}

--- The required number of replications, from a pilot run: from one value per seed, or from two
--- values under the same seeds, which requires fewer.
---@param a number[]
---@param b? number[]
---@param options? { significance?: number, power?: number } default 0.05 and 0.8
---@return blis.Power
function statistics.power(a, b, options)
  local mean, std_dev = statistics.moments(b and differences(a, b, "ratio") or a)
  local share = std_dev and (b and std_dev or mean ~= 0 and std_dev / math.abs(mean)) or nil
  if not share or share ~= share or share == math.huge then share = nil end
  local needed = {}
  for _, change in ipairs(share and { 0.01, 0.02, 0.05, 0.1 } or {}) do
    local pairs_ = statistics.needed_pairs(share, change, options) + 2 -- for Student's t
    needed[change] = math.max(statistics.fewest_for_interval, pairs_)
  end
  return setmetatable({ std_dev = share, needed = show.figures(needed) }, power_meta)
end

--- Raises p-values of several comparisons so that one of them is below 0.05 by chance in 5 % of
--- such families only (Holm 1979).
---@param p_values number[]
---@return number[] in the same order
function statistics.holm(p_values)
  local order, adjusted, largest = {}, {}, 0.0
  for i = 1, #p_values do order[i] = i end
  table.sort(order, function(i, j)
    if p_values[i] ~= p_values[j] then return p_values[i] < p_values[j] end
    return i < j
  end)
  for rank, i in ipairs(order) do
    largest = math.max(largest, math.min(1, p_values[i] * (#order - rank + 1)))
    adjusted[i] = largest
  end
  return show.figures(adjusted)
end

--- The end of the warm-up of a series: MSER-5 (White 1997). The series is averaged in batches of
--- five. Among the cuts in the first half, MSER selects the cut with the smallest squared standard
--- error of the mean of the rest.
---@param series number[] in the order of time
---@return { cut: integer, mean: number?, is_settled: boolean } cut = values to drop; not settled
--- when the best cut is at the very middle, that is, the series is too short
function statistics.mser5(series)
  local cut, is_settled = core.mser5(series)
  local rest = table.move(series, cut + 1, #series, 1, {})
  return show.figures { cut = cut, mean = (statistics.moments(rest)), is_settled = is_settled }
end

return statistics
