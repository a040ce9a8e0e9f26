--- What commands that search have in common: the flags of an experiment beside those of the search,
--- and what they print.
local command = require "blis.cli.command"
local core = require "blis.core"
local figures = require "blis.results.figures"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local simulate = require "blis.cli.simulate"
local traffic = require "blis.cli.traffic"

local search = {}

---@type blis.Option
local target_option = {
  name = "targets", type = "string", is_list = true, flag = "--target", metavar = "FIGURE=LIMIT",
  doc = "A figure with what it must not exceed (or fall below, where more is better), such as "
    .. "ttft_ms.p99=500. Percentiles count requests that are not served as the slowest.",
}

--- The targets by figure; there is one at least.
---@param definition blis.cli.Command
---@param texts string[]?
---@return table<string, number>
local function read_targets(definition, texts)
  local list = {}
  for _, text in ipairs(texts or {}) do
    local name, limit = text:match "^([^=]+)=(.+)$"
    if not tonumber(limit) then
      flags.fail(definition, "--target: '%s' is not allowed, expected FIGURE=LIMIT such as "
        .. "ttft_ms.p99=500", text)
    elseif not figures.find(name) then
      flags.fail(definition, "--target: unknown figure '%s'%s", name,
        figures.suggestion(name, figures.paths "Result", ""))
    end
    local problem = figures.why_no_number(name)
    if problem then flags.fail(definition, "--target: %s", problem) end
    list[name] = tonumber(limit)
  end
  if not next(list) then flags.fail(definition, "--target is missing") end
  return list
end

--- The groups of flags: those of an experiment but for some, of the search, of the output.
---@param section blis.Section of the search
---@param names string[] its options that have flags, beside the targets
---@param not_here? table<string, string> flags that are none here, and why
---@return table[]
function search.groups(section, names, not_here)
  local options = flags.pick(section, names)
  table.insert(options, 1, target_option)
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
  spec.targets = read_targets(definition, spec.targets)
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
