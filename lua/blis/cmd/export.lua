--- blis export: a policy as the configuration of a router.
local command = require "blis.cli.command"
local core = require "blis.core"
local export = require "blis.production.export.export"
local outputs = require "blis.cli.outputs"
local subject = require "blis.production.subject"

-- The baseline policy of metrics in JSON.
local usual_baseline = "least-loaded"

local definition = {
  name = "export",
  summary = "turn a policy into the configuration of a router",
  usage = "blis export SYSTEM POLICY [FLAGS]",
  description = "Writes POLICY as an EndpointPickerConfig of llm-d, or as flags of Dynamo or SMG. "
    .. "Reads the output again and checks that it makes the same decisions. POLICY is a script "
    .. "that returns a policy or an experiment, a configuration, or a name. Parts without a "
    .. "counterpart are listed in an error. SYSTEM is llm-d, dynamo, or smg.",
  positional = { name = "SYSTEM POLICY", count = 2, doc = "Target system, and policy." },
  groups = {
    {
      title = "Measurement", section = "runs", has_defaults = true,
      options = {
        { name = "baseline", type = "string", flag = "--baseline", metavar = "POLICY",
          doc = "Measure the policy against this one in the scenarios of blis gate, and write the "
            .. "changes to the output as well. With --format json, the default is least-loaded." },
        { name = "seeds", type = "integer", min = 2, max = 1000, default = 4, flag = "--seeds",
          doc = "Runs in each scenario, for --baseline." },
        { name = "allow_missing", type = "boolean", default = false, flag = "--allow-missing",
          doc = "Omit parts without a counterpart; a comment lists them." },
      },
    },
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        { name = "output", type = "path", is_output = true, flag = "--output",
          doc = "Output file. Default: standard output." },
        { name = "format", type = "choice", choices = { "config", "json", "go", "selector" },
          default = "config", flag = "--format",
          doc = "json: { policy_id, sim_fitness, sim_metrics, config_for_deployment }. go: for "
            .. "llm-d, a plugin skeleton per Lua scorer. selector: for Dynamo, the script itself, "
            .. "for the plugin that runs it." },
        { name = "quiet", type = "boolean", default = false, flag = "--quiet", doc = "Print no "
          .. "report." },
      },
    },
  },
}

local function is_system(word)
  for _, name in ipairs(export.systems) do
    if name == word then return true end
  end
  return false
end

local function run(parsed)
  local runs, system = parsed.values.runs, parsed.positionals[1]
  if parsed.values.output.format == "selector" then
    return require("blis.production.export.plugin").of(parsed.positionals[2]), nil
  end
  local one = subject.read(parsed.positionals[2], { allow_missing = true })
  if parsed.values.output.format == "go" then
    return require("blis.production.export.go").of(one), nil
  end
  local is_json = parsed.values.output.format == "json"
  local baseline = runs.baseline or is_json and usual_baseline or nil
  local made = export.of(system, one, { allow_missing = runs.allow_missing, seeds = runs.seeds,
    baseline = baseline and subject.read(baseline) })
  return is_json and export.json(made) or export.text(made), made
end

return command.define(definition, function(parsed)
  local output, system = parsed.values.output, parsed.positionals[1]
  if #parsed.positionals ~= 2 then
    command.fail(definition, "expected SYSTEM POLICY, got %d words", #parsed.positionals)
  elseif not is_system(system) then
    command.fail(definition, "invalid value '%s': expected one of %s", system,
      table.concat(export.systems, ", "))
  elseif output.format == "go" and system ~= "llm-d" then
    command.fail(definition, "--format go requires system llm-d")
  elseif output.format == "selector" and system ~= "dynamo" then
    command.fail(definition, "--format selector requires system dynamo")
  end
  command.checked(definition, outputs.check, definition, parsed)
  local text, made = command.checked(definition, run, parsed)
  if output.output then
    local file <close> = core.output(output.output)
    file:write(text)
    file:commit()
  else
    command.print(text)
  end
  if made and not output.quiet then command.say((made.findings:text():gsub("\n$", ""))) end
end)
