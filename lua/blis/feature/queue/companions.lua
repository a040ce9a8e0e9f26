--- Options of the gateway's queue that require another option. A user who sets them without it gets
--- an error. If the other option is replaced, they are removed.
local catalogue = require "blis.policy.catalogue"
local errors = require "blis.errors"
local section = require "blis.feature.queue.options"

local companions = {}

-- Parameters that have options of their own, by detector.
local of_detector = {
  concurrency = { "max_concurrency" },
  utilization = { "queue_depth_threshold", "kv_utilization_threshold" },
}

local detectors = { "concurrency", "utilization" }

local function name_of(policy) return type(policy) == "table" and policy[1] or policy end

--- What the catalogue calls a detector; the name itself if it knows none.
local function detector_name(policy)
  local wanted = name_of(policy)
  for _, entry in ipairs(catalogue.saturation_detectors) do
    if entry.name == wanted then return wanted end
    for _, alias in ipairs(entry.aliases) do
      if alias == wanted then return entry.name end
    end
  end
  return wanted
end

--- Options of the queue that are parameters of a detector, given by name or as a table.
---@param detector any
---@return string[]
function companions.parameters_of(detector)
  return of_detector[detector_name(detector)] or {}
end

local function has_service(values)
  return values.fairness_policy or values.fairness == "least-service"
end

local function is_least_service(values)
  return not values.fairness_policy and values.fairness == "least-service"
end

-- The option that each option requires, and the check for it.
local rules = {
  { "cycle_us", "dispatch 'cycle' or 'tick'", function(v) return v.dispatch ~= "event" end },
  { "slo_targets", "queue.order = 'slo-deadline'", function(v)
    return not v.order_policy and v.order == "slo-deadline"
  end },
  { "service_half_life_s", "fairness = 'least-service' or a function", has_service },
  { "service_weight", "fairness = 'least-service'", is_least_service },
  { "wait_weight", "fairness = 'least-service'", is_least_service },
  { "sheds", "max_requests: requests are given up when that many wait", function(v)
    return not v.sheds or v.max_requests > 0
  end },
}

--- In the default profile a parameter of a detector that is not there is a mistake.
---@param values table the options with their defaults
---@param detector any what is given
---@param path string
function companions.check_detector(values, detector, path)
  local used = detector_name(detector)
  for _, owner in ipairs(detectors) do
    for _, name in ipairs(of_detector[owner]) do
      local is_there = values[name] ~= nil
      if is_there and type(detector) == "table" and used == owner then
        errors.invalid("%s.%s is a parameter of the detector in %s.saturation; set it "
          .. "there", path, name, path)
      elseif is_there and used ~= owner then
        errors.invalid("%s.%s is a parameter of %s.saturation = '%s', which is not used; set it "
          .. "with the detector: { name, parameter = value, ... }", path, name, path, owner)
      end
    end
  end
end

--- In the default profile an option that would change nothing is a mistake.
---@param values table the options with their defaults
---@param options table what was given of them
---@param path string
function companions.check(values, options, path)
  for _, rule in ipairs(rules) do
    local name, with, is_there = table.unpack(rule)
    if options[name] ~= nil and not is_there(values) then
      errors.invalid("%s.%s has no effect without %s", path, name, with)
    end
  end
end

-- Laying one set of options over another.

local function copy(options)
  local copied = {}
  for key, value in pairs(options) do copied[key] = value end
  return copied
end

--- A policy with this parameter: { "concurrency", max_concurrency = 32 } for "concurrency", too.
local function with_parameter(policy, name, value)
  local made = type(policy) == "table" and copy(policy) or { policy }
  made[name] = value
  return made
end

--- Parameters of the detector that are given over another layer of them, or over a detector with
--- some of its own.
local function overlay_detector(all, base, over)
  for _, detector in ipairs(detectors) do
    for _, name in ipairs(of_detector[detector]) do
      if over.saturation ~= nil and over[name] == nil then all[name] = nil end
      local is_inside = over.saturation == nil and type(base.saturation) == "table"
        and detector_name(base.saturation) == detector
      if over[name] ~= nil and is_inside then
        all.saturation = with_parameter(all.saturation, name, over[name])
        all[name] = nil
      end
    end
  end
end

--- The same for the usage limit, whose threshold asks for usage limit linear.
local function overlay_limit(all, base, over)
  if over.usage_limit_threshold ~= nil and over.usage_limit == nil then
    if name_of(base.usage_limit) ~= "linear" or type(base.usage_limit) == "table" then
      all.usage_limit = nil
    end
  elseif over.usage_limit ~= nil and over.usage_limit_threshold == nil then
    all.usage_limit_threshold = nil
  end
end

local function defaults()
  local values = {}
  for _, option in ipairs(section.options) do values[option.name] = option.default end
  return values
end

--- Merges options: the second table takes precedence. Options that require a replaced option are
--- removed with it.
---@param base table
---@param over table
---@return table
function companions.overlay(base, over)
  local all = copy(base)
  for key, value in pairs(over) do all[key] = value end
  overlay_detector(all, base, over)
  overlay_limit(all, base, over)
  local values = setmetatable(copy(all), { __index = defaults() })
  for _, rule in ipairs(rules) do
    local name, _, is_there = table.unpack(rule)
    if over[name] == nil and all[name] ~= nil and not is_there(values) then all[name] = nil end
  end
  return all
end

return companions
