--- Distributions of the times of requests, drawn as what share of them was within a time.
local targets = require "blis.charts.targets"

local cdf = {}

-- Points of a curve; more cannot be told apart.
local points = 160

local kinds = {
  { name = "ttft", time = "ttft_us", figure = "ttft_ms", title = "TTFT", label = "TTFT" },
  { name = "itl", time = "itl_us", figure = "itl_ms", title = "ITL, mean of each request",
    label = "ITL" },
  { name = "e2e", time = "e2e_us", figure = "e2e_ms", title = "E2E", label = "E2E" },
}

--- Times at equal ratios, whole microseconds.
local function limits_between(from_us, to_us)
  local limits = {}
  for i = 0, points do
    local time_us = from_us * (to_us / from_us) ^ (i / points)
    limits[#limits + 1] = i == points and math.ceil(to_us) or math.floor(time_us)
  end
  return limits
end

--- Minimum and maximum of these times over all results; nil without a time.
local function limits_of(results, figure)
  local low, high = math.huge, 0
  for _, r in ipairs(results) do
    local d = r[figure]
    if d.count > 0 then low, high = math.min(low, d.min), math.max(high, d.max) end
  end
  if high <= 0 then return nil end
  return limits_between(math.max(low * 1000, 1), math.max(high * 1000, 2))
end

-- Maximum number of leading points of a curve at which the fraction is still 0.
local most_empty = 8

--- How many requests of each result are within each limit, and how many have such a time.
local function counted(limits, results, kind)
  local lists = {}
  for i, r in ipairs(results) do
    local counts, all = r.requests:within(kind.time, limits)
    lists[i] = { counts = counts, all = all }
  end
  return lists
end

--- The limits from the first request on. Means of requests are above the minimum single time, which
--- is 0 if a step produces several tokens.
local function trimmed(limits, lists)
  local first = #limits
  for _, list in ipairs(lists) do
    for k, n in ipairs(list.counts) do
      if n > 0 then
        first = math.min(first, k)
        break
      end
    end
  end
  if first <= most_empty then return limits end
  return limits_between(math.max(limits[first - 1], 1), limits[#limits])
end

-- If the ends are closer than this ratio, margins are added on both sides.
local least_ratio, margin = 1.05, 1.1

--- Where all times are about the same: with an axis around them, and whole microseconds at them, so
--- that the curve of a single value is a vertical step.
local function widened(limits)
  local low, high = limits[1], limits[#limits]
  if high / low >= least_ratio then return limits end
  local all = limits_between(math.max(low / margin, 1), high * margin + 1)
  for limit = low - 1, high, math.max((high - low) // points, 1) do all[#all + 1] = limit end
  all[#all + 1] = high
  table.sort(all)
  local list = {}
  for _, limit in ipairs(all) do
    if limit > 0 and limit ~= list[#list] then list[#list + 1] = limit end
  end
  return list
end

local function chart_of(results, labels, kind)
  local limits = limits_of(results, kind.figure)
  if not limits then return nil end
  local lists = counted(limits, results, kind)
  local final = widened(trimmed(limits, lists))
  if final ~= limits then lists = counted(final, results, kind) end
  local x, data, series = {}, {}, {}
  for i, limit in ipairs(final) do x[i] = limit / 1000 end
  for i, list in ipairs(lists) do
    local shares = {}
    for k, n in ipairs(list.counts) do shares[k] = list.all > 0 and n / list.all end
    data[i] = shares
  end
  for i, label in ipairs(labels) do series[i] = { label = label } end
  table.insert(data, 1, x)
  return {
    title = kind.title, series = series, data = data,
    x = { label = kind.label, unit = "ms", log = true },
    y = { label = "requests within it", percent = true, range = { 0, 1 } },
    limits = targets.of(results[1], kind.figure, "x"),
  }
end

--- The share of requests above a time, on a logarithmic axis: the tail, which the distribution
--- hides.
local function tail_of(chart)
  local tail = { title = chart.title .. ": tail", series = chart.series, limits = chart.limits,
    x = chart.x, y = { label = "requests above it", percent = true, log = true },
    data = { chart.data[1] } }
  local is_any = false
  for i = 2, #chart.data do
    local above = {}
    for k, share in ipairs(chart.data[i]) do
      local rest = share and 1 - share or 0
      above[k] = rest > 1e-9 and rest
      is_any = is_any or above[k] ~= false
    end
    tail.data[i] = above
  end
  return is_any and tail or nil
end

--- The tail of each of these charts.
---@param charts blis.plot.Chart[] from cdf.charts
---@return blis.plot.Chart[]
function cdf.tails(charts)
  local list = {}
  for _, chart in ipairs(charts) do list[#list + 1] = tail_of(chart) end
  return list
end

--- Names of the charts there are.
cdf.names = {}
for i, kind in ipairs(kinds) do cdf.names[i] = kind.name end

--- A chart for each of TTFT, ITL and E2E, with a curve per result; nothing without records.
---@param results blis.Result[]
---@param labels string[]
---@param name? "ttft"|"itl"|"e2e" only this result
---@return blis.plot.Chart[]
function cdf.charts(results, labels, name)
  for _, r in ipairs(results) do
    if not r.keeps_records then return {} end
  end
  local list = {}
  for _, kind in ipairs(kinds) do
    if not name or kind.name == name then list[#list + 1] = chart_of(results, labels, kind) end
  end
  return list
end

return cdf
