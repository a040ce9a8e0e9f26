--- Candidates and commands as the macro-level plan writes them: a flat table of parameters of
--- built-in policies, such as { ["routing.cache_affinity_weight"] = 0.7, ["admission.bucket_size"]
--- = 500 }, `gepa-evaluate --policy-config P --workload W`, and `openevolve-evaluate --config C
--- --candidate P`.
local command = require "blis.cli.command"
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"
local sorted = require "blis.sorted"
local yaml_file = require "blis.yaml_file"

local plan = {}

-- The policy that takes the parameters of a kind, if the candidate names none ("routing.type").
local templates = { routing = "weighted-scoring", admission = "token-bucket",
  priority = "slo-based", autoscale = "threshold" }

-- The options of an experiment for these kinds.
local options = { routing = "routing", admission = "admission", priority = "priority",
  autoscale = "autoscaler" }

local default_weights = "throughput:0.5,p99_ttft:0.5"

--- Whether a set of parameters is in the form of the plan: names with dots, unless the suite has
--- such parameters itself.
---@param values table<string, any>
---@param own? blis.eval.Parameter[] of the suite
---@return boolean
function plan.is_meant(values, own)
  for _, one in ipairs(own or {}) do
    if one.name:find(".", 1, true) then return false end
  end
  for key in pairs(values) do
    if type(key) == "string" and key:find(".", 1, true) then return true end
  end
  return false
end

--- The parameters by kind: { routing = { type =, params = { ... } }, ... }.
local function by_kind(values, name)
  local kinds = {}
  for _, key in ipairs(sorted.names(values)) do
    local kind, parameter = key:match "^(%l+)%.([%w_]+)$"
    if not templates[kind] then
      errors.invalid("%s: unknown parameter '%s', expected KIND.PARAMETER, where KIND is %s", name,
        key, table.concat(sorted.names(templates), ", "))
    end
    kinds[kind] = kinds[kind] or { type = templates[kind], params = {} }
    if parameter == "type" then
      kinds[kind].type = values[key]
    else
      kinds[kind].params[parameter] = values[key]
    end
  end
  return kinds
end

local function scales(suite)
  for _, scenario in ipairs(suite.scenarios) do
    if scenario.scaling then return true end
  end
  return false
end

--- The policies of a candidate. An autoscaler is omitted if no scenario of the suite scales.
---@param values table<string, any>
---@param suite blis.eval.Suite
---@param name string
---@param write? fun(line: string) receives a note about an omission
---@return table<string, any> options of an experiment
function plan.policies(values, suite, name, write)
  local made = {}
  for kind, given in pairs(by_kind(values, name)) do
    local policy = { given.type }
    for key, value in pairs(given.params) do policy[key] = value end
    made[options[kind]] = policy
  end
  if made.autoscaler and not scales(suite) then
    made.autoscaler = nil
    if write then
      write(("%s: autoscale.* has no effect: no scenario of suite %s scales"):format(name,
        suite.name))
    end
  end
  return made
end

-- Commands.

local function weights_text(given, path)
  if given == nil then return default_weights end
  if type(given) == "string" then return given end
  if type(given) ~= "table" then
    errors.invalid("%s: fitness_weights is %s, expected NAME: WEIGHT pairs", path,
      errors.show(given))
  end
  local parts = {}
  for i, key in ipairs(sorted.names(given)) do parts[i] = ("%s:%s"):format(key, given[key]) end
  return table.concat(parts, ",")
end

--- Runs `blis run` with a policy bundle and a workload; prints its result as JSON, with the fitness
--- and the decisions.
local function simulate(run_command, bundle, workload, weights, flags)
  local arguments = { "--policy-config", bundle, "--workload-spec", workload, "--format", "json",
    "--fitness-weights", weights, "--trace-level", "decisions", "--counterfactual-k", "2",
    "--summarize-trace" }
  table.move(flags, 1, #flags, #arguments + 1, arguments)
  return run_command(arguments)
end

local function folder_of(path) return path:match "^(.*/)" or "" end

--- A path of the configuration, relative to its folder.
local function path_in(config_path, path)
  return path:find "^/" and path or folder_of(config_path) .. path
end

--- { model = X, ["num-instances"] = 4 } as flags.
local function flags_of(given, path)
  local flags = {}
  if given ~= nil and type(given) ~= "table" then
    errors.invalid("%s: run is %s, expected flags of blis run, such as num-instances: 4", path,
      errors.show(given))
  end
  for _, name in ipairs(sorted.names(given or {})) do
    flags[#flags + 1] = "--" .. name
    flags[#flags + 1] = tostring(given[name])
  end
  return flags
end

local function read_table(path)
  local root = yaml_file.read(path).root
  if type(root) ~= "table" then
    errors.invalid("%s: expected a table of keys and values", path)
  end
  return root
end

--- The path of the bundle of a candidate: its own, or that of a new file, which must be removed.
local function bundle_of(path)
  local values = read_table(path)
  if not plan.is_meant(values) then return path, false end
  local made = os.tmpname()
  local output = core.output(made)
  output:write(json.encode(by_kind(values, path)) .. "\n")
  output:commit()
  return made, true
end

local function run_openevolve(definition, values, run_command)
  if not values.candidate then command.fail(definition, "--config requires --candidate FILE") end
  local config = values.config and read_table(values.config) or {}
  local workload = values.workload or config.workload and path_in(values.config, config.workload)
  if not workload then
    command.fail(definition, "the workload is missing: set 'workload: FILE' in %s, or --workload",
      values.config or "--config FILE")
  end
  local bundle, is_temporary = bundle_of(values.candidate)
  local ok, status = pcall(simulate, run_command, bundle, workload, values.fitness_weights
    or weights_text(config.fitness_weights, values.config), flags_of(config.run, values.config))
  if is_temporary then os.remove(bundle) end
  if ok then return status end
  if is_temporary and type(status) == "table" and type(status.message) == "string" then
    status.message = status.message:gsub(bundle:gsub("%p", "%%%0"), values.candidate)
  end
  error(status, 0)
end

--- Runs the command of the plan; some of its flags are set.
---@param definition blis.cli.Command
---@param values table<string, string> the flags of plan.flags
---@param run_command fun(arguments: string[]): integer `blis run`
---@return integer status
function plan.run(definition, values, run_command)
  if values.config or values.candidate then
    return run_openevolve(definition, values, run_command)
  end
  if not values.policy_config or not values.workload then
    command.fail(definition, "--policy-config and --workload require each other")
  end
  local bundle, is_temporary = bundle_of(values.policy_config)
  local ok, status = pcall(simulate, run_command, bundle, values.workload,
    values.fitness_weights or default_weights, {})
  if is_temporary then os.remove(bundle) end
  if not ok then error(status, 0) end
  return status
end

--- The flags of one run, by the name of the command.
---@type table<string, blis.Option[]>
plan.flags = {}

local workload = { name = "workload", type = "path", flag = "--workload", metavar = "FILE",
  doc = "Workload specification (YAML) of one run instead of a suite." }
local weights = { name = "fitness_weights", type = "string", flag = "--fitness-weights",
  metavar = "KEY:WEIGHT,...", doc = "Weights of the fitness of this run. Default: "
    .. default_weights .. "." }

plan.flags["gepa-evaluate"] = {
  { name = "policy_config", type = "path", flag = "--policy-config", metavar = "FILE",
    doc = "Policy bundle (YAML) of one run, or parameters such as routing.queue_depth_weight: 1. "
      .. "Prints the result as JSON, with its fitness and decisions." },
  workload, weights,
}

plan.flags["openevolve-evaluate"] = {
  { name = "config", type = "path", flag = "--config", metavar = "FILE",
    doc = "Configuration (YAML) of one run instead of a suite: workload (a file), "
      .. "fitness_weights, and run (flags of blis run). Other keys are ignored." },
  { name = "candidate", type = "path", flag = "--candidate", metavar = "FILE",
    doc = "Candidate of this run (YAML or JSON): a policy bundle, or parameters such as "
      .. "routing.queue_depth_weight: 1. Prints the result as JSON, with its fitness." },
  workload, weights,
}

return plan
