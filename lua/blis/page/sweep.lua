--- The page of a sweep: its table, figures over parameters, and what is better than all else.
local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local figures = require "blis.results.figures"
local html = require "blis.page.html"
local origin = require "blis.page.origin"
local parts = require "blis.page.parts"
local plot = require "blis.sweep.plot"

local page = {}

--- Means and intervals of all points.
---@param self blis.SweepTable
---@return blis.page.Element
function page.table(self)
  local rows = {}
  for i, point in ipairs(self.points) do
    rows[i] = { point.name, ("%d of %d"):format(point.n, point.wanted) }
    for _, metric in ipairs(self.shown) do
      local estimate = point.metrics[metric]
      local decimals = estimate and estimate.mean and math.abs(estimate.mean) < 10 and 4 or 1
      table.insert(rows[i], parts.estimate(estimate, decimals))
    end
  end
  return parts.table(("Means, with %g %% intervals below them"):format(self.level * 100),
    { "point", "runs", table.unpack(self.shown) }, rows)
end

--- All points as JSON: parameters, runs, and every figure with its interval.
---@param self blis.SweepTable
---@return string
function page.json(self)
  local writer = core.json_writer(2):array()
  for _, point in ipairs(self.points) do
    writer:object():field("name", point.name):field("runs", point.n):object("metrics")
    for _, metric in ipairs(self.metrics) do
      local estimate = point.metrics[metric]
      if estimate and estimate.mean then
        writer:object(metric):field("mean", estimate.mean)
        if estimate.low then writer:field("low", estimate.low):field("high", estimate.high) end
        writer:done()
      end
    end
    writer:done():done()
  end
  return writer:done():take()
end

--- Series of a picture on a common x, with bands between the ends of intervals.
local function aligned(picture)
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
  local data, list, bands = { xs }, {}, {}
  local function add(label, series, field, is_thin)
    local values = {}
    for i = 1, #xs do values[i] = false end
    for _, point in ipairs(series.points) do values[place[point.x]] = point[field] or point.y end
    data[#data + 1] = values
    list[#list + 1] = { label = label, is_thin = is_thin }
  end
  for _, series in ipairs(picture.series) do add(series.name, series, "y") end
  for i, series in ipairs(picture.series) do
    local name = series.name == "" and picture.y or series.name
    list[i].label = name
    add(name .. ", upper end", series, "high", true)
    add(name .. ", lower end", series, "low", true)
    bands[#bands + 1] = { series = { #list - 1, #list }, colour = i - 1 }
  end
  return data, list, bands
end

--- Each figure over the last parameter that is a number; nothing without such a parameter.
local function curves(chart_list, self)
  local row = {}
  for _, metric in ipairs(self.shown) do
    local ok, picture = pcall(plot.series, self, { y = metric })
    if not ok then return {} end
    local data, series, bands = aligned(picture)
    row[#row + 1] = chart_list:add {
      title = metric, x = { label = picture.x }, y = { label = metric }, series = series,
      data = data, bands = bands,
    }
  end
  return charts.row(row)
end

--- 1 when more is better, -1 when less is, nil when nobody can say.
local function direction_of(metric)
  local figure = figures.find(metric)
  return figure and (figure.better == "more" and 1 or figure.better == "less" and -1) or nil
end

local function mean_of(point, metric)
  local estimate = point.metrics[metric]
  return estimate and estimate.mean
end

--- True when another point is at least as good in both figures and better in one.
local function is_beaten(points, one, a, b, sign_a, sign_b)
  local x, y = sign_a * mean_of(one, a), sign_b * mean_of(one, b)
  for _, other in ipairs(points) do
    local u, v = sign_a * mean_of(other, a), sign_b * mean_of(other, b)
    if u >= x and v >= y and (u > x or v > y) then return true end
  end
  return false
end

--- The points with both figures, and those of them that none beats.
---@param self blis.SweepTable
---@param a string
---@param b string
---@return blis.sweep.PointResult[] all
---@return blis.sweep.PointResult[] front in the order of a
function page.front(self, a, b)
  local all, front, sign_a, sign_b = {}, {}, direction_of(a), direction_of(b)
  for _, point in ipairs(self.points) do
    if mean_of(point, a) and mean_of(point, b) then all[#all + 1] = point end
  end
  for _, point in ipairs(all) do
    if not is_beaten(all, point, a, b, sign_a, sign_b) then front[#front + 1] = point end
  end
  table.sort(front, function(p, q) return mean_of(p, a) < mean_of(q, a) end)
  return all, front
end

--- The first two figures of which somebody can say what is better.
local function judged_pair(self)
  local found = {}
  for _, metric in ipairs(self.shown) do
    if direction_of(metric) then found[#found + 1] = metric end
  end
  return found[1], found[2]
end

local function front_section(chart_list, self)
  local a, b = judged_pair(self)
  if not b then return nil end
  local all, front = page.front(self, a, b)
  if #all < 2 then return nil end
  table.sort(all, function(p, q) return mean_of(p, a) < mean_of(q, a) end)
  local is_front, data, rows = {}, { {}, {}, {} }, {}
  for i, point in ipairs(front) do
    is_front[point] = true
    rows[i] = { point.name, parts.estimate(point.metrics[a], 2),
      parts.estimate(point.metrics[b], 2) }
  end
  for i, point in ipairs(all) do
    data[1][i] = mean_of(point, a)
    data[2][i] = is_front[point] and mean_of(point, b) or false
    data[3][i] = not is_front[point] and mean_of(point, b)
  end
  return parts.section("front", "What nothing else beats",
    chart_list:add { title = ("%s against %s"):format(b, a), x = { label = a }, y = { label = b },
      marks = true, data = data, series = { { label = "not beaten" }, { label = "others" } } },
    parts.table("Points that no other is at least as good as in both figures (means alone)",
      { "point", a, b }, rows))
end

local function failures_section(self)
  if #self.failures == 0 and self.missing == 0 then return nil end
  local rows = {}
  for i, failure in ipairs(self.failures) do
    rows[i] = { failure.name, failure.status, failure.reason or "" }
  end
  return parts.section("failures", "Failed and missing",
    html.p(("%d trials are missing."):format(self.missing)),
    #rows > 0 and parts.table("Failed trials", { "trial", "how", "why" }, rows,
      { [2] = true, [3] = true }) or {})
end

--- Writes the page of a sweep.
---@param path string
---@param self blis.SweepTable
function page.write(path, self)
  local chart_list, title = charts.new(), ("Sweep %s"):format(self.name)
  local sections = {
    parts.section("points", "Points", page.table(self), origin.element()),
    parts.section("curves", "Over parameters", curves(chart_list, self)),
  }
  sections[#sections + 1] = front_section(chart_list, self)
  sections[#sections + 1] = failures_section(self)
  sections[#sections + 1] = parts.figures "points-json"
  document.write(path, {
    title = title, styles = { "uplot.css", "report.css" }, scripts = { "uplot.js", "report.js" },
    body = { html.header(html.h1(title), html.p({ class = "soft" }, origin.line()),
      parts.navigation(sections)), sections },
    data = { charts = chart_list:json(), ["points-json"] = page.json(self) },
  })
end

return page
