--- Decision points besides routing, and the functions that only listen.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local definition = require "blis.policy.definition"
local errors = require "blis.errors"
local listening = require "blis.policy.listening"
local schema = require "blis.config.schema"
local cluster_section = require "blis.config.cluster"

local hooks = {}

--- A kind of policies whose scripted ones have a name, one function, and perhaps more fields.
---@return blis.PolicyKind
local function kind_of(kind, noun, builtins, main, signature, more)
  local options = {
    { name = "name", type = "any", doc = "a string" },
    { name = main, type = "any", doc = "a " .. signature },
  }
  for _, option in ipairs(more or {}) do options[#options + 1] = option end
  return {
    kind = kind, noun = noun, builtins = builtins, main = main, signature = signature,
    section = { name = kind, summary = "A " .. noun .. " in Lua.", options = options },
  }
end

local scale_interval_us = 10000000

hooks.kinds = {
  admission = kind_of("admission", "admission policy", "admissions", "decide",
    "function(request, cluster) that returns blis.admit(), blis.reject(reason) or blis.delay(us)",
    listening.options),
  priority = kind_of("priority", "priority policy", nil, "decide",
    "function(request) that returns a priority and, optionally, a table of hints"),
  scheduler = kind_of("scheduler", "scheduler", nil, "goes_before",
    "function(a, b) that returns whether a runs before b"),
  batch_scheduler = kind_of("scheduler", "scheduler", nil, "make_batch",
    "function(context) that returns { schedule = { request, { request, tokens }, ... } }", {
      { name = "on_arrival", type = "any", doc = "a function(request, now_us)" },
    }),
  preemption = kind_of("preemption", "preemption policy", nil, "victim",
    "function(running) that returns the index of the request to preempt"),
  autoscaler = kind_of("autoscaler", "autoscaler", "autoscalers", "decide",
    "function(context) that returns the target number of instances", {
      { name = "interval_us", type = "time_us", min = 1, default = scale_interval_us, unit = "us",
        doc = "Interval between evaluations." },
      { name = "metrics", type = "texts",
        doc = "Which metrics the function reads; the others are not collected. Default: all." },
    }),
  saturation = kind_of("saturation", "saturation detector", "saturation_detectors", "measure",
    "function(instances) that returns their saturation"),
  usage_limit = kind_of("usage_limit", "usage limit", "usage_limits", "ceilings",
    "function(saturation, priorities) that returns a list of ceilings"),
  fairness = kind_of("fairness", "fairness policy", nil, "pick",
    "function(flows, now_us) that returns the index of a flow"),
  queue_order = kind_of("queue_order", "order of a queue", nil, "key",
    "function(request, now_us) that returns a number; the request with the lowest number is next"),
  band_selection = kind_of("band_selection", "band selection", nil, "pick",
    "function(bands, saturation, now_us) that returns the index of a band or nil"),
  disaggregation = kind_of("disaggregation", "decider", "deciders", "decide",
    "function(request, context) that returns \"local\", \"split\" or { prefill =, decode = }"),
}

hooks.kinds.admission.listens = true

--- Names that the engine has, in addition to scripted ones: sets the option of the cluster.
local function read_named(kind, option_name, given, cluster)
  if given == nil then return nil end
  if given == "lowest-priority" and option_name == "preemption_policy" then given = "priority" end
  if type(given) ~= "string" then return definition.read(kind, given, kind.kind) end
  for _, option in ipairs(cluster_section.options) do
    if option.name == option_name then
      cluster[option_name] = schema.check_value(option, given, kind.kind)
    end
  end
end

--- The definition of a policy of one of these kinds.
---@param kind string "saturation", "usage_limit", "fairness", ...
---@param given any
---@param path string
---@return table
function hooks.read(kind, given, path)
  return definition.read(hooks.kinds[kind], given, path)
end

--- The definition of an admission policy, or nil.
function hooks.read_admission(given, path)
  return given ~= nil and definition.read(hooks.kinds.admission, given, path) or nil
end

---@type blis.Section
local cascade_section = {
  name = "cascade",
  summary = "Functions of scripts for a cascade, in addition to its parameters.",
  options = {
    { name = "name", type = "any", doc = "a string" },
    { name = "quality", type = "any",
      doc = "a function(request, model, rng, output_tokens) that returns a mean log-probability" },
    { name = "escalate", type = "any",
      doc = "a function(request, attempt, usual) that returns true, false or a model" },
    { name = "new", type = "any",
      doc = "a function(context), called for every run, that returns quality and escalate" },
  },
}

hooks.cascade_section = cascade_section

local usual_cascade = "cognitora.cascade"

--- Names that are neither parameters nor functions, told with all that could be meant.
local function check_cascade_keys(name, given, path)
  local entry = definition.entry("cascade", catalogue.cascades, name, path)
  local options = table.move(entry.options, 1, #entry.options, 1, {})
  table.move(cascade_section.options, 1, #cascade_section.options, #options + 1, options)
  schema.check_keys({ name = entry.name, options = options },
    definition.named_fields(given, {}, path), path .. " " .. entry.name)
end

---@type blis.Section
local cascade_functions_section = {
  name = "cascade",
  summary = "Functions that a script creates for every run of a cascade.",
  options = table.move(cascade_section.options, 1, 3, 1, {}),
}

--- The functions that a script has made for one run.
local function cascade_functions(given, path)
  local values = schema.read(cascade_functions_section, given, path)
  return {
    kind = "cascade", label = values.name,
    quality = definition.check_function(values, "quality", path),
    escalate = definition.check_function(values, "escalate", path),
  }
end

--- A built-in cascade, with the functions of a script around it.
local function read_cascade_table(given, path)
  local own, parameters = {}, definition.named_fields(given, {}, path)
  for _, option in ipairs(cascade_section.options) do
    own[option.name], parameters[option.name] = parameters[option.name], nil
  end
  local name = given[1] == nil and usual_cascade or given[1]
  if type(name) ~= "string" then
    schema.raise_value(path .. "[1]", name, "the name of a cascade")
  end
  check_cascade_keys(name, given, path)
  local read = definition.builtin("cascade", catalogue.cascades, name, parameters, path)
  read.kind = "cascade"
  read.label = own.name ~= nil and definition.check_name(own.name, path) or read.name
  if own.new ~= nil then
    if own.quality or own.escalate then
      errors.invalid("%s: with new, set quality and escalate in the table that new returns", path)
    end
    read.make = definition.fresh("cascade", { name = read.label, new = own.new }, path,
      cascade_functions).make
    return read
  end
  read.quality = definition.check_function(own, "quality", path)
  read.escalate = definition.check_function(own, "escalate", path)
  return read
end

local function read_some_cascade(given, path)
  local made = definition.made("cascade", "cascade", given, path)
  if made then return made end
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" or next(given) == nil then
    schema.raise_value(path, given, "the name of a cascade or { name, parameter = value, ... }, "
      .. "such as { chain = { \"small\", \"large\" } }")
  end
  return read_cascade_table(given, path)
end

--- The definition of a cascade of models, or nil.
function hooks.read_cascade(given, path)
  return given ~= nil and read_some_cascade(given, path) or nil
end

--- A priority policy: the definition of a built-in one, or that of one in Lua.
---@return table? definition
---@return table? scripted
function hooks.read_priority(given, path)
  if given == nil then return nil end
  local has_fields = type(given) == "table" and next(given) ~= nil and given[1] == nil
  if has_fields or type(given) == "function" then
    return nil, definition.read(hooks.kinds.priority, given, path)
  end
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" or type(given[1]) ~= "string" then
    schema.raise_value(path, given, "the name of a priority policy, { name, parameter = value, "
      .. "... } or a function(request)")
  end
  local read = definition.builtin("priority policy", catalogue.priorities, given[1],
    definition.named_fields(given, {}, path), path)
  if read.make then return nil, read end
  return read
end

--- The definition of a scheduler in Lua, which orders the queue or makes batches.
local function scripted_scheduler(given, path)
  if type(given) == "table" and given.new ~= nil then
    return definition.fresh("scheduler", given, path, scripted_scheduler)
  end
  local makes_batches = type(given) == "table" and given.make_batch ~= nil
  local kind = makes_batches and hooks.kinds.batch_scheduler or hooks.kinds.scheduler
  local read = definition.read(kind, given, path)
  if makes_batches then definition.check_function(read, "on_arrival", path) end
  return read
end

--- The definition of a scheduler; a name goes into the options of the cluster.
function hooks.read_scheduler(given, cluster)
  local is_scripted = type(given) == "table" and given[1] == nil
  if is_scripted then return scripted_scheduler(given, "scheduler") end
  return read_named(hooks.kinds.scheduler, "scheduler", given, cluster)
end

--- The definition of a preemption policy; a name goes into the options of the cluster.
function hooks.read_preemption(given, cluster)
  return read_named(hooks.kinds.preemption, "preemption_policy", given, cluster)
end

-- The functions of an experiment that have no other form.
hooks.functions = { "think_time", "on_arrival", "on_routed", "on_first_token",
  "on_escalation", "on_completion", "on_rejection", "on_failure", "progress" }

--- An admission policy: `blis.admission "token-bucket"`, or `blis.admission { name =, decide =
--- function(request, cluster) ... end }`, which returns blis.admit(), blis.reject(reason) or
--- blis.delay(us).
---@param spec blis.AnyAdmission
---@return blis.Policy
function hooks.admission(spec)
  return core.policy(definition.read(hooks.kinds.admission, spec, "admission"))
end

--- Models that are called in order until an answer is good enough: `blis.cascade { chain = {
--- "small", "large" }, confidence_threshold = -1 }`; 'blis policies cognitora.cascade' lists the
--- parameters. `quality = function(request, model, rng, output_tokens) return mean_logprob, tokens
--- end` returns the quality and the length of a model's answer. `escalate = function(request,
--- attempt, usual) return usual end` selects the next step: true, false, or a later model of the
--- chain. usual is the decision without the function.
---@param spec blis.AnyCascade
---@return blis.Policy
function hooks.cascade(spec)
  return core.policy(read_some_cascade(spec, "cascade"))
end

--- The order of wait queues: `blis.scheduler { name =, goes_before = function(a, b) ... end }`
--- returns whether request a precedes request b. Equal requests keep their order. Requests have the
--- fields id, arrival_us, deadline_us (0 = none), prompt_tokens, priority, max_output_tokens, and
--- progress_tokens (computed already). output_tokens requires oracle = true.
---
--- `blis.scheduler { name =, make_batch = function(context) ... end, on_arrival = function(request,
--- now_us) ... end }` forms every batch, from a blis.BatchContext. It returns { schedule = {...},
--- preempt = {...}, wait_us = 1000 }. schedule lists the requests that compute in the next step, in
--- this order: requests of context.running and context.waiting, or { request, tokens } with the
--- size of a prompt chunk. All other requests wait. A running request keeps its blocks unless
--- preempt lists it. If no request computes, the function is called again after wait_us (default
--- 1,000). This is slow, because every step is a call with tables of all requests.
---@param spec blis.AnyScheduler
---@return blis.Policy
function hooks.scheduler(spec)
  return core.policy(scripted_scheduler(spec, "scheduler"))
end

--- Whom to preempt when KV blocks run out: `blis.preemption { name =, victim = function(running)
--- ... end }`, which returns an index into the running requests, in the order of the batch. They
--- have the fields that schedulers see.
---@param spec blis.AnyPreemption
---@return blis.Policy
function hooks.preemption(spec)
  return core.policy(definition.read(hooks.kinds.preemption, spec, "preemption"))
end

--- The definition of an autoscaler.
function hooks.read_autoscaler(given, path)
  local read = definition.read(hooks.kinds.autoscaler, given, path)
  if read.decide and read.interval_us == nil then read.interval_us = scale_interval_us end
  return read
end

--- Sets the number of instances: `blis.autoscaler { name =, interval_us =, decide =
--- function(context) ... end }`. It is called every interval_us (10 s), after all other events of
--- that time. It returns a number, { target =, reason =, unconstrained_target = }, or nil for no
--- change. Targets are clamped to the bounds, and clamped decisions are counted.
--- unconstrained_target is the target without limits that pools share. The other pool reads it as
--- context.other.unconstrained_target. Default: the target. context contains the fields of
--- ScaleContext: replicas, ready, min, max, metrics such as queue_depth and ttft_p90_us, and
--- instances.
---@param spec blis.AnyAutoscaler
---@return blis.Policy
function hooks.autoscaler(spec)
  return core.policy(definition.read(hooks.kinds.autoscaler, spec, "autoscaler"))
end

--- Whether prefill and decode of a request go to different instances: `blis.disaggregation { name
--- =, decide = function(request, context) ... end }`, for the decider of an experiment. It is asked
--- when the instance that decodes has been chosen: context.peer, one of context.decode. It returns
--- "local" (that one does both), "split" (routing chooses who prefills), or { prefill =, decode =
--- }, instances or their indexes; what is left out routing chooses. context is a
--- blis.StageContext: the candidates of both stages, and the links between them.
---@param spec blis.AnyDecider
---@return blis.Policy
function hooks.disaggregation(spec)
  return core.policy(definition.read(hooks.kinds.disaggregation, spec, "disaggregation"))
end

--- Copies the functions of an experiment into what the core takes.
function hooks.copy_functions(values, config)
  for _, name in ipairs(hooks.functions) do
    if values[name] ~= nil and type(values[name]) ~= "function" then
      errors.invalid("%s: %s: expected a function", name, errors.invalid_value(values[name]))
    end
    config[name] = values[name]
  end
end

return hooks
