--- Where the answer lies: which values were tried, and what is tried next.
---
--- Low rates meet the targets and high rates miss them. With numbers of instances, low numbers miss
--- and high numbers meet. The near side is the side on which the search starts. A value is surely
--- near, surely far, or too close to call. The interval extends from the last value that is surely
--- near to the first value that is surely far. The answer is the value at which the likelier
--- outcome changes.
local bracket = {}

---@class blis.capacity.Side
---@field sure -1|0|1 near, too close to call, far
---@field likely -1|1

---@class blis.capacity.Bracket
---@field range { from: number, to: number, tolerance: number, integer: boolean }
---@field values number[] that were tried, in ascending order
---@field sides table<number, blis.capacity.Side>
local Bracket = {}
Bracket.__index = Bracket

---@param range { from: number, to: number, tolerance: number, integer: boolean }
---@return blis.capacity.Bracket
function bracket.new(range)
  return setmetatable({ range = range, values = {}, sides = {} }, Bracket)
end

--- Stores the outcome at a value; a later outcome replaces an earlier one.
---@param value number
---@param side blis.capacity.Side
function Bracket:add(value, side)
  if not self.sides[value] then
    self.values[#self.values + 1] = value
    table.sort(self.values)
  end
  self.sides[value] = side
end

--- The first value for which a test holds and the last one before it; either may be missing.
local function change(self, test)
  for i, value in ipairs(self.values) do
    if test(self.sides[value]) then return self.values[i - 1], value end
  end
  return self.values[#self.values], nil
end

local function is_likely_far(side) return side.likely > 0 end

--- The values on both sides of the answer, between which the likelier outcome changes.
---@return number? near
---@return number? far
function Bracket:answer()
  return change(self, is_likely_far)
end

local function is_not_near(side) return side.sure >= 0 end
local function is_far(side) return side.sure > 0 end

--- Where the interval ends: values that are surely near and surely far.
---@return number? near
---@return number? far
function Bracket:interval()
  local near, _ = change(self, is_not_near)
  local _, far = change(self, is_far)
  return near, far
end

-- A first look need not be closer than this.
local rough = 0.2

local function is_narrow(range, low, high, width)
  if range.integer and (high - low <= 1 or width < rough) then return high - low <= 1 end
  return high / low <= 1 + math.max(width, range.tolerance)
end

local function middle(range, low, high)
  local value = math.sqrt(low * high)
  if not range.integer then return value end
  return math.min(math.max(math.floor(value + 0.5), low + 1), high - 1)
end

local function above(range, value, factor)
  if value >= range.to then return nil end
  local next_one = value * factor
  if range.integer then next_one = math.max(math.floor(next_one), value + 1) end
  return math.min(next_one, range.to)
end

local function below(range, value, factor)
  if value <= range.from then return nil end
  local next_one = value / factor
  if range.integer then next_one = math.min(math.ceil(next_one), value - 1) end
  return math.max(next_one, range.from)
end

--- The next value for a change that lies between low and high; nil when that is known, or out of
--- range.
local function closer(self, low, high, width, step)
  local range = self.range
  if not low and not high then return range.from end
  if not high then return above(range, low, step) end
  if not low then return below(range, high, step) end
  if not is_narrow(range, low, high, width) then return middle(range, low, high) end
end

--- The value to be tried next to learn roughly where the answer is; nil when that is known.
---@return number?
function Bracket:rough()
  local low, high = self:answer()
  return closer(self, low, high, rough, 2)
end

--- The values to be tried next, so that answer and interval are known to the tolerance; none when
--- they are.
---@return number[]
function Bracket:next()
  local width, list, known = math.min(self.range.tolerance, rough / 2), {}, {}
  -- Ends of the interval are near the answer, and are looked for in growing steps.
  local step = (1 + 2 * width) ^ (1 + #self.values // 2)
  for _, test in ipairs { is_likely_far, is_not_near, is_far } do
    local low, high = change(self, test)
    local value = closer(self, low, high, width, step)
    if value and not known[value] then
      known[value], list[#list + 1] = true, value
    end
  end
  return list
end

return bracket
