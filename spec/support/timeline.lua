--- Reads timelines and checks what viewers take for granted: fields, order, nesting, arrows; and
--- that they speak of requests that there were.
local core = require "blis.core"

local timeline = {}

local fields = {
  X = { "pid", "tid", "name", "cat", "ts", "dur", "args" },
  i = { "pid", "tid", "name", "cat", "ts", "s" }, C = { "pid", "tid", "name", "ts", "args" },
  M = { "pid", "tid", "name", "args" }, s = { "pid", "tid", "name", "cat", "id", "ts" },
  f = { "pid", "tid", "name", "cat", "id", "ts", "bp" }, b = { "pid", "name", "cat", "id", "ts" },
  e = { "pid", "name", "cat", "id", "ts" },
}

---@return table head of the file
---@return table[] events
function timeline.read(text)
  local head, events, line_count = nil, {}, 0
  for line in text:gmatch "[^\n]+" do
    line_count = line_count + 1
    if line_count == 1 then
      head = core.json_read(line .. "]}")
    elseif line ~= "]}" then
      events[#events + 1] = core.json_read((line:gsub(",$", "")))
    end
  end
  assert(text:sub(-4) == "\n]}\n", "the file is not whole")
  return head, events
end

local function check_fields(event)
  local wanted = assert(fields[event.ph], "unknown kind of event " .. tostring(event.ph))
  for _, name in ipairs(wanted) do
    assert(event[name] ~= nil, ("%s of %s is missing"):format(name, event.ph))
  end
  for _, name in ipairs { "pid", "tid", "ts", "dur" } do
    local value = event[name]
    assert(value == nil or math.type(value) == "integer" and value >= 0, name)
  end
end

--- Slices of a track come in order of time, and are inside each other or apart.
local function check_nesting(open, event)
  local start_us, end_us = event.ts, event.ts + event.dur
  assert(not open.last_us or start_us >= open.last_us, "slices of a track are not in order")
  open.last_us = start_us
  while open[1] and open[#open] <= start_us do open[#open] = nil end
  assert(not open[1] or end_us <= open[#open], "slices of a track overlap")
  open[#open + 1] = end_us
end

local function has_slice(slices, event)
  for _, one in ipairs(slices[event.pid .. "/" .. event.tid] or {}) do
    if one.ts <= event.ts and event.ts <= one.ts + one.dur then return true end
  end
  return false
end

-- Of these, one at a time is on a track: not even inside each other.
local alone = { request = true, stage = true, step = true, adapter = true, transfer = true,
  load = true, store = true, state = true }

local function check_alone(ends, track, event)
  if not alone[event.cat] then return end
  local key = track .. event.cat
  assert((ends[key] or 0) <= event.ts, "two of " .. event.cat .. " at a time on a track")
  ends[key] = event.ts + event.dur
end

--- Every request that is named is one of the result.
local function check_requests(events, result)
  local ids = {}
  for _, record in ipairs(result.requests) do ids[record.id] = true end
  for _, event in ipairs(events) do
    local id = event.args and event.args.req
    assert(id == nil or ids[id], "there is no request " .. tostring(id))
    local needs_one = event.cat == "load" or event.cat == "request" or event.cat == "stage"
      or event.cat == "adapter" or event.cat == "transfer"
    assert(id or not needs_one, "a slice of no request")
  end
end

--- The slices of requests by their ids, in order of time.
local function ways_of(events)
  local ways = {}
  for _, event in ipairs(events) do
    if event.cat == "request" then
      ways[event.args.req] = ways[event.args.req] or {}
      table.insert(ways[event.args.req], event)
    end
  end
  for _, way in pairs(ways) do
    table.sort(way, function(a, b)
      if a.ts ~= b.ts then return a.ts < b.ts end
      return a.dur < b.dur
    end)
  end
  return ways
end

--- Joins go from the last microsecond of what was waited for to the arrival of who waited, and
--- there is one wherever both are drawn.
local function check_joins(events, result)
  local ways, wanted, seen = ways_of(events), {}, 0
  local joins = result.timeline_log.joins
  for i, child in ipairs(joins.child or {}) do
    local from, to = ways[joins.parent[i]], ways[child]
    if from and to then
      local last = from[#from]
      wanted[joins.parent[i] .. " > " .. child] = {
        s = { last, math.max(last.ts, last.ts + last.dur - 1) }, f = { to[1], to[1].ts },
      }
      seen = seen - 2
    end
  end
  for _, event in ipairs(events) do
    local is_arrow = event.ph == "s" or event.ph == "f"
    if is_arrow and event.cat == "join" then
      local slice, at_us = table.unpack(assert(wanted[event.id], "a join of nobody")[event.ph])
      assert(event.pid == slice.pid and event.tid == slice.tid and event.ts == at_us,
        "a join is not where its requests are")
      seen = seen + 1
    end
  end
  assert(seen == 0, "joins are missing")
end

--- Every track of slices has a name.
local function check_names(events)
  local names = {}
  for _, event in ipairs(events) do
    if event.ph == "M" and event.name == "thread_name" then
      local key = ("%d/%d"):format(event.pid, event.tid)
      assert(not names[key], "a track has two names")
      names[key] = true
    end
  end
  for _, event in ipairs(events) do
    assert(event.ph ~= "X" or names[("%d/%d"):format(event.pid, event.tid)],
      "a track without a name")
  end
end

--- Raises for the first thing that is wrong; returns counts of events by kind and by category.
---@param events table[]
---@param result? blis.Result that they are of
---@return table<string, integer>
function timeline.check(events, result)
  check_names(events)
  if result then
    check_requests(events, result)
    local log = rawget(result, "timeline_log")
    if log and log.joins then check_joins(events, result) end
  end
  local ends = {}
  local tracks, slices, starts, spans, counters, counts = {}, {}, {}, {}, {}, {}
  local processes = {}
  for _, event in ipairs(events) do
    check_fields(event)
    for _, key in ipairs { event.ph, event.cat } do counts[key] = (counts[key] or 0) + 1 end
    local track = ("%d/%s"):format(event.pid, event.tid)
    if event.ph == "X" then
      tracks[track], slices[track] = tracks[track] or {}, slices[track] or {}
      check_nesting(tracks[track], event)
      check_alone(ends, track, event)
      table.insert(slices[track], event)
    elseif event.ph == "C" then
      local key = event.pid .. event.name
      assert(not counters[key] or counters[key].ts < event.ts, "a counter goes back")
      counters[key] = event
    elseif event.ph == "M" and event.name == "process_name" then
      assert(not processes[event.pid], "a process has two names")
      processes[event.pid] = true
    end
  end
  for _, event in ipairs(events) do
    local key = event.id and event.cat .. "/" .. event.id
    if event.ph == "s" or event.ph == "f" then
      assert(has_slice(slices, event), "an arrow without a slice")
    end
    if event.ph == "s" then
      assert(not starts[key], "two arrows of one id")
      starts[key] = event
    elseif event.ph == "f" then
      assert(starts[key], "an arrow ends that did not begin")
      assert(starts[key] ~= "ended", "an arrow ends twice")
      assert(starts[key].ts <= event.ts, "an arrow goes back")
      starts[key] = "ended"
    elseif event.ph == "b" then
      spans[key] = event
    elseif event.ph == "e" then
      assert(spans[key] and spans[key].ts <= event.ts, "a span ends that did not begin")
      spans[key] = nil
    end
    assert(processes[event.pid], "a process without a name: " .. event.pid)
  end
  for key, one in pairs(starts) do assert(one == "ended", "an arrow without an end: " .. key) end
  assert(next(spans) == nil, "a span without an end")
  for _, event in pairs(counters) do
    local is_empty_in_the_end = event.name:find "^requests" or event.name:find "^instance_"
      or event.name:find "^tier "
    for _, value in pairs(is_empty_in_the_end and event.args or {}) do
      assert(value == 0, "somebody is left on a counter")
    end
  end
  return counts
end

return timeline
