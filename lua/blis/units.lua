--- Durations: the reader of strings such as "30s", and functions that return whole microseconds.
local core = require "blis.core"
local errors = require "blis.errors"

local units = {}

local function to_us(name, number, factor)
  local is_finite = type(number) == "number" and number - number == 0
  if not is_finite then
    errors.invalid("blis.%s: %s: expected a number", name, errors.invalid_value(number))
  end
  -- As a float first: a product of integers would wrap.
  local fits = math.abs(number * (factor + 0.0)) < 2.0 ^ 63
  local us = fits and (math.tointeger(number * factor)
    or math.tointeger(math.floor(number * factor + 0.5)))
  if not us then
    errors.invalid("blis.%s: %s exceeds the maximum simulated time", name, errors.show(number))
  end
  return us
end

--- Microseconds in a number of seconds, rounded to the nearest.
---@param number number
---@return integer us
function units.seconds(number) return to_us("seconds", number, 1000000) end

--- Microseconds in a number of milliseconds, rounded to the nearest.
---@param number number
---@return integer us
function units.milliseconds(number) return to_us("milliseconds", number, 1000) end

--- Microseconds in a number of minutes, rounded to the nearest.
---@param number number
---@return integer us
function units.minutes(number) return to_us("minutes", number, 60000000) end

-- Microseconds in the units that options have.
local scales = { us = 1, ms = 1000, s = 1000000, h = 3600000000 }

--- Microseconds in a unit that options have ("us", "ms", "s", "h"); nil for other units.
---@param unit? string
---@return integer?
function units.scale(unit) return scales[unit] end

--- Reads a duration with its unit: "250us", "5ms", "1.5s", "30m", "1h30m", "2d". This is the only
--- reader of durations in the Lua half (src/base/duration.h).
---@param text string
---@return number? us not rounded; nil if the text is no duration with a unit
---@return "no unit"|"unit"|"malformed"|nil fault "unit": the unit is unknown
---@return number? number the number of a string without unit
function units.parse(text) return core.parse_duration(text) end

--- Microseconds rounded to a whole number; nil for nil, and for more than a simulation can count.
---@param us? number
---@return integer?
function units.whole(us)
  return us and math.abs(us) < 2.0 ^ 63
    and (math.tointeger(us) or math.tointeger(math.floor(us + 0.5))) or nil
end

--- The unit that a name ends with or contains as a word: "ms" of think_time_ms and of
--- --think-time-ms, "s" of --window-duration-seconds; nil for names without one.
---@param name string
---@return string?
function units.of_name(name)
  local words = "-" .. name:gsub("_", "-") .. "-"
  if words:find "%-us%-" then return "us" end
  if words:find "%-ms%-" then return "ms" end
  return (words:find "%-s%-$" or words:find "%-secs%-" or words:find "%-seconds%-") and "s" or nil
end

local shown = { { 86400000000, "d" }, { 3600000000, "h" }, { 60000000, "m" }, { 1000000, "s" },
  { 1000, "ms" } }

--- A duration as it can be written: "30s", "200ms", "0".
---@param us number
---@return string
function units.text(us)
  for _, unit in ipairs(shown) do
    if us ~= 0 and us % unit[1] == 0 then return ("%d%s"):format(us // unit[1], unit[2]) end
  end
  return us == 0 and "0" or ("%.14gus"):format(us)
end

--- What to write in place of a number without a unit: "30s"; "5s" for 5000000, since large numbers
--- are microseconds in older command lines.
---@param number number
---@return string
function units.correction(number)
  if number < 100000 or number % 1 ~= 0 then return ("%.14gs"):format(number) end
  return units.text(number)
end

return units
