--- Routing policies: built-in ones by name, scripted ones as functions, and how an experiment
--- names them.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local definition = require "blis.policy.definition"
local errors = require "blis.errors"
local listening = require "blis.policy.listening"
local schema = require "blis.config.schema"

local policy = {}

---@class blis.Policy what blis.scorer, blis.router and their like return
---@field kind string
---@field name string

local builtin = definition.builtin
local check_function, check_name = definition.check_function, definition.check_name
local named_fields = definition.named_fields

---@type blis.Section
local scorer_section = {
  name = "scorer",
  summary = "A scorer in Lua.",
  options = listening.with {
    { name = "name", type = "any", doc = "a string" },
    { name = "score", type = "any", doc = "a function(request, instance) that returns a number" },
    { name = "columns", type = "boolean", default = false, doc = "score works on columns" },
    { name = "score_all", type = "any", doc = "a function(request, instances, scores)" },
    { name = "observe", type = "any", doc = "a function(request, chosen)" },
    { name = "base", type = "any", doc = "the scorer that this one builds on" },
  },
}

-- Scorers that build on each other, at most; one that builds on itself has no end.
local deepest_base = 16

local function check_depth(path)
  local _, depth = path:gsub("%.base", "")
  if depth > deepest_base then
    errors.invalid("%s: more than %d scorers build on each other; check for a cycle",
      path:match "^[^.]*", deepest_base)
  end
end

local function scripted_scorer(given, path)
  check_depth(path)
  local values = schema.read(scorer_section, given, path)
  local score = check_function(values, "score", path)
  local score_all = check_function(values, "score_all", path)
  if (score == nil) == (score_all == nil) then
    errors.invalid("%s: expected one of score and score_all", path)
  end
  if score_all and values.columns then
    errors.invalid("%s: columns = true requires score, not score_all", path)
  end
  local base = values.base ~= nil and policy.read_scorer(values.base, path .. ".base") or nil
  local scorer = {
    kind = "scorer",
    base = base,
    name = check_name(values.name, path),
    form = score_all and "all" or values.columns and "columns" or "candidate",
    score = score or score_all,
    observe = check_function(values, "observe", path),
  }
  listening.add(values, scorer, path)
  return scorer
end

--- The definition of a scorer however it is written.
---@param given any
---@param path string
---@return table
function policy.read_scorer(given, path)
  local made = definition.made("scorer", "scorer", given, path)
  if made then return made end
  if type(given) == "string" then
    return builtin("scorer", catalogue.scorers, given, nil, path)
  end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "the name of a scorer or a table that describes one")
  end
  if given[1] ~= nil then
    local name = given[1]
    if type(name) ~= "string" then
      schema.raise_value(path .. "[1]", name, "the name of a scorer")
    end
    return builtin("scorer", catalogue.scorers, name, named_fields(given, {}, path), path)
  end
  if given.new ~= nil then return definition.fresh("scorer", given, path, scripted_scorer) end
  return scripted_scorer(given, path)
end

--- A scorer: `blis.scorer "queue-depth"`, `blis.scorer { "prefix-affinity", block_size = 16 }`, or
--- `blis.scorer { name =, score = function(request, instance) ... end }`. A scorer rates candidates
--- from 0 (worst) to 1 (best). With `columns = true`, score receives all candidates as columns and
--- returns a column. `score_all = function(request, instances, scores)` fills in a list. `observe =
--- function(request, chosen)` is called after every decision. With `base =` (a scorer in any form),
--- score receives the score of the base as its third argument, and score_all finds it in scores. A
--- scorer with state is `{ name =, new = function(context) local seen = {} return { score = ...,
--- observe = ... } end }`. new is called once for every run (blis.PolicyContext), so that runs of
--- comparisons, sweeps, and clones do not affect each other. All policies accept this form.
---
---@param spec blis.ScorerName|blis.ScorerSpec
---@return blis.Policy
function policy.scorer(spec)
  return core.policy(policy.read_scorer(spec, "scorer"))
end

--- True while a sweep runs a trial: a weight of 0 then omits its scorer, so that a parameter can
--- range over weights from 0.
policy.omits_zero_weights = false

local function is_weight(weight)
  if type(weight) ~= "number" or weight ~= weight or weight == math.huge then return false end
  return weight > 0 or weight == 0 and policy.omits_zero_weights
end

--- One entry of a list of scorers: "name", scorer, or { scorer, weight, parameter = value, ... }.
local function read_weighted(given, path)
  if type(given) ~= "table" then
    return { scorer = policy.read_scorer(given, path), weight = 1 }
  end
  local weight = given[2] == nil and 1 or given[2]
  if not is_weight(weight) then
    schema.raise_value(path .. "[2]", weight, weight == 0
      and "a weight above 0; omit the scorer (a trial of a sweep may give 0)"
      or "a weight above 0")
  end
  local parameters = named_fields(given, {}, path, 2)
  if type(given[1]) == "string" then
    local scorer = builtin("scorer", catalogue.scorers, given[1], parameters, path)
    return { scorer = scorer, weight = weight }
  end
  local key = next(parameters)
  if key ~= nil then
    errors.invalid("%s: parameter '%s' requires the name of a built-in scorer", path,
      tostring(key))
  end
  if given[1] == nil then schema.raise_value(path .. "[1]", nil, "a scorer or its name") end
  return { scorer = policy.read_scorer(given[1], path .. "[1]"), weight = weight }
end

--- The least of the keys that are no places in a list, so that equal scripts give equal errors.
local function odd_key(given)
  local least
  for key in pairs(given) do
    local text = math.type(key) ~= "integer" and tostring(key)
    if text and (not least or text < least) then least = text end
  end
  return least
end

local function check_is_list(given, path, what)
  local key = odd_key(given)
  if key then
    local value = type(given[key]) == "number" and errors.show(given[key]) or "..."
    errors.invalid("%s: %s are applied in order, but a table with names as keys has no order; "
      .. "write { { '%s', %s }, ... }", path, what, key, value)
  end
  if #given == 0 then errors.invalid("%s: the list is empty, expected one or more", path) end
end

--- The value of a parameter as text: a number, true, false, or the text.
local function value_of_text(text)
  local number = tonumber(text)
  if number then return math.tointeger(number) or number end
  if text == "true" or text == "false" then return text == "true" end
  return text
end

--- "block_size=64:capacity=1000" as parameters.
local function parameters_of_text(text, scorer, path)
  local parameters = {}
  for part in (text .. ":"):gmatch "([^:]*):" do
    local key, value = part:match "^%s*([%w_]+)%s*=%s*(.-)%s*$"
    if not key or value == "" then
      errors.invalid("%s: %s of %s is not KEY=VALUE, like 'block_size=64'", path, errors.show(part),
        scorer)
    elseif parameters[key] ~= nil then
      errors.invalid("%s: parameter '%s' of %s is set twice", path, key, scorer)
    end
    parameters[key] = value_of_text(value)
  end
  return parameters
end

--- "name:weight:key=value,..." as a list of scorers.
local function scorers_of_text(text, path)
  local plain, parameters, count = {}, {}, 0
  for part in (text .. ","):gmatch "([^,]*)," do
    count = count + 1
    local name, weight, rest = part:match "^([^:]*):([^:]*):(.*)$"
    plain[count] = name and name .. ":" .. weight or part
    if rest then parameters[count] = parameters_of_text(rest, name:match "^%s*(.-)%s*$", path) end
  end
  local list = errors.located(core.scorer_list, table.concat(plain, ","), path)
  for i, own in pairs(parameters) do
    for key, value in pairs(own) do list[i][key] = value end
  end
  return list
end

--- An ordered list of { scorer = definition, weight = number }.
---@param given string|table
---@param path string
---@return table[]
function policy.read_scorers(given, path)
  if type(given) == "string" then given = scorers_of_text(given, path) end
  if type(given) ~= "table" or core.policy_definition(given) then
    schema.raise_value(path, given, "a list of { scorer, weight } or a string 'name:weight,...'")
  end
  check_is_list(given, path, "scorers")
  local list, seen = {}, {}
  for i, item in ipairs(given) do
    local weighted = read_weighted(item, ("%s[%d]"):format(path, i))
    local name = weighted.scorer.name
    if seen[name] then errors.invalid("%s[%d]: duplicate scorer '%s'", path, i, name) end
    seen[name] = true
    if weighted.weight > 0 then list[#list + 1] = weighted end
  end
  if #list == 0 then
    errors.invalid("%s: all weights are 0; expected at least one above 0", path)
  end
  return list
end

---@type blis.PolicyKind
local filter_kind = {
  kind = "filter", noun = "filter", builtins = "filters", main = "keep", listens = true,
  signature = "function(request, instance) that returns true or false",
  section = {
    name = "filter",
    summary = "A filter in Lua.",
    options = listening.with {
      { name = "name", type = "any", doc = "a string" },
      { name = "keep", type = "any", doc = "a function(request, instance)" },
      { name = "columns", type = "boolean", default = false, doc = "keep works on columns" },
    },
  },
}

---@type blis.PolicyKind
local picker_kind = {
  kind = "picker", noun = "picker", builtins = "pickers", main = "pick", listens = true,
  signature = "function(request, instances, scores) that returns an index",
  section = {
    name = "picker",
    summary = "A picker in Lua.",
    options = listening.with {
      { name = "name", type = "any", doc = "a string" },
      { name = "pick", type = "any", doc = "a function(request, instances, scores)" },
    },
  },
}

--- A filter, the first stage of routing: `blis.filter "llm-d.utilization-filter"`, or `blis.filter
--- { name =, keep = function(request, instance) return true end }`. With `columns = true`, keep
--- gets all candidates as columns and returns a column, in which 0 means out. When no candidate
--- is left the request is rejected, reason no-candidate.
---@param spec blis.FilterName|blis.FilterSpec
---@return blis.Policy
function policy.filter(spec)
  return core.policy(definition.read(filter_kind, spec, "filter"))
end

--- A picker, the last stage of routing: `blis.picker "softmax"`, or `blis.picker { name =, pick =
--- function(request, instances, scores) return index end }`. Scores are sums of weighted scores
--- from 0 to 1.
---@param spec blis.PickerName|blis.PickerSpec
---@return blis.Policy
function policy.picker(spec)
  return core.policy(definition.read(picker_kind, spec, "picker"))
end

local function read_filters(given, path)
  if type(given) ~= "table" or core.policy_definition(given) then
    schema.raise_value(path, given, "a list of filters")
  end
  check_is_list(given, path, "filters")
  local list = {}
  for i, item in ipairs(given) do
    list[i] = definition.read(filter_kind, item, ("%s[%d]"):format(path, i))
  end
  return list
end

--- "prefix-affinity:3,queue-depth:2"; nil without scorers.
local function label_of_scorers(router)
  if not router.scorers then return nil end
  local parts = {}
  for i, item in ipairs(router.scorers) do
    parts[i] = ("%s:%.14g"):format(item.scorer.name, item.weight)
  end
  return table.concat(parts, ",")
end

--- The picker that was named, if any; "picker" for a function.
local function label_of_picker(router)
  if router.picker then return router.picker.name == "" and "picker" or router.picker.name end
  for _, parameter in ipairs(router.parameters or {}) do
    if parameter.name == "picker" then return parameter.value end
  end
end

--- A router's name with filters before and a picker behind it.
local function label_of(router, text)
  for i = #(router.filters or {}), 1, -1 do
    local name = router.filters[i].name
    text = (name == "" and "filter" or name) .. " > " .. text
  end
  local picker = label_of_picker(router)
  return picker and text .. " > " .. picker or text
end

--- A built-in picker is parameters of the router, so that it needs no more than its name there; one
--- in Lua is a stage of its own, which is returned.
---@param parameters table gets those of a built-in picker
local function take_picker(parameters, path)
  if parameters.picker == nil then return end
  local picker = definition.read(picker_kind, parameters.picker, path .. ".picker")
  if not picker.parameters then
    parameters.picker = nil
    return picker
  end
  parameters.picker = picker.name
  for _, own in ipairs(picker.parameters) do
    if parameters[own.name] ~= nil then
      errors.invalid("%s: '%s' is set twice, in picker and next to it", path, own.name)
    end
    parameters[own.name] = own.value
  end
end

--- Whether a score that a scorer in Lua does not give counts as 0; else it is an error.
local function read_missing_scores(given, path)
  if given.missing_scores == nil then return nil end
  if given.scorers == nil then
    errors.invalid("%s: missing_scores requires scorers", path)
  end
  return schema.check_value({ type = "choice", choices = { "error", "zero" } },
    given.missing_scores, path .. ".missing_scores") == "zero"
end

--- The stages of the weighted policy that are more than parameters.
local function add_stages(router, given, picker, path)
  if given.scorers ~= nil then
    router.scorers = policy.read_scorers(given.scorers, path .. ".scorers")
  elseif given.filters ~= nil or picker then
    errors.invalid("%s: filters and pickers in Lua require scorers", path)
  end
  if given.filters ~= nil then
    router.filters = read_filters(given.filters, path .. ".filters")
  end
  router.missing_is_zero = read_missing_scores(given, path)
  router.picker = picker
end

local function builtin_router(given, path)
  local name = given[1]
  if type(name) ~= "string" then schema.raise_value(path .. "[1]", name, "the name of a policy") end
  local entry = definition.entry("routing policy", catalogue.routers, name, path)
  local has_stages = entry.name == "weighted"
  local except = { name = true, scorers = has_stages, filters = has_stages,
    missing_scores = has_stages }
  local parameters = named_fields(given, except, path)
  local has_picker = has_stages or entry.name == "weighted-stateless"
  local picker = has_picker and take_picker(parameters, path)
  local router = builtin("routing policy", catalogue.routers, name, parameters, path)
  router.kind = "router"
  router.given_label = given.name ~= nil and check_name(given.name, path) or nil
  if has_stages then
    add_stages(router, given, picker, path)
  elseif picker then
    errors.invalid("%s: a picker in Lua requires 'weighted' and its scorers", path)
  end
  return router
end

local function scripted_router(route, name)
  return { kind = "router", name = name, route = route }
end

---@type blis.Section
local router_section = {
  name = "router",
  summary = "A routing policy in Lua.",
  options = listening.with {
    { name = "name", type = "any", doc = "a string" },
    { name = "route", type = "any",
      doc = "a function(request, instances) that returns an index, or blis.reject(reason)" },
    { name = "observe", type = "any", doc = "a function(request, chosen)" },
  },
}

local function router_of_fields(given, path)
  local values = schema.read(router_section, given, path)
  local route = check_function(values, "route", path)
  if not route then schema.raise_value(path .. ".route", nil, "a function(request, instances)") end
  local router = scripted_router(route, check_name(values.name, path))
  router.observe = check_function(values, "observe", path)
  listening.add(values, router, path)
  return router
end

--- The definition of a routing policy, from any of its forms. Results show its label: the `name` of
--- a built-in policy if given, else its name with scorers, filters, and picker. short_label omits
--- the scorers, which are in scorers_label.
---@param given any
---@param path string
---@return table
function policy.read_router(given, path)
  local router = definition.made("router", "routing policy", given, path)
  if router then
    return router
  elseif type(given) == "function" then
    router = scripted_router(given, "function")
  elseif type(given) == "string" then
    router = builtin_router({ given }, path)
  elseif type(given) == "table" and given[1] ~= nil then
    router = builtin_router(given, path)
  elseif type(given) == "table" and next(given) ~= nil then
    router = given.new ~= nil and definition.fresh("router", given, path, router_of_fields)
      or router_of_fields(given, path)
  else
    schema.raise_value(path, given,
      "the name of a policy, { name, parameter = value, ... } or a function(request, instances)")
  end
  router.scorers_label = label_of_scorers(router)
  router.short_label = router.given_label or label_of(router, router.name)
  router.label = router.given_label or router.scorers_label
    and label_of(router, ("%s(%s)"):format(router.name, router.scorers_label))
    or router.short_label
  return router
end

--- A routing policy: `blis.router "round-robin"`, `blis.router { "weighted", scorers = ... }`, or
--- `blis.router { name =, route = function(request, instances, context) return index end }`; `new`
--- works as in scorers. The second return value can be a priority of the request (higher is more
--- urgent), or `{ reason =, scores =, priority = }`: decision logs have the reason, and the scores
--- (a list by candidate, or a table by instance id) from which regret is computed. `return
--- blis.reject(reason)` rejects the request. `observe = function(request, chosen)` is
--- called after its decisions. In a disaggregated cluster, the policy is called for each stage, and
--- the priority of the last stage applies. context has the fields of blis.StageContext. The policy
--- of the decode stage may return { prefill =, decode = } (instances or indexes). In this case, the
--- disaggregation policy is not called.
---
--- Routers, scorers, filters, pickers, and admission policies in Lua may have `on_event =
--- function(event, instances)` with `events = { "prefill_complete", ... }`. It is called after each
--- of these events (blis.RunEvent), with the live instances of the simulation. Only listed events
--- are delivered. token_generated and batch_schedule are slow (a factor of ten or more): blis
--- computes every step individually and calls the function for each token or step. Each further
--- event costs one call. `custom_metrics = function() return { name = number } end` is called at
--- the end of the run: result.custom_metrics. In `{ "weighted", scorers = ..., missing_scores =
--- "zero" }`, a missing score of a scorer in Lua (nil, or not in the list) counts as 0; otherwise,
--- it is an error.
---@param spec blis.RouterName|blis.RouterSpec
---@return blis.Policy
function policy.router(spec)
  return core.policy(policy.read_router(spec, "router"))
end

--- What scripted ones may say, for who describes it.
policy.sections = { router = router_section, scorer = scorer_section, filter = filter_kind.section,
  picker = picker_kind.section }

return policy
