--- KV groups of a model that a script describes, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.config.kv_layout"

local kv_layout = {}

local has_length = { window = true, chunk = true }

local function read_group(given, path, block_size)
  local group = schema.read(section, given, path)
  if has_length[group.kind] and not group.tokens then
    errors.invalid("%s.tokens is missing: expected the length of the %s in tokens", path,
      group.kind)
  end
  if group.tokens and not has_length[group.kind] then
    errors.invalid("%s.tokens: kind %s has no length; expected no tokens", path, group.kind)
  end
  if group.states and group.kind ~= "state" then
    errors.invalid("%s.states: kind %s has no states; expected kind state", path, group.kind)
  end
  group.block_size = group.block_size or block_size
  group.tokens = group.tokens or 0
  group.states = group.states or "none"
  return group
end

--- Reads a list of groups, { { kind = "full" }, { kind = "window", tokens = 128 } }.
---@param given any
---@param path string
---@param values table the options of the cluster
---@return table
function kv_layout.read(given, path, values)
  schema.check_list(given, path, "a list of KV groups, such as { { kind = \"full\" } }")
  local layout = { keeps_all_tokens = not values.hybrid_kv_cache }
  for i, group in ipairs(given) do
    layout[i] = read_group(group, ("%s[%d]"):format(path, i), values.block_size)
  end
  return layout
end

return kv_layout
