--- What a client asks for, checked: programs, scenarios, seeds and limits.
local candidate = require "blis.eval.candidate"
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local schema = require "blis.config.schema"
local slo = require "blis.results.slo"
local suites = require "blis.eval.suite"

local request = {}

---@class blis.serve.Evaluation
---@field candidate blis.eval.Candidate
---@field scenario blis.eval.Scenario
---@field suite blis.eval.Suite
---@field seeds integer[]
---@field parameters table
---@field limits blis.eval.Limits
---@field want table<string, boolean>
---@field objectives blis.serve.Metric[]
---@field constraints { metric: blis.serve.Metric, bound: string }[]
---@field key string the same for equal requests
---@field perform? fun(): string performs the request, instead of the other fields (experiments.lua)
---@field name? string for messages, in place of the candidate's

---@type blis.Section
local evaluate_section = {
  name = "params",
  summary = "An evaluation.",
  options = {
    { name = "program", type = "any",
      doc = "{ lua = text }, { file = path } or { name = policy }" },
    { name = "scenario", type = "any", doc = "the id of a scenario, or { cluster =, workload = }" },
    { name = "workload", type = "table", doc = "options in place of those of the scenario" },
    { name = "params", type = "table", doc = "the first argument of the program, or, without a "
      .. "program, a candidate that is a set of parameters" },
    { name = "seeds", type = "table", doc = "integers; default { 1 }" },
    { name = "fidelity", type = "number", above = 0, max = 1, default = 1,
      doc = "share of the requests that are simulated" },
    { name = "limits", type = "table", doc = "cpu_s, wall_s, memory_mb, events and instructions" },
    { name = "want", type = "table",
      doc = "objectives, constraints, per_seed, feedback, trace, metrics" },
    { name = "objectives", type = "table", doc = "names of metrics" },
    { name = "constraints", type = "table", doc = "{ served_share = \">=0.99\" }" },
  },
}

--- Scenarios by id, of the suites that ship and another one.
---@param extra? blis.eval.Suite
---@return { suites: blis.eval.Suite[], by_id: table<string, table>, ids: string[] }
function request.scenarios(extra)
  local known = { suites = {}, by_id = {}, ids = {} }
  for _, name in ipairs(suites.names) do known.suites[#known.suites + 1] = suites.read(name) end
  if extra then table.insert(known.suites, 1, extra) end
  for _, suite in ipairs(known.suites) do
    for _, scenario in ipairs(suite.scenarios) do
      if not known.by_id[scenario.id] then
        known.by_id[scenario.id] = { suite = suite, scenario = scenario }
        known.ids[#known.ids + 1] = scenario.id
      end
    end
  end
  return known
end

-- Names of programs that are no routing policies.
local programs = {
  ["llmd.default"] =
    [[return { "weighted", scorers = "prefix-affinity:3,queue-depth:2,kv-utilization:2" }]],
}

local function named_program(name)
  if programs[name] then return candidate.read(programs[name], name) end
  local words = {}
  for i, entry in ipairs(catalogue.routers) do
    words[i] = entry.name
    if entry.name == name then return candidate.read(("return %q"):format(name), name) end
  end
  errors.invalid("program.name: unknown policy %s%s", errors.show(name),
    errors.suggestion(tostring(name), words, "method describe lists them"))
end

local function file_program(path)
  local text, problem = candidate.read_file(tostring(path))
  if not text then errors.invalid("program.file: cannot open %s", problem) end
  return candidate.read(text, path:match "[^/]*$")
end

local function read_program(given, params)
  if given == nil and params then return candidate.of_parameters(params, "params") end
  if type(given) ~= "table" then
    errors.invalid("program is %s, expected { lua = text }, { file = path } or { name = policy }",
      errors.show(given))
  end
  if type(given.lua) == "string" then return candidate.read(given.lua, "policy.lua") end
  if type(given.file) == "string" then return file_program(given.file) end
  if given.name ~= nil then return named_program(given.name) end
  errors.invalid("program has none of lua, file and name")
end

local function copy_of(values)
  local copy = {}
  for key, value in pairs(values) do copy[key] = value end
  return copy
end

local plain_suite = {
  tie = "lowest-id", limits = schema.read(suites.limits_section, {}, "limits"), parameters = {},
  policy = function() errors.invalid("this scenario has no parameters; send a program") end,
}

local function read_scenario(given, known)
  if type(given) == "string" then
    local found = known.by_id[given]
    if not found then
      errors.invalid("scenario: unknown scenario '%s'%s", given,
        errors.suggestion(given, known.ids, "method describe lists them"))
    end
    return copy_of(found.scenario), found.suite
  end
  if type(given) ~= "table" then
    errors.invalid("scenario is %s, expected the id of one or an object", errors.show(given))
  end
  local values = copy_of(given)
  values.id = values.id or "scenario"
  values.slo = values.slo or { default = { ttft_ms = 1000, itl_ms = 100 } }
  return suites.read_scenario(values, "scenario"), plain_suite
end

local function change_workload(scenario, changes, fidelity)
  local workload = copy_of(scenario.workload)
  for key, value in pairs(changes or {}) do workload[key] = value end
  suites.check_traffic(workload, "workload")
  local count = workload.requests and "requests" or "num_requests"
  workload[count] = math.max(1, math.ceil(workload[count] * fidelity))
  scenario.workload = workload
  scenario.requests = workload[count]
  scenario.targets = slo.read(scenario.slo, "slo")
  scenario.horizon_us = suites.horizon_of(workload, scenario.drain_us)
end

-- Seeds of one evaluation at most.
local most_seeds = 10000

local function read_seeds(given)
  local seeds = given or { 1 }
  if #seeds == 0 or #seeds > most_seeds then
    errors.invalid("seeds: %d of them, expected 1 to %d", #seeds, most_seeds)
  end
  for i, seed in ipairs(seeds) do
    if math.type(seed) ~= "integer" then
      errors.invalid("seeds[%d] is %s, expected an integer", i, errors.show(seed))
    end
  end
  return seeds
end

local function read_limits(given, suite)
  local own = copy_of(given or {})
  own.call_instructions, own.instructions = own.instructions, nil
  local values = schema.read(suites.limits_section, own, "limits")
  local limits = copy_of(suite.limits)
  for name in pairs(own) do limits[name] = values[name] end
  -- A call that may take more than the suite's run: the run follows, or the call never could.
  if not own.all_instructions then
    limits.all_instructions = math.max(limits.all_instructions, limits.call_instructions)
  end
  return limits
end

local function find_metric(name, path)
  return metrics.by_name[name] or errors.invalid("%s: unknown metric %s%s", path,
    errors.show(name), errors.suggestion(tostring(name), metrics.names))
end

local function read_objectives(given)
  local list, seen = {}, {}
  for i, name in ipairs(given or { "ttft_p99_ms", "cost" }) do
    local path = ("objectives[%d]"):format(i)
    list[i] = find_metric(name, path)
    if seen[name] then errors.invalid("%s: '%s' is a duplicate", path, name) end
    seen[name] = true
  end
  return list
end

local function read_constraints(given)
  local list = {}
  for name, bound in pairs(given or { served_share = ">=0.99" }) do
    local metric = find_metric(name, "constraints")
    if not metrics.bound(bound) then
      errors.invalid("constraints.%s is %s, expected a string such as '>=0.99'", name,
        errors.show(bound))
    end
    list[#list + 1] = { metric = metric, bound = bound }
  end
  table.sort(list, function(a, b) return a.metric.name < b.metric.name end)
  return list
end

local wanted = { "objectives", "constraints", "per_seed", "feedback", "trace", "metrics" }

local function read_want(given)
  local is_known, want = {}, {}
  for _, name in ipairs(wanted) do is_known[name] = true end
  for i, name in ipairs(given or { "objectives", "constraints" }) do
    if not is_known[name] then
      errors.invalid("want[%d]: unknown part %s%s", i, errors.show(name),
        errors.suggestion(tostring(name), wanted))
    end
    want[name] = true
  end
  return want
end

--- JSON's null is nothing.
local function without_nulls(values)
  local copy = {}
  for key, value in pairs(values) do
    if value ~= core.json_null then copy[key] = value end
  end
  return copy
end

--- The parameters of an evaluation; raises what is wrong with them.
---@param given any
---@param known table of request.scenarios
---@return blis.serve.Evaluation
function request.read(given, known)
  if type(given) ~= "table" then
    errors.invalid("params is %s, expected an object", errors.show(given))
  end
  local values = schema.read(evaluate_section, without_nulls(given), "params")
  local scenario, suite = read_scenario(values.scenario or known.ids[1], known)
  change_workload(scenario, values.workload, values.fidelity)
  local program = read_program(values.program, values.params)
  return {
    candidate = program, key = core.hash128(json.encode(given) .. program.hash),
    scenario = scenario, suite = suite, seeds = read_seeds(values.seeds),
    parameters = values.params or {}, limits = read_limits(values.limits, suite),
    want = read_want(values.want), objectives = read_objectives(values.objectives),
    constraints = read_constraints(values.constraints),
  }
end

local function in_range(value, default, most)
  return math.type(value) and value > 0 and value <= most and value or default
end

--- The limits and the name of an unchecked evaluation. The cost does not depend on the size of the
--- client's input. A wrong value yields the default here and an error in request.read.
---@param given any
---@param known table of request.scenarios
---@return blis.serve.Outline
function request.outline(given, known)
  given = type(given) == "table" and given or {}
  local program = type(given.program) == "table" and given.program or {}
  local limits = type(given.limits) == "table" and given.limits or {}
  local found = type(given.scenario) == "string" and known.by_id[given.scenario]
  local default = (found and found.suite or plain_suite).limits
  local name = program.name or program.file or (given.program and "policy.lua" or "params")
  return {
    name = type(name) == "string" and name:match("[^/]*$"):sub(1, 200) or "policy.lua",
    limits = {
      wall_s = in_range(limits.wall_s, default.wall_s, 1000000),
      cpu_s = in_range(limits.cpu_s, default.cpu_s, 1000000),
      memory_mb = in_range(limits.memory_mb, default.memory_mb, 1 << 20),
    },
  }
end

request.programs, request.wanted, request.section = programs, wanted, evaluate_section

return request
