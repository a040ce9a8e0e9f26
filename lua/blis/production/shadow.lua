--- Compares the decisions of a shadow policy with those of the active policy. The shadow policy
--- follows each decision of the active policy, so that both read the same state.
---
--- A policy that adds up scores is evaluated for all requests in one run: a picker records the sums
--- and takes the active policy's choice. For all other policies, the run is repeated. Up to the
--- first different decision, both have the same state. That decision is pinned, and the search
--- continues with the next difference.
local experiment = require "blis.experiment"

local shadow = {}

---@class blis.shadow.Choice a decision that differs
---@field request string
---@field time_us integer
---@field told string the instance that the other policy chose
---@field preferred string the one that this policy would have chosen
---@field asked blis.Decision as this policy saw it

---@class blis.shadow.Outcome
---@field asked integer decisions that were compared
---@field agreed integer
---@field absent integer for which the told instance was no candidate
---@field differences blis.shadow.Choice[]
---@field is_complete boolean false: there are more than limit differences, and none was looked for
--- behind them
---@field scorers { name: string, weight: number }[]

-- Sums of the same scores in another order differ by so little.
local tie = 1e-12

-- Pickers that take the best candidate; other pickers do not have a single choice.
local best_pickers = { best = true, ["llm-d.max-score-picker"] = true }

local function copy(spec)
  local made = {}
  for key, value in pairs(spec) do made[key] = value end
  return made
end

--- Decisions are known by their requests; one that is routed once more has a number behind it.
local function key_of(counts, request)
  local count = (counts[request] or 0) + 1
  counts[request] = count
  return count == 1 and request or request .. "/" .. count
end

--- The routing with a picker that follows; nil when it does not add up scores.
local function following(routing, told, absent)
  local is_weighted = type(routing) == "table" and getmetatable(routing) == nil
    and routing[1] == "weighted" and routing.scorers ~= nil
  if not is_weighted then return nil end
  local picker = routing.picker or "best"
  if type(picker) ~= "string" or not best_pickers[picker] then return nil end
  local made, counts = copy(routing), {}
  made.tie = nil
  made.picker = { name = "follow", pick = function(request, instances, scores)
    local key = key_of(counts, request.id)
    local best, wanted = 1, told[key]
    for i = 1, #instances do
      if instances[i].id == wanted then return i end
      if scores[i] > scores[best] then best = i end
    end
    if wanted then absent[key] = true end
    return best
  end }
  return made
end

--- The candidate with the best score, and its score; the told one in a tie.
local function preferred_of(decision, told)
  local best, own
  for _, one in ipairs(decision.candidates) do
    if one.instance == told then own = one end
    if not best or one.score > best.score then best = one end
  end
  if own and own.score >= best.score - tie then return told end
  return best.instance
end

local function routings(trace)
  local list = {}
  for i = 1, #trace do
    local one = trace[i]
    if one.kind == "routing" and one.chosen and one.stage ~= "prefill" then
      list[#list + 1] = one
    end
  end
  return list
end

local function traced(spec)
  local made = copy(spec)
  made.trace_level = "decisions"
  return made
end

local function difference(decision, told, preferred)
  return { request = decision.request, time_us = decision.time_us, told = told,
    preferred = preferred, asked = decision }
end

local function add_answer(outcome, decision, wanted, is_absent, limit)
  local preferred = preferred_of(decision, wanted)
  outcome.asked = outcome.asked + 1
  if is_absent then
    outcome.absent = outcome.absent + 1
  elseif preferred == wanted then
    outcome.agreed = outcome.agreed + 1
    return
  end
  if #outcome.differences < limit then
    table.insert(outcome.differences, difference(decision, wanted, preferred))
  else
    outcome.is_complete = false
  end
end

local function follow_scores(spec, told, limit, routing, absent)
  local made = traced(spec)
  made.routing = routing
  if spec.cluster.prefill_instances then -- its stage does not follow
    made.disaggregation = copy(spec.disaggregation or {})
    made.disaggregation.prefill_routing = made.disaggregation.prefill_routing or spec.routing
  end
  local trace = experiment.run(made).decisions
  local outcome = { asked = 0, agreed = 0, absent = 0, differences = {}, is_complete = true,
    scorers = trace:scorers() }
  local counts = {}
  for _, decision in ipairs(routings(trace)) do
    local key = key_of(counts, decision.request)
    if told[key] then add_answer(outcome, decision, told[key], absent[key], limit) end
  end
  return outcome
end

--- The trace of a run in which the first decisions are pinned.
local function pinned_run(spec, pins)
  local sim = experiment.simulation(spec)
  for _, pin in ipairs(pins) do sim:pin(pin[1], pin[2]) end
  return sim:run().decisions
end

--- Looks for one difference after the other.
local function follow_pins(spec, told, limit)
  local made, pins, checked = traced(spec), {}, 0
  local outcome = { asked = 0, agreed = 0, absent = 0, differences = {}, is_complete = false,
    scorers = {} }
  while true do
    local trace, counts = pinned_run(made, pins), {}
    outcome.scorers = trace:scorers()
    local list, found = routings(trace), false
    for i, decision in ipairs(list) do
      local wanted = told[key_of(counts, decision.request)]
      if wanted and i > checked then
        checked = i
        outcome.asked = outcome.asked + 1
        if decision.chosen ~= wanted then
          table.insert(outcome.differences, difference(decision, wanted, decision.chosen))
          pins[#pins + 1] = { decision.request, wanted }
          found = true
          break
        end
        outcome.agreed = outcome.agreed + 1
      end
    end
    if not found then
      outcome.is_complete = true
      return outcome
    end
    if #outcome.differences >= limit then return outcome end
  end
end

--- What the policies of an experiment would have chosen where told says what was.
---@param spec blis.Experiment
---@param told table<string, string> instance by request, as shadow.choices has them
---@param limit? integer maximum number of differences in the report (default 100)
---@return blis.shadow.Outcome
function shadow.follow(spec, told, limit)
  limit = limit or 100
  local absent = {}
  local routing = following(spec.routing, told, absent)
  if routing then return follow_scores(spec, told, limit, routing, absent) end
  return follow_pins(spec, told, limit)
end

--- The choices of a trace, by request; those of a request that is routed once more have "/2" and so
--- on behind its id.
---@param trace blis.Decisions
---@return table<string, string>
function shadow.choices(trace)
  local told, counts = {}, {}
  for _, decision in ipairs(routings(trace)) do
    told[key_of(counts, decision.request)] = decision.chosen
  end
  return told
end

return shadow
