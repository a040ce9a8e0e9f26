--- What of a scenario a candidate decides, and what stays the scenario's: how good answers are, how
--- fast links are, how many instances there may be, and who wins a tie.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local definition = require "blis.policy.definition"
local errors = require "blis.errors"
local policy = require "blis.policy"
local scaling = require "blis.feature.scaling.read"
local sorted = require "blis.sorted"

local decides = {}

-- Options of disaggregation that are decisions; the others are what the links are like.
local hand_off_points = { "decider", "prefix_threshold", "prefill_routing", "decode_routing",
  "encode_routing", "stage_order" }

local function copy_of(values)
  local copy = {}
  for key, value in pairs(type(values) == "table" and values or {}) do copy[key] = value end
  return copy
end

local function parameter(router, name)
  for _, one in ipairs(router.parameters) do
    if one.name == name then return one.value end
  end
end

--- Whether a router chooses among what is equally good: most pickers do something else.
local function takes_tie(router)
  if not router.parameters or router.picker then return false end
  local entry = definition.entry("routing policy", catalogue.routers, router.name, "routing")
  for _, option in ipairs(entry.options) do
    if option.name == "tie" then return (parameter(router, "picker") or "best") == "best" end
  end
  return false
end

--- A built-in router breaks ties as the suite says.
local function with_tie(routing, tie)
  local router = policy.read_router(routing, "routing")
  if not takes_tie(router) then return routing end
  local own = parameter(router, "tie")
  if own == tie then return routing end
  if own then
    errors.invalid("routing: tie is '%s', and this suite breaks ties by '%s'; leave it out", own,
      tie)
  end
  local copy = copy_of(router)
  copy.parameters = { table.unpack(router.parameters) }
  copy.parameters[#copy.parameters + 1] = { name = "tie", value = tie }
  return core.policy(copy)
end

local function is_list_or_name(value)
  return type(value) ~= "table" or core.policy_definition(value) or rawget(value, 1) ~= nil
end

-- Decisions of disaggregation that are routing policies, which break ties as the suite says.
local stage_routers = { prefill_routing = true, decode_routing = true, encode_routing = true }

--- Hand-offs of the scenario, with the decisions of the candidate.
local function with_hand_offs(own, given, tie)
  local values = copy_of(own)
  if own ~= nil and is_list_or_name(own) then values = { decider = own } end
  if is_list_or_name(given) then given = { decider = given } end
  for _, name in ipairs(sorted.names(given)) do
    values[name] = stage_routers[name] and with_tie(given[name], tie) or given[name]
    local is_known = false
    for _, point in ipairs(hand_off_points) do is_known = is_known or point == name end
    if not is_known then
      errors.invalid("disaggregation: a candidate cannot set '%s'%s", name,
        errors.suggestion(name, hand_off_points))
    end
  end
  return values
end

--- The cascade of the scenario, with the escalations of the candidate.
local function with_escalation(own, given)
  if own == nil then
    errors.invalid("cascade: this scenario has no cascade")
  end
  local values, made = copy_of(own), core.policy_definition(given)
  local escalate = given
  if type(given) == "table" or made then
    local fields = made or given
    escalate = fields.escalate
    for name, value in pairs(fields) do
      local is_own = name == "escalate" or name == "name" or name == "label" or name == "kind"
        or type(value) == "table" and next(value) == nil
      if not is_own then
        errors.invalid("cascade: a candidate cannot set '%s', only escalate",
          tostring(name))
      end
    end
  end
  if type(own) ~= "table" or own[1] == nil then values[1] = type(own) == "string" and own or nil end
  values.escalate = escalate
  return values
end

--- An autoscaler, where the scenario says how far it may go.
local function check_autoscaler(options, given, is_oracle)
  if options.scaling == nil then
    errors.invalid("autoscaler: this scenario has no 'scaling' with bounds on the instances, so a "
      .. "candidate cannot set an autoscaler")
  end
  for _, one in ipairs(scaling.policies(given)) do
    if one.policy.name == "oracle" and one.policy.parameters and not is_oracle then
      errors.invalid("autoscaler: 'oracle' uses future information; use it only for bounds")
    end
  end
end

--- The experiment of a scenario with the policies of a candidate.
---@param experiment table
---@param policies table<string, any>
---@param suite blis.eval.Suite
---@param scenario blis.eval.Scenario
---@return table
function decides.experiment(experiment, policies, suite, scenario)
  local all = copy_of(experiment)
  for name, value in pairs(policies) do all[name] = value end
  if policies.routing ~= nil then all.routing = with_tie(policies.routing, suite.tie) end
  if policies.autoscaler ~= nil then
    check_autoscaler(experiment, policies.autoscaler, scenario.oracle)
  end
  if policies.cascade ~= nil then
    all.cascade = with_escalation(experiment.cascade, policies.cascade)
  end
  if policies.disaggregation ~= nil then
    all.disaggregation = with_hand_offs(experiment.disaggregation, policies.disaggregation,
      suite.tie)
  end
  return all
end

return decides
