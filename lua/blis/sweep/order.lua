--- The order in which trials are handed out: long ones first, so that no worker is left waiting for
--- one that was begun last (Graham 1969: at most a third longer than the best order).
---
--- It changes when a table is complete and nothing in it.
local errors = require "blis.errors"
local space = require "blis.sweep.space"

local order = {}

--- What the script's function says of every point.
local function costs_of_script(self, values, cost)
  local costs = {}
  for point in ipairs(self.points) do
    local given = cost(space.point_argument(values[point], self.names))
    if type(given) ~= "number" or given ~= given then
      errors.invalid("cost: the function returned %s, expected a number", errors.show(given))
    end
    costs[point] = given
  end
  return costs
end

--- The mean time of the finished trials of each point; nil without trials.
local function costs_of_store(self, known)
  local sums, counts = {}, {}
  for _, trial in ipairs(self.trials) do
    local one = known[trial.key]
    if one and one.status == "done" and one.wall_us then
      local point = trial.point
      sums[point] = (sums[point] or 0) + one.wall_us
      counts[point] = (counts[point] or 0) + 1
    end
  end
  for point, sum in pairs(sums) do sums[point] = sum / counts[point] end
  return sums
end

--- Sorts indices of trials: those of points with a higher cost first, those of points of which
--- nothing is known before all others, equal ones as they are in the plan.
---@param self blis.sweep.Plan
---@param indices integer[]
---@param values table<string, any>[] of the points
---@param known table<string, blis.sweep.Record>
---@param cost? fun(p: table): number default: estimated from finished trials
function order.longest_first(self, indices, values, known, cost)
  local costs = cost and costs_of_script(self, values, cost) or costs_of_store(self, known)
  if next(costs) == nil then return end
  local trials = self.trials
  table.sort(indices, function(a, b)
    local x = costs[trials[a].point] or math.huge
    local y = costs[trials[b].point] or math.huge
    if x ~= y then return x > y end
    return a < b
  end)
end

return order
