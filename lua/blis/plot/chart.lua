--- Contents of a chart, without its appearance. Pages (blis.page), files, and terminals
--- (blis.plot) draw the same charts.

---@class blis.plot.Axis
---@field label string
---@field unit? string
---@field log? boolean
---@field percent? boolean values are shares
---@field from_zero? boolean
---@field whole? boolean nothing is between whole numbers
---@field range? number[] its two ends

---@class blis.plot.Series a line, or the rows of a chart of ranges
---@field label string
---@field low? (number|false)[] lower ends of intervals, where its values are
---@field high? (number|false)[] upper ends
---@field is_points? boolean nothing between its values

---@class blis.plot.Chart
---@field title string
---@field caption? string what the chart shows; ranges: what the lines show
---@field kind? "lines"|"heat"|"ranges" default lines
---@field x blis.plot.Axis of ranges: of their values
---@field y blis.plot.Axis ranges: title of the rows
---@field series? blis.plot.Series[] of lines; ranges have a single series
---@field data (number|false)[][] lines: x in ascending order and a list per series (false = no
--- value). Heat maps: a list per row. Ranges: a list of means
---@field marks? boolean points without a line
---@field dots? boolean these points are many, and small
---@field steps? boolean a value lasts until the next one
---@field rows? string[] names of the rows of a heat map or of ranges
---@field times? number[] of the columns of a heat map
---@field zero? boolean ranges: draw a line at 0, which means no change
---@field diagonal? boolean a line where x is y
---@field is_time? boolean pages: x is the time of the run; such charts share cursor and zoom
---@field happenings? blis.charts.Happening[] vertical lines at these times
---@field limits? blis.charts.Limit[] SLO targets as lines

local chart = {}

local function see(limits, value, is_log)
  if not value or value ~= value or math.abs(value) == math.huge then return end
  if is_log and value <= 0 then return end
  limits.low, limits.high = math.min(limits.low, value), math.max(limits.high, value)
end

--- The least and the greatest value on an axis, intervals included; nil without a value.
---@param given blis.plot.Chart
---@param key "x"|"y"
---@return number? low
---@return number? high
function chart.limits(given, key)
  local limits, is_log = { low = math.huge, high = -math.huge }, given[key].log
  local is_mean = given.kind == "ranges" and key == "x"
  local first, last = 1, 1
  if key == "y" then first, last = 2, #given.data end
  for i = first, last do
    for _, value in ipairs(given.data[i]) do see(limits, value, is_log) end
  end
  for _, one in ipairs((is_mean or key == "y") and given.series or {}) do
    for _, ends in ipairs { one.low or {}, one.high or {} } do
      for _, value in ipairs(ends) do see(limits, value, is_log) end
    end
  end
  if is_mean and given.zero then see(limits, 0) end
  if limits.low > limits.high then return nil end
  return limits.low, limits.high
end

local function are_equal(a, b)
  local has_any = false
  for k = 1, math.max(#a, #b) do
    if a[k] ~= b[k] then return false end
    has_any = has_any or a[k]
  end
  return has_any
end

-- More names are counted.
local most_named = 3

local function names_text(names, has_others)
  if not has_others and #names > most_named then return ("all %d lines coincide"):format(#names) end
  local last = #names > most_named and ("%d more"):format(#names - most_named) or names[#names]
  local first = table.concat(names, ", ", 1, math.min(#names - 1, most_named))
  return ("%s and %s coincide"):format(first, last)
end

--- "a and b coincide", for lines that cover each other; nil without such lines.
---@param given blis.plot.Chart
---@return string?
function chart.coinciding(given)
  if given.kind and given.kind ~= "lines" or given.marks then return nil end
  local texts, is_told = {}, {}
  for i, one in ipairs(given.series) do
    local names = { one.label }
    for k = i + 1, #given.series do
      local other = given.series[k]
      if not is_told[k] and not one.is_points and not other.is_points
        and are_equal(given.data[i + 1], given.data[k + 1]) then
        names[#names + 1], is_told[k] = other.label, true
      end
    end
    if #names > 1 and not is_told[i] then
      texts[#texts + 1] = names_text(names, #names < #given.series)
    end
  end
  return #texts > 0 and table.concat(texts, "; ") or nil
end

--- "TTFT (ms), logarithmic"
---@param axis blis.plot.Axis
---@return string
function chart.axis_title(axis)
  return axis.label .. (axis.unit and (" (%s)"):format(axis.unit) or "")
    .. (axis.log and ", logarithmic" or "")
end

return chart
