--- Why one candidate ranked above another: the contribution of each scorer to both.
local sorted = require "blis.sorted"

local explain = {}

---@class blis.explain.Term a scorer's part in a difference
---@field scorer string
---@field weight number normalised: all weights sum to 1
---@field a number its score of the first one
---@field b number of the second one
---@field gain number weight times how much more it gives the first one

local function candidate_of(decision, instance)
  for _, one in ipairs(decision.candidates or {}) do
    if one.instance == instance then return one end
  end
end

--- What speaks for instance a against instance b, the most first; empty for policies that do not
--- add up scores.
---@param decision blis.Decision
---@param scorers { name: string, weight: number }[]
---@param a string
---@param b string
---@return blis.explain.Term[]
function explain.terms(decision, scorers, a, b)
  local first, second, terms = candidate_of(decision, a), candidate_of(decision, b), {}
  if not (first and second and first.scores and second.scores) then return terms end
  for i, scorer in ipairs(scorers) do
    local x, y = first.scores[scorer.name], second.scores[scorer.name]
    terms[i] = { scorer = scorer.name, weight = scorer.weight, a = x, b = y,
      gain = scorer.weight * (x - y) }
  end
  return sorted.by_highest(terms, "gain", "scorer")
end

local function signals_of(one)
  return ("%d waiting, %d running, %d in flight, %.0f %% of the KV cache"):format(one.queue_depth,
    one.batch_size, one.in_flight, 100 * one.kv_utilization)
end

--- The signals of a candidate as a string; "not a candidate" if it was none.
---@param decision blis.Decision
---@param instance string
---@return string
function explain.signals(decision, instance)
  local one = candidate_of(decision, instance)
  return one and signals_of(one) or "not a candidate"
end

--- The score of a candidate; nil when it was none.
function explain.score(decision, instance)
  local one = candidate_of(decision, instance)
  return one and one.score
end

--- One line: the scorers that decided for a against b.
---@param terms blis.explain.Term[]
---@return string
function explain.text(terms)
  local parts = {}
  for _, term in ipairs(terms) do
    if term.gain ~= 0 then
      parts[#parts + 1] = ("%s %+.3f (%.3g x (%.3f - %.3f))"):format(term.scorer, term.gain,
        term.weight, term.a, term.b)
    end
  end
  if #terms == 0 then return "the policy does not add up scores" end
  return #parts == 0 and "equal scores: the tie rule" or table.concat(parts, ", ")
end

return explain
