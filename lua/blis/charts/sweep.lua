--- Charts of sweeps: metrics over a parameter, and the Pareto front of two metrics.
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local names = require "blis.results.metric_names"
local plot = require "blis.sweep.plot"

local sweep = {}

--- The x of all series in ascending order, and the place of each.
local function common_x(picture)
  local xs, place = {}, {}
  for _, series in ipairs(picture.series) do
    for _, point in ipairs(series.points) do
      if not place[point.x] then
        xs[#xs + 1] = point.x
        place[point.x] = true
      end
    end
  end
  table.sort(xs)
  for i, x in ipairs(xs) do place[x] = i end
  return xs, place
end

local function are_whole(xs)
  for _, x in ipairs(xs) do
    if math.type(x) ~= "integer" then return false end
  end
  return true
end

--- A metric over a parameter, with intervals; one line per combination of the other parameters.
---@param self blis.SweepTable
---@param options blis.sweep.PlotOptions
---@return blis.plot.Chart
function sweep.curve(self, options)
  local picture = plot.series(self, options)
  local xs, place = common_x(picture)
  local chart = { title = ("%s over %s"):format(names.title(picture.y), picture.x), series = {},
    data = { xs },
    x = { label = picture.x, log = picture.log:find("x", 1, true) ~= nil, whole = are_whole(xs) },
    y = { label = picture.y, log = picture.log:find("y", 1, true) ~= nil } }
  names.put_on(chart.y, picture.y)
  chart.y.percent = names.is_share(picture.y) or nil
  for i, one in ipairs(picture.series) do
    local values, low, high = {}, {}, {}
    for k = 1, #xs do values[k], low[k], high[k] = false, false, false end
    for _, point in ipairs(one.points) do
      local k = place[point.x]
      values[k], low[k], high[k] = point.y, point.low or point.y, point.high or point.y
    end
    chart.data[i + 1] = values
    chart.series[i] = { label = one.name == "" and names.title(picture.y) or one.name, low = low,
      high = high }
  end
  return chart
end

local function mean_of(point, metric)
  local estimate = point.metrics[metric]
  return estimate and estimate.mean
end

--- True if another point is at least as good in both metrics and better in one.
local function is_beaten(points, one, a, b, sign_a, sign_b)
  local x, y = sign_a * mean_of(one, a), sign_b * mean_of(one, b)
  for _, other in ipairs(points) do
    local u, v = sign_a * mean_of(other, a), sign_b * mean_of(other, b)
    if u >= x and v >= y and (u > x or v > y) then return true end
  end
  return false
end

--- The points with both metrics, and the Pareto-optimal points.
---@param self blis.SweepTable
---@param a string
---@param b string
---@return blis.sweep.PointResult[] all in the order of a
---@return blis.sweep.PointResult[] front in the order of a
function sweep.front_of(self, a, b)
  local all, front, sign_a, sign_b = {}, {}, figures.direction(a), figures.direction(b)
  for _, point in ipairs(self.points) do
    if mean_of(point, a) and mean_of(point, b) then all[#all + 1] = point end
  end
  for _, point in ipairs(all) do
    if not is_beaten(all, point, a, b, sign_a, sign_b) then front[#front + 1] = point end
  end
  local function by_a(p, q)
    local x, y = mean_of(p, a), mean_of(q, a)
    if x ~= y then return x < y end
    return p.name < q.name
  end
  table.sort(all, by_a)
  table.sort(front, by_a)
  return all, front
end

local function is_cost(metric) return metric:find "^cost%." ~= nil end

--- Two metrics with a defined direction: the first one, and one that is traded for it, which has
--- the other direction or is a cost; without such a metric, the second one.
---@param self blis.SweepTable
---@return string? a
---@return string? b
function sweep.judged_pair(self)
  local found, traded = {}, nil
  for _, metric in ipairs(self.shown) do
    local direction = figures.direction(metric)
    if direction then
      found[#found + 1] = metric
      local differs = direction ~= figures.direction(found[1])
        or is_cost(metric) ~= is_cost(found[1])
      traded = traded or #found > 1 and differs and metric or nil
    end
  end
  return found[1], traded or found[2]
end

--- Adds the title and the axes of metric b over metric a.
local function named(chart, a, b)
  chart.title = ("%s against %s"):format(names.title(b), names.title(a))
  chart.x, chart.y = { label = a }, { label = b }
  names.put_on(chart.x, a)
  names.put_on(chart.y, b)
  chart.x.percent, chart.y.percent = names.is_share(a) or nil, names.is_share(b) or nil
  return chart
end

--- One metric over another.
---@param all blis.sweep.PointResult[] in the order of a
---@param front blis.sweep.PointResult[] the Pareto-optimal points
---@param a string
---@param b string
---@return blis.plot.Chart
function sweep.front(all, front, a, b)
  local is_front, data = {}, { {}, {}, {} }
  for _, point in ipairs(front) do is_front[point] = true end
  for i, point in ipairs(all) do
    data[1][i] = mean_of(point, a)
    data[2][i] = is_front[point] and mean_of(point, b) or false
    data[3][i] = not is_front[point] and mean_of(point, b)
  end
  return named({ marks = true, data = data,
    series = { { label = "Pareto-optimal" }, { label = "others" } } }, a, b)
end

--- The fronts of several loads, a line of points for each.
---@param fronts { name: string, points: blis.sweep.PointResult[] }[] in the order of a
---@param a string
---@param b string
---@return blis.plot.Chart
function sweep.fronts(fronts, a, b)
  local chart = named({ marks = true, data = { {} }, series = {} }, a, b)
  local all = {}
  for i, front in ipairs(fronts) do
    chart.series[i], chart.data[i + 1] = { label = front.name }, {}
    for _, point in ipairs(front.points) do all[#all + 1] = { point = point, front = i } end
  end
  table.sort(all, function(p, q)
    local x, y = mean_of(p.point, a), mean_of(q.point, a)
    if x ~= y then return x < y end
    return p.front < q.front or p.front == q.front and p.point.name < q.point.name
  end)
  for k, one in ipairs(all) do
    chart.data[1][k] = mean_of(one.point, a)
    for i = 1, #fronts do
      chart.data[i + 1][k] = i == one.front and mean_of(one.point, b)
    end
  end
  return chart
end

--- The chart of a requested front; raises if it cannot be drawn.
---@param self blis.SweepTable
---@param options blis.sweep.PlotOptions
---@return blis.plot.Chart
function sweep.asked_front(self, options)
  local a, b = options.x, options.y
  if not a or not b then
    local first, second = sweep.judged_pair(self)
    a = a or (first ~= b and first or second)
    b = b or (second ~= a and second or first)
  end
  if not a or not b or a == b then
    errors.invalid("plot: a front requires two metrics with a defined direction: x and y")
  end
  for _, metric in ipairs { a, b } do
    self:check_metric(metric)
    if not figures.direction(metric) then
      errors.invalid("plot: cannot draw a Pareto front: '%s' has no defined direction", metric)
    end
  end
  local all, front = sweep.front_of(self, a, b)
  return sweep.front(all, front, a, b)
end

return sweep
