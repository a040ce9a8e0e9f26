--- The steady state of a run: where its warm-up ends, by MSER-5 over the TTFT of its requests in
--- the order of their arrivals, and where its traffic ends. Runs that are compared omit the same
--- time, the longest that one of them needs.
---
--- The window ends at the last arrival, minus the cool-down. In a steady state, as many requests
--- complete in it as arrive in it. If more complete, the queue of the warm-up drains in the window;
--- if fewer do, a queue grows.
local warm_up = {}

--- Returns the note of a warm-up that has no end.
---@param from_us integer of requests:warm_up()
---@return string
function warm_up.unsettled_note(from_us)
  if from_us == 0 then
    return "warm_up_us = \"auto\": no request is excluded, because too few requests got a first "
      .. "token, or all arrived at once"
  end
  return "warm_up_us = \"auto\": TTFT does not converge, so only the second half of the run is "
    .. "used; run longer, or lower the load"
end

--- Returns the metrics of the requests that arrive from from_us until the last arrival, without the
--- last cool_down_us of that time. Throughput counts the completions in that window.
---@param requests userdata the records of a run
---@param from_us integer
---@param cool_down_us? integer
---@return blis.Window
function warm_up.window(requests, from_us, cool_down_us)
  local last_us = #requests > 0 and requests[#requests].arrival_us or 0
  from_us = math.min(from_us, math.maxinteger - 1)
  return requests:window(from_us, math.max(last_us - (cool_down_us or 0), from_us) + 1)
end

--- Omits the same time in all results.
---@param results blis.Result[]
---@param cool_down_us? integer
function warm_up.align(results, cool_down_us)
  local from_us = 0
  for _, one in ipairs(results) do from_us = math.max(from_us, one.steady.from_us) end
  for _, one in ipairs(results) do
    local is_settled = one.steady.is_settled
    one.steady = warm_up.window(one.requests, from_us, cool_down_us)
    one.steady.is_settled = is_settled
  end
end

-- Difference of arrivals and completions that chance explains, as a share, and in standard
-- deviations of a Poisson process.
local least_difference, deviations = 0.05, 3

--- Sets `is_settled` to false, with a note, if the numbers of arrivals and completions in the
--- window differ.
local function check_flow(r, steady)
  local seconds = (steady.to_us - steady.from_us) / 1e6
  local arrived, completed = steady.arrived, math.floor(steady.requests_per_sec * seconds + 0.5)
  local limit = math.max(least_difference * arrived, deviations * math.sqrt(arrived))
  if arrived == 0 or math.abs(completed - arrived) <= limit then return end
  steady.is_settled = false
  r.setup.notes = r.setup.notes .. ("steady: %d requests arrived in the window, and %d completed "
    .. "in it: %s. Its throughput is not that of a steady state\n"):format(arrived, completed,
    completed > arrived and "the initial queue drains; set a longer warm-up"
    or "a queue grows, or requests take as long as the window")
end

--- Sets `is_settled` to false if the cluster does not keep up: TTFT then depends on the length of
--- the run, even if MSER-5 finds a part of the run with little change.
---@param r blis.Result
---@return blis.Result r
function warm_up.check_load(r)
  local steady = rawget(r, "steady")
  if not steady or rawget(steady, "left_out") then return r end
  check_flow(r, steady)
  if steady.is_settled then
    for _, reason in ipairs(r.verdict.reasons) do
      if reason.code == "overload" then steady.is_settled = false end
    end
  end
  return r
end

return warm_up
