--- Metrics over a parameter: data of charts, and files for gnuplot.
local errors = require "blis.errors"
local plan = require "blis.sweep.plan"
local statistics = require "blis.statistics"

local plot = {}

---@class blis.sweep.Series
---@field name string the other parameters
---@field points { x: number, y: number, low: number?, high: number? }[]

---@class blis.sweep.Plot
---@field x string
---@field y string
---@field series blis.sweep.Series[]
---@field has_ranges boolean low and high of some points are ranges of a few runs, not intervals
---@field log string axes that are logarithmic: "", "x", "y" or "xy"

local function is_numeric(self, name)
  for _, point in ipairs(self.points) do
    if type(point.parameters[name]) ~= "number" then return false end
  end
  return true
end

local function x_axis(self, given)
  local numeric = {}
  for _, name in ipairs(self.parameters) do
    if is_numeric(self, name) then
      if name == given then return name end
      numeric[#numeric + 1] = name
    end
  end
  if #numeric == 0 then
    errors.invalid("plot: no parameter has numbers at all points, so there is nothing to plot over")
  elseif given then
    errors.invalid("plot: x: %s is not a parameter with numbers at all points%s",
      errors.show(given), errors.suggestion(tostring(given), numeric))
  end
  return numeric[#numeric]
end

local function series_name(self, point, x)
  local parts = {}
  for _, name in ipairs(self.parameters) do
    if name ~= x and point.parameters[name] ~= nil then
      parts[#parts + 1] = name .. "=" .. plan.label_text(point.parameters[name])
    end
  end
  return table.concat(parts, " ")
end

--- Raises for a logarithmic axis with numbers that have no logarithm.
local function check_logs(picture)
  for _, series in ipairs(picture.series) do
    for _, point in ipairs(series.points) do
      for axis in picture.log:gmatch "." do
        if point[axis] <= 0 then
          errors.invalid("plot: log: %s is %g at a point, but must be above 0",
            picture[axis], point[axis])
        end
      end
    end
  end
end

--- The ends of what a point may be: of its interval, or of its runs when these are too few for one.
---@param estimate blis.Estimate
---@param values number[] of the runs
---@return number? low
---@return number? high
---@return boolean is_range of the runs
function plot.ends_of(estimate, values)
  if statistics.is_few(estimate) then
    return math.min(table.unpack(values)), math.max(table.unpack(values)), true
  end
  return estimate.low, estimate.high, false
end

--- The data of the chart, in the order of the points.
---@param self blis.SweepTable
---@param options blis.sweep.PlotOptions
---@return blis.sweep.Plot
function plot.series(self, options)
  local x, y = x_axis(self, options.x), options.y or self.shown[1]
  if not y then errors.invalid("plot: no metrics yet") end
  self:check_metric(y)
  local list, by_name, has_ranges = {}, {}, false
  for _, point in ipairs(self.points) do
    local estimate = point.metrics[y]
    if estimate then
      local name = series_name(self, point, x)
      if not by_name[name] then
        by_name[name] = { name = name, points = {} }
        list[#list + 1] = by_name[name]
      end
      local low, high, is_range = plot.ends_of(estimate, point.values[y])
      has_ranges = has_ranges or is_range
      table.insert(by_name[name].points,
        { x = point.parameters[x], y = estimate.mean, low = low, high = high })
    end
  end
  local picture = { x = x, y = y, series = list, log = options.log or "",
    has_ranges = has_ranges }
  check_logs(picture)
  return picture
end

local function quoted(text)
  return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

--- The data and the script for gnuplot.
---@param picture blis.sweep.Plot
---@param stem string of the names of the files
---@param level number
---@return string data
---@return string script
function plot.gnuplot(picture, stem, level)
  local data, plots = {}, {}
  local file = stem:match("[^/]*$") .. ".dat"
  for i, series in ipairs(picture.series) do
    local name = series.name == "" and picture.y or series.name
    data[#data + 1] = ("# %s: %s, %s, low, high"):format(name, picture.x, picture.y)
    for _, point in ipairs(series.points) do
      data[#data + 1] = ("%.17g %.17g %.17g %.17g"):format(point.x, point.y, point.low or point.y,
        point.high or point.y)
    end
    data[#data + 1] = "\n"
    plots[i] = ("  %s index %d using 1:2:3:4 with yerrorlines title %s"):format(quoted(file), i - 1,
      quoted(name))
  end
  local bars = picture.has_ranges and "the range of their runs"
    or ("%g %% intervals"):format(level * 100)
  local script = ("# means and %s; run it in its own folder: gnuplot -p FILE\n"
    .. "set xlabel %s noenhanced\nset ylabel %s noenhanced\nset key outside noenhanced\n"
    .. "set grid\n%splot \\\n%s\n"):format(bars, quoted(picture.x), quoted(picture.y),
    picture.log == "" and "" or ("set logscale %s\n"):format(picture.log),
    table.concat(plots, ", \\\n"))
  return table.concat(data, "\n"), script
end

return plot
