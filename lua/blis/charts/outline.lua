--- The outline of a run: what charts of several seeds need of its requests. It is small, and
--- consists of numbers only, so that a worker can return it.
---
--- Distributions are counted within times of a fixed grid, so that those of different runs have the
--- same times. The course of a run has the same number of parts in all runs.
local targets = require "blis.charts.targets"

local outline = {}

-- Times of the grid per factor of ten.
local per_decade = 32

-- Parts of a course, and the fewest requests of a run that has one.
outline.parts = 32
local fewest_requests = 640

--- The kinds of times, with their names in records, in results, and in charts.
outline.kinds = {
  { name = "ttft", time = "ttft_us", figure = "ttft_ms", label = "TTFT",
    title = "TTFT" },
  { name = "itl", time = "itl_us", figure = "itl_ms", label = "ITL",
    title = "ITL, mean of each request" },
  { name = "e2e", time = "e2e_us", figure = "e2e_ms", label = "E2E",
    title = "E2E" },
}

--- The time of a place of the grid in us.
---@param k integer
---@return number
function outline.time_us(k) return 10 ^ (k / per_decade) end

--- The place of the last time of the grid that is at most this one.
local function place_of(us) return math.floor(math.log(math.max(us, 1), 10) * per_decade) end

---@class blis.charts.Distribution
---@field first integer place of the first time in the grid
---@field shares number[] requests within the time of each place

---@class blis.charts.Outline
---@field to_us integer last arrival, at least 1
---@field completed integer
---@field drain_share number share of the run after the last arrival
---@field times table<string, blis.charts.Distribution> by kind
---@field p99 table<string, (number|false)[]> by kind, in ms; empty for few requests
---@field attainment (number|false)[] empty without targets
---@field waiting number[] requests that wait at instances
---@field running number[]
---@field limits table<string, { at: number, text: string }[]> targets by kind

local function distribution_of(r, kind)
  local d = r[kind.figure]
  if d.count == 0 then return nil end
  local first, last = place_of(d.min * 1000), place_of(d.max * 1000) + 1
  local limits, shares = {}, {}
  for k = first, last do limits[#limits + 1] = math.ceil(outline.time_us(k)) end
  local counts, all = r.requests:within(kind.time, limits)
  if all == 0 then return nil end
  for k, count in ipairs(counts) do shares[k] = count / all end
  return { first = first, shares = shares }
end

local function course_of(r, kind, to_us)
  local list = r.requests:over_time(kind.time, to_us, outline.parts, { 0.99 })[1]
  for k = 1, outline.parts do list[k] = list[k] and list[k] / 1000 end
  return list
end

local function attainment_of(r, to_us)
  local list, times, shares = targets.all(r), {}, {}
  if #list == 0 then return shares end
  for k = 1, outline.parts do times[k] = math.floor((k - 1) / outline.parts * to_us) end
  for k, span in ipairs(r.requests:goodput_over_time(times, list)) do
    shares[k] = span.judged > 0 and span.good / span.judged
  end
  return shares
end

local function totals_of(load, name)
  local sums = {}
  for k = 1, outline.parts do sums[k] = 0 end
  for _, instance in ipairs(load.instances) do
    for k, value in ipairs(instance[name]) do sums[k] = sums[k] + value end
  end
  return sums
end

local function limits_of(r)
  local limits = {}
  for _, kind in ipairs(outline.kinds) do
    limits[kind.name] = {}
    for i, one in ipairs(targets.of(r, kind.figure, "y") or {}) do
      limits[kind.name][i] = { at = one.at, text = one.text }
    end
  end
  return limits
end

--- The outline of a run; nil without records.
---@param r blis.Result
---@return blis.charts.Outline?
function outline.of_result(r)
  if not r.keeps_records or #r.requests == 0 then return nil end
  local to_us = math.max(1, r.requests[#r.requests].arrival_us + 1)
  local one = { to_us = to_us, completed = r.completed,
    drain_share = math.max(0, 1 - to_us / math.max(r.duration_us, 1)), times = {}, p99 = {},
    attainment = {}, waiting = {}, running = {}, limits = limits_of(r) }
  local has_course = #r.requests >= fewest_requests
  for _, kind in ipairs(outline.kinds) do
    one.times[kind.name] = distribution_of(r, kind)
    if has_course then one.p99[kind.name] = course_of(r, kind, to_us) end
  end
  if has_course then
    local load = r.requests:load(math.max(#r.instances, 1), to_us, outline.parts)
    one.waiting, one.running = totals_of(load, "waiting"), totals_of(load, "running")
    one.attainment = attainment_of(r, to_us)
  end
  return one
end

return outline
