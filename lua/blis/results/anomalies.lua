--- Signs that something went wrong in a run, as BLIS in Go counts them.
local anomalies = {}

--- How many pairs there are of an earlier request that took more than twice as long as a later one.
--- Counts of the times so far are kept in a Fenwick tree.
local function count_inversions(records)
  local sorted = {}
  for i, record in ipairs(records) do sorted[i] = record.e2e_us end
  table.sort(sorted)
  local tree, total, inversions = {}, 0, 0
  for i = 1, #sorted do tree[i] = 0 end
  local function rank_of(value) -- how many of the sorted ones are at most value
    local low, high = 0, #sorted
    while low < high do
      local middle = (low + high + 1) // 2
      if sorted[middle] <= value then low = middle else high = middle - 1 end
    end
    return low
  end
  for _, record in ipairs(records) do
    local i, at_most = rank_of(2 * record.e2e_us), 0
    while i > 0 do
      at_most = at_most + tree[i]
      i = i - (i & -i)
    end
    inversions = inversions + total - at_most
    total = total + 1
    i = rank_of(record.e2e_us)
    while i <= #sorted do
      tree[i] = tree[i] + 1
      i = i + (i & -i)
    end
  end
  return inversions
end

--- Completed requests, in order of arrival, of each class at each instance.
local function completed_by_queue(records)
  local groups, list = {}, {}
  for i = 1, #records do
    local record = records[i]
    if record.e2e_us then
      local class = record.slo_class == "" and "default" or record.slo_class
      local key = record.instance .. " " .. class
      if not groups[key] then
        groups[key] = {}
        list[#list + 1] = groups[key]
      end
      table.insert(groups[key], record)
    end
  end
  return list
end

--- Pairs of requests of one SLO class at one instance of which the one that came first took more
--- than twice as long as the other. O(n log n).
---@param records table[] in order of arrival
---@return integer
function anomalies.priority_inversions(records)
  local sum = 0
  for _, group in ipairs(completed_by_queue(records)) do sum = sum + count_inversions(group) end
  return sum
end

--- The same of a result, where it means something: with a scheduler that goes by priority.
---@param result blis.Result
---@param scheduler? string
---@return integer
function anomalies.inversions_of(result, scheduler)
  if scheduler ~= "priority-fcfs" then return 0 end
  return result.priority_inversions
end

--- Head-of-line blocking: instances whose wait queue, looked at in every step, is on average more
--- than twice as long as usual.
---@param instances table[] as in a result
---@return integer
function anomalies.blocked_instances(instances)
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
function anomalies.kv_thrashing_rate(instances)
  local sum = 0.0
  for _, instance in ipairs(instances) do
    if instance.cpu_saved > 0 then sum = sum + instance.cpu_evictions / instance.cpu_saved end
  end
  return sum / #instances
end

return anomalies
