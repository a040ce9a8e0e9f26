--- Notes about scores and about the order of requests. What makes metrics misleading is in
--- blis.results.verdict.
local format = require "blis.format"

local signs = {}

local count = format.count

--- Scores that a pipeline has clamped, so that its instances look alike.
---@param clamped? table[] as the core lists them
---@return string[]
function signs.of_scores(clamped)
  local lines = {}
  for i, one in ipairs(clamped or {}) do
    lines[i] = ("scorer %s: %s of %s scores were outside 0 to 1 (%.4g to %.4g) and count as 0 or "
      .. "1, so instances get equal scores; scale them, as in 1 / (1 + instance.queue_depth)")
      :format(
      one.name, count(one.outside), count(one.scores), one.least, one.most)
  end
  return lines
end

--- Returns what the order of requests shows, a sentence each: priority inversions and head-of-line
--- blocking. Nothing without records.
---@param r blis.Result
---@return string[]
function signs.ordering(r)
  if not r.keeps_records or #r.requests == 0 then return {} end
  local lines = {}
  if r.priority_inversions > 0 then
    lines[1] = ("%s priority inversions: a less urgent request was scheduled while a more urgent "
      .. "request of its queue waited; check scheduler"):format(count(r.priority_inversions))
  end
  if r.hol_blocking_events > 0 then
    lines[#lines + 1] = ("%s requests waited while less urgent requests of their queue completed "
      .. "(head-of-line blocking); check scheduler and preemption"):format(
      count(r.hol_blocking_events))
  end
  return lines
end

return signs
