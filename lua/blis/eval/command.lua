--- What `blis eval` and the names that loops know it by have in common.
local adapters = require "blis.eval.adapters"
local candidate = require "blis.eval.candidate"
local command = require "blis.cli.command"
local core = require "blis.core"
local eval = require "blis.eval"
local feedback = require "blis.eval.feedback"
local json = require "blis.json"
local processes = require "blis.eval.processes"
local processors = require "blis.processors"
local suites = require "blis.eval.suite"

local eval_command = {}

local stages = { "smoke", "train", "full", "test" }

local options = {
  { name = "stage", type = "choice", choices = stages, flag = "--stage",
    doc = "Part of the suite to run. Each stage contains the previous one. Use test only for the "
      .. "final score. (default full)" },
  { name = "split", type = "choice", choices = { "train", "validation" }, default = "train",
    flag = "--split", doc = "Scenarios of the stages smoke, train, and full: train for searches, "
      .. "validation for a check." },
  { name = "scenario", type = "string", is_list = true, flag = "--scenario", metavar = "ID",
    doc = "Run only this scenario." },
  { name = "batch", type = "path", flag = "--batch", metavar = "FILE",
    doc = "Many in one call: lines of JSON { \"policy\": PATH or \"lua\": TEXT or \"parameters\": "
      .. "{}, \"scenario\": ID }. Prints a line for each, in order." },
  { name = "json", type = "boolean", default = false, flag = "--json",
    doc = "Print one JSON object per line." },
  { name = "score", type = "choice", choices = { "mean", "lcb" }, default = "mean",
    flag = "--score", doc = "lcb: the lower end of the interval." },
  { name = "heldout", type = "boolean", default = false, flag = "--heldout",
    doc = "With full or test: report the score on the test split as 'private'." },
  { name = "frozen", type = "path", flag = "--frozen", metavar = "FILE",
    doc = "Require the code outside the EVOLVE-BLOCK to equal this file. 'seed': the suite's seed "
      .. "program." },
  { name = "bounds", type = "boolean", default = false, flag = "--bounds",
    doc = "Instead of a policy: print the scores of the suite's bounds: reactive (least-loaded), "
      .. "catalogue (the best policy that ships, on train) and oracle (fresh signals)." },
  { name = "seed_program", type = "boolean", default = false, flag = "--seed-program",
    doc = "Print the policy that a search of this suite starts from." },
  { name = "emit_adapter", type = "choice", choices = adapters.names, flag = "--emit-adapter",
    doc = "Instead of an evaluation: print an evaluator for a framework." },
  { name = "shinka_dir", type = "path", flag = "--shinka-dir", metavar = "DIR",
    doc = "Also write DIR/metrics.json and DIR/correct.json." },
}

local limit_options = {
  { name = "call_instructions", type = "integer", min = 1000, max = 1 << 50, flag = "--instr",
    doc = "Maximum Lua instructions per call of a hook. Default: the limit of the suite." },
  { name = "memory_mb", type = "integer", min = 1, max = 1 << 20, unit = "MB", flag = "--mem",
    doc = "Memory limit of a run." },
  { name = "wall_s", type = "number", above = 0, max = 1e6, unit = "s", flag = "--wall",
    bare_unit = "s",
    doc = "Wall-clock time limit of a run. A number without unit is in seconds." },
}

local run_options = {
  { name = "jobs", type = "integer", min = 1, max = 1024, flag = "-j", flag_aliases = { "--jobs" },
    doc = "Concurrent processes. The result does not depend on it. (default: one per processor)" },
}

local function definition_of(name)
  local definition = {
    name = name,
    summary = name == "eval" and "the score of a policy in a suite of scenarios"
      or "blis eval under the name that a framework's users look for",
    usage = ("blis %s SUITE POLICY [STAGE] [FLAGS]"):format(name),
    description = "Runs a policy (Lua, or a JSON object of parameters; '-' reads it from standard "
      .. "input) in sandboxed processes and compares it with the suite's baseline on the same "
      .. "requests: 1 is the baseline, more is better, 0 is not valid. SUITE is chat, agents, "
      .. "gateway or a file. Exit status: 0 when there is a result, valid or not; 1 when the suite "
      .. "is broken; 2 for mistakes in the command line.",
    positional = { name = "SUITE POLICY [STAGE]", doc = "Suite, policy, and a stage.", count = 3 },
    groups = {
      { title = "What is run", section = "eval", has_defaults = true, options = options },
      { title = "Limits", section = "limits", options = limit_options },
      { title = "Run", section = "run", options = run_options },
    },
  }
  if name ~= "eval" then
    table.insert(definition.groups, 1, { title = "One run", section = "plan",
      options = require("blis.eval.plan").flags[name] })
  end
  return definition
end

local function read_text(path)
  if path == "-" then return io.read "a" end
  local file, problem = core.open_input(path)
  if not file then return nil, problem end
  local text, why = file:read "a"
  file:close()
  return text, why
end

--- The text of a candidate, which is no longer than candidates may be.
local function read_policy(path)
  if path == "-" then return io.read(candidate.most_bytes + 1) or "" end
  return candidate.read_file(path)
end

local function base_name(path) return path == "-" and "policy.lua" or path:match "[^/]*$" end

local function copy_of(values)
  local copy = {}
  for key, value in pairs(values) do copy[key] = value end
  return copy
end

local function limits_of(suite, given)
  local limits = copy_of(suite.limits)
  for name, value in pairs(given) do limits[name] = value end
  if given.wall_s then limits.cpu_s = math.min(limits.cpu_s, math.ceil(given.wall_s) + 1) end
  return limits
end

local function only(definition, stage, ids)
  if not ids then return stage end
  local copy, words = copy_of(stage), {}
  copy.scenarios = {}
  for _, id in ipairs(ids) do
    local found
    for i, scenario in ipairs(stage.scenarios) do
      words[i] = scenario.id
      if scenario.id == id then found = scenario end
    end
    if not found then
      command.fail(definition, "--scenario '%s' is not in stage %s; there are %s", id, stage.name,
        table.concat(words, ", "))
    end
    copy.scenarios[#copy.scenarios + 1] = found
  end
  return copy
end

local function stage_of(definition, parsed, suite)
  local values, positional = parsed.values.eval, parsed.positionals[3]
  if positional and values.stage then
    command.fail(definition, "the stage is set twice: '%s' and --stage", positional)
  end
  local name = positional or values.stage or "full"
  local stage = suite.stages[name]
  if not stage then
    command.fail(definition, "unknown stage '%s'; known are %s", name, table.concat(stages, ", "))
  end
  if values.split == "validation" then
    if name == "test" then command.fail(definition, "--split requires the stage smoke, train, or "
      .. "full") end
    stage = suites.validation(suite, stage)
  end
  if values.heldout and name ~= "full" and name ~= "test" then
    command.fail(definition, "--heldout requires the stage full or test, because a search must not "
      .. "see this score")
  end
  return stage
end

local function evaluation_options(definition, parsed, suite)
  local values = parsed.values.eval
  local stage = stage_of(definition, parsed, suite)
  local frozen
  if values.frozen == "seed" then
    frozen = suite.seed_program
  elseif values.frozen then
    local text, problem = read_text(values.frozen)
    if not text then command.fail(definition, "--frozen: cannot open %s", problem) end
    frozen = text
  end
  return {
    stage = only(definition, stage, values.scenario), limits = limits_of(suite,
      parsed.values.limits), jobs = parsed.values.run.jobs or processors.usable(), frozen = frozen,
    lcb = values.score == "lcb", heldout = values.heldout and suite.stages.test or nil,
    probes = stage.name == "full" or stage.name == "test", known = {},
  }
end

local function field(object, name)
  for i = 1, object.pairs_of.n, 2 do
    if object.pairs_of[i] == name then return object.pairs_of[i + 1] end
  end
end

local function write_file(path, text)
  local output = core.output(path)
  output:write(text)
  output:commit()
end

--- The two files that ShinkaEvolve reads.
local function write_shinka(folder, result)
  local object = result.object
  local artifacts = field(object, "artifacts")
  core.make_folder(folder)
  write_file(folder .. "/metrics.json", json.encode(json.object(
    "combined_score", field(object, "combined_score"), "public", field(object, "public"),
    "private", field(object, "private"), "text_feedback", field(artifacts, "feedback"))) .. "\n")
  write_file(folder .. "/correct.json", json.encode(json.object(
    "correct", field(object, "correct"), "error", field(artifacts, "error") or json.null)) .. "\n")
end

local function print_result(suite, stage, result)
  local lines = { ("%s, stage %s (%d scenarios, %d seeds)"):format(suite.name, stage.name,
    #stage.scenarios, #stage.seeds), result.feedback, "" }
  for _, one in ipairs(result.scored and result.scored.scenarios or {}) do
    lines[#lines + 1] = ("  %-24s %8.3f%s"):format(one.scenario.id, math.exp(one.log_ratio),
      one.low and ("  (%.3f to %.3f)"):format(math.exp(one.low), math.exp(one.high)) or "")
  end
  command.print(table.concat(lines, "\n") .. "\n")
end

local function run_bounds(suite, chosen)
  local lines = { ("%s: possible improvement in stage %s; the baseline scores 1"):format(suite.name,
    chosen.stage.name) }
  local names = {}
  for name in pairs(suite.bounds) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local stage = chosen.stage
    if name == "oracle" then stage = suites.oracle(stage) end
    local own = copy_of(chosen)
    own.stage, own.probes = stage, false
    local result = eval.run(suite, suite.bounds[name], name, own)
    lines[#lines + 1] = ("  %-10s %8.3f  %s"):format(name, result.score,
      result.feedback:match "^[^\n]*")
  end
  command.print(table.concat(lines, "\n") .. "\n")
end

--- One line of a batch, as text and name.
local function batch_item(line, number)
  local ok, item = pcall(json.decode, line)
  if not ok or type(item) ~= "table" then
    return nil, nil, nil, ("line %d of the batch is not a JSON object"):format(number)
  end
  if type(item.parameters) == "table" then
    return json.encode(item.parameters), "parameters", item
  end
  if type(item.lua) == "string" then return item.lua, "policy.lua", item end
  if type(item.policy) == "string" then
    local text, problem = read_policy(item.policy)
    if not text then return nil, nil, item, "cannot open " .. problem end
    return text, base_name(item.policy), item
  end
  return nil, nil, item, ("line %d of the batch has none of policy, lua, parameters"):format(number)
end

local function failed_object(message)
  return json.object("schema", "blis-eval/1", "verdict", eval.failure_verdict(nil, message),
    "status", "error", "combined_score", 0,
    "correct", false, "metrics", json.object("combined_score", 0, "validity", -1),
    "scenarios", json.list {}, "public", json.object(), "private", json.object(),
    "artifacts", json.object("feedback", "INVALID: score 0. " .. feedback.clean(message),
      "error", feedback.clean(message)), "provenance", json.object())
end

local function scenario_only(chosen, id)
  for _, scenario in ipairs(chosen.stage.scenarios) do
    if scenario.id == id then
      local copy = copy_of(chosen)
      copy.stage = copy_of(chosen.stage)
      copy.stage.scenarios = { scenario }
      return copy
    end
  end
end

local function run_batch(definition, path, suite, chosen)
  local text, problem = read_text(path)
  if not text then command.fail(definition, "--batch: cannot open %s", problem) end
  local number = 0
  for line in text:gmatch "[^\n]+" do
    number = number + 1
    local policy, name, item, wrong = batch_item(line, number)
    local own = chosen
    if item and type(item.scenario) == "string" then
      own = scenario_only(chosen, item.scenario)
      wrong = wrong or not own and ("unknown scenario '%s'"):format(item.scenario)
    end
    local object = wrong and failed_object(wrong) or eval.run(suite, policy, name, own).object
    command.print(json.encode(object) .. "\n")
  end
end

local function run(definition, parsed, run_command)
  local values = parsed.values.eval
  if parsed.values.plan and next(parsed.values.plan) then
    return require("blis.eval.plan").run(definition, parsed.values.plan, run_command)
  end
  if not parsed.positional then
    command.fail(definition, "which suite? %s", definition.usage)
  end
  local suite = suites.read(parsed.positional)
  if values.seed_program then return command.print(suite.seed_program) end
  if values.emit_adapter then
    return command.print(adapters.text(values.emit_adapter, suite, parsed.positional))
  end
  local chosen = evaluation_options(definition, parsed, suite)
  if values.bounds and parsed.positionals[2] then
    command.fail(definition, "--bounds accepts no policy; select a stage with --stage")
  end
  if values.bounds then return run_bounds(suite, chosen) end
  if values.json or values.batch then processes.parent = core.parent() end
  if values.batch then return run_batch(definition, values.batch, suite, chosen) end
  local path = parsed.positionals[2]
  if not path then command.fail(definition, "which policy? %s", definition.usage) end
  local text, problem = read_policy(path)
  if not text then command.fail(definition, "cannot open %s", problem) end
  local result = eval.run(suite, text, base_name(path), chosen)
  if values.shinka_dir then write_shinka(values.shinka_dir, result) end
  if values.json then
    command.print(json.encode(result.object) .. "\n")
  else
    print_result(suite, chosen.stage, result)
  end
end

--- The module of the command under a name.
---@param name string
---@param run_command? fun(arguments: string[]): integer `blis run`, for the flags of one run
function eval_command.of(name, run_command)
  local definition = definition_of(name)
  return command.define(definition, function(parsed)
    local ok, problem = pcall(run, definition, parsed, run_command)
    if ok then return math.type(problem) == "integer" and problem or 0 end
    if type(problem) == "table" and problem.code == "usage" then error(problem, 0) end
    local message = type(problem) == "table" and problem.message or tostring(problem)
    command.say("blis: " .. name .. ": " .. message)
    return 1
  end)
end

return eval_command
