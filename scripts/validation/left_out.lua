--- Errors on rows that took no part in the fit. All parameters are fitted again without a group of
--- runs, and then the runs of that group are simulated.
---
--- Three kinds of groups: all runs of a GPU, of those GPUs that few runs are measured on; all runs
--- of a model on a GPU, which leaves most quantized formats without any run on that GPU family; and
--- a part of these: a TP degree and engine version, or a workload of the stages.
local fit = require "fit"

local left_out = {}

local kinds = {
  gpu = function(run)
    return (run.gpu:match "^A100" or run.gpu:match "^L40S") and run.gpu or nil
  end,
  model = function(run) return run.group end,
  part = function(run) return run.group .. ", " .. run.part end,
}

local function grouped(runs, key_of)
  local groups, order = {}, {}
  for _, run in ipairs(runs) do
    local key = key_of(run)
    if key and not groups[key] then
      groups[key] = {}
      order[#order + 1] = key
    end
    if key then table.insert(groups[key], run) end
  end
  return groups, order
end

---@class validation.Fit
---@field errors validation.Error[] of all runs, in sample
---@field slopes number[][]
---@field values number[]
---@field has_tables boolean of kernel times

--- Errors of each group from a fit without it. The fit without a group is a Gauss-Newton step from
--- the fit to all runs, with the slopes of that fit.
---@param runs validation.Run[]
---@param all validation.Fit
---@param kind "gpu" | "model" | "part"
---@param tell fun(text: string)
---@return validation.Error[]
function left_out.errors(runs, all, kind, tell)
  local key_of, list = kinds[kind], {}
  local groups, order = grouped(runs, key_of)
  for _, key in ipairs(order) do
    local values = fit.step(all.errors, all.slopes, all.values,
      function(one) return key_of(one.run) == key end)
    local errors = fit.errors(groups[key], all.has_tables, values)
    table.move(errors, 1, #errors, #list + 1, list)
    tell(("without %s"):format(key))
  end
  return list
end

return left_out
