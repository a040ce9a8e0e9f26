--- What stands for a policy on a command line: a configuration of a router, a script, or the name
--- of a policy; as options of an experiment.
local candidate = require "blis.eval.candidate"
local core = require "blis.core"
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local policy = require "blis.policy"
local queue = require "blis.feature.queue.read"
local script = require "blis.production.script"
local stages = require "blis.production.stages"
local text_file = require "blis.production.text_file"

local subject = {}

---@class blis.production.Subject
---@field name string as it was given
---@field label string what its routing is called
---@field points table<string, any> options of an experiment that decide
---@field signals table<string, integer> options of a cluster: how old signals are
---@field findings? blis.production.Findings of an imported one

local points = { "routing", "admission", "queue", "disaggregation", "scheduler", "preemption",
  "priority", "cascade", "autoscaler" }
local signals = { "snapshot_refresh_us", "cache_signal_delay_us" }

local function pick(from, names)
  local some = {}
  for _, name in ipairs(names) do some[name] = from[name] end
  return some
end

local function label_of(routing) return policy.read_router(routing, "routing").label end

--- The policies of an experiment, or of a value that a candidate returns.
local function of_value(value, name)
  local is_experiment = type(value) == "table" and getmetatable(value) == nil
    and (value.cluster ~= nil or value.workload ~= nil or value.queue ~= nil)
  local chosen = is_experiment and pick(value, points) or candidate.options(value, name)
  chosen.routing = chosen.routing or "round-robin"
  queue.read(chosen.queue, "design")
  hooks.read_admission(chosen.admission, "admission")
  return { name = name, points = chosen, label = label_of(chosen.routing),
    signals = is_experiment and pick(value.cluster or {}, signals) or {} }
end

--- A script has to return its policies.
local function of_script(path)
  local value = script.load(text_file.read(path), path) "policy"
  if value == nil then
    errors.invalid("%s: the script returns nothing; expected a policy or an experiment; end it "
      .. "with 'return experiment'", path)
  end
  return of_value(value, path)
end

local function of_configuration(path, options)
  local found = require("blis.production.import").read(path, options)
  local made = of_value(script.load(found.lua, path) "policy", path)
  made.findings = found.findings
  return made
end

--- "weighted" or "llm-d.queue-scorer:2,kv-utilization:1"
local function of_name(text)
  if text:find(":", 1, true) then
    return of_value({ "weighted", scorers = text }, text)
  end
  return of_value(text, text)
end

--- Reads one.
---@param text string a path, or what routing may be called
---@param options? { allow_missing?: boolean, version?: string }
---@return blis.production.Subject
function subject.read(text, options)
  if text:match "%.lua$" then return of_script(text) end
  local file = core.open_input(text)
  if file then
    file:close()
    return of_configuration(text, options)
  end
  if text:match "%.ya?ml$" or text:find "/" then
    errors.raise("usage", ("there is no file %s"):format(text))
  end
  return of_name(text)
end

local function merged(base, more)
  local copy = {}
  for key, value in pairs(base or {}) do copy[key] = value end
  for key, value in pairs(more or {}) do copy[key] = value end
  return copy
end

--- The experiment of a scenario with these policies. Options of pools are omitted for clusters
--- without pools.
---@param self blis.production.Subject
---@param scenario table { cluster, workload, ... }
---@param seed integer
---@return table
function subject.experiment(self, scenario, seed)
  local spec = merged(scenario.options, self.points)
  spec.cluster = merged(scenario.cluster, self.signals)
  spec.workload, spec.seed = scenario.workload, seed
  spec.slo_targets = scenario.slo
  spec.disaggregation = stages.fitting(spec.disaggregation, spec.cluster)
  return spec
end

return subject
