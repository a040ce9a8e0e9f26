--- blis compare: several routing policies, or variants of any flags, under the same traffic.
local command = require "blis.cli.command"
local comparison = require "blis.compare.comparison"
local deferred = require "blis.deferred"
local endings = require "blis.endings"
local export = deferred "blis.compare.export"
local errors = require "blis.errors"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local origin = deferred "blis.page.origin"
local output_files = require "blis.cli.outputs"
local progress = require "blis.cli.progress"
local simulate = require "blis.cli.simulate"
local sweep_sections = require "blis.config.sweep"
local terminal = require "blis.terminal"
local traffic = require "blis.cli.traffic"
local variants = require "blis.compare.variants"
local words = require "blis.cli.words"

local compared = flags.pick(sweep_sections.compare, { "jobs" })
table.move({
  {
    name = "policies", type = "string", flag = "--policies", metavar = "NAME,NAME,...",
    doc = "Routing policies (see 'blis policies'). The first is the baseline.",
  },
  {
    name = "variants", type = "string", is_list = true, flag = "--variant", metavar = "FLAGS",
    doc = "Instead of --policies: flags of a variant, as in --variant '--scheduler fcfs' --variant "
      .. "'--scheduler sjf --max-num-seqs 64'. All variants get the same traffic.",
  },
  {
    name = "replications", type = "integer", min = 1, max = 1000000, default = 5, unit = "seeds",
    flag = "--replications", doc = "Runs of each policy, with the same seeds for all.",
  },
  {
    name = "report", type = "string", is_list = true, flag = "--figure", metavar = "FIGURE",
    doc = "Metric to compare, such as ttft_ms.p99. Default: the most important metrics.",
  },
}, 1, 4, #compared + 1, compared)

local groups = simulate.experiment_groups(traffic.groups())
groups[#groups + 1] = {
  title = "Comparison", section = "compared", has_defaults = true, options = compared,
}
local outputs = table.move(flag_sections.quiet.options, 1, #flag_sections.quiet.options, 3, {
  {
    name = "report", type = "path", is_output = true, flag = "--report", metavar = "FILE.html",
    endings = endings.page,
    doc = "Also write an HTML report: one file, without network access.",
  },
  {
    name = "format", type = "choice", choices = { "text", "json", "csv" }, default = "text",
    flag = "--format", doc = "Output of the comparison.",
  },
})
groups[#groups + 1] = {
  title = "Output", section = "output", has_defaults = true, options = outputs,
}

local definition = {
  name = "compare",
  summary = "compare policies, or any flags, under the same traffic",
  usage = "blis compare (--policies NAME,NAME,... | --variant FLAGS ...) [FLAGS]",
  description = "Runs the cluster with each policy or variant on the same requests, and prints "
    .. "their metrics with confidence intervals of the differences.",
  groups = groups,
  notes = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

local function names_of(parsed)
  local names = {}
  for name in (parsed.values.compared.policies or ""):gmatch "[^,%s]+" do
    names[#names + 1] = name
  end
  return names
end

local function fail_open(text)
  flags.fail(definition, "--variant: %s: missing closing quote", errors.invalid_value(text))
end

--- The arguments, followed by the arguments of a variant.
local function parse_variant(parsed, text)
  local args = table.move(parsed.args, 1, #parsed.args, 1, {})
  for _, word in ipairs(words.split(text) or fail_open(text)) do
    if word:match "^%-%-variant" or word:match "^%-%-policies" then
      flags.fail(definition, "--variant: '%s' cannot be used inside a variant", word)
    end
    args[#args + 1] = word
  end
  return flags.parse(definition, args)
end

local function is_traffic(parsed, one)
  for name, value in pairs(one.values.workload) do
    if parsed.values.workload[name] ~= value then return true end
  end
  return false
end

--- Endless traffic lasts as long as any variant.
local function longest_horizon(experiments)
  local longest_us = 0
  for _, one in ipairs(experiments) do
    if not one.horizon_us then return nil end
    longest_us = math.max(longest_us, one.horizon_us)
  end
  return longest_us
end

--- The experiment that all variants share, and the changes of each. A variant that does not set an
--- option uses the shared value.
local function of_variants(parsed, workload)
  local experiments = {}
  for i, text in ipairs(parsed.values.compared.variants) do
    local one = parse_variant(parsed, text)
    if one.values.experiment.seed ~= parsed.values.experiment.seed then
      flags.fail(definition, "--variant '%s': all variants use the seed of --seed; use "
        .. "--replications to vary it", text)
    elseif is_traffic(parsed, one) then
      flags.fail(definition, "--variant '%s': all variants get the same traffic", text)
    end
    simulate.prepare(one)
    experiments[i] = simulate.experiment(definition, one, workload,
      one.values.experiment.horizon_us)
  end
  local spec, list = variants.split(experiments)
  for i, text in ipairs(parsed.values.compared.variants) do list[i].name = text end
  spec.variants, spec.horizon_us = list, longest_horizon(experiments)
  return spec
end

--- One experiment with a list of routing policies.
local function of_policies(parsed, workload)
  local values, routing, spec = parsed.values, {}, nil
  for i, name in ipairs(names_of(parsed)) do
    values.experiment.routing = name
    spec = simulate.experiment(definition, parsed, workload, values.experiment.horizon_us)
    routing[i] = spec.routing
  end
  spec.routing = routing
  return spec
end

local function spec_of(parsed)
  local values = parsed.values
  if (values.compared.variants == nil) == (#names_of(parsed) == 0) then
    flags.fail(definition, "missing --policies, or at least two --variant flags")
  elseif values.compared.policies and parsed.given["--routing-policy"] then
    flags.fail(definition, "--routing-policy and --policies cannot be combined")
  end
  simulate.prepare(parsed)
  local function talk(format, ...) command.talk(parsed, format, ...) end
  local workload = traffic.of_flags(definition, parsed, talk)
  local spec = (values.compared.variants and of_variants or of_policies)(parsed, workload)
  if values.compared.replications > 1 then
    for _, name in ipairs { "replications", "report", "jobs" } do
      spec[name] = values.compared[name]
    end
    spec.quiet = values.output.quiet
  end
  return spec
end

return command.define(definition, function(parsed)
  local path = parsed.values.output.report
  local found = command.checked(definition, function()
    output_files.check(definition, parsed)
    local spec = spec_of(parsed)
    local line <close> = progress.line(parsed, (parsed.values.workload or {}).requests)
    if not spec.replications then spec.progress = line.tell end -- of each run
    return comparison.compare(spec)
  end)
  found.changes = nil -- variants are named by their flags
  if path then
    origin.set_command { definition.name, table.unpack(parsed.args) }
    found:report(path)
  end
  local format = parsed.values.output.format
  command.print(format == "text" and terminal.fitted(tostring(found)) .. "\n"
    or export[format](found))
end)
