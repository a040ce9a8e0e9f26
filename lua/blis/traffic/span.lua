--- The time that recorded requests cover: when the first one arrives, and whether a replay can last
--- as long as they do.
local errors = require "blis.errors"

local span = {}

-- Longer traces are files with a wrong clock, or with rows that do not belong together.
local most_days = 400
local day_us = 86400000000

--- When the first request arrives; 0 without requests.
---@param list blis.Workload|blis.TraceStream
---@return integer us
function span.first_us(list)
  local next_request, state, first = list:requests()
  local _, request = next_request(state, first)
  return request and request.arrival_us or 0
end

-- A trace that starts this late counts its times from something else than its first request.
local late_us = 60000000

--- The unpaid time before the first request: the whole wait, if it is at least a minute. A shorter
--- wait counts as the time of the first arrival after the start of a run.
---@param list blis.Workload|blis.TraceStream
---@return integer us
function span.unbilled_us(list)
  local first_us = span.first_us(list)
  return first_us >= late_us and first_us or 0
end

--- The request before the longest time without arrivals, and the request after it.
local function widest_gap(list)
  local widest, before, after, last = -1, nil, nil, nil
  for _, request in list:requests() do
    local gap = last and request.arrival_us - last.arrival_us or 0
    if gap > widest then widest, before, after = gap, last, request end
    local is_after = after == request
    last = { arrival_us = request.arrival_us, id = request.id }
    if is_after then after = last end
  end
  return before or after, after, widest
end

--- "request_7 (row 8, at 12.5 s)"
local function text_of(request)
  local number = tonumber(request.id:match "^request_(%d+)$")
  return ("%s (%sat %.6g s)"):format(request.id, number and ("row %d, "):format(number + 1) or "",
    request.arrival_us / 1e6)
end

--- Raises an error if a replay would last longer than 400 days; it names the rows.
---@param list blis.Workload|blis.TraceStream
---@param horizon_us? integer end of the run
---@param path string of the workload in messages
function span.check(list, horizon_us, path)
  local last_us = list:last_arrival_us()
  if math.min(last_us, horizon_us or last_us) <= most_days * day_us then return end
  local first_us = span.first_us(list)
  if last_us - first_us <= most_days * day_us then return end
  local before, after, gap = widest_gap(list)
  errors.invalid("%s: the requests span %.0f days, and a replay covers at most %d; the widest gap, "
    .. "%.1f days, is between %s and %s. Correct the timestamps, state their unit (--time-unit), "
    .. "cut the trace (blis trace cut), or set a horizon", path, (last_us - first_us) / day_us,
    most_days, gap / day_us, text_of(before), text_of(after))
end

return span
