--- One look at one value with one seed: runs get longer until they say what the steady state is.
local errors = require "blis.errors"
local statistics = require "blis.statistics"
local targets = require "blis.capacity.targets"
local warm_up = require "blis.results.warm_up"

local probe = {}

---@class blis.capacity.Search what is looked for, and what was seen so far
---@field trial fun(p: table): any
---@field parameter string
---@field targets blis.capacity.Target[]
---@field max_missed number share of requests
---@field requests integer of the first run at a value
---@field max_requests integer
---@field steady boolean
---@field starts_kept boolean targets are kept where the search starts, and missed further on
---@field from number
---@field to number
---@field tolerance number
---@field integer boolean
---@field seed integer
---@field seeds integer
---@field level number
---@field jobs integer
---@field quiet boolean
---@field brackets blis.capacity.Bracket[] by seed
---@field seen { value: number, seed: integer, values: table<string, number> }[]

---@class blis.capacity.View what a run shows once its warm-up is left out
---@field result blis.Result
---@field window blis.Window
---@field arrived integer
---@field kept blis.RequestRecord[] those that completed
---@field missed number share of those that arrived
---@field is_rising boolean latencies were still getting longer
---@field is_long boolean

-- What is known of a value; numbers, since they come from another process.
probe.verdicts = { kept = 1, missed = 2, overloaded = 3, unsettled = 4 }

-- A run is long beside its requests when the first and the last of them hardly count.
local spans_of_a_request = 10

-- More batches of requests would depend on each other, fewer would hide their scatter.
local batches_of_a_half = 10
local rise_in_errors, material_rise = 2.5, 0.02

--- Means of so many batches of records[first + 1] to records[first + n].
local function batch_means(records, first, n, name)
  local means, size = {}, n // batches_of_a_half
  for b = 1, batches_of_a_half do
    local sum = 0.0
    for i = first + (b - 1) * size + 1, first + b * size do sum = sum + records[i][name] end
    means[b] = sum / size
  end
  return means
end

--- Is a latency longer in the second half of the records than chance explains?
local function is_rising(records, name)
  local half = #records // 2
  if half < batches_of_a_half then return false end
  local before, spread = statistics.moments(batch_means(records, 0, half, name))
  local after, other = statistics.moments(batch_means(records, half, half, name))
  local error = math.sqrt((spread ^ 2 + other ^ 2) / batches_of_a_half)
  return after - before > math.max(rise_in_errors * error, material_rise * before)
end

local is_completed = { completed = true, length_capped = true }

local function check_result(result)
  if not rawget(result, "requests") then
    errors.invalid "capacity: the trial's result keeps no records (keep_records = false)"
  end
  if result.arrived == 0 then errors.invalid "capacity: no request arrived in the trial" end
end

local function view_of(result, is_steady)
  check_result(result)
  local from_us = is_steady and warm_up.detect(result.requests) or 0
  local view = { result = result, arrived = 0, kept = {} }
  local last_us = from_us
  for i = 1, #result.requests do
    local record = result.requests[i]
    if record.arrival_us >= from_us then
      view.arrived = view.arrived + 1
      last_us = math.max(last_us, record.arrival_us)
      if is_completed[record.state] then view.kept[#view.kept + 1] = record end
    end
  end
  view.window = result:window(from_us, last_us + 1)
  view.missed = 1 - #view.kept / view.arrived
  if not is_steady then return view end
  view.is_rising = is_rising(view.kept, "ttft_us") or is_rising(view.kept, "e2e_us")
  view.is_long = (last_us - from_us) / 1000 >= spans_of_a_request * view.window.e2e_ms.mean
  return view
end

local function is_large(view, list)
  for _, target in ipairs(list) do
    if view.arrived < targets.least_requests(target) then return false end
  end
  return true
end

--- Figures by name, and whether all is kept.
local function judge(search, view)
  local figures, is_kept = {}, view.missed <= search.max_missed
  for _, target in ipairs(search.targets) do
    figures[target.name] = targets.value(target, view)
    is_kept = is_kept and targets.is_kept(target, figures[target.name])
  end
  return figures, is_kept
end

local function is_overloaded(view)
  return view.is_rising
    and view.result:saturation { detectors = "composite" }.final.composite == "OVERLOADED"
end

--- What a run says; nil when a longer one has to be asked.
local function verdict_of(search, view, is_kept, is_first)
  if not search.steady then return is_kept and "kept" or "missed" end
  if not view.is_rising and view.is_long and is_large(view, search.targets) then
    return is_kept and "kept" or "missed"
  end
  if is_kept then return nil end
  -- It began empty: what is too slow by then gets no faster.
  if is_overloaded(view) then return "overloaded" end
  return not is_first and "missed" or nil
end

--- The figures of a trial that returns no result, as it gives them.
local function of_numbers(search, outcome)
  local known, figures, is_kept = {}, {}, true
  if type(outcome) == "number" then outcome = { value = outcome } end
  if type(outcome) ~= "table" then
    errors.invalid("capacity: the trial returned %s, expected a result, a table of numbers or a "
      .. "number", errors.show(outcome))
  end
  for name in pairs(outcome) do known[#known + 1] = tostring(name) end
  table.sort(known)
  for _, target in ipairs(search.targets) do
    local value = outcome[target.name]
    if type(value) ~= "number" then
      errors.invalid("capacity: the trial returned no number '%s'%s", target.name,
        errors.suggestion(target.name, known))
    end
    figures[target.name] = value
    is_kept = is_kept and targets.is_kept(target, value)
  end
  return { verdict = probe.verdicts[is_kept and "kept" or "missed"], figures = figures, runs = 1 }
end

local function is_result(outcome)
  return type(outcome) == "table" and rawget(outcome, "requests_per_instance") ~= nil
end

--- Tries one value with one seed.
---@param search blis.capacity.Search
---@param value number
---@param seed integer
---@return { verdict: integer, figures: table<string, number>, requests: integer?, missed: number?,
--- is_fixed: boolean?, runs: integer }
function probe.run(search, value, seed)
  local requests, runs, arrived = search.requests, 0, nil
  while true do
    runs = runs + 1
    local outcome = search.trial { [search.parameter] = value, seed = seed, requests = requests }
    if not is_result(outcome) then return of_numbers(search, outcome) end
    local view = view_of(outcome, search.steady)
    local figures, is_kept = judge(search, view)
    local is_fixed = arrived == outcome.arrived
    local verdict = verdict_of(search, view, is_kept, arrived == nil)
    if not verdict and (is_fixed or requests >= search.max_requests) then
      verdict = is_kept and "unsettled" or "missed"
    end
    if verdict then
      return { verdict = probe.verdicts[verdict], figures = figures, requests = outcome.arrived,
        missed = view.missed, is_fixed = is_fixed, runs = runs }
    end
    arrived = outcome.arrived
    requests = math.min(2 * requests, search.max_requests)
  end
end

return probe
