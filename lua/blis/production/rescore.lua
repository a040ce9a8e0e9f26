--- Scores of candidates in recorded decisions: the recorded score, or the scorer's result for the
--- recorded state. The record contains less than a run. A scorer that reads anything else is
--- rejected, with the missing name.
local errors = require "blis.errors"
local policy = require "blis.policy"
local sorted = require "blis.sorted"

local rescore = {}

---@class blis.rescore.Source
---@field how "recorded"|"asked"
---@field scores fun(decision: blis.records.Decision): number[] by candidate

-- Scorers whose result depends on earlier requests.
local remembers = { ["llm-d.session-affinity-scorer"] = true, ["no-hit-lru"] = true,
  ["llm-d.no-hit-lru-scorer"] = true }

-- What stands for a prompt of which nothing is known.
local some_tokens = 64

local function message_of(problem)
  return tostring(type(problem) == "table" and problem.message or problem)
end

local function cannot(name, scorer, why)
  errors.invalid("%s: scorer '%s' cannot be replayed: its scores are not recorded%s", name, scorer,
    why and ", and " .. why or "")
end

-- Recorded scores.

local function is_recorded(decisions, name)
  for _, decision in ipairs(decisions) do
    for _, one in ipairs(decision.candidates) do
      if type(one.scores[name]) ~= "number" then return false end
    end
  end
  return true
end

local function recorded(name)
  return function(decision)
    local list = {}
    for i, one in ipairs(decision.candidates) do list[i] = one.scores[name] end
    return list
  end
end

-- Built-in scorers.

--- A scorer on custom candidates; only the length of the prompt is available, and a scorer that
--- reads its content reports this.
local function built_in(definition)
  local given = { definition.name }
  for _, parameter in ipairs(definition.parameters) do given[parameter.name] = parameter.value end
  local scorer = policy.scorer(given)
  return function(decision)
    local tokens = decision.facts.prompt_tokens or some_tokens
    local list = {}
    for i, one in ipairs(decision.candidates) do list[i] = one.signals end
    return scorer:score_all({ prompt_tokens = tokens, shared_tokens = tokens }, list)
  end
end

-- Scorers in Lua.

--- A table with only the recorded fields, which reports other accesses.
local function only(values, may_be_nil, what)
  return setmetatable({}, {
    __index = function(_, key)
      local value = values[key]
      if value == nil and not may_be_nil[key] then
        error({ message = ("it reads %s.%s, which is not recorded"):format(what, tostring(key)) },
          0)
      end
      return value
    end,
    __newindex = function(_, key)
      error({ message = ("it writes %s.%s, which is read-only"):format(what, tostring(key)) }, 0)
    end,
  })
end

--- The places of all instances in the record: those of a run by their numbers, endpoints by name.
local function places_of(decisions)
  local names, places = {}, {}
  for _, decision in ipairs(decisions) do
    for _, one in ipairs(decision.candidates) do names[one.instance] = true end
  end
  for i, name in ipairs(sorted.names(names)) do
    places[name] = math.tointeger((tonumber(name:match "^instance_(%d+)$") or i - 1) + 1)
  end
  return places
end

local function views_of(decision, places)
  local views = {}
  for i, one in ipairs(decision.candidates) do
    local values = { id = one.instance, index = places[one.instance] }
    for name, value in pairs(one.signals) do values[name] = value end
    views[i] = only(values, {}, "instance")
  end
  return views
end

local function check_score(score, decision)
  if type(score) == "number" and score == score then return score end
  error({ message = ("for request %s it returns %s, expected a number"):format(decision.request,
    errors.show(score)) }, 0)
end

-- By the form of a scorer: its scores of all candidates.
local askers = {}

function askers.candidate(definition, request, views, base)
  local list = {}
  for i, view in ipairs(views) do list[i] = definition.score(request, view, base and base[i]) end
  return list
end

function askers.all(definition, request, views, base)
  local list = {}
  for i = 1, #views do list[i] = base and base[i] or 0 end
  return definition.score(request, views, list) or list
end

local function in_lua(definition, base, found)
  local places, ask = places_of(found.decisions), askers[definition.form]
  return function(decision)
    local request = only(decision.facts, found.facts, "request")
    local list = ask(definition, request, views_of(decision, places), base
      and base.scores(decision))
    for i = 1, #decision.candidates do check_score(list[i], decision) end
    return list
  end
end

--- The reason why a Lua scorer cannot be evaluated later; nil if it can.
local function obstacle(definition)
  if definition.make or definition.observe or definition.on_event then
    return "its result depends on earlier requests of a run"
  elseif not askers[definition.form] then
    return "it works on columns, which a record does not have"
  end
end

local source_of

--- The evaluation function of a scorer; nil and a reason if it cannot be evaluated.
local function asked(definition, found)
  if definition.parameters then
    if remembers[definition.name] then return nil, "its result depends on earlier requests of a "
      .. "run" end
    return built_in(definition)
  end
  local why = obstacle(definition)
  if why then return nil, why end
  local base
  if definition.base then
    base, why = source_of(definition.base, found)
    if not base then return nil, ("'%s', which it builds on, neither: %s"):format(
      definition.base.name, why) end
  end
  return in_lua(definition, base, found)
end

--- Where the scores of a scorer come from; nil and why when they cannot be had.
---@return blis.rescore.Source?
---@return string?
function source_of(definition, found)
  if is_recorded(found.decisions, definition.name) then
    return { how = "recorded", scores = recorded(definition.name) }
  end
  local scores, why = asked(definition, found)
  if not scores then return nil, why end
  local ok, problem = pcall(scores, found.decisions[1])
  if not ok then return nil, message_of(problem) end
  return { how = "asked", scores = scores }
end

--- The source of a scorer's scores; raises and says what is missing.
---@param definition table of the scorer
---@param found blis.records.List
---@param name string of the policy
---@return blis.rescore.Source
function rescore.source(definition, found, name)
  local source, why = source_of(definition, found)
  if not source then cannot(name, definition.name, why) end
  local ask = source.scores
  function source.scores(decision)
    local ok, list = pcall(ask, decision)
    if not ok then cannot(name, definition.name, message_of(list)) end
    return list
  end
  return source
end

return rescore
