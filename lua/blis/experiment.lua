--- From what a user writes to what the core runs: reads an experiment, checks it, fills in
--- defaults.
local asked = require "blis.results.asked"
local billing = require "blis.engine.billing"
local core = require "blis.core"
local deferred = require "blis.deferred"
local disaggregation = require "blis.feature.disaggregation.read"
local engine = require "blis.engine"
local errors = require "blis.errors"
local faults = require "blis.feature.faults.read"
local hooks = require "blis.policy.hooks"
local kv_tiers = deferred "blis.feature.kv_tiers.read"
local notices = require "blis.notices"
local phases = deferred "blis.results.phases"
local policy = require "blis.policy"
local queue = deferred "blis.feature.queue.read"
local repeats = require "blis.policy.repeats"
local result = require "blis.results.result"
local scaling = deferred "blis.feature.scaling.read"
local scripted = require "blis.policy.scripted"
local schema = require "blis.config.schema"
local slo = require "blis.results.slo"
local spot = deferred "blis.feature.spot.read"
local told = require "blis.traffic.told"
local watch = deferred "blis.watch"
local workload = require "blis.traffic.workload"
local experiment_section = require "blis.config.experiment"

local experiment = {}

local never_us = math.maxinteger

schema.set_neighbours {
  [experiment_section] = "the experiment",
  [require "blis.config.cluster"] = "'cluster'",
  [require("blis.config.workload").short] = "'workload'",
}

--- The policies that choose instances or refuse requests, as definitions.
local function policies_of(routing, admission)
  local list = { routing }
  for _, item in ipairs(routing.scorers or {}) do list[#list + 1] = item.scorer end
  for _, filter in ipairs(routing.filters or {}) do list[#list + 1] = filter end
  list[#list + 1] = routing.picker
  list[#list + 1] = admission
  return list
end

--- True when a function of a script may look at anything.
local function is_scripted(routing, admission)
  for _, one in ipairs(policies_of(routing, admission)) do
    if one.make or one.route or one.decide or one.pick or one.score or one.keep then return true end
  end
  return false
end

--- The models that are served, each once. Case does not matter.
local function models_of(cluster)
  local models, is_known = {}, {}
  for _, group in ipairs(cluster.groups or { cluster }) do
    if not is_known[group.model:lower()] then models[#models + 1] = group.model end
    is_known[group.model:lower()] = true
  end
  return models
end

local function differ_by_owner(a, b)
  local a_name, b_name = a:match "/([^/]*)$", b:match "/([^/]*)$"
  return not b_name and a_name == b or not a_name and b_name == a
end

--- As the core has it: the one of that name, else those that are the same but for an owner.
local function find_models(model, models)
  local found = {}
  for _, known in ipairs(models) do
    if known:lower() == model:lower() then return { known } end
    if differ_by_owner(known:lower(), model:lower()) then found[#found + 1] = known end
  end
  return found
end

--- A cluster of one model takes requests for any: a chain would be one model several times.
local function check_cascade(cascade, cluster)
  local models = models_of(cluster)
  for _, parameter in ipairs(#models == 1 and cascade.parameters or {}) do
    local is_model = parameter.name:match "^chain" and parameter.value ~= ""
    if is_model and not find_models(parameter.value, models)[1] then
      errors.invalid("cascade: no instance serves the model '%s'; there is only %s. A cascade is "
        .. "for clusters with groups of different models", parameter.value, models[1])
    end
  end
end

--- Models that session graphs want, or that stand for those of a corpus, are there.
local function check_models(traffic, cluster)
  local models = models_of(cluster)
  local is_known = {}
  workload.check_models(traffic, function(place, model)
    if is_known[model] or model == "" then return end
    local found = find_models(model, models)
    if #found > 1 then
      errors.invalid("%s: '%s' may be %s; name its owner", place, model,
        table.concat(found, " or "))
    elseif not found[1] then
      errors.invalid("%s: no instance serves '%s', expected %s", place, model,
        table.concat(models, " or "))
    end
    is_known[model] = true
  end)
end

local needs_records = { "instance_times", "keep_requests", "phases", "slo_targets", "warm_up_us",
  "warm_up_requests" }

local function check_records_are_kept(values)
  for _, name in ipairs(values.keep_records and {} or needs_records) do
    if values[name] then
      errors.invalid("%s needs records, and keep_records is false", name)
    end
  end
end

--- What is good enough: as the experiment says, and for the rest as the workload does.
local function targets_of(values, traffic)
  local targets = values.slo_targets and slo.read(values.slo_targets, "slo_targets")
  local requests = type(traffic) == "table" and traffic.trace or traffic
  if values.keep_records and type(requests) == "userdata" then
    return slo.merge(targets, requests:goodput_targets())
  end
  return targets
end

--- The class realtime is as important as critical, the name that specifications have for it.
local function add_realtime(cluster)
  local values, realtime = {}, 4
  for i, one in ipairs(cluster.slo_priorities or {}) do
    values[i] = one
    if one.name == "realtime" then return end
    if one.name == "critical" then realtime = one.value end
  end
  values[#values + 1] = { name = "realtime", value = realtime }
  cluster.slo_priorities = values
end

--- How many instances there are at first.
local function instances_of(cluster)
  local count = 0
  for _, group in ipairs(cluster.groups or { cluster }) do count = count + group.instances end
  return count
end

--- Which ones come and go with those behind them: the first ranks of groups, and all without ranks.
local function firsts_of(cluster)
  local firsts, behind = {}, 0
  for _, group in ipairs(cluster.groups or { cluster }) do
    local first = behind
    behind = behind + group.instances
    for i = first, behind - 1, group.ranks and group.ranks.count or 1 do firsts[#firsts + 1] = i end
  end
  return firsts
end

local function has_spot(cluster)
  for _, group in ipairs(cluster.groups or { cluster }) do
    if group.spot then return true end
  end
  return false
end

--- The flat configuration that the core takes.
---@param spec table
---@return table
function experiment.read(spec)
  if type(spec) ~= "table" then
    schema.raise_value("the experiment", spec,
      "a table of options such as { cluster = { instances = 4 } }")
  end
  local values = schema.read(experiment_section, spec, "", spec.profile or "design")
  local cluster = engine.read(values.cluster, "cluster", values.profile)
  check_records_are_kept(values)
  if values.warm_up_us and values.warm_up_requests then
    errors.invalid("warm_up_us and warm_up_requests are two ways to say the same; expected one")
  end
  local is_go_blis = values.profile == "go-blis"
  local traffic, horizon_us = workload.read(values.workload, "workload",
    { seed = values.seed, horizon_us = values.horizon_us, profile = values.profile,
      refuses_adapters = cluster.lora == nil })
  if (values.warm_up_us or values.warm_up_requests) and workload.is_measured(traffic) then
    errors.invalid("the workload has a warm-up or a duration of its own; expected neither "
      .. "warm_up_us nor warm_up_requests of the experiment")
  end
  cluster.horizon_us = values.horizon_us or horizon_us or never_us
  cluster.reproduce_go_blis_defects = is_go_blis
  if not is_go_blis then add_realtime(cluster) end
  local routing = policy.read_router(values.routing, "routing")
  local admission = hooks.read_admission(values.admission, "admission")
  local cascade = hooks.read_cascade(values.cascade, "cascade")
  if cascade then check_cascade(cascade, cluster) end
  check_models(traffic, cluster)
  local apart = disaggregation.read(values, cluster, routing)
  local routing_ties
  if apart and apart.decode_routing then
    routing, routing_ties = apart.decode_routing, "decode-router"
  end
  local tiers = values.kv_tiers ~= nil
    and kv_tiers.read(values.kv_tiers, values.profile, cluster) or nil
  local targets = targets_of(values, traffic)
  local read_faults = values.faults ~= nil and faults.read(values.faults, instances_of(cluster),
    values.autoscaler ~= nil, firsts_of(cluster)) or nil
  local spot_capacity
  if has_spot(cluster) then
    spot_capacity = spot.read(cluster, values.autoscaler ~= nil)
    read_faults = spot.add_to_faults(read_faults, spot_capacity)
  end
  local config = {
    options = values,
    cluster = cluster,
    workload = traffic,
    routing = routing,
    admission = admission,
    cascade = cascade,
    scaling = (values.autoscaler ~= nil or values.scaling ~= nil) and scaling.read(
      values.autoscaler, values.scaling, cluster, values.profile, targets,
      workload.length_us(traffic), read_faults) or nil,
    faults = read_faults,
    prices = spot_capacity and spot_capacity.prices or nil,
    billing = billing.of(cluster),
    spot_offers = spot_capacity and spot_capacity.offers or nil,
    spot_plans = spot_capacity and spot_capacity.plans or nil,
    is_scripted = is_scripted(routing, admission)
      or apart ~= nil and disaggregation.is_scripted(apart),
    kv_tiers = tiers,
    disaggregation = apart,
    queue = values.queue and queue.read(values.queue, values.profile) or nil,
    routing_ties = routing_ties,
    scheduler = hooks.read_scheduler(values.scheduler, cluster),
    preemption = hooks.read_preemption(values.preemption, cluster),
    seed = values.seed,
    go_blis = is_go_blis,
    instance_times = values.instance_times,
    keep_records = values.keep_records,
    keep_requests = values.keep_requests,
    slo_targets = targets,
    warm_up_us = values.warm_up_us,
    phases = values.phases and phases.read(values.phases, "phases") or nil,
    warm_up_requests = values.warm_up_requests,
    decisions = values.trace_level == "decisions",
    counterfactual_k = values.counterfactual_k,
    series_interval_us = values.series_interval_us,
    keep_steps = values.keep_steps,
    keep_timeline = values.keep_timeline,
    keep_steps_from_us = values.keep_steps_from_us,
    keep_steps_to_us = values.keep_steps_to_us,
    oracle = values.oracle,
    live_signals = values.live_signals,
    alias = values.alias,
    hides_output_limits = values.hide_output_limits and not values.oracle,
    is_strict = values.locality == "strict",
    progress_interval_ms = values.progress_interval_ms,
  }
  function config.watcher()
    local end_us = cluster.horizon_us
    return watch.new(workload.request_count(traffic), end_us < never_us and end_us or nil)
  end
  if values.watch then
    local usual_ms
    config.watch, usual_ms = config.watcher()
    config.watch_interval_ms = values.watch_interval_ms or usual_ms
  end
  config.priority_policy, config.priority = hooks.read_priority(values.priority, "priority")
  hooks.copy_functions(values, config)
  return config
end

--- The definitions of all policies.
---@param config table
---@return table[]
local function all_policies(config)
  local policies = policies_of(config.routing, config.admission)
  for _, name in ipairs { "cascade", "scheduler", "preemption", "priority" } do
    policies[#policies + 1] = config[name]
  end
  for _, pool in ipairs(config.scaling and config.scaling.pools or {}) do
    policies[#policies + 1] = pool.policy
  end
  if config.queue then
    for _, one in ipairs(queue.policies(config.queue)) do policies[#policies + 1] = one end
  end
  return policies
end

--- Whether policies of the script outlive a run, and may carry something into the next one.
---@param config table with their definitions
---@return boolean
local function may_remember(config)
  return repeats.may_remember(all_policies(config))
end

--- Whether it is worth checking that the experiment gives the same result twice: a policy may
--- remember something between runs.
---@param spec table
---@return boolean
function experiment.wants_repeat(spec)
  for _, name in ipairs(hooks.functions) do
    if spec[name] ~= nil then return false end
  end
  return may_remember {
    routing = policy.read_router(spec.routing or "round-robin", "routing"),
    admission = hooks.read_admission(spec.admission, "admission"),
    cascade = hooks.read_cascade(spec.cascade, "cascade"),
    scaling = { pools = scaling.policies(spec.autoscaler) },
    queue = queue.read(spec.queue, spec.profile or "design"),
    scheduler = hooks.read_scheduler(spec.scheduler, {}),
    preemption = hooks.read_preemption(spec.preemption, {}),
    priority = select(2, hooks.read_priority(spec.priority, "priority")),
  }
end

--- What is known to be unlike a real gateway in this experiment; nil for nothing.
local function gate_note(config)
  local count = #models_of(config.cluster)
  if not config.queue or config.go_blis or count < 2 then return nil end
  return ("one gate stands before %d models: saturation is the mean over all instances, so those "
    .. "of a full model may hold back requests for another one, and a real gateway has a queue "
    .. "per model"):format(count)
end

--- What sim:pin decided beforehand and nobody has asked; nil = nothing.
local function pins_note(unused, number)
  if unused == 0 then return nil end
  local name = number < 0 and ("the follow-up with number %d"):format(-number)
    or ("request_%d"):format(number)
  local others = unused > 1 and (" and %d more"):format(unused - 1) or ""
  return ("sim:pin: %s%s had no routing decision after it was pinned; its pin has changed nothing")
    :format(name, others)
end

--- Tells what an experiment was of that no figure does: its traffic, the policies of its
--- script, and what it asked for beside instances.
local function tell(setup, spec, config)
  setup.traffic, setup.traffic_file = told.of(spec.workload)
  local policies = scripted.list(all_policies(config))
  setup.scripted = #policies > 0 and table.concat(policies, ", ") or nil
  setup.asked = asked.list(config)
end

local function simulation_of(spec, config, finished)
  local note = gate_note(config)
  function config.finish(summary, unused_pins, pinned)
    local made = result.new(summary, config)
    tell(made.setup, spec, config)
    local function add(line) made.setup.notes = made.setup.notes .. line .. "\n" end
    if note then add(note) end
    local pins = pins_note(unused_pins, pinned)
    if pins then
      add(pins)
      notices.tell(pins)
    end
    if finished then finished(made) end
    return made
  end
  return errors.located(core.simulation, config)
end

--- Builds a simulation, to be driven by hand: `sim:at(t_us, fn)`, `sim:step()`,
--- `sim:run_until(t_us)`, `sim:run()`; see its fields in blis.Simulation.
---@param spec blis.Experiment
---@param finished? fun(result: blis.Result) called with the result of sim:run(), of clones, too
---@return blis.Simulation
function experiment.simulation(spec, finished)
  if finished ~= nil and type(finished) ~= "function" then
    schema.raise_value("blis.simulation: its second argument", finished,
      "a function(result) that hears how runs end, or nil")
  end
  return simulation_of(spec, experiment.read(spec), finished)
end

--- Runs an experiment to its end.
---@param spec blis.Experiment
---@return blis.Result
function experiment.run(spec)
  local config = experiment.read(spec)
  local sim <close> = simulation_of(spec, config)
  local r = sim:run()
  if may_remember(config) and repeats.is_other(spec, r.hash) then
    r.setup.notes = r.setup.notes .. repeats.note .. "\n"
  end
  notices.tell(r.setup.notes)
  return r
end

return experiment
