--- Pictures of results and comparisons: which charts there are by name, and drawing them.
local cdf = require "blis.charts.cdf"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local happenings = require "blis.charts.happenings"
local latency_course = require "blis.charts.latency_course"
local over_time = require "blis.charts.over_time"
local plot = require "blis.plot"
local ranges = require "blis.charts.ranges"
local report = require "blis.results.report"

local charts = {}

---@class blis.ResultPlotOptions: blis.PlotOptions
---@field show? string|string[] charts of a result. Default: "latencies", which includes "ttft",
--- "itl", and "e2e" (fraction of the requests within a time). "tails": the fraction above a time,
--- on a logarithmic axis. "time" includes all charts over
--- time: "rates", "queue", "batch", "kv" (requires series_interval_us), "tiers", "lora",
--- "transfers", "gateway" (these four also require kv_tiers, lora, pools, or queue), "replicas"
--- (requires an autoscaler, faults, or spot capacity), and "price" (requires spot capacity with a
--- variable price). "ttft_time", "itl_time", and "e2e_time" show p50 and p99 by time of arrival,
--- and "attainment" the share of requests within their targets. Charts of several policies:
--- "latencies", "ttft", "itl", "e2e", "time" (waiting and running requests), and any metric, such
--- as "ttft_ms.p99". Metrics of requests have intervals
---@field columns? integer charts of a file side by side

---@class blis.ComparisonPlotOptions: blis.PlotOptions
---@field show? string|string[] "differences" from the baseline with intervals, "means" with
--- intervals (the default), both for all metrics of the report; or metrics such as "ttft_ms.p99"
---@field columns? integer charts of a file side by side

--- The requested names, as a list.
local function names_of(show, usual)
  if show == nil then show = usual end
  if type(show) == "string" then return { show } end
  if type(show) ~= "table" or #show == 0 then
    errors.invalid("plot: show: %s: expected a name or a list of names",
      errors.invalid_value(show))
  end
  return show
end

local function has(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

local function fail_unknown(name, known)
  errors.invalid("plot: show: %s%s", errors.invalid_value(name),
    figures.suggestion(tostring(name), known, "expected one of " .. table.concat(known, ", ")))
end

-- The requirement of a chart, as an option of the experiment.
local missing = {
  kv = "series_interval_us", tiers = "series_interval_us and kv_tiers",
  lora = "series_interval_us and cluster.lora",
  transfers = "series_interval_us and pools", gateway = "series_interval_us and a queue",
  replicas = "an autoscaler, faults or spot capacity",
  price = "spot capacity whose price changes",
}

--- Why there is no chart of that name.
local function fail_missing(name)
  local needs = missing[name] and ("requires %s in the experiment"):format(missing[name])
    or "requires records of completed requests, but there are none"
  errors.invalid("plot: show: '%s' %s", name, needs)
end

local function options_of(options)
  options = plot.check_options(options, { "show", "columns" })
  local columns = options.columns
  if columns ~= nil and (math.type(columns) ~= "integer" or columns < 1 or columns > 12) then
    errors.invalid("plot: columns: %s: expected an integer from 1 to 12",
      errors.invalid_value(columns))
  end
  return options
end

--- The charts of all names; of(name) returns the charts of one name.
local function drawn(options, usual, of)
  local list = {}
  for _, name in ipairs(names_of(options.show, usual)) do
    local some = of(name)
    if #some == 0 then fail_missing(name) end
    table.move(some, 1, #some, #list + 1, list)
  end
  return plot.draw(list, options)
end

-- Valid names for one result; the last two produce several charts.
local of_one = {}
for _, names in ipairs { cdf.names, over_time.names, latency_course.names,
  { "latencies", "tails", "time" } } do
  table.move(names, 1, #names, #of_one + 1, of_one)
end

--- Charts over time with the events of the run.
local function marked(r, list)
  local marks = happenings.of_result(r)
  for _, chart in ipairs(list) do chart.happenings = marks end
  return list
end

--- A picture of a run.
---@param r blis.Result
---@param options? blis.ResultPlotOptions
---@return string? text without a path
function charts.plot_result(r, options)
  options = options_of(options)
  return drawn(options, "latencies", function(name)
    if not has(of_one, name) then fail_unknown(name, of_one) end
    if name == "tails" then return cdf.tails(cdf.charts({ r }, { "" })) end
    if name == "time" then return marked(r, over_time.of_result(r)) end
    if has(over_time.names, name) then return marked(r, over_time.of_result(r, name)) end
    if has(latency_course.names, name) then return marked(r, latency_course.of_result(r, name)) end
    return cdf.charts({ r }, { "" }, name ~= "latencies" and name or nil)
  end)
end

--- A picture of runs of several policies.
---@param results blis.Result[]
---@param labels string[]
---@param options? blis.ResultPlotOptions
---@return string? text without a path
function charts.plot_results(results, labels, options)
  options = options_of(options)
  return drawn(options, "latencies", function(name)
    if name == "time" then return over_time.of_results(results, labels) end
    if name == "tails" then return cdf.tails(cdf.charts(results, labels)) end
    if name == "latencies" or has(cdf.names, name) then
      return cdf.charts(results, labels, name ~= "latencies" and name or nil)
    end
    local figure = type(name) == "string" and figures.find(name, results[1])
    if not figure or figure.type == "table" then
      local known = { "ttft", "itl", "e2e", "latencies", "tails", "time" }
      table.move(figures.paths "Result", 1, #figures.paths "Result", #known + 1, known)
      errors.invalid("plot: show: %s%s", errors.invalid_value(name),
        figures.suggestion(tostring(name), known,
          "expected ttft, itl, e2e, latencies, tails, time, or a metric such as ttft_ms.p99"))
    end
    return { ranges.of_results(results, labels, name) }
  end)
end

--- A picture of a comparison: all results of it under their names.
---@param results blis.Comparison
---@param options? blis.ResultPlotOptions
---@return string?
function charts.plot_comparison(results, options)
  return charts.plot_results(results, report.names(results), options)
end

--- A picture of a comparison over seeds.
---@param self blis.ReplicatedComparison
---@param options? blis.ComparisonPlotOptions
---@return string? text without a path
function charts.plot_replicated(self, options)
  options = options_of(options)
  local shown = self.table.shown
  return drawn(options, "means", function(name)
    local list = {}
    if name == "differences" then
      for _, metric in ipairs(shown) do list[#list + 1] = ranges.differences(self, metric) end
      if #list == 0 then
        errors.invalid("plot: show: 'differences' requires confidence intervals, but there are "
          .. "none")
      end
    elseif name == "means" then
      for i, metric in ipairs(shown) do
        list[i] = ranges.of_table(self.policies, self.table, metric)
      end
    elseif has(self.table.metrics, name) then
      list[1] = ranges.of_table(self.policies, self.table, name)
    else
      local known = table.move(self.table.metrics, 1, #self.table.metrics, 3,
        { "means", "differences" })
      fail_unknown(name, known)
    end
    return list
  end)
end

return charts
