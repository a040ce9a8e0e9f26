--- Draws requests: a slice on a lane of each place where they were, what they did there inside it,
--- and how many did what.
local lanes = require "blis.timeline.lanes"
local pids = require "blis.timeline.pids"

local requests = {}

local function said(text) return text ~= "" and text or nil end

local function above_zero(count) return count and count > 0 and count or nil end

--- The state of the instance that a request left, where that is not the usual one.
local function unusual(state) return state ~= "active" and state or nil end

-- In these a request needs its adapter.
local needs_adapter = { queued = true, prefill = true, decode = true, preempted = true }

--- Wait of a request for its adapter in a queue, at its last visit; records contain no other. The
--- sum in the records includes waits elsewhere, and waits after preemptions.
local function adapter_wait_of(one, part)
  local wait_us = one.record.adapter_wait_us
  local is_all = part[1] == "queued" and one.is_last and wait_us and wait_us <= part[3] - part[2]
  return is_all and wait_us or nil
end

local function draw_part(out, one, part)
  local record = one.record
  out:slice(one.pid, one.tid, part[1], "stage", part[2], part[3], "req", record.id, "adapter",
    needs_adapter[part[1]] and said(record.adapter) or nil, "adapter_wait_us",
    adapter_wait_of(one, part))
end

--- Draws visits on lanes, tracks behind tid; returns how many these are.
local function draw_visits(out, visits, tid)
  local free = lanes.new()
  for _, one in ipairs(visits) do
    local record = one.record
    one.tid = tid + free:take(one.start_us, one.end_us)
    out:slice(one.pid, one.tid, record.id, "request", one.start_us, one.end_us, "req", record.id,
      "state", record.state, "reason", record.reason, "ended", one.outcome, "preemptions",
      above_zero(one.preemptions), "instance_state", unusual(one.instance_state), "prompt_tokens",
      record.prompt_tokens, "output_tokens", record.output_tokens, "slo_class",
      said(record.slo_class), "tenant", said(record.tenant), "priority", record.priority,
      "adapter", said(record.adapter), "adapter_wait_us", one.is_last and record.adapter_wait_us
        or nil)
    for _, part in ipairs(one.parts) do draw_part(out, one, part) end
  end
  return free.count
end

--- How many were in each stage, at every time when that changed; in other ones they do not count.
local function draw_levels(out, pid, counter, visits, names)
  local changes, of_name = {}, {}
  for i, name in ipairs(names) do of_name[name] = i end
  for _, one in ipairs(visits) do
    for _, part in ipairs(one.parts) do
      local stage = of_name[part[1]]
      if stage then
        changes[#changes + 1] = (part[2] * 8 + stage) * 2 + 1
        changes[#changes + 1] = (part[3] * 8 + stage) * 2 -- at equal times who goes is first
      end
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

local served, served_with_cuts = { "queued", "prefill", "decode" },
  { "queued", "prefill", "decode", "preempted" }

local function has_preemptions(visits)
  for _, one in ipairs(visits) do
    if above_zero(one.preemptions) then return true end
  end
  return false
end

--- Draws the requests of an instance, on lanes behind tid.
---@param out blis.timeline.Writer
---@param pid integer
---@param tid integer
---@param visits blis.timeline.Visit[] in order of their starts
function requests.draw_instance(out, pid, tid, visits)
  local count = draw_visits(out, visits, tid)
  draw_levels(out, pid, "requests", visits, has_preemptions(visits) and served_with_cuts or served)
  for lane = 1, count do out:track(pid, tid + lane, ("lane %d"):format(lane)) end
end

--- Visits by the priority of their requests, the highest first: visits to the gateway, and visits
--- to instances for the counter of the gateway.
local function bands_of(visits, served_visits)
  local bands, order = {}, {}
  local function band_of(one)
    local priority = one.record.priority
    local key = priority or "none"
    if not bands[key] then
      bands[key] = { priority = priority, visits = {}, counted = {} }
      order[#order + 1] = bands[key]
    end
    return bands[key]
  end
  for _, one in ipairs(visits) do
    local band = band_of(one)
    table.insert(band.visits, one)
    table.insert(band.counted, one)
  end
  for _, one in ipairs(served_visits) do
    table.insert(band_of(one).counted, { parts = { { "in_flight", one.start_us, one.end_us } } })
  end
  table.sort(order, function(a, b) return (a.priority or 0) > (b.priority or 0) end)
  return order
end

--- Draws what waits at the gateway: lanes and a counter for each priority, where these differ.
---@param out blis.timeline.Writer
---@param visits blis.timeline.Visit[] in order of their starts
---@param served_visits blis.timeline.Visit[] to instances
function requests.draw_gateway(out, visits, served_visits)
  local tid = 0
  for _, band in ipairs(bands_of(visits, served_visits)) do
    local name = band.priority and ("priority %g"):format(band.priority) or nil
    local count = draw_visits(out, band.visits, tid)
    draw_levels(out, pids.gateway, name and "requests of " .. name or "requests", band.counted,
      { "waiting", "in_flight" })
    for lane = 1, count do
      out:track(pids.gateway, tid + lane, (name and name .. ", " or "")
        .. ("lane %d"):format(lane))
    end
    tid = tid + count
  end
end

return requests
