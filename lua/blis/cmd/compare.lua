--- blis compare: several routing policies under the same traffic.
local command = require "blis.cli.command"
local comparison = require "blis.results.comparison"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local simulate = require "blis.cli.simulate"
local sweep_sections = require "blis.config.sweep"
local traffic = require "blis.cli.traffic"

local compared = flags.pick(sweep_sections.compare, { "jobs" })
table.move({
  {
    name = "policies", type = "string", flag = "--policies", metavar = "NAME,NAME,...",
    doc = "Routing policies; 'blis policies' lists them. The others are compared with the first.",
  },
  {
    name = "replications", type = "integer", min = 1, max = 1000000, default = 5, unit = "seeds",
    flag = "--replications", doc = "Runs of each policy, with the same seeds for all.",
  },
  {
    name = "report", type = "string", is_list = true, flag = "--report", metavar = "FIGURE",
    doc = "A figure to compare, such as ttft_ms.p99; default: the most important ones.",
  },
}, 1, 3, #compared + 1, compared)

--- The flags of an experiment but that of its one policy.
local function experiment_groups()
  local groups = simulate.experiment_groups(traffic.groups())
  for g, group in ipairs(groups) do
    local options = {}
    for _, option in ipairs(group.options) do
      if option.flag ~= "--routing-policy" then options[#options + 1] = option end
    end
    groups[g] = { title = group.title, section = group.section, options = options,
      has_defaults = group.has_defaults }
  end
  return groups
end

local groups = experiment_groups()
groups[#groups + 1] = {
  title = "Comparison", section = "compared", has_defaults = true, options = compared,
}
groups[#groups + 1] = {
  title = "Output", section = "output", has_defaults = true, options = flag_sections.quiet.options,
}

local definition = {
  name = "compare",
  summary = "compare routing policies under the same traffic",
  usage = "blis compare --policies NAME,NAME,... [FLAGS]",
  description = "Runs the cluster that the flags describe with each of the policies, with the same "
    .. "requests, and prints their figures and how certain the differences are.",
  groups = groups,
  notes = "TIME is a number of microseconds, or one with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

local function names_of(parsed)
  local names = {}
  for name in (parsed.values.compared.policies or ""):gmatch "[^,%s]+" do
    names[#names + 1] = name
  end
  if #names == 0 then flags.fail(definition, "--policies is missing") end
  return names
end

local function spec_of(parsed)
  local values, routing, spec = parsed.values, {}, nil
  simulate.prepare(parsed)
  local function talk(format, ...) command.talk(parsed, format, ...) end
  local workload = traffic.of_flags(definition, parsed, talk)
  for i, name in ipairs(names_of(parsed)) do
    values.experiment.routing = name
    spec = simulate.experiment(definition, parsed, workload, values.experiment.horizon_us)
    routing[i] = spec.routing
  end
  spec.routing = routing
  if values.compared.replications > 1 then
    for _, name in ipairs { "replications", "report", "jobs" } do
      spec[name] = values.compared[name]
    end
    spec.quiet = values.output.quiet
  end
  return spec
end

return command.define(definition, function(parsed)
  local found = command.checked(definition,
    function() return comparison.compare(spec_of(parsed)) end)
  command.print(tostring(found) .. "\n")
end)
