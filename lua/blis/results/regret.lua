--- True regret: what another choice at a decision would have changed in the end.
---
--- The score regret of a trace of decisions is hindsight on the policy's own terms. Here the
--- experiment is run once more for every other candidate of a decision, told to route that one
--- request there (sim:pin) and otherwise left alone, and the results are compared.
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local format = require "blis.format"
local schema = require "blis.config.schema"

local regret = {}

---@type blis.Section
local section = {
  name = "regret",
  summary = "Decisions to look at, and by what measure.",
  options = {
    { name = "experiment", type = "table", required = true, doc = "As for blis.run." },
    {
      name = "decisions", type = "any", default = 10,
      doc = "How many routing decisions, drawn at random, or a list of the ids of requests.",
    },
    {
      name = "metric", type = "any", default = "e2e_ms.mean",
      doc = "A figure of the result, 'ttft_ms.p99', or a function(result) that returns a number.",
    },
    {
      name = "goal", type = "choice", choices = { "min", "max" }, default = "min",
      doc = "Whether low or high values of the metric are good.",
    },
    { name = "seed", type = "integer", default = 42, doc = "Of the drawing of decisions." },
  },
}

---@class blis.RegretOptions
---@field experiment blis.Experiment
---@field decisions? integer|string[] how many, drawn at random, or ids of requests (default 10)
---@field metric? string|fun(result: blis.Result): number (default "e2e_ms.mean")
---@field goal? "min"|"max" (default min)
---@field seed? integer of the drawing of decisions

---@class blis.RegretAlternative
---@field instance string
---@field value number the metric of the run in which the request went there

---@class blis.DecisionRegret
---@field request string
---@field time_us integer
---@field chosen string
---@field value number the metric as it was
---@field alternatives blis.RegretAlternative[] the other candidates, in their order
---@field best string instance
---@field best_value number
---@field regret number how much better the best one would have been, 0 = the choice was best
---@field score_regret number by the policy's own scores

---@class blis.Regret prints as a table
---@field metric string
---@field goal "min"|"max"
---@field value number of the run as it was
---@field result blis.Result of that run, with its trace of decisions
---@field decisions blis.DecisionRegret[] in order of time
---@field mean_regret number
---@field max_regret number
---@field runs integer simulations that it took

local function metric_of(metric)
  if type(metric) == "function" then return metric, "function" end
  if type(metric) ~= "string" then
    schema.raise_value("regret.metric", metric, "the name of a figure or a function(result)")
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

--- The routing decisions of a trace that chose somebody.
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
    by_request[decision.request] = by_request[decision.request] or decision
  end
  for i, id in ipairs(ids) do
    picked[i] = by_request[id]
    if not picked[i] then
      errors.invalid("regret.decisions[%d]: %s was not routed", i, errors.show(id))
    end
  end
  table.sort(picked, function(a, b)
    if a.time_us ~= b.time_us then return a.time_us < b.time_us end
    return a.number < b.number
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

--- The result of the experiment when the request goes to that instance.
local function run_pinned(spec, request, instance)
  local sim <close> = experiment.simulation(spec)
  return sim:pin(request, instance):run()
end

local function examine(decision, spec, base, measure, name, is_better)
  local one = {
    request = decision.request, time_us = decision.time_us, chosen = decision.chosen,
    value = base, best = decision.chosen, best_value = base, alternatives = {},
    score_regret = decision.regret,
  }
  for _, candidate in ipairs(decision.candidates) do
    local instance = candidate.instance
    if instance ~= decision.chosen then
      local value = measured(measure, name, run_pinned(spec, decision.request, instance))
      one.alternatives[#one.alternatives + 1] = { instance = instance, value = value }
      if is_better(value, one.best_value) then one.best, one.best_value = instance, value end
    end
  end
  one.regret = math.abs(one.best_value - base)
  return one
end

local regret_meta = {
  __name = "blis.regret",
  __tostring = function(self)
    local rows = {}
    for i, one in ipairs(self.decisions) do
      rows[i] = { one.request, one.chosen, one.best, format.number(one.value, 3),
        format.number(one.best_value, 3), format.number(one.regret, 3),
        format.number(one.score_regret, 3) }
    end
    local header = { "request", "chosen", "best", self.metric, "with best", "regret",
      "by scores" }
    return ("%s\n\nmean regret %s, greatest %s (%d runs)"):format(
      format.table(header, rows, nil, { [2] = true, [3] = true }),
      format.number(self.mean_regret, 4), format.number(self.max_regret, 4), self.runs)
  end,
}

local function copy_with(spec, changes)
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  for key, value in pairs(changes) do copy[key] = value end
  return copy
end

--- Examines some decisions of an experiment. It takes one run and one more for each other candidate
--- of each decision. Functions of a script that remember something between runs make the runs
--- incomparable; keep such state where blis.run makes it anew.
---@param options blis.RegretOptions
---@return blis.Regret
function regret.examine(options)
  local values = schema.read(section, options, "regret")
  local measure, name = metric_of(values.metric)
  local spec = values.experiment
  local result = experiment.run(copy_with(spec, { trace_level = "decisions" }))
  local found = { metric = name, goal = values.goal, result = result, decisions = {}, runs = 1,
    value = measured(measure, name, result), mean_regret = 0.0, max_regret = 0.0 }
  local function is_better(a, b)
    if values.goal == "min" then return a < b end
    return a > b
  end
  for i, decision in ipairs(pick(routings(result.decisions), values.decisions, values.seed)) do
    local one = examine(decision, spec, found.value, measure, name, is_better)
    found.decisions[i] = one
    found.runs = found.runs + #one.alternatives
    found.mean_regret = found.mean_regret + one.regret
    found.max_regret = math.max(found.max_regret, one.regret)
  end
  found.mean_regret = found.mean_regret / math.max(#found.decisions, 1)
  return setmetatable(found, regret_meta)
end

return regret
