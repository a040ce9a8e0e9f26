--- Whether a timeline with keep_timeline agrees with itself: what requests did with how many are
--- counted, with the batches of steps, and with the states of instances. All requests are drawn.
local truth = {}

local first_pid = 10

--- Slices of a category by process, in order of time.
local function slices_of(events, category)
  local by_pid = {}
  for _, event in ipairs(events) do
    if event.ph == "X" and event.cat == category then
      by_pid[event.pid] = by_pid[event.pid] or {}
      table.insert(by_pid[event.pid], event)
    end
  end
  for _, list in pairs(by_pid) do
    table.sort(list, function(a, b) return a.ts < b.ts end)
  end
  return by_pid
end

--- How many slices of each name are under way at a time; those that end then are not.
local function under_way(list, at_us)
  local counts = {}
  for _, one in ipairs(list or {}) do
    if one.ts > at_us then break end
    if at_us < one.ts + one.dur then counts[one.name] = (counts[one.name] or 0) + 1 end
  end
  return counts
end

local function fail(form, ...) error(form:format(...), 0) end

--- How many requests are at any instance.
local function at_instances(visits, at_us)
  local count = 0
  for pid, list in pairs(visits) do
    for _, here in pairs(pid >= first_pid and under_way(list, at_us) or {}) do
      count = count + here
    end
  end
  return count
end

--- Counters tell how many slices there are.
local function check_counters(events, stages, visits, rng)
  local levels = {}
  for _, event in ipairs(events) do
    if event.ph == "C" and event.name == "requests" then
      levels[event.pid] = levels[event.pid] or {}
      table.insert(levels[event.pid], event)
    end
  end
  for pid, list in pairs(levels) do
    for _ = 1, 20 do
      local i = rng:integer(1, #list)
      local from_us, next_one = list[i].ts, list[i + 1]
      local at_us = next_one and rng:integer(from_us, next_one.ts - 1) or from_us
      local counts = under_way(stages[pid], at_us)
      if list[i].args.in_flight then counts.in_flight = at_instances(visits, at_us) end
      for name, value in pairs(list[i].args) do
        if value ~= (counts[name] or 0) then
          fail("%d requests are counted as %s at %d on %d, and there are %d", value, name, at_us,
            pid, counts[name] or 0)
        end
      end
    end
  end
end

--- A step at a time goes before time-outs at that time, which end slices all the same.
local function late_at(visits, at_us)
  local count = 0
  for _, one in ipairs(visits or {}) do
    local is_late = one.args.ended == "timed_out" and one.ts + one.dur == at_us
    count = count + (is_late and 1 or 0)
  end
  return count
end

--- Those who come to the queue at that time may come behind the step.
local function coming_at(stages, at_us)
  local count = 0
  for _, one in ipairs(stages or {}) do
    if one.ts > at_us then break end
    count = count + (one.name == "queued" and one.ts == at_us and 1 or 0)
  end
  return count
end

--- Those who are queued, preempted ones among them, are as many as a step says.
local function check_waiting(step, counts, stages, late, pid)
  local queued = (counts.queued or 0) + (counts.preempted or 0)
  local least, waiting = queued - coming_at(stages, step.ts), step.args.waiting
  if waiting < least or waiting > queued + late then
    fail("a step at %d on %d says that %d wait, and %d do", step.ts, pid, waiting, queued)
  end
end

--- Those who run are the batch of a step; some of them, where tokens may be short. Drafts are
--- counted as requests.
local function check_steps(steps, stages, visits, who)
  local checked = 0
  for pid, list in pairs(steps) do
    for _, step in ipairs(list) do
      if not step.args.steps then
        local batch = step.args.decode_requests + step.args.prefill_requests
        local counts = under_way(stages[pid], step.ts)
        local running = (counts.prefill or 0) + (counts.decode or 0)
        local is_short = batch < running and who == "all"
        local is_long = batch > running and who ~= "drafts"
        local late = late_at(visits[pid], step.ts)
        check_waiting(step, counts, stages[pid], late, pid)
        if is_short or is_long and batch > running + late then
          fail("a step at %d on %d has a batch of %d, and %d requests run", step.ts, pid, batch,
            running)
        end
        checked = checked + 1
      end
    end
  end
  return checked
end

--- Parts follow each other from the beginning of a visit to its end.
local function check_parts(visits, stages)
  for pid, list in pairs(visits) do
    local at = {}
    for _, one in ipairs(list) do
      if one.dur > 0 then at[one.tid .. " " .. one.ts] = one end
    end
    local ends = {}
    for _, part in ipairs(stages[pid] or {}) do
      local visit = at[part.tid .. " " .. part.ts]
      if visit then
        ends[part.tid] = { visit = visit, at_us = part.ts, cuts = 0 }
      end
      local now = ends[part.tid]
      if not now or now.at_us ~= part.ts or now.visit.args.req ~= part.args.req then
        fail("a part of %s at %d on %d follows on nothing", part.args.req, part.ts, pid)
      end
      now.at_us = part.ts + part.dur
      now.visit.parts_end_us = now.at_us
      if part.name == "preempted" then now.cuts = now.cuts + 1 end
      now.visit.cuts = now.cuts
    end
    for _, one in ipairs(list) do
      if one.dur > 0 and one.parts_end_us ~= one.ts + one.dur then
        fail("the parts of %s at %d on %d end early", one.args.req, one.ts, pid)
      end
      if (one.cuts or 0) > (one.args.preemptions or 0) then
        fail("%s was preempted %d times and has %d cuts", one.args.req, one.args.preemptions or 0,
          one.cuts)
      end
    end
  end
end

--- A request is at one place at a time; how often it was preempted, summed up.
local function check_ways(visits)
  local ways, preemptions = {}, 0
  for _, list in pairs(visits) do
    for _, one in ipairs(list) do
      ways[one.args.req] = ways[one.args.req] or {}
      table.insert(ways[one.args.req], one)
      preemptions = preemptions + (one.args.preemptions or 0)
    end
  end
  for id, way in pairs(ways) do
    table.sort(way, function(a, b)
      if a.ts ~= b.ts then return a.ts < b.ts end
      return a.dur < b.dur
    end)
    for i = 2, #way do
      if way[i].ts < way[i - 1].ts + way[i - 1].dur then
        fail("%s is at two places at %d", id, way[i].ts)
      end
    end
  end
  return preemptions
end

local between_visits = { dispatch = true, handoff = true, reroute = true, retry = true,
  escalate = true, session = true }

--- Arrows end where a visit begins, and begin before another one ends.
local function check_arrows(events, visits)
  local starts = {}
  for pid, list in pairs(visits) do
    for _, one in ipairs(list) do
      starts[("%d %d %d"):format(pid, one.tid, one.ts)] = one.args.req
    end
  end
  for _, event in ipairs(events) do
    if event.ph == "f" and between_visits[event.cat] then
      local id = starts[("%d %d %d"):format(event.pid, event.tid, event.ts)]
      if not id or event.id:sub(1, #id) ~= id then
        fail("an arrow of %s, %s, ends where no visit begins", event.id, event.cat)
      end
    end
  end
end

-- Nobody is at an instance then; last tokens may still be on their way from there.
local is_down = { failed = true, drained = true, requested = true, pending = true,
  provisioning = true, recovering = true }

local function check_down(state, stages)
  local end_us = state.ts + state.dur
  for _, one in ipairs(stages) do
    if one.ts < end_us and one.ts + one.dur > state.ts and one.name ~= "delivery" then
      fail("%s is at %s, which is %s, at %d", one.args.req, state.args.instance, state.name,
        math.max(one.ts, state.ts))
    end
  end
end

local function check_hang(hang, steps)
  for _, step in ipairs(steps) do
    if step.ts > hang.ts and step.ts < hang.ts + hang.dur then
      fail("%s hangs, and a step begins there at %d", hang.args.instance, step.ts)
    end
  end
end

local function check_states(events, stages, steps)
  for _, event in ipairs(events) do
    local is_state = event.ph == "X" and event.cat == "state" and is_down[event.name]
    local is_hang = event.ph == "X" and event.cat == "hang"
    local pid = (is_state or is_hang) and first_pid + tonumber(event.args.instance:match "%d+$")
    if is_state then check_down(event, stages[pid] or {}) end
    if is_hang then check_hang(event, steps[pid] or {}) end
  end
end

--- Raises for the first thing that does not agree; says how many steps were looked at, and how many
--- preemptions there were.
---@param events table[]
---@param rng blis.Rng
---@param who "all"|"some"|"drafts" are in the batches of steps
---@return integer steps
---@return integer preemptions
function truth.check(events, rng, who)
  local stages, visits = slices_of(events, "stage"), slices_of(events, "request")
  check_counters(events, stages, visits, rng)
  check_parts(visits, stages)
  check_arrows(events, visits)
  local steps = slices_of(events, "step")
  check_states(events, stages, steps)
  local preemptions = check_ways(visits)
  return check_steps(steps, stages, visits, who), preemptions
end

return truth
