--- Decisions that a change of policy changes, with the same state before both, and what no policy
--- should do.
local experiment = require "blis.experiment"
local explain = require "blis.production.explain"
local shadow = require "blis.production.shadow"
local subject = require "blis.production.subject"

local changes = {}

---@class blis.gate.Change
---@field request string
---@field time_us integer
---@field base string what the old policy chose
---@field new string what the new one would have
---@field base_terms blis.explain.Term[] why the old one prefers its choice
---@field new_terms blis.explain.Term[] why the new one prefers its own
---@field base_signals string of the old choice
---@field new_signals string of the new one
---@field dominated? boolean the new choice is worse in everything that is known

---@class blis.gate.Changes of one scenario, with the first seed
---@field asked integer decisions
---@field changed integer
---@field is_complete boolean
---@field list blis.gate.Change[] the first ones
---@field dominated { base: number, new: number } shares of decisions

local function traced(one, scenario, seed)
  local spec = subject.experiment(one, scenario, seed)
  spec.trace_level = "decisions"
  return spec
end

-- What of a request may speak for an instance whatever its load.
local function is_about_request(name)
  return name:find "prefix" or name:find "session" or name:find "hit" or name:find "affinity"
end

--- Whether a has no more load than b by any signal, clearly less by one, and knows as much of the
--- request.
local function is_better(a, b)
  if a.queue_depth > b.queue_depth or a.in_flight > b.in_flight
    or a.kv_utilization > b.kv_utilization then
    return false
  end
  for name, score in pairs(a.scores or {}) do
    local is_inverted = name:find "^inverted"
    if is_about_request(name) and (is_inverted and score > b.scores[name]
      or not is_inverted and score < b.scores[name]) then
      return false
    end
  end
  return b.in_flight - a.in_flight >= 2 and b.queue_depth > a.queue_depth
end

--- Whether some candidate is better than the chosen one in everything.
local function is_dominated(decision, chosen)
  local own
  for _, one in ipairs(decision.candidates or {}) do
    if one.instance == chosen then own = one end
  end
  if not own then return false end
  for _, one in ipairs(decision.candidates) do
    if one ~= own and is_better(one, own) then return true end
  end
  return false
end

local function dominated_share(trace)
  local count, all = 0, 0
  for i = 1, #trace do
    local decision = trace[i]
    if decision.kind == "routing" and decision.chosen then
      all = all + 1
      if is_dominated(decision, decision.chosen) then count = count + 1 end
    end
  end
  return all > 0 and count / all or 0
end

local function by_request(trace)
  local found = {}
  for i = 1, #trace do
    local one = trace[i]
    if one.kind == "routing" and not found[one.request] then found[one.request] = one end
  end
  return found
end

local function change_of(difference, outcome, decided, base_scorers)
  local told, preferred = difference.told, difference.preferred
  local before = decided[difference.request]
  return {
    request = difference.request, time_us = difference.time_us, base = told, new = preferred,
    base_terms = explain.terms(before, base_scorers, told, preferred),
    new_terms = explain.terms(difference.asked, outcome.scorers, preferred, told),
    base_signals = explain.signals(difference.asked, told),
    new_signals = explain.signals(difference.asked, preferred),
    dominated = is_dominated(difference.asked, preferred),
  }
end

--- The clearest first: those that no policy should make, then in the order of time.
local function sort(list)
  local order = {}
  for i, one in ipairs(list) do order[one] = i end
  table.sort(list, function(a, b)
    if a.dominated ~= b.dominated then return a.dominated end
    return order[a] < order[b]
  end)
end

--- What the new policy would have decided in a run of the old one.
---@param base blis.production.Subject
---@param new blis.production.Subject
---@param scenario blis.gate.Scenario
---@param seed integer
---@param limit integer
---@return blis.gate.Changes
function changes.find(base, new, scenario, seed, limit)
  local run = experiment.run(traced(base, scenario, seed))
  local own = experiment.run(traced(new, scenario, seed))
  local outcome = shadow.follow(subject.experiment(new, scenario, seed),
    shadow.choices(run.decisions), limit)
  local list, decided = {}, by_request(run.decisions)
  for i, difference in ipairs(outcome.differences) do
    list[i] = change_of(difference, outcome, decided, run.decisions:scorers())
  end
  sort(list)
  return { asked = outcome.asked, changed = outcome.asked - outcome.agreed,
    is_complete = outcome.is_complete, list = list,
    dominated = { base = dominated_share(run.decisions), new = dominated_share(own.decisions) } }
end

return changes
