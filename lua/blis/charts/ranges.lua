--- Metrics of several policies side by side with intervals: values, and differences from the
--- baseline.
local figures = require "blis.results.figures"
local names = require "blis.results.metric_names"
local plot = require "blis.sweep.plot"
local statistics = require "blis.statistics"
local windows = require "blis.results.windows"

local ranges = {}

--- The unit of a metric, from its name; nil without a unit.
local function unit_of(metric)
  local figure = figures.find(metric)
  return figure and figure.unit or nil
end

local function chart_of(metric, caption, label, rows, list)
  local data, low, high = {}, {}, {}
  for i, one in ipairs(list) do
    data[i], low[i], high[i] = one.mean or false, one.low or false, one.high or false
  end
  return { title = names.title(metric), caption = caption, kind = "ranges", rows = rows,
    data = { data },
    series = { { label = label, low = low, high = high } },
    x = { label = label, unit = unit_of(metric) }, y = { label = "policies" } }
end

--- Means of a metric over seeds, with their intervals or, with few runs, their ranges.
---@param labels string[]
---@param found blis.SweepTable a point per label
---@param metric string
---@return blis.plot.Chart
function ranges.of_table(labels, found, metric)
  local list, caption = {}, nil
  for i, point in ipairs(found.points) do
    local estimate, low, high, is_range = point.metrics[metric], nil, nil, nil
    if estimate then low, high, is_range = plot.ends_of(estimate, point.values[metric]) end
    list[i] = { mean = estimate and estimate.mean, low = low, high = high }
    if estimate then
      caption = is_range and "mean and range of the runs"
        or ("mean and %g %% interval"):format(found.level * 100)
    end
  end
  return chart_of(metric, caption, names.title(metric), labels, list)
end

-- Resampling takes too long for more requests than this.
local most_for_intervals = 100000

--- A metric of single runs. Intervals cover similar traffic, if records were kept and the metric is
--- based on requests.
---@param results blis.Result[]
---@param labels string[]
---@param metric string
---@return blis.plot.Chart
function ranges.of_results(results, labels, metric)
  local list, has_intervals = {}, false
  for i, result in ipairs(results) do
    local _, value = figures.find(metric, result)
    value = type(value) == "number" and value or nil
    local count = result.keeps_records and #result.requests or 0
    local drawn = value and count <= most_for_intervals and windows.new(count) or nil
    list[i] = drawn and drawn:estimate(value, drawn:figures(result, metric), 0.95)
      or { mean = value, n = 1 }
    has_intervals = has_intervals or list[i].low ~= nil
  end
  local caption = has_intervals and "with 95 % intervals for similar traffic"
    or "one run each; intervals of this metric require replications"
  return chart_of(metric, caption, names.title(metric), labels, list)
end

--- The ends of a change: of its interval, or of its pairs if there are too few for an interval; and
--- whether it is a range of pairs.
local function ends_of(pair)
  if statistics.is_few(pair) then return pair.least, pair.most, true end
  return pair.low, pair.high, false
end

--- Changes of a metric from the baseline (default: the first policy), with intervals or, with few
--- pairs, ranges; nil without either.
---@param self blis.ReplicatedComparison
---@param metric string
---@return blis.plot.Chart?
function ranges.differences(self, metric)
  local rows, list, kind, drawn = {}, {}, nil, nil
  for i, name in ipairs(self.policies) do
    local pair = self.against[i] and self.against[i][metric]
    kind = kind or pair and pair.low and pair.kind
    if pair and pair.low and pair.change and pair.kind == kind then -- others have another unit
      local unit, low, high, is_range = kind == "ratio" and 100 or 1, ends_of(pair)
      rows[#rows + 1] = name
      list[#list + 1] = { mean = pair.change * unit, low = low * unit, high = high * unit }
      drawn = is_range and ("the range of the %d pairs"):format(pair.n)
        or ("%g %% intervals"):format(self.level * 100)
    end
  end
  if #list == 0 then return nil end
  local base = self.policies[self.baseline]
  local chart = chart_of(metric, ("change against %s, with %s"):format(base, drawn),
    "change of " .. names.title(metric), rows, list)
  if kind == "ratio" then chart.x.unit = "%" end
  chart.zero = true
  return chart
end

return ranges
