--- What blis predicts for requests that were measured: one instance gets them as it did.
local experiment = require "blis.experiment"

local replay = {}

--- The part of a prompt that the engine had in its cache has the same content in every request, so
--- that it is found again; the rest is new. A first request finds nothing yet, as in reality.
local function content_of(one)
  local cached = one.cached_tokens or 0
  if cached == 0 then return one.prompt_tokens end
  if cached == one.prompt_tokens then return { { "cached", cached } } end
  return { { "cached", cached }, one.prompt_tokens - cached }
end

--- The requests as a workload, for a run or several.
---@param requests blis.ObservedRequests with arrivals
---@return fun(): function a new generator for every run
function replay.traffic(requests)
  local list = {}
  for i, one in ipairs(requests.list) do
    list[i] = {
      arrival_us = one.arrival_us, content = content_of(one), output_tokens = one.output_tokens,
      timeout_us = 0,
    }
  end
  return function()
    local i = 0
    return function()
      i = i + 1
      return list[i]
    end
  end
end

--- Simulates. A request that did not complete has no prediction.
---@param cluster blis.ClusterOptions of one instance
---@param traffic fun(): function
---@return table<integer, blis.Latencies> by place in the list
---@return blis.Result
function replay.run(cluster, traffic)
  local result = experiment.run { cluster = cluster, workload = traffic(), routing = "round-robin" }
  local predicted = {}
  for _, one in ipairs(result.requests) do
    if one.state == "completed" then
      predicted[one.number + 1] = { ttft_us = one.ttft_us, e2e_us = one.e2e_us }
    end
  end
  return predicted, result
end

--- A cluster of one instance with other options.
---@param cluster blis.ClusterOptions
---@param changes table
---@return blis.ClusterOptions
function replay.changed(cluster, changes)
  local copy = {}
  for name, value in pairs(cluster) do copy[name] = value end
  for name, value in pairs(changes) do copy[name] = value end
  return copy
end

return replay
