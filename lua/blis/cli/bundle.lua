--- Policy bundles: the YAML files of --policy-config. Flags on the command line override them.
local companions = require "blis.feature.queue.companions"
local engine = require "blis.engine"
local errors = require "blis.errors"
local faults_section = require "blis.feature.faults.options"
local hooks = require "blis.policy.hooks"
local policy = require "blis.policy"
local phases = require "blis.results.phases"
local queue = require "blis.feature.queue.read"
local scaling_section = require "blis.feature.scaling.options"
local schema = require "blis.config.schema"
local shape = require "blis.traffic.shape"
local config = require "blis.config.bundle"
local sorted = require "blis.sorted"
local yaml_file = require "blis.yaml_file"

local bundle = {}

--- A copy without empty strings, which count as not set.
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

--- { name =, weight = } of a scorer, and its parameters: { name: X, weight: 2, block_size: 64 }.
local function parts_of_scorer(one, path)
  if type(one) ~= "table" then return one, {} end
  local plain, parameters = {}, {}
  for key, value in pairs(one) do
    if type(key) ~= "string" then
      errors.invalid("%s: %s has no name, expected { name, weight }", path, errors.show(value))
    end
    local is_plain = key == "name" or key == "weight"
    local target = is_plain and plain or parameters
    target[key] = value
  end
  return plain, parameters
end

--- { { name =, weight = }, ... } as blis.run takes scorers; nil for an empty list.
local function scorers_of(given)
  local list = {}
  if given ~= nil and (type(given) ~= "table" or #given == 0 and next(given) ~= nil) then
    errors.invalid("bundle.routing.scorers: %s: expected a list of { name, weight }",
      errors.invalid_value(given))
  end
  for i, one in ipairs(given or {}) do
    local path = ("bundle.routing.scorers[%d]"):format(i)
    local plain, parameters = parts_of_scorer(one, path)
    local values = schema.read({
      name = "scorer", summary = "A scorer and its weight.",
      options = {
        { name = "name", type = "string", required = true, doc = "Name of the scorer." },
        { name = "weight", type = "number", above = 0, required = true, doc = "Its weight." },
      },
    }, plain, path)
    list[i] = { values.name, values.weight }
    for key, value in pairs(parameters) do list[i][key] = value end
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

--- Raises for parameters without names, which blis.run would take for something else.
local function check_parameters(block, path)
  for key, value in pairs(block and block.params or {}) do
    if type(key) ~= "string" then
      errors.invalid("%s.params[%s]: %s has no name, expected { NAME: value, ... }", path,
        tostring(key), errors.show(value))
    end
  end
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

--- Records that messages replace one path by another path of the file; longer paths come later.
local function spell(file, path, spelling) table.insert(file.spelled, 1, { path, spelling }) end

--- A copy with the spelling of BLIS in Go.
local function without_types(given, file)
  local copy = {}
  for key, value in pairs(given) do copy[key] = value end
  for _, name in ipairs(planned) do
    local block = copy[name]
    if type(block) == "table" and block.type ~= nil and block.policy == nil then
      spell(file, name .. ".policy", name .. ".type")
      copy[name] = { policy = block.type }
      for key, value in pairs(block) do
        if key ~= "type" then copy[name][key] = value end
      end
    end
  end
  return copy
end

--- Messages about policies name a parameter "admission.policy NAME.key"; in the file it is below
--- params.
local function spell_parameters(given, file)
  for _, name in ipairs(planned) do
    local block = given[name]
    if type(block) == "table" and type(block.policy) == "string" and block.params ~= nil then
      local own = name == "autoscale" and name or name .. ".policy"
      spell(file, own .. " " .. block.policy, name .. ".params")
    end
  end
end

--- Raises for a key that bundles do not have, in either spelling.
local function check_keys(given)
  local names, is_known = { "routing-policy", "routing-scorers" }, {}
  for _, option in ipairs(config.section.options) do names[#names + 1] = option.name end
  for _, name in ipairs(names) do is_known[name] = true end
  for _, key in ipairs(sorted.names(given)) do
    if not is_known[key] then
      errors.invalid("bundle: unknown option '%s'%s", key, errors.suggestion(key, names))
    end
  end
end

--- { routing-policy =, routing-scorers = } of the scorer framework as the routing block is written.
local function without_flat_routing(given, file)
  local name, scorers = given["routing-policy"], given["routing-scorers"]
  if name == nil and scorers == nil then return given end
  if given.routing ~= nil then
    errors.invalid("bundle.routing and bundle.%s are aliases; set only one of them",
      name ~= nil and "routing-policy" or "routing-scorers")
  end
  local copy = {}
  for key, value in pairs(given) do copy[key] = value end
  copy["routing-policy"], copy["routing-scorers"] = nil, nil
  copy.routing = { policy = name, scorers = scorers }
  spell(file, "routing.policy", "routing-policy")
  spell(file, "routing.scorers", "routing-scorers")
  return copy
end

---@type blis.Section
local scheduler_section = {
  name = "scheduler", summary = "A scheduler in the form of the macro-level plan.",
  options = {
    { name = "respect_priority", type = "boolean", default = true,
      doc = "false: first come, first served, regardless of priority." },
    { name = "preemption_enabled", type = "boolean", default = true,
      doc = "false: a request reserves the KV blocks of its prompt and output, so no request is "
        .. "preempted; one that cannot reserve them is rejected (kv_reservation = \"whole\")." },
    { name = "preemption_policy", type = "choice", default = "fcfs",
      choices = { "lowest-priority", "priority", "fcfs" },
      doc = "fcfs: the newest request in the batch. lowest-priority: the least urgent request "
        .. "(here: priority)." },
  },
}

--- The block preemption of a cluster whose requests reserve all their KV blocks.
local function without_preemption(given, path)
  local block = {}
  for key, value in pairs(given.preemption or {}) do block[key] = value end
  if block.kv_reservation and block.kv_reservation ~= "whole" then
    errors.invalid("%s.preemption_enabled is false, which requires kv_reservation 'whole'; "
      .. "bundle.preemption.kv_reservation is '%s'", path, tostring(block.kv_reservation))
  end
  block.kv_reservation = "whole"
  return block
end

--- A scheduler { type =, params = }, converted to the two options scheduler and its parameters.
local function without_scheduler_params(given, file)
  local scheduler = given.scheduler
  if type(scheduler) ~= "table" or scheduler.type == nil then return given end
  for key in pairs(scheduler) do
    if key ~= "type" and key ~= "params" then
      errors.invalid("bundle.scheduler: unknown option '%s', expected type or params",
        tostring(key))
    end
  end
  local path = "bundle.scheduler.params"
  local params = schema.read(scheduler_section, scheduler.params or {}, path)
  local copy = {}
  for key, value in pairs(given) do copy[key] = value end
  copy.scheduler = scheduler.type
  spell(file, "scheduler", "scheduler.type")
  if not params.respect_priority and scheduler.type == "priority-fcfs" then
    copy.scheduler = "fcfs"
  end
  if (scheduler.params or {}).preemption_policy ~= nil then
    if given.preemption ~= nil then
      errors.invalid("%s.preemption_policy and bundle.preemption are aliases; set only one of "
        .. "them", path)
    end
    local is_urgency = params.preemption_policy ~= "fcfs"
    copy.preemption = { policy = is_urgency and "priority" or "fcfs" }
  end
  if not params.preemption_enabled then copy.preemption = without_preemption(copy, path) end
  return copy
end

--- Seconds as blis.run takes a delay.
local function delay_us(given)
  if not given then return nil end
  return { mean_us = (given.mean or 0) * 1e6, stddev_us = (given.stddev or 0) * 1e6 }
end

--- Node pools as blis.run takes them; nil for none.
local function node_pools_of(given)
  local pools = {}
  for i, one in ipairs(given or {}) do
    local path = ("bundle.node_pools[%d]"):format(i)
    local pool = schema.read(config.node_pool, one, path)
    if pool.max_nodes < math.max(pool.initial_nodes, pool.min_nodes) then
      errors.invalid("%s: max_nodes is %d, less than initial_nodes, %d, or min_nodes, %d", path,
        pool.max_nodes, pool.initial_nodes, pool.min_nodes)
    end
    pools[i] = {
      name = pool.name, gpu = pool.gpu_type, gpus_per_node = pool.gpus_per_node,
      nodes = pool.initial_nodes, max_nodes = pool.max_nodes, cost_per_hour = pool.cost_per_hour,
      provisioning_delay_us = delay_us(pool.provisioning_delay),
    }
  end
  return #pools > 0 and pools or nil
end

--- Returns a number, or nil for 0, which means not set.
local function if_not_zero(value) return value ~= 0 and value or nil end

--- The pipeline of BLIS in Go as an autoscaler of blis.run, with its evaluation interval.
local function pipeline_of(given)
  given = given or {}
  local analyzer = given.analyzer or {}
  local function seconds(us) return us and us / 1e6 end
  return {
    "saturation-pipeline", kv_cache_threshold = if_not_zero(analyzer.kv_cache_threshold),
    scale_up_threshold = if_not_zero(analyzer.scale_up_threshold),
    scale_down_boundary = if_not_zero(analyzer.scale_down_boundary),
    avg_input_tokens = if_not_zero(analyzer.avg_input_tokens),
    scale_up_stabilization_seconds = seconds(given.scale_up_stabilization_window_us),
    scale_down_stabilization_seconds = seconds(given.scale_down_stabilization_window_us),
  }, math.tointeger(math.floor(given.interval_us or 0))
end

--- What autoscaler, node_pools and instance_lifecycle say of scaling.
local function scaling_of(values)
  local life = values.instance_lifecycle or {}
  local _, interval_us = pipeline_of(values.autoscaler)
  return {
    node_pools = node_pools_of(values.node_pools), loading_delay_us = delay_us(life.loading_delay),
    actuation_delay_us = delay_us((values.autoscaler or {}).hpa_scrape_delay),
    warm_start = life.warm_start_initial_instances, interval_us = if_not_zero(interval_us),
  }
end

local function check_one_autoscaler(values)
  local _, interval_us = pipeline_of(values.autoscaler)
  if values.autoscale and interval_us > 0 then
    errors.invalid("bundle: autoscale and autoscaler.interval_us both configure an autoscaler; set "
      .. "only one of them")
  end
end

-- Defaults of its parameters that are compared with each other.
local usual_up, usual_down = 0.8, 0.4

local function check_pipeline(given)
  hooks.read_autoscaler(given, "bundle.autoscaler")
  local up, down = given.scale_up_threshold or usual_up, given.scale_down_boundary or usual_down
  if down >= up then
    errors.invalid("bundle.autoscaler.analyzer: scale_down_boundary, %g, is not below "
      .. "scale_up_threshold, %g", down, up)
  end
end

---@type blis.Section
local queue_policy_section = {
  name = "policy", summary = "A policy of the queue.",
  options = {
    { name = "policy", type = "string", required = true, doc = "Its name." },
    { name = "params", type = "table", doc = "Its parameters." },
  },
}

--- The queue of the gateway as blis.run takes it; nil for none.
local function queue_of(given)
  if not given then return nil end
  if given == true then return {} end
  if type(given) ~= "table" then
    schema.raise_value("bundle.queue", given, "true, false or a table of options")
  end
  local options = {}
  for key, value in pairs(given) do options[key] = value end
  for _, name in ipairs { "saturation", "usage_limit" } do
    if type(options[name]) == "table" then
      local path = "bundle.queue." .. name
      local block = schema.read(queue_policy_section, options[name], path)
      check_parameters(block, path)
      options[name] = policy_of(block)
    end
  end
  return options
end

--- A key without a value could mean a queue as well as none.
local function check_queue_is_said(file)
  local is_there = (file.where[file.root] or {}).queue
  if is_there and file.root.queue == nil then
    errors.invalid("bundle.queue: no value, expected true, false, or a table of options")
  end
end

local function check_names(values, scorers)
  local admission, routing = values.admission or {}, values.routing or {}
  for _, name in ipairs(planned) do check_parameters(values[name], "bundle." .. name) end
  if admission.policy then
    hooks.read_admission(policy_of(admission), "bundle.admission.policy")
  end
  if routing.policy then policy.read_router(policy_of(routing), "bundle.routing.policy") end
  if scorers then policy.read_scorers(scorers, "bundle.routing.scorers") end
  hooks.read_priority(policy_of(values.priority), "bundle.priority.policy")
  hooks.read_cascade(cascade_of(values.cascade), "bundle.cascade")
  queue.read(queue_of(values.queue), "design", "bundle.queue")
  local autoscaler = policy_of(values.autoscale)
  if values.autoscale and not autoscaler then
    errors.invalid("bundle.autoscale.type is missing: params requires the name of an autoscaler")
  end
  if autoscaler then hooks.read_autoscaler(autoscaler, "bundle.autoscale") end
  check_pipeline(pipeline_of(values.autoscaler))
end

--- What would be found later, and said without the line of the file.
local function check_lists(values)
  if values.faults then schema.check_list(values.faults, "bundle.faults", "a list of faults") end
  for i, fault in ipairs(values.faults or {}) do
    schema.read(faults_section, fault, ("bundle.faults[%d]"):format(i))
  end
  if values.phases then phases.read(values.phases, "bundle.phases") end
  if values.shape then shape.read(values.shape, "bundle.shape") end
  if values.scaling then schema.read(scaling_section, values.scaling, "bundle.scaling") end
end

local function read(file)
  if type(file.root) ~= "table" then
    errors.invalid("bundle: %s: expected keys and values", errors.invalid_value(file.root))
  end
  check_queue_is_said(file)
  file.spelled = {}
  local whole = without_empty(file.root)
  check_keys(whole)
  local given = without_flat_routing(whole, file)
  given = without_types(given, file)
  spell_parameters(given, file)
  given = without_scheduler_params(given, file)
  local values = schema.read(config.section, given, "bundle")
  local scorers = scorers_of((values.routing or {}).scorers)
  check_one_autoscaler(values)
  node_pools_of(values.node_pools)
  check_names(values, scorers)
  check_lists(values)
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

--- The autoscaler of BLIS in Go is enabled by its interval; the flag takes precedence.
local function add_pipeline(values, given)
  local pipeline, interval_us = pipeline_of(values.autoscaler)
  interval_us = given.policies.autoscaler_interval_us or interval_us
  if interval_us > 0 then
    given.experiment.autoscaler = given.experiment.autoscaler or pipeline
    given.scaling.interval_us = interval_us
  end
  if given.experiment.autoscaler == nil and #(values.node_pools or {}) == 0 then return end
  for key, value in pairs(scaling_of(values)) do
    if given.scaling[key] == nil then given.scaling[key] = value end
  end
end

local function add_queue(block, given)
  local options = queue_of(block)
  local is_refused = given.policies.flow_control == false -- by --flow-control=false
  if not options or is_refused then return end
  given.policies.flow_control = true
  given.queue = companions.overlay(options, given.queue)
end

local function add_shape(block, given)
  if not block then return end
  if not given.workload then
    errors.invalid("bundle.shape requires generated traffic; a trace has recorded arrival times")
  end
  given.workload.shape = given.workload.shape or block
end

--- Reads a bundle into the values of flags that are not set.
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
  if scorers and not policies.scorers then
    policies.scorers, policies.scorers_of = scorers, "the scorers of " .. path
  end
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
  experiment.phases = experiment.phases or values.phases
  add_shape(values.shape, given)
  experiment.autoscaler = experiment.autoscaler or policy_of(values.autoscale)
  for key, value in pairs(values.scaling or {}) do
    if given.scaling[key] == nil then given.scaling[key] = value end
  end
  add_pipeline(values, given)
  add_queue(values.queue, given)
  if values.groups and cluster.instances then
    errors.invalid("--num-instances cannot be combined with groups of %s", path)
  end
  cluster.groups = values.groups
  cluster.defaults = cluster.defaults or values.defaults
  cluster.scheduler = cluster.scheduler or values.scheduler
  cluster.preemption_policy = cluster.preemption_policy or (values.preemption or {}).policy
  cluster.kv_reservation = cluster.kv_reservation or (values.preemption or {}).kv_reservation
  cluster.slo_priorities = by_name_of(admission.slo_priorities)
  cluster.tenant_budgets = by_name_of(values.tenant_budgets)
end

return bundle
