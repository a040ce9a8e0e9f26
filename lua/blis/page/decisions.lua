--- Notable decisions of a run: unserved requests with reasons, and routing decisions that were
--- close, clear, or different from the best score or the best cache hit.
local format = require "blis.format"
local html = require "blis.page.html"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local decisions = {}

local count, number, percent = format.count, format.number, format.percent

-- Number of decisions to list per kind. A Lua pass over more would take too long.
local most_told, most_examined = 5, 20000

local golden_ratio = 0.6180339887498949

-- Scores below this share of others are what rounding leaves of equal ones.
local least_difference = 1e-9

---@class blis.page.Choice a routing decision
---@field decision blis.Decision
---@field regret number best score minus the score of the chosen instance
---@field gap number best score minus the next one, 0 = a tie
---@field uncached number by how much another instance scores more for its cache
---@field cached? string that instance
---@field time_us integer

--- The scorers that look at caches, in the same order in every run.
local function cache_scorers(scores)
  local list = {}
  for _, name in ipairs(sorted.names(scores)) do
    if name:find "prefix" or name:find "cache" then list[#list + 1] = name end
  end
  return list
end

--- The sum of the scores of cache scorers for a candidate; nil without such scorers.
local function cache_score(candidate, scorers)
  if not candidate.scores or #scorers == 0 then return nil end
  local sum = 0
  for _, name in ipairs(scorers) do sum = sum + candidate.scores[name] end
  return sum
end

--- Difference between the highest score and another score.
local function above(most, score)
  local difference = most - score
  return difference > least_difference * math.max(math.abs(most), math.abs(score)) and difference
    or 0
end

---@param one blis.Decision
---@param scorers string[] that look at caches
---@return blis.page.Choice
local function choice_of(one, scorers)
  local best, second, chosen_cached, cached, most_cached = -math.huge, -math.huge, nil, nil, nil
  for _, candidate in ipairs(one.candidates) do
    local score, by_cache = candidate.score, cache_score(candidate, scorers)
    if score > best then best, second = score, best else second = math.max(second, score) end
    if candidate.instance == one.chosen then chosen_cached = by_cache end
    if by_cache and (not most_cached or by_cache > most_cached) then
      most_cached, cached = by_cache, candidate.instance
    end
  end
  return { decision = one, time_us = one.time_us, regret = one.regret or 0, gap = best - second,
    uncached = chosen_cached and above(most_cached, chosen_cached) or 0, cached = cached }
end

--- A sample of the routing decisions with several candidates (one in n); also returns n and the
--- total. The position within each n varies, because decisions of one kind, such as prefills, can
--- be periodic.
local function choices_of(trace)
  local list, scorers, places = {}, {}, trace:choices()
  local step = math.max((#places + most_examined - 1) // most_examined, 1)
  for i = 0, (#places - 1) // step do
    local from = i * step
    local size = math.min(step, #places - from)
    local one = trace[places[from + 1 + math.floor(i * golden_ratio % 1 * size)]]
    local scores, stage = one.candidates[1].scores, one.stage or ""
    scorers[stage] = scorers[stage] or scores and cache_scorers(scores)
    list[#list + 1] = choice_of(one, scorers[stage] or {})
  end
  return list, step, #places
end

--- "instance_2 0.913, instance_0 0.421": the first few, best first.
local function candidates_text(one)
  local list = table.move(one.candidates, 1, #one.candidates, 1, {})
  sorted.by_highest(list, "score", "instance")
  local words = {}
  for i = 1, math.min(#list, 4) do
    words[i] = ("%s %.4g"):format(list[i].instance, list[i].score + 0.0) -- no "-0"
  end
  return table.concat(words, ", ") .. (#list > 4 and ", ..." or "")
end

--- A table of the choices with the largest counts; nothing if all counts are 0.
local function most_of(choices, field, caption, header)
  local list, rows = {}, {}
  for _, choice in ipairs(choices) do
    local value = choice[field]
    if value > 0 and value < math.huge then list[#list + 1] = choice end -- not nan either
  end
  sorted.by_highest(list, field, "time_us")
  for i = 1, math.min(#list, most_told) do
    local one = list[i].decision
    rows[i] = { one.request or "-", number(one.time_us / 1e6, 3), one.chosen or "-",
      ("%.4g"):format(list[i][field]), field == "uncached" and list[i].cached
        or candidates_text(one) }
  end
  if #rows == 0 then return {}, 0 end
  return parts.table(("%s (%s%s)"):format(caption, format.plural(#list, "decision"),
    #list > #rows and (", the first %d"):format(#rows) or ""), { "request", "time (s)", "chosen",
    table.unpack(header) }, rows, { [5] = true }), #list
end

local function ties_of(choices)
  local ties = 0
  for _, choice in ipairs(choices) do ties = ties + (choice.gap == 0 and 1 or 0) end
  return ties
end

--- The decision statistics of a trace.
local function routed(trace)
  local sums, choices, step, all = trace:summary(), choices_of(trace)
  local against_scores = most_of(choices, "regret", "Not the instance with the best score",
    { "score loss", "candidates, best first" })
  local against_caches, uncached = most_of(choices, "uncached",
    "Not the instance that had most of the prompt in its cache, by the policy's own scorers",
    { "cache score loss", "most cached at" })
  local clear = most_of(choices, "gap", "Largest gaps between the best score and the next",
    { "gap", "candidates, best first" })
  local cards = {
    { "admission decisions", count(sums.total) }, { "rejected", count(sums.rejected) },
    { "routed", count(sums.routed) }, { "mean regret by score", number(sums.mean_regret, 4) },
    { "highest regret", number(sums.max_regret, 4) },
  }
  if #choices > 0 then
    cards[6] = { "ties for the best score", percent(ties_of(choices) / #choices) }
    cards[7] = { "not where most was cached", percent(uncached / #choices) }
  end
  return {
    parts.cards(cards),
    step > 1 and html.p({ class = "soft" }, ("Only one in %d of the %s routing decisions between "
      .. "several instances was examined. Fractions, and counts in captions, refer to this sample.")
      :format(step, count(all))) or {},
    against_scores, against_caches, clear,
  }
end

--- Reasons require request records.
local function counted(r)
  local list = {}
  for _, state in ipairs { "rejected", "timed_out", "unservable", "failed" } do
    if r[state] > 0 then
      list[#list + 1] = { state = state, requests = r[state], first = #list + 1 }
    end
  end
  return list
end

local function refusals(r)
  local list = r.keeps_records and r.requests:unserved() or counted(r)
  if #list == 0 then return {} end
  sorted.by_highest(list, "requests", "first")
  local rows = {}
  for i = 1, math.min(#list, most_told) do
    local one = list[i]
    local first = r.keeps_records and r.requests[one.first]
    rows[i] = { (one.state:gsub("_", " ")), one.reason or "-", count(one.requests), first
      and ("%s at %s s"):format(first.id, number(first.arrival_us / 1e6, 3)) or "-" }
  end
  local caption = "Unserved requests"
    .. (#list > #rows and (", the first %d of %d reasons"):format(#rows, #list) or "")
  return parts.table(caption, { "end", "why", "requests", "the first" }, rows, { [2] = true })
end

---@param r blis.Result
---@return blis.page.Element
function decisions.section(r)
  local trace = rawget(r, "decisions")
  return parts.section("decisions", "Decisions of interest", refusals(r),
    trace and routed(trace) or html.p({ class = "soft" }, "No decisions were recorded. To record "
      .. "routing decisions, set ", html.code 'trace_level = "decisions"', " or ",
      html.code "--trace-level decisions", "."),
    rawget(r, "scaling") and html.p("For the decisions of the autoscaler, see ",
      html.a({ href = "#scaling" }, "Scaling"), ".") or {})
end

return decisions
