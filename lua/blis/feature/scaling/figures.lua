--- Scaling metrics computed from the core's events, and their summary text.
local errors = require "blis.errors"
local format = require "blis.format"

local scaling = {}

-- The load is counted over windows of this length and compared with the instances.
local demand_window_us = 60000000

--- Calls with every level and the time for which it lasted.
---@param given table
---@param visit fun(level: blis.ScaleLevel, length_us: integer)
function scaling.each_level(given, visit)
  for i, level in ipairs(given.levels) do
    local next_level = given.levels[i + 1]
    local until_us = math.min(next_level and next_level.time_us or given.end_us, given.end_us)
    visit(level, math.max(until_us - level.time_us, 0))
  end
end

local phase_names = { "steady", "under_provisioned", "over_provisioned" }

local function phase_of(level)
  if level.ready < level.wanted then return "under_provisioned" end
  return level.paid > level.wanted and "over_provisioned" or "steady"
end

--- Time under-provisioned, over-provisioned, and steady, and the arrivals in each.
local function phases_of(given, records, targets)
  local phases = {}
  for _, name in ipairs(phase_names) do phases[name] = { seconds = 0.0 } end
  scaling.each_level(given, function(level, length_us)
    local phase = phases[phase_of(level)]
    phase.seconds = phase.seconds + length_us / 1e6
  end)
  if not records then return phases end
  local times = {}
  for i, level in ipairs(given.levels) do times[i] = level.time_us end
  local judged = {}
  for _, phase in pairs(phases) do phase.arrived = 0 end
  if #given.levels == 1 and not targets then -- nothing ever changed
    phases[phase_of(given.levels[1])].arrived = #records
    return phases
  end
  for i, span in ipairs(records:goodput_over_time(times, targets or {})) do
    local phase = phases[phase_of(given.levels[i])]
    phase.arrived = phase.arrived + span.arrived
    if targets then
      phase.good = (phase.good or 0) + span.good
      judged[phase] = (judged[phase] or 0) + span.judged
    end
  end
  for phase, count in pairs(judged) do
    phase.attainment = count > 0 and phase.good / count or nil
  end
  return phases
end

--- Adds the instance-seconds above and below the load of every minute, for a given capacity of one
--- instance.
local function add_provision(given, records, capacity)
  local times, over, under = {}, 0.0, 0.0
  for time_us = 0, math.max(given.end_us - 1, 0), demand_window_us do
    times[#times + 1] = time_us
  end
  local spans, row = records:goodput_over_time(times, {}), 1
  local function needed(span, to_us)
    local seconds = (to_us - span.from_us) / 1e6
    return seconds > 0 and math.ceil(span.arrived / seconds / capacity) or 0
  end
  scaling.each_level(given, function(level, length_us)
    local from_us, to_us = level.time_us, level.time_us + length_us
    while from_us < to_us do
      while spans[row + 1] and spans[row + 1].from_us <= from_us do row = row + 1 end
      local span_end_us = spans[row + 1] and spans[row + 1].from_us or given.end_us
      local part_end_us = math.min(to_us, span_end_us)
      local n, seconds = needed(spans[row], span_end_us), (part_end_us - from_us) / 1e6
      over = over + math.max(level.paid - n, 0) * seconds
      under = under + math.max(n - level.ready, 0) * seconds
      from_us = part_end_us
    end
  end)
  given.over_provisioned_seconds, given.under_provisioned_seconds = over, under
end

--- Adds the metrics that follow from the levels and from the requests.
---@param given table
---@param records? blis.Requests nil: not available
---@param targets? blis.SloTarget[]
---@param capacity? number requests per second of an instance
function scaling.complete(given, records, targets, capacity)
  local ready_us, paid_us, most_paid = 0, 0, 0
  scaling.each_level(given, function(level, length_us)
    ready_us = ready_us + level.ready * length_us
    paid_us = paid_us + level.paid * length_us
    most_paid = math.max(most_paid, level.paid)
  end)
  given.mean_ready = given.end_us > 0 and ready_us / given.end_us or 0.0
  given.mean_paid = given.end_us > 0 and paid_us / given.end_us or 0.0
  given.most_paid = most_paid
  given.phases = phases_of(given, records, targets)
  if capacity and records then add_provision(given, records, capacity) end
end

--- Numbers of wanted, ready, and billed instances at some times, which ascend.
---@param given table
---@param times_us integer[]
---@return { wanted: integer[], ready: integer[], paid: integer[] }
function scaling.at(given, times_us)
  local columns, position = { wanted = {}, ready = {}, paid = {} }, 1
  local levels = given.levels
  for row, time_us in ipairs(times_us) do
    while levels[position + 1] and levels[position + 1].time_us <= time_us do
      position = position + 1
    end
    for name, column in pairs(columns) do column[row] = levels[position][name] end
  end
  return columns
end

local function plural(number, noun)
  return ("%s %s%s"):format(format.count(number), noun, number == 1 and "" or "s")
end

--- "under-provisioned for 240.0 s: 812 requests arrived, 71.2 % within their targets (99.1 % at
--- other times)"
local function under_provisioned_line(phases)
  local short = phases.under_provisioned
  if short.seconds == 0 then return nil end
  local text = ("under-provisioned for %.1f s"):format(short.seconds)
  if not short.arrived then return text end
  text = ("%s: %s arrived"):format(text, plural(short.arrived, "request"))
  if not short.attainment then return text end
  local good, arrived = 0, 0
  for _, phase in ipairs { phases.steady, phases.over_provisioned } do
    good = good + (phase.good or 0) -- nil: no request arrived in this time
    arrived = arrived + (phase.attainment and phase.good / phase.attainment or 0)
  end
  return ("%s, %s within their targets%s"):format(text, format.percent(short.attainment),
    arrived > 0 and (" (%s at other times)"):format(format.percent(good / arrived)) or "")
end

local most_events = 3

--- "1 to 3 at 10.0 s, mean queue depth of 12 against 10", the first few.
local function event_lines(events)
  local lines = {}
  for i = 1, math.min(#events, most_events) do
    local event = events[i]
    lines[i] = ("%d to %d at %.1f s%s%s"):format(event.from, event.to, event.time_us / 1e6,
      event.reason ~= "" and ": " .. errors.escaped(event.reason) or "",
      event.proposed ~= event.to and (" (%d was requested)"):format(event.proposed) or "")
  end
  if #events > most_events then
    lines[most_events + 1] = ("... and %s"):format(plural(#events - most_events, "more decision"))
  end
  return lines
end

--- Returns the lines of a summary; the first two are pairs of a title and a line.
---@param given blis.Scaling
---@return (string|string[])[]
function scaling.lines(given)
  local lines = {
    { "replicas", ("%.2f billed, %.2f ready on average, at most %d; %s seconds"):format(
      given.mean_paid, given.mean_ready, given.most_paid,
      format.count(math.tointeger(given.replica_seconds // 1))) },
    { "scaling", ("%s up, %d down, %s, %s started, by %s"):format(
      given.scale_ups, given.scale_downs, plural(given.oscillations, "oscillation"),
      plural(given.started, "instance"), given.policy) },
  }
  local function add(text) lines[#lines + 1] = text end
  for _, line in ipairs(event_lines(given.events)) do add(line) end
  add(under_provisioned_line(given.phases))
  if given.failed_starts > 0 then
    add(("%s failed"):format(plural(given.failed_starts, "start")))
  end
  if given.waited > 0 then
    add(("%s waited for an instance, %.1f s on average, %.1f s at most"):format(
      plural(given.waited, "request"), given.waited_mean_ms / 1e3, given.waited_max_ms / 1e3))
  end
  if given.over_provisioned_seconds then
    add(("%.0f instance-seconds over-provisioned and %.0f under-provisioned"):format(
      given.over_provisioned_seconds, given.under_provisioned_seconds))
  end
  return lines
end

return scaling
