--- Speculative decoding, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.config.speculation"

local speculation = {}

local function is_probability(value)
  return type(value) == "number" and value >= 0 and value <= 1
end

--- One probability for each draft.
local function read_acceptance(given, count, path)
  local list = {}
  if is_probability(given) then
    for i = 1, count do list[i] = given end
    return list
  end
  schema.check_list(given, path, "a number from 0 to 1, or a list of such")
  for i, one in ipairs(given) do
    if not is_probability(one) then
      schema.raise_value(("%s[%d]"):format(path, i), one, "a number from 0 to 1")
    end
    list[i] = one
  end
  if #list ~= count then
    errors.invalid("%s: there are %d probabilities for %d tokens; expected one for each", path,
      #list, count)
  end
  return list
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
    errors.invalid("%s: method '%s' needs draft_base_us or draft_per_sequence_us: drafts that cost "
      .. "nothing show a speed-up that nobody gets", path, values.method)
  end
  return {
    tokens = values.tokens,
    acceptance = read_acceptance(values.acceptance, values.tokens, path .. ".acceptance"),
    pass_us = values.draft_base_us or 0.0,
    pass_us_per_sequence = values.draft_per_sequence_us or 0.0,
    drafts_in_one_pass = is_lookup, max_batch = values.max_batch,
  }
end

return speculation
