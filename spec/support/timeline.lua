--- Reads timelines and checks what viewers take for granted: fields, order, nesting, arrows.
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

--- Raises for the first thing that is wrong; returns counts of events by kind and by category.
---@param events table[]
---@return table<string, integer>
function timeline.check(events)
  local tracks, slices, starts, spans, counters, counts = {}, {}, {}, {}, {}, {}
  local processes = {}
  for _, event in ipairs(events) do
    check_fields(event)
    for _, key in ipairs { event.ph, event.cat } do counts[key] = (counts[key] or 0) + 1 end
    local track = ("%d/%s"):format(event.pid, event.tid)
    if event.ph == "X" then
      tracks[track], slices[track] = tracks[track] or {}, slices[track] or {}
      check_nesting(tracks[track], event)
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
      assert(starts[key] and starts[key].ts <= event.ts, "an arrow ends that did not begin")
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
    for _, value in pairs(is_empty_in_the_end and event.args or {}) do
      assert(value == 0, "somebody is left on a counter")
    end
  end
  return counts
end

return timeline
