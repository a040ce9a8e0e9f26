--- Recorded decisions, taken again by another policy with the same inputs.
---
--- Each scorer of the policy gives the score that is recorded under its name, or is asked with the
--- signals that are recorded; one that needs more cannot be replayed, and is named.
local errors = require "blis.errors"
local explain = require "blis.production.explain"
local policy = require "blis.policy"

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

-- Of the request only that is known: a scorer that reads its prompt says so.
local request = { prompt_tokens = 64, shared_tokens = 64 }

-- Scorers that go by what they remember of earlier requests.
local remembers = { ["llm-d.session-affinity-scorer"] = true, ["no-hit-lru"] = true,
  ["llm-d.no-hit-lru-scorer"] = true }

--- The scorers of a policy with weights that sum to 1.
local function scorers_of(routing, name)
  local read = policy.read_router(routing, "routing")
  if not read.scorers then
    errors.invalid("%s: %s does not add up scores, so records do not tell what it would do; blis "
      .. "gate compares any two policies", name, read.label)
  end
  if read.filters then errors.invalid("%s: filters cannot be replayed", name) end
  local all, list = 0, {}
  for _, item in ipairs(read.scorers) do all = all + item.weight end
  for i, item in ipairs(read.scorers) do
    list[i] = { name = item.scorer.name, weight = item.weight / all, definition = item.scorer }
  end
  return list
end

local function is_recorded(decisions, name)
  for _, decision in ipairs(decisions) do
    for _, one in ipairs(decision.candidates) do
      if type(one.scores[name]) ~= "number" then return false end
    end
  end
  return true
end

--- The scorer as it is asked about candidates of one's own; nil when it cannot be.
local function by_hand(definition, decision)
  if not definition.parameters or remembers[definition.name] then return nil end
  local given = { definition.name }
  for _, parameter in ipairs(definition.parameters) do given[parameter.name] = parameter.value end
  local scorer, list = policy.scorer(given), {}
  for i, one in ipairs(decision.candidates) do list[i] = one.signals end
  local ok, problem = pcall(scorer.score_all, scorer, request, list)
  if not ok then return nil, problem end
  return scorer
end

--- How each scorer is had; raises for one that cannot be.
local function prepare(scorers, decisions, name)
  local asked = {}
  for _, scorer in ipairs(scorers) do
    asked[scorer.name] = "recorded"
    if not is_recorded(decisions, scorer.name) then
      local made, problem = by_hand(scorer.definition, decisions[1])
      if not made then
        errors.invalid("%s: scorer '%s' cannot be replayed: its scores are not recorded%s", name,
          scorer.name, problem and ", and " .. tostring(type(problem) == "table"
            and problem.message or problem) or "")
      end
      scorer.made, asked[scorer.name] = made, "asked"
    end
  end
  return asked
end

--- Scores by candidate, and their sum.
local function evaluate(scorers, decision)
  local candidates, lists = {}, {}
  for _, scorer in ipairs(scorers) do
    if scorer.made then
      local list = {}
      for i, one in ipairs(decision.candidates) do list[i] = one.signals end
      lists[scorer.name] = scorer.made:score_all(request, list)
    end
  end
  for i, one in ipairs(decision.candidates) do
    local own = { instance = one.instance, scores = {}, score = 0.0 }
    for _, scorer in ipairs(scorers) do
      local score = lists[scorer.name] and lists[scorer.name][i] or one.scores[scorer.name]
      score = math.max(0, math.min(1, score))
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
---@param limit integer differences that are kept
---@return blis.replay.Outcome
function replay.run(found, routing, name, limit)
  local scorers = scorers_of(routing, name)
  local outcome = { decisions = #found.decisions, agreed = 0, absent = 0, differences = {},
    asked = prepare(scorers, found.decisions, name), scorers = scorers }
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
