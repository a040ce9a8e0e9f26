--- A run as a file for chrome://tracing and ui.perfetto.dev: requests and their stages, numbers of
--- waiting and running requests, steps of instances, loads of adapters, and hand-offs. It also
--- contains reads and writes of KV tiers, dependencies of session graphs, faults, states of
--- instances, and actions of an autoscaler. All data is from the result, so other runs have no
--- cost.
---
--- Processes are the gateway (1), instance i (10 + i), links, and control; the latter two follow
--- the last instance. A request has a slice on a lane of each place that it visited, with its
--- activities inside. At the gateway, lanes belong to bands of one priority, the most urgent on
--- top.
local adapters = require "blis.timeline.adapters"
local control = require "blis.timeline.control"
local endings = require "blis.endings"
local errors = require "blis.errors"
local flows = require "blis.timeline.flows"
local links = require "blis.timeline.links"
local pids = require "blis.timeline.pids"
local requests = require "blis.timeline.requests"
local steps = require "blis.timeline.steps"
local visits = require "blis.timeline.visits"
local writer = require "blis.timeline.writer"

local timeline = {}

-- Number of requests that viewers can open; with more, only every n-th request is drawn.
local requests_max = 200000

---@class blis.TimelineOptions
---@field from_us? integer only requests that were there then or later
---@field to_us? integer only requests that arrived before this time
---@field every? integer only every n-th request; default: so that there are 200,000 at most

local option_names = { "from_us", "to_us", "every" }

local function read_options(given)
  local options = given or {}
  if type(options) ~= "table" then
    errors.invalid("timeline: %s: expected a table of options", errors.invalid_value(options))
  end
  errors.check_names(options, option_names, "timeline", "option")
  for _, name in ipairs(option_names) do
    local value, least = options[name], name == "every" and 1 or 0
    if value ~= nil and (math.type(value) ~= "integer" or value < least) then
      errors.invalid("timeline.%s: %s: expected an integer of %d or more", name,
        errors.invalid_value(value), least)
    end
  end
  local from_us, to_us = options.from_us or 0, options.to_us or math.maxinteger
  if to_us < from_us then
    errors.invalid("timeline.to_us: %d is before from_us, %d", to_us, from_us)
  end
  return from_us, to_us, options.every
end

--- The time of the last event, or the horizon if requests remained. A run without further events
--- ends before its horizon, together with the remaining requests.
local function end_of_run(result)
  if result.still_running + result.still_queued + result.still_arriving > 0 then
    for i = 1, #result.requests do
      local record = result.requests[i]
      if record.state:find "^still" then return math.max(record.end_us, result.duration_us) end
    end
  end
  return result.duration_us
end

--- The records to be drawn, and of how many each is one.
local function chosen(result, from_us, to_us, every)
  local list, records, inside = {}, result.requests, 0
  every = every or math.max(1, math.ceil(#records / requests_max))
  for i = 1, #records do
    local record = records[i]
    if record.arrival_us > to_us then break end
    if record.end_us >= from_us then
      if inside % every == 0 then list[#list + 1] = record end
      inside = inside + 1
    end
  end
  return list, every
end

--- What series tell: KV use of instances, saturation and bands of the gateway.
local function draw_series(out, series, from_us, to_us)
  for row = 1, series.rows do
    local at_us = series.t_us[row]
    if at_us >= from_us and at_us <= to_us then
      for i, instance in ipairs(series.instances) do
        local kv = instance.kv_utilization[row]
        if kv then out:counter(pids.first + i - 1, "kv_utilization", at_us, "share", kv) end
      end
      if series.saturation then
        out:counter(pids.gateway, "saturation", at_us, "saturation", series.saturation[row])
      end
    end
  end
end

--- Visits by process, and loads of adapters in front of those of instances.
local function draw_places(out, result, list, window, named)
  local log, loads_of = rawget(result, "timeline_log"), adapters.rows(result, window)
  local tid = log and log.loads and adapters.tid or steps.tid
  local by_pid, order = visits.by_process(list)
  for _, pid in ipairs(order) do
    named[pid] = true
    if pid == pids.gateway then
      requests.draw_gateway(out, by_pid[pid], visits.at_instances(list))
    else
      requests.draw_instance(out, pid, tid, by_pid[pid])
    end
  end
  for i, instance in ipairs(result.instances) do
    local rows, pid = loads_of[instance.id], pids.first + i - 1
    if rows then
      adapters.draw(out, pid, log.loads, rows)
      named[pid] = true
    end
  end
end

local function name_processes(out, named, instances)
  local order = {}
  for pid in pairs(named) do order[#order + 1] = pid end
  table.sort(order)
  for _, pid in ipairs(order) do out:process(pid, pids.name(pid, instances)) end
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
  local end_us = end_of_run(result)
  local behind, log = pids.behind(#result.instances), rawget(result, "timeline_log")
  local window, named, joins = { from_us = from_us, to_us = to_us }, {}, log and log.joins
  local places, ways_of = visits.of(result, list)
  local ways_of_id = {}
  for i, record in ipairs(log and list or {}) do ways_of_id[record.id] = ways_of[i] end
  local out = writer.new(path, "program", "blis", "hash", result.hash, "requests", #result.requests,
    "drawn", #list, "every", step, "end_us", end_us, "left_out",
    log and log.left_out > 0 and log.left_out or nil)
  draw_places(out, result, places, window, named)
  flows.draw(out, ways_of, joins ~= nil)
  if joins then flows.draw_joins(out, joins, ways_of_id) end
  if links.draw(out, behind.links, list, result, window, ways_of_id) then
    out:process(behind.links, "links")
  end
  if rawget(result, "step_log") then steps.draw(out, result, pids.first, from_us, to_us, named) end
  local series = rawget(result, "series")
  if series then
    draw_series(out, series, from_us, to_us)
    for i in ipairs(series.instances) do named[pids.first + i - 1] = true end
    if series.saturation then named[pids.gateway] = true end
  end
  control.draw(out, behind.control, result, end_us, window, named)
  name_processes(out, named, result.instances)
  out:commit()
end

return timeline
