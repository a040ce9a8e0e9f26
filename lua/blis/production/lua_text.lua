--- Values as the text of Lua, as a person would write them.
local errors = require "blis.errors"

local lua_text = {}

local code_meta = {}

--- Code that stands where a value would: a name, a call.
---@param text string
function lua_text.code(text) return setmetatable({ text = text }, code_meta) end

local width = 96

local reserved = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
  return then true until while]]):gmatch "%a+" do
  reserved[word] = true
end

local function key_text(key)
  if key:match "^[%a_][%w_]*$" and not reserved[key] then return key end
  return ("[%q]"):format(key)
end

local show

--- { a, b, key = value }: places first, then names in the order that order gives, else sorted.
local function parts_of(value, indent, order)
  local parts, names = {}, {}
  for i, item in ipairs(value) do parts[i] = show(item, indent + 2) end
  for name in next, value do
    if type(name) == "string" then names[#names + 1] = name end
  end
  local rank = {}
  for i, name in ipairs(order or {}) do rank[name] = i end
  table.sort(names, function(a, b)
    local x, y = rank[a] or math.huge, rank[b] or math.huge
    if x ~= y then return x < y end
    return a < b
  end)
  for _, name in ipairs(names) do
    parts[#parts + 1] = key_text(name) .. " = " .. show(value[name], indent + 2)
  end
  return parts
end

local function show_table(value, indent, order)
  if getmetatable(value) == code_meta then return value.text end
  local parts = parts_of(value, indent, order)
  if #parts == 0 then return "{}" end
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if indent + #line <= width and not line:find "\n" and not order then return line end
  local space = (" "):rep(indent + 2)
  return "{\n" .. space .. table.concat(parts, ",\n" .. space) .. ",\n" .. (" "):rep(indent) .. "}"
end

function show(value, indent, order)
  local kind = type(value)
  if kind == "table" then return show_table(value, indent, order) end
  if kind == "string" then return (("%q"):format(value):gsub("\\\n", "\\n")) end
  return (errors.show(value))
end

--- The text of a value; with an order of names it is spread over lines.
---@param value any tables, strings, numbers, booleans, lua_text.code
---@param indent? integer of the line that it begins on
---@param order? string[]
---@return string
function lua_text.of(value, indent, order) return show(value, indent or 0, order) end

return lua_text
