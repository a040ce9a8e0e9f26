--- Defaults of autoscalers and of starts, by the version of the defaults.
local catalogue = require "blis.policy.catalogue"
local defaults = require "blis.config.defaults"

local usual = {}

--- Returns the name of an autoscaler in the catalogue; nil for one that is not built in.
local function known_name(name)
  for _, entry in ipairs(catalogue.autoscalers) do
    if entry.name == name then return name end
    for _, alias in ipairs(entry.aliases) do
      if alias == name then return entry.name end
    end
  end
end

--- Returns an autoscaler as given, with the parameters of the version behind it. They hold
--- together, so none of them is added if one of them is set.
---@param given any as in an experiment
---@param version blis.Defaults
---@return any
function usual.autoscaler(given, version)
  local name = type(given) == "table" and given[1] or given
  local parameters = type(name) == "string" and version.autoscalers[known_name(name)]
  if not parameters then return given end
  local filled = type(given) == "table" and given or { name }
  for key in pairs(parameters) do
    if filled[key] ~= nil then return given end
  end
  filled = table.move(filled, 1, #filled, 1, {})
  for key, value in pairs(type(given) == "table" and given or {}) do filled[key] = value end
  for key, value in pairs(parameters) do filled[key] = value end
  return filled
end

--- Returns options of scaling as given, with the delays of the version behind them. They hold
--- together, so none of them is added if one of them is set.
---@param given any
---@param version blis.Defaults
---@return any
function usual.scaling(given, version)
  if given ~= nil and type(given) ~= "table" then return given end
  for name in pairs(given and version.scaling or {}) do
    if given[name] ~= nil then return given end
  end
  return defaults.fill("scaling", given or {}, version)
end

return usual
