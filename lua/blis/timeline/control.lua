--- What happens to instances: what an autoscaler decided and how many there were, faults, and, of
--- results with keep_timeline, the states of each on a track of its own.
local pids = require "blis.timeline.pids"
local spells = require "blis.timeline.spells"

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
local function draw_instants(out, control_pid, faults, failures, window)
  local touched = {}
  local function draw(category, instance, name, time_us, ...)
    local pid = pids.of(instance) or control_pid
    out:instant(pid, name, category, time_us, "instance", instance, ...)
    if not touched[pid] then out:track(pid, instants_tid, "faults") end
    touched[pid] = true
  end
  for _, fault in ipairs(faults) do
    if is_in(window, fault.time_us) then
      draw("fault", fault.instance, fault.kind, fault.time_us, "lost", fault.lost, "rerouted",
        fault.rerouted, "retried", fault.retried)
    end
  end
  for _, one in ipairs(failures) do
    draw("failure", one.instance, "failed", one.from_us, "reason", one.reason)
  end
  return touched
end

--- Draws a state on the track of its instance. States without duration are drawn only for failures.
local function draw_spell(out, pid, tid, one)
  if one.to_us > one.from_us then
    out:slice(pid, tid, one.state, "state", one.from_us, one.to_us, "instance", one.instance,
      "reason", one.reason)
    if one.hung_us then
      out:slice(pid, tid, "hang", "hang", one.hung_us, one.to_us, "instance", one.instance)
    end
  elseif one.state == "failed" then
    out:mark(pid, tid, one.state, "failure", one.from_us, "instance", one.instance, "reason",
      one.reason)
  end
end

--- Draws the states of instances, if any changed or an instance hangs. Returns whether any were
--- drawn, and the failures without a fault at that time.
local function draw_states(out, pid, result, end_us, window)
  local failures, named = {}, {}
  for _, one in ipairs(spells.of(result, end_us)) do
    if one.to_us >= window.from_us and one.from_us <= window.to_us then
      local tid = 1 + one.number
      draw_spell(out, pid, tid, one)
      if one.state == "failed" and not one.has_fault and is_in(window, one.from_us) then
        failures[#failures + 1] = one
      end
      if not named[tid] then out:track(pid, tid, one.instance) end
      named[tid] = true
    end
  end
  return next(named) ~= nil, failures
end

--- Draws these events, on the process of control unless they belong to an instance.
---@param out blis.timeline.Writer
---@param pid integer
---@param result blis.Result
---@param end_us integer of the run
---@param window blis.timeline.Window
---@param named table<integer, boolean> processes of instances that have something; added to
function control.draw(out, pid, result, end_us, window, named)
  local scaling, faults = rawget(result, "scaling"), rawget(result, "faults") or {}
  local has_any, failures = draw_states(out, pid, result, end_us, window)
  if scaling then draw_scaling(out, pid, scaling, window) end
  for touched in pairs(draw_instants(out, pid, faults, failures, window)) do
    if touched == pid then has_any = true else named[touched] = true end
  end
  if scaling or has_any then out:process(pid, "control") end
end

return control
