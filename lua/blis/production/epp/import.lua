--- An EndpointPickerConfig as an experiment in Lua.
local catalogue = require "blis.policy.catalogue"
local document = require "blis.production.epp.document"
local errors = require "blis.errors"
local experiment_text = require "blis.production.experiment_text"
local header_profiles = require "blis.production.epp.header_profiles"
local labels = require "blis.production.epp.labels"
local lua_text = require "blis.production.lua_text"
local plugins = require "blis.production.epp.plugins"
local schema = require "blis.config.schema"
local script = require "blis.production.script"
local sorted = require "blis.sorted"

local import = {}

local code = lua_text.code

-- Between two scrapes of the metrics of an endpoint.
local scrape_us = 50000
-- Never smaller, even with autoTune off; and what the producers begin with.
local least_block, usual_block = 64, 16
local usual_prefix_tokens, usual_capacity = 131072, 31250

local Importer = {}
Importer.__index = Importer

function Importer:add(kind, plugin, ...)
  self.findings:add(kind, plugin.name, plugin.line, ...)
end

-- What the catalogue calls the policies of a role.
local lists = { scorer = "scorers", filter = "filters", admitter = "admissions",
  decider = "deciders", detector = "saturation_detectors", limit = "usage_limits" }

--- What the catalogue says of a parameter; nil where it does not know it.
local function option_of(role, policy, parameter)
  for _, entry in ipairs(lists[role] and catalogue[lists[role]] or {}) do
    for _, option in ipairs(entry.name == policy and entry.options or {}) do
      if option.name == parameter then return option end
    end
  end
end

--- Whether a value is one that the router takes for its default.
local function means_default(known, value)
  local range = known.usual_outside
  return range ~= nil and (value < range[1] or value > range[2])
end

--- Parameters of a plugin by the names they have here.
function Importer:parameters(plugin, into, policy)
  for _, name in ipairs(sorted.names(plugin.known.parameters or {})) do
    local known, value = plugin.known.parameters[name], plugin.parameters[name]
    if known.as and value ~= nil and not means_default(known, value) then
      if type(value) == "number" and known.per then
        value = math.tointeger(value / known.per) or value / known.per
      end
      local option = option_of(plugin.known.role, policy or into[1], known.as)
      local ok, problem = true, nil
      if option then ok, problem = pcall(schema.check_value, option, value, name) end
      if not ok then
        self.problems:add(plugin.line, "%s: %s", plugin.name, script.message(problem))
      end
      into[known.as] = value
    end
  end
  return into
end

--- Features that are not simulated; false unless the user allowed them.
function Importer:missing(plugin, why)
  self:add("routing", plugin, "%s", why)
  return nil
end

-- Where a scorer learns what is cached.

--- The producer that a plugin names, or the default one.
function Importer:producer_of(plugin)
  local name = plugin.parameters.prefixMatchInfoProducerName
  if not name then
    name = plugins.default_producers.prefix
    if not self.model.by_name[name] and not self.has_default then
      self.has_default = true
      self.findings:add("filled", name, nil, "with its defaults: %s reads it", plugin.name)
    end
    return self.model.by_name[name]
      or { name = name, type = name, known = plugins.types[name], parameters = {} }
  end
  local found = self.model.by_name[name]
  if not found then
    self.problems:add(plugin.line, "%s: unknown producer '%s'%s", plugin.name, name,
      errors.suggestion(name, sorted.names(self.model.by_name)))
  end
  return found
end

--- The index of the approximate producer.
function Importer:approx_index(producer)
  local given, index = producer.parameters, {}
  local least = producer.is_exact and 1 or least_block
  local size = math.max(least, given.blockSizeTokens or usual_block)
  if given.blockSizeTokens and given.blockSizeTokens < least then
    self:add("note", producer, "blockSizeTokens %d: the router uses at least %d",
      given.blockSizeTokens, least_block)
  end
  index.block_size = size
  index.capacity = given.lruCapacityPerServer or usual_capacity
  local most = given.maxPrefixTokensToMatch or usual_prefix_tokens
  if most == 0 then most = (given.maxPrefixBlocksToMatch or 0) * size end
  index.max_prefix_tokens = most
  if given.autoTune ~= false and not self.has_told_tune then
    self.has_told_tune = true
    self:add("note", producer, "autoTune: the router reads the capacity from the engine's metrics; "
      .. "blis uses lruCapacityPerServer")
  end
  return index
end

--- Adds what a scorer of prefixes reads; nil when its producer is not simulated.
function Importer:prefix_index(plugin, into)
  local producer = self:producer_of(plugin)
  if not producer then return nil end
  if producer.known.missing then
    return self:missing(plugin, ("its producer %s is not simulated: %s"):format(producer.name,
      producer.known.missing))
  end
  if producer.type == "precise-prefix-cache-producer" then
    into.producer = "precise"
    if producer.parameters.speculativeIndexing then
      self:add("routing", producer, "speculativeIndexing: entries for requests that were just sent "
        .. "are not simulated")
    end
    return into
  end
  for name, value in pairs(self:approx_index(producer)) do into[name] = value end
  return into
end

-- Filters, scorers, pickers.

local conditions = {
  ["active-requests"] = "max_active_requests", ["running-requests"] = "max_running_requests",
  ["waiting-queue"] = "max_waiting_queue",
  ["kv-cache-utilization"] = "max_kv_cache_utilization",
}

function Importer:limits_of(plugin, into)
  for i, one in ipairs(plugin.parameters.conditions) do
    local name = type(one) == "table" and conditions[one.metric]
    if not name or type(one.maxValue) ~= "number" then
      self.problems:add(plugin.line, "%s: conditions[%d]: expected { metric, maxValue }%s",
        plugin.name, i, errors.suggestion(tostring(type(one) == "table" and one.metric),
          sorted.names(conditions)))
    else
      into[name] = one.maxValue
    end
  end
  return into
end

local function values_of_index(index)
  return { block_size = index.block_size, capacity = index.capacity }
end

--- Detectors can stand among the filters as well.
function Importer:detector_filter(plugin, profile)
  local given, made = plugin.parameters, { "llm-d." .. plugin.type }
  made.queue_depth_threshold, made.headroom = given.queueDepthThreshold, given.headroom
  made.kv_cache_util_threshold = given.kvCacheUtilThreshold
  made.max_concurrency = given.maxConcurrency
  made.max_token_concurrency = given.maxTokenConcurrency
  self:add("taken", plugin, "filter %s of profile %s", made[1], profile.name)
  return made
end

--- A filter here, or nil.
function Importer:filter(plugin, profile)
  local known = plugin.known
  if known.role == "detector" then return self:detector_filter(plugin, profile) end
  if known.missing then return self:missing(plugin, known.missing .. "; all candidates stay") end
  if plugin.type == "label-selector-filter" then return labels.selector(self, plugin, profile) end
  if known.name == "role" then
    if not self.is_disaggregated then
      self:add("taken", plugin, "filter of profile %s: no instance has a role, so all stay",
        profile.name)
    else
      self:add("taken", plugin, "the instances of stage %s", profile.name)
    end
    return nil
  end
  local made = self:parameters(plugin, { known.name })
  if plugin.type == "utilization-filter" then
    self:limits_of(plugin, made)
  elseif plugin.type == "prefix-cache-affinity-filter" then
    local producer = self:producer_of(plugin)
    if producer and producer.type ~= "approx-prefix-cache-producer" then
      return self:missing(plugin, "blis supports only an approximate index here; all candidates "
        .. "stay")
    end
    local index = producer and values_of_index(self:approx_index(producer)) or {}
    for name, value in pairs(index) do made[name] = value end
  end
  self:add("taken", plugin, "filter %s of profile %s", known.name, profile.name)
  return made
end

function Importer:scorer_entry(made, item, profile)
  local weight, plugin = item.weight, item.plugin
  if weight == 0 then
    self:add("note", plugin, "weight 0 in profile %s: omitted", profile.name)
    return nil
  end
  self:add("taken", plugin, "scorer %s of profile %s, weight %s", made[1], profile.name,
    errors.show(weight))
  if weight < 0 then
    self:add("note", plugin, "weight %s is negative: profile %s prefers endpoints with a low "
      .. "score", errors.show(weight), profile.name)
    return { "inverted", -weight, base = made }
  end
  table.insert(made, 2, weight)
  return made
end

function Importer:scorer(item, profile)
  local plugin = item.plugin
  local known = plugin.known
  if known.missing then return self:missing(plugin, known.missing .. "; it gives all endpoints the "
    .. "same score") end
  if plugin.type == "no-hit-lru-scorer" then
    self:add("note", plugin, "the router detects cold requests with its default approximate index; "
      .. "blis reads the caches")
  end
  local made = self:parameters(plugin, { known.name })
  if plugin.type == "prefix-cache-scorer" and not self:prefix_index(plugin, made) then
    return nil
  end
  if labels.readers[plugin.type] and not labels.readers[plugin.type](self, plugin, made) then
    return nil
  end
  if plugin.type == "prefix-cache-scorer" and made.producer == "precise" then
    made.block_size, made.capacity, made.max_prefix_tokens = nil, nil, nil
  end
  return self:scorer_entry(made, item, profile)
end

-- A stage without scores, for its filters and picker.
local no_scores = [[
-- No scorer: all candidates are equal.
local no_scores = blis.scorer { name = "none", score = function() return 0 end }]]

function Importer:add_no_scores()
  if not self.has_no_scores then table.insert(self.definitions, no_scores) end
  self.has_no_scores = true
  return { { code "no_scores", 1 } }
end

--- Filters, scorers, and picker of a profile, as policies of blis.
function Importer:stages(profile)
  local filters, scorers, seen = {}, {}, {}
  for _, plugin in ipairs(profile.filters) do
    filters[#filters + 1] = self:filter(plugin, profile)
  end
  for _, item in ipairs(profile.scorers) do
    local made = self:scorer(item, profile)
    filters[#filters + 1] = labels.length_filter(self, item.plugin, profile)
    local name = made and (made.base or made)[1]
    if name and seen[name] then
      self.problems:add(item.line or item.plugin.line, "profile '%s': scorer %s occurs twice; blis "
        .. "simulates one scorer per type", profile.name, item.plugin.type)
    end
    if name then seen[name] = true end
    scorers[#scorers + 1] = made
  end
  local picker = profile.picker
  self:add("taken", picker, "picker of profile %s", profile.name)
  if (picker.parameters.maxNumOfEndpoints or 1) > 1 then
    self:add("ignored", picker, "maxNumOfEndpoints: only the first endpoint is used")
  end
  return { filters = filters, scorers = scorers, picker = picker.known.name }
end

--- The routing policy that has these stages.
function Importer:routing_of(stages)
  local filters, scorers = stages.filters, stages.scorers
  if #scorers == 0 and #filters == 0 then return "random" end
  if #scorers == 0 then scorers = self:add_no_scores() end
  return { "weighted", scorers = scorers, filters = #filters > 0 and filters or nil,
    picker = stages.picker }
end

--- The routing policy of a profile.
function Importer:routing(profile) return self:routing_of(self:stages(profile)) end

-- Handlers.

local stage_names = { decode = true, prefill = true, encode = true }

--- "decode" or "prefill", whatever form the order has: a list of stages, or decode-first.
function Importer:first_stage(handler)
  local order = handler.parameters.stageOrder
  if order == nil then return "decode" end
  local list = type(order) == "table" and order
    or { (tostring(order):gsub("%-first$", "")) }
  for _, stage in ipairs(list) do
    if not stage_names[stage] then list = {} end
  end
  local first = list[1]
  if first ~= "decode" and first ~= "prefill" then
    self.problems:add(handler.line, "%s: stageOrder is %s, expected decode-first, prefill-first, "
      .. "or a list of stages that begins with decode or prefill", handler.name,
      errors.show(order))
  end
  return first
end

function Importer:profile_named(name, what, handler)
  for _, profile in ipairs(self.model.profiles) do
    if profile.name == name then return profile end
  end
  if what then
    self.problems:add(handler.line, "%s: unknown profile '%s' for the stage %s", handler.name,
      name, what)
  end
end

function Importer:decider(handler, name)
  if name == nil then
    self:add("note", handler, "no prefill decider: no request is split")
    return "never"
  end
  local plugin = self.model.by_name[name]
  if not plugin then
    self.problems:add(handler.line, "%s: unknown decider '%s'%s", handler.name, name,
      errors.suggestion(name, sorted.names(self.model.by_name)))
    return nil
  end
  if plugin.type == "always-disagg-pd-decider" then
    self:add("taken", plugin, "every prompt is computed by the prefill pool")
    return "always"
  elseif plugin.type ~= "prefix-based-pd-decider" then
    self.problems:add(plugin.line, "%s is a %s and does not decide about prefill", name,
      plugin.type)
    return nil
  end
  local made = self:parameters(plugin, { "llmd.prefix-based" })
  self:add("note", plugin, "the router reads its default approximate index; blis reads the caches")
  self:add("taken", plugin, "splits requests with at least %d uncached tokens",
    made.non_cached_tokens or 0)
  return made
end

function Importer:encode_stage(handler, deciders, profile)
  self.cluster.encode_instances = 1
  self.disaggregation.encode_routing = self:routing(profile)
  local decider = deciders.encode and self.model.by_name[deciders.encode]
  if deciders.encode and not decider then
    self.problems:add(handler.line, "%s: unknown decider '%s'", handler.name, deciders.encode)
  end
  self.disaggregation.encode_decider = decider and "multimodal" or "never"
  self.disaggregation.encode_base_us, self.disaggregation.encode_us_per_token = 20000, 20
  self:add("taken", handler, "an encode stage for images, sound and video")
  self:add("note", handler, "encode_base_us and encode_us_per_token depend on the encoder: they "
    .. "are guesses")
end

function Importer:disaggregate(handler)
  local given = handler.parameters
  local names, deciders = given.profiles or {}, given.deciders or {}
  local decode = self:profile_named(names.decode or "decode", "decode", handler)
  local prefill = self:profile_named(names.prefill or "prefill", names.prefill, handler)
  local encode = self:profile_named(names.encode or "encode", names.encode, handler)
  self.is_disaggregated, self.disaggregation = prefill ~= nil or encode ~= nil, {}
  if not decode then return end
  self.experiment.routing = self:routing(decode)
  if encode then self:encode_stage(handler, deciders, encode) end
  if not prefill then
    self.cluster[encode and "prefill_decode_instances" or "instances"] = 4
    if not encode then self.disaggregation = nil end
    return
  end
  self.cluster.prefill_instances, self.cluster.decode_instances = 2, 2
  self.disaggregation.prefill_routing = self:routing(prefill)
  if self:first_stage(handler) == "prefill" then
    if deciders.prefill then
      self.problems:add(handler.line, "%s: a prefill decider cannot be combined with stageOrder "
        .. "prefill first", handler.name)
    end
    self.disaggregation.stage_order = "prefill-first"
    self:add("taken", handler, "prefill first")
  else
    self.disaggregation.decider = self:decider(handler, deciders.prefill)
    self:add("taken", handler, "decode first")
  end
end

--- One profile for all requests, the default one.
function Importer:one_profile_of_header(handler, why)
  self:missing(handler, why .. "; all requests get the default profile")
  local name = handler.parameters.defaultProfile
  return self:routing(name and self:profile_named(name, "defaultProfile", handler)
    or self.model.profiles[1])
end

--- Profiles that a header chooses: see header_profiles.
function Importer:header_profiles(handler)
  local field = labels.field_of(handler.parameters.headerName)
  if not field then
    return self:one_profile_of_header(handler, ("no field of requests corresponds to the header %s")
      :format(errors.show(handler.parameters.headerName)))
  end
  if not header_profiles.are_alike(self.model.profiles) then
    return self:one_profile_of_header(handler, "only profiles that have the same filters and the "
      .. "same picker are simulated side by side")
  end
  local name = handler.parameters.defaultProfile
  local default = name and self:profile_named(name, "defaultProfile", handler)
    or self.model.profiles[1]
  self:add("taken", handler, "the profile that the header %s names, else %s; the field %s of "
    .. "requests stands for it", errors.show(handler.parameters.headerName), default.name, field)
  local parts = {}
  for i, profile in ipairs(self.model.profiles) do
    parts[i] = { name = profile.name, stages = self:stages(profile) }
  end
  local scorers = header_profiles.combine(parts, default.name, field, self.definitions)
  return self:routing_of { filters = parts[1].stages.filters, scorers = scorers,
    picker = parts[1].stages.picker }
end

function Importer:handle()
  local handler = self.model.handler
  if handler.type == "disagg-profile-handler" then return self:disaggregate(handler) end
  if handler.type == "header-profile-handler" then
    self.experiment.routing = self:header_profiles(handler)
    return
  end
  local profile = self.model.profiles[1]
  if handler.type == "data-parallel-profile-handler" then
    self:add("ignored", handler, "deprecated; the ranks of an instance are one engine here")
  else
    self:add("taken", handler, "one profile, %s", profile.name)
  end
  self.experiment.routing = self:routing(profile)
end

-- Admission and flow control.

function Importer:saturation()
  local detector = self.model.detector
  if not detector then
    self.findings:add("filled", "utilization-detector", nil, "with its defaults")
    return { "utilization" }
  end
  local made = self:parameters(detector, { detector.known.name })
  if made.kv_utilization_threshold and made.kv_utilization_threshold > 1 then
    made.kv_utilization_threshold = 1
  end
  if made.mode == "tokens" and made.max_concurrency then made.max_concurrency = nil end
  made.staleness_seconds = detector.parameters.metricsStalenessThreshold
  self:add("taken", detector, "saturation detector %s", made[1])
  return made
end

--- Names of flow control without a gate.
function Importer:legacy_admission()
  local made = self:saturation()
  if self.experiment.admission then return end
  if made[1] ~= "utilization" then
    self.findings:add("routing", made[1] .. "-detector", nil, "without the gate flowControl, only "
      .. "the utilization detector is simulated; no request is shed")
    return
  end
  self.experiment.admission = { "gaie-legacy", qd_threshold = made.queue_depth_threshold,
    kv_threshold = made.kv_utilization_threshold }
end

function Importer:band_policies(queue, band)
  if band.fairness then
    self:parameters(band.fairness, queue)
    queue.fairness = band.fairness.known.name
    self:add("taken", band.fairness, "fairness %s", queue.fairness)
  end
  if band.order then
    queue.order = band.order.known.name
    self:add("taken", band.order, "order %s", queue.order)
  end
end

local function us(seconds) return seconds and math.floor(seconds * 1000000 + 0.5) end

local function not_zero(value) return value ~= 0 and value or nil end

function Importer:bands_of(flow)
  local bands = {}
  for i, band in ipairs(flow.bands) do
    bands[i] = { priority = band.priority, max_requests = not_zero(band.max_requests),
      max_bytes = not_zero(band.max_bytes) }
    if band.fairness or band.order then
      self.findings:add("routing", ("flowControl.priorityBands[%d]"):format(i), nil,
        "fairness and order per band are not simulated: defaultPriorityBand applies to all bands")
    end
  end
  if flow.defaultNegativePriorityBand then
    self.findings:add("routing", "flowControl.defaultNegativePriorityBand", nil,
      "blis treats bands below 0 like the others")
  end
  return #bands > 0 and bands or nil
end

function Importer:queue()
  local flow = self.model.flow
  local queue = {
    saturation = self:saturation(), max_requests = flow.max_requests, max_bytes = flow.max_bytes,
    ttl_us = us(flow.ttl_s), no_endpoint_ttl_us = us(flow.no_endpoint_ttl_s),
    eviction = flow.eviction, bands = self:bands_of(flow),
  }
  local band = flow.defaultPriorityBand
  if band then
    queue.band_max_requests = not_zero(band.max_requests)
    queue.band_max_bytes = not_zero(band.max_bytes)
    self:band_policies(queue, band)
  end
  if flow.limit then
    queue.usage_limit = self:parameters(flow.limit, { flow.limit.known.name })
    self:add("taken", flow.limit, "usage limit %s", flow.limit.known.name)
  end
  self.experiment.queue = queue
end

function Importer:admit()
  for _, plugin in ipairs(self.model.plugins) do
    if plugin.known.role == "admitter" then
      if self.experiment.admission then
        self.problems:add(plugin.line, "two admitters, of which one is simulated")
      end
      self.experiment.admission = self:parameters(plugin, { plugin.known.name })
      self:add("taken", plugin, "admission policy %s", plugin.known.name)
    end
  end
  if self.model.gates.flowControl then return self:queue() end
  if self.model.flow.is_given and (self.model.flow.ttl_s or #self.model.flow.bands > 0
    or self.model.flow.limit or self.model.flow.defaultPriorityBand) then
    self.findings:add("note", "flowControl", nil, "the gate flowControl is off: the router takes "
      .. "the saturation detector alone")
  end
  self:legacy_admission()
end

--- What no profile names.
function Importer:tell_rest()
  local used = {}
  for _, one in ipairs(self.findings.list) do used[one.part] = true end
  for _, plugin in ipairs(self.model.plugins) do
    if plugin.known.why then
      self:add("ignored", plugin, "%s", plugin.known.why)
    elseif plugin.known.role == "producer" then
      if not plugin.known.missing then self:add("taken", plugin, "what its readers know") end
    elseif not used[plugin.name] then
      self:add("ignored", plugin, "no profile or policy refers to it")
    end
  end
end

--- The experiment of a file, as text, and what was found.
---@param path string
---@param version string?
---@param known? table<string, string[]> labels of instances, in place of examples
---@return { lua: string, findings: blis.production.Findings, model: blis.epp.Model }
function import.read(path, version, known)
  local model = document.read(path, version)
  local self = setmetatable({ model = model, findings = model.findings, definitions = {},
    problems = require("blis.production.findings").problems(path), experiment = {},
    cluster = { snapshot_refresh_us = scrape_us }, labels = {}, known_labels = known or {} },
    Importer)
  self:handle()
  self:admit()
  self:tell_rest()
  self.problems:raise()
  if not self.is_disaggregated then self.cluster.instances = 4 end
  labels.define(self)
  self.experiment.cluster, self.experiment.disaggregation = self.cluster, self.disaggregation
  local lua = experiment_text.of(self.experiment, { source = path, what = model.findings.what,
    definitions = self.definitions, findings = model.findings })
  return { lua = lua, findings = model.findings, model = model }
end

return import
