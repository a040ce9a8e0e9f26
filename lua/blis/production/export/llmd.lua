--- Policies as an EndpointPickerConfig of llm-d.
local are_alike = require "blis.alike"
local errors = require "blis.errors"
local findings = require "blis.production.findings"
local labels = require "blis.production.export.labels"
local names = require "blis.production.export.names"
local queue = require "blis.production.export.llmd_queue"
local sorted = require "blis.sorted"
local usual_scorers = require "blis.policy.usual_scorers"
local yaml_text = require "blis.production.export.yaml_text"

local llmd = {}

local order = { "apiVersion", "kind", "featureGates", "name", "type", "parameters", "plugins",
  "schedulingProfiles", "pluginRef", "weight", "flowControl" }

-- The router never takes smaller blocks.
local least_block, usual_capacity = 64, 31250
local usual_lookup = { block_size = least_block, capacity = usual_capacity, max_prefix_tokens = 0 }

local Exporter = {}
Exporter.__index = Exporter

function Exporter:unmapped(part, ...) self.findings:add("unmapped", part, nil, ...) end

--- With at most six significant digits, as it is written; the number that this text is.
function Exporter:rounded(weight, part)
  local short = tonumber(("%.6g"):format(weight))
  if short ~= weight then
    self.findings:add("note", part, nil, "weight %s is written as %s", errors.show(weight),
      errors.show(short))
  end
  return math.tointeger(short) or short
end

--- The name of a plugin; one entry for each type with the same parameters.
function Exporter:plugin(kind, parameters)
  parameters = parameters and next(parameters) ~= nil and parameters or nil
  local count = 0
  for _, one in ipairs(self.plugins) do
    if one.type == kind then
      if are_alike(one.parameters, parameters) then return one.name or kind end
      count = count + 1
    end
  end
  local name = count > 0 and ("%s-%d"):format(kind, count + 1) or nil
  table.insert(self.plugins, { type = kind, name = name, parameters = parameters })
  return name or kind
end

-- What comes nearest to scorers that have no counterpart, if they have no parameters.
local nearest = { ["queue-depth"] = { "llm-d.queue-scorer" },
  ["prefix-affinity"] = { "llm-d.prefix-cache-scorer" },
  ["load-balance"] = { "llm-d.active-request-scorer" },
  ["precise-prefix-cache"] = { "llm-d.prefix-cache-scorer", producer = "precise" },
  ["no-hit-lru"] = { "llm-d.no-hit-lru-scorer" } }

local function no_part(role, name)
  return ("no %s corresponds to '%s'%s"):format(role, name, role == "scorer" and nearest[name]
    and (" with these parameters; the closest is %s"):format(nearest[name][1]) or "")
end

--- The scorer that is exported for a scorer of the design documents: the nearest of llm-d.
function Exporter:nearest(scorer, at)
  local name, parameters = names.parts_of(scorer)
  name = names.canonical("scorer", name)
  local near = nearest[name]
  if not near or next(parameters or {}) ~= nil then return scorer end
  self.findings:add("note", at, nil, "'%s' is exported as %s, the closest one, which may decide "
    .. "differently", name, near[1])
  return near
end

--- The plugin of a part, or nothing.
function Exporter:part(role, given, what)
  local name, parameters = names.parts_of(given)
  name = names.canonical(role, name)
  local kind = type(name) == "string" and names.type_of(role, name)
  if not kind then
    self:unmapped(what, "%s", type(name) == "string" and no_part(role, name)
      or "it is written in Lua")
    return nil
  end
  local there, unknown = names.parameters_of(kind, parameters)
  for _, one in ipairs(unknown) do
    self:unmapped(what, "%s has no parameter that corresponds to '%s'", kind, one)
  end
  return self:plugin(kind, there)
end

--- The producer that a scorer of prefixes reads.
function Exporter:producer(lookup)
  if lookup.producer == "precise" then
    self.findings:add("note", "precise-prefix-cache-producer", nil, "kvEventsConfig and the "
      .. "tokenizer model depend on the deployment")
    return self:plugin "precise-prefix-cache-producer"
  end
  if lookup.block_size < least_block then
    self:unmapped("llm-d.prefix-cache-scorer", "block_size %d: the router uses at least "
      .. "%d", lookup.block_size, least_block)
  end
  return self:plugin("approx-prefix-cache-producer", {
    autoTune = false, blockSizeTokens = lookup.block_size,
    lruCapacityPerServer = lookup.capacity, maxPrefixTokensToMatch = lookup.max_prefix_tokens })
end

function Exporter:prefix_scorer(given)
  local parameters, lookup = { given[1] }, { producer = given.producer }
  for key, value in pairs(given) do parameters[key] = value end
  parameters.producer, parameters[2] = nil, nil
  for name, usual in pairs(usual_lookup) do
    lookup[name] = given[name] or usual
    parameters[name] = nil
  end
  local _, own = names.parts_of(parameters)
  local there = names.parameters_of("prefix-cache-scorer", own)
  there.prefixMatchInfoProducerName = self:producer(lookup)
  return self:plugin("prefix-cache-scorer", there)
end

--- { scorer, weight } in whatever form.
local function weighted_parts(item)
  if type(item) ~= "table" or getmetatable(item) ~= nil then return item, 1 end
  local weight = item[2] == nil and 1 or item[2]
  if type(item[1]) ~= "string" then return item[1], weight end
  local scorer = {}
  for key, value in pairs(item) do
    if key ~= 2 then scorer[key] = value end
  end
  return scorer, weight
end

--- A scorer that is turned upside down is one with a negative weight there.
local function upright(scorer, weight)
  while type(scorer) == "table" and scorer[1] == "inverted" do
    scorer, weight = scorer.base, -weight
  end
  return scorer, weight
end

function Exporter:scorers(profile, given, what)
  if type(given) == "string" then given = require("blis.core").scorer_list(given, what) end
  for i, item in ipairs(given) do
    local scorer, weight = upright(weighted_parts(item))
    local at = ("%s.scorers[%d]"):format(what, i)
    scorer = self:nearest(scorer, at)
    local name = names.canonical("scorer", (names.parts_of(scorer)))
    local ref
    if name == "llm-d.prefix-cache-scorer" then
      ref = self:prefix_scorer(type(scorer) == "table" and scorer or { scorer })
    elseif labels.scorers[name] and type(scorer) == "table" then
      ref = labels.scorers[name](self, profile, scorer)
    else
      ref = self:part("scorer", scorer, at)
    end
    if ref then
      table.insert(profile.plugins, { pluginRef = ref, weight = self:rounded(weight, at) })
    end
  end
end

--- Conditions of a utilization-filter.
local metrics = { max_active_requests = "active-requests",
  max_running_requests = "running-requests", max_waiting_queue = "waiting-queue",
  max_kv_cache_utilization = "kv-cache-utilization" }

function Exporter:utilization_filter(parameters)
  local conditions = {}
  for _, name in ipairs { "max_active_requests", "max_kv_cache_utilization",
    "max_running_requests", "max_waiting_queue" } do
    if parameters[name] then
      conditions[#conditions + 1] = { metric = metrics[name], maxValue = parameters[name] }
    end
  end
  return self:plugin("utilization-filter", { conditions = conditions,
    fallbackOnEmpty = parameters.fallback_on_empty or false })
end

function Exporter:filter(given, what)
  local name, parameters = names.parts_of(given)
  name = names.canonical("filter", name)
  if name == "llm-d.utilization-filter" then return self:utilization_filter(parameters) end
  if name == "llm-d.label-selector-filter" then return labels.selector(self, parameters, what) end
  local detector = names.detector_filters[name]
  if detector then
    local there = {}
    for key, value in pairs(parameters) do there[detector.parameters[key]] = value end
    return self:plugin(detector.type, there)
  end
  if name == "llm-d.prefix-cache-affinity-filter" then
    local own, lookup = {}, { max_prefix_tokens = 0 }
    for key, value in pairs(parameters) do own[key] = value end
    for key in pairs(usual_lookup) do
      lookup[key] = own[key] or usual_lookup[key]
      own[key] = nil
    end
    local there = names.parameters_of("prefix-cache-affinity-filter", own)
    there.prefixMatchInfoProducerName = self:producer(lookup)
    return self:plugin("prefix-cache-affinity-filter", there)
  end
  return self:part("filter", given, what)
end

function Exporter:filters(profile, given, what)
  for i, one in ipairs(given or {}) do
    if not labels.take_length_filter(self, profile, one) then
      local ref = self:filter(one, ("%s.filters[%d]"):format(what, i))
      if ref then table.insert(profile.plugins, { pluginRef = ref }) end
    end
  end
end

function Exporter:picker(profile, routing, what)
  local picker = routing.picker or "best"
  if picker == "best" then
    self.findings:add("note", what .. ".picker", nil,
      "ties go to the %s in blis; max-score-picker chooses at random", routing.tie or "lowest-id")
    picker = "llm-d.max-score-picker"
  end
  if picker == "llm-d.max-score-picker" and routing.tie and routing.picker
    and routing.tie ~= "random" then
    self.findings:add("note", what .. ".tie", nil, "max-score-picker chooses at random among ties")
  end
  local ref = self:part("picker", picker, what .. ".picker")
  if ref then table.insert(profile.plugins, { pluginRef = ref }) end
end

--- Adds the parts of a weighted policy to a profile.
function Exporter:profile_of(given, profile, what)
  self:filters(profile, given.filters, what)
  self:scorers(profile, given.scorers or usual_scorers.of "weighted", what)
  labels.add_length_filters(self, profile)
  self:picker(profile, given, what)
end

--- A profile of a routing policy.
function Exporter:profile(name, given, what, role)
  local profile = { name = name, plugins = {} }
  if role then table.insert(profile.plugins, { pluginRef = self:plugin(role) }) end
  if names.canonical("routing", (names.parts_of(given))) == "random" then
    table.insert(profile.plugins, { pluginRef = self:plugin "random-picker" })
  elseif given == "weighted" then
    self:profile_of({ "weighted", scorers = usual_scorers.of "weighted" }, profile, what)
  elseif type(given) == "table" and getmetatable(given) == nil and given[1] == "weighted" then
    self:profile_of(given, profile, what)
  else
    local label = type(given) == "string" and given or type(given) == "table"
      and getmetatable(given) == nil and given[1]
    self:unmapped(what, type(label) == "string" and "the routing policy '%s' is not a sum of llm-d "
      .. "scores" or "it is written in Lua%s", type(label) == "string" and label or "")
  end
  table.insert(self.profiles, profile)
end
function Exporter:decider(given)
  if given == "always" then return self:plugin "always-disagg-pd-decider" end
  local name, parameters = names.parts_of(given)
  name = names.canonical("decider", name)
  if name ~= "llmd.prefix-based" then
    self:unmapped("disaggregation.decider", "no decider corresponds to it")
    return nil
  end
  local there = names.parameters_of("prefix-based-pd-decider", { non_cached_tokens =
    parameters.non_cached_tokens, prompt_tokens = parameters.prompt_tokens })
  return self:plugin("prefix-based-pd-decider", there)
end

-- What the endpoint picker decides; everything else is up to engines and links.
local of_picker = { decider = true, prefill_routing = true, decode_routing = true,
  stage_order = true, encode_decider = true, encode_routing = true }

function Exporter:encode_stage(given, routing)
  if given.encode_decider == "always" then
    self:unmapped("disaggregation.encode_decider", "no decider encodes all requests")
  end
  self:profile("encode", given.encode_routing or routing, "encode_routing", "encode-filter")
  return self:plugin "always-disagg-multimodal-decider"
end

function Exporter:pools(given, routing)
  local disaggregation = type(given) == "table" and given or { decider = given }
  local has_encode = (disaggregation.encode_decider or "never") ~= "never"
  local is_encode_only = has_encode and not disaggregation.prefill_routing
    and not disaggregation.decider
  local deciders = {}
  if has_encode then deciders.encode = self:encode_stage(disaggregation, routing) end
  if not is_encode_only then
    self:profile("prefill", disaggregation.prefill_routing or routing, "prefill_routing",
      "prefill-filter")
  end
  self:profile("decode", disaggregation.decode_routing or routing, "routing", "decode-filter")
  local stage_order
  if disaggregation.stage_order == "prefill-first" then
    stage_order = { "prefill", "encode", "decode" }
  elseif not is_encode_only and disaggregation.decider ~= "never" then
    deciders.prefill = self:decider(disaggregation.decider or "always")
  end
  self:plugin("disagg-profile-handler", { stageOrder = stage_order,
    deciders = next(deciders) and deciders or nil })
  for _, name in ipairs(sorted.names(disaggregation)) do
    if not of_picker[name] then
      self.findings:add("note", "disaggregation." .. name, nil, "omitted: engines and links are "
        .. "not part of the endpoint picker")
    end
  end
end

function Exporter:admission(given)
  if given == nil or given == "always-admit" then return end
  local name, parameters = names.parts_of(given)
  name = names.canonical("admitter", name)
  if name == "gaie-legacy" then
    if parameters.qd_threshold or parameters.kv_threshold then
      self.flow.saturationDetector = { pluginRef = self:plugin("utilization-detector", {
        queueDepthThreshold = parameters.qd_threshold,
        kvCacheUtilThreshold = parameters.kv_threshold }) }
    end
    return
  end
  self:part("admitter", given, "admission")
end

--- The configuration of policies, without comments.
---@param points table<string, any> routing, admission, queue, disaggregation
---@param source string
---@return { text: string, findings: blis.production.Findings }
function llmd.of(points, source)
  local self = setmetatable({ plugins = {}, profiles = {}, flow = {}, labels = {},
    findings = findings.new(source, "as an EndpointPickerConfig of llm-d, llm-d.ai/v1alpha1") },
    Exporter)
  if points.disaggregation then
    self:pools(points.disaggregation, points.routing)
  else
    self:profile("default", points.routing, "routing")
    self:plugin "single-profile-handler"
  end
  self:admission(points.admission)
  queue.add(self, points.queue)
  for _, name in ipairs { "scheduler", "preemption", "priority", "cascade", "autoscaler" } do
    if points[name] ~= nil then self:unmapped(name, "it is not part of the endpoint picker") end
  end
  local root = { apiVersion = "llm-d.ai/v1alpha1", kind = "EndpointPickerConfig",
    featureGates = self.gates, plugins = self.plugins, schedulingProfiles = self.profiles,
    flowControl = next(self.flow) and self.flow or nil }
  return { text = yaml_text.of(root, order), findings = self.findings, labels = self.labels }
end

return llmd
