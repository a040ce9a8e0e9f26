--- The serving engine of instances, and defaults that it and its version decide.
local deferred = require "blis.deferred"
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

-- Serving engines with options of their own: the option, and the feature that reads it.
local others = {
  sglang = deferred "blis.feature.sglang", trtllm = deferred "blis.feature.trtllm",
}

--- Raises an error for options of an engine that is not the backend.
local function check_own(given, path)
  for name in pairs(others) do
    if given[name] ~= nil and given.backend ~= name then
      errors.invalid("%s.%s: requires backend = \"%s\"; the backend is %s", path, name, name,
        errors.show(given.backend or "vllm"))
    end
  end
end

--- Options as given, with the defaults of their backend and its version behind them.
---@param given any of a cluster or a group
---@param path string
---@return any
function versions.fill(given, path)
  if type(given) ~= "table" then return given end
  check_own(given, path)
  local other = others[given.backend]
  if other and given.backend_version ~= nil then
    errors.invalid("%s.backend_version: %s: backend \"%s\" has only one version; "
      .. "remove the option", path, errors.invalid_value(given.backend_version), given.backend)
  end
  if other then return other.fill(given, path) end
  if given.backend_version == nil then return given end
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
