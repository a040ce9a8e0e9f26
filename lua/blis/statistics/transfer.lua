--- How far a simulation can be trusted to choose between policies that were also measured.
local errors = require "blis.errors"

local transfer = {}

--- Places by size, from 1; equal values share the mean of their places.
local function ranks_of(values)
  local order, ranks = {}, {}
  for i = 1, #values do order[i] = i end
  table.sort(order, function(i, j)
    if values[i] ~= values[j] then return values[i] < values[j] end
    return i < j
  end)
  local first = 1
  while first <= #order do
    local last = first
    while last < #order and values[order[last + 1]] == values[order[first]] do last = last + 1 end
    for place = first, last do ranks[order[place]] = (first + last) / 2 end
    first = last + 1
  end
  return ranks
end

local function check_lists(name, a, b)
  for i, list in ipairs { a, b } do
    if type(list) ~= "table" then
      errors.invalid("%s: argument %d is %s; expected a list of numbers", name, i,
        errors.show(list))
    end
    for k, value in ipairs(list) do
      if type(value) ~= "number" or value ~= value then
        errors.invalid("%s: argument %d: [%d] is %s; expected a number", name, i, k,
          errors.show(value))
      end
    end
  end
  if #a ~= #b then errors.invalid("%s: lists of %d and %d values cannot be "
    .. "paired", name, #a, #b) end
end

--- Spearman's rank correlation: 1 when both lists rise and fall together, -1 when one rises where
--- the other falls. Equal values share a rank. Nil below two values, or when one list is constant.
---@param a number[]
---@param b number[]
---@return number?
function transfer.spearman(a, b)
  check_lists("spearman", a, b)
  local x, y, middle = ranks_of(a), ranks_of(b), (#a + 1) / 2
  local xy, xx, yy = 0.0, 0.0, 0.0
  for i = 1, #a do
    local dx, dy = x[i] - middle, y[i] - middle
    xy, xx, yy = xy + dx * dy, xx + dx * dx, yy + dy * dy
  end
  if xx == 0 or yy == 0 then return nil end
  return xy / math.sqrt(xx * yy)
end

---@class blis.Transfer
---@field n integer policies
---@field spearman number? rank correlation
---@field pairs integer pairs of policies that differ in reality
---@field pairs_ordered_right integer pairs of which the simulation names the winner
---@field order_preserved number? their share
---@field gaps number[] |simulated - real|, policy by policy
---@field mean_gap number?
---@field mean_relative_gap number? the mean of |simulated - real| / |real|
local transfer_meta = {
  __name = "blis.transfer",
  __tostring = function(t)
    if t.n < 2 then return "nothing to rank" end
    return ("rank correlation %s, %d of %d pairs ordered right, mean gap %.4g (%s of the real "
      .. "metric)"):format(t.spearman and ("%.3f"):format(t.spearman) or "unknown",
      t.pairs_ordered_right, t.pairs, t.mean_gap,
      t.mean_relative_gap and ("%.1f %%"):format(t.mean_relative_gap * 100) or "unknown share")
  end,
}

local function count_pairs(simulated, real)
  local all, right = 0, 0
  for i = 1, #real do
    for j = i + 1, #real do
      local real_difference, difference = real[j] - real[i], simulated[j] - simulated[i]
      if real_difference ~= 0 then
        all = all + 1
        if real_difference * difference > 0 then right = right + 1 end
      end
    end
  end
  return all, right
end

--- Compares one metric of several policies, simulated and measured, with the same policies in both
--- lists: whether the ranking transfers from simulation to reality, and the distance of the values.
---
---     print(blis.statistics.transfer(simulated_p99, measured_p99))
---
---@param simulated number[]
---@param real number[]
---@return blis.Transfer
function transfer.compare(simulated, real)
  check_lists("transfer", simulated, real)
  local gaps, sum, relative, nonzero = {}, 0.0, 0.0, 0
  for i, value in ipairs(real) do
    gaps[i] = math.abs(simulated[i] - value)
    sum = sum + gaps[i]
    if value ~= 0 then relative, nonzero = relative + gaps[i] / math.abs(value), nonzero + 1 end
  end
  local all, right = count_pairs(simulated, real)
  return setmetatable({
    n = #real, spearman = transfer.spearman(simulated, real), pairs = all,
    pairs_ordered_right = right, order_preserved = all > 0 and right / all or nil, gaps = gaps,
    mean_gap = #real > 0 and sum / #real or nil,
    mean_relative_gap = nonzero > 0 and relative / nonzero or nil,
  }, transfer_meta)
end

return transfer
