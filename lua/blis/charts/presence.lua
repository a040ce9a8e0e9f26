--- Charts of the number of instances over time, under autoscaling, spot capacity, or faults, and of
--- changing prices.
local scaling = require "blis.feature.scaling.figures"

local presence = {}

local intervals = 240

-- More steps than this cannot be told apart, and are looked at in equal intervals.
local most_times = 2 * intervals

local time_axis = { label = "time", unit = "s", from_zero = true }

--- Every time of some lists up to the end, each once and in order; equal intervals instead of many.
local function times_of(end_us, ...)
  local seen, times = {}, {}
  local function add(time_us)
    if time_us <= end_us and not seen[time_us] then
      seen[time_us] = true
      times[#times + 1] = time_us
    end
  end
  add(0)
  for _, list in ipairs { ... } do
    for _, one in ipairs(list) do add(one.time_us) end
  end
  add(end_us)
  if #times > most_times then
    for k = 0, intervals do times[k + 1] = end_us * k // intervals end
    for k = intervals + 2, #times do times[k] = nil end
  end
  table.sort(times)
  return times
end

--- Returns for each time the value of visit for the latest item; nil before the first item.
local function at(list, times, visit)
  local values, position = {}, 0
  for k, time_us in ipairs(times) do
    while list[position + 1] and list[position + 1].time_us <= time_us do
      position = position + 1
    end
    values[k] = visit(list[position])
  end
  return values
end

local function seconds(times)
  local list = {}
  for k, time_us in ipairs(times) do list[k] = time_us / 1e6 end
  return list
end

local function add_line(chart, label, values)
  chart.series[#chart.series + 1] = { label = label }
  chart.data[#chart.data + 1] = values
end

local fault_words = { reclaim = "reclaim notice", slow = "slower", partition = "cut off",
  stale = "signals stale", ["lost-cache"] = "cache lost" }

--- Adds a row of points for every kind of fault that was suffered, at the height of a line.
local function add_faults(chart, faults, times, heights)
  local rows, k = {}, 1
  for _, fault in ipairs(faults) do
    while times[k + 1] and times[k + 1] <= fault.time_us do k = k + 1 end
    if not fault.is_missed and times[1] <= fault.time_us then
      local row = rows[fault.kind]
      if not row then
        row = {}
        for i = 1, #times do row[i] = false end
        rows[fault.kind] = row
        add_line(chart, fault_words[fault.kind] or fault.kind, row)
        chart.series[#chart.series].is_points = true
      end
      row[k] = heights[k]
    end
  end
end

local function new_chart(times)
  return { title = "Instances", x = time_axis, y = { label = "instances", from_zero = true },
    steps = true, series = {}, data = { seconds(times) } }
end

--- If only one pool is scaled, the chart shows this pool.
local function pool_caption(pools)
  local name = pools and next(pools)
  return name and next(pools, name) == nil
    and ("Shows the %s pool; other pools are not scaled."):format(name) or nil
end

--- The actions of an autoscaler.
local function scaled(r, faults)
  local given = r.scaling
  local times = times_of(math.max(given.end_us, 1), given.levels, faults)
  local levels, chart = scaling.at(given, times), new_chart(times)
  add_line(chart, "ready", levels.ready)
  add_line(chart, "wanted", levels.wanted)
  add_line(chart, "paid", levels.paid)
  add_faults(chart, faults, times, levels.ready)
  chart.caption = pool_caption(rawget(given, "pools"))
  return chart
end

--- How many instances each group of a cluster has that come and go as one: with data-parallel
--- ranks, groups of these.
local function units_of(r)
  local units = {}
  for i, group in ipairs(rawget(r.setup, "groups") or { r.setup }) do
    units[i] = group.instances // (rawget(group, "ranks") or 1)
  end
  return units
end

--- How many instances a market leaves to the groups that depend on it, and how many others there
--- are, at some times.
local function offered(r, offers, times)
  local sums = {}
  for k = 1, #times do sums[k] = 0 end
  for number, units in ipairs(units_of(r)) do
    local own = {}
    for _, offer in ipairs(offers) do
      if offer.group == number then own[#own + 1] = offer end
    end
    for k, count in ipairs(at(own, times, function(offer)
      return offer and math.min(offer.available, units) or units
    end)) do
      sums[k] = sums[k] + count
    end
  end
  return sums
end

--- What faults and a market did.
local function struck(r, levels, faults)
  local spot = rawget(r, "spot")
  local times = times_of(math.max(r.duration_us, 1), levels, faults, spot and spot.offers or {})
  local chart, all, wanted = new_chart(times), {}, 0
  for _, units in ipairs(units_of(r)) do wanted = wanted + units end
  local serving = at(levels, times, function(level) return level.serving end)
  for k = 1, #times do all[k] = wanted end
  add_line(chart, "wanted", all)
  if spot then add_line(chart, "available", offered(r, spot.offers, times)) end
  add_line(chart, "there", at(levels, times, function(level)
    return level.serving + level.leaving + level.starting
  end))
  add_line(chart, "serving", serving)
  add_faults(chart, faults, times, serving)
  chart.caption = "Instances that are up but not serving are draining or starting. Points mark the "
    .. "starts of faults."
  return chart
end

--- How many instances there were; nil where that never changes.
---@param r blis.Result
---@return blis.plot.Chart?
function presence.instances(r)
  local faults, levels = rawget(r, "faults") or {}, rawget(r, "instance_counts")
  if rawget(r, "scaling") then return scaled(r, faults) end
  if not levels or #levels == 1 and #faults == 0 then return nil end
  return struck(r, levels, faults)
end

--- The offers with a price of each group, and whether that changes for any.
local function priced(offers)
  local groups, by_group, changes = {}, {}, false
  for _, offer in ipairs(offers) do
    local list = by_group[offer.group]
    if offer.gpu_price_per_hour and not list then
      list = { number = offer.group }
      by_group[offer.group], groups[#groups + 1] = list, list
    end
    if offer.gpu_price_per_hour then
      changes = changes or list[1] ~= nil
        and list[1].gpu_price_per_hour ~= offer.gpu_price_per_hour
      list[#list + 1] = offer
    end
  end
  return groups, changes
end

--- What GPUs cost over time; nil where that never changes.
---@param r blis.Result
---@return blis.plot.Chart?
function presence.prices(r)
  local spot = rawget(r, "spot")
  local groups, changes = priced(spot and spot.offers or {})
  if not changes then return nil end
  local times = times_of(math.max(r.duration_us, 1), spot.offers)
  local chart = { title = "Price of spot capacity", x = time_axis, steps = true, series = {},
    y = { label = "price of a GPU", unit = "USD/h", from_zero = true }, data = { seconds(times) } }
  for _, list in ipairs(groups) do
    add_line(chart, #groups == 1 and chart.y.label or ("group %d"):format(list.number),
      at(list, times, function(offer) return (offer or list[1]).gpu_price_per_hour end))
  end
  return chart
end

return presence
