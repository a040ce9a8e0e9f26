--- Where the answer of one seed lies: between a value on the side where the search starts and one
--- on the other side of it. Rates that are looked for are kept at first and missed further on,
--- numbers of instances the other way round.
local bracket = {}

---@class blis.capacity.Bracket
---@field near number? the furthest on the side of the start, below far
---@field far number? the nearest on the other side
---@field tried table<number, boolean> true = on the far side
local Bracket = {}
Bracket.__index = Bracket

---@param range { from: number, to: number, tolerance: number, integer: boolean }
---@param hint? blis.capacity.Bracket of another seed
---@return blis.capacity.Bracket
function bracket.new(range, hint)
  return setmetatable({ range = range, hint = hint, tried = {} }, Bracket)
end

--- Keeps on which side a value is. When chance contradicts itself, the nearer one counts.
---@param value number
---@param is_far boolean
function Bracket:add(value, is_far)
  self.tried[value] = is_far
  self.near, self.far = nil, nil
  for one, far in pairs(self.tried) do
    if far and one < (self.far or math.huge) then self.far = one end
  end
  for one, far in pairs(self.tried) do
    if not far and one < (self.far or math.huge) and one > (self.near or -math.huge) then
      self.near = one
    end
  end
end

local function is_narrow(range, low, high)
  if range.integer then return high - low <= 1 end
  return high / low <= 1 + range.tolerance
end

local function middle(range, low, high)
  local value = math.sqrt(low * high)
  if not range.integer then return value end
  return math.min(math.max(math.floor(value + 0.5), low + 1), high - 1)
end

local function outward(self)
  local range = self.range
  if self.near then return self.near < range.to and math.min(2 * self.near, range.to) or nil end
  if self.far > range.from then
    local half = range.integer and self.far // 2 or self.far / 2
    return math.max(half, range.from)
  end
end

--- The value to be tried next; nil when the answer is known, or lies outside the range.
---@return number?
function Bracket:next()
  local range, hint = self.range, self.hint or {}
  local near = self.near or hint.near
  local far = self.far or hint.far
  if not near and not far then return range.from end
  if self.near and self.far then
    if is_narrow(range, near, far) then return nil end
    return middle(range, near, far)
  end
  -- Ends that another seed has found are tried when there is nothing between.
  if near and far and near < far then
    if not is_narrow(range, near, far) then return middle(range, near, far) end
    return self.near and far or near
  end
  return outward(self)
end

return bracket
