--- Options of the cluster and the experiment that decide a run and are not as usual: a row each,
--- under the words of their names.
local cluster_section = require "blis.config.cluster"
local experiment_section = require "blis.config.experiment"
local features = require "blis.feature"
local options = require "blis.config.option_text"

local settings = {}

--- Returns whether a row shows an option: not those that are described elsewhere or do not decide
--- the run, and not those of features, which describe themselves.
local function has_row(option)
  return option.described ~= false and not features.has_option(option.name)
end

local function usual_of(option, profile)
  local usual = option.profiles and option.profiles[profile]
  if usual == nil then return option.default end
  return usual
end

-- By default, class realtime has the priority of critical, which is 4.
local function are_usual_priorities(list)
  return #list == 1 and list[1].name == "realtime" and list[1].value == 4
end

local function is_usual(option, value, profile)
  if value == nil or value == usual_of(option, profile) then return true end
  return option.name == "slo_priorities" and are_usual_priorities(value)
end

--- Options that any of these tables has not as usual.
local function unusual(section, tables, profile)
  local list = {}
  for _, option in ipairs(section.options) do
    for _, values in ipairs(has_row(option) and tables or {}) do
      local is_default = values.is_usual and values.is_usual[option.name]
      if not is_default and not is_usual(option, values[option.name], profile) then
        list[#list + 1] = option
        break
      end
    end
  end
  return list
end

local function phases_text(phases)
  local words = {}
  for i, phase in ipairs(phases) do
    words[i] = ("%s from %s"):format(phase.name, options.time(phase.from_us))
  end
  return table.concat(words, ", ")
end

--- The files that were given.
local function catalogue_text(cluster)
  local files = type(cluster) == "table" and cluster.catalogue
  return files and options.value(files) or nil
end

--- What the row of a setting would say where it is as usual; nil where that is worked out.
---@param name string of the row
---@param profile string
---@return string?
function settings.usual(name, profile)
  for _, section in ipairs { cluster_section, experiment_section } do
    for _, option in ipairs(section.options) do
      local value = usual_of(option, profile)
      if value ~= nil and has_row(option) and options.words(option.name) == name then
        return options.value(value, option.unit)
      end
    end
  end
end

--- Calls add(name, text) for every row.
---@param config table as the core takes it
---@param of_groups fun(cluster: table, text_of: fun(group: table): string?): string?
---@param add fun(name: string, text: string?)
function settings.add(config, of_groups, add)
  local cluster, given = config.cluster, config.options
  local profile = given.profile
  for _, option in ipairs(unusual(cluster_section, cluster.groups or { cluster }, profile)) do
    add(options.words(option.name), of_groups(cluster, function(group)
      local value = group[option.name]
      return value ~= nil and options.value(value, option.unit) or nil
    end))
  end
  add("catalogue", catalogue_text(given.cluster))
  for _, option in ipairs(unusual(experiment_section, { given }, profile)) do
    add(options.words(option.name), options.value(given[option.name], option.unit))
  end
  add("phases", config.phases and phases_text(config.phases))
end

return settings
