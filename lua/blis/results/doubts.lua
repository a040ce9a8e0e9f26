--- Why the figures of a run may mislead: requests that are not among them, a queue that had no end,
--- waits far beyond the rest. A sentence each.
local figures = require "blis.results.figures"
local format = require "blis.format"
local signs = require "blis.results.signs"

local doubts = {}

local count, number, percent = format.count, format.number, format.percent

-- Endings of fewer requests than this share are an accident, not what the run was about.
local worth_telling, most_of_them = 0.05, 0.5

local is_told = { completed = true, arrived = true, length_capped = true }

--- "12 timed out" for each ending but completed, the most frequent one first.
local function other_endings(r)
  local list = {}
  for _, ending in ipairs(figures.of "Counts") do
    if not is_told[ending.name] and r[ending.name] > 0 then
      list[#list + 1] = { n = r[ending.name], name = (ending.name:gsub("_", " ")) }
    end
  end
  table.sort(list, function(a, b)
    if a.n ~= b.n then return a.n > b.n end
    return a.name < b.name
  end)
  return list
end

local function of_endings(r)
  if r.arrived == 0 then return { "no request arrived, so there is nothing to measure" } end
  local list, lines = other_endings(r), {}
  if r.completed == 0 then
    local words = {}
    for i, one in ipairs(list) do words[i] = ("%s %s"):format(count(one.n), one.name) end
    return { ("no request completed: of %s that arrived, %s"):format(count(r.arrived),
      table.concat(words, ", ")) }
  end
  for _, one in ipairs(list) do
    local share = one.n / r.arrived
    if share >= worth_telling then
      lines[#lines + 1] = ("%s%s of %s requests (%s) ended as %s: E2E and ITL are those of the %s "
        .. "that completed"):format(share > most_of_them and "most requests did not complete: "
        or "", count(one.n), count(r.arrived), percent(share), one.name, count(r.completed))
    end
  end
  return lines
end

-- Detectors take a pass over all requests in Lua. One of them alone may take noise for a trend.
local most_examined, fewest_detectors = 200000, 2

--- Which detectors of saturation found the cluster overloaded at the end.
local function overloaded_by(r)
  local found, list = r:saturation(), {}
  for _, name in ipairs(found.detectors) do
    if found.final[name] == "OVERLOADED" then list[#list + 1] = name end
  end
  return list
end

-- Detectors look at E2E, whose trend may be that of the lengths of answers.
local growth = 1.5

--- Is TTFT longer in the second half of the arrivals than in the first?
local function waits_grow(r)
  local last_us = r.requests[#r.requests].arrival_us
  local first = r.requests:window(0, last_us // 2 + 1).ttft_ms
  local second = r.requests:window(last_us // 2 + 1, last_us + 1).ttft_ms
  return first.count > 0 and second.count > 0 and second.mean >= growth * first.mean
end

local function of_saturation(r)
  if r.completed == 0 or #r.requests > most_examined or not waits_grow(r) then return nil end
  local list = overloaded_by(r)
  if #list < fewest_detectors then return nil end
  return ("the cluster is overloaded (by the detectors %s): its queue grows as long as requests "
    .. "arrive, so a longer run has longer latencies, and intervals, which take the run for "
    .. "stationary, do not hold"):format(table.concat(list, ", "))
end

-- A longest TTFT of so many medians, and of so many ms, is no tail of the same distribution.
local far_beyond, long_ms, fewest = 50, 10000, 20

local function of_waits(r)
  local ttft = r.ttft_ms
  if ttft.count < fewest or ttft.max < long_ms or ttft.max < far_beyond * ttft.p50 then
    return nil
  end
  return ("some requests waited far longer than the rest: the longest TTFT is %s ms, the median %s "
    .. "ms"):format(number(ttft.max), number(ttft.p50))
end

--- What the detectors of saturation say, and, where they say nothing, how TTFT has grown.
local function of_overload(r)
  local found = of_saturation(r)
  return found or #r.requests > 0 and signs.overload(r) or nil
end

--- The doubts about a result, that it was overloaded among them.
---@param r blis.Result
---@return string[]
function doubts.of_result(r)
  local lines = of_endings(r)
  if r.keeps_records then lines[#lines + 1] = of_overload(r) end
  lines[#lines + 1] = of_waits(r)
  return lines
end

return doubts
