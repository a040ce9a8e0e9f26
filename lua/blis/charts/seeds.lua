--- Charts of policies over seeds: distributions, tails, and courses, as means over the seeds with
--- bands of their intervals.
local outline = require "blis.charts.outline"
local plot = require "blis.sweep.plot"
local statistics = require "blis.statistics"

local seeds = {}

local time_axis = { label = "time of arrival", unit = "s", from_zero = true }

--- The mean of some values and the ends of its band, clamped to the possible values; false without
--- values.
local function band_of(values, level, least, most)
  if #values == 0 then return false, false, false end
  local estimate = statistics.estimate(values, { level = level })
  local low, high = plot.ends_of(estimate, values)
  low, high = low or estimate.mean, high or estimate.mean
  return estimate.mean, math.max(low, least), math.min(high, most)
end

--- A line for each policy: value_of(outline, k) is the value of a run at place k, or false.
local function lines(chart, labels, outlines, count, level, most, value_of)
  for i, label in ipairs(labels) do
    local means, low, high = {}, {}, {}
    for k = 1, count do
      local values = {}
      for _, one in ipairs(outlines[i]) do
        local value = value_of(one, k)
        if value then values[#values + 1] = value end
      end
      means[k], low[k], high[k] = band_of(values, level, 0, most)
    end
    local is_several = #outlines[i] > 1
    chart.series[i] = { label = label, low = is_several and low or nil,
      high = is_several and high or nil }
    chart.data[i + 1] = means
  end
  return chart
end

--- The first and the last place of the grid that any run has.
local function places(outlines, name)
  local first, last = math.huge, -math.huge
  for _, list in ipairs(outlines) do
    for _, one in ipairs(list) do
      local given = one.times[name]
      if given then
        first, last = math.min(first, given.first), math.max(last, given.first + #given.shares - 1)
      end
    end
  end
  return first, last
end

local function share_at(distribution, place)
  local k = place - distribution.first + 1
  return k < 1 and 0 or distribution.shares[k] or 1
end

local function limits_on(axis, outlines, name)
  local list = {}
  for i, one in ipairs(outlines[1][1].limits[name] or {}) do
    list[i] = { axis = axis, at = one.at, text = one.text }
  end
  return #list > 0 and list or nil
end

local function distribution(labels, outlines, kind, level)
  local first, last = places(outlines, kind.name)
  if first > last then return nil end
  local times = {}
  for place = first, last do times[#times + 1] = outline.time_us(place) / 1000 end
  return lines({ title = kind.title, series = {}, data = { times },
    x = { label = kind.label, unit = "ms", log = true },
    y = { label = "requests within it", percent = true, range = { 0, 1 } },
    limits = limits_on("x", outlines, kind.name) }, labels, outlines, #times, level, 1,
    function(one, k)
      local given = one.times[kind.name]
      return given and share_at(given, first + k - 1)
    end)
end

-- A logarithmic axis has no 0: a band ends at the least share, which one request of a run makes.
local function above(shares, least)
  local list = {}
  for k, share in ipairs(shares) do list[k] = share and 1 - share > 1e-9 and 1 - share or false end
  if least then
    for k, share in ipairs(shares) do list[k] = list[k] or share and least or false end
  end
  return list
end

local function least_of(data)
  local least = 1
  for i = 2, #data do
    for _, share in ipairs(data[i]) do
      local rest = share and 1 - share or 0
      if rest > 1e-9 then least = math.min(least, rest) end
    end
  end
  return least
end

local function tail(chart)
  local made = { title = chart.title .. ": tail", series = {}, data = { chart.data[1] },
    x = chart.x, y = { label = "requests above it", percent = true, log = true },
    limits = chart.limits }
  local least = least_of(chart.data)
  for i, one in ipairs(chart.series) do
    made.data[i + 1] = above(chart.data[i + 1])
    made.series[i] = { label = one.label, low = one.high and above(one.high, least),
      high = one.low and above(one.low, least) }
    for k, share in ipairs(made.data[i + 1]) do -- no band where there is no line
      if one.low and not share then made.series[i].low[k], made.series[i].high[k] = false, false end
    end
  end
  return made
end

--- Middles of the parts: runs are as long as their mean.
local function middles(outlines)
  local sum, count, times = 0, 0, {}
  for _, list in ipairs(outlines) do
    for _, one in ipairs(list) do sum, count = sum + one.to_us, count + 1 end
  end
  for k = 1, outline.parts do times[k] = (k - 0.5) / outline.parts * sum / count / 1e6 end
  return times
end

local function course(labels, outlines, level, given)
  for _, list in ipairs(outlines) do
    for _, one in ipairs(list) do
      if #(given.of(one) or {}) == 0 then return nil end
    end
  end
  return lines({ title = given.title, x = time_axis, y = given.y, series = {}, is_time = true,
    data = { middles(outlines) }, limits = given.limits }, labels, outlines, outline.parts, level,
    given.most or math.huge, function(one, k) return given.of(one)[k] end)
end

--- The outlines of all policies, if each run has one.
local function are_complete(labels, outlines)
  for i in ipairs(labels) do
    if not outlines[i] or #outlines[i] == 0 then return false end
  end
  return #labels > 0
end

--- Distributions of TTFT, ITL, and E2E, and their tails; empty without outlines.
---@param labels string[] names of policies
---@param outlines blis.charts.Outline[][] of the runs of each policy
---@param level number
---@return blis.plot.Chart[] distributions
---@return blis.plot.Chart[] tails
function seeds.distributions(labels, outlines, level)
  local charts, tails = {}, {}
  if not are_complete(labels, outlines) then return charts, tails end
  for _, kind in ipairs(outline.kinds) do
    local chart = distribution(labels, outlines, kind, level)
    if chart then charts[#charts + 1], tails[#tails + 1] = chart, tail(chart) end
  end
  return charts, tails
end

--- Percentiles, attainment, and load by the time of arrival; empty without outlines, and for few
--- requests.
---@param labels string[]
---@param outlines blis.charts.Outline[][]
---@param level number
---@return blis.plot.Chart[]
function seeds.courses(labels, outlines, level)
  local list = {}
  if not are_complete(labels, outlines) then return list end
  local function add(given) list[#list + 1] = course(labels, outlines, level, given) end
  for _, kind in ipairs(outline.kinds) do
    add { title = ("%s p99 over time"):format(kind.label), of = function(one)
      return one.p99[kind.name]
    end, y = { label = kind.label .. " p99", unit = "ms", from_zero = true },
      limits = limits_on("y", outlines, kind.name) }
  end
  add { title = "SLO attainment over time", most = 1, of = function(one) return one.attainment end,
    y = { label = "requests within targets", percent = true, range = { 0, 1 } } }
  add { title = "Requests waiting at instances", of = function(one) return one.waiting end,
    y = { label = "requests waiting", from_zero = true } }
  add { title = "Requests running", of = function(one) return one.running end,
    y = { label = "requests running", from_zero = true } }
  return list
end

return seeds
