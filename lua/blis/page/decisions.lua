--- Decisions of a run that are worth a look.
local format = require "blis.format"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local decisions = {}

local most = 10

--- The routing decisions with the highest regret by the policy's own scores.
local function regretted(trace)
  local list = {}
  for i = 1, #trace do
    local one = trace[i]
    if one.regret and one.regret > 0 then list[#list + 1] = one end
  end
  return sorted.by_highest(list, "regret", "time_us")
end

--- "instance_2 0.913, instance_0 0.421": the first few, best first.
local function candidates_text(one)
  local list = {}
  for _, candidate in ipairs(one.candidates or {}) do list[#list + 1] = candidate end
  sorted.by_highest(list, "score", "instance")
  local words = {}
  for i = 1, math.min(#list, 4) do
    words[i] = ("%s %.4g"):format(list[i].instance, list[i].score)
  end
  return table.concat(words, ", ") .. (#list > 4 and ", ..." or "")
end

--- What a trace tells; nothing without one.
---@param r blis.Result
---@return blis.page.Element?
function decisions.section(r)
  local trace = rawget(r, "decisions")
  if not trace then return nil end
  local sums, list = trace:summary(), regretted(trace)
  local cards = parts.cards {
    { "decisions on admission", format.count(sums.total) },
    { "rejected", format.count(sums.rejected) },
    { "routed", format.count(sums.routed) },
    { "mean regret by score", format.number(sums.mean_regret, 4) },
    { "highest", format.number(sums.max_regret, 4) },
  }
  local rows = {}
  for i = 1, math.min(#list, most) do
    local one = list[i]
    rows[i] = { one.request or "-", format.number(one.time_us / 1e6, 3), one.chosen or "-",
      ("%.4g"):format(one.score or 0), ("%.4g"):format(one.regret), candidates_text(one) }
  end
  return parts.section("decisions", "Decisions", cards, #rows == 0 and {} or
    parts.table("Routing decisions with the most regret by the policy's own scores.", { "request",
      "time (s)", "chosen", "score", "regret", "candidates, best first" }, rows, { [6] = true }))
end

return decisions
