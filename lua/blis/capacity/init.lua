--- The most that a cluster takes, or the least that it needs, while targets are kept.
---
--- Every seed has a search of its own, so the answer comes with an interval of independent answers.
--- The first seed looks for the range, the others go on from there; what is tried next depends on
--- verdicts alone, never on how many processes there are.
local bracket = require "blis.capacity.bracket"
local core = require "blis.core"
local errors = require "blis.errors"
local options = require "blis.config.sweep"
local probe = require "blis.capacity.probe"
local report = require "blis.capacity.report"
local runner = require "blis.sweep.runner"
local schema = require "blis.config.schema"
local setting = require "blis.capacity.setting"
local statistics = require "blis.statistics"
local sweep = require "blis.sweep"
local targets = require "blis.capacity.targets"

local capacity = {}

---@class blis.CapacityPoint what was seen at one value
---@field value number
---@field kept integer seeds with which all targets were kept
---@field missed integer seeds with which one was not
---@field overloaded integer seeds with which the cluster fell behind
---@field unsettled integer seeds with which no run was long enough to tell
---@field requests integer? that arrived in the longest run
---@field missed_share number? of requests that ended otherwise than completed, mean of the seeds
---@field figures table<string, number?> means of the seeds; nil when one has no such figure

---@class blis.CapacitySearch what one seed found
---@field seed integer
---@field kept number? the last value that keeps the targets
---@field missed number? the next one that does not

---@class blis.Capacity printed as the answer in one line and what is behind it as a table
---@field parameter string
---@field figures string[] names of those with targets
---@field finds "most"|"least"
---@field value number? the answer; nil when it lies outside what was tried, or is unknown
---@field low number? of its interval; nil = not known
---@field high number?
---@field interval string what the interval is
---@field targets string[]
---@field curve blis.CapacityPoint[] all that was tried, by value
---@field searches blis.CapacitySearch[] one for each seed
---@field notes string[]
---@field is_unsettled boolean? runs next to the answer were too short to tell

--- Runs what the seeds ask for next: { { value =, seed = }, ... }; returns what was seen, in the
--- same order.
local function run_round(search, wanted)
  local points = {}
  for i, one in ipairs(wanted) do points[i] = { value = one.value, of_seed = one.seed } end
  local round = sweep.new {
    name = "capacity", points = points, identity = "capacity", seed = search.seed,
    trial = function(p) return probe.run(search, p.value, p.of_seed) end,
  }
  local known = runner.run(round.plan, round.values, round.trial,
    { jobs = search.jobs, quiet = true })
  local seen = {}
  for i, trial in ipairs(round.plan.trials) do
    local one = known[trial.key]
    if one.status ~= "done" then
      errors.invalid("%s = %.6g, seed %d: %s", search.parameter, wanted[i].value, wanted[i].seed,
        one.reason)
    end
    seen[i] = one.values
  end
  return seen
end

local function is_kept(seen)
  return seen.verdict == probe.verdicts.kept
end

--- Lets the seeds first to last search until each of them has an answer.
local function run_seeds(search, first, last)
  local tell <close> = report.progress(search)
  while true do
    local wanted = {}
    for i = first, last do
      local value = search.brackets[i]:next()
      if value then wanted[#wanted + 1] = { value = value, seed = search.seed + i - 1, i = i } end
    end
    if #wanted == 0 or first == last and search.brackets[first].near
      and search.brackets[first].far and search.seeds > 1 then
      return
    end
    for k, seen in ipairs(run_round(search, wanted)) do
      local one = wanted[k]
      table.insert(search.seen, { value = one.value, seed = one.seed, values = seen })
      search.brackets[one.i]:add(one.value, is_kept(seen) ~= search.starts_kept)
    end
    tell.update(wanted)
  end
end

local verdict_names = {}
for name, number in pairs(probe.verdicts) do verdict_names[number] = name end

local function add_to_point(search, point, values)
  local name = verdict_names[values.verdict]
  point[name], point.n = point[name] + 1, point.n + 1
  if values.requests then
    point.requests = math.max(point.requests or 0, values.requests)
    point.missed_share = (point.missed_share or 0) + values.missed
  end
  for _, target in ipairs(search.targets) do
    local value, sum = values["figures." .. target.name], point.figures[target.name]
    point.figures[target.name] = sum and value and sum + value or nil
  end
end

--- All that was seen, by value.
local function curve_of(search)
  local points, by_value = {}, {}
  for _, one in ipairs(search.seen) do
    local point = by_value[one.value]
    if not point then
      point = { value = one.value, kept = 0, missed = 0, overloaded = 0, unsettled = 0, n = 0,
        figures = {} }
      for _, target in ipairs(search.targets) do point.figures[target.name] = 0 end
      by_value[one.value], points[#points + 1] = point, point
    end
    add_to_point(search, point, one.values)
  end
  table.sort(points, function(a, b) return a.value < b.value end)
  for _, point in ipairs(points) do
    for name, sum in pairs(point.figures) do point.figures[name] = sum / point.n end
    point.missed_share = point.missed_share and point.missed_share / point.n
    point.n = nil
  end
  return points
end

local function searches_of(search)
  local list = {}
  for i, one in ipairs(search.brackets) do
    local kept, missed = one.near, one.far
    if not search.starts_kept then kept, missed = missed, kept end
    list[i] = { seed = search.seed + i - 1, kept = kept, missed = missed }
  end
  return list
end

--- True when a run at that value was not long enough to tell.
local function is_unsettled(search, value)
  for _, one in ipairs(search.seen) do
    if one.value == value and one.values.verdict == probe.verdicts.unsettled then return true end
  end
  return false
end

--- The least and the greatest of the ends that seeds have found; nil when one of them has none.
local function ends_of(searches, name)
  local least, most, missing = math.huge, -math.huge, false
  for _, one in ipairs(searches) do
    if one[name] then
      least, most = math.min(least, one[name]), math.max(most, one[name])
    else
      missing = true
    end
  end
  if least == math.huge then return nil, nil, missing end
  return least, most, missing
end

--- The mean of the seeds' answers (of their logarithms) and its interval, with what the width of
--- the brackets leaves open.
local function estimate_of(search, searches)
  local logs, widest = {}, 0
  for i, one in ipairs(searches) do
    logs[i] = (math.log(one.kept) + math.log(one.missed)) / 2
    widest = math.max(widest, math.abs(math.log(one.missed / one.kept)) / 2)
  end
  local estimate = statistics.estimate(logs, { level = search.level })
  return math.exp(estimate.mean), math.exp(estimate.low - widest), math.exp(estimate.high + widest)
end

-- With fewer seeds an interval of their mean says next to nothing.
local least_seeds = 4

--- Answer and interval.
local function add_answer(self, search)
  local kept_least, kept_most, is_kept_open = ends_of(self.searches, "kept")
  local missed_least, missed_most, is_missed_open = ends_of(self.searches, "missed")
  for _, one in ipairs(self.searches) do
    if one.missed and is_unsettled(search, one.missed) then self.is_unsettled = true end
  end
  local n = #self.searches
  self.interval = n == 1 and "one seed" or ("range of %d seeds"):format(n)
  local is_open = is_kept_open or is_missed_open or self.is_unsettled
  if search.starts_kept then
    self.low, self.high = not is_kept_open and kept_least or nil, missed_most
    if is_missed_open or self.is_unsettled then self.high = nil end
  else
    self.low, self.high = missed_least, not is_kept_open and kept_most or nil
    if is_missed_open then self.low = search.from end
    if self.is_unsettled then self.low = nil end
  end
  if search.integer then
    self.value = search.starts_kept and kept_least or kept_most
    if is_kept_open then self.value = nil end
    if not is_open then self.low, self.high = kept_least, kept_most end
  elseif not is_open and n >= least_seeds then
    self.value, self.low, self.high = estimate_of(search, self.searches)
    self.interval = ("%g %% interval of %d seeds"):format(search.level * 100, n)
  elseif not is_open then
    self.value = math.sqrt(self.low * self.high)
  end
end

local function add_notes(self, search)
  local function add(format, ...) self.notes[#self.notes + 1] = format:format(...) end
  if self.is_unsettled then
    local is_fixed = false
    for _, one in ipairs(search.seen) do
      is_fixed = is_fixed or one.values.verdict == probe.verdicts.unsettled
        and one.values.is_fixed == 1
    end
    if is_fixed then
      add("runs are as long as the trial makes them, which is too short to tell beyond that; "
        .. "let it run p.requests requests, or say steady = false when it is all there is")
    else
      add("runs of %d requests do not settle beyond that; max_requests allows longer ones",
        search.max_requests)
    end
  end
  if not search.steady then add "runs are judged as they are, whether steady or not" end
end

local function read_targets(values, given)
  if not values.targets then
    if not values.limit then errors.invalid "capacity: targets is missing, or a limit" end
    return targets.read { [values.metric or "ttft_ms.p99"] = values.limit }
  end
  if given.metric or given.limit then
    errors.invalid "capacity: 'targets' and 'metric' with 'limit' say the same; give one of them"
  end
  return targets.read(values.targets)
end

local function read_search(spec)
  local values = schema.read(options.capacity, spec, "capacity")
  local search = {
    parameter = values.parameter, seed = values.seed, level = values.level,
    tolerance = values.tolerance, from = values.from, to = values.to,
    targets = read_targets(values, spec), max_missed = values.max_missed, steady = values.steady,
    requests = values.requests, max_requests = math.max(values.max_requests, values.requests),
    seeds = values.replications, quiet = values.quiet, seen = {}, brackets = {},
    jobs = values.jobs == "auto" and core.processors() or values.jobs,
  }
  local is_count = values.parameter:match "[%w_]+$" == "instances"
  search.starts_kept = (values.find or (is_count and "least" or "most")) == "most"
  search.integer = values.integer
  if search.integer == nil then search.integer = is_count end
  if search.from > search.to then
    errors.invalid("capacity: from = %g is above to = %g", search.from, search.to)
  end
  if search.integer then
    search.from, search.to = math.ceil(search.from), math.floor(search.to)
  end
  setting.add_trial(search, values)
  return search
end

--- Looks for the highest rate, or the greatest or smallest value of another parameter, with which
--- targets are kept in the steady state. What misses a target at some value is taken to miss it
--- further on.
---@param spec blis.CapacityOptions
---@return blis.Capacity
function capacity.search(spec)
  local search = read_search(spec)
  search.brackets[1] = bracket.new(search)
  run_seeds(search, 1, 1)
  local first = search.brackets[1]
  local hint = first.near and first.far and { near = first.near, far = first.far } or nil
  for i = 2, search.seeds do search.brackets[i] = bracket.new(search, hint) end
  run_seeds(search, 1, search.seeds)
  local self = { parameter = search.parameter, targets = {}, notes = {},
    finds = search.starts_kept and "most" or "least", from = search.from, to = search.to,
    max_missed = search.max_missed }
  for i, target in ipairs(search.targets) do self.targets[i] = targets.text(target) end
  self.curve, self.searches = curve_of(search), searches_of(search)
  self.figures = {}
  for i, target in ipairs(search.targets) do self.figures[i] = target.name end
  add_answer(self, search)
  add_notes(self, search)
  return report.new(self)
end

return capacity
