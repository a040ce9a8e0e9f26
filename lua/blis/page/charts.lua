--- Charts of a page: what data/page/report.js is to draw, as data.
local chart_of = require "blis.plot.chart"
local core = require "blis.core"
local html = require "blis.page.html"
local markup = require "blis.markup"
local parts = require "blis.page.parts"
local shapes = require "blis.plot.shapes"

local charts = {}

---@class blis.page.Charts
---@field list blis.plot.Chart[]
local Charts = {}
Charts.__index = Charts

--- The charts of a page, none yet.
---@return blis.page.Charts
function charts.new()
  return setmetatable({ list = {} }, Charts)
end

-- Charts with more lines are described by their number of lines.
local most_told = 8

--- "arrived 12 to 80": a line's minimum and maximum; nil for an empty line.
local function ends_text(axis, label, values)
  local low, high = math.huge, -math.huge
  for _, value in ipairs(values) do
    if value and value == value then low, high = math.min(low, value), math.max(high, value) end
  end
  if low > high then return nil end
  local factor, unit = axis.percent and 100 or 1, axis.percent and " %" or ""
  return ("%s %.4g to %.4g%s"):format(label, low * factor, high * factor, unit)
end

--- Text alternative of a chart.
local function text_of(chart)
  local axes = ("%s: %s over %s"):format(chart.title, chart_of.axis_title(chart.y),
    chart_of.axis_title(chart.x))
  local rows, first = chart.data, 0
  if chart.kind ~= "heat" then first = 1 end
  local words = {}
  for i = 1, math.min(#rows - first, most_told) do
    local label = chart.kind == "heat" and chart.rows[i] or chart.series[i].label
    words[#words + 1] = ends_text(chart.y, label, rows[i + first])
  end
  for _, one in ipairs(chart.limits or {}) do words[#words + 1] = one.text end
  if #rows - first > most_told then words[#words + 1] = "and more" end
  return #words > 0 and ("%s. %s"):format(axes, table.concat(words, ", ")) or axes
end

--- The caption below a chart; names of lines may be long.
local function caption_of(chart)
  local same = chart_of.coinciding(chart)
  if not chart.caption and not same then return {} end
  return html.figcaption(chart.caption or {}, chart.caption and same and " " or {},
    same and parts.breakable(same .. ".") or {})
end

--- Adds a chart; the element shows it.
---@param chart blis.plot.Chart
---@return blis.page.Element
function Charts:add(chart)
  local list = self.list
  list[#list + 1] = chart
  local label = text_of(chart)
  return html.figure(html.h3(chart.title),
    html.div { class = "chart", role = "img", ["aria-label"] = label,
      ["data-chart"] = #list - 1 },
    caption_of(chart))
end

--- Charts side by side; nothing for an empty list.
---@param list blis.plot.Chart[]
---@return any
function Charts:row(list)
  local elements = {}
  for i, chart in ipairs(list) do elements[i] = self:add(chart) end
  return #elements > 0 and html.div({ class = "charts" }, elements) or {}
end

local function write_axis(writer, name, axis)
  writer:object(name)
  for _, key in ipairs { "label", "unit", "log", "percent", "from_zero", "whole" } do
    if axis[key] ~= nil then writer:field(key, axis[key]) end
  end
  if axis.range then
    writer:array("range"):item(axis.range[1]):item(axis.range[2]):done()
  end
  writer:done()
end

--- Six digits are more than a picture shows.
local function short(value)
  if math.type(value) == "integer" then return value end
  return tonumber(("%.6g"):format(value))
end

local function write_numbers(writer, list)
  writer:array()
  for _, value in ipairs(list) do
    local is_number = value and value == value and math.abs(value) ~= math.huge
    writer:item(is_number and short(value) or core.json_null)
  end
  writer:done()
end

--- The lines of a chart, followed by the ends of their intervals (thin, same colors) and the areas
--- between.
local function lines_of(chart)
  local list, data, bands = {}, { chart.data[1] }, {}
  local function add(series, values)
    list[#list + 1], data[#data + 1] = series, values
  end
  for i, one in ipairs(chart.series) do
    add({ label = one.label, is_points = one.is_points }, chart.data[i + 1])
  end
  for i, one in ipairs(chart.series) do
    if one.low then
      add({ label = one.label .. ", upper end", is_thin = true, colour = i - 1 }, one.high)
      add({ label = one.label .. ", lower end", is_thin = true, colour = i - 1 }, one.low)
      bands[#bands + 1] = { series = { #list - 1, #list }, colour = i - 1 }
    end
  end
  return list, data, bands
end

local function write_series(writer, list)
  writer:array "series"
  for i, one in ipairs(list) do
    writer:object():field("label", one.label)
    if one.is_thin then writer:field("is_thin", true) end
    if one.is_points then writer:field("is_points", true) end
    if one.colour then writer:field("colour", one.colour) end
    local dashes = one.is_thin and {} or shapes.dashes(i)
    if #dashes > 0 then
      writer:array "dashes"
      for _, length in ipairs(dashes) do writer:item(length) end
      writer:done()
    end
    writer:done()
  end
  writer:done()
end

local function write_bands(writer, bands)
  writer:array "bands"
  for _, band in ipairs(bands) do
    writer:object():field("colour", band.colour):array("series")
    writer:item(band.series[1]):item(band.series[2]):done():done()
  end
  writer:done()
end

--- Events as vertical lines, and targets as lines across an axis.
local function write_marks(writer, chart)
  if chart.is_time then writer:field("is_time", true) end
  if #(chart.happenings or {}) > 0 then
    writer:array "happenings"
    for _, one in ipairs(chart.happenings) do
      writer:object():field("at", short(one.at))
      if one.mark then writer:field("mark", one.mark) end
      writer:done()
    end
    writer:done()
  end
  if chart.limits then
    writer:array "limits"
    for _, one in ipairs(chart.limits) do
      writer:object():field("axis", one.axis):field("at", short(one.at)):field("text", one.text)
        :done()
    end
    writer:done()
  end
end

local function most_of(data)
  local most = 0
  for _, row in ipairs(data) do
    for _, value in ipairs(row) do most = math.max(most, value or 0) end
  end
  return most
end

local function write_heat(writer, chart)
  writer:field("most", short(most_of(chart.data))):array("rows")
  for _, name in ipairs(chart.rows) do writer:item(name) end
  writer:done():array("times")
  for _, time in ipairs(chart.times) do writer:item(short(time)) end
  writer:done()
end

local function write_chart(writer, chart)
  writer:object():field("kind", chart.kind or "lines"):field("title", chart.title)
  write_axis(writer, "x", chart.x)
  write_axis(writer, "y", chart.y)
  if chart.marks then writer:field("marks", true) end
  if chart.steps then writer:field("steps", true) end
  write_marks(writer, chart)
  local data = chart.data
  if chart.kind == "heat" then
    write_heat(writer, chart)
  else
    local series, bands
    series, data, bands = lines_of(chart)
    write_series(writer, series)
    if #bands > 0 then write_bands(writer, bands) end
  end
  writer:array "data"
  for _, list in ipairs(data) do write_numbers(writer, list) end
  writer:done():done()
end

--- The charts as JSON, with strings as displayed.
---@return string
function Charts:json()
  local writer = core.json_writer():array()
  for _, chart in ipairs(self.list) do write_chart(writer, chart) end
  return markup.without_bidi_controls(writer:done():take())
end

return charts
