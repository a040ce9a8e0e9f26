--- The defaults of profile design, by version. Every default that a version has changed is in this
--- table, so an experiment can ask for the defaults of an earlier version by name. A default that
--- never changed is in the description of its option. Profile go-blis has its own defaults.
---
--- A default holds only where nothing else decides: values of the user, of an engine preset, and of
--- a backend version take precedence.
local errors = require "blis.errors"
local sorted = require "blis.sorted"

local defaults = {}

---@class blis.Defaults
---@field name string
---@field changes string what users of the version before see, for the documentation
---@field cluster table<string, any> options of a cluster

-- In the order of publication.
---@type blis.Defaults[]
local versions = {
  {
    name = "1.0-rc1",
    changes = "The first version.",
    cluster = { latency_model = "calibrated", kv_reserve = "flat" },
  },
  {
    name = "1.0",
    changes = "Step times by the composed model, with host time and a front end. Memory beside the "
      .. "KV cache is computed from the sizes of the model.",
    cluster = { latency_model = "composed", kv_reserve = "sized" },
  },
}

local by_name = {}
for _, version in ipairs(versions) do by_name[version.name] = version end

--- The version that holds if none is named.
---@type blis.Defaults
defaults.newest = versions[#versions]

--- All names, in the order of publication.
---@type string[]
defaults.names = {}
for i, version in ipairs(versions) do defaults.names[i] = version.name end

--- All versions, in the order of publication.
---@return blis.Defaults[]
function defaults.all() return versions end

--- Returns a version. Its name must be in defaults.names.
---@param name? string nil: the newest
---@return blis.Defaults
function defaults.of(name)
  return name == nil and defaults.newest or by_name[name]
end

--- Raises an error for the name of no version, or for any name under profile go-blis.
---@param name any nil: not set
---@param path string of the option
---@param profile? string
function defaults.check(name, path, profile)
  if name == nil then return end
  if not by_name[name] then
    errors.invalid("%s: %s is not allowed, expected one of %s", path, errors.show(name),
      table.concat(defaults.names, ", "))
  end
  if profile == "go-blis" then
    errors.invalid("%s: profile go-blis has its own defaults; remove %s, or use profile design",
      path, path)
  end
end

--- Returns options as given, with the defaults of a version behind them.
---@param part string of a version: "cluster"
---@param given table
---@param version blis.Defaults
---@return table
function defaults.fill(part, given, version)
  local filled = {}
  for name, value in pairs(version[part]) do filled[name] = value end
  for name, value in pairs(given) do filled[name] = value end
  return filled
end

--- Returns what a version sets, in words.
---@param version blis.Defaults
---@return string
function defaults.text(version)
  local words = {}
  for _, name in ipairs(sorted.names(version.cluster)) do
    words[#words + 1] = ("cluster.%s = %s"):format(name, tostring(version.cluster[name]))
  end
  return ("%s %s."):format(version.changes, table.concat(words, ", "))
end

return defaults
