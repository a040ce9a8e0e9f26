--- Things in order: the names in a table, which have none of their own, and lists by a number.
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

--- A name whose numbers sort by their values: "instance_2" in front of "instance_10".
local function natural_key(name)
  return (name:gsub("%d+", function(digits) return ("0"):rep(20 - #digits) .. digits end))
end

--- A sorted copy of a list, with natural order of numbers, by a string per item.
---@generic T: table
---@param list T[]
---@param key string of the text
---@return T[]
function sorted.naturally(list, key)
  local copy, keys = table.move(list, 1, #list, 1, {}), {}
  for _, one in ipairs(copy) do keys[one] = natural_key(one[key]) end
  table.sort(copy, function(a, b)
    if keys[a] ~= keys[b] then return keys[a] < keys[b] end
    return a[key] < b[key]
  end)
  return copy
end

--- Sorts a list in place by a number of its items, the highest first; equal ones by another key,
--- the lowest first.
---@generic T: table
---@param list T[]
---@param number string
---@param tie string
---@return T[] list
function sorted.by_highest(list, number, tie)
  table.sort(list, function(a, b)
    if a[number] ~= b[number] then return a[number] > b[number] end
    return a[tie] < b[tie]
  end)
  return list
end

return sorted
