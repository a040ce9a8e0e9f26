--- Visits of requests to instances. Results with keep_timeline contain all visits, without the
--- times of preemption. For all other results, and for requests that ended when the log was full,
--- the records contain only the last visit of each request.
local pids = require "blis.timeline.pids"

local visits = {}

---@class blis.timeline.Visit where a request was, and when
---@field record blis.RequestRecord
---@field pid integer
---@field start_us integer
---@field end_us integer
---@field parts { [1]: string, [2]: integer, [3]: integer }[] its activities, in order
---@field outcome? string outcome of the visit, at an instance of a logged run
---@field preemptions? integer the same
---@field instance_state? string the same, of the instance as it left
---@field is_last? boolean of the visits to instances
---@field tid? integer

local function clamp(value, low, high) return math.max(low, math.min(value, high)) end

local function new(list, record, pid, start_us, end_us)
  local one = { record = record, pid = pid, start_us = start_us, end_us = end_us, parts = {} }
  list[#list + 1] = one
  return one
end

--- Appends a part that ends then, or with the visit; returns when that is.
local function add_part(one, name, at_us, until_us)
  until_us = clamp(until_us or one.end_us, at_us, one.end_us)
  if until_us > at_us then one.parts[#one.parts + 1] = { name, at_us, until_us } end
  return until_us
end

--- A visit whose parts end at these times, the last one with it; nil: the previous part continues.
local function visit(list, record, pid, start_us, end_us, names, times)
  local one, at_us = new(list, record, pid, start_us, end_us), start_us
  for i, name in ipairs(names) do at_us = add_part(one, name, at_us, times[i]) end
  return one
end

local served = { "queued", "prefill", "decode" }

--- The visit in a record.
local function from_record(list, record, has_queue)
  local arrival_us, end_us = record.arrival_us, record.end_us
  local waits_us = record.gateway_wait_us
  local there, source = pids.of(record.instance), pids.of(record.prefill_instance)
  local ways, at_us = {}, arrival_us
  if waits_us or not (there or source) then
    at_us = arrival_us + (waits_us or end_us - arrival_us)
    ways[1] = visit(list, record, pids.gateway, arrival_us, at_us,
      { (waits_us or has_queue) and "waiting" or "routing" }, {})
  end
  local first_us = record.ttft_us and arrival_us + record.ttft_us
  if source then
    local prefilled_us = record.prefill_end_us or end_us
    ways[#ways + 1] = visit(list, record, source, at_us, prefilled_us, { "queued", "prefill" },
      { record.prefill_admitted_us })
    at_us = record.transfer_end_us or prefilled_us
    if there and record.transfer_end_us then
      ways[#ways + 1] = visit(list, record, there, at_us, math.max(at_us, end_us),
        { "queued", "decode" }, { first_us })
    end
  elseif there then
    local delay_us = record.scheduling_delay_us
    ways[#ways + 1] = visit(list, record, there, math.min(at_us, end_us), end_us, served,
      { delay_us and arrival_us + delay_us, first_us })
  end
  if #ways > 0 then ways[#ways].is_last = ways[#ways].pid ~= pids.gateway end
  return ways
end

---@class blis.timeline.Rows what is logged of requests: chains of rows in order of time
---@field first table<integer, integer> the first row of a request, by its place
---@field next table<integer, integer> the row behind one

--- The rows of requests, by their places.
---@param ids string[] of the requests of all rows
---@param place_of table<string, integer> of the selected requests
---@return blis.timeline.Rows
local function rows_of(ids, place_of)
  local rows = { first = {}, next = {} }
  for row = #ids, 1, -1 do
    local place = place_of[ids[row]]
    if place then rows.next[row], rows.first[place] = rows.first[place], row end
  end
  return rows
end

local function known(time_us) return time_us >= 0 and time_us or nil end

--- In the batch from this time, and computing its prompt (again) until another time.
local function add_running(one, at_us, until_us, computed_us)
  at_us = add_part(one, "prefill", at_us, math.min(computed_us or until_us, until_us))
  return add_part(one, "decode", at_us, until_us)
end

--- What a request did at an instance, preemptions cut out.
local function add_stages(one, log, row, cuts, first_cut)
  local its, preempted = log.visits, log.preemptions
  local left_us, first_us = its.left_us[row], known(its.first_us[row])
  local at_us = add_part(one, "arriving", one.start_us, known(its.queued_us[row]))
  at_us = add_part(one, "queued", at_us, known(its.admitted_us[row]))
  local computed_us = first_us
  local cut = first_cut
  while cut do
    if preempted.visit[cut] == its.number[row] then
      at_us = add_running(one, at_us, preempted.time_us[cut], computed_us)
      at_us = add_part(one, "preempted", at_us, known(preempted.resumed_us[cut]) or left_us)
      computed_us = known(preempted.recomputed_us[cut])
        or first_us and first_us > at_us and first_us or left_us
    end
    cut = cuts.next[cut]
  end
  add_part(one, "delivery", add_running(one, at_us, left_us, computed_us))
end

local function visit_of_row(list, record, log, row, cuts, first_cut)
  local its = log.visits
  local one = new(list, record, pids.of(its.instance[row]), its.from_us[row], its.to_us[row])
  add_stages(one, log, row, cuts, first_cut)
  one.outcome, one.preemptions = its.outcome[row], its.preemptions[row]
  one.instance_state = its.instance_state[row]
  return one
end

--- In front of instances, first: in the gateway's queue, at encoders, on the way.
local function first_gap(list, record, end_us)
  local arrival_us, waits_us = record.arrival_us, record.gateway_wait_us
  return visit(list, record, pids.gateway, arrival_us, end_us,
    { "waiting", "routing", "encoding", "routing" },
    { arrival_us + (waits_us or 0), record.encode_start_us or end_us, record.encode_end_us })
end

--- What a request waits for between two instances, by why it has left the first.
local gaps = { retried = "retrying", prefilled = "handoff" }

--- The time between two instances. Records contain only the sum of waits, after the pause of client
--- retries.
local function later_gap(list, record, start_us, end_us, outcome, waits_us)
  local waits_from_us = math.max(start_us, end_us - waits_us)
  return visit(list, record, pids.gateway, start_us, end_us,
    { gaps[outcome] or "routing", "waiting" }, { waits_from_us })
end

--- What was logged. What is not in front of the first instance is on no arrow, unless the request
--- ends there.
local function from_log(list, record, logged, place)
  local log, row = logged.log, logged.rows.first[place]
  local its, ways, at_us = log.visits, {}, record.arrival_us
  local known_wait_us, end_us = record.gateway_wait_us, record.end_us
  local waits_us = known_wait_us or 0
  while row do
    local from_us = its.from_us[row]
    if not ways[1] and (known_wait_us or from_us > at_us) then
      ways[1] = first_gap(list, record, from_us)
    elseif ways[1] and from_us > at_us then
      later_gap(list, record, at_us, from_us, ways[#ways].outcome, waits_us)
    end
    waits_us = math.max(0, waits_us - math.max(0, from_us - at_us))
    ways[#ways + 1] = visit_of_row(list, record, log, row, logged.cuts, logged.cuts.first[place])
    at_us, row = its.to_us[row], logged.rows.next[row]
  end
  local last = ways[#ways]
  last.is_last = true
  local is_lost = last.outcome == "rerouted" or last.outcome == "retried"
  if is_lost and end_us > at_us and not record.instance then
    ways[#ways + 1] = later_gap(list, record, at_us, end_us, last.outcome, waits_us)
  end
  return ways
end

--- Where requests were: all visits, and those of each request in order of time.
---@param result blis.Result
---@param records blis.RequestRecord[] that are drawn
---@return blis.timeline.Visit[] list
---@return blis.timeline.Visit[][] ways_of by place in records
function visits.of(result, records)
  local list, ways_of, log, logged = {}, {}, rawget(result, "timeline_log"), nil
  local complete_until_us = math.maxinteger
  local has_queue = rawget(result, "queue") ~= nil
  if log and log.visits then
    local place_of = {}
    for i, record in ipairs(records) do place_of[record.id] = i end
    complete_until_us = log.complete_until_us or complete_until_us
    logged = { log = log, rows = rows_of(log.visits.request, place_of),
      cuts = rows_of(log.preemptions.request, place_of) }
  end
  for i, record in ipairs(records) do
    local is_whole = record.end_us < complete_until_us
    if logged and logged.rows.first[i] and is_whole then
      ways_of[i] = from_log(list, record, logged, i)
    else
      ways_of[i] = from_record(list, record, has_queue)
    end
  end
  return list, ways_of
end

--- Those to instances.
---@param list blis.timeline.Visit[]
---@return blis.timeline.Visit[]
function visits.at_instances(list)
  local there = {}
  for _, one in ipairs(list) do
    if one.pid ~= pids.gateway then there[#there + 1] = one end
  end
  return there
end

local function by_start(a, b)
  if a.start_us ~= b.start_us then return a.start_us < b.start_us end
  return a.record.number < b.record.number
end

--- Visits by process, each in the order of their starts, and the processes in order.
---@param list blis.timeline.Visit[]
---@return table<integer, blis.timeline.Visit[]>
---@return integer[]
function visits.by_process(list)
  local by_pid, order = {}, {}
  for _, one in ipairs(list) do
    if not by_pid[one.pid] then
      by_pid[one.pid] = {}
      order[#order + 1] = one.pid
    end
    table.insert(by_pid[one.pid], one)
  end
  table.sort(order)
  for _, pid in ipairs(order) do table.sort(by_pid[pid], by_start) end
  return by_pid, order
end

return visits
