--- Where the warm-up of a run ends: MSER-5 over the TTFT of its requests in the order in which they
--- arrived. Runs that are compared leave out the same time, the longest that one of them needs.
local statistics = require "blis.statistics"

local warm_up = {}

--- Arrivals and TTFT of the requests that got a first token, in the order of their arrivals.
local function series_of(requests)
  local list = {}
  for i = 1, #requests do
    local request = requests[i]
    if request.ttft_us then
      list[#list + 1] = { i = i, at_us = request.arrival_us, ttft_us = request.ttft_us }
    end
  end
  table.sort(list, function(a, b)
    if a.at_us ~= b.at_us then return a.at_us < b.at_us end
    return a.i < b.i
  end)
  local arrivals, series = {}, {}
  for i, one in ipairs(list) do arrivals[i], series[i] = one.at_us, one.ttft_us end
  return arrivals, series
end

--- The time at which the first request that counts arrived; false when the run is too short to
--- tell: what is left is then its second half, or all of it where there is next to nothing.
---@param requests userdata of a result
---@return integer from_us
---@return boolean is_settled
function warm_up.detect(requests)
  local arrivals, series = series_of(requests)
  local found = statistics.mser5(series)
  local from_us = found.cut > 0 and arrivals[found.cut + 1] or 0
  return from_us, found.is_settled
end

--- What a person should know of a warm-up that has no end.
---@param from_us integer what detect found
---@return string
function warm_up.unsettled_note(from_us)
  if from_us == 0 then
    return "warm_up_us = \"auto\": nothing is left out, for too few requests got a first token, or "
      .. "they arrived at once"
  end
  return "warm_up_us = \"auto\": TTFT does not settle, so the second half of the run is what is "
    .. "left; run longer, or the load is too high"
end

--- Leaves out the same time in all results.
---@param results blis.Result[]
function warm_up.align(results)
  local from_us = 0
  for _, one in ipairs(results) do from_us = math.max(from_us, one.steady.from_us) end
  for _, one in ipairs(results) do
    local is_settled = one.steady.is_settled
    one.steady = one:window(from_us, math.max(one.duration_us, from_us) + 1)
    one.steady.is_settled = is_settled
  end
end

return warm_up
