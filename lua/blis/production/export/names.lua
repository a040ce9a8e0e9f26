--- What policies here are called there: plugins of an EndpointPickerConfig, seen from this side.
local catalogue = require "blis.policy.catalogue"
local plugins = require "blis.production.epp.plugins"

local names = {}

-- Policies here that are the same as another one with its defaults.
local same = {
  ["active-requests"] = "llm-d.active-request-scorer",
  priority = "fifo", -- of a queue, whose bands are priorities
  random = "llm-d.random-picker",
  ["weighted-random"] = "llm-d.weighted-random-picker",
}

-- Filters here that are detectors there.
names.detector_filters = {
  ["llm-d.utilization-detector"] = { type = "utilization-detector", parameters = {
    queue_depth_threshold = "queueDepthThreshold",
    kv_cache_util_threshold = "kvCacheUtilThreshold", headroom = "headroom" } },
  ["llm-d.concurrency-detector"] = { type = "concurrency-detector", parameters = {
    max_concurrency = "maxConcurrency", max_token_concurrency = "maxTokenConcurrency",
    headroom = "headroom" } },
}

local by_role = {}
for kind, known in pairs(plugins.types) do
  if known.name then
    by_role[known.role] = by_role[known.role] or {}
    by_role[known.role][known.name] = kind
  end
end

local lists = { scorer = catalogue.scorers, filter = catalogue.filters, picker = catalogue.pickers,
  routing = catalogue.routers, admitter = catalogue.admissions, decider = catalogue.deciders,
  detector = catalogue.saturation_detectors, limit = catalogue.usage_limits }

--- The usual name of a policy that may be given by an alias.
---@param role string
---@param name string?
---@return string?
function names.canonical(role, name)
  for _, entry in ipairs(lists[role] or {}) do
    for _, alias in ipairs(entry.aliases) do
      if alias == name then return entry.name end
    end
  end
  return name
end

--- The name of a built-in policy and its parameters; nothing of one in Lua.
---@param given any
---@return string?
---@return table<string, any>?
function names.parts_of(given)
  if type(given) == "string" then return given, {} end
  if type(given) ~= "table" or getmetatable(given) ~= nil then return nil end
  local parameters = {}
  for key, value in pairs(given) do
    if type(key) == "string" then parameters[key] = value end
  end
  return given[1], parameters
end

--- The type of the plugin that corresponds to a policy of a role, or nil.
---@param role string
---@param name string
---@return string?
function names.type_of(role, name)
  local known = by_role[role] or {}
  return known[name] or same[name] and known[same[name]]
end

--- Its parameters there; what is not known there is in the second table.
---@param kind string
---@param given table<string, any>
---@return table<string, any> parameters
---@return string[] unknown
function names.parameters_of(kind, given)
  local there, unknown = {}, {}
  local by_name = {}
  for name, parameter in pairs(plugins.types[kind].parameters or {}) do
    if parameter.as then by_name[parameter.as] = { name = name, per = parameter.per } end
  end
  for name, value in pairs(given) do
    local found = type(name) == "string" and by_name[name]
    if found then
      if found.per then value = value * found.per end
      there[found.name] = math.tointeger(value) or value
    elseif type(name) == "string" then
      unknown[#unknown + 1] = name
    end
  end
  table.sort(unknown)
  return there, unknown
end

return names
