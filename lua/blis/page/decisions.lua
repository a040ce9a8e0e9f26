--- Decisions of a run that are worth a look: requests that were turned away and why, and routing
--- decisions that were close, clear, or against what their policy or the caches would say.
local format = require "blis.format"
local html = require "blis.page.html"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local decisions = {}

local count, number, percent = format.count, format.number, format.percent

-- Of each kind are told so many. A pass in Lua over more would take long.
local most_told, most_examined = 5, 20000

---@class blis.page.Choice a routing decision
---@field decision blis.Decision
---@field regret number best score minus that of the chosen instance
---@field gap number best score minus the next one, 0 = a tie
---@field uncached number by how much another instance scores more for its cache
---@field cached? string that instance
---@field time_us integer

--- What scorers that look at caches give a candidate, all of them together; nil without any.
local function cache_score(candidate)
  local sum
  for name, score in pairs(candidate.scores or {}) do
    if name:find "prefix" or name:find "cache" then sum = (sum or 0) + score end
  end
  return sum
end

---@param one blis.Decision
---@return blis.page.Choice
local function choice_of(one)
  local best, second, chosen_cached, cached, most_cached = -math.huge, -math.huge, nil, nil, nil
  for _, candidate in ipairs(one.candidates) do
    local score, by_cache = candidate.score, cache_score(candidate)
    if score > best then best, second = score, best else second = math.max(second, score) end
    if candidate.instance == one.chosen then chosen_cached = by_cache end
    if by_cache and (not most_cached or by_cache > most_cached) then
      most_cached, cached = by_cache, candidate.instance
    end
  end
  return { decision = one, time_us = one.time_us, regret = one.regret or 0, gap = best - second,
    uncached = chosen_cached and most_cached - chosen_cached or 0, cached = cached }
end

--- The routing decisions with several candidates, of a long trace every n-th; and n.
local function choices_of(trace)
  local list, step = {}, (#trace + most_examined - 1) // most_examined
  for i = 1, #trace, step do
    local one = trace[i]
    if one.kind == "routing" and one.candidates and #one.candidates > 1 then
      list[#list + 1] = choice_of(one)
    end
  end
  return list, step
end

--- "instance_2 0.913, instance_0 0.421": the first few, best first.
local function candidates_text(one)
  local list = table.move(one.candidates, 1, #one.candidates, 1, {})
  sorted.by_highest(list, "score", "instance")
  local words = {}
  for i = 1, math.min(#list, 4) do
    words[i] = ("%s %.4g"):format(list[i].instance, list[i].score)
  end
  return table.concat(words, ", ") .. (#list > 4 and ", ..." or "")
end

--- A table of the choices with the most of something; nothing where none has any.
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
  return parts.table(("%s (%s, the first %d)"):format(caption, format.plural(#list, "decision"),
    #rows), { "request", "time (s)", "chosen", table.unpack(header) }, rows, { [5] = true }), #list
end

local function ties_of(choices)
  local ties = 0
  for _, choice in ipairs(choices) do ties = ties + (choice.gap == 0 and 1 or 0) end
  return ties
end

--- What a trace tells.
local function routed(trace)
  local sums, choices, step = trace:summary(), choices_of(trace)
  local against_scores = most_of(choices, "regret", "Not the instance with the best score",
    { "score given up", "candidates, best first" })
  local against_caches, uncached = most_of(choices, "uncached",
    "Not the instance that had most of the prompt in its cache, by the policy's own scorers",
    { "cache score given up", "most cached at" })
  local clear = most_of(choices, "gap", "Largest gaps between the best score and the next",
    { "gap", "candidates, best first" })
  local share = #choices > 0 and 1 / #choices or 0
  return {
    parts.cards {
      { "decisions on admission", count(sums.total) }, { "rejected", count(sums.rejected) },
      { "routed", count(sums.routed) }, { "mean regret by score", number(sums.mean_regret, 4) },
      { "highest regret", number(sums.max_regret, 4) },
      { "ties for the best score", percent(ties_of(choices) * share) },
      { "not where most was cached", percent(uncached * share) },
    },
    step > 1 and html.p({ class = "soft" }, ("Of the %s decisions every %d-th was looked at.")
      :format(count(#trace), step)) or {},
    against_scores, against_caches, clear,
  }
end

local is_turned_away = { rejected = true, failed = true, unservable = true, timed_out = true }

--- Why requests were not served, the most frequent reason first.
local function turned_away(r)
  local examined = r.keeps_records and r.completed < r.arrived
    and math.min(#r.requests, most_examined) or 0
  local list, by_key = {}, {}
  for i = 1, examined do
    local request = r.requests[i]
    local state, reason = request.state, request.reason
    if is_turned_away[state] then
      local key = state .. "\n" .. (reason or "")
      local one = by_key[key]
      if not one then
        one = { state = state, reason = reason, requests = 0, first = request, place = i }
        by_key[key], list[#list + 1] = one, one
      end
      one.requests = one.requests + 1
    end
  end
  return sorted.by_highest(list, "requests", "place"), examined
end

local function refusals(r)
  local list, examined = turned_away(r)
  if #list == 0 then return {} end
  local rows = {}
  for i = 1, math.min(#list, most_told) do
    local one = list[i]
    rows[i] = { (one.state:gsub("_", " ")), one.reason and one.reason ~= "" and one.reason or "-",
      count(one.requests), ("%s at %s s"):format(one.first.id,
        number(one.first.arrival_us / 1e6, 3)) }
  end
  local caption = "Requests that were not served" .. (examined < #r.requests
    and (", of the first %s"):format(count(examined)) or "")
    .. (#list > #rows and (", the first %d of %d reasons"):format(#rows, #list) or "")
  return parts.table(caption, { "end", "why", "requests", "the first" }, rows, { [2] = true })
end

---@param r blis.Result
---@return blis.page.Element
function decisions.section(r)
  local trace = rawget(r, "decisions")
  return parts.section("decisions", "Decisions of interest", refusals(r),
    trace and routed(trace) or html.p({ class = "soft" }, "No decisions were kept. Those of "
      .. "routing are here with ", html.code 'trace_level = "decisions"', " or ",
      html.code "--trace-level decisions", "."),
    rawget(r, "scaling") and html.p("What the autoscaler decided is under ",
      html.a({ href = "#scaling" }, "Scaling"), ".") or {})
end

return decisions
