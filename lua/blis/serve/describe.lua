--- Description of the server for clients without its manual.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local request = require "blis.serve.request"
local suites = require "blis.eval.suite"

local describe = {}

local api = [[
A program is Lua text that returns a policy: a function(request, instances) that returns the place
of an instance in the list; blis.scorer { name =, score = function(request, instance) return 0.5
end } with scores from 0 to 1; { "weighted", scorers = { { scorer, weight }, ... } }; the name of a
built-in policy; or a table of routing, admission, scheduler, preemption, priority, autoscaler,
disaggregation, cascade. `local p = ...` gives the parameters. It runs in a sandbox: no files,
clocks or processes; math.random is seeded.]]

local function scenarios(known)
  local list = {}
  for _, id in ipairs(known.ids) do
    local found = known.by_id[id]
    local parameters = {}
    for i, one in ipairs(found.suite.parameters) do
      parameters[i] = json.object("name", one.name, "low", one.low, "high", one.high,
        "default", one.default)
    end
    list[#list + 1] = json.object("id", id, "suite", found.suite.name,
      "split", found.scenario.split, "requests", found.scenario.requests,
      "summary", found.suite.summary, "parameters", json.list(parameters))
  end
  return json.list(list)
end

local function metric_list()
  local list = {}
  for i, one in ipairs(metrics.list) do
    list[i] = json.object("name", one.name, "unit", one.unit, "direction", one.direction,
      "doc", one.doc)
  end
  return list
end

local function signals()
  local list = {}
  for i, one in ipairs(core.signals()) do
    list[i] = json.object("name", one.name, "unit", one.unit, "doc", one.summary,
      "freshness", one.freshness)
  end
  return list
end

local function program_names()
  local list = { "llmd.default" }
  for _, entry in ipairs(catalogue.routers) do list[#list + 1] = entry.name end
  return list
end

--- Everything.
---@param known table of request.scenarios
---@return table
function describe.all(known)
  return json.object(
    "scenarios", scenarios(known), "metrics", metric_list(), "programs", program_names(),
    "script_api", json.object("text", api, "instance_fields", signals()),
    "params", describe.options(request.section), "want", request.wanted,
    "limits", describe.options(suites.limits_section),
    "error_codes", { "parse_error", "invalid_request", "unknown_method", "invalid_params",
      "script_error", "timeout", "memory", "events", "nondeterminism", "cancelled",
      "duplicate_id", "busy", "too_large", "internal" },
    "isolation", core.jail_can_filter() and "process, resource limits, seccomp"
      or "process, resource limits")
end

--- The parts of the description that an agent needs first.
---@param known table of request.scenarios
---@return table
function describe.short(known)
  local ids, names, fields = {}, {}, {}
  for i, id in ipairs(known.ids) do
    ids[i] = ("%s (%s)"):format(id, known.by_id[id].scenario.split)
  end
  for i, one in ipairs(metrics.list) do
    names[i] = ("%s (%s, %s)"):format(one.name, one.unit, one.direction)
  end
  for i, one in ipairs(core.signals()) do fields[i] = one.name end
  return json.object("scenarios", ids, "metrics", names, "script_api", api,
    "instance_fields", fields, "want", request.wanted,
    "limits", describe.options(suites.limits_section))
end

--- The options of a section.
---@param section blis.Section
---@return table
function describe.options(section)
  local list = {}
  for i, option in ipairs(section.options) do
    local default = option.default
    list[i] = json.object("name", option.name, "doc", option.doc,
      "default", type(default) ~= "table" and default or nil)
  end
  return list
end

return describe
