--- What happens to instances: what an autoscaler decided and how many there were, faults, and, of
--- results with keep_timeline, the states of each on a track of its own.
local pids = require "blis.timeline.pids"

local control = {}

--- Instants are on a track of their own, which has a name once there is a fault on it.
local instants_tid = 0

local function is_in(window, at_us) return at_us >= window.from_us and at_us <= window.to_us end

local function draw_scaling(out, pid, scaling, window)
  for _, level in ipairs(scaling.levels) do
    if is_in(window, level.time_us) then
      out:counter(pid, "replicas", level.time_us, "wanted", level.wanted, "ready", level.ready,
        "paid", level.paid)
    end
  end
  for _, event in ipairs(scaling.events) do
    if is_in(window, event.time_us) then
      out:instant(pid, ("scale %d -> %d"):format(event.from, event.to), "scaling", event.time_us,
        "proposed", event.proposed, "trigger", event.trigger, "reason", event.reason)
    end
  end
end

--- At their instances; those of none are at control. Returns the processes that have some.
local function draw_faults(out, control_pid, faults, window)
  local touched = {}
  for _, fault in ipairs(faults) do
    if is_in(window, fault.time_us) then
      local pid = pids.of(fault.instance) or control_pid
      out:instant(pid, fault.kind, "fault", fault.time_us, "instance", fault.instance, "lost",
        fault.lost, "rerouted", fault.rerouted, "retried", fault.retried)
      if not touched[pid] then out:track(pid, instants_tid, "faults") end
      touched[pid] = true
    end
  end
  return touched
end

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

--- States that an autoscaler brings about when there are to be more, and fewer.
local asked_for = { requested = "more", pending = "more", provisioning = "more", loading = "more",
  warming = "more", draining = "fewer", drained = "fewer" }

--- Why states have changed, as far as it is known: cause(spell) of a fault of that instance, or of
--- the autoscaler of its pool.
local function causes_of(result)
  local of_instance, of_pool, roles = {}, {}, roles_of(result)
  for _, fault in ipairs(rawget(result, "faults") or {}) do
    if fault.instance then of_instance[fault.time_us .. " " .. fault.instance] = fault.kind end
  end
  local scaling = rawget(result, "scaling")
  for _, event in ipairs(scaling and scaling.events or {}) do
    local direction = event.to > event.from and "more" or "fewer"
    of_pool[("%d %s %s"):format(event.time_us, direction, event.pool or "")] = said_of(event)
  end
  return function(spell)
    local direction = asked_for[spell.state]
    local pool = scaling and rawget(scaling, "pools") and roles[spell.instance] or ""
    return of_instance[spell.from_us .. " " .. spell.instance]
      or direction and of_pool[("%d %s %s"):format(spell.from_us, direction, pool)] or nil
  end
end

--- { instance, number, state, from_us, to_us } of all states, by instance, and whether any has
--- changed.
local function spells_of(states, run_end_us)
  local open, spells, has_changed = {}, {}, false
  local function close(id, at_us)
    local one = open[id]
    one.to_us = math.max(one.from_us, at_us)
    if one.to_us > one.from_us then spells[#spells + 1] = one end
  end
  for i, id in ipairs(states.instance) do
    if open[id] then
      has_changed = true
      close(id, states.time_us[i])
    end
    has_changed = has_changed or states.time_us[i] > 0
    open[id] = { instance = id, number = pids.number(id), state = states.state[i],
      from_us = states.time_us[i] }
  end
  for id in pairs(open) do close(id, run_end_us) end
  table.sort(spells, function(a, b)
    if a.number ~= b.number then return a.number < b.number end
    return a.from_us < b.from_us
  end)
  return spells, has_changed
end

--- Draws the states of instances, where any has changed; says whether there were some.
local function draw_states(out, pid, result, window)
  local log = rawget(result, "timeline_log")
  if not (log and log.states) then return false end
  local known_until_us = math.min(result.duration_us, log.whole_until_us or math.maxinteger)
  local spells, has_changed = spells_of(log.states, known_until_us)
  if not has_changed then return false end
  local cause, named = causes_of(result), {}
  for _, one in ipairs(spells) do
    if one.to_us >= window.from_us and one.from_us <= window.to_us then
      local tid = 1 + one.number
      out:slice(pid, tid, one.state, "state", one.from_us, one.to_us, "instance", one.instance,
        "reason", cause(one))
      if not named[tid] then out:track(pid, tid, one.instance) end
      named[tid] = true
    end
  end
  return next(named) ~= nil
end

--- Draws all of that, on the process of control unless it is about an instance.
---@param out blis.timeline.Writer
---@param pid integer
---@param result blis.Result
---@param window blis.timeline.Window
---@param named table<integer, boolean> processes of instances that have something; added to
function control.draw(out, pid, result, window, named)
  local scaling, faults = rawget(result, "scaling"), rawget(result, "faults")
  local has_any = draw_states(out, pid, result, window)
  if scaling then draw_scaling(out, pid, scaling, window) end
  for touched in pairs(faults and draw_faults(out, pid, faults, window) or {}) do
    if touched == pid then has_any = true else named[touched] = true end
  end
  if scaling or has_any then out:process(pid, "control") end
end

return control
