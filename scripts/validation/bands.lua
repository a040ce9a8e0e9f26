--- Expected errors of setups that no fit contains, from the errors of groups of rows (a model on a
--- GPU) that were left out in the same way.
---
--- Few groups are left out of each kind, and their errors differ more between groups than within
--- one. So each group counts once, by its mean error, and an assumed group counts as one more: what
--- the authors of the constants report for setups of that kind. A row is then expected to err as a
--- normal distribution with that mean absolute error does. No announced error is below what repeats
--- of the same measurement differ by.
local bands = {}

-- Of the mean absolute error of a normal distribution: half and four fifths of its values.
local half_share, most_share = 0.845, 1.606
local least = { 0.02, 0.04 }

-- From this TP degree on, times of a step are mostly launches, links, and narrow products, which
-- differ more between models than the bandwidth of large products does.
bands.many_gpus = 4
local fewest = 5 -- rows of a group with fewer or more GPUs

local function mean_of(errors, name, accepts)
  local sum, count = 0, 0
  for _, one in ipairs(errors) do
    if one[name] and (not accepts or accepts(one)) then
      sum, count = sum + math.abs(one[name]), count + 1
    end
  end
  return count > 0 and sum / count or nil, count
end

--- The mean absolute error to expect of a group of the same kind.
---@param groups table[][] errors of each group, with `tpot`, `ttft`, and `tp`
---@param name "tpot" | "ttft"
---@param assumed number of one more group
---@return number
function bands.scale(groups, name, assumed)
  local sum, count = assumed, 1
  for _, errors in ipairs(groups) do
    local mean = mean_of(errors, name)
    if mean then sum, count = sum + mean, count + 1 end
  end
  return sum / count
end

--- How much larger the errors of TPOT are on many GPUs than on few: the geometric mean over groups
--- with both, and one more group without a difference.
---@param groups table[][]
---@return number
function bands.factor(groups)
  local sum, count = 0, 1
  for _, errors in ipairs(groups) do
    local many, n = mean_of(errors, "tpot", function(one) return one.tp >= bands.many_gpus end)
    local few, m = mean_of(errors, "tpot", function(one) return one.tp < bands.many_gpus end)
    if n >= fewest and m >= fewest then
      sum, count = sum + math.log(many / few), count + 1
    end
  end
  return math.exp(sum / count)
end

--- Raises numbers for half and four fifths of the rows, one pair or two, to the least ones.
---@param list? number[]
---@return number[]?
function bands.floor(list)
  for i, value in ipairs(list or {}) do list[i] = math.max(least[2 - i % 2], value) end
  return list
end

--- The errors that half and four fifths of the rows are within.
---@param scale number
---@return number[]
function bands.pair(scale)
  return { math.max(least[1], half_share * scale), math.max(least[2], most_share * scale) }
end

return bands
