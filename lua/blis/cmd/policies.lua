--- blis policies: every built-in policy with its parameters and where it comes from.
local catalogue = require "blis.policy.catalogue"
local categories = require "blis.policy.scorer_categories"
local command = require "blis.cli.command"
local errors = require "blis.errors"
local flag_sections = require "blis.config.flags"
local json = require "blis.json"
local listing = require "blis.listing"
local reference = require "blis.reference"
local staleness = require "blis.policy.staleness"
local types = require "blis.config.types"

local definition = {
  name = "policies",
  summary = "list routing policies, filters, scorers, pickers and policies of other kinds",
  usage = "blis policies [NAME] [FLAGS]",
  description = "Lists the built-in policies, with parameters, defaults, and sources. Use them in "
    .. "--routing-policy, --routing-scorers, --admission-policy, --priority-policy, --autoscaler, "
    .. "--pd-decider, and --saturation-detector, in policy bundles (--policy-config), and in "
    .. "blis.router, blis.scorer, and the options of blis.run. Not included: aibrix.pd and "
    .. "vllm-stack.disaggregated_prefill, because each pool has its routing policy here "
    .. "(--routing-policy, --prefill-routing-scorers). Also not included, because their inputs are "
    .. "not simulated: mooncake.conductor (copies between caches), aibrix.least-busy-time and "
    .. "least-latency (engine metrics), llm-d.latency-scorer (predictors).",
  positional = {
    name = "NAME",
    doc = "Only the policies of this name or alias, in detail, with their parameters.",
  },
  groups = {
    {
      title = "Output", section = "output", has_defaults = true,
      options = flag_sections.listing.options,
    },
  },
}

local function parameter_text(parameter)
  if parameter.required then return parameter.name .. " (required)" end
  local usual = parameter.usual == nil and "{}" or tostring(parameter.usual)
  return ("%s = %s"):format(parameter.name, usual)
end

local function show_parameters(parameters)
  local parts = {}
  for i, parameter in ipairs(parameters) do parts[i] = parameter_text(parameter) end
  return #parts == 0 and "-" or table.concat(parts, ", ")
end

local function write_parameters(writer, parameters)
  for _, parameter in ipairs(parameters) do
    writer:object():field("name", parameter.name):field("type", parameter.type)
      :field("default", parameter.usual)
    if parameter.min then writer:field("min", parameter.min):field("max", parameter.max) end
    if parameter.choices then json.write_list(writer, "choices", parameter.choices) end
    writer:field("unit", parameter.unit):field("doc", parameter.doc):done()
  end
end

local columns = {
  { key = "kind", title = "kind" },
  { key = "name", title = "name", is_text = true },
  { key = "parameters", title = "parameters", is_hidden = true, write = write_parameters },
  { key = "summary", title = "description", is_text = true },
  { key = "aliases", title = "aliases", is_hidden = true },
  { key = "source", title = "source", is_hidden = true },
  { key = "signals", title = "signals", is_hidden = true },
  { key = "category", title = "category", is_hidden = true },
}

local function is_named(entry, name)
  if entry.name == name then return true end
  for _, alias in ipairs(entry.aliases) do
    if alias == name then return true end
  end
  return false
end

--- The entries with this name, or all entries.
local function entries_of(name)
  local rows, words = {}, {}
  for _, kind in ipairs(reference.policy_kinds) do
    for _, entry in ipairs(catalogue[kind.key]) do
      words[#words + 1] = entry.name
      if not name or is_named(entry, name) then
        rows[#rows + 1] = { kind = kind.name, name = entry.name, summary = entry.summary,
          source = entry.source, aliases = entry.aliases, parameters = entry.options,
          signals = staleness.text(kind.key, entry),
          category = kind.key == "scorers" and categories[entry.name] or nil }
      end
    end
  end
  if #rows == 0 then
    errors.invalid("unknown policy %s%s", errors.show(name), errors.suggestion(name, words))
  end
  return rows
end

local function print_details(row)
  command.print(("%s %s: %s\n"):format(row.kind, row.name, row.summary))
  command.print(("  from %s\n"):format(row.source))
  if #row.aliases > 0 then
    command.print(("  also called %s\n"):format(table.concat(row.aliases, ", ")))
  end
  if row.category then command.print(("  category %s\n"):format(row.category)) end
  if row.signals then command.print(("  %s\n"):format(row.signals)) end
  for _, parameter in ipairs(row.parameters) do
    local unit = parameter.unit ~= "" and ", in " .. parameter.unit or ""
    command.print(("  %s: %s\n"):format(parameter_text(parameter), parameter.doc))
    local expected = types[parameter.type].expected(parameter)
    if expected ~= parameter.doc then command.print(("    %s%s\n"):format(expected, unit)) end
  end
end

local function print_all(parsed)
  local rows = entries_of(parsed.positional)
  if parsed.positional and parsed.values.output.format == "table" then
    for _, row in ipairs(rows) do print_details(row) end
    return
  end
  local format = parsed.values.output.format
  if format == "csv" then
    for _, row in ipairs(rows) do row.parameters = show_parameters(row.parameters) end
  end
  command.print(listing.text({ columns = columns, rows = rows }, format))
end

return command.define(definition, function(parsed)
  command.checked(definition, print_all, parsed)
end)
