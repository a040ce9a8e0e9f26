--- Times with their unit at the place of use; all of them give whole microseconds.
local errors = require "blis.errors"

local units = {}

local function to_us(name, number, factor)
  local is_finite = type(number) == "number" and number - number == 0
  if not is_finite then
    errors.invalid("blis.%s: %s is not allowed, expected a number", name, errors.show(number))
  end
  -- As a float first: a product of integers would wrap.
  local fits = math.abs(number * (factor + 0.0)) < 2.0 ^ 63
  local us = fits and (math.tointeger(number * factor)
    or math.tointeger(math.floor(number * factor + 0.5)))
  if not us then
    errors.invalid("blis.%s: %s is more than a simulation can count", name, errors.show(number))
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

local factors = { us = 1, ms = 1000, s = 1000000, m = 60000000, h = 3600000000 }

--- "50000", "50ms", "30s": whole microseconds; nil or false for other texts.
---@param text string
---@return integer|false|nil us
function units.read(text)
  local number, unit = text:match("^([%d.]+)(%a+)$")
  local factor = number and factors[unit]
  if factor and tonumber(number) then
    local us = tonumber(number) * factor
    return math.tointeger(us) or math.tointeger(math.floor(us + 0.5))
  end
  return text:match("^[+-]?%d+$") and math.tointeger(tonumber(text))
end

return units
