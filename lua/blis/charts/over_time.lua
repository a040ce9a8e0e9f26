--- Charts over time: of the cluster, and of its instances, as lines or, when there are many, as
--- heat maps.
local presence = require "blis.charts.presence"

local over_time = {}

local intervals = 240

-- From this number of instances, lines can no longer be distinguished.
local fewest_for_heat = 5

-- Lines of several instances are means of this many intervals, so that they do not hide each other.
local width_of_lines = 3

-- Maximum number of rows of a heat map; more rows are merged with their neighbors.
local most_rows = 128

-- Target number of requests per point of a rate, if enough points remain. Widths are powers of two,
-- and divide the intervals.
local fewest_requests, most_width = 25, 8

--- The values of one interval, or of several merged intervals.
local function midpoints(duration_us, width)
  width = width or 1
  local times, count = {}, intervals // width
  for k = 1, count do times[k] = (k - 0.5) / count * duration_us / 1e6 end
  return times
end

local time_axis = { label = "time", unit = "s", from_zero = true }

local function name_of(r, i)
  return r.instances[i] and r.instances[i].id or ("instance_%d"):format(i - 1)
end

--- The name of an instance with its role, if roles differ.
local function label_of(r, i)
  local groups, instance = rawget(r.setup, "groups"), r.instances[i]
  local role = groups and instance and groups[instance.group] and groups[instance.group].role
  return role and ("%s (%s)"):format(name_of(r, i), role) or name_of(r, i)
end

--- Returns whether instances come and go in a run.
local function is_changing(r)
  return rawget(r, "scaling") ~= nil or rawget(r, "spot") ~= nil or #(rawget(r, "faults") or {}) > 0
end

--- The zeros of an instance as false before its first value and after its last one: it was absent,
--- or had no request.
local function without_ends(list)
  local first, last
  for k, value in ipairs(list) do
    if value > 0 then first, last = first or k, k end
  end
  local result = {}
  for k, value in ipairs(list) do result[k] = first and k >= first and k <= last and value end
  return result
end

-- Faults that stop an instance until it recovers.
local stops = { crash = true, hang = true, reclaim = true }

--- Sets zeros to false while a fault stops an instance; times are seconds.
local function omit_faults(r, lists, times)
  local by_name = {}
  for i in ipairs(lists) do by_name[name_of(r, i)] = lists[i] end
  for _, fault in ipairs(rawget(r, "faults") or {}) do
    local list = stops[fault.kind] and not fault.is_missed and by_name[fault.instance]
    local to_us = fault.time_us + (fault.recover_us or math.huge)
    for k, time in ipairs(list and times or {}) do
      local is_inside = time * 1e6 >= fault.time_us and time * 1e6 <= to_us
      if is_inside and list[k] == 0 then list[k] = false end
    end
  end
end

--- Lists of a run with instances that come and go, without the times at which they were absent.
local function present(r, lists, times)
  if not is_changing(r) then return lists end
  local result = {}
  for i, list in ipairs(lists) do
    result[i] = rawget(r, "scaling") and without_ends(list) or table.move(list, 1, #list, 1, {})
  end
  omit_faults(r, result, times)
  return result
end

--- Means of neighboring values; false where all are.
local function coarser(list, width)
  local result = {}
  for first = 1, #list, width do
    local sum, count = 0, 0
    for k = first, math.min(first + width - 1, #list) do
      if list[k] then sum, count = sum + list[k], count + 1 end
    end
    result[#result + 1] = count > 0 and sum / count
  end
  return result
end

--- Lists of neighbouring instances as means, at most most_rows of them, with their names.
local function merged(r, lists)
  local per_row = math.ceil(#lists / most_rows)
  local rows, names = {}, {}
  for first = 1, #lists, per_row do
    local last, sums, counts = math.min(first + per_row - 1, #lists), {}, {}
    for i = first, last do
      for k, value in ipairs(lists[i]) do
        if value then
          sums[k], counts[k] = (sums[k] or 0) + value, (counts[k] or 0) + 1
        end
      end
    end
    for k = 1, #lists[first] do sums[k] = counts[k] and sums[k] / counts[k] or false end
    rows[#rows + 1] = sums
    names[#names + 1] = first == last and label_of(r, first)
      or ("%s to %s, mean"):format(name_of(r, first), name_of(r, last):match "%d+$")
  end
  return rows, names
end

local function mean_of(list)
  local sum, count = 0, 0
  for _, value in ipairs(list) do
    if value then sum, count = sum + value, count + 1 end
  end
  return count > 0 and sum / count or nil
end

-- More rows than this are sorted by their means, so that the busiest instances are on top.
local most_unsorted = 24

--- The places of the instances by falling mean; instances without values last.
local function by_mean(means, count)
  local order = {}
  for i = 1, count do order[i] = i end
  table.sort(order, function(a, b)
    local x, y = means[a] or -1, means[b] or -1
    if x ~= y then return x > y end
    return a < b
  end)
  return order
end

-- Means that differ by a smaller factor are balanced.
local least_imbalance = 1.25

--- "Highest mean: instance_3, 2.3 times that of instance_5.": names an imbalance.
local function balance_text(r, means, order)
  local first, last = order[1], nil
  for _, i in ipairs(order) do
    if means[i] then last = i end
  end
  if not last or first == last then return nil end
  local low, high = means[last], means[first]
  if high <= 0 then return nil end
  if low <= 0 then
    return ("Imbalance: %s has the highest mean, and %s has none."):format(name_of(r, first),
      name_of(r, last))
  elseif high / low < least_imbalance then
    return ("Balanced: the means of the instances differ by at most %.0f %%."):format(
      100 * (high / low - 1))
  end
  return ("Imbalance: the mean of %s is %.1f times that of %s."):format(name_of(r, first),
    high / low, name_of(r, last))
end

--- Adds what a heat map needs: rows, sorted if there are many, and its balance in words.
local function add_heat(chart, r, lists, times)
  local means = {}
  for i, list in ipairs(lists) do means[i] = mean_of(list) end
  local order = by_mean(means, #lists)
  chart.kind, chart.times = "heat", times
  if #lists > most_unsorted and #lists <= most_rows then
    chart.data, chart.rows = {}, {}
    for k, i in ipairs(order) do chart.data[k], chart.rows[k] = lists[i], label_of(r, i) end
  else
    chart.data, chart.rows = merged(r, lists)
  end
  local groups = rawget(r.setup, "groups")
  local words = { chart.caption, not groups and balance_text(r, means, order) or nil }
  chart.caption = words[1] and table.concat(words, " ") or words[2]
end

--- One list per instance, in one chart.
local function instance_chart(r, given)
  local chart = { title = given.title, caption = given.caption, x = time_axis, y = given.y }
  local lists = present(r, given.lists, given.times)
  if #lists >= fewest_for_heat then
    add_heat(chart, r, lists, given.times)
  else
    local width = #lists > 1 and #given.times >= intervals and width_of_lines or 1
    chart.series, chart.data = {}, { coarser(given.times, width) }
    for i, list in ipairs(lists) do
      chart.series[i], chart.data[i + 1] = { label = label_of(r, i) }, coarser(list, width)
    end
  end
  return chart
end

local function total(lists)
  local sums = {}
  for _, list in ipairs(lists) do
    for k, value in ipairs(list) do sums[k] = (sums[k] or 0) + value end
  end
  return sums
end

--- Number of intervals to merge for counts; fewer requests per point would show only noise.
local function width_for(count)
  local width = 1
  while width < most_width and count * width < fewest_requests * intervals do width = width * 2 end
  return width
end

--- Counts as rates, each over this many intervals.
local function rates(counts, duration_us, width)
  local seconds, list = duration_us / 1e6 / intervals * width, {}
  for first = 1, intervals, width do
    local sum = 0
    for k = first, first + width - 1 do sum = sum + counts[k] end
    list[#list + 1] = sum / seconds
  end
  return list
end

local function column(instances, name)
  local lists = {}
  for i, one in ipairs(instances) do lists[i] = one[name] end
  return lists
end

local waiting_axis = { label = "requests waiting", from_zero = true }
local running_axis = { label = "requests running", from_zero = true }

local function load_of(r)
  return r.requests:load(math.max(#r.instances, 1), math.max(r.duration_us, 1), intervals)
end

--- Means of each interval, of what waited and ran at every instance; from the records.
local function load_charts(r, load, wants)
  local times, width = midpoints(r.duration_us), width_for(r.arrived)
  return {
    wants.rates and {
      title = "Arrivals and completions", x = time_axis,
      y = { label = "requests/s", from_zero = true }, series = { { label = "arrived" },
        { label = "completed" } },
      data = { midpoints(r.duration_us, width), rates(load.arrived, r.duration_us, width),
        rates(load.completed, r.duration_us, width) },
    },
    wants.queue and instance_chart(r, { title = "Queue depth", y = waiting_axis, times = times,
      lists = column(load.instances, "waiting"),
      caption = "Requests waiting at an instance for admission. Mean of each interval." }),
    wants.batch and instance_chart(r, { title = "Batch size", y = running_axis, times = times,
      lists = column(load.instances, "running"),
      caption = "Admitted requests that have not ended, including preempted requests." }),
  }
end

--- At most intervals values of a column, evenly spread.
local function thinned(list)
  local step = math.max(1, math.ceil(#list / intervals))
  local result = {}
  for i = 1, #list, step do result[#result + 1] = list[i] end
  return result
end

local function seconds(times_us)
  local list = {}
  for i, time_us in ipairs(thinned(times_us)) do list[i] = time_us / 1e6 end
  return list
end

--- KV cache utilization from the series, if recorded.
local function kv_chart(r)
  local series = rawget(r, "series")
  if not series or series.rows == 0 then return nil end
  local lists = {}
  for i, one in ipairs(series.instances) do lists[i] = thinned(one.kv_utilization) end
  return instance_chart(r, { title = "KV cache in use", times = seconds(series.t_us),
    y = { label = "KV blocks in use", percent = true, from_zero = true }, lists = lists })
end

--- A chart of columns of the series.
local function series_chart(r, title, y, columns, caption)
  local chart = { title = title, caption = caption, x = time_axis, y = y, series = {},
    data = { seconds(r.series.t_us) } }
  for i, one in ipairs(columns) do
    chart.series[i], chart.data[i + 1] = { label = one[1] }, thinned(one[2])
  end
  return chart
end

--- How much of the prompts every tier of KV has brought back so far, in blocks.
local function tier_chart(r)
  local columns = {}
  for i, tier in ipairs(r.series.kv_tiers) do columns[i] = { tier.name, tier.loaded_blocks } end
  return series_chart(r, "Loaded from KV tiers", { label = "blocks so far", from_zero = true },
    columns)
end

--- Adapters in slots, loading, and with waiting requests.
local function lora_chart(r)
  local lora = r.series.lora
  return series_chart(r, "LoRA adapters", { label = "adapters of all instances", from_zero = true },
    { { "loaded", lora.loaded }, { "loading", lora.loading },
      { "with waiting requests", lora.waiting }, { "free slots", lora.free_slots } },
    "Totals over running instances: an adapter on two instances counts twice.")
end

local handoff_axis = { label = "hand-offs", from_zero = true }

--- Hand-offs: active transfers, and hand-offs that wait for free blocks.
local function transfer_chart(r)
  return series_chart(r, "Hand-offs", handoff_axis, {
    { "active KV transfers", r.series.transfers },
    { "waiting for free blocks", r.series.waiting_for_room } })
end

--- The same from the records: means of each interval, since transfers are far shorter than the
--- intervals of a series.
local function handoff_chart(load, times)
  return { title = "Hand-offs", x = time_axis, y = handoff_axis,
    caption = "Mean number in each interval.",
    series = { { label = "active KV transfers" }, { label = "waiting for their transfer" } },
    data = { coarser(times, width_of_lines), coarser(load.transferring, width_of_lines),
      coarser(load.before_transfer, width_of_lines) } }
end

--- Requests in the bands of the gateway's queue.
local function gateway_chart(r)
  local columns = {}
  for i, band in ipairs(r.series.bands) do
    columns[i] = { ("priority %d"):format(band.priority), band.waiting }
  end
  return series_chart(r, "Queue of the gateway", waiting_axis, columns)
end

-- Charts that need a column of the series, by that column.
local of_series = {
  { name = "tiers", column = "kv_tiers", chart = tier_chart },
  { name = "lora", column = "lora", chart = lora_chart },
  { name = "transfers", column = "transfers", chart = transfer_chart },
  { name = "gateway", column = "bands", chart = gateway_chart },
}

--- Names of the charts of one run: request rates, waiting and running requests. With a series also
--- KV cache utilization, loads from KV tiers, LoRA adapters, hand-offs, and the gateway queue. With
--- an autoscaler, faults, or spot capacity also the number of instances and their price.
over_time.names = { "rates", "queue", "batch", "kv", "tiers", "lora", "transfers", "gateway",
  "replicas", "price" }

--- Charts of one run: without records, without series, and where instances are always there, there
--- are fewer.
---@param r blis.Result
---@param name? string only this result
---@return blis.plot.Chart[]
function over_time.of_result(r, name)
  local wants = {}
  for _, one in ipairs(over_time.names) do wants[one] = not name or name == one end
  local list = {}
  local needs_load = wants.rates or wants.queue or wants.batch or wants.transfers
  local load = r.keeps_records and needs_load and load_of(r) or nil
  local made = load and load_charts(r, load, wants) or {}
  for i = 1, 3 do list[#list + 1] = made[i] or nil end
  list[#list + 1] = wants.kv and kv_chart(r) or nil
  local has_handoffs = load and wants.transfers and rawget(r, "handoffs") ~= nil
  if has_handoffs then list[#list + 1] = handoff_chart(load, midpoints(r.duration_us)) end
  local series = rawget(r, "series")
  for _, one in ipairs(series and series.rows > 0 and of_series or {}) do
    local values = wants[one.name] and series[one.column]
    local is_drawn = one.name == "transfers" and has_handoffs
    if values and next(values) and not is_drawn then list[#list + 1] = one.chart(r) end
  end
  list[#list + 1] = wants.replicas and presence.instances(r) or nil
  list[#list + 1] = wants.price and presence.prices(r) or nil
  return list
end

--- Runs of several policies: all that waited, and all that ran. Shorter runs end earlier.
---@param results blis.Result[]
---@param labels string[]
---@return blis.plot.Chart[]
function over_time.of_results(results, labels)
  local duration_us = 1
  for _, r in ipairs(results) do
    if not r.keeps_records then return {} end
    duration_us = math.max(duration_us, r.duration_us)
  end
  local times, series = midpoints(duration_us), {}
  local waiting, running = { times }, { times }
  for i, r in ipairs(results) do
    local load = r.requests:load(math.max(#r.instances, 1), duration_us, intervals)
    series[i] = { label = labels[i] }
    waiting[i + 1] = total(column(load.instances, "waiting"))
    running[i + 1] = total(column(load.instances, "running"))
  end
  return {
    { title = "Requests waiting at instances", x = time_axis, y = waiting_axis, series = series,
      data = waiting },
    { title = "Requests running", x = time_axis, y = running_axis, series = series,
      data = running },
  }
end

return over_time
