--- The gateway's queue, for the core.
local catalogue = require "blis.policy.catalogue"
local companions = require "blis.feature.queue.companions"
local core = require "blis.core"
local definition = require "blis.policy.definition"
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local schema = require "blis.config.schema"
local section = require "blis.feature.queue.options"

local queue = {}

local usual_cycle_us, sweep_us, forget_bands_us = 1000, 1000000, 600000000

local function copy(options)
  local copied = {}
  for key, value in pairs(options) do copied[key] = value end
  return copied
end

--- A copy whose lists and parameters are copies, too.
local function deep_copy(options)
  local copied = copy(options)
  for key, value in pairs(copied) do
    if type(value) == "table" then copied[key] = deep_copy(value) end
  end
  return copied
end

--- What the catalogue calls a detector that is given by name; the name may be an alias.
local function detector_name(given, path)
  if type(given) ~= "string" then return given end
  return definition.entry("saturation detector", catalogue.saturation_detectors, given,
    path .. ".saturation").name
end

--- The detector, with the parameters that have options of their own.
local function read_detector(values, is_go_blis, path)
  local given = detector_name(values.saturation, path)
  if not is_go_blis then companions.check_detector(values, given, path) end
  local own = companions.parameters_of(given)
  if type(given) == "string" and #own > 0 then
    given = { given }
    for _, name in ipairs(own) do given[name] = values[name] end
    if is_go_blis and given[1] == "utilization" then given.staleness_seconds = 0 end
  end
  return hooks.read("saturation", given, path .. ".saturation")
end

local function read_limit(values, options, path)
  local given = values.usage_limit
  if values.usage_limit_threshold then
    if options.usage_limit ~= nil and options.usage_limit ~= "linear" then
      errors.invalid("%s.usage_limit_threshold requires usage_limit = 'linear'", path)
    end
    given = { "linear", threshold = values.usage_limit_threshold }
  end
  return hooks.read("usage_limit", given, path .. ".usage_limit")
end

-- What a script may say with a function, what its definition is called, and its kind.
local functions = {
  { name = "fairness", as = "fairness_policy", kind = "fairness" },
  { name = "order", as = "order_policy", kind = "queue_order" },
  { name = "band_selection", as = "band_policy", kind = "band_selection" },
}

--- Removes the functions from the options, and returns their definitions.
local function take_functions(given, path)
  local definitions = {}
  for _, one in ipairs(functions) do
    local value = given[one.name]
    if value ~= nil and type(value) ~= "string" then
      definitions[one.as] = hooks.read(one.kind, value, path .. "." .. one.name)
      given[one.name] = nil
    end
  end
  return definitions
end

---@type blis.Section
local band_section = {
  name = "band",
  summary = "Room of a band of the queue.",
  options = {
    { name = "priority", type = "integer", min = -1000000, max = 1000000, required = true,
      doc = "The value of its SLO classes." },
    { name = "max_requests", type = "integer", min = 0, max = 1000000000, unit = "requests",
      doc = "0 = no limit; default: band_max_requests." },
    { name = "max_bytes", type = "integer", min = 0, max = 1000000000000000, unit = "bytes",
      doc = "0 = no limit; default: band_max_bytes." },
  },
}

--- Bands with limits of their own, as the core takes them.
local function read_bands(values, path)
  if values.bands == nil then return nil end
  local count = 0
  for _ in pairs(type(values.bands) == "table" and values.bands or {}) do count = count + 1 end
  if type(values.bands) ~= "table" or #values.bands ~= count then
    schema.raise_value(path, values.bands, "a list of { priority =, max_requests =, max_bytes = }")
  end
  local list, known = {}, {}
  for i, one in ipairs(values.bands) do
    local band = schema.read(band_section, one, ("%s[%d]"):format(path, i))
    if known[band.priority] then
      errors.invalid("%s: duplicate priority %d", path, band.priority)
    end
    known[band.priority] = true
    list[i] = {
      priority = band.priority, max_requests = band.max_requests or values.band_max_requests,
      max_bytes = band.max_bytes or values.band_max_bytes,
    }
  end
  return list
end

-- The classes that everybody knows; a workload may have others.
local classes = { "critical", "realtime", "standard", "sheddable", "batch", "background" }

--- A class that is nearly one of these is meant to be that.
local function check_targets(values, path)
  for _, target in ipairs(values.slo_targets or {}) do
    local class, is_known = target.name, false
    for _, name in ipairs(classes) do is_known = is_known or name == class end
    local suggestion = is_known and "" or errors.suggestion(class, classes, "")
    if suggestion:find "did you mean" then
      errors.invalid("%s.slo_targets: unknown SLO class '%s'%s", path, class, suggestion)
    end
  end
end

local function check_event(values, path)
  if values.dispatch ~= "event" then return end
  local what = values.eviction and "eviction" or values.band_policy and "band_selection"
  if what then
    errors.invalid("%s.%s depends on the interval of dispatch attempts, which dispatch 'event' "
      .. "does not define; use dispatch 'cycle'", path, what)
  end
end

--- What was given, without the constructor that a script may have used.
local function plain(given, path)
  local made = core.policy_definition(given)
  if made and made.kind ~= "queue" then
    errors.invalid("%s: got a policy of kind %s, expected the options of a queue", path, made.kind)
  end
  if given == true then return {} end
  return made and made.options or given
end

--- What the core takes; nil without a queue.
---@param given table|boolean|blis.Policy|nil
---@param profile string
---@param where? string what messages call it
---@return table?
function queue.read(given, profile, where)
  if given == nil or given == false then return nil end
  local path, is_go_blis = where or "queue", profile == "go-blis"
  local options = plain(given, path)
  local definitions = {}
  if type(options) == "table" then
    options = copy(options)
    definitions = take_functions(options, path)
  end
  local values = schema.read(section, options, path, profile)
  for name, one in pairs(definitions) do values[name] = one end
  values.saturation = read_detector(values, is_go_blis, path)
  values.usage_limit = read_limit(values, options, path)
  if values.cycle_us == 0 then values.cycle_us = usual_cycle_us end
  values.bands = read_bands(values, path .. ".bands")
  check_event(values, path)
  if not is_go_blis then
    companions.check(values, type(options) == "table" and options or {}, path)
    check_targets(values, path)
  end
  values.no_endpoint_ttl_us = values.no_endpoint_ttl_us or values.ttl_us
  values.go_blis = is_go_blis
  values.sweep_us = is_go_blis and 1 or sweep_us
  values.forget_bands_us = is_go_blis and 0 or forget_bands_us
  return values
end

--- The policies of a queue that was read.
---@param values table
---@return table[]
function queue.policies(values)
  local list = { values.saturation, values.usage_limit }
  for _, one in ipairs(functions) do list[#list + 1] = values[one.as] end
  return list
end

--- The gateway queue, between admission and routing, checked at once: `blis.queue { saturation =
--- "concurrency", max_concurrency = 64, fairness = "round-robin" }`, for queue = in any number of
--- experiments. Its fields are blis.QueueOptions; a saturation detector, a usage limit, fairness,
--- order, and band_selection may be functions.
---@param options? blis.QueueOptions|true
---@return blis.Policy
function queue.new(options)
  if options == false then
    schema.raise_value("queue", options, "the options of a queue (omit queue for no queue)")
  end
  local given = options == nil and {} or plain(options, "queue")
  queue.read(given, "design")
  return core.policy { kind = "queue", name = "queue", options = deep_copy(given) }
end

return queue
