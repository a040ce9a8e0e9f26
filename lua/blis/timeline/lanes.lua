--- Lanes for things that overlap: each takes the lowest one that is free, so there are as many as
--- there are things at once, and what is on one lane does not overlap.
local lanes = {}

---@class blis.timeline.Lanes
---@field count integer lanes so far
---@field free integer[] a heap of the numbers of free lanes
---@field busy integer[] a heap of ends and lanes, packed
local Lanes = {}
Lanes.__index = Lanes

-- An end and a lane are one integer: the lane is below this.
local lanes_max = 1 << 20

local function push(heap, value)
  local place = #heap + 1
  while place > 1 do
    local parent = place // 2
    if heap[parent] <= value then break end
    heap[place], place = heap[parent], parent
  end
  heap[place] = value
end

local function pop(heap)
  local first, last = heap[1], table.remove(heap)
  local count, place = #heap, 1
  if count == 0 then return first end
  while true do
    local child = place * 2
    if child > count then break end
    if child < count and heap[child + 1] < heap[child] then child = child + 1 end
    if heap[child] >= last then break end
    heap[place], place = heap[child], child
  end
  heap[place] = last
  return first
end

---@return blis.timeline.Lanes
function lanes.new() return setmetatable({ count = 0, free = {}, busy = {} }, Lanes) end

--- The lane of something; things come in the order of their starts. One that ends at its start
--- is there until the next microsecond, or two such would be on top of each other.
---@param start_us integer
---@param end_us integer
---@return integer lane from 1
function Lanes:take(start_us, end_us)
  while self.busy[1] and self.busy[1] // lanes_max <= start_us do
    push(self.free, pop(self.busy) % lanes_max)
  end
  local lane = self.free[1] and pop(self.free)
  if not lane then
    self.count = self.count + 1
    lane = self.count
  end
  push(self.busy, math.max(end_us, start_us + 1) * lanes_max + lane)
  return lane
end

return lanes
