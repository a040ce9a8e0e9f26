--- Speculative decoding, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.feature.speculation.options"

local speculation = {}

local function is_probability(value)
  return type(value) == "number" and value >= 0 and value <= 1
end

-- What acceptance may differ by, of a request.
local keys = { "slo_class", "tenant", "client", "model" }

--- One probability for each draft.
local function read_acceptance(given, count, path, expected)
  local list = {}
  if is_probability(given) then
    for i = 1, count do list[i] = given end
    return list
  end
  schema.check_list(given, path, expected or "a number from 0 to 1, or a list of such numbers")
  for i, one in ipairs(given) do
    if not is_probability(one) then
      schema.raise_value(("%s[%d]"):format(path, i), one, "a number from 0 to 1")
    end
    list[i] = one
  end
  if #list ~= count then
    errors.invalid("%s: expected one probability per draft token: list length %d, draft tokens %d",
      path,
      #list, count)
  end
  return list
end

--- The request field that is the key of a table { slo_class = { chat = 0.8, ... }, default = 0.6 };
--- nil for a list.
local function key_of(given, path)
  local found
  for _, key in ipairs(keys) do
    if given[key] ~= nil then
      if found then
        errors.invalid("%s: %s cannot be combined with %s", path, found, key)
      end
      found = key
    end
  end
  if given.default ~= nil and not found then
    errors.invalid("%s: there is a default of nothing; expected %s as well", path,
      table.concat(keys, ", ", 1, #keys - 1) .. " or " .. keys[#keys])
  end
  return found
end

--- A function of what such a table says.
local function by_name(given, key, count, path)
  errors.check_names(given, { key, "default" }, path)
  if type(given[key]) ~= "table" or next(given[key]) == nil then
    schema.raise_value(path .. "." .. key, given[key], "a table such as { chat = 0.8 }")
  end
  local lists = {}
  for name, one in pairs(given[key]) do
    local where = ("%s.%s.%s"):format(path, key, tostring(name))
    if type(name) ~= "string" then
      errors.invalid("%s: expected names, such as %s = { chat = 0.8 }", where, key)
    end
    lists[name] = read_acceptance(one, count, where)
  end
  if given.default == nil then
    errors.invalid("%s.default is missing: the value for every other %s", path, key)
  end
  local default = read_acceptance(given.default, count, path .. ".default")
  return function(request, position)
    return (lists[request[key]] or default)[position]
  end
end

--- A list for all requests, or a function of them.
local function acceptance_of(given, count, path)
  if type(given) == "function" then return nil, given end
  local key = type(given) == "table" and key_of(given, path)
  if key then return nil, by_name(given, key, count, path) end
  return read_acceptance(given, count, path, schema.expected(section, "acceptance"))
end

--- The options as the core takes them; nil for none.
---@param given? table
---@param path string
---@param profile? string
---@return table?
function speculation.read(given, path, profile)
  if given == nil then return nil end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a table such as { method = \"ngram\", acceptance = 0.7 }")
  end
  local values = schema.read(section, given, path, profile)
  local is_lookup = values.method == "ngram"
  if not is_lookup and not values.draft_base_us and not values.draft_per_sequence_us then
    errors.invalid("%s: method '%s' requires draft_base_us or draft_per_sequence_us: free drafts "
      .. "overstate the speedup", path, values.method)
  end
  local list, of = acceptance_of(values.acceptance, values.tokens, path .. ".acceptance")
  return {
    tokens = values.tokens, acceptance = list, acceptance_of = of,
    pass_us = values.draft_base_us or 0.0,
    pass_us_per_sequence = values.draft_per_sequence_us or 0.0,
    drafts_in_one_pass = is_lookup, max_batch = values.max_batch,
  }
end

return speculation
