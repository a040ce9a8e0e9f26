--- Policy bundles: the YAML files of --policy-config. Flags that were given go before them.
local engine = require "blis.engine"
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local policy = require "blis.policy"
local schema = require "blis.config.schema"
local section = require "blis.config.bundle"
local yaml_file = require "blis.yaml_file"

local bundle = {}

--- A copy without empty texts, which mean that nothing was given.
local function without_empty(given)
  local copy = {}
  for key, value in pairs(given) do
    if type(value) == "table" then
      copy[key] = without_empty(value)
    elseif value ~= "" then
      copy[key] = value
    end
  end
  return copy
end

--- { { name =, weight = }, ... } as blis.run takes scorers; nil for an empty list.
local function scorers_of(given)
  local list = {}
  if given and #given == 0 and next(given) ~= nil then
    errors.invalid("bundle.routing.scorers: expected a list of { name, weight }")
  end
  for i, one in ipairs(given or {}) do
    local path = ("bundle.routing.scorers[%d]"):format(i)
    local values = schema.read({
      name = "scorer", summary = "A scorer and its weight.",
      options = {
        { name = "name", type = "string", required = true, doc = "Of the scorer." },
        { name = "weight", type = "number", above = 0, required = true, doc = "Its weight." },
      },
    }, one, path)
    list[i] = { values.name, values.weight }
  end
  return #list > 0 and list or nil
end

--- A cascade as blis.run takes it.
local function cascade_of(given)
  if not given then return nil end
  local cascade = {}
  for key, value in pairs(given) do cascade[key] = value end
  cascade[1], cascade.policy = cascade.policy, nil
  return cascade
end

--- A policy and its parameters as blis.run takes them.
local function policy_of(block)
  if not block or not block.policy then return nil end
  local made = { block.policy }
  for key, value in pairs(block.params or {}) do made[key] = value end
  return made
end

-- Blocks that the macro-level plan writes { type =, params = }.
local planned = { "admission", "routing", "priority", "autoscale" }

--- A copy in which the plan's spelling is that of BLIS in Go.
local function without_types(given)
  local copy = {}
  for key, value in pairs(given) do copy[key] = value end
  for _, name in ipairs(planned) do
    local block = copy[name]
    if type(block) == "table" and block.type ~= nil and block.policy == nil then
      copy[name] = { policy = block.type }
      for key, value in pairs(block) do
        if key ~= "type" then copy[name][key] = value end
      end
    end
  end
  local scheduler = copy.scheduler
  if type(scheduler) == "table" and scheduler.type ~= nil
    and next(scheduler.params or {}) == nil then
    copy.scheduler = scheduler.type
  end
  return copy
end

local function refuse(path, reason)
  errors.invalid("bundle.%s is not available: %s", path, reason)
end

--- What is asked for and not there.
local function check_is_available(values)
  local autoscaler = values.autoscaler or {}
  if values.node_pools and next(values.node_pools) ~= nil then
    refuse("node_pools", "instances are not placed on machines")
  end
  if (autoscaler.interval_us or 0) > 0 then
    refuse("autoscaler.interval_us", "instances are not placed on machines; autoscale: scales")
  end
end

local function check_names(values, scorers)
  local admission, routing = values.admission or {}, values.routing or {}
  if admission.policy then
    hooks.read_admission(policy_of(admission), "bundle.admission.policy")
  end
  if routing.policy then policy.read_router(policy_of(routing), "bundle.routing.policy") end
  if scorers then policy.read_scorers(scorers, "bundle.routing.scorers") end
  hooks.read_priority(policy_of(values.priority), "bundle.priority.policy")
  hooks.read_cascade(cascade_of(values.cascade), "bundle.cascade")
  local autoscaler = policy_of(values.autoscale)
  if autoscaler then hooks.read_autoscaler(autoscaler, "bundle.autoscale") end
end

local function read(file)
  if type(file.root) ~= "table" then
    errors.invalid("bundle: %s is not allowed, expected keys and values", errors.show(file.root))
  end
  local values = schema.read(section, without_types(without_empty(file.root)), "bundle")
  local scorers = scorers_of((values.routing or {}).scorers)
  check_is_available(values)
  check_names(values, scorers)
  if values.groups then engine.check_groups(values.groups, "bundle.groups") end
  return values, scorers
end

--- Parameters of the admission policies that a bundle may speak of, by policy.
local function admission_parameters(admission)
  return {
    ["token-bucket"] = {
      bucket_size = admission.token_bucket_capacity,
      refill_rate = admission.token_bucket_refill_rate,
    },
    ["tier-shed"] = {
      threshold = admission.tier_shed_threshold, min_priority = admission.tier_shed_min_priority,
    },
    ["gaie-legacy"] = {
      qd_threshold = admission.gaie_qd_threshold, kv_threshold = admission.gaie_kv_threshold,
    },
  }
end

--- A checked list of numbers as the table that options take.
local function by_name_of(list)
  if not list then return nil end
  local numbers = {}
  for _, one in ipairs(list) do numbers[one.name] = one.value end
  return numbers
end

--- Reads a bundle into the values of the flags that were not given.
---@param path string
---@param given table<string, table> values of flags by section, see blis.cli.Parsed
---@param talk fun(format: string, ...)
function bundle.add(path, given, talk)
  local file = yaml_file.read(path)
  local values, scorers = yaml_file.located(file, "bundle", read, file)
  local admission = values.admission or {}
  local priority = values.priority and values.priority.policy
  if given.experiment.profile == "go-blis" and priority and priority ~= "constant" then
    talk("%s: priority.policy has no effect", path)
  end
  local experiment, cluster, policies = given.experiment, given.cluster, given.policies
  experiment.admission = experiment.admission or admission.policy
  experiment.routing = experiment.routing or (values.routing or {}).policy
  policies.scorers = policies.scorers or scorers
  policies.of_admission = admission_parameters(admission)
  policies.slo_targets_of_bundle = by_name_of(admission.slo_targets)
  if admission.policy and admission.params then
    policies.of_admission[admission.policy] = admission.params
  end
  if (values.routing or {}).params then
    policies.of_routing = { [values.routing.policy or ""] = values.routing.params }
  end
  experiment.priority = experiment.priority or policy_of(values.priority)
  experiment.cascade = cascade_of(values.cascade)
  experiment.faults = values.faults
  experiment.autoscaler = experiment.autoscaler or policy_of(values.autoscale)
  for key, value in pairs(values.scaling or {}) do
    if given.scaling[key] == nil then given.scaling[key] = value end
  end
  if values.groups and cluster.instances then
    errors.invalid("--num-instances and groups of %s both say how many instances there are", path)
  end
  cluster.groups = values.groups
  cluster.scheduler = cluster.scheduler or values.scheduler
  cluster.preemption_policy = cluster.preemption_policy or (values.preemption or {}).policy
  cluster.slo_priorities = by_name_of(admission.slo_priorities)
  cluster.tenant_budgets = by_name_of(values.tenant_budgets)
end

return bundle
