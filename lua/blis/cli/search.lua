--- What commands that search have in common: the flags of an experiment beside those of the search,
--- and what they print.
local command = require "blis.cli.command"
local core = require "blis.core"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local simulate = require "blis.cli.simulate"
local target_flags = require "blis.cli.target_flags"
local traffic = require "blis.cli.traffic"

local search = {}

--- The groups of flags: those of an experiment but for some, of the search, of the output.
---@param section blis.Section of the search
---@param names string[] its options that have flags, beside the targets
---@param not_here? table<string, string> flags that are none here, and why
---@return table[]
function search.groups(section, names, not_here)
  local options = flags.pick(section, names)
  table.insert(options, 1, target_flags.option)
  local groups = simulate.experiment_groups(traffic.groups())
  groups[#groups + 1] = { title = "Search", section = "search", path = section.name,
    options = options }
  groups[#groups + 1] = { title = "Output", section = "output", has_defaults = true,
    options = flag_sections.answer.options }
  for _, group in ipairs(groups) do
    local kept = {}
    for _, option in ipairs(group.options) do
      if not (not_here and not_here[option.flag]) then kept[#kept + 1] = option end
    end
    group.options = kept
  end
  return groups
end

--- The options of the search as its module takes them, but for what it is tried on.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return table
function search.spec(definition, parsed)
  local spec = {}
  for name, value in pairs(parsed.values.search) do spec[name] = value end
  spec.targets = target_flags.read(definition, spec.targets)
  spec.quiet, spec.seed = parsed.values.output.quiet, parsed.values.experiment.seed
  return spec
end

-- What a search ends with when nothing that was tried is known to keep the targets.
local nothing_found = 3

--- The command: find returns what is printed, or written by write as an object of JSON. Its exit
--- status tells whether anything keeps the targets.
---@param definition blis.cli.Command
---@param find fun(parsed: blis.cli.Parsed): table
---@param write fun(writer: table, found: table)
---@param is_found fun(found: table): boolean
function search.define(definition, find, write, is_found)
  return command.define(definition, function(parsed)
    local found = command.checked(definition, find, parsed)
    if parsed.values.output.format ~= "json" then
      command.print(tostring(found) .. "\n")
    else
      local writer = core.json_writer(2):object()
      write(writer, found)
      command.print(writer:done():take() .. "\n")
    end
    return is_found(found) and 0 or nothing_found
  end)
end

return search
