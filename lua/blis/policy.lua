--- Policies: built-in ones by name, scripted ones as functions, and how an experiment names them.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local policy = {}

local catalogue = core.policies()
local name_limit = 63

---@class blis.Policy a scorer, a routing policy, ...; made by blis.scorer and blis.router
---@field kind string
---@field name string

local function find_entry(entries, name)
  for _, entry in ipairs(entries) do
    if entry.name == name then return entry end
    for _, alias in ipairs(entry.aliases) do
      if alias == name then return entry end
    end
  end
end

local function check_entry(kind, entries, name, path)
  local entry = find_entry(entries, name)
  if entry then return entry end
  local words = {}
  for i, known in ipairs(entries) do words[i] = known.name end
  errors.invalid("%s: unknown %s '%s'%s", path, kind, name, errors.suggestion(name, words))
end

--- The named fields of a table, and the ones in its list part left out.
local function named_fields(given, except)
  local named = {}
  for key, value in pairs(given) do
    if math.type(key) ~= "integer" and not except[key] then named[key] = value end
  end
  return named
end

--- A built-in policy with the parameters that were given, in the order of the catalogue.
local function builtin(kind, entries, name, given, path)
  local entry = check_entry(kind, entries, name, path)
  local values = schema.read(entry, given, path .. " " .. entry.name)
  local parameters = {}
  for _, option in ipairs(entry.options) do
    if values[option.name] ~= nil then
      parameters[#parameters + 1] = { name = option.name, value = values[option.name] }
    end
  end
  return { kind = kind, name = entry.name, parameters = parameters }
end

local function check_name(name, path)
  if type(name) ~= "string" or name == "" or #name > name_limit then
    schema.raise_value(path .. ".name", name, "a text of at most " .. name_limit .. " letters")
  end
  return name
end

local function check_function(given, field, path)
  local value = given[field]
  if value ~= nil and type(value) ~= "function" then
    schema.raise_value(path .. "." .. field, value, "a function")
  end
  return value
end

---@type blis.Section
local scorer_section = {
  name = "scorer",
  summary = "A scorer in Lua.",
  options = {
    { name = "name", type = "any", doc = "a text" },
    { name = "score", type = "any", doc = "a function(request, instance) that returns a number" },
    { name = "columns", type = "boolean", default = false, doc = "score works on columns" },
    { name = "score_all", type = "any", doc = "a function(request, instances, scores)" },
    { name = "observe", type = "any", doc = "a function(request, chosen)" },
    { name = "base", type = "any", doc = "the scorer that this one builds on" },
  },
}

local function scripted_scorer(given, path)
  local values = schema.read(scorer_section, given, path)
  local score = check_function(values, "score", path)
  local score_all = check_function(values, "score_all", path)
  if (score == nil) == (score_all == nil) then
    errors.invalid("%s: expected one of score and score_all", path)
  end
  if score_all and values.columns then
    errors.invalid("%s: columns = true goes with score, not with score_all", path)
  end
  local base = values.base ~= nil and policy.read_scorer(values.base, path .. ".base") or nil
  return {
    kind = "scorer",
    base = base,
    name = check_name(values.name, path),
    form = score_all and "all" or values.columns and "columns" or "candidate",
    score = score or score_all,
    observe = check_function(values, "observe", path),
  }
end

--- The definition of a scorer however it is written.
---@param given any
---@param path string
---@return table
function policy.read_scorer(given, path)
  local definition = core.policy_definition(given)
  if definition then
    if definition.kind ~= "scorer" then
      errors.invalid("%s: this is a %s, expected a scorer", path, definition.kind)
    end
    return definition
  end
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
    return builtin("scorer", catalogue.scorers, name, named_fields(given, {}), path)
  end
  return scripted_scorer(given, path)
end

--- A scorer: `blis.scorer "queue-depth"`, `blis.scorer { "prefix-affinity", block_size = 16 }`, or
--- `blis.scorer { name =, score = function(request, instance) ... end }`. A scorer rates candidates
--- from 0 (worst) to 1 (best). With `columns = true`, score gets all candidates as columns and
--- returns a column; `score_all = function(request, instances, scores)` fills in a list. `observe =
--- function(request, chosen)` hears of every decision. With `base =` (a scorer however it is
--- written) score gets what the base says as its third argument, and score_all finds it in scores.
---@param spec string|table
---@return blis.Policy
function policy.scorer(spec)
  return core.policy(policy.read_scorer(spec, "scorer"))
end

--- One entry of a list of scorers: "name", scorer, or { scorer, weight, parameter = value, ... }.
local function read_weighted(given, path)
  if type(given) ~= "table" then
    return { scorer = policy.read_scorer(given, path), weight = 1 }
  end
  local weight = given[2] == nil and 1 or given[2]
  local is_valid = type(weight) == "number" and weight > 0 and weight < math.huge
  if not is_valid then schema.raise_value(path .. "[2]", weight, "a weight above 0") end
  local parameters = named_fields(given, {})
  if type(given[1]) == "string" then
    local scorer = builtin("scorer", catalogue.scorers, given[1], parameters, path)
    return { scorer = scorer, weight = weight }
  end
  local key = next(parameters)
  if key ~= nil then
    errors.invalid("%s: parameter '%s' goes with the name of a built-in scorer", path,
      tostring(key))
  end
  if given[1] == nil then schema.raise_value(path .. "[1]", nil, "a scorer or its name") end
  return { scorer = policy.read_scorer(given[1], path .. "[1]"), weight = weight }
end

--- "prefix-affinity:3,queue-depth:2"
local function parse_scorers(text, path)
  local list = {}
  for item in (text .. ","):gmatch("([^,]*),") do
    local name, weight = item:match("^%s*([^:%s]+)%s*:%s*(%S+)%s*$")
    name = name or item:match("^%s*([^:%s]+)%s*$")
    if not name or (weight and not tonumber(weight)) then
      errors.invalid("%s: '%s' in '%s' is not allowed, expected name:weight", path, item, text)
    end
    list[#list + 1] = { name, weight and tonumber(weight) or 1 }
  end
  return list
end

local function check_is_list(given, path)
  for key in pairs(given) do
    if math.type(key) ~= "integer" then
      errors.invalid("%s: scorers are applied in order, and a table with names as keys has none; "
        .. "write { { '%s', %s }, ... } or '%s:%s,...'", path, tostring(key), tostring(given[key]),
        tostring(key), tostring(given[key]))
    end
  end
  if #given == 0 then errors.invalid("%s: the list is empty, expected a scorer or more", path) end
end

--- An ordered list of { scorer = definition, weight = number }.
---@param given string|table
---@param path string
---@return table[]
function policy.read_scorers(given, path)
  if type(given) == "string" then given = parse_scorers(given, path) end
  if type(given) ~= "table" or core.policy_definition(given) then
    schema.raise_value(path, given, "a list of { scorer, weight } or a text 'name:weight,...'")
  end
  check_is_list(given, path)
  local list, seen = {}, {}
  for i, item in ipairs(given) do
    local weighted = read_weighted(item, ("%s[%d]"):format(path, i))
    local name = weighted.scorer.name
    if seen[name] then errors.invalid("%s[%d]: scorer '%s' is there twice", path, i, name) end
    seen[name] = true
    list[i] = weighted
  end
  return list
end

local function scripted_router(route, name)
  return { kind = "router", name = name, route = route }
end

--- "weighted(prefix-affinity:3,queue-depth:2)"
local function label_of(definition)
  if not definition.scorers then return definition.name end
  local parts = {}
  for i, item in ipairs(definition.scorers) do
    parts[i] = ("%s:%.14g"):format(item.scorer.name, item.weight)
  end
  return ("%s(%s)"):format(definition.name, table.concat(parts, ","))
end

local function builtin_router(given, path)
  local name = given[1]
  if type(name) ~= "string" then schema.raise_value(path .. "[1]", name, "the name of a policy") end
  local entry = check_entry("routing policy", catalogue.routers, name, path)
  local takes_scorers = entry.name == "weighted"
  local except = takes_scorers and { scorers = true } or {}
  local parameters = named_fields(given, except)
  local definition = builtin("routing policy", catalogue.routers, name, parameters, path)
  definition.kind = "router"
  if takes_scorers and given.scorers ~= nil then
    definition.scorers = policy.read_scorers(given.scorers, path .. ".scorers")
  end
  return definition
end

---@type blis.Section
local router_section = {
  name = "router",
  summary = "A routing policy in Lua.",
  options = {
    { name = "name", type = "any", doc = "a text" },
    { name = "route", type = "any", doc = "a function(request, instances) that returns an index" },
  },
}

--- The definition of a routing policy however it is written; its label is what results call it.
---@param given any
---@param path string
---@return table
function policy.read_router(given, path)
  local definition = core.policy_definition(given)
  if definition then
    if definition.kind ~= "router" then
      errors.invalid("%s: this is a %s, expected a routing policy", path, definition.kind)
    end
  elseif type(given) == "function" then
    definition = scripted_router(given, "function")
  elseif type(given) == "string" then
    definition = builtin_router({ given }, path)
  elseif type(given) == "table" and given[1] ~= nil then
    definition = builtin_router(given, path)
  elseif type(given) == "table" and next(given) ~= nil then
    local values = schema.read(router_section, given, path)
    local route = check_function(values, "route", path)
    if not route then
      schema.raise_value(path .. ".route", nil, "a function(request, instances)")
    end
    definition = scripted_router(route, check_name(values.name, path))
  else
    schema.raise_value(path, given,
      "the name of a policy, { name, parameter = value, ... } or a function(request, instances)")
  end
  definition.label = label_of(definition)
  return definition
end

--- The definition of an admission policy: a function as it is, a built-in one by name.
---@param given any
---@param path string
---@return function|table|nil
function policy.read_admission(given, path)
  if given == nil or type(given) == "function" then return given end
  if type(given) == "string" then given = { given } end
  if type(given) ~= "table" or type(given[1]) ~= "string" then
    schema.raise_value(path, given, "a function(request, cluster), or the name of an admission "
      .. "policy or { name, parameter = value, ... }")
  end
  return builtin("admission policy", catalogue.admissions, given[1],
    named_fields(given, {}), path)
end

--- A routing policy: `blis.router "round-robin"`, `blis.router { "weighted", scorers = ... }`, or
--- `blis.router { name =, route = function(request, instances) return index end }`.
---@param spec any
---@return blis.Policy
function policy.router(spec)
  return core.policy(policy.read_router(spec, "router"))
end

return policy
