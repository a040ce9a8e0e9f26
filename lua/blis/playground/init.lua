--- The interface of the page in web/. A script runs unchanged. Every run of blis.run and
--- blis.compare, and every simulation that the script drives to its end, is written to a file for
--- the page.
local core = require "blis.core"
local report = require "blis.results.report"
local run = require "blis.playground.run"

local playground = {}

-- Number of points over time for cache utilization.
local points = 400

--- Approximate duration of a run, from its workload; it only determines the resolution of the
--- series.
local function expected_us(spec)
  local workload = type(spec.workload) == "table" and spec.workload or {}
  local requests = tonumber(workload.requests or workload.num_requests)
  local rate = tonumber(workload.rate or workload.aggregate_rate)
  if not requests or not rate or rate <= 0 then return 60e6 end
  return requests / rate * 1e6
end

--- The same experiment with decision records and metrics over time, which do not change results.
---@param spec any
---@return any
function playground.recorded(spec)
  if type(spec) ~= "table" or spec.keep_records == false then return spec end
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  copy.trace_level = copy.trace_level or "decisions"
  copy.series_interval_us = copy.series_interval_us
    or math.max(1000, math.floor(expected_us(spec) / points))
  return copy
end

--- Has runs of scripts written to FOLDER/1.json and so on, in their order.
---@param folder string
function playground.watch(folder)
  local blis = require "blis"
  local compare, run_one, simulation, count = blis.compare, blis.run, blis.simulation, 0

  local function tell(result, label)
    if not rawget(result, "requests") then return end
    count = count + 1
    local output <close> = core.output(("%s/%d.json"):format(folder, count))
    output:write(run.json(result, label)):commit()
  end

  function blis.run(spec)
    local result = run_one(playground.recorded(spec))
    tell(result, result.routing)
    return result
  end

  -- One that sim:run() does not bring to its end has no result.
  function blis.simulation(spec, finished)
    return simulation(playground.recorded(spec), function(result)
      tell(result, result.routing)
      if finished then finished(result) end
    end)
  end

  function blis.compare(spec)
    -- Replications have seeds of their own, and no single run to play.
    if type(spec) ~= "table" or spec.replications ~= nil then return compare(spec) end
    local results = compare(playground.recorded(spec))
    for i, label in ipairs(report.names(results)) do
      local result = results[i]
      tell(result, label == report.policy(result) and result.routing or label)
    end
    return results
  end
end

return playground
