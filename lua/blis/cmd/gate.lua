--- blis gate: may a change of a scheduling policy come in?
local command = require "blis.cli.command"
local core = require "blis.core"
local endings = require "blis.endings"
local gate = require "blis.production.gate.gate"
local outputs = require "blis.cli.outputs"
local report = require "blis.production.gate.report"
local subject = require "blis.production.subject"

-- Exit status when something got worse.
local regressed = 3

local function output(name, list, doc)
  return { name = name, type = "path", is_output = true, flag = "--" .. name, endings = list,
    doc = doc }
end

local definition = {
  name = "gate",
  summary = "compare two scheduling policies on stock scenarios, for CI",
  usage = "blis gate BASE NEW [FLAGS]",
  description = "Runs both policies on scenarios that are difficult for schedulers, with the same "
    .. "traffic. Prints the changed metrics, the changed decisions with reasons, and the rules "
    .. "that the new policy violates. BASE and NEW are router configurations (blis import), "
    .. "scripts that return a policy or an experiment, or names of policies. Exit status: 3 if the "
    .. "new policy is worse, 0 otherwise. With --strict, also 3 if a change for the worse is "
    .. "undecided.",
  positional = { name = "BASE NEW", count = 2, doc = "The current policy, and the new one." },
  groups = {
    {
      title = "Runs", section = "runs", has_defaults = true,
      options = {
        { name = "suite", type = "path", flag = "--suite",
          doc = "A Lua file that returns { name =, scenarios = { { id =, cluster =, workload = }, "
            .. "... } }, or a YAML or JSON file with that content. Default: built-in scenarios." },
        { name = "seeds", type = "integer", min = 2, max = 1000, default = 12, unit = "seeds",
          flag = "--seeds", doc = "Runs of each policy in each scenario, with the same seeds." },
        { name = "tolerance", type = "number", min = 0, max = 1, default = 0.02,
          flag = "--tolerance", doc = "Fraction below which a change is no regression." },
        { name = "strict", type = "boolean", default = false, flag = "--strict",
          doc = "Undecided changes for the worse also end with status 3." },
        { name = "decisions", type = "integer", min = 1, max = 100000, default = 100,
          flag = "--decisions", doc = "Maximum number of changed decisions to report per "
            .. "scenario." },
        { name = "allow_missing", type = "boolean", default = false, flag = "--allow-missing",
          doc = "Same values as for blis import." },
      },
    },
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        output("markdown", endings.markdown, "Write a comment for a pull request to this file."),
        output("junit", endings.xml, "Write test results as XML to this file."),
        output("json", endings.json, "Write everything as JSON to this file."),
        { name = "reviewed", type = "path", flag = "--reviewed",
          doc = "File with the approved result hashes of the new policy. A different result counts "
            .. "as a regression." },
        { name = "update_reviewed", type = "boolean", default = false, flag = "--update-reviewed",
          doc = "Update that file." },
        { name = "quiet", type = "boolean", default = false, flag = "--quiet",
          doc = "Print only the first line." },
      },
    },
  },
}

local function write(path, text)
  local file <close> = core.output(path)
  file:write(text)
  file:commit()
end

local function write_all(result, values)
  for _, name in ipairs { "markdown", "junit", "json" } do
    if values[name] then write(values[name], report[name](result)) end
  end
  if values.update_reviewed then write(values.reviewed, gate.reviewed_text(result)) end
end

local function run(parsed)
  local runs, values = parsed.values.runs, parsed.values.output
  local base = subject.read(parsed.positionals[1], runs)
  local new = subject.read(parsed.positionals[2], runs)
  if not values.update_reviewed then runs.reviewed = values.reviewed end
  return gate.run(base, new, runs)
end

return command.define(definition, function(parsed)
  local values = parsed.values.output
  if #parsed.positionals ~= 2 then
    command.fail(definition, "expected two policies, got %d", #parsed.positionals)
  elseif values.update_reviewed and not values.reviewed then
    command.fail(definition, "--update-reviewed requires --reviewed")
  end
  command.checked(definition, outputs.check, definition, parsed)
  local result = command.checked(definition, run, parsed)
  write_all(result, values)
  local text = report.text(result)
  command.print(values.quiet and text:match "^[^\n]*\n" or text)
  local is_undecided = parsed.values.runs.strict and gate.undecided_worse(result) > 0
  return (result.is_regression or is_undecided) and regressed or 0
end)
