--- An EndpointPickerConfig as a model: every plugin with checked parameters, every profile with its
--- stages, and the defaults of the picker. The check is as strict as the original: unknown fields
--- are errors, and all errors are reported together, with their lines.
---
--- Sources: llm-d-router ebab6879, apix/config; rules of its loader.
local core = require "blis.core"
local embedded = require "blis.production.epp.embedded"
local errors = require "blis.errors"
local findings = require "blis.production.findings"
local legacy = require "blis.production.epp.legacy"
local plugins = require "blis.production.epp.plugins"
local sorted = require "blis.sorted"
local text_file = require "blis.production.text_file"
local values = require "blis.production.epp.values"
local versions = require "blis.production.epp.versions"

local document = {}

---@class blis.epp.Instance a plugin of the file
---@field name string
---@field type string
---@field known blis.epp.Plugin
---@field parameters table<string, any> as they are given, by their new names
---@field line integer?
---@field is_default? boolean the picker makes it itself
---@field is_exact? boolean its block size is not rounded up to the router's minimum of today

---@class blis.epp.Profile
---@field name string
---@field filters blis.epp.Instance[]
---@field scorers { plugin: blis.epp.Instance, weight: number, line: integer? }[]
---@field picker blis.epp.Instance
---@field line integer?

---@class blis.epp.Model
---@field version string?
---@field plugins blis.epp.Instance[] in the order of the file
---@field by_name table<string, blis.epp.Instance>
---@field profiles blis.epp.Profile[]
---@field handler blis.epp.Instance
---@field gates table<string, boolean>
---@field flow table flowControl as it is given
---@field detector? blis.epp.Instance that the file names
---@field findings blis.production.Findings

local api, old_api = "llm-d.ai/v1alpha1", "inference.networking.x-k8s.io/v1alpha1"

--- What all steps of reading share.
local Reader = {}
Reader.__index = Reader

function Reader:line(place, key)
  local at = self.where[place]
  return at and at[key] and at[key][1]
end

function Reader:fail(line, ...) self.problems:add(line, ...) end

--- Reports a renamed key: an error if the version rejects the old name, otherwise a finding.
---@return boolean goes_on
function Reader:change(change, part, line)
  if versions.refuses(change, self.version) then
    self:fail(line, "%s was removed in %s (%s): %s", part, change.since, change.source,
      change.advice)
    return false
  end
  self.findings:add("rewritten", part, line, "%s rejects it (%s): %s", change.since,
    change.source, change.advice)
  return true
end

--- Whether the version knows what came later.
function Reader:knows(since, part, line)
  if since and self.version and versions.is_after(since, self.version) then
    self:fail(line, "%s was added in %s, but the file is read as %s", part, since, self.version)
    return false
  end
  return true
end

--- Every key of an object has to be known.
function Reader:check_keys(object, known, what)
  for _, key in ipairs(sorted.names(object)) do
    if known[key] == nil then
      self:fail(self:line(object, key), "%s: unknown key '%s'%s", what, key,
        errors.suggestion(key, sorted.names(known)))
    end
  end
end

--- A value of an object, checked for its type; nil if it is missing or wrong.
function Reader:take(object, key, kind, what)
  local given = object[key]
  if given == nil then return nil end
  local value, expected = values.read(kind, given)
  if value == nil then
    self:fail(self:line(object, key), "%s: %s is %s, expected %s", what, key, errors.show(given),
      expected)
  end
  return value
end

function Reader:object_at(object, key, what)
  return self:take(object, key, "object", what)
end

-- Parameters.

local function is_among(value, words)
  for _, word in ipairs(words) do
    if word == value then return true end
  end
  return false
end

local read_fields

--- Renamed strings, at any location.
function Reader:check_text(object, key, value, kind)
  local change = versions.values[value]
    or kind == "label-selector-filter" and versions.label_values[value]
  if not change then return value end
  self:change(change, ("%s '%s'"):format(kind, value), self:line(object, key))
  return change.new or value
end

--- Checks the strings inside of parts that are not read otherwise.
function Reader:check_texts(object, kind)
  for key, value in next, object do
    if type(value) == "table" then
      self:check_texts(value, kind)
    elseif type(value) == "string" then
      object[key] = self:check_text(object, key, value, kind)
    end
  end
end

function Reader:read_parameter(object, key, known, kind, place)
  local name, line = ("%s: %s%s"):format(kind, place, key), self:line(object, key)
  if not self:knows(known.since, name, line) then return nil end
  local value = self:take(object, key, known[1],
    kind .. (place ~= "" and ": " .. place:gsub("%.$", "") or ""))
  if value == nil then return nil end
  if known.fields then return read_fields(self, value, known.fields, kind, place .. key .. ".") end
  if known.choices and not is_among(value, known.choices) then
    self:fail(line, "%s is '%s'%s", name, value, errors.suggestion(value, known.choices))
    return nil
  end
  if type(value) == "table" then self:check_texts(value, kind) end
  if type(value) == "string" then value = self:check_text(object, key, value, kind) end
  if known.routing and value ~= false then
    self.findings:add("routing", name, line, "%s", known.routing)
  end
  return value
end

--- The current name of an old name, and its description.
local function find_parameter(fields, key)
  if fields[key] then return key, fields[key] end
  for name, known in pairs(fields) do
    if known.was == key then return name, known, true end
  end
end

function read_fields(self, object, fields, kind, place)
  local read, gone = {}, versions.parameters[kind] or {}
  for _, key in ipairs(sorted.names(object)) do
    local line, name, known, is_old = self:line(object, key), find_parameter(fields, key)
    local change = gone[place .. key]
    if change then
      self:change(change, ("%s: %s%s"):format(kind, place, key), line)
      read[key] = object[key]
    elseif not known then
      self:fail(line, "%s: unknown parameter '%s%s'%s", kind, place, key,
        next(fields) and errors.suggestion(key, sorted.names(fields)) or "; it has none")
    else
      if is_old then
        self.findings:add("rewritten", ("%s: %s%s"):format(kind, place, key), line,
          "write %s", name)
      end
      local value = self:read_parameter(object, key, known, kind, place)
      if read[name] ~= nil and value ~= nil and read[name] ~= value then
        self:fail(line, "%s: %s%s and %s differ; they are the same parameter", kind, place, name,
          known.was)
      end
      if value ~= nil then read[name] = value end
    end
  end
  return read
end

--- What a version asks for, and what a plugin always asks for.
function Reader:check_required(kind, known, read, line)
  for name, parameter in pairs(known.parameters or {}) do
    if parameter.required and read[name] == nil then
      self:fail(line, "%s: %s is missing", kind, name)
    end
  end
  for name, change in pairs(versions.required[kind] or {}) do
    if read[name] == nil and versions.refuses(change, self.version) then
      self:fail(line, "%s: %s is missing; %s requires it (%s)", kind, name, change.since,
        change.source)
    end
  end
end

function Reader:read_parameters(entry, kind, known, line)
  local given = entry.parameters ~= nil and self:object_at(entry, "parameters", kind) or {}
  if known.takes_any then
    self:check_texts(given, kind)
    return given
  end
  for name, change in pairs(versions.parameters[kind] or {}) do
    local outer, inner = name:match "^(.-)%.(.+)$"
    local place = outer and given[outer]
    if type(place) == "table" and place[inner] ~= nil then
      self:change(change, ("%s: %s"):format(kind, name), self:line(place, inner))
    end
  end
  local read = read_fields(self, given, known.parameters or {}, kind, "")
  self:check_required(kind, known, read, line)
  return read
end

-- Plugins.

--- Type and description of a plugin, by its current name.
function Reader:known_type(entry, line)
  local kind = entry.type
  local change = versions.types[kind]
  if change then
    if not self:change(change, ("plugin type '%s'"):format(kind), line) then return nil end
    if kind == "precise-prefix-cache-scorer" then return "precise-prefix-cache-producer", kind end
    if not change.new then return nil end
    kind = change.new
  end
  if not plugins.types[kind] then
    local nearest = versions.removed[kind]
    self:fail(line, "unknown plugin type '%s'%s", kind, nearest
      and ("; the router removed it in 2025; the nearest is %s"):format(nearest)
      or errors.suggestion(kind, sorted.names(plugins.types)))
    return nil
  end
  return kind
end

--- active-request-filter had one limit, which is a condition today.
local function conditions_of_old(entry)
  if entry.type ~= "active-request-filter" or type(entry.parameters) ~= "table" then return end
  local most = entry.parameters.maxActiveRequests
  if most ~= nil then
    entry.parameters.conditions = { { metric = "active-requests", maxValue = most } }
    entry.parameters.maxActiveRequests = nil
  end
end

--- Handlers that had all on one level.
local function nest_flat(read)
  local profiles, deciders = read.profiles or {}, read.deciders or {}
  profiles.decode = profiles.decode or read.decodeProfile
  profiles.prefill = profiles.prefill or read.prefillProfile
  profiles.encode = profiles.encode or read.encodeProfile
  deciders.prefill = deciders.prefill or read.prefillDeciderPluginName or read.deciderPluginName
  deciders.encode = deciders.encode or read.encodeDeciderPluginName
  return { profiles = profiles, deciders = deciders, stageOrder = read.stageOrder }
end

function Reader:add_instance(made)
  if self.by_name[made.name] then
    self:fail(made.line, "duplicate plugin name '%s'; name defaults to type", made.name)
    return
  end
  made.is_exact = self.exact[made.name]
  self.by_name[made.name] = made
  self.instances[#self.instances + 1] = made
end

function Reader:read_plugin(entry, i)
  local what = ("plugins[%d]"):format(i)
  local line = self:line(entry, "type") or self:line(self.root.plugins, i)
  self:check_keys(entry, { type = true, name = true, parameters = true }, what)
  if type(entry.type) ~= "string" or entry.type == "" then
    self:fail(line, "%s: type is missing", what)
    return
  end
  conditions_of_old(entry)
  local kind, was = self:known_type(entry, line)
  if not kind then
    self.gone[entry.name or entry.type] = true
    return
  end
  local known = plugins.types[kind]
  if not self:knows(known.since, "plugin type " .. kind, line) then return end
  if known.alpha then
    self.findings:add("note", kind, line, "alpha: the router requires --allow-experimental-plugins")
  end
  local read = self:read_parameters(entry, kind, known, line)
  if kind == "disagg-profile-handler" then read = nest_flat(read) end
  local name = self:take(entry, "name", "string", what)
  if was then
    -- The old scorer was a wrapper: a producer, and a scorer that reads it.
    self:add_instance { name = name or was, type = "prefix-cache-scorer", line = line,
      known = plugins.types["prefix-cache-scorer"],
      parameters = { prefixMatchInfoProducerName = (name or was) .. "-producer" } }
    name = (name or was) .. "-producer"
  end
  self:add_instance { name = name and name ~= "" and name or entry.type, type = kind, known = known,
    parameters = read, line = line }
end

function Reader:read_plugins()
  local list = self:take(self.root, "plugins", "list", "the file") or {}
  for i, entry in ipairs(list) do
    if type(entry) == "table" then
      self:read_plugin(entry, i)
    else
      self:fail(self:line(list, i), "plugins[%d] is %s, expected { type, name, parameters }", i,
        errors.show(entry))
    end
  end
end

--- An instance that the picker makes itself.
function Reader:default(kind, why)
  local made = { name = kind, type = kind, known = plugins.types[kind], parameters = {},
    is_default = true }
  if not self.by_name[kind] then self:add_instance(made) end
  self.findings:add("filled", kind, nil, "%s", why)
  return self.by_name[kind]
end

--- The instance that a reference names.
function Reader:resolve(object, key, what)
  local name = self:take(object, key, "string", what)
  if name == nil then return nil end
  local found = self.by_name[name]
  if not found and not self.gone[name] then
    self:fail(self:line(object, key), "%s: unknown plugin '%s'%s", what, name,
      errors.suggestion(name, sorted.names(self.by_name)))
  end
  return found
end

--- The same, of a role.
function Reader:resolve_role(object, key, what, roles)
  local found = self:resolve(object, key, what)
  if found and not roles[found.known.role] then
    self:fail(self:line(object, key), "%s: '%s' is a %s, expected a %s", what, found.name,
      found.known.role, table.concat(sorted.names(roles), " or "))
    return nil
  end
  return found
end

-- Profiles.

local stages = { filter = true, scorer = true, picker = true, handler = true, producer = true,
  decider = true, admitter = true, detector = true }

function Reader:add_stage(profile, plugin, weight, line)
  local role = plugin.known.role
  if role == "filter" or role == "detector" then -- detectors can stand among the filters
    table.insert(profile.filters, plugin)
  elseif role == "scorer" then
    table.insert(profile.scorers, { plugin = plugin, weight = weight or 1, line = line })
  elseif role == "picker" then
    if profile.picker then
      self:fail(line, "profile '%s' has two pickers, %s and %s", profile.name,
        profile.picker.name, plugin.name)
    end
    profile.picker = plugin
  end
end

function Reader:read_profile_entry(profile, entry, what)
  self:check_keys(entry, { pluginRef = true, weight = true }, what)
  local plugin = self:resolve_role(entry, "pluginRef", what, stages)
  if entry.pluginRef == nil then
    self:fail(profile.line, "%s: pluginRef is missing", what)
  end
  local weight = self:take(entry, "weight", "number", what)
  if not plugin then return end
  local line = self:line(entry, "weight") or self:line(entry, "pluginRef")
  if weight and plugin.known.role ~= "scorer" then
    self:fail(line, "%s: only scorers can have a weight; '%s' is a %s", what, plugin.name,
      plugin.known.role)
  end
  self:add_stage(profile, plugin, weight, line)
end

function Reader:read_profile(entry, i)
  local what = ("schedulingProfiles[%d]"):format(i)
  local line = self:line(self.root.schedulingProfiles, i)
  self:check_keys(entry, { name = true, plugins = true }, what)
  local name = self:take(entry, "name", "string", what)
  if not name or name == "" then
    self:fail(line, "%s: name is missing", what)
    return
  end
  for _, other in ipairs(self.profiles) do
    if other.name == name then self:fail(line, "duplicate profile '%s'", name) end
  end
  local profile = { name = name, filters = {}, scorers = {}, line = line }
  self.profiles[#self.profiles + 1] = profile
  for k, one in ipairs(self:take(entry, "plugins", "list", what) or {}) do
    if type(one) == "table" then
      self:read_profile_entry(profile, one, ("profile '%s'"):format(name))
    else
      self:fail(line, "%s: plugins[%d] is %s, expected { pluginRef, weight }", what, k,
        errors.show(one))
    end
  end
end

--- Without any plugin: what the picker has built in.
function Reader:fill_whole()
  local profile = { name = "default", filters = {}, scorers = {} }
  for _, one in ipairs { { "queue-scorer", 2 }, { "kv-cache-utilization-scorer", 2 },
    { "prefix-cache-scorer", 3 } } do
    self:add_stage(profile, self:default(one[1], ("weight %d, as without a file"):format(one[2])),
      one[2])
  end
  self.profiles[1] = profile
end

--- The default: one profile of all plugins.
function Reader:fill_profile()
  if #self.instances == 0 then return self:fill_whole() end
  local profile, names = { name = "default", filters = {}, scorers = {} }, {}
  for _, one in ipairs(self.instances) do
    local role = one.known.role
    if role == "filter" or role == "scorer" or (role == "picker" and not profile.picker) then
      self:add_stage(profile, one)
      names[#names + 1] = one.name
    end
  end
  self.profiles[1] = profile
  self.findings:add("filled", "schedulingProfiles", nil,
    "one profile, default: %s, in the order of the file (the router: in no particular one)",
    #names > 0 and table.concat(names, ", ") or "empty")
end

function Reader:fill_picker(profile)
  if profile.picker then return end
  for _, one in ipairs(self.instances) do
    if one.known.role == "picker" then
      profile.picker = one
      self.findings:add("filled", one.name, nil, "picker of profile %s: the first one declared",
        profile.name)
      return
    end
  end
  profile.picker = self:default("max-score-picker", "picker of profile " .. profile.name)
end

function Reader:read_profiles()
  local list = self:take(self.root, "schedulingProfiles", "list", "the file") or {}
  for i, entry in ipairs(list) do
    if type(entry) == "table" then
      self:read_profile(entry, i)
    else
      self:fail(self:line(list, i), "schedulingProfiles[%d] is %s, expected { name, plugins }", i,
        errors.show(entry))
    end
  end
  if #list == 0 then self:fill_profile() end
  for _, profile in ipairs(self.profiles) do self:fill_picker(profile) end
end

function Reader:read_handler()
  local handler
  for _, one in ipairs(self.instances) do
    if one.known.role == "handler" then
      if handler then
        self:fail(one.line, "two profile handlers, %s and %s; expected one", handler.name, one.name)
      end
      handler = one
    end
  end
  local count = #self.profiles
  if not handler and count <= 1 then
    handler = self:default("single-profile-handler", "there is one profile")
  elseif not handler then
    self:fail(self:line(self.root, "schedulingProfiles"), "there are %d profiles and no profile "
      .. "handler; add disagg-profile-handler", count)
  elseif handler.type == "single-profile-handler" and count > 1 then
    self:fail(handler.line, "single-profile-handler requires one profile, but the file has %d",
        count)
  end
  self.handler = handler
end

-- Everything else.

function Reader:read_gates()
  local gates = { flowControl = false, haPopulateNonLeaderDatastore = true }
  local list = self:take(self.root, "featureGates", "list", "the file") or {}
  for i, given in ipairs(list) do
    local line = self:line(list, i)
    local name, value = (type(given) == "string" and given or ""):match "^([^=]+)=?(.*)$"
    local known = versions.gates[name or ""]
    if not known then
      self:fail(line, "unknown feature gate %s%s", errors.show(given),
        errors.suggestion(name or "", sorted.names(versions.gates)))
    elseif known.since then
      self:change(known, ("feature gate '%s'"):format(name), line)
    elseif value ~= "" and value ~= "true" and value ~= "false" then
      self:fail(line, "feature gate '%s' is '%s', expected true or false", name, value)
    else
      gates[name] = value ~= "false"
    end
  end
  self.gates = gates
end

local flow_keys = { maxBytes = "quantity", maxRequests = "quantity", defaultRequestTTL = "duration",
  noEndpointRequestTTL = "duration", defaultPriorityBand = "band",
  defaultNegativePriorityBand = "band", priorityBands = "bands",
  usageLimitPolicyPluginRef = "limit",
  saturationDetector = "detector", enableEviction = "boolean" }
local band_keys = { priority = "integer", maxBytes = "quantity", maxRequests = "quantity",
  fairnessPolicyRef = "fairness", orderingPolicyRef = "ordering", queue = "queue" }

function Reader:quantity(object, key, what)
  local given = object[key]
  if given == nil then return nil end
  local value = values.quantity(given)
  if not value then
    self:fail(self:line(object, key), "%s: %s is %s, expected a quantity such as 5000 or \"1Gi\"",
      what, key, errors.show(given))
  end
  return value
end

function Reader:read_band(given, what)
  self:check_keys(given, band_keys, what)
  if type(given.queue) == "string" then
    self:check_text(given, "queue", given.queue, what)
  end
  return {
    priority = self:take(given, "priority", "integer", what),
    max_bytes = self:quantity(given, "maxBytes", what),
    max_requests = self:quantity(given, "maxRequests", what),
    fairness = self:resolve_role(given, "fairnessPolicyRef", what, { fairness = true }),
    order = self:resolve_role(given, "orderingPolicyRef", what, { ordering = true }),
  }
end

--- Bands that are listed are told apart by their priorities.
function Reader:check_band_priority(bands, band, what)
  local own = bands[#bands].priority
  if own == nil and band.priority == nil then
    self:fail(self:line(band, next(band)), "%s: priority is missing", what)
  end
  for i = 1, #bands - 1 do
    if own ~= nil and bands[i].priority == own then
      self:fail(self:line(band, "priority"), "%s: duplicate priority %d", what, own)
    end
  end
end

function Reader:read_detector(flow)
  local given = self:object_at(flow, "saturationDetector", "flowControl")
  if self.root.saturationDetector ~= nil
    and self:change(versions.keys.saturationDetector, "saturationDetector at the top",
      self:line(self.root, "saturationDetector")) then
    given = given or self:object_at(self.root, "saturationDetector", "the file")
  end
  if not given then return nil end
  self:check_keys(given, { pluginRef = true }, "saturationDetector")
  return self:resolve_role(given, "pluginRef", "saturationDetector", { detector = true })
end

function Reader:read_flow()
  local given = self:object_at(self.root, "flowControl", "the file") or {}
  self:check_keys(given, flow_keys, "flowControl")
  local flow = {
    max_bytes = self:quantity(given, "maxBytes", "flowControl"),
    max_requests = self:quantity(given, "maxRequests", "flowControl"),
    ttl_s = self:take(given, "defaultRequestTTL", "duration", "flowControl"),
    no_endpoint_ttl_s = self:take(given, "noEndpointRequestTTL", "duration", "flowControl"),
    eviction = self:take(given, "enableEviction", "boolean", "flowControl"),
    limit = self:resolve_role(given, "usageLimitPolicyPluginRef", "flowControl", { limit = true }),
    bands = {},
  }
  if given.enableEviction ~= nil then
    self:knows("0.10", "flowControl.enableEviction", self:line(given, "enableEviction"))
  end
  if given.noEndpointRequestTTL ~= nil then
    self:knows("0.11", "flowControl.noEndpointRequestTTL",
      self:line(given, "noEndpointRequestTTL"))
  end
  for _, key in ipairs { "defaultPriorityBand", "defaultNegativePriorityBand" } do
    local band = self:object_at(given, key, "flowControl")
    if band then flow[key] = self:read_band(band, "flowControl." .. key) end
  end
  for i, band in ipairs(self:take(given, "priorityBands", "list", "flowControl") or {}) do
    local what = ("flowControl.priorityBands[%d]"):format(i)
    if type(band) == "table" then
      flow.bands[#flow.bands + 1] = self:read_band(band, what)
      self:check_band_priority(flow.bands, band, what)
    else
      self:fail(self:line(given, "priorityBands"), "%s is %s, expected { priority, ... }", what,
        errors.show(band))
    end
  end
  self.detector = self:read_detector(given)
  flow.is_given = next(given) ~= nil
  self.flow = flow
end

function Reader:read_refs(list, what, roles, known)
  for i, one in ipairs(list or {}) do
    if type(one) == "table" then
      local at = ("%s[%d]"):format(what, i)
      self:check_keys(one, known, at)
      self:resolve_role(one, "pluginRef", at, roles)
      if known.extractors and one.extractors ~= nil then
        self:read_refs(self:take(one, "extractors", "list", at), at .. ".extractors", roles,
          { pluginRef = true })
      end
    else
      self:fail(self:line(list, i), "%s[%d] is %s, expected { pluginRef }", what, i,
        errors.show(one))
    end
  end
end

local sources = { passive = true, producer = true }

function Reader:read_data_layer()
  local given = self:object_at(self.root, "dataLayer", "the file") or {}
  self:check_keys(given, { injectDefaults = true, sources = true, discovery = true,
    peerDiscovery = true, crossReplicaSyncerPluginRef = true, crossReplicaSyncInterval = true },
    "dataLayer")
  self:read_refs(self:take(given, "sources", "list", "dataLayer"), "dataLayer.sources", sources,
    { pluginRef = true, extractors = true })
  local handler = self:object_at(self.root, "requestHandler", "the file") or {}
  self:check_keys(handler, { parsers = true }, "requestHandler")
  self:read_refs(self:take(handler, "parsers", "list", "requestHandler"), "requestHandler.parsers",
    sources, { pluginRef = true })
  if given.crossReplicaSyncerPluginRef ~= nil then
    self.findings:add("routing", "dataLayer.crossReplicaSyncerPluginRef",
      self:line(given, "crossReplicaSyncerPluginRef"), "there is one gateway here")
  end
  if self.root.parser ~= nil then
    self:change(versions.keys.parser, "parser at the top", self:line(self.root, "parser"))
  end
end

function Reader:read_head()
  local root = self.root
  self:check_keys(root, { apiVersion = true, kind = true, featureGates = true, plugins = true,
    schedulingProfiles = true, dataLayer = true, flowControl = true, requestHandler = true,
    saturationDetector = true, parser = true }, "the file")
  if root.kind ~= "EndpointPickerConfig" then
    self:fail(self:line(root, "kind"), "kind is %s, expected EndpointPickerConfig",
      errors.show(root.kind))
  end
  if root.apiVersion == old_api then
    self.findings:add("rewritten", "apiVersion", self:line(root, "apiVersion"),
      "%s is deprecated (#972): write %s", old_api, api)
  elseif root.apiVersion ~= api then
    self:fail(self:line(root, "apiVersion"), "apiVersion is %s, expected %s",
      errors.show(root.apiVersion), api)
  end
end

--- Reads a file; raises all that is wrong with it.
---@param path string
---@param version string? "0.9", "0.10" or "0.11"; nil takes what any of them takes
---@return blis.epp.Model
function document.read(path, version)
  local text, line = embedded.find(text_file.read(path), path)
  local root, where = core.yaml_parse(text, path)
  local what = "llm-d EndpointPickerConfig, read as "
    .. (version and "of " .. version or "keys of any version")
  local self = setmetatable({ root = root, where = where, version = version,
    problems = findings.problems(path), findings = findings.new(path, what), instances = {},
    by_name = {}, gone = {}, profiles = {}, exact = {} }, Reader)
  if type(root) ~= "table" or root[1] ~= nil then
    self:fail(1, "expected an EndpointPickerConfig")
    self.problems:raise()
  end
  if line then
    self.findings:add("note", "file", line, "the configuration begins here; the rest is not read")
  end
  self:read_head()
  legacy.rewrite(self)
  self:read_gates()
  self:read_plugins()
  self:read_profiles()
  self:read_handler()
  self:read_flow()
  self:read_data_layer()
  self.problems:raise()
  return { version = version, plugins = self.instances, by_name = self.by_name,
    profiles = self.profiles, handler = self.handler, gates = self.gates, flow = self.flow,
    detector = self.detector, findings = self.findings }
end

return document
