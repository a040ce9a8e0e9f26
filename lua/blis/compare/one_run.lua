--- Policies compared on traffic that is always the same: one run of each, because more would be
--- copies, with intervals from windows of it.
local core = require "blis.core"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"
local repeats = require "blis.policy.repeats"
local setup = require "blis.results.setup"
local space = require "blis.sweep.space"
local statistics = require "blis.statistics"
local table_of = require "blis.sweep.table"
local windows = require "blis.results.windows"

local one_run = {}

--- True for traffic in which no seed changes anything.
---@param traffic any as given to an experiment
---@return boolean
function one_run.is_fixed(traffic)
  return core.is_workload(traffic) or core.is_trace_stream(traffic)
end

--- True when the replications of some policy are one run several times.
---@param stage blis.Sweep
---@param known table<string, blis.sweep.Record>
---@return boolean
function one_run.is_copied(stage, known)
  for point = 1, #stage.plan.points do
    local hashes, count = {}, 0
    for r = 1, stage.plan.replications do
      local hash = known[stage.plan.trials[plan.index(stage.plan, point, r)].key].hash
      if hash and not hashes[hash] then hashes[hash], count = true, count + 1 end
    end
    if count == 1 and stage.plan.replications > 1 then return true end
  end
  return false
end

--- Runs every point of a stage once, here, where its results stay; once more when a function of the
--- script may have remembered something.
local function run_points(stage, results)
  local known = {}
  for point = 1, #stage.plan.points do
    local trial = stage.plan.trials[plan.index(stage.plan, point, 1)]
    local function run()
      return stage.trial(space.argument(stage.values[point], stage.plan.names, trial.seed,
        trial.replication))
    end
    local runs, result = repeats.runs, run()
    results[point] = result
    local remembers = repeats.runs > runs and run().hash ~= result.hash
    local line = record.of_outcome(stage.plan, trial, result,
      { wall_us = 0, notes = remembers and repeats.note or "" })
    known[trial.key] = record.read(line, "compare")
  end
  return known
end

--- A metric of every point: its value, and the values of the samples.
local function measured(found, results, drawn, metric)
  local list = {}
  for i, point in ipairs(found.points) do
    local value = point.values[metric] and point.values[metric][1]
    list[i] = value and { value = value, figures = drawn and drawn:figures(results[i], metric) }
  end
  return list
end

--- Runs a stage of one replication.
---@param stage blis.Sweep
---@param baseline integer
---@param level number
---@return blis.SweepTable
---@return table<integer, table<string, blis.PairedEstimate>> against the baseline
---@return blis.Windows? drawn nil when the traffic is too short for windows
---@return blis.results.Asked[][] setups what was run, of every point
---@return blis.Result[] results of every point
function one_run.compare(stage, baseline, level)
  local results = {}
  local found = table_of.new(stage.plan, run_points(stage, results))
  local drawn = results[1].keeps_records and windows.new(#results[1].requests) or nil
  local against = {}
  for i = 1, #found.points do against[i] = i ~= baseline and {} or nil end
  for _, metric in ipairs(found.shown) do
    local list = measured(found, results, drawn, metric)
    for i, point in ipairs(found.points) do
      local own, base = list[i], list[baseline]
      if own and drawn then
        point.metrics[metric] = drawn:estimate(own.value, own.figures, level)
      end
      if i ~= baseline and own and base then
        local pair = (drawn or windows):paired(base, own, { level = level,
          kind = statistics.kind_of(metric), comparisons = #found.points - 1 })
        if point.remembers or found.points[baseline].remembers then
          pair.low, pair.high, pair.is_shown = nil, nil, nil
        end
        table_of.withhold(pair, point, found.points[baseline])
        if pair.withheld then pair.is_shown = nil end
        against[i][metric] = pair
      end
    end
  end
  found.windows = drawn
  local setups = {}
  for i, result in ipairs(results) do setups[i] = setup.rows(result) end
  return found, against, drawn, setups, results
end

return one_run
