--- Recorded decisions, taken again by another policy with the same inputs.
---
--- Each scorer of the policy returns the score that was recorded under its name, or is evaluated on
--- the recorded state (rescore.lua). Scorers that need more input cannot be replayed; an error
--- names them.
local errors = require "blis.errors"
local explain = require "blis.production.explain"
local policy = require "blis.policy"
local rescore = require "blis.production.rescore"

local replay = {}

---@class blis.replay.Difference
---@field request string
---@field recorded string
---@field preferred string
---@field terms blis.explain.Term[] why the policy prefers its own

---@class blis.replay.Outcome
---@field decisions integer
---@field agreed integer
---@field absent integer the recorded choice is among no candidates
---@field differences blis.replay.Difference[] the first ones
---@field asked table<string, string> by scorer: "recorded" or "asked"

local tie = 1e-12

--- The scorers of a policy with weights that sum to 1.
local function scorers_of(routing, name)
  local read = policy.read_router(routing, "routing")
  if not read.scorers then
    errors.invalid("%s: %s does not add up scores, so records do not show what it would choose; "
      .. "use blis gate to compare any two policies", name, read.label)
  end
  if read.filters then errors.invalid("%s: filters cannot be replayed", name) end
  local all, list = 0, {}
  for _, item in ipairs(read.scorers) do all = all + item.weight end
  for i, item in ipairs(read.scorers) do
    list[i] = { name = item.scorer.name, weight = item.weight / all, definition = item.scorer }
  end
  return list
end

--- Where the scores of each scorer come from; raises for one that cannot be had.
local function prepare(scorers, found, name)
  local asked = {}
  for _, scorer in ipairs(scorers) do
    scorer.source = rescore.source(scorer.definition, found, name)
    asked[scorer.name] = scorer.source.how
  end
  return asked
end

--- Scores by candidate, and their sum.
local function evaluate(scorers, decision)
  local candidates, lists = {}, {}
  for k, scorer in ipairs(scorers) do lists[k] = scorer.source.scores(decision) end
  for i, one in ipairs(decision.candidates) do
    local own = { instance = one.instance, scores = {}, score = 0.0 }
    for k, scorer in ipairs(scorers) do
      local score = math.max(0, math.min(1, lists[k][i]))
      own.scores[scorer.name] = score
      own.score = own.score + scorer.weight * score
    end
    candidates[i] = own
  end
  return { candidates = candidates }
end

local function best_of(asked, recorded)
  local best, own
  for _, one in ipairs(asked.candidates) do
    if one.instance == recorded then own = one end
    if not best or one.score > best.score then best = one end
  end
  if own and own.score >= best.score - tie then best = own end
  return best.instance, own ~= nil
end

--- Replays records against a routing policy.
---@param found blis.records.List
---@param routing any
---@param name string
---@param limit integer maximum number of differences in the report
---@return blis.replay.Outcome
function replay.run(found, routing, name, limit)
  local scorers = scorers_of(routing, name)
  local outcome = { decisions = #found.decisions, agreed = 0, absent = 0, differences = {},
    asked = prepare(scorers, found, name), scorers = scorers }
  for _, decision in ipairs(found.decisions) do
    local asked = evaluate(scorers, decision)
    local preferred, is_there = best_of(asked, decision.chosen)
    if not is_there then outcome.absent = outcome.absent + 1 end
    if preferred == decision.chosen then
      outcome.agreed = outcome.agreed + 1
    elseif #outcome.differences < limit then
      table.insert(outcome.differences, { request = decision.request, recorded = decision.chosen,
        preferred = preferred, terms = explain.terms(asked, scorers, preferred, decision.chosen) })
    end
  end
  return outcome
end

return replay
