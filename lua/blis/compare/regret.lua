--- True regret: what another choice at a decision would have changed in the end.
---
--- The score regret of a trace of decisions is hindsight on the policy's own terms. Here the
--- experiment is run for every candidate of a decision, told to route that one request there
--- (sim:pin) and otherwise left alone, and the results are compared.
---
--- After another decision everything that follows is a little different, and a tail moves by more
--- than the decision was worth. So every candidate is tried in several continuations, the same for
--- all: what arrives after the decision does so in another order. What differs no more between
--- candidates than between continuations is not called regret.
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local format = require "blis.format"
local notices = require "blis.notices"
local repeats = require "blis.policy.repeats"
local schema = require "blis.config.schema"
local show = require "blis.show"
local statistics = require "blis.statistics"
local workload = require "blis.traffic.workload"

local regret = {}

---@type blis.Section
local section = {
  name = "regret",
  summary = "Which decisions to examine, and with which metric.",
  options = {
    { name = "experiment", type = "table", required = true, doc = "As for blis.run." },
    {
      name = "decisions", type = "any", default = 10,
      doc = "How many routing decisions, drawn at random, or a list of the ids of requests, all "
        .. "whose stages are looked at.",
    },
    {
      name = "metric", type = "any", default = "e2e_ms.mean",
      doc = "Metric of the result, 'ttft_ms.p99', or a function(result) that returns a number.",
    },
    {
      name = "goal", type = "choice", choices = { "min", "max" }, default = "min",
      doc = "Whether low or high values of the metric are good.",
    },
    {
      name = "continuations", type = "integer", min = 1, max = 1000, default = 8,
      doc = "Futures in which every candidate is tried. With fewer than 4, no noise is reported.",
    },
    { name = "seed", type = "integer", default = 42,
      doc = "Seed for sampling decisions and continuations." },
  },
}

---@class blis.RegretOptions
---@field experiment blis.Experiment
---@field decisions? integer|string[] how many, drawn at random, or ids of requests (default 10)
---@field metric? string|fun(result: blis.Result): number (default "e2e_ms.mean")
---@field goal? "min"|"max" (default min)
---@field continuations? integer futures that every candidate is tried in (default 8)
---@field seed? integer of the drawing of decisions and continuations

---@class blis.RegretAlternative
---@field instance string
---@field value number the metric if the request is sent there, mean over the continuations
---@field gain blis.Estimate how much better that is than what was chosen, over the continuations;
--- its interval allows for the number of candidates that are looked at

---@class blis.DecisionRegret
---@field request string
---@field stage? "prefill"|"decode" with pools
---@field time_us integer
---@field chosen string
---@field value number the metric as it was decided, mean over the continuations
---@field alternatives blis.RegretAlternative[] the other candidates, in their order
---@field best string instance with the best mean
---@field best_value number
---@field regret number how much better the best one would have been, 0 = the choice was best
---@field low number? ends of its interval; nil below 4 continuations, or when the choice was best
---@field high number?
---@field is_shown boolean noise is no good explanation of the regret
---@field score_regret number by the policy's own scores

---@class blis.Regret prints as a table
---@field metric string
---@field goal "min"|"max"
---@field value number of the run as it was
---@field result blis.Result of that run, with its trace of decisions
---@field continuations integer
---@field decisions blis.DecisionRegret[] in order of time
---@field shown integer decisions whose regret is more than noise
---@field mean_regret number over all decisions, with 0 for what is not shown
---@field max_regret number of those shown
---@field noise number? half the widest interval: regrets below it may go unseen
---@field runs integer simulations that it took

local function metric_of(metric)
  if type(metric) == "function" then return metric, "function" end
  if type(metric) ~= "string" then
    schema.raise_value("regret.metric", metric, "the name of a metric or a function(result)")
  end
  local name, statistic = metric:match("^([^.]+)%.?(.*)$")
  return function(result)
    local value = result[name]
    return statistic ~= "" and type(value) == "table" and value[statistic] or value
  end, metric
end

local function measured(measure, name, result)
  local value = measure(result)
  if type(value) ~= "number" or value ~= value then
    errors.invalid("regret.metric: %s is %s, expected a number", name, errors.show(value))
  end
  return value
end

--- The routing decisions of a trace that chose an instance.
local function routings(trace)
  local list = {}
  for i = 1, #trace do
    local decision = trace[i]
    if decision.chosen then list[#list + 1] = decision end
  end
  return list
end

local function drawn(list, count, seed)
  local rng, places = core.rng(seed, "regret"), {}
  for i = 1, #list do places[i] = i end
  rng:shuffle(places)
  local chosen = table.move(places, 1, math.min(count, #list), 1, {})
  table.sort(chosen)
  local picked = {}
  for i, place in ipairs(chosen) do picked[i] = list[place] end
  return picked
end

local function named(list, ids)
  local by_request, picked = {}, {}
  for _, decision in ipairs(list) do
    local of_stages = by_request[decision.request] or {}
    by_request[decision.request] = of_stages
    of_stages[decision.stage or "any"] = of_stages[decision.stage or "any"] or decision
  end
  for i, id in ipairs(ids) do
    if not by_request[id] then
      errors.invalid("regret.decisions[%d]: %s was not routed", i, errors.show(id))
    end
    for _, stage in ipairs { "any", "decode", "prefill" } do
      picked[#picked + 1] = by_request[id][stage]
    end
  end
  table.sort(picked, function(a, b)
    if a.time_us ~= b.time_us then return a.time_us < b.time_us end
    if a.number ~= b.number then return a.number < b.number end
    return (a.stage or "") < (b.stage or "")
  end)
  return picked
end

local function pick(list, wanted, seed)
  if math.type(wanted) == "integer" and wanted >= 1 then return drawn(list, wanted, seed) end
  if type(wanted) ~= "table" then
    schema.raise_value("regret.decisions", wanted, "an integer of at least 1 or a list of ids")
  end
  return named(list, wanted)
end

--- The requests of an experiment as a list; nil where they follow on answers.
local function list_of(spec)
  local given, horizon_us = workload.read(spec.workload, "workload",
    { seed = spec.seed or 42, horizon_us = spec.horizon_us, profile = spec.profile })
  if core.is_trace_stream(given) then return given:list(), horizon_us end
  if core.is_workload(given) then return given, horizon_us end
  if workload.has_follow_ups(given) then return nil end
  return workload.collect(given), horizon_us
end

-- Pieces of the future, which keep what requests that follow on each other have in common.
local pieces = 50

--- The requests after a time, in another order of their pieces, each with its gap before it: the
--- new time of every one of them by its place among them.
local function shuffled_times(list, after_us, seed)
  local gaps, before_us = {}, after_us
  for _, request in list:requests() do
    if request.arrival_us > after_us then
      gaps[#gaps + 1], before_us = request.arrival_us - before_us, request.arrival_us
    end
  end
  local count, order = math.min(pieces, #gaps), {}
  for k = 1, count do order[k] = k end
  core.rng(seed, "continuation"):shuffle(order)
  local times, at_us = {}, after_us
  for _, k in ipairs(order) do
    for i = (k - 1) * #gaps // count + 1, k * #gaps // count do
      at_us = at_us + gaps[i]
      times[i] = at_us
    end
  end
  return times
end

--- The traffic with another future after a decision.
local function continuation(list, after_us, seed)
  local times, next_ = shuffled_times(list, after_us, seed), 0
  return list:map(function(request)
    if request.arrival_us <= after_us then return {} end
    next_ = next_ + 1
    return { arrival_us = times[next_] }
  end)
end

local function copy_with(spec, changes)
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  for key, value in pairs(changes) do copy[key] = value end
  return copy
end

--- The same experiment in several futures after a decision; the first one is what was.
local function futures(look, decision)
  local list = { look.spec }
  for k = 2, look.continuations do
    list[k] = copy_with(look.spec,
      { workload = continuation(look.list, decision.time_us, look.seed + k) })
  end
  return list
end

--- The metric in every future when the request goes to that instance.
local function tried(look, list, decision, instance)
  local values = {}
  for k, spec in ipairs(list) do
    local sim <close> = experiment.simulation(spec)
    sim:pin(decision.request, instance, decision.stage)
    values[k] = measured(look.measure, look.metric, sim:run())
  end
  return values
end

--- How much better b is than a, future by future.
local function gain_of(look, a, b)
  local gains = {}
  for k, value in ipairs(a) do gains[k] = look.sign * (value - b[k]) end
  return statistics.estimate(gains, { level = look.level })
end

local function examine(look, decision)
  local list = futures(look, decision)
  local usual = tried(look, list, decision, decision.chosen)
  local value = statistics.moments(usual)
  local one = {
    request = decision.request, stage = decision.stage, time_us = decision.time_us,
    chosen = decision.chosen,
    value = value, best = decision.chosen, best_value = value, alternatives = {}, regret = 0.0,
    is_shown = false, score_regret = decision.regret,
  }
  for _, candidate in ipairs(decision.candidates) do
    local instance = candidate.instance
    if instance ~= decision.chosen then
      local values = tried(look, list, decision, instance)
      local gain = gain_of(look, usual, values)
      local mean = statistics.moments(values)
      one.alternatives[#one.alternatives + 1] = { instance = instance, value = mean, gain = gain }
      if gain.mean > one.regret then
        one.best, one.best_value, one.regret = instance, mean, gain.mean
        one.low, one.high = gain.low, gain.high
      end
    end
  end
  if #list < statistics.fewest_for_interval then one.low, one.high = nil, nil end
  one.is_shown = one.low ~= nil and one.low > 0
  return one
end

local number = format.number

--- "12.3 (4.5 to 20.1)", or that noise explains it.
local function regret_text(one)
  if one.regret == 0 then return "0" end
  if not one.low then return number(one.regret, 3) .. " or noise" end
  return ("%s (%s to %s)"):format(one.is_shown and number(one.regret, 3) or "no difference seen",
    number(one.low, 3), number(one.high, 3))
end

local function conclusion(self)
  if #self.decisions == 0 then return "no request was routed, so there are no decisions" end
  if self.continuations < statistics.fewest_for_interval then
    return ("only %d of the %d continuations needed to estimate the noise: nothing is "
      .. "ranked"):format(
      self.continuations, statistics.fewest_for_interval)
  end
  local found = self.shown == 0 and "no decision cost more than noise explains"
    or ("%d of %d decisions cost more than noise explains, %s at most"):format(self.shown,
      #self.decisions, number(self.max_regret, 3))
  if not self.noise then return "no decision had another candidate" end
  return ("%s; regrets below %s may be undetected with %d continuations"):format(found,
    number(self.noise, 3), self.continuations)
end

local regret_meta = {
  __name = "blis.regret",
  __tostring = function(self)
    local rows = {}
    for i, one in ipairs(self.decisions) do
      local name = one.stage and ("%s (%s)"):format(one.request, one.stage) or one.request
      rows[i] = { name, one.chosen, one.is_shown and one.best or "-", number(one.value, 3),
        number(one.best_value, 3), regret_text(one), number(one.score_regret, 3) }
    end
    local header = { "request", "chosen", "better", self.metric, "lowest mean", "regret",
      "by scores" }
    if self.goal == "max" then header[5] = "highest mean" end
    return ("%s\n\n%s (%d runs)"):format(
      format.table(header, rows, nil, { [2] = true, [3] = true }), conclusion(self), self.runs)
  end,
}

--- Prints a note if a second run of the experiment does not have the same result.
local function try_repeat(spec, hash)
  if not experiment.wants_repeat(spec) then return end
  local sim <close> = experiment.simulation(spec)
  if sim:run().hash ~= hash then notices.tell(repeats.note) end
end

--- The widest interval says what could not have been seen.
local function noise_of(decisions)
  local widest
  for _, one in ipairs(decisions) do
    for _, alternative in ipairs(one.alternatives) do
      widest = math.max(widest or 0, alternative.gain.half_width or 0)
    end
  end
  return widest
end

local function add_decision(found, one)
  found.decisions[#found.decisions + 1] = one
  found.runs = found.runs + found.continuations * (#one.alternatives + 1)
  if not one.is_shown then return end
  found.shown = found.shown + 1
  found.mean_regret = found.mean_regret + one.regret
  found.max_regret = math.max(found.max_regret, one.regret)
end

--- Total number of examined alternatives, which the intervals account for.
local function count_alternatives(decisions)
  local count = 0
  for _, decision in ipairs(decisions) do count = count + #decision.candidates - 1 end
  return math.max(count, 1)
end

--- Examines a sample of the decisions of an experiment: the metric if the request had been sent to
--- another candidate. Every candidate of each decision runs in several continuations, so the number
--- of runs is their product. Traffic that depends on responses has only one continuation, and
--- nothing is ranked. A policy that keeps state between runs must be written with `new`; otherwise
--- the runs are not comparable, and a note reports this.
---@param options blis.RegretOptions
---@return blis.Regret
function regret.examine(options)
  local values = schema.read(section, options, "regret")
  local measure, name = metric_of(values.metric)
  local spec = values.experiment
  local result = experiment.run(copy_with(spec, { trace_level = "decisions" }))
  local decisions = pick(routings(result.decisions), values.decisions, values.seed)
  local list, horizon_us = list_of(spec)
  local count = list and values.continuations or 1
  local look = {
    spec = copy_with(spec, { horizon_us = spec.horizon_us or horizon_us, workload = list }),
    list = list, continuations = count, seed = values.seed, measure = measure, metric = name,
    sign = values.goal == "min" and 1 or -1, level = 1 - 0.05 / count_alternatives(decisions),
  }
  local found = { metric = name, goal = values.goal, result = result, decisions = {}, runs = 1,
    value = measured(measure, name, result), continuations = count, shown = 0, mean_regret = 0.0,
    max_regret = 0.0 }
  try_repeat(look.spec, result.hash)
  for _, decision in ipairs(decisions) do add_decision(found, examine(look, decision)) end
  found.mean_regret = found.mean_regret / math.max(#found.decisions, 1)
  found.noise = count >= statistics.fewest_for_interval and noise_of(found.decisions) or nil
  show.figures(found.decisions)
  return setmetatable(found, regret_meta)
end

return regret
