--- The names in a table, in order: tables have none of their own.
local sorted = {}

--- All keys that are text, sorted; raw, so that nothing is worked out by asking.
---@param values table<string, any>
---@return string[]
function sorted.names(values)
  local list = {}
  for name in next, values do
    if type(name) == "string" then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

return sorted
