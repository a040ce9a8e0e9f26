--- What all kinds of policies have in common: how a script may write one, and the definition, a
--- plain table, that the core makes it from.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local errors = require "blis.errors"
local listening = require "blis.policy.listening"
local schema = require "blis.config.schema"
local sorted = require "blis.sorted"

local definition = {}

local name_limit = 63

--- Properties of a kind of policies.
---@class blis.PolicyKind
---@field kind string "router"
---@field noun string "routing policy"
---@field builtins? string name of the built-in policies in the catalogue, if the kind has any
---@field main string the field with the function of a scripted one
---@field signature string "function(request, instances)"
---@field listens? boolean a scripted one may have on_event and custom_metrics
---@field section blis.Section the fields of a scripted one

local function find_entry(entries, name)
  for _, entry in ipairs(entries) do
    if entry.name == name then return entry end
    for _, alias in ipairs(entry.aliases) do
      if alias == name then return entry end
    end
  end
end

--- The entry of a built-in policy; raises and says which name was meant.
function definition.entry(noun, entries, name, path)
  local entry = find_entry(entries, name)
  if entry then return entry end
  if name:find("/", 1, true) or name:find "%.lua$" then
    errors.invalid("%s: '%s' is a file, expected the name of a %s. Policies of files are used in "
      .. "scripts: see 'blis help own_policy'", path, name, noun)
  end
  local words = {}
  for i, known in ipairs(entries) do words[i] = known.name end
  errors.invalid("%s: unknown %s '%s'%s", path, noun, name, errors.suggestion(name, words))
end

--- The named fields of a table, without some of them. The table may also have a name at [1], or a
--- fixed number of positions; further positions are errors.
---@param given table
---@param except table<string, any>
---@param path string
---@param places? integer
---@return table<string, any>
function definition.named_fields(given, except, path, places)
  local named = {}
  for key, value in pairs(given) do
    local place = math.type(key) == "integer" and key
    if place and (place < 1 or place > (places or 1)) then
      errors.invalid("%s: got a value at [%d], expected { name, parameter = value, ... }", path,
        place)
    end
    if not place and not except[key] then named[key] = value end
  end
  return named
end

local function add_texts(parameters, name, key, texts)
  for _, text in ipairs(#texts > 0 and texts or { "" }) do
    parameters[#parameters + 1] = { name = name, key = key, value = text }
  end
end

--- A parameter as the core takes it: a table is given as one per name, a list as one per item.
local function add_parameter(parameters, option, value)
  local name = option.name
  if option.type == "texts" then
    add_texts(parameters, name, nil, value)
  elseif option.type == "texts_by_name" then
    for _, key in ipairs(sorted.names(value)) do add_texts(parameters, name, key, value[key]) end
  elseif option.type == "named_numbers" then
    for _, key in ipairs(sorted.names(value)) do
      parameters[#parameters + 1] = { name = name, key = key, value = value[key] }
    end
  else
    parameters[#parameters + 1] = { name = name, value = value }
  end
end

--- A built-in policy with the parameters that were given, in the order of the catalogue.
function definition.builtin(noun, entries, name, given, path)
  local entry = definition.entry(noun, entries, name, path)
  local values = schema.read(entry, given, path .. " " .. entry.name)
  if entry.define then return entry.define(values, path .. " " .. entry.name) end
  local parameters = {}
  for _, option in ipairs(entry.options) do
    if values[option.name] ~= nil then
      add_parameter(parameters, option, values[option.name])
    end
  end
  return { kind = noun, name = entry.name, parameters = parameters }
end

function definition.check_name(name, path)
  if type(name) ~= "string" or name == "" or #name > name_limit or name:find "%c" then
    schema.raise_value(path .. ".name", name,
      ("a string of 1 to %d bytes without control characters"):format(name_limit))
  end
  return name
end

function definition.check_function(given, field, path)
  local value = given[field]
  if value ~= nil and type(value) ~= "function" then
    schema.raise_value(path .. "." .. field, value, "a function")
  end
  return value
end

local function with_article(noun)
  return (noun:find "^[aeiou]" and "an " or "a ") .. noun
end

--- The definition of a policy that was made before, or nil; raises for one of another kind.
function definition.made(kind, noun, given, path)
  local made = core.policy_definition(given)
  if made and made.kind ~= kind then
    errors.invalid("%s: got %s, expected %s%s", path, with_article(made.kind),
      with_article(noun), made.kind == "scorer" and kind == "router"
      and "; write { \"weighted\", scorers = { { SCORER, 1 } } }" or "")
  end
  return made
end

---@class blis.PolicyContext the run that a policy is made for
---@field seed integer of the experiment
---@field rng blis.Rng the policy's own random stream, under that seed
---@field instances integer how many there are
---@field block_size integer tokens of a KV block
---@field kv_blocks integer of one instance
---@field replica integer the router replica that the policy is made for, from 1
---@field replicas integer number of router replicas

---@type blis.Section
local fresh_section = {
  name = "policy",
  summary = "A policy in Lua that starts afresh in every run.",
  options = {
    { name = "name", type = "any", doc = "a string" },
    { name = "new", type = "any", doc = "a function(context) that returns the other fields" },
  },
}

--- What `new` returned for a run, with the name that the policy has outside of it.
local function made_by(new, name, context, path)
  local made = core.call_seeded(context.seed, new, context)
  if type(made) ~= "table" then
    errors.invalid("%s.new: the function returned %s, expected a table with the functions of the "
      .. "policy", path, errors.show(made))
  end
  local named = {}
  for key, value in pairs(made) do named[key] = value end
  named.name = name
  return named
end

--- The definition of a policy that the script creates for every run. The core calls make at the
--- start of a run.
---@param kind string
---@param given table with name and new
---@param path string
---@param read fun(given: table, path: string): table the definition of what new returned
---@return table
function definition.fresh(kind, given, path, read)
  local values = schema.read(fresh_section, given, path)
  local name = definition.check_name(values.name, path)
  local new = definition.check_function(values, "new", path)
  return {
    kind = kind, name = name, new = new,
    make = function(seed, instances, block_size, kv_blocks, replica, replicas)
      local context = {
        seed = seed, rng = core.rng(seed, "policy " .. name), instances = instances,
        block_size = block_size, kv_blocks = kv_blocks, replica = replica, replicas = replicas,
      }
      return read(made_by(new, name, context, path), path .. ".new()")
    end,
  }
end

local function scripted(kind, given, path)
  local values = schema.read(kind.section, given, path)
  if definition.check_function(values, kind.main, path) == nil then
    schema.raise_value(path .. "." .. kind.main, nil, "a " .. kind.signature)
  end
  values.kind = kind.kind
  definition.check_name(values.name, path)
  if kind.listens then listening.add(values, values, path) end
  return values
end

--- One that says what it is with named fields.
local function of_fields(kind, given, path)
  if given.new == nil then return scripted(kind, given, path) end
  return definition.fresh(kind.kind, given, path, function(made, made_path)
    return scripted(kind, made, made_path)
  end)
end

--- The definition of a policy in any form: a name, { name, parameter = value, ... }, a function, or
--- { name =, <main> = function }. It can also be { name =, new = function(context) }, which returns
--- such a table without the name, or a result of the constructor of its kind.
---@param kind blis.PolicyKind
---@param given any
---@param path string
---@return table
function definition.read(kind, given, path)
  local made = definition.made(kind.kind, kind.noun, given, path)
  if made then return made end
  if type(given) == "function" then
    return { kind = kind.kind, name = "", [kind.main] = given }
  end
  if type(given) == "string" and kind.builtins then given = { given } end
  local is_table = type(given) == "table" and next(given) ~= nil
  if is_table and type(given[1]) == "string" and kind.builtins then
    local named = definition.named_fields(given, {}, path)
    local builtin = definition.builtin(kind.noun, catalogue[kind.builtins], given[1],
      named, path)
    builtin.kind = kind.kind
    return builtin
  end
  if is_table and given[1] == nil then return of_fields(kind, given, path) end
  local names = kind.builtins and "the name of " .. with_article(kind.noun)
    .. ", { name, parameter = value, ... } or " or ""
  schema.raise_value(path, given, names .. "a " .. kind.signature)
end

return definition
