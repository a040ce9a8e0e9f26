--- Defaults that a version of vLLM decides.
local errors = require "blis.errors"

local versions = {}

--- "0.17.0" as 17 and "1.2" as 1002: 1000 * major + minor.
local function number_of(text)
  local major, minor = tostring(text):match("^v?(%d%d?)%.(%d%d?%d?)[%w%.%+]*$")
  if not major then
    errors.invalid("cluster.backend_version: invalid value %s; expected a version of vLLM such as "
      .. "0.17.0", errors.show(text))
  end
  return 1000 * math.tointeger(tonumber(major)) + math.tointeger(tonumber(minor))
end

--- Options as given, with the defaults of their version behind them.
---@param given any of a cluster or a group
---@return any
function versions.fill(given)
  if type(given) ~= "table" or given.backend_version == nil then return given end
  if given.async_scheduling ~= nil then return given end
  local filled = { async_scheduling = number_of(given.backend_version) >= 14 }
  for name, value in pairs(given) do filled[name] = value end
  return filled
end

--- Sets values.backend_number, which the core takes.
---@param values table
function versions.apply(values)
  values.backend_number = values.backend_version and number_of(values.backend_version)
end

return versions
