--- Reads an experiment, checks it, sets default values, and runs it.
local asked = require "blis.results.asked"
local core = require "blis.core"
local defaults = require "blis.config.defaults"
local deferred = require "blis.deferred"
local engine = require "blis.engine"
local errors = require "blis.errors"
local features = require "blis.feature"
local hooks = require "blis.policy.hooks"
local made_in_advance = require "blis.policy.made_in_advance"
local notices = require "blis.notices"
local phases = deferred "blis.results.phases"
local policy = require "blis.policy"
local repeats = require "blis.policy.repeats"
local result = require "blis.results.result"
local scripted = require "blis.policy.scripted"
local schema = require "blis.config.schema"
local served = require "blis.catalogue.served"
local slo = require "blis.results.slo"
local told = require "blis.traffic.told"
local watch = deferred "blis.watch"
local span = require "blis.traffic.span"
local workload = require "blis.traffic.workload"
local experiment_section = require "blis.config.experiment"

local experiment = {}

local never_us = math.maxinteger

schema.set_neighbours {
  [experiment_section] = "the experiment",
  [require "blis.config.cluster"] = "'cluster'",
  [require("blis.config.workload").short] = "'workload'",
}

--- Returns the definitions of the policies that choose instances or reject requests.
local function policies_of(routing, admission)
  local list = { routing }
  for _, item in ipairs(routing.scorers or {}) do list[#list + 1] = item.scorer end
  for _, filter in ipairs(routing.filters or {}) do list[#list + 1] = filter end
  list[#list + 1] = routing.picker
  list[#list + 1] = admission
  return list
end

--- Returns whether a function of a script may read any signal.
local function is_scripted(routing, admission)
  for _, one in ipairs(policies_of(routing, admission)) do
    if one.make or one.route or one.decide or one.pick or one.score or one.keep then return true end
  end
  return false
end

--- Checks that instances serve the models that session graphs name, or that replace the models of
--- a corpus.
local function check_models(traffic, cluster)
  local models = served.models_of(cluster)
  local is_known = {}
  workload.check_models(traffic, function(place, model)
    if is_known[model] or model == "" then return end
    local found = served.find(model, models)
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
  "warm_up_requests", "cool_down_us" }

local function check_records_are_kept(values)
  for _, name in ipairs(values.keep_records and {} or needs_records) do
    if values[name] then
      errors.invalid("%s needs records, and keep_records is false", name)
    end
  end
end

--- Returns the latency targets: those of the experiment, and those of the workload for all other
--- classes.
local function targets_of(values, traffic)
  local targets = values.slo_targets and slo.read(values.slo_targets, "slo_targets")
  local requests = type(traffic) == "table" and traffic.trace or traffic
  if values.keep_records and type(requests) == "userdata" then
    return slo.merge(targets, requests:goodput_targets())
  end
  return targets
end

--- Gives class realtime the priority of class critical, which is its name in specifications.
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

--- Reads the traffic. Returns it, the end of the simulation that it sets, and the time before its
--- first request that is not billed.
local function read_traffic(values, cluster)
  local rules = features.rules_without(cluster)
  rules.seed, rules.horizon_us, rules.profile = values.seed, values.horizon_us, values.profile
  local traffic, horizon_us = workload.read(values.workload, "workload", rules)
  if (values.warm_up_us or values.warm_up_requests) and workload.is_measured(traffic) then
    errors.invalid("warm_up_us and warm_up_requests cannot be combined with a workload that sets "
      .. "its own warm-up or duration")
  end
  local list = type(traffic) == "table" and traffic.trace or traffic
  local is_list = core.is_workload(list) or core.is_trace_stream(list)
  if not is_list or values.profile == "go-blis" then return traffic, horizon_us, 0 end
  span.check(list, values.horizon_us or horizon_us, "workload")
  return traffic, horizon_us, span.unbilled_us(list)
end

-- Options that the core takes without a change.
local taken_as_given = { "seed", "instance_times", "keep_records", "keep_requests", "warm_up_us",
  "cool_down_us", "warm_up_requests", "counterfactual_k", "series_interval_us", "keep_steps",
  "keep_timeline", "keep_steps_from_us", "keep_steps_to_us", "oracle", "live_signals", "alias",
  "progress_interval_ms" }

--- Adds the functions that show a run while it computes.
local function add_watch(values, config)
  function config.watcher()
    local end_us = config.cluster.horizon_us
    return watch.new(workload.request_count(config.workload), end_us < never_us and end_us or nil)
  end
  if values.watch then
    local usual_ms
    config.watch, usual_ms = config.watcher()
    config.watch_interval_ms = values.watch_interval_ms or usual_ms
  end
end

--- Returns the options of the cluster, with the version of the defaults that the experiment names.
local function cluster_of(values)
  local version, given = values.defaults, values.cluster
  defaults.check(version, "defaults", values.profile)
  if version == nil then return given end
  local cluster = { defaults = version }
  for key, value in pairs(given or {}) do cluster[key] = value end
  if cluster.defaults ~= version then
    errors.invalid("defaults is %s, and cluster.defaults is %s; expected one version",
      errors.show(version), errors.show(cluster.defaults))
  end
  return cluster
end

--- Returns the flat configuration that the core takes.
---@param spec table
---@return table
function experiment.read(spec)
  if type(spec) ~= "table" then
    schema.raise_value("the experiment", spec,
      "a table of options such as { cluster = { instances = 4 } }")
  end
  local values = schema.read(experiment_section, spec, "", spec.profile or "design")
  local cluster = engine.read(cluster_of(values), "cluster", values.profile)
  check_records_are_kept(values)
  if values.warm_up_us and values.warm_up_requests then
    errors.invalid("warm_up_us cannot be combined with warm_up_requests")
  end
  local is_go_blis = values.profile == "go-blis"
  local traffic, horizon_us, unbilled_us = read_traffic(values, cluster)
  cluster.horizon_us = values.horizon_us or horizon_us or never_us
  cluster.go_blis = is_go_blis
  if not is_go_blis then add_realtime(cluster) end
  check_models(traffic, cluster)
  local config = {
    options = values,
    cluster = cluster,
    workload = traffic,
    unbilled_us = unbilled_us,
    routing = policy.read_router(values.routing, "routing"),
    admission = hooks.read_admission(values.admission, "admission"),
    scheduler = hooks.read_scheduler(values.scheduler, cluster),
    preemption = hooks.read_preemption(values.preemption, cluster),
    go_blis = is_go_blis,
    slo_targets = targets_of(values, traffic),
    phases = values.phases and phases.read(values.phases, "phases") or nil,
    decisions = values.trace_level == "decisions",
    hides_output_limits = values.hide_output_limits and not values.oracle,
    is_strict = values.locality == "strict",
  }
  for _, name in ipairs(taken_as_given) do config[name] = values[name] end
  features.read(values, config)
  config.is_scripted = is_scripted(config.routing, config.admission)
    or features.are_scripted(config)
  add_watch(values, config)
  config.priority_policy, config.priority = hooks.read_priority(values.priority, "priority")
  hooks.copy_functions(values, config)
  return config
end

--- Returns the definitions of all policies.
---@param config table
---@return table[]
local function all_policies(config)
  local policies = policies_of(config.routing, config.admission)
  for _, name in ipairs { "scheduler", "preemption", "priority" } do
    policies[#policies + 1] = config[name]
  end
  for _, one in ipairs(features.policies(config)) do policies[#policies + 1] = one end
  return policies
end

--- Returns whether policies of the script outlive a run, so that they may carry state into the next
--- run.
---@param config table with their definitions
---@return boolean
local function may_remember(config)
  return repeats.may_remember(all_policies(config))
end

--- Returns whether a second run of the experiment may differ, because a policy may keep state
--- between runs.
---@param spec table
---@return boolean
function experiment.wants_repeat(spec)
  for _, name in ipairs(hooks.functions) do
    if spec[name] ~= nil then return false end
  end
  local config = {
    routing = policy.read_router(spec.routing or "round-robin", "routing"),
    admission = hooks.read_admission(spec.admission, "admission"),
    scheduler = hooks.read_scheduler(spec.scheduler, {}),
    preemption = hooks.read_preemption(spec.preemption, {}),
    priority = select(2, hooks.read_priority(spec.priority, "priority")),
  }
  features.read_policies(spec, config)
  return may_remember(config)
end

--- Adds the description of an experiment to the setup of its result: its traffic, the policies of
--- its script, and the rest of its configuration.
local function describe(setup, spec, config)
  setup.traffic, setup.traffic_file = told.of(spec.workload)
  local policies = scripted.list(all_policies(config))
  setup.scripted = #policies > 0 and table.concat(policies, ", ") or nil
  setup.asked = asked.list(config)
end

local function simulation_of(spec, config, finished)
  function config.finish(summary, ...)
    local made = result.new(summary, config)
    describe(made.setup, spec, config)
    local function add(line) made.setup.notes = made.setup.notes .. line .. "\n" end
    for _, note in ipairs(engine.notes(config.cluster)) do add(note) end
    for _, note in ipairs(features.notes(config)) do add(note) end
    local unused = made_in_advance.unused_note(...)
    if unused then
      add(unused)
      notices.tell(unused)
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
      "a function(result) that is called at the end of runs, or nil")
  end
  return simulation_of(spec, experiment.read(spec), finished)
end

--- Builds a simulation whose requests come from clients while it runs.
---@param spec blis.Experiment its workload only fills the place of the desk
---@param traffic string that describes the requests in results
---@param desk_of fun(config: table): userdata the desk of the clients (core.live_desk)
---@return blis.Simulation
function experiment.served(spec, traffic, desk_of)
  local config = experiment.read(spec)
  local written = config.workload
  config.workload = desk_of(config)
  local sim = simulation_of(spec, config, function(made) made.setup.traffic = traffic end)
  config.workload = written
  return sim
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
