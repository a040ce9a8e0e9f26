--- In which states instances were, when, and why, of results with keep_timeline; and when one hung.
local pids = require "blis.timeline.pids"

local spells = {}

---@class blis.timeline.Spell an instance in a state
---@field instance string
---@field number integer of the instance
---@field place integer among all of them
---@field state blis.InstanceState
---@field before? blis.InstanceState
---@field from_us integer
---@field to_us integer
---@field hung_us? integer since when it hangs in this state
---@field hung_before? boolean it hung in the state before
---@field reason? string why it is in that state
---@field has_fault? boolean that is a fault at that time

local function said_of(event)
  return event.reason and event.reason ~= "" and event.trigger .. ": " .. event.reason
    or event.trigger
end

--- The roles of instances, by their names, where there are pools.
local function roles_of(result)
  local groups, roles = rawget(result.setup, "groups") or {}, {}
  for _, instance in ipairs(result.instances) do
    local group = groups[instance.group]
    roles[instance.id] = group and group.role
  end
  return roles
end

--- States that an autoscaler causes when it scales up and down.
local asked_for = { requested = "more", pending = "more", provisioning = "more", loading = "more",
  warming = "more", draining = "fewer", drained = "fewer" }

-- What an instance is on its way to its first request.
local starting = { requested = true, pending = true, provisioning = true, loading = true,
  warming = true }

--- Why an instance has failed without a fault at that time.
local function cause_of_failure(spell)
  if spell.state ~= "failed" then return nil end
  return spell.hung_before and "hang" or starting[spell.before] and "start failed" or nil
end

--- Why states have changed, as far as it is known: cause(spell) of a fault of that instance, or of
--- the autoscaler of its pool; and whether it is a fault.
local function causes_of(result)
  local of_instance, of_pool, roles = {}, {}, roles_of(result)
  for _, fault in ipairs(rawget(result, "faults") or {}) do
    if fault.instance and not fault.is_missed then
      of_instance[fault.time_us .. " " .. fault.instance] = fault.kind
    end
  end
  local scaling = rawget(result, "scaling")
  for _, event in ipairs(scaling and scaling.events or {}) do
    local direction = event.to > event.from and "more" or "fewer"
    of_pool[("%d %s %s"):format(event.time_us, direction, event.pool or "")] = said_of(event)
  end
  return function(spell)
    local fault = of_instance[spell.from_us .. " " .. spell.instance]
    local direction = asked_for[spell.state]
    local pool = scaling and rawget(scaling, "pools") and roles[spell.instance] or ""
    return fault or cause_of_failure(spell)
      or direction and of_pool[("%d %s %s"):format(spell.from_us, direction, pool)] or nil,
      fault ~= nil
  end
end

--- All spells, by instance, and whether any state has changed.
local function read_spells(states, run_end_us)
  local open, list, has_changed = {}, {}, false
  for i, id in ipairs(states.instance) do
    local one = { instance = id, number = pids.number(id), place = i, state = states.state[i],
      from_us = states.time_us[i], to_us = math.max(states.time_us[i], run_end_us) }
    local last = open[id]
    if last then last.to_us, one.before = one.from_us, last.state end
    has_changed = has_changed or last ~= nil or one.from_us > 0
    open[id], list[i] = one, one
  end
  table.sort(list, function(a, b)
    if a.number ~= b.number then return a.number < b.number end
    return a.place < b.place
  end)
  return list, has_changed
end

local is_up = { active = true, draining = true }

--- Notes where instances hang: until they are killed, whatever their routers believe. Says whether
--- any does.
local function note_hangs(list, faults)
  local times, last, has_any = {}, nil, false
  for _, fault in ipairs(faults) do
    if fault.kind == "hang" and not fault.is_missed then
      times[fault.instance] = times[fault.instance] or {}
      table.insert(times[fault.instance], fault.time_us)
    end
  end
  for _, one in ipairs(list) do
    one.hung_before = last and last.instance == one.instance and last.hung_us ~= nil
    if is_up[one.state] and one.hung_before then one.hung_us = one.from_us end
    for _, at_us in ipairs(is_up[one.state] and times[one.instance] or {}) do
      if not one.hung_us and at_us >= one.from_us and at_us < one.to_us then one.hung_us = at_us end
    end
    last, has_any = one, has_any or one.hung_us ~= nil
  end
  return has_any
end

--- The states of instances, in order of instance and time; empty if no state has changed and no
--- instance hangs.
---@param result blis.Result
---@param end_us integer of the run
---@return blis.timeline.Spell[]
function spells.of(result, end_us)
  local log, faults = rawget(result, "timeline_log"), rawget(result, "faults") or {}
  if not (log and log.states) then return {} end
  local known_until_us = math.min(end_us, log.complete_until_us or math.maxinteger)
  local list, has_changed = read_spells(log.states, known_until_us)
  local has_hangs, cause = note_hangs(list, faults), causes_of(result)
  if not (has_changed or has_hangs) then return {} end
  for _, one in ipairs(list) do one.reason, one.has_fault = cause(one) end
  return list
end

return spells
