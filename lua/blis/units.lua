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

return units
