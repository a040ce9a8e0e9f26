--- Shared parts of the search commands: flags of the experiment and of the search, and output.
local command = require "blis.cli.command"
local core = require "blis.core"
local csv = require "blis.csv"
local figures = require "blis.results.figures"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local simulate = require "blis.cli.simulate"
local targets = require "blis.capacity.targets"
local terminal = require "blis.terminal"
local traffic = require "blis.cli.traffic"

local search = {}

---@type blis.Option
local target_option = {
  name = "targets", type = "string", is_list = true, flag = "--target", metavar = "METRIC=LIMIT",
  doc = "A metric with its limit (an upper limit or, where more is better, a lower one), such as "
    .. "ttft_ms.p99=500ms. Percentiles count unserved requests as the slowest.",
}

--- The targets by metric; at least one.
---@param definition blis.cli.Command
---@param texts string[]?
---@return table<string, number>
local function read_targets(definition, texts)
  local list = {}
  for _, text in ipairs(texts or {}) do
    local name, limit = text:match "^([^=]+)=(.+)$"
    if not name then
      flags.fail(definition, "--target: invalid value '%s': expected METRIC=LIMIT such as "
        .. "ttft_ms.p99=500ms", text)
    elseif not figures.find(name) then
      flags.fail(definition, "--target: unknown metric '%s'%s", name,
        figures.suggestion(name, figures.paths "Result", ""))
    end
    local problem = figures.why_no_number(name)
    if problem then flags.fail(definition, "--target: %s", problem) end
    local value, expected = targets.limit(name, limit)
    if not value then
      flags.fail(definition, "--target: invalid value '%s': expected %s", text, expected)
    end
    list[name] = value
  end
  if not next(list) then flags.fail(definition, "--target is missing") end
  return list
end

--- The groups of flags: experiment (except some), search, and output.
---@param section blis.Section of the search
---@param names string[] its options with flags, in addition to the targets
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

--- The options of the search module, except the experiment.
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

-- Exit status of a search that finds no value that meets the targets.
local nothing_found = 3

--- Rows as CSV.
local function csv_text(columns, rows)
  local lines = { table.concat(columns, ",") }
  for i, row in ipairs(rows) do
    local cells = {}
    for k = 1, #columns do cells[k] = csv.field(row[k]) end
    lines[i + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The command: find returns the answer, which is printed as text, written by `write` as an object
--- of JSON, or listed by `rows` as CSV. The exit status reports whether anything meets the targets.
---@param definition blis.cli.Command
---@param find fun(parsed: blis.cli.Parsed): table
---@param write fun(writer: table, found: table)
---@param rows fun(found: table): string[], any[][] columns and rows
---@param is_found fun(found: table): boolean
function search.define(definition, find, write, rows, is_found)
  return command.define(definition, function(parsed)
    local found = command.checked(definition, find, parsed)
    local format, path = parsed.values.output.format, parsed.values.output.report
    if path then command.checked(definition, found.report, found, path) end
    if format == "csv" then
      command.print(csv_text(rows(found)))
    elseif format ~= "json" then
      command.print(terminal.fitted(tostring(found)) .. "\n")
    else
      local writer = core.json_writer(2):object()
      write(writer, found)
      command.print(writer:done():take() .. "\n")
    end
    return is_found(found) and 0 or nothing_found
  end)
end

return search
