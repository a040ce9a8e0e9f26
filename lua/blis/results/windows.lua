--- Confidence intervals of a metric of one run: a block bootstrap over windows of its traffic.
---
--- Neighboring requests of a run depend on each other. The bootstrap therefore draws windows of the
--- run with replacement, each with all its requests. The metric is computed from the requests of as
--- many windows as the run has (Künsch 1989). Runs of the same traffic use the same draws, so their
--- common variation cancels in differences. The interval does not cover traffic unlike the run.
local core = require "blis.core"
local statistics = require "blis.statistics"
local words = require "blis.statistics.words"

local windows = {}

local most_windows, least_windows, least_requests = 20, 5, 25
local draws = 999

---@class blis.Windows
---@field count integer
---@field requests integer of the traffic
---@field weights integer[][] how often each window is in a draw
---@field last? table the sample that was made last, and what of
local Windows = {}
Windows.__index = Windows
Windows.__name = "blis.windows"

--- Windows of equal numbers of requests, in the order of arrivals; nil when there are too few
--- requests to say anything.
---@param requests integer
---@return blis.Windows?
function windows.new(requests)
  local count = math.min(most_windows, requests // least_requests)
  if count < least_windows then return nil end
  local rng, weights = core.rng(42, "block bootstrap"), {}
  for b = 1, draws do
    local drawn = {}
    for k = 1, count do drawn[k] = 0 end
    for _ = 1, count do
      local k = rng:integer(count)
      drawn[k] = drawn[k] + 1
    end
    weights[b] = drawn
  end
  return setmetatable({ count = count, requests = requests, weights = weights }, Windows)
end

-- Contribution of a request to a metric in milliseconds: a field of its record.
local latencies = {
  ttft_ms = "ttft_us", e2e_ms = "e2e_us", scheduling_delay_ms = "scheduling_delay_us",
}

--- "steady.ttft_ms.p99" as "ttft_ms", "p99", true.
local function parts_of(metric)
  local rest = metric:match "^steady%.(.*)$"
  local name, statistic = (rest or metric):match "^([%w_]+)%.([%w_]+)$"
  local is_known = latencies[name] and (statistic == "mean" or statistic:match "^p%d%d$")
  if is_known then return name, statistic, rest ~= nil end
end

-- A time and its window are one integer, so that they are sorted fast: the window is below this.
local packed = 64
-- Number of values between two stored window indexes.
local stride = 64

--- How many of the first stride, 2 * stride, ... times are of each window.
local function counted(self, list)
  local rows, counts = {}, {}
  for k = 1, self.count do counts[k] = 0 end
  for i, item in ipairs(list) do
    local k = item % packed
    counts[k] = counts[k] + 1
    if i % stride == 0 or i == #list then
      rows[#rows + 1] = table.move(counts, 1, self.count, 1, {})
    end
  end
  return rows
end

---@class blis.windows.Sample
---@field list integer[] times and windows, the longest time first
---@field rows integer[][] see counted
---@field sums number[] of the times of each window, ms
---@field counts integer[] of them

--- The times of a run by window. The last ones are cached, because several metrics use each time.
---@return blis.windows.Sample
local function sample_of(self, result, name, from_us)
  local last = self.last
  if last and last.result == result and last.name == name and last.from_us == from_us then
    return last.sample
  end
  local field, list, sums, counts = latencies[name], {}, {}, {}
  for k = 1, self.count do sums[k], counts[k] = 0.0, 0 end
  local requests = result.requests
  local n = #requests
  for i = 1, n do
    local record = requests[i]
    local time_us = record.arrival_us >= from_us and record.was_counted and record[field]
    if time_us then
      local k = (i - 1) * self.count // n + 1
      list[#list + 1] = k - time_us * packed
      sums[k], counts[k] = sums[k] + time_us / 1000, counts[k] + 1
    end
  end
  table.sort(list)
  local sample = { list = list, rows = counted(self, list), sums = sums, counts = counts }
  self.last = { result = result, name = name, from_us = from_us, sample = sample }
  return sample
end

local function weighted(values, weights)
  local sum = 0
  for k, weight in ipairs(weights) do sum = sum + weight * values[k] end
  return sum
end

--- The metric of one draw; nil if no request counts.
local function figure_of(sample, statistic, weights)
  local total = weighted(sample.counts, weights)
  if total == 0 then return nil end
  if statistic == "mean" then return weighted(sample.sums, weights) / total end
  local above = (1 - tonumber(statistic:sub(2)) / 100) * (total - 1)
  local list, rows = sample.list, sample.rows
  local low, high = 1, #rows -- the first row with more than above
  while low < high do
    local middle = (low + high) // 2
    if weighted(rows[middle], weights) > above then high = middle else low = middle + 1 end
  end
  local seen = low > 1 and weighted(rows[low - 1], weights) or 0
  for i = (low - 1) * stride + 1, #list do
    local k = list[i] % packed
    seen = seen + weights[k]
    if seen > above then return (k - list[i]) // packed / 1000 end
  end
end

--- The metric of every draw; nil for a metric that is not computed from requests.
---@param result blis.Result
---@param metric string
---@return number[]?
function Windows:figures(result, metric)
  local name, statistic, is_steady = parts_of(metric)
  if not name or not result.keeps_records then return nil end
  local sample = sample_of(self, result, name, is_steady and result.steady.from_us or 0)
  local figures = {}
  for b, weights in ipairs(self.weights) do
    figures[b] = figure_of(sample, statistic, weights)
    if not figures[b] then return nil end
  end
  return figures
end

local function ends(list, level)
  return statistics.quantile(list, (1 - level) / 2), statistics.quantile(list, (1 + level) / 2)
end

-- Maximum relative error of a draw, because its percentile is not interpolated between requests.
local tolerance = 0.001

--- The ends of an interval; nil if they do not enclose the metric. This happens if few requests
--- determine a high percentile; the draws then contain no information about it.
local function interval(list, level, value, scale)
  local low, high = ends(list, level)
  local slack = tolerance * scale
  if value >= low - slack and value <= high + slack then return low, high end
end

--- A metric of a run with its interval; without an interval if figures is nil.
---@param value number of the run
---@param figures number[]? of the draws
---@param level number
---@return blis.Estimate
function Windows:estimate(value, figures, level)
  local estimate = { n = 1, mean = value, level = level, windows = self.count }
  if figures then
    estimate.low, estimate.high = interval(figures, level, value, math.abs(value))
    estimate.half_width = estimate.low and (estimate.high - estimate.low) / 2
  end
  return words.estimate(estimate)
end

-- The outer part of an interval, as a share of its length, in which an estimate is at its edge.
local edge = 0.1

--- The median of the draws of a pair, if the estimate is at an edge of its interval; nil otherwise.
--- High percentiles of few requests have such skewed draws.
local function median_if_skewed(pair, changes)
  local length = pair.high - pair.low
  local place = length > 0 and (pair.change - pair.low) / length or 0.5
  if place >= edge and place <= 1 - edge then return nil end
  return statistics.quantile(changes, 0.5)
end

--- Run b against run a of the same traffic: the change and its interval. Without windows,
--- windows:paired, there is no interval.
---@param a { value: number, figures: number[]? }
---@param b { value: number, figures: number[]? }
---@param options { level: number, kind?: "difference", comparisons?: integer how many there are,
--- for which is_shown allows }
---@return blis.PairedEstimate
function windows:paired(a, b, options)
  local level = options.level
  local kind = options.kind or (a.value > 0 and b.value > 0 and "ratio" or "difference")
  local function change(x, y) return kind == "ratio" and y / x - 1 or y - x end
  local pair = { n = 1, windows = self.count, kind = kind, level = level, mean_a = a.value,
    mean_b = b.value, change = change(a.value, b.value) }
  local changes = {}
  if a.figures and b.figures then
    for i, x in ipairs(a.figures) do changes[i] = change(x, b.figures[i]) end
    local scale = kind == "ratio" and 1 or math.max(math.abs(a.value), math.abs(b.value))
    pair.low, pair.high = interval(changes, level, pair.change, scale)
  end
  if pair.low then
    pair.median = median_if_skewed(pair, changes)
    local low, high = ends(changes, 1 - (1 - level) / (options.comparisons or 1))
    pair.is_shown = low > 0 or high < 0
  end
  return words.paired(pair)
end

Windows.paired = windows.paired

--- "block bootstrap over 20 windows"
function Windows:__tostring()
  return ("block bootstrap over %d windows"):format(self.count)
end

return windows
