--- Values of a configuration as Kubernetes and Go write them: durations, quantities, numbers that
--- may be quoted.
local values = {}

local seconds = { ns = 1e-9, us = 1e-6, ms = 1e-3, s = 1, m = 60, h = 3600 }

--- A Go duration, such as 1m30s or 200ms, in seconds; nil when it is none.
---@param given any
---@return number?
function values.seconds(given)
  if given == 0 or given == "0" then return 0 end
  if type(given) ~= "string" or given == "" then return nil end
  local total, rest = 0, given
  while rest ~= "" do
    local number, unit, behind = rest:match "^([%d.]+)(%a+)(.*)$"
    local factor = number and tonumber(number) and seconds[unit]
    if not factor then return nil end
    total, rest = total + tonumber(number) * factor, behind
  end
  return total
end

local factors = { [""] = 1, k = 1e3, M = 1e6, G = 1e9, T = 1e12, Ki = 1024, Mi = 1024 ^ 2,
  Gi = 1024 ^ 3, Ti = 1024 ^ 4 }

--- A quantity, such as 5000, "1Gi" or "500M"; nil when it is none.
---@param given any
---@return integer?
function values.quantity(given)
  if math.type(given) == "integer" then return given >= 0 and given or nil end
  if type(given) ~= "string" then return nil end
  local number, unit = given:match "^(%d+%.?%d*)(%a*)$"
  local factor = number and factors[unit]
  return factor and math.tointeger(tonumber(number) * factor)
end

local readers, expected = {}, {
  number = "a number", integer = "an integer", boolean = "true or false", string = "a string",
  duration = 'a duration such as "1s" or "200ms"', object = "an object", list = "a list",
}

function readers.number(given)
  local is_text = type(given) == "string" and given:match "^[+-]?[%d.][%w.+-]*$"
  if type(given) ~= "number" and not is_text then return nil end
  local value = tonumber(given)
  return value and value - value == 0 and value or nil
end

function readers.integer(given)
  local value = readers.number(given)
  return value and math.tointeger(value)
end

function readers.boolean(given)
  if given == "true" then return true elseif given == "false" then return false end
  if type(given) == "boolean" then return given end
end

function readers.string(given)
  if type(given) == "string" then return given end
  return (type(given) == "number" or type(given) == "boolean") and tostring(given) or nil
end

readers.duration = values.seconds

function readers.object(given)
  return type(given) == "table" and rawget(given, 1) == nil and given or nil
end

function readers.list(given)
  return type(given) == "table" and (rawget(given, 1) ~= nil or next(given) == nil) and given or nil
end

function readers.any(given) return given end

--- A value as the type has it; nil and what is expected when it is not of that type.
---@param kind string
---@param given any
---@return any value
---@return string? expected
function values.read(kind, given)
  local value = readers[kind](given)
  if value == nil then return nil, expected[kind] end
  return value
end

return values
