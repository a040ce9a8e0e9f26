--- Pools of prefill and decode that are scaled each on its own, added up.
local scaled_pools = {}

local order = { "prefill", "decode" }
local counts = { "checks", "triggered", "scale_ups", "scale_downs", "clamped", "oscillations",
  "started", "failed_starts" }

--- The events of all pools in order of time, each with its pool.
local function merge_events(pools, names)
  local events = {}
  for _, name in ipairs(names) do
    for _, event in ipairs(pools[name].events) do
      event.pool = name
      events[#events + 1] = event
      event.place = #events
    end
  end
  table.sort(events, function(a, b)
    if a.time_us ~= b.time_us then return a.time_us < b.time_us end
    return a.place < b.place
  end)
  for _, event in ipairs(events) do event.place = nil end
  return events
end

--- The times at which the number of any pool changes, in order.
local function times_of(pools, names)
  local seen, times = {}, {}
  for _, name in ipairs(names) do
    for _, level in ipairs(pools[name].levels) do
      if not seen[level.time_us] then times[#times + 1] = level.time_us end
      seen[level.time_us] = true
    end
  end
  table.sort(times)
  return times
end

--- How many there are in all pools together, from each of these times on.
local function add_levels(pools, names)
  local at, levels = {}, {}
  for i, time_us in ipairs(times_of(pools, names)) do
    local sum = { time_us = time_us, wanted = 0, ready = 0, paid = 0 }
    for _, name in ipairs(names) do
      local list, k = pools[name].levels, at[name] or 0
      while list[k + 1] and list[k + 1].time_us <= time_us do k = k + 1 end
      at[name] = k
      for _, key in ipairs { "wanted", "ready", "paid" } do
        sum[key] = sum[key] + (list[k] and list[k][key] or 0)
      end
    end
    levels[i] = sum
  end
  return levels
end

--- Adds the metrics of all pools together; nothing with one pool.
---@param scaling table of a summary
function scaled_pools.add_up(scaling)
  local pools = scaling.pools
  if not pools then return end
  local names = {}
  for _, name in ipairs(order) do
    if pools[name] then names[#names + 1] = name end
  end
  for _, count in ipairs(counts) do
    scaling[count] = 0
    for _, name in ipairs(names) do scaling[count] = scaling[count] + pools[name][count] end
  end
  scaling.events, scaling.levels = merge_events(pools, names), add_levels(pools, names)
end

--- Takes out why policies scale nothing, each reason once.
---@param scaling table of a summary
---@return string[]
function scaled_pools.take_reasons_off(scaling)
  local reasons, is_told = {}, {}
  local pools = scaling.pools or { both = scaling }
  for _, name in ipairs { "both", "prefill", "decode" } do
    local off = pools[name] and pools[name].off
    if off and not is_told[off] then reasons[#reasons + 1], is_told[off] = off, true end
    if off then pools[name].off = nil end
  end
  return reasons
end

return scaled_pools
