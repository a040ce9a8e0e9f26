--- The gateway's queue as flowControl of an EndpointPickerConfig.
local core = require "blis.core"
local names = require "blis.production.export.names"
local sorted = require "blis.sorted"

local queue = {}

--- A duration of Go, with every digit.
local function duration(us)
  if not us then return nil end
  if us % 1000000 == 0 then return ("%ds"):format(us // 1000000) end
  return us % 1000 == 0 and ("%dms"):format(us // 1000) or ("%dus"):format(us)
end

-- As good as no limit, where 0 is the default there.
local most_requests, most_bytes = 1000000000, 1000000000000000

local function room(limit, most)
  if limit == 0 then return most end
  return limit
end

-- Options of the queue that are exported; parameters of detectors are a part of these.
local exported = { saturation = true, usage_limit = true, usage_limit_threshold = true,
  fairness = true, service_weight = true, wait_weight = true, service_half_life_s = true,
  order = true, max_requests = true, max_bytes = true, band_max_requests = true,
  band_max_bytes = true, bands = true, ttl_us = true, no_endpoint_ttl_us = true, eviction = true }

local detector_options = { max_concurrency = true, queue_depth_threshold = true,
  kv_utilization_threshold = true }

-- The rest, and when it is as in the router.
local same_there = {
  dispatch = { "cycle", "the router dispatches in cycles" },
  cycle_us = { 1000, "the router's cycle is 1 ms" },
  sheds = { false, "the router rejects the arriving request, regardless of waiting requests" },
  band_selection = { "strict", "the router takes the highest band" },
}

local function tell_rest(self, given)
  for _, name in ipairs(sorted.names(given)) do
    local same = same_there[name]
    if same and given[name] ~= same[1] then
      self:unmapped("queue." .. name, "%s", same[2])
    elseif not same and not exported[name] and not detector_options[name] then
      self.findings:add("note", "queue." .. name, nil, "omitted: %s", name == "slo_targets"
        and "requests state their deadlines in the header x-llm-d-slo-ttft-ms"
        or "it is not part of the router's configuration")
    end
  end
end

--- The detector with the parameters that the queue has options for.
local function whole_detector(given)
  local saturation = given.saturation or "utilization"
  local made
  for name in pairs(detector_options) do
    if given[name] ~= nil and type(saturation) == "string" then
      made = made or { saturation }
      made[name] = given[name]
    end
  end
  return made or saturation
end

--- BLIS (Go) has ceilings from 1 down to a threshold, which is holding back by rank.
local function whole_limit(given)
  local limit, least = given.usage_limit, given.usage_limit_threshold
  local name, parameters = names.parts_of(limit)
  if name == "linear" then least = least or parameters.threshold or 1 end
  if least then return { "priority-holdback", min_ceiling = least } end
  return limit
end

local function add_bands(self, given)
  for i, one in ipairs(given.bands or {}) do
    self.flow.priorityBands = self.flow.priorityBands or {}
    self.flow.priorityBands[i] = { priority = one.priority,
      maxRequests = room(one.max_requests, most_requests),
      maxBytes = room(one.max_bytes, most_bytes) }
  end
end

local function detector(self, given)
  local name, parameters = names.parts_of(given)
  name = names.canonical("detector", name)
  local own = {}
  for key, value in pairs(parameters or {}) do own[key] = value end
  local staleness = own.staleness_seconds
  own.staleness_seconds = nil
  local kind = name and names.type_of("detector", name)
  if not kind then return self:part("detector", given, "queue.saturation") end
  local there, unknown = names.parameters_of(kind, own)
  for _, one in ipairs(unknown) do self:unmapped("queue.saturation", "no parameter '%s'", one) end
  there.metricsStalenessThreshold = staleness and duration(math.floor(staleness * 1e6 + 0.5))
  return self:plugin(kind, there)
end

local function fairness(self, given)
  if type(given.fairness) ~= "string" then
    self:unmapped("queue.fairness", "it is written in Lua")
    return nil
  end
  local own = given.fairness == "least-service" and { given.fairness,
    service_weight = given.service_weight, wait_weight = given.wait_weight,
    service_half_life_s = given.service_half_life_s } or given.fairness
  return self:part("fairness", own, "queue.fairness")
end

--- The options of a queue, in whatever form they are given; nil without one.
local function queue_options(given)
  local made = core.policy_definition(given)
  if made then return made.options end
  return given == true and {} or given or nil
end

--- Adds it: flowControl with its plugins, and the gate that turns it on.
---@param self table what the configuration is made with
---@param given any queue of an experiment
function queue.add(self, given)
  given = queue_options(given)
  if given == nil then return end
  self.gates = { "flowControl" }
  local flow, band = self.flow, {}
  flow.maxRequests, flow.maxBytes = given.max_requests, given.max_bytes
  flow.defaultRequestTTL = duration(given.ttl_us)
  flow.noEndpointRequestTTL = duration(given.no_endpoint_ttl_us)
  flow.enableEviction = given.eviction
  band.maxRequests = room(given.band_max_requests, most_requests)
  band.maxBytes = room(given.band_max_bytes, most_bytes)
  flow.saturationDetector = { pluginRef = detector(self, whole_detector(given)) }
  local limit = whole_limit(given)
  if limit then
    flow.usageLimitPolicyPluginRef = self:part("limit", limit, "queue.usage_limit")
  end
  if given.fairness then band.fairnessPolicyRef = fairness(self, given) end
  if given.order then band.orderingPolicyRef = self:part("ordering", given.order, "queue.order") end
  if next(band) then flow.defaultPriorityBand = band end
  add_bands(self, given)
  tell_rest(self, given)
end

return queue
