--- Values as YAML, limited to the forms that configurations need.
local errors = require "blis.errors"
local sorted = require "blis.sorted"

local yaml_text = {}

-- Strings that have another meaning without quotes.
local words = { ["true"] = true, ["false"] = true, null = true, yes = true, no = true, on = true,
  off = true, y = true, n = true }

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t" }

local function quoted(text)
  local inside = text:gsub('[%c"\\]', function(char)
    return escapes[char] or ("\\x%02X"):format(char:byte())
  end)
  return '"' .. inside .. '"'
end

local function scalar(value)
  if type(value) == "string" then
    return value:match "^[%a][%w._/-]*$" and not words[value:lower()] and value or quoted(value)
  end
  if math.type(value) == "float" and value == math.floor(value) and math.abs(value) < 1e15 then
    return ("%.1f"):format(value)
  end
  return (errors.show(value))
end

local add

local function add_entry(lines, space, mark, name, value, order)
  if type(value) == "table" and next(value) ~= nil then
    lines[#lines + 1] = ("%s%s%s:"):format(space, mark, scalar(name))
    add(lines, value, #space + #mark + (value[1] ~= nil and 0 or 2), order)
  elseif type(value) == "table" then
    lines[#lines + 1] = ("%s%s%s: {}"):format(space, mark, scalar(name))
  else
    lines[#lines + 1] = ("%s%s%s: %s"):format(space, mark, scalar(name), scalar(value))
  end
end

local function in_order(value, order)
  local rank, list = {}, sorted.names(value)
  for i, name in ipairs(order) do rank[name] = i end
  table.sort(list, function(a, b)
    local x, y = rank[a] or math.huge, rank[b] or math.huge
    if x ~= y then return x < y end
    return a < b
  end)
  return list
end

function add(lines, value, indent, order)
  local space = (" "):rep(indent)
  if value[1] ~= nil then
    for _, item in ipairs(value) do
      if type(item) ~= "table" then
        lines[#lines + 1] = space .. "- " .. scalar(item)
      else
        for i, name in ipairs(in_order(item, order)) do
          add_entry(lines, space, i == 1 and "- " or "  ", name, item[name], order)
        end
      end
    end
    return
  end
  for _, name in ipairs(in_order(value, order)) do
    add_entry(lines, space, "", name, value[name], order)
  end
end

--- A table as YAML; the given names precede all others, in their order.
---@param value table
---@param order string[]
---@return string
function yaml_text.of(value, order)
  local lines = {}
  add(lines, value, 0, order)
  return table.concat(lines, "\n") .. "\n"
end

return yaml_text
