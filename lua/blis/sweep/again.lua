--- Single trials of a sweep, run again for their reports.
local core = require "blis.core"
local plan = require "blis.sweep.plan"
local policy = require "blis.policy"
local record = require "blis.sweep.record"
local space = require "blis.sweep.space"

local again = {}

-- A trial that takes longer has no report of its own.
local time_limit_us = 30000000

-- The sweep of each table; tables that were read from a folder have none.
local sweeps = setmetatable({}, { __mode = "k" })

--- Remembers the sweep that made a table.
---@param result blis.SweepTable
---@param sweep blis.Sweep
function again.keep(result, sweep) sweeps[result] = sweep end

--- What a worker does: the first trial of a point, and its report.
local function new_work(sweep, list)
  return function(index)
    local place = list[index]
    local trial = sweep.plan.trials[plan.index(sweep.plan, place.point, 1)]
    math.randomseed(trial.seed)
    policy.omits_zero_weights = true
    local outcome = sweep.trial(space.argument(sweep.values[place.point], sweep.plan.names,
      trial.seed, trial.replication))
    if not record.is_result(outcome) then return "none" end
    outcome:report(place.path)
    return "written"
  end
end

--- Fills written with what the workers report.
local function drive(sweep, list, written)
  local workers <close> = core.workers { jobs = #list, work = new_work(sweep, list),
    time_limit_us = time_limit_us }
  for i in ipairs(list) do workers:submit(i) end
  while workers:pending() > 0 do
    local index, status, text = workers:wait(time_limit_us)
    if index then written[index] = status == "done" and text == "written" end
  end
end

--- Runs the first trial of some points again, in workers, and writes their reports. Trials that
--- return no results, fail, or take too long have none, and so has a program without processes.
---@param result blis.SweepTable
---@param list { point: integer, path: string }[]
---@return table<integer, boolean> written by place in the list
function again.report(result, list)
  local sweep, written = sweeps[result], {}
  if sweep and #list > 0 then pcall(drive, sweep, list, written) end
  return written
end

return again
