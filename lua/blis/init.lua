--- A deterministic, scriptable simulator of LLM inference clusters.
require "blis.drawing_modules"
local core = require "blis.core"
local catalogue = require "blis.catalogue"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local engine = require "blis.engine"
local experiment = require "blis.experiment"
local hooks = require "blis.policy.hooks"
local latency = require "blis.engine.latency"
local policy = require "blis.policy"
local profiles = require "blis.engine.profiles"
local result = require "blis.results.result"
local schema = require "blis.config.schema"
local show = require "blis.show"
local statistics = require "blis.statistics"
local trace = require "blis.traffic.trace"
local units = require "blis.units"
local workload = require "blis.traffic.workload"

--- A function of a module that its first call loads: scripts that do without it start sooner.
local function at_first_call(module, name)
  return function(...) return require(module)[name](...) end
end

---@class blis
local blis = {
  _VERSION = core._VERSION,

  run = experiment.run,
  simulation = experiment.simulation,
  compare = at_first_call("blis.compare.comparison", "compare"),
  load_result = result.load,
  diff = at_first_call("blis.results.diff", "compare"),
  regret = at_first_call("blis.compare.regret", "examine"),
  ---@type blis.sweep.Module
  sweep = deferred "blis.sweep",
  capacity = at_first_call("blis.capacity", "search"),
  recommend = at_first_call("blis.recommend", "search"),
  calibrate = at_first_call("blis.calibrate", "run"),
  live = at_first_call("blis.live.script", "serve"),
  cma_es = at_first_call("blis.sweep.cma_es", "new"),
  statistics = statistics,

  workload = workload.new,
  session_graphs = at_first_call("blis.traffic.graphs", "open"),
  trace = trace,
  trace_format = at_first_call("blis.traffic.trace_formats", "add"),

  filter = policy.filter,
  scorer = policy.scorer,
  picker = policy.picker,
  router = policy.router,
  admission = hooks.admission,
  cascade = hooks.cascade,
  scheduler = hooks.scheduler,
  preemption = hooks.preemption,
  autoscaler = hooks.autoscaler,
  disaggregation = hooks.disaggregation,
  queue = at_first_call("blis.feature.queue.read", "new"),

  latency_model = latency.model,
  models = catalogue.models,
  hardware = catalogue.hardware,

  seconds = units.seconds,
  milliseconds = units.milliseconds,
  minutes = units.minutes,

  vec = core.vec,
}

--- An empty queue of events, which come out in the order of time, class, pushing.
---@return blis.EventQueue
function blis.event_queue()
  return core.event_queue()
end

--- A random stream: the one called name under a master seed, or, without a name, the one of the
--- seed.
---@param seed integer
---@param name? string
---@return blis.Rng
function blis.rng(seed, name)
  return core.rng(seed, name)
end

---@type blis.Section
local kv_cache_section = {
  name = "kv_cache",
  summary = "A KV cache by itself.",
  options = {
    {
      name = "blocks", type = "integer", min = 1, max = 1000000000, required = true,
      unit = "blocks",
      doc = "Size of the cache.",
    },
    {
      name = "block_size", type = "integer", min = 1, max = 1048576, default = 16, unit = "tokens",
      doc = "Tokens of a block.",
    },
  },
}

--- The KV cache of one engine by itself: `blis.kv_cache { blocks = 64, block_size = 16 }`.
---@param options { blocks: integer, block_size?: integer }
---@return blis.KvCache
function blis.kv_cache(options)
  return core.kv_cache(schema.read(kv_cache_section, options, "kv_cache"))
end

--- One serving engine without a cluster, for custom loops: `blis.instance { model =
--- "qwen/qwen3-14b", hardware = "H100" }`. It accepts the engine options of a cluster and the
--- built-in latency models. A script adds requests, runs steps, and reads the state between steps.
---
---@param options? blis.ClusterOptions
---@param profile? string
---@return blis.LoneInstance
function blis.instance(options, profile)
  profiles.check(profile)
  local values = engine.read(options, "instance", profile)
  if values.groups or values.instances ~= 1 then
    errors.invalid("instance: this is one instance; make as many as you like")
  end
  if values.speculation and values.speculation.acceptance_of then
    errors.invalid("instance.speculation.acceptance: acceptance by request requires a cluster; for "
      .. "a single instance, expected a number or a list")
  end
  local is_chosen = type(options) == "table" and options.engine ~= nil
  if not is_chosen then values.engine = "stepwise" end -- shows every step
  values.horizon_us = math.maxinteger
  return errors.located(core.lone_instance, values)
end

--- An empty list of finished requests, for custom loops: `list:add(record)` adds the records that
--- `instance:step()` returns, with `instance = "instance_0"` for their instance. `list:hash()` is
--- the hash of a result with the same requests.
---@return blis.Requests
function blis.records()
  return core.records()
end

---@type blis.Section
local prefix_index_section = {
  name = "prefix_index",
  summary = "A router's own memory of the prompts it has sent where.",
  options = {
    {
      name = "capacity", type = "integer", min = 1, max = 1 << 30, default = 31250, unit = "blocks",
      doc = "Size per instance; the blocks not used for the longest time make room.",
    },
    {
      name = "block_size", type = "integer", min = 1, max = 1048576, default = 16, unit = "tokens",
      doc = "Tokens of a block. Only full blocks are remembered.",
    },
  },
}

--- A prefix index for policies in Lua, like the index of prefix-affinity: `blis.prefix_index {
--- capacity = 31250, block_size = 16 }`. In observe, a policy records the instance of a request.
--- Later it reads how many tokens of another prompt an instance has received. The index can contain
--- prompts that the caches have evicted. Every simulation starts with an empty index, so runs and
--- clones do not affect each other. Outside of runs, the index has the state of the last run.
---
---@param options? { capacity?: integer, block_size?: integer }
---@return blis.PrefixIndex
function blis.prefix_index(options)
  return core.prefix_index(schema.read(prefix_index_section, options or {}, "prefix_index"))
end

--- The KV capacity of an engine with every term of it: `blis.kv_capacity { model =
--- "qwen/qwen3-14b", hardware = "H100", tp = 2 }`.
---@param options? blis.ClusterOptions
---@return blis.KvCapacity
function blis.kv_capacity(options)
  return show.figures(errors.located(core.kv_capacity, engine.read(options, "cluster")))
end

--- The tokens of the prompt of a request, for policies that read them. Inside a decision, only the
--- request of the decision is allowed. Prompts have no text: equal tokens have equal numbers below
--- 2^32. Different tokens have different numbers, except with probability 2^-32.
---@param request blis.Request
---@param first? integer from 1
---@param last? integer
---@return integer[]
function blis.token_ids(request, first, last)
  return core.token_ids(request, first, last)
end

--- What an admission policy returns to let a request in.
---@return string
function blis.admit()
  return "admit"
end

--- What an admission policy returns to refuse a request.
---@param reason? string
---@return string, string?
function blis.reject(reason)
  return "reject", reason
end

--- The value that an admission policy returns to be called again later. The decision log has the
--- reason.
---@param delay_us integer
---@param reason? string
---@return string, integer, string?
function blis.delay(delay_us, reason)
  return "delay", delay_us, reason
end

local names = {}
for name in pairs(blis) do names[#names + 1] = name end
table.sort(names)

setmetatable(blis, {
  __tostring = function() return "blis " .. core._VERSION end,
  __index = function(_, name)
    errors.invalid("blis has no '%s'%s", tostring(name), errors.suggestion(tostring(name), names))
  end,
})

show.module("blis", blis)

return blis
