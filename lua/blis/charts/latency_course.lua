--- Charts of latencies and SLO attainment over the course of a run, by the arrival of the requests.
local targets = require "blis.charts.targets"

local course = {}

-- A percentile of fewer requests is only noise, and more intervals cannot be told apart.
local fewest_per_interval, least_intervals, most_intervals = 40, 5, 120

local time_axis = { label = "time of arrival", unit = "s", from_zero = true }

local kinds = {
  { name = "ttft_time", time = "ttft_us", target = "ttft_ms", title = "TTFT over time",
    label = "TTFT" },
  { name = "itl_time", time = "itl_us", target = "itl_ms", title = "ITL over time",
    label = "mean ITL of a request" },
  { name = "e2e_time", time = "e2e_us", target = "e2e_ms", title = "E2E over time",
    label = "E2E" },
}

--- Number of intervals for this many requests; nil for too few of them.
local function intervals_of(requests)
  local count = math.min(most_intervals, requests // fewest_per_interval)
  return count >= least_intervals and count or nil
end

local function midpoints(to_us, count)
  local times = {}
  for k = 1, count do times[k] = (k - 0.5) / count * to_us / 1e6 end
  return times
end

local function in_ms(list)
  for i, value in ipairs(list) do list[i] = value and value / 1000 end
  return list
end

--- Time of the last arrival, at least 1 us. Intervals end there, so that all have requests.
local function last_arrival(r)
  local last = r.requests[#r.requests]
  return last and math.max(1, last.arrival_us + 1) or 1
end

local function latency_chart(r, kind, to_us, count)
  local found = r.requests:over_time(kind.time, to_us, count, { 0.5, 0.99 })
  return {
    name = kind.name, title = kind.title, x = time_axis,
    series = { { label = "p50" }, { label = "p99" } },
    y = { label = kind.label, unit = "ms", from_zero = true },
    data = { midpoints(to_us, count), in_ms(found[1]), in_ms(found[2]) },
    limits = targets.of(r, kind.target, "y"),
  }
end

local function attainment_chart(r, to_us, count)
  local list = targets.all(r)
  if #list == 0 then return nil end
  local times, shares = {}, {}
  for k = 1, count do times[k] = math.floor((k - 1) / count * to_us) end
  for k, span in ipairs(r.requests:goodput_over_time(times, list)) do
    shares[k] = span.judged > 0 and span.good / span.judged
  end
  return {
    name = "attainment", title = "SLO attainment over time", x = time_axis,
    series = { { label = "within targets" } },
    y = { label = "requests within targets", percent = true, range = { 0, 1 } },
    data = { midpoints(to_us, count), shares },
  }
end

--- Names of the charts.
course.names = { "ttft_time", "itl_time", "e2e_time", "attainment" }

--- Charts of TTFT, ITL, and E2E, and with targets also of SLO attainment; none for too few
--- requests, and without records.
---@param r blis.Result
---@param name? string only this chart
---@return blis.plot.Chart[]
function course.of_result(r, name)
  local count = r.keeps_records and intervals_of(#r.requests)
  if not count then return {} end
  local list, to_us = {}, last_arrival(r)
  for _, kind in ipairs(kinds) do
    if not name or name == kind.name then list[#list + 1] = latency_chart(r, kind, to_us, count) end
  end
  if not name or name == "attainment" then
    list[#list + 1] = attainment_chart(r, to_us, count)
  end
  return list
end

--- A percentile of several runs of the same traffic, one line for each.
---@param results blis.Result[]
---@param labels string[]
---@return blis.plot.Chart[]
function course.of_results(results, labels)
  local requests, to_us = math.huge, 1
  for _, r in ipairs(results) do
    if not r.keeps_records then return {} end
    requests = math.min(requests, #r.requests)
    if #r.requests > 0 then to_us = math.max(to_us, last_arrival(r)) end
  end
  local count = intervals_of(requests)
  if not count then return {} end
  local list = {}
  for i, kind in ipairs { kinds[1], kinds[3] } do
    local chart = { title = ("%s p99 over time"):format(kind.label), x = time_axis, series = {},
      y = { label = kind.label .. " p99", unit = "ms", from_zero = true },
      data = { midpoints(to_us, count) }, limits = targets.of(results[1], kind.target, "y") }
    for k, r in ipairs(results) do
      chart.series[k] = { label = labels[k] }
      chart.data[k + 1] = in_ms(r.requests:over_time(kind.time, to_us, count, { 0.99 })[1])
    end
    list[i] = chart
  end
  return list
end

return course
