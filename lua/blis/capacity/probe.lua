--- One look at one value with one seed: runs get longer until they say what the steady state is.
local errors = require "blis.errors"
local evidence = require "blis.capacity.evidence"
local targets = require "blis.capacity.targets"

local probe = {}

---@class blis.capacity.Search what is looked for, and what was seen so far
---@field trial fun(p: table): any
---@field parameter string
---@field targets blis.capacity.Target[]
---@field max_missed number share of requests
---@field requests integer of the first run at a value
---@field max_requests integer
---@field steady boolean
---@field starts_kept boolean targets are met at the start of the search, and missed later
---@field from number
---@field to number
---@field tolerance number
---@field integer boolean
---@field seed integer
---@field seeds integer
---@field level number
---@field jobs integer
---@field quiet boolean
---@field tell { update: fun(values: number[]) } the line of progress
---@field label string report of the search
---@field identity string what stands for the runs
---@field run fun(round: blis.Sweep, options: table): table<string, blis.sweep.Record>
---@field margin_names string[] of targets, and "missed"
---@field seen table<number, blis.capacity.Seen[]> by value, then by number of the seed

---@class blis.capacity.Seen what a run shows, as numbers, since they come from another process
---@field settled 0|1 the run was long enough to tell
---@field rise_ttft number? in standard errors
---@field rise_e2e number?
---@field requests integer?
---@field missed number? share of the requests
---@field tail number? how many independent requests are beyond a percentile
---@field runs integer
---@field rising 0|1? latencies were still getting longer
---@field fixed 0|1 the trial makes runs of one length
---@field [string] number? metrics.NAME; margin.NAME, error.NAME of a target or of "missed"

---@class blis.capacity.View results of a run without its warm-up
---@field result blis.Result
---@field window blis.Window
---@field batches blis.Batches
---@field is_steady boolean exclude the warm-up

-- A run is long relative to its requests if the first and the last ones have little weight.
local spans_of_a_request = 5

-- Batches that look that much like the one before are too short.
local most_alike = 0.5

local function check_result(result)
  if not rawget(result, "requests") then
    errors.invalid "capacity: the trial's result keeps no records (keep_records = false)"
  end
  if result.arrived == 0 then errors.invalid "capacity: no request arrived in the trial" end
end

--- The targets that are made of requests, as the core takes them; each knows its place.
local function batched_targets(list)
  local batched, place = {}, {}
  for _, target in ipairs(list) do
    if target.latency then
      batched[#batched + 1] = { latency = target.latency, share = target.share,
        limit_ms = target.limit }
      place[target.name] = #batched
    end
  end
  return batched, place
end

local function view_of(search, result)
  check_result(result)
  local from_us = search.steady and result.requests:warm_up() or 0
  local batched, place = batched_targets(search.targets)
  local batches = result.requests:batches(from_us, batched)
  local view = { result = result, batches = batches, of_target = {}, is_steady = search.steady }
  for name, i in pairs(place) do view.of_target[name] = batches.targets[i] end
  local last = result.requests[#result.requests]
  view.window = result:window(from_us, last.arrival_us + 1)
  return view
end

--- A margin with its error, which is unknown without batches; no margin for a missing metric.
local function add_margin(seen, name, margin, batches)
  local error, correlation
  if batches then margin, error, correlation = evidence.of_batches(batches) end
  seen["margin." .. name], seen["error." .. name] = margin, error
  seen.alike = math.max(seen.alike, correlation or 0)
end

local function add_figures(search, view, seen)
  for _, target in ipairs(search.targets) do
    local batched = view.of_target[target.name]
    local value = targets.value(target, view, batched)
    seen["figures." .. target.name] = value
    local batches = batched and batched.batches
    add_margin(seen, target.name, targets.margin(target, value),
      batches and targets.margins(target, batches))
    if batched and batched.tail then
      local count = evidence.independent(batched.tail, view.batches.arrived)
      seen.tail = math.min(seen.tail or math.huge, count)
    end
  end
end

local function share_margins(shares, allowed)
  local margins = {}
  for i, share in ipairs(shares or {}) do margins[i] = share - allowed end
  return shares and margins
end

local function is_large(view, list)
  for _, target in ipairs(list) do
    if view.batches.arrived < targets.least_requests(target) then return false end
  end
  return true
end

--- Whether the run has reached its steady state, and says enough of it.
local function is_settled(search, view, seen)
  if not search.steady then return true end
  local batches = view.batches
  if not (batches.ttft and is_large(view, search.targets)) then return false end
  seen.rise_ttft, seen.rise_e2e = evidence.rise(batches.ttft), evidence.rise(batches.e2e)
  return batches.span_us >= spans_of_a_request * batches.e2e_us
end

local function see(search, result)
  local view = view_of(search, result)
  local batches = view.batches
  local missed = 1 - batches.completed / batches.arrived
  local seen = { alike = 0, requests = result.arrived, missed = missed }
  add_figures(search, view, seen)
  local allowed = search.max_missed + 1e-9
  add_margin(seen, "missed", missed - allowed, share_margins(batches.missed, allowed))
  seen.settled = is_settled(search, view, seen) and 1 or 0
  return seen
end

--- True when a target is missed beyond doubt by this run alone. It began empty: what is too slow by
--- then gets no faster.
local function is_surely_missed(search, seen)
  for _, name in ipairs(search.margin_names) do
    local margin, error = seen["margin." .. name], seen["error." .. name]
    if evidence.judge({ margin }, error and { error }, search.level).sure > 0 then
      return true
    end
  end
  return false
end

local function is_rising(seen)
  return math.max(seen.rise_ttft or 0, seen.rise_e2e or 0) > evidence.rise_in_errors
end

--- Whether a longer run would say more.
local function wants_more(search, seen, runs)
  if not search.steady then return false end
  local is_steady = seen.settled == 1 and not is_rising(seen)
    and (seen.tail or math.huge) >= evidence.least_tail / search.seeds
  if is_steady and seen.alike <= most_alike then return false end
  return not (is_surely_missed(search, seen) and (runs > 1 or is_rising(seen)))
end

--- The metrics of a trial that returns no result, as returned.
local function of_numbers(search, outcome)
  local known, seen = {}, { settled = 1, runs = 1, fixed = 0, ["margin.missed"] = -1 }
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
    seen["figures." .. target.name] = value
    seen["margin." .. target.name] = targets.margin(target, value)
  end
  return seen
end

local function is_result(outcome)
  return type(outcome) == "table" and rawget(outcome, "requests_per_instance") ~= nil
end

--- Tries one value with one seed.
---@param search blis.capacity.Search
---@param value number
---@param seed integer
---@param requests integer of the first run
---@return blis.capacity.Seen
function probe.run(search, value, seed, requests)
  local runs, arrived = 0, nil
  while true do
    runs = runs + 1
    local outcome = search.trial { [search.parameter] = value, seed = seed, requests = requests }
    if not is_result(outcome) then return of_numbers(search, outcome) end
    local seen = see(search, outcome)
    local is_fixed = arrived == outcome.arrived
    local is_last = is_fixed or requests >= search.max_requests
    if is_last or not wants_more(search, seen, runs) then
      seen.runs, seen.fixed, seen.rising = runs, is_fixed and 1 or 0, is_rising(seen) and 1 or 0
      return seen
    end
    arrived = outcome.arrived
    requests = math.min(2 * requests, search.max_requests)
  end
end

return probe
