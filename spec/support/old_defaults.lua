--- The library with the defaults of version 1.0-rc1, for specs that are about something else and
--- whose worked numbers rest on these defaults. Experiments and clusters that name a version keep
--- it.
local blis = require "blis"

local version = "1.0-rc1"

local function pinned(options)
  if type(options) ~= "table" then return options or { defaults = version } end
  local copy = { defaults = version }
  for key, value in pairs(options) do copy[key] = value end
  return copy
end

-- Functions whose first argument is an experiment, or the options of a cluster.
local first = { "run", "simulation", "compare", "instance", "kv_capacity" }

local old_defaults = {
  version = version,
  pinned = pinned,
  latency_model = function(spec, options)
    return blis.latency_model(spec, type(spec) == "string" and pinned(options) or options)
  end,
}

for _, name in ipairs(first) do
  old_defaults[name] = function(options, ...)
    local is_of_go_blis = type(options) == "table" and options.profile == "go-blis"
    return blis[name](is_of_go_blis and options or pinned(options), ...)
  end
end

return setmetatable(old_defaults, { __index = blis })
