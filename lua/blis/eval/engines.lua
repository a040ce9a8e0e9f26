--- Engine-side policies of a candidate: schedulers and preemption policies. Each instance has its
--- own copy, so that the engines of a cluster share no variables, as on separate machines.
local core = require "blis.core"
local hooks = require "blis.policy.hooks"

local engines = {}

--- Whether a role of a candidate decides at the engines.
---@param role string
---@return boolean
function engines.decide(role) return role == "scheduler" or role == "preemption" end

local fields = { "goes_before", "make_batch", "on_arrival", "victim" }

local function definition_of(role, value)
  if role == "scheduler" then return hooks.read_scheduler(value, {}) end
  return hooks.read_preemption(value, {})
end

--- A list of functions by instance, from 1, that come into being when they are first called.
local function by_instance(of, field)
  return setmetatable({}, { __index = function(list, i)
    local made = of(i)[field]
    rawset(list, i, made)
    return made
  end })
end

--- The definition with a list of functions in place of each function; of(i) is the definition of an
--- instance.
local function listed(definition, of)
  local copy = {}
  for key, value in next, definition do copy[key] = value end
  for _, field in ipairs(fields) do
    if copy[field] ~= nil then copy[field] = by_instance(of, field) end
  end
  return copy
end

local function once(make)
  local known = {}
  return function(i)
    if known[i] == nil then known[i] = make(i) end
    return known[i]
  end
end

--- Returns the policy of a role with a copy for each instance; names of built-in policies remain.
---@param role "scheduler"|"preemption"
---@param value any what the candidate returned for the role
---@param again fun(i: integer): any runs the candidate for an instance and returns the same for it
---@return any
function engines.apart(role, value, again)
  local definition = definition_of(role, value)
  if definition == nil then return value end
  local of = once(function(i) return definition_of(role, again(i)) or {} end)
  if not definition.make then return core.policy(listed(definition, of)) end
  local made = {}
  for key, item in next, definition do made[key] = item end
  function made.make(...)
    local arguments = table.pack(...)
    local first = definition.make(...)
    return listed(first, once(function(i)
      return of(i).make(table.unpack(arguments, 1, arguments.n))
    end))
  end
  return core.policy(made)
end

return engines
