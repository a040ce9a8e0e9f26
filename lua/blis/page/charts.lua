--- Charts of a page: what data/page/report.js is to draw, as data.
local core = require "blis.core"
local html = require "blis.page.html"

local charts = {}

---@class blis.page.Axis
---@field label string
---@field unit? string
---@field log? boolean
---@field percent? boolean values are shares
---@field from_zero? boolean
---@field range? number[] its two ends

---@class blis.page.Chart
---@field title string
---@field caption? string what it shows
---@field kind? "lines"|"heat" default lines
---@field x blis.page.Axis
---@field y blis.page.Axis
---@field series? { label: string, is_thin?: boolean }[] of lines
---@field data (number|false)[][] lines: x and a list per series, false = nothing; heat: a list
--- per row
---@field bands? { series: integer[], colour: integer }[] areas between two series
---@field marks? boolean points instead of a line alone
---@field steps? boolean a value lasts until the next one
---@field rows? string[] names of the rows of a heat map
---@field times? number[] of its columns

---@class blis.page.Charts
---@field list blis.page.Chart[]
local Charts = {}
Charts.__index = Charts

--- The charts of a page, none yet.
---@return blis.page.Charts
function charts.new()
  return setmetatable({ list = {} }, Charts)
end

--- Adds a chart; the element shows it.
---@param chart blis.page.Chart
---@return blis.page.Element
function Charts:add(chart)
  local list = self.list
  list[#list + 1] = chart
  local label = ("%s: %s over %s"):format(chart.title, chart.y.label, chart.x.label)
  return html.figure(html.h3(chart.title),
    html.div { class = "chart", role = "img", ["aria-label"] = label,
      ["data-chart"] = #list - 1 },
    chart.caption and html.figcaption(chart.caption) or {})
end

--- Charts beside each other.
---@param list blis.page.Element[]
---@return blis.page.Element
function charts.row(list)
  return html.div({ class = "charts" }, list)
end

local function write_axis(writer, name, axis)
  writer:object(name)
  for _, key in ipairs { "label", "unit", "log", "percent", "from_zero" } do
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

local function write_series(writer, list)
  writer:array "series"
  for _, one in ipairs(list) do
    writer:object():field("label", one.label)
    if one.is_thin then writer:field("is_thin", true) end
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
  if chart.series then write_series(writer, chart.series) end
  if chart.bands then write_bands(writer, chart.bands) end
  if chart.kind == "heat" then write_heat(writer, chart) end
  writer:array "data"
  for _, list in ipairs(chart.data) do write_numbers(writer, list) end
  writer:done():done()
end

--- All of them as JSON.
---@return string
function Charts:json()
  local writer = core.json_writer():array()
  for _, chart in ipairs(self.list) do write_chart(writer, chart) end
  return writer:done():take()
end

return charts
