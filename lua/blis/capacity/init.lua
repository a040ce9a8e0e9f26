--- The largest load, or the smallest cluster, that meets targets.
---
--- All seeds are tried at the same values. The answer is where their mean goes from kept to missed;
--- the interval has all values at which the noise of the runs leaves that open (the confidence set
--- of a root, by inverting the test at each value). So it is wide when runs are short or few, and
--- lengthening them moves the answer inside it. What is tried next depends on what was seen alone,
--- never on how many processes there are.
local basis = require "blis.capacity.basis"
local bracket = require "blis.capacity.bracket"
local errors = require "blis.errors"
local evidence = require "blis.capacity.evidence"
local model_range = require "blis.capacity.model_range"
local options = require "blis.config.sweep"
local probe = require "blis.capacity.probe"
local processors = require "blis.processors"
local report = require "blis.capacity.report"
local runner = require "blis.sweep.runner"
local schema = require "blis.config.schema"
local setting = require "blis.capacity.setting"
local statistics = require "blis.statistics"
local surge = require "blis.capacity.surge"
local sweep = require "blis.sweep"
local targets = require "blis.capacity.targets"

local capacity = {}

---@class blis.CapacityPoint what was seen at one value
---@field value number
---@field verdict "met"|"missed"|"inconclusive" of all seeds
---@field met integer seeds with which all targets were met
---@field missed integer seeds with which one was not
---@field overloaded integer of these, seeds with which the cluster was falling behind
---@field unsettled integer seeds with which no run was long enough to tell
---@field requests integer? that arrived in the longest run
---@field missed_share number? of requests that ended otherwise than completed, mean of the seeds
---@field figures table<string, number?> means of the seeds; nil if a seed lacks the metric

---@class blis.Capacity printed as the answer in one line and what is behind it as a table
---@field parameter string
---@field figures string[] names of those with targets
---@field objective "max"|"min"
---@field value number? the answer; nil when it lies outside what was tried, or is unknown
---@field low number? of its interval; nil = not known
---@field high number?
---@field interval string what the interval is
---@field targets string[]
---@field curve blis.CapacityPoint[] all that was tried, by value
---@field notes string[]
---@field basis blis.CapacityBasis? what the cluster is, costs, and is limited by at the answer; nil
--- if nothing meets the targets, or if the trial returns numbers
---@field verdict blis.RunVerdict whether the answer means what it seems to
---@field surge blis.SurgeTest? whether the cluster recovers from a surge at the last value that
--- meets the targets; nil if no surge was tried
---@field is_unsettled boolean? runs inside the interval were too short to tell

--- Runs what has not been seen yet of { { value =, i = number of the seed }, ... }, or has been
--- seen in shorter runs than this.
local function run_missing(search, wanted, requests)
  local points, missing = {}, {}
  for _, one in ipairs(wanted) do
    local seen = search.seen[one.value] or {}
    search.seen[one.value] = seen
    if not seen[one.i] or (seen[one.i].requests or math.huge) < requests then
      missing[#missing + 1] = one
      points[#points + 1] = { value = one.value, of_seed = search.seed + one.i - 1,
        requests = requests }
    end
  end
  if #points == 0 then return end
  local round = sweep.new {
    name = "capacity", points = points, identity = search.identity, seed = search.seed,
    trial = function(p) return probe.run(search, p.value, p.of_seed, p.requests) end,
  }
  local known = search.run(round, { jobs = search.jobs, quiet = true })
  for k, trial in ipairs(round.plan.trials) do
    local one, outcome = missing[k], known[trial.key]
    if outcome.status ~= "done" then
      errors.invalid("%s = %.6g, seed %d: %s", search.parameter, one.value,
        search.seed + one.i - 1, outcome.reason)
    end
    search.seen[one.value][one.i] = outcome.values
  end
end

--- The state of a value: met, missed, or inconclusive.
local function judge(search, value)
  local seen = search.seen[value]
  local judged = evidence.judge_all(search.margin_names, seen, search.level)
  judged.is_unsettled = judged.likely < 0 and evidence.is_unsettled(seen, search.seeds)
  if judged.is_unsettled then judged.sure = 0 end
  return judged
end

--- Runs values with the first n seeds, in runs of at least `requests` requests.
local function run(search, values, n, requests)
  local wanted = {}
  for _, value in ipairs(values) do
    for i = 1, n do wanted[#wanted + 1] = { value = value, i = i } end
  end
  run_missing(search, wanted, requests)
end

--- The length of the shortest run; nil when trials do not run requests.
local function shortest_run(seen)
  local shortest = math.huge
  for _, one in ipairs(seen) do shortest = math.min(shortest, one.requests or math.huge) end
  return shortest < math.huge and shortest or nil
end

--- What all seeds say of a value, in longer runs while these are too short together.
local function settle(search, value)
  local judged = judge(search, value)
  local requests = shortest_run(search.seen[value])
  while judged.is_unsettled and requests and requests < search.max_requests do
    requests = math.min(2 * requests, search.max_requests)
    run(search, { value }, #search.seen[value], requests)
    judged = judge(search, value)
    if shortest_run(search.seen[value]) < requests then break end -- all that the trial makes
  end
  return judged
end

--- Tries values with the first n seeds, and adds the outcomes to the bracket.
local function try(search, sides, values, n, requests)
  run(search, values, n, requests or search.requests)
  local sign = search.starts_kept and 1 or -1
  for _, value in ipairs(values) do
    local judged = settle(search, value)
    sides:add(value, { sure = sign * judged.sure, likely = sign * judged.likely })
  end
  search.tell.update(values)
end

--- Tries values with all seeds until answer and interval are known.
local function narrow(search, sides, values)
  while #values > 0 do
    try(search, sides, values, search.seeds)
    values = sides:next()
  end
end

--- The longest run of those at the ends of the interval and in between.
local function longest_run(search, near, far)
  local longest = 0
  for value, seen in pairs(search.seen) do
    if value >= near and value <= (far or near) then
      for _, one in ipairs(seen) do longest = math.max(longest, one.requests or 0) end
    end
  end
  return longest
end

-- The values next to the answer must meet the targets in runs longer by this factor.
local confirmed_length = 4

--- Repeats the value that surely meets the targets, in runs as long as the inconclusive ones: close
--- saturation short runs are calm, and the rare bursts are what counts.
local function confirm(search, sides)
  local tried = {}
  while search.steady do
    local near, far = sides:interval()
    local kept, missed = near, far
    if not search.starts_kept then kept, missed = far, near end
    if not kept or not search.seen[kept][1].requests then return end
    local longest = longest_run(search, near or far, far)
    local requests = math.min(search.max_requests, math.max(longest,
      missed and confirmed_length * search.requests or 0))
    if (tried[kept] or 0) >= requests then return end
    tried[kept] = requests
    try(search, sides, { kept }, search.seeds, requests)
    narrow(search, sides, sides:next())
  end
end

--- The first seed finds the region, all of them the answer.
local function find(search)
  local tell <close> = report.progress(search)
  search.tell = tell
  local sides = bracket.new(search)
  local value = sides:rough()
  while value do
    try(search, sides, { value }, 1)
    value = sides:rough()
  end
  local near, far = sides:answer()
  local values = { near }
  values[#values + 1] = far
  sides = bracket.new(search)
  narrow(search, sides, values)
  confirm(search, sides)
  return sides
end

local verdict_of = { [-1] = "met", [0] = "inconclusive", [1] = "missed" }

--- How one seed is counted.
local function count_seed(search, point, seen)
  local judged = evidence.judge_all(search.margin_names, { seen }, search.level)
  if judged.likely > 0 then
    point.missed = point.missed + 1
    point.overloaded = point.overloaded + (seen.rising or 0)
  elseif evidence.is_unsettled({ seen }, search.seeds) then
    point.unsettled = point.unsettled + 1
  else
    point.met = point.met + 1
  end
end

local function point_of(search, value)
  local point = { value = value, met = 0, missed = 0, overloaded = 0, unsettled = 0,
    figures = {} }
  local seen = search.seen[value]
  point.verdict = verdict_of[judge(search, value).sure]
  for _, target in ipairs(search.targets) do point.figures[target.name] = 0 end
  for _, one in ipairs(seen) do
    count_seed(search, point, one)
    if one.requests then
      point.requests = math.max(point.requests or 0, one.requests)
      point.missed_share = (point.missed_share or 0) + one.missed / #seen
    end
    for name, sum in pairs(point.figures) do
      local figure = one["figures." .. name]
      point.figures[name] = figure and sum + figure / #seen or nil
    end
  end
  return point
end

--- All that was tried, by value.
local function curve_of(search)
  local values, points = {}, {}
  for value in pairs(search.seen) do values[#values + 1] = value end
  table.sort(values)
  for i, value in ipairs(values) do points[i] = point_of(search, value) end
  return points
end

--- True when a run inside the interval was not long enough to tell.
local function is_unsettled(search, sides, low, high)
  for _, value in ipairs(sides.values) do
    local is_inside = (not low or value > low) and (not high or value < high)
    if is_inside and judge(search, value).is_unsettled then return true end
  end
  return false
end

--- What the interval covers. Few seeds do not show how much seeds differ.
local function interval_text(search)
  local has_batches = false
  for _, seen in pairs(search.seen) do
    has_batches = has_batches or seen[1]["error.missed"] ~= nil
  end
  local seeds = search.seeds == 1 and "one seed" or ("%d seeds"):format(search.seeds)
  if search.seeds == 1 and not has_batches then return "one seed, so the noise is unknown" end
  if has_batches and search.seeds < statistics.fewest_for_interval then
    return ("noise of %s, not between seeds"):format(seeds)
  end
  return ("%g %% interval of %s"):format(search.level * 100, seeds)
end

--- With whole numbers, the interval contains the numbers that may be the answer.
local function add_integers(self, search, near, far, answer_near, answer_far)
  if search.starts_kept then
    self.value, self.low, self.high = answer_near, near, far and far - 1
  else
    self.value, self.low, self.high = answer_far, near and near + 1, far
    if far and not near then self.low = search.from end
  end
end

--- Answer and interval.
local function add_answer(self, search, sides)
  local near, far = sides:interval()
  local answer_near, answer_far = sides:answer()
  self.interval = interval_text(search)
  self.is_unsettled = is_unsettled(search, sides, near, far)
  if search.integer then
    add_integers(self, search, near, far, answer_near, answer_far)
  else
    self.low, self.high = near, far
    if answer_near and answer_far then self.value = math.sqrt(answer_near * answer_far) end
  end
  if self.is_unsettled then self.value = nil end
end

local function is_fixed(search)
  for _, seen in pairs(search.seen) do
    for _, one in ipairs(seen) do
      if one.fixed == 1 then return true end
    end
  end
  return false
end

local function add_notes(self, search)
  local function add(format, ...) self.notes[#self.notes + 1] = format:format(...) end
  if self.is_unsettled and is_fixed(search) then
    add("the trial's runs are too short to narrow this range; run p.requests requests in the "
      .. "trial, or set steady = false if their length is fixed")
  elseif self.is_unsettled then
    add("runs of %d requests do not converge there; raise max_requests to allow longer runs",
      search.max_requests)
  end
  if search.seeds < statistics.fewest_for_interval then
    add("seeds differ by more than one run shows, which %d replications tell",
      statistics.fewest_for_interval)
  end
  if not search.steady then add "runs are judged without a test for steady state" end
end

local function read_targets(values, given)
  if not values.targets then
    if not values.limit then errors.invalid "capacity: missing targets or limit" end
    return targets.read { [values.metric or "ttft_ms.p99"] = values.limit }
  end
  if given.metric or given.limit then
    errors.invalid "capacity: 'targets' cannot be combined with 'metric' and 'limit'"
  end
  return targets.read(values.targets)
end

-- Where a search ends that is given no end. Instances cost time and memory each, and what a
-- thousand of them do not keep, more will not keep either.
local usual_end, usual_instances = 1000000, 1024

--- Fails for an objective that every cluster meets at the end of the range: a low rate and many
--- instances always meet limits of latencies.
local function check_objective(search, is_count)
  local is_rate = search.parameter == "rate"
  if is_rate == search.starts_kept or not (is_rate or is_count) then return end
  for _, target in ipairs(search.targets) do
    if not target.latency then return end
  end
  errors.invalid("capacity.objective: invalid value '%s' for %s with targets of latencies only: "
    .. "expected '%s', because %s always meet them%s", search.starts_kept and "max" or "min",
    search.parameter, is_rate and "max" or "min", is_rate and "low rates" or "many instances",
    is_rate and "; to find the fewest instances for a rate, vary the instances" or "")
end

local function read_search(spec, surged)
  local values = schema.read(options.capacity, spec, "capacity")
  local search = {
    parameter = values.parameter, seed = values.seed, level = values.level,
    tolerance = values.tolerance, from = values.from,
    targets = read_targets(values, spec), max_missed = values.max_missed, steady = values.steady,
    requests = values.requests, max_requests = math.max(values.max_requests, values.requests),
    seeds = values.replications, quiet = values.quiet, seen = {}, margin_names = {},
    jobs = values.jobs == "auto" and processors.usable() or values.jobs,
  }
  local is_count = values.parameter:match "[%w_]+$" == "instances"
  search.to = values.to or math.max(is_count and usual_instances or usual_end, search.from)
  search.starts_kept = (values.objective or (is_count and "min" or "max")) == "max"
  check_objective(search, is_count)
  search.integer = values.integer
  if search.integer == nil then search.integer = is_count end
  if search.from > search.to then
    errors.invalid("capacity: from = %g is above to = %g", search.from, search.to)
  end
  if search.integer then
    search.from, search.to = math.ceil(search.from), math.floor(search.to)
  end
  setting.add_trial(search, values, surged)
  return search
end

--- How a round of runs is run, and what stands for them.
---@class blis.capacity.Rounds
---@field identity string
---@field run fun(round: blis.Sweep, options: table): table<string, blis.sweep.Record>

---@type blis.capacity.Rounds
local usual_rounds = {
  identity = "capacity",
  run = function(round, how)
    return runner.run(round.plan, round.values, round.trial, how)
  end,
}

--- Returns the last value that meets the targets, surely if the answer is not settled; nil if none
--- is known.
local function kept_value(self, search, sides)
  local near, far = sides:answer()
  if self.is_unsettled then near, far = sides:interval() end
  if search.starts_kept then return near end
  return far
end

--- Fewer runs than that may have entered a state that no seed shows, at a confidence of 95 %.
local function unseen_share(seeds) return 1 - 0.05 ^ (1 / seeds) end

local function untried_text(search)
  return ("no surge was tried, since the search cannot change the traffic of this trial. "
    .. "%d seeds can miss a state of overload that fewer than %.0f %% of the runs enter"):format(
    search.seeds, unseen_share(search.seeds) * 100)
end

local names_of_values = { rate = "%.4g requests/s" }

--- A value in words: "12.5 requests/s", "instances = 4".
local function name_of(search, value)
  local pattern = names_of_values[search.parameter] or search.parameter .. " = %.4g"
  return pattern:format(value)
end

--- Returns a lower load by a factor: a lower rate, or more instances; nil for other parameters.
local function lower_load(search)
  if search.parameter == "rate" then return function(value, factor) return value * factor end end
  if search.integer and not search.starts_kept then
    return function(value, factor) return math.ceil(value / factor) end
  end
end

--- Tries a surge at a value that meets the targets. If the cluster does not recover, the noise
--- between seeds does not show how much runs differ. The interval then begins at a load that the
--- cluster recovers from.
local function add_surge(self, search, value, calm, problems)
  if not search.steady or self.is_unsettled then return end
  local question = { targets = search.targets, max_missed = search.max_missed,
    seeds = { search.seed, search.seed + 1 }, requests = 2 * search.requests,
    max_requests = search.max_requests,
    run = function(at, seed, requests, shape)
      return search.surged({ [search.parameter] = at, seed = seed, requests = requests }, shape)
    end }
  self.surge = search.surged and surge.attempt(question, value, calm, lower_load(search))
  if not self.surge then self.notes[#self.notes + 1] = untried_text(search) end
  if not self.surge or self.surge.recovers then return end
  local at = self.surge.recovers_at
  if search.starts_kept then self.low = at else self.high = at end
  self.interval = not at and "no interval: no recovery from a surge"
    or ("it recovers from a surge at the %s end only"):format(
      search.starts_kept and "lower" or "upper")
  problems[#problems + 1] = surge.finding(self.surge,
    function(one) return name_of(search, one) end)
end

--- Adds what the cluster is, costs, and is limited by at the answer. It runs the answer once more.
local function add_basis(self, search, sides)
  local value, problems, findings = kept_value(self, search, sides), {}, {}
  if value then
    local requests = shortest_run(search.seen[value]) or search.requests
    local outcome = search.trial { [search.parameter] = value, seed = search.seed,
      requests = requests }
    self.basis, findings = basis.of(outcome, value, search.targets)
    if self.basis then
      add_surge(self, search, value, outcome, problems)
      self.basis.model_range = model_range.of(self, self.value or value, search.targets,
        self.basis.expected_error, self.basis.ttft_error)
    end
  else
    problems[1] = { code = "not-met", status = "invalid",
      text = "no value that was tried is known to meet the targets." }
  end
  if self.is_unsettled then
    table.insert(problems, { code = "short", status = "warning",
      text = "runs were too short to settle next to the answer. Set max_requests higher." })
  end
  self.verdict = basis.verdict(findings, problems)
end

--- Returns the answer, the search, and the two sides of its bracket.
local function find_answer(spec, label, rounds, surged)
  local search = read_search(spec, surged)
  search.label = label
  search.identity, search.run = (rounds or usual_rounds).identity, (rounds or usual_rounds).run
  local self = { parameter = search.parameter, targets = {}, figures = {}, notes = {},
    objective = search.starts_kept and "max" or "min", from = search.from, to = search.to,
    max_missed = search.max_missed }
  for i, target in ipairs(search.targets) do
    self.targets[i], self.figures[i] = targets.text(target), target.name
    search.margin_names[i] = target.name
  end
  table.insert(search.margin_names, "missed")
  local sides = find(search)
  self.curve = curve_of(search)
  add_answer(self, search, sides)
  add_notes(self, search)
  return self, search, sides
end

--- Searches as part of another search; label identifies this search in progress reports.
---@param spec blis.CapacityOptions
---@param label string
---@param rounds? blis.capacity.Rounds
---@return blis.Capacity
function capacity.part(spec, label, rounds)
  return report.new((find_answer(spec, label, rounds)))
end

--- Searches with a trial that can shape the rate of its traffic, so that a surge can be tried.
---@param spec blis.CapacityOptions
---@param surged? fun(p: table, shape: table): blis.Result the trial of spec, with a shape
---@return blis.Capacity
function capacity.search_surged(spec, surged)
  local self, search, sides = find_answer(spec, "capacity", nil, surged)
  add_basis(self, search, sides)
  return report.new(self)
end

--- Searches for the highest rate, or the greatest or smallest value of another parameter, that
--- meets the targets in the steady state. The search assumes that all values beyond a missed value
--- miss the targets.
---@param spec blis.CapacityOptions
---@return blis.Capacity
function capacity.search(spec)
  return capacity.search_surged(spec)
end

return capacity
