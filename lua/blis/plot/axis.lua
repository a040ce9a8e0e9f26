--- Axes: where values lie between two ends, and which numbers are written at them.
local chart = require "blis.plot.chart"
local format = require "blis.format"

local axis = {}

---@class blis.plot.Scale
---@field low number
---@field high number
---@field is_log boolean
---@field ticks number[] ascending, all between the ends
---@field texts string[] labels of the ticks
---@field title string
local Scale = {}
Scale.__index = Scale

--- The least of 1, 2, 2.5 and 5 times a power of ten that is not below x > 0.
local function nice_step(x)
  local power = 10.0 ^ math.floor(math.log(x, 10))
  for _, digit in ipairs { 1, 2, 2.5, 5 } do
    if digit * power >= x * (1 - 1e-9) then return digit * power end
  end
  return 10 * power
end

local large = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" } }

--- A number as short as it can be read: "0.05", "12,500", "2.5M".
---@param value number
---@param step? number distance to the next number; the text must differ from that number's text
---@return string
function axis.number(value, step)
  local size = math.max(math.abs(value), step or 0)
  for _, one in ipairs(large) do
    if size >= one[1] then
      return axis.number(value / one[1], step and step / one[1]) .. (value == 0 and "" or one[2])
    end
  end
  if size > 0 and size < 1e-4 then return ("%.3g"):format(value) end
  if not step then
    local text = ("%.4g"):format(value)
    return math.abs(value) >= 1000 and format.number(value, 0) or text
  end
  local decimals = math.max(0, -math.floor(math.log(step, 10) + 1e-9))
  local shown = step * 10.0 ^ decimals
  if math.abs(shown - math.floor(shown + 0.5)) > 1e-6 then decimals = decimals + 1 end
  local text = format.number(value, decimals)
  return text:find("^%-[0.]+$") and text:sub(2) or text
end

local function linear_ticks(low, high, most, step)
  step = step or nice_step((high - low) / most)
  local ticks = {}
  for i = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    ticks[#ticks + 1] = i * step
  end
  return ticks, step
end

-- With fewer ticks, a reader cannot see that an axis is logarithmic, or where it ends.
local fewest = 3

--- Powers of ten, and some between when these are few; round numbers where the ends are so close
--- that there is hardly one between them.
local function log_ticks(low, high, most)
  local best
  for _, digits in ipairs { { 1, 2, 3, 4, 5, 7 }, { 1, 2, 5 }, { 1, 3 }, { 1 } } do
    best = {}
    for power = math.floor(math.log(low, 10)), math.ceil(math.log(high, 10)) do
      for _, digit in ipairs(digits) do
        local value = digit * 10.0 ^ power
        if value >= low * (1 - 1e-9) and value <= high * (1 + 1e-9) then
          best[#best + 1] = value
        end
      end
    end
    if #best <= most then return #best < fewest and linear_ticks(low, high, most) or best end
  end
  local thinned, every = {}, math.ceil(#best / most)
  for i = 1, #best, every do thinned[#thinned + 1] = best[i] end
  return thinned
end

--- Two ends that differ; on a logarithmic axis both are above 0.
local function ends_of(given, low, high)
  if given.range then return given.range[1], given.range[2] end
  if not low then
    if given.log then return 1, 10 end
    return 0, 1
  end
  if given.from_zero then low, high = math.min(low, 0), math.max(high, 0) end
  if high - low <= 1e-9 * math.max(math.abs(low), math.abs(high)) then -- no room for ticks
    if given.log then return low / 2, high * 2 end
    local room = low == 0 and 0.5 or math.abs(low) / 2
    return low - room, high + room
  end
  return low, high
end

---@class blis.plot.ScaleOptions
---@field most? integer ticks at most; default 7
---@field room? number margin at both ends as a fraction, so that shapes are not cut; default 0
---@field is_rounded? boolean the ends are ticks, where the axis is not logarithmic

--- The axis of a chart.
---@param given blis.plot.Chart
---@param key "x"|"y"
---@param options? blis.plot.ScaleOptions
---@return blis.plot.Scale
function axis.new(given, key, options)
  options = options or {}
  local spec, most = given[key], options.most or 7
  local low, high = ends_of(spec, chart.limits(given, key))
  local room = spec.range and 0 or options.room or 0
  local self = setmetatable({ is_log = spec.log or false, title = chart.axis_title(spec) }, Scale)
  local unit = spec.percent and 100 or 1
  local step
  if self.is_log then
    local factor = (high / low) ^ room
    self.low, self.high = low / factor, high * factor
    self.ticks, step = log_ticks(self.low, self.high, most)
  else
    local more = (high - low) * room
    local is_at_zero = spec.from_zero or low == 0
    self.low = is_at_zero and low == 0 and 0 or low - more
    self.high = is_at_zero and high == 0 and 0 or high + more
    self.ticks, step = linear_ticks(self.low * unit, self.high * unit, most)
    if options.is_rounded and not spec.range then
      self.low = math.floor(self.low * unit / step + 1e-9) * step / unit
      self.high = math.ceil(self.high * unit / step - 1e-9) * step / unit
      self.ticks = linear_ticks(self.low * unit, self.high * unit, most, step)
    end
  end
  self.texts = {}
  for i, value in ipairs(self.ticks) do
    self.texts[i] = axis.number(self.is_log and value * unit or value,
      step and self.is_log and step * unit or step)
      .. (spec.percent and " %" or "")
    if not self.is_log then self.ticks[i] = value / unit end
  end
  return self
end

--- Position of a value: 0 at the low end, 1 at the high end. Values outside are clamped.
---@param value number
---@return number
function Scale:share(value)
  local share
  if self.is_log then
    share = math.log(math.max(value, self.low) / self.low) / math.log(self.high / self.low)
  else
    share = (value - self.low) / (self.high - self.low)
  end
  return math.max(0, math.min(1, share))
end

return axis
