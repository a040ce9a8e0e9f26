--- Think times as command lines write them: constant:value=500ms or
--- lognormal:mu=1.2,sigma=0.8[,min=0.5s][,max=1s], mu and sigma of the logarithm of seconds.
local units = require "blis.units"

local think_time = {}

--- Microseconds of "500us" or "1.5s"; nil and the problem for other strings. Numbers without a unit
--- are milliseconds where they are allowed.
local function time_us(text, allows_bare)
  local us, fault, number = units.parse(text)
  if us and us >= 0 then return us end
  if fault ~= "no unit" or number < 0 then return nil end
  if allows_bare or number == 0 then return number * 1000 end
  return nil, ("'%s' has no unit; write %sms or %ss"):format(text, text, text)
end

local function number(text)
  local value = not text:lower():match("[inx]") and tonumber(text)
  return value or nil
end

-- Keys by type: how to parse the value, and whether the key is required.
local types = {
  constant = { value = { time_us, true } },
  lognormal = {
    mu = { number, true }, sigma = { number, true }, min = { time_us }, max = { time_us },
  },
}

--- Reads "key=value,key=value"; returns nil and an error message if it is invalid.
local function read_keys(text, keys, allows_bare)
  local values = {}
  for pair in (text .. ","):gmatch("([^,]*),") do
    local key, value = pair:match("^([%l]+)=(.*)$")
    local known = key and keys[key]
    if not known then return nil, ("'%s' is not key=value with a supported key"):format(pair) end
    if values[key] then return nil, key .. " appears twice" end
    local problem
    values[key], problem = known[1](value, allows_bare)
    if not values[key] then
      return nil, problem or ("'%s' is not a valid %s"):format(value, key)
    end
  end
  for _, key in ipairs { "value", "mu", "sigma" } do
    if keys[key] and keys[key][2] and not values[key] then return nil, key .. " is missing" end
  end
  return values
end

--- The distribution in microseconds, or nil and an error message.
---@param text string
---@param allows_bare? boolean take numbers without unit as milliseconds; in profile go-blis
---@return table?
---@return string?
function think_time.parse(text, allows_bare)
  local kind, rest = text:match("^(%l+):(.*)$")
  local keys = kind and types[kind]
  if not keys then return nil, "expected constant:value=T or lognormal:mu=M,sigma=S" end
  local values, problem = read_keys(rest, keys, allows_bare)
  if not values then return nil, problem end
  if kind == "constant" then return { "constant", value = math.max(values.value, 1) } end
  if values.sigma <= 0 then return nil, "sigma must be above 0" end
  if values.min and values.max and values.min > values.max then return nil, "min is above max" end
  return { "lognormal", mu = values.mu + math.log(1e6), sigma = values.sigma, min = values.min,
    max = values.max }
end

return think_time
