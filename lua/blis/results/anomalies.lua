--- Anomalies of a run: the list of the macro-level plan. With profile go-blis, the definitions of
--- BLIS in Go with the same names.
local anomalies = {}

--- Counts by place, added up to a place in O(log n): a Fenwick tree.
local function fenwick(size)
  local tree = {}
  for i = 1, size do tree[i] = 0 end
  return {
    add = function(i, n)
      while i <= size do
        tree[i] = tree[i] + n
        i = i + (i & -i)
      end
    end,
    sum = function(i)
      local n = 0
      while i > 0 do
        n = n + tree[i]
        i = i - (i & -i)
      end
      return n
    end,
  }
end

--- How many of a sorted list are at most value.
local function rank(sorted, value)
  local low, high = 0, #sorted
  while low < high do
    local middle = (low + high + 1) // 2
    if sorted[middle] <= value then low = middle else high = middle - 1 end
  end
  return low
end

local function grouped(records, key_of)
  local groups, list = {}, {}
  for i = 1, #records do
    local record = records[i]
    local key = key_of(record)
    if key and not groups[key] then
      groups[key] = {}
      list[#list + 1] = groups[key]
    end
    if key then table.insert(groups[key], record) end
  end
  return list
end

--- Requests by the instance in whose queue they were; none when all are equally urgent.
local function by_queue(records)
  if #records == 0 or not records[1].priority then return {} end
  return grouped(records, function(record) return record.was_counted and record.instance or nil end)
end

--- When a request left the wait queue: its first step, or its end.
local function left_queue_us(record)
  local delay_us = record.scheduling_delay_us
  return delay_us and record.arrival_us + delay_us or record.end_us
end

-- What happens at the same time is in this order, so that neither is a wait.
local leaves, is_scheduled, waits = 1, 2, 3

--- What happens in a queue, in order of time: { time, what, priority }.
local function queue_events(records)
  local events = {}
  for _, record in ipairs(records) do
    local left_us, priority = left_queue_us(record), record.priority
    if left_us > record.arrival_us then
      events[#events + 1] = { record.arrival_us, waits, priority }
      events[#events + 1] = { left_us, leaves, priority }
    end
    if record.scheduling_delay_us then
      events[#events + 1] = { left_us, is_scheduled, priority }
    end
  end
  table.sort(events, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return events
end

local function inversions_in(records)
  local priorities = {}
  for i, record in ipairs(records) do priorities[i] = record.priority end
  table.sort(priorities)
  local waiting, count, inversions = fenwick(#priorities), 0, 0
  for _, event in ipairs(queue_events(records)) do
    local what, place = event[2], rank(priorities, event[3])
    if what == is_scheduled then
      inversions = inversions + count - waiting.sum(place)
    else
      local n = what == waits and 1 or -1
      waiting.add(place, n)
      count = count + n
    end
  end
  return inversions
end

--- Pairs of requests in an instance's queue whose less urgent request was scheduled while the more
--- urgent one waited. O(n log n).
---@param records table[] in order of arrival
---@return integer
function anomalies.priority_inversions(records)
  local sum = 0
  for _, queue in ipairs(by_queue(records)) do sum = sum + inversions_in(queue) end
  return sum
end

--- Least values of all parts of a list: least(from, to).
local function range_least(values)
  local n = #values
  local tree = {}
  for i = 1, n do tree[n + i - 1] = values[i] end
  for i = n - 1, 1, -1 do tree[i] = math.min(tree[2 * i], tree[2 * i + 1]) end
  return function(from, to)
    local least = math.huge
    from, to = from + n - 1, to + n
    while from < to do
      if from & 1 == 1 then
        least = math.min(least, tree[from])
        from = from + 1
      end
      if to & 1 == 1 then
        to = to - 1
        least = math.min(least, tree[to])
      end
      from, to = from // 2, to // 2
    end
    return least
  end
end

local function blocked_in(records)
  local ends, times, priorities, blocked = {}, {}, {}, 0
  for _, record in ipairs(records) do
    if record.e2e_us then ends[#ends + 1] = record end
  end
  table.sort(ends, function(a, b) return a.end_us < b.end_us end)
  for i, record in ipairs(ends) do times[i], priorities[i] = record.end_us, record.priority end
  local least = range_least(priorities)
  for _, record in ipairs(records) do
    local from = rank(times, record.arrival_us) + 1
    local to = rank(times, left_queue_us(record) - 1)
    if from <= to and least(from, to) < record.priority then blocked = blocked + 1 end
  end
  return blocked
end

--- Head-of-line blocking: requests that still waited after a less urgent request of the same queue
--- had completed. O(n log n).
---@param records table[] in order of arrival
---@return integer
function anomalies.hol_blocking_events(records)
  local sum = 0
  for _, queue in ipairs(by_queue(records)) do sum = sum + blocked_in(queue) end
  return sum
end

--- Immediate reloads from the CPU tier (cpu_immediate_reloads) per block that was moved there.
--- Above 1, blocks are reloaded more than once. Saved results of older versions count no immediate
--- reloads, so their rate is 0.
---@param instances table[] as in a result
---@return number
function anomalies.kv_thrashing_rate(instances)
  local saved, reloaded = 0, 0
  for _, instance in ipairs(instances) do
    saved = saved + instance.cpu_saved
    reloaded = reloaded + (instance.cpu_immediate_reloads or 0)
  end
  return saved > 0 and reloaded / saved or 0.0
end

--- As BLIS in Go counts them.
anomalies.go_blis = {}

--- How many pairs there are of an earlier request that took more than twice as long as a later one.
local function slow_pairs_in(records)
  local sorted = {}
  for i, record in ipairs(records) do sorted[i] = record.e2e_us end
  table.sort(sorted)
  local earlier, pairs_ = fenwick(#sorted), 0
  for i, record in ipairs(records) do
    pairs_ = pairs_ + i - 1 - earlier.sum(rank(sorted, 2 * record.e2e_us))
    earlier.add(rank(sorted, record.e2e_us), 1)
  end
  return pairs_
end

--- Requests as seen by instances: a handed-off request counts as two, with separate latencies.
local function parts_of(records)
  local parts = {}
  local function add(record, instance, e2e_us)
    if instance and e2e_us then
      parts[#parts + 1] = { slo_class = record.slo_class, instance = instance, e2e_us = e2e_us }
    end
  end
  for _, record in ipairs(records) do
    if record.prefill_instance then
      add(record, record.prefill_instance, record.prefill_e2e_us)
      add(record, record.instance, record.decode_e2e_us)
    else
      add(record, record.instance, record.e2e_us)
    end
  end
  return parts
end

--- Pairs of requests of one SLO class at one instance whose earlier request took more than twice as
--- long as the later one; only with scheduler priority-fcfs. O(n log n).
---@param records table[] in order of arrival
---@param scheduler? string
---@return integer
function anomalies.go_blis.priority_inversions(records, scheduler)
  if scheduler ~= "priority-fcfs" then return 0 end
  local sum = 0
  for _, group in ipairs(grouped(parts_of(records), function(part)
    local class = part.slo_class == "" and "default" or part.slo_class
    return part.instance .. " " .. class
  end)) do
    sum = sum + slow_pairs_in(group)
  end
  return sum
end

--- Instances whose wait queue, sampled in every step, is on average more than twice the mean.
---@param instances table[] as in a result
---@return integer
function anomalies.go_blis.hol_blocking_events(instances)
  local means, sum = {}, 0.0
  for i, instance in ipairs(instances) do
    means[i] = instance.steps > 0 and instance.queue_depth_sum / instance.steps or 0.0
    sum = sum + means[i]
  end
  local mean, count = sum / #means, 0
  if #means < 2 or mean == 0 then return 0 end
  for _, one in ipairs(means) do
    if one > 2 * mean then count = count + 1 end
  end
  return count
end

--- Blocks dropped from the CPU tier per block that was saved to it; mean over the instances.
---@param instances table[] as in a result
---@return number
function anomalies.go_blis.kv_thrashing_rate(instances)
  local sum = 0.0
  for _, instance in ipairs(instances) do
    if instance.cpu_saved > 0 then sum = sum + instance.cpu_evictions / instance.cpu_saved end
  end
  return sum / #instances
end

return anomalies
