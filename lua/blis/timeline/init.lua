--- A run as a file for chrome://tracing and ui.perfetto.dev: requests on their ways, how many wait
--- and run, the steps of instances, loads of adapters, hand-offs, what KV tiers read and wrote, who
--- waited for whom in session graphs, faults and what an autoscaler did. Everything comes from the
--- result, so a run that is not drawn pays nothing.
---
--- Processes are the gateway (1), instance i (10 + i), links and control, which come behind the
--- last instance. A request has a slice on a lane of each place where it was, with what it did
--- there inside; at the gateway lanes belong to bands of one priority, the most urgent on top.
local adapters = require "blis.timeline.adapters"
local endings = require "blis.endings"
local errors = require "blis.errors"
local lanes = require "blis.timeline.lanes"
local links = require "blis.timeline.links"
local steps = require "blis.timeline.steps"
local writer = require "blis.timeline.writer"

local timeline = {}

local gateway_pid, first_pid = 1, 10

--- Links and control have the same numbers in most runs: there where instances do not get that far.
local function pids_behind(instances)
  local last = first_pid + instances
  return { links = math.max(900, last), control = math.max(990, last + 1) }
end

-- So many requests make a file that viewers still open; of more, every so-manieth is drawn.
local requests_max = 200000

---@class blis.TimelineOptions
---@field from_us? integer only requests that were there then or later
---@field to_us? integer only requests that had come by then
---@field every? integer only every so-manieth request; default: so that there are 200,000 at most

local option_names = { "from_us", "to_us", "every" }

local function read_options(given)
  local options = given or {}
  if type(options) ~= "table" then
    errors.invalid("timeline: %s is not allowed, expected a table of options", errors.show(options))
  end
  errors.check_names(options, option_names, "timeline", "option")
  for _, name in ipairs(option_names) do
    local value, least = options[name], name == "every" and 1 or 0
    if value ~= nil and (math.type(value) ~= "integer" or value < least) then
      errors.invalid("timeline.%s: %s is not allowed, expected an integer of %d or more", name,
        errors.show(value), least)
    end
  end
  local from_us, to_us = options.from_us or 0, options.to_us or math.maxinteger
  if to_us < from_us then
    errors.invalid("timeline.to_us: %d is before from_us, %d", to_us, from_us)
  end
  return from_us, to_us, options.every
end

--- When a request left everything behind it; the end of the run for one that did not.
local function end_of(record, run_end_us)
  return record.state:find "^still" and math.max(run_end_us, record.arrival_us) or record.end_us
end

local function instance_number(id) return id and math.tointeger(id:match "(%d+)$") end

--- The numbers of the records to be drawn.
local function chosen(result, from_us, to_us, every)
  local list, records, inside = {}, result.requests, 0
  every = every or math.max(1, math.ceil(#records / requests_max))
  for i = 1, #records do
    local record = records[i]
    if record.arrival_us > to_us then break end
    if end_of(record, result.duration_us) >= from_us then
      if inside % every == 0 then list[#list + 1] = record end
      inside = inside + 1
    end
  end
  return list, every
end

---@class blis.timeline.Visit where a request was, and when
---@field record blis.RequestRecord
---@field pid integer
---@field start_us integer
---@field end_us integer
---@field parts { [1]: string, [2]: integer, [3]: integer }[] what it did, one after the other
---@field tid? integer

local function clamp(value, low, high) return math.max(low, math.min(value, high)) end

--- Adds a visit whose parts end at these times, the last one with it; nil: the part before goes on.
local function visit(list, record, pid, start_us, end_us, names, times)
  local one, at_us = { record = record, pid = pid, start_us = start_us, end_us = end_us,
    parts = {} }, start_us
  for i, name in ipairs(names) do
    local until_us = clamp(times[i] or end_us, at_us, end_us)
    if until_us > at_us then one.parts[#one.parts + 1] = { name, at_us, until_us } end
    at_us = until_us
  end
  list[#list + 1] = one
  return one
end

local served = { "queued", "prefill", "decode" }

--- Where a request was, in order of time.
local function visits_of(list, record, run_end_us)
  local arrival_us, end_us = record.arrival_us, end_of(record, run_end_us)
  local waits_us = record.gateway_wait_us
  local number, source = instance_number(record.instance), instance_number(record.prefill_instance)
  local ways, at_us = {}, arrival_us
  if waits_us or not (number or source) then
    at_us = arrival_us + (waits_us or end_us - arrival_us)
    ways[1] = visit(list, record, gateway_pid, arrival_us, at_us, { "waiting" }, {})
  end
  local first_us = record.ttft_us and arrival_us + record.ttft_us
  if source then
    local prefilled_us = record.prefill_end_us or end_us
    ways[#ways + 1] = visit(list, record, first_pid + source, at_us, prefilled_us,
      { "queued", "prefill" }, { record.prefill_admitted_us })
    at_us = record.transfer_end_us or prefilled_us
    if number and record.transfer_end_us then
      ways[#ways + 1] = visit(list, record, first_pid + number, at_us, math.max(at_us, end_us),
        { "queued", "decode" }, { first_us })
    end
  elseif number then
    local delay_us = record.scheduling_delay_us
    ways[#ways + 1] = visit(list, record, first_pid + number, math.min(at_us, end_us), end_us,
      served, { delay_us and arrival_us + delay_us, first_us })
  end
  return ways
end

local function by_start(a, b)
  if a.start_us ~= b.start_us then return a.start_us < b.start_us end
  return a.record.number < b.record.number
end

--- Visits by process, each in the order of their starts.
local function sort_visits(list)
  local by_pid, pids = {}, {}
  for _, one in ipairs(list) do
    if not by_pid[one.pid] then
      by_pid[one.pid] = {}
      pids[#pids + 1] = one.pid
    end
    table.insert(by_pid[one.pid], one)
  end
  table.sort(pids)
  for _, pid in ipairs(pids) do table.sort(by_pid[pid], by_start) end
  return by_pid, pids
end

local function said(text) return text ~= "" and text or nil end

--- Draws visits on lanes, tracks behind tid; returns how many these are.
local function draw_visits(out, visits, tid)
  local free = lanes.new()
  for _, one in ipairs(visits) do
    local record = one.record
    one.tid = tid + free:take(one.start_us, one.end_us)
    out:slice(one.pid, one.tid, record.id, "request", one.start_us, one.end_us, "req", record.id,
      "state", record.state, "reason", record.reason, "prompt_tokens", record.prompt_tokens,
      "output_tokens", record.output_tokens, "slo_class", said(record.slo_class), "tenant",
      said(record.tenant), "priority", record.priority)
    for _, part in ipairs(one.parts) do
      out:slice(one.pid, one.tid, part[1], "stage", part[2], part[3], "req", record.id)
    end
  end
  return free.count
end

--- How many were in each stage, at every time when that changed.
local function draw_levels(out, pid, counter, visits, names)
  local changes, of_name = {}, {}
  for i, name in ipairs(names) do of_name[name] = i end
  for _, one in ipairs(visits) do
    for _, part in ipairs(one.parts) do
      local stage = of_name[part[1]]
      changes[#changes + 1] = (part[2] * 8 + stage) * 2 + 1
      changes[#changes + 1] = (part[3] * 8 + stage) * 2 -- at equal times who goes is first
    end
  end
  table.sort(changes)
  local levels, place = {}, 1
  for i, name in ipairs(names) do levels[2 * i - 1], levels[2 * i] = name, 0 end
  while changes[place] do
    local at_us = changes[place] // 16
    while changes[place] and changes[place] // 16 == at_us do
      local stage = changes[place] // 2 % 8
      levels[2 * stage] = levels[2 * stage] + (changes[place] % 2 == 1 and 1 or -1)
      place = place + 1
    end
    out:counter(pid, counter, at_us, table.unpack(levels))
  end
end

--- On lanes behind tid.
local function draw_instance(out, pid, tid, visits)
  local count = draw_visits(out, visits, tid)
  draw_levels(out, pid, "requests", visits, served)
  for lane = 1, count do out:track(pid, tid + lane, ("lane %d"):format(lane)) end
end

--- Visits by the priority of their requests, the highest first.
local function bands_of(visits)
  local bands, order = {}, {}
  for _, one in ipairs(visits) do
    local priority = one.record.priority
    local key = priority or "none"
    if not bands[key] then
      bands[key] = { priority = priority, visits = {} }
      order[#order + 1] = bands[key]
    end
    table.insert(bands[key].visits, one)
  end
  table.sort(order, function(a, b) return (a.priority or 0) > (b.priority or 0) end)
  return order
end

--- What waits at the gateway: lanes and a counter for each priority, where these differ.
local function draw_gateway(out, visits)
  local tid = 0
  for _, band in ipairs(bands_of(visits)) do
    local name = band.priority and ("priority %g"):format(band.priority) or nil
    local count = draw_visits(out, band.visits, tid)
    draw_levels(out, gateway_pid, name and "requests of " .. name or "requests", band.visits,
      { "waiting" })
    for lane = 1, count do
      out:track(gateway_pid, tid + lane, (name and name .. ", " or "") .. ("lane %d"):format(lane))
    end
    tid = tid + count
  end
end

--- Where an arrow begins and ends on a visit: inside of it.
local function start_of(one) return { pid = one.pid, tid = one.tid, at_us = one.start_us } end
local function last_of(one)
  return { pid = one.pid, tid = one.tid, at_us = math.max(one.start_us, one.end_us - 1) }
end

--- Arrows from the gateway to an instance, from prefill to decode, and to the next round of a
--- session; of graphs whose joins are known these are drawn in its place.
local function draw_flows(out, ways_of, has_joins)
  local last_of_session = {}
  for _, ways in ipairs(ways_of) do
    local record = ways[1] and ways[1].record
    for i = 2, #ways do
      local kind = ways[i - 1].pid == gateway_pid and "dispatch" or "handoff"
      out:flow(kind, record.id, last_of(ways[i - 1]), start_of(ways[i]))
    end
    if record and record.session ~= "" and not (has_joins and record.program) then
      local before = last_of_session[record.session]
      local from = before and last_of(before)
      if from and from.at_us <= ways[1].start_us then
        out:flow("session", record.id, from, start_of(ways[1]))
      end
      last_of_session[record.session] = ways[#ways]
    end
  end
end

--- Arrows from the end of every request that another one waited for, to the arrival of that one;
--- where both are drawn.
local function draw_joins(out, joins, ways_of_id)
  for i, child in ipairs(joins.child or {}) do
    local from, to = ways_of_id[joins.parent[i]], ways_of_id[child]
    if from and to then
      out:flow("join", joins.parent[i] .. " > " .. child, last_of(from[#from]), start_of(to[1]))
    end
  end
end

--- What series tell: KV use of instances, saturation and bands of the gateway.
local function draw_series(out, series, from_us, to_us)
  for row = 1, series.rows do
    local at_us = series.t_us[row]
    if at_us >= from_us and at_us <= to_us then
      for i, instance in ipairs(series.instances) do
        local kv = instance.kv_utilization[row]
        if kv then out:counter(first_pid + i - 1, "kv_utilization", at_us, "share", kv) end
      end
      if series.saturation then
        out:counter(gateway_pid, "saturation", at_us, "saturation", series.saturation[row])
      end
    end
  end
end

local function draw_scaling(out, control_pid, scaling, from_us, to_us)
  for _, level in ipairs(scaling.levels) do
    if level.time_us >= from_us and level.time_us <= to_us then
      out:counter(control_pid, "replicas", level.time_us, "wanted", level.wanted, "ready",
        level.ready, "paid", level.paid)
    end
  end
  for _, event in ipairs(scaling.events) do
    if event.time_us >= from_us and event.time_us <= to_us then
      out:instant(control_pid, ("scale %d -> %d"):format(event.from, event.to), "scaling",
        event.time_us, "proposed", event.proposed, "trigger", event.trigger, "reason", event.reason)
    end
  end
end

--- Visits by process, and loads of adapters in front of those of instances.
local function draw_places(out, result, by_pid, pids, window, named)
  local log, loads_of = rawget(result, "timeline_log"), adapters.rows(result, window)
  local tid = log and log.loads and adapters.tid or steps.tid
  for _, pid in ipairs(pids) do
    named[pid] = true
    if pid == gateway_pid then
      draw_gateway(out, by_pid[pid])
    else
      draw_instance(out, pid, tid, by_pid[pid])
    end
  end
  for i, instance in ipairs(result.instances) do
    local rows, pid = loads_of[instance.id], first_pid + i - 1
    if rows then
      adapters.draw(out, pid, log.loads, rows)
      named[pid] = true
    end
  end
end

--- Instants are on a track of their own, which has a name once there is a fault on it.
local instants_tid = 0

local function draw_faults(out, faults, from_us, to_us, pids)
  local tracks = {}
  for _, fault in ipairs(faults) do
    local pid = first_pid + (instance_number(fault.instance) or 0)
    if fault.time_us >= from_us and fault.time_us <= to_us then
      out:instant(pid, fault.kind, "fault", fault.time_us, "instance", fault.instance, "lost",
        fault.lost, "rerouted", fault.rerouted, "retried", fault.retried)
      pids[pid] = true
      if not tracks[pid] then out:track(pid, instants_tid, "faults") end
      tracks[pid] = true
    end
  end
end

local function process_name(pid)
  return pid == gateway_pid and "gateway" or ("instance_%d"):format(pid - first_pid)
end

--- Writes the timeline of a run: JSON as chrome://tracing and ui.perfetto.dev read it, packed when
--- the name ends in .gz.
---@param path string
---@param result blis.Result
---@param options? blis.TimelineOptions
function timeline.write(path, result, options)
  endings.check("timeline", path, endings.timeline)
  local from_us, to_us, every = read_options(options)
  local list, step = chosen(result, from_us, to_us, every)
  local behind = pids_behind(#result.instances)
  local window, log = { from_us = from_us, to_us = to_us }, rawget(result, "timeline_log")
  local visits, ways_of, ways_of_id = {}, {}, {}
  for i, record in ipairs(list) do
    ways_of[i] = visits_of(visits, record, result.duration_us)
    if log then ways_of_id[record.id] = ways_of[i] end
  end
  local by_pid, pids = sort_visits(visits)
  local named, joins = {}, log and log.joins
  local out = writer.new(path, "program", "blis", "hash", result.hash, "requests", #result.requests,
    "drawn", #list, "every", step, "end_us", result.duration_us)
  draw_places(out, result, by_pid, pids, window, named)
  draw_flows(out, ways_of, joins)
  if joins then draw_joins(out, joins, ways_of_id) end
  if links.draw(out, behind.links, list, result, window, ways_of_id) then
    out:process(behind.links, "links")
  end
  if rawget(result, "step_log") then steps.draw(out, result, first_pid, from_us, to_us, named) end
  local series, scaling = rawget(result, "series"), rawget(result, "scaling")
  local faults = rawget(result, "faults")
  if series then
    draw_series(out, series, from_us, to_us)
    for i in ipairs(series.instances) do named[first_pid + i - 1] = true end
    if series.saturation then named[gateway_pid] = true end
  end
  if scaling then
    draw_scaling(out, behind.control, scaling, from_us, to_us)
    out:process(behind.control, "control")
  end
  if faults then draw_faults(out, faults, from_us, to_us, named) end
  local order = {}
  for pid in pairs(named) do order[#order + 1] = pid end
  table.sort(order)
  for _, pid in ipairs(order) do out:process(pid, process_name(pid)) end
  out:commit()
end

return timeline
