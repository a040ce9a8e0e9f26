--- JSON on one line: keys in a fixed order, and null for what JSON has no number for.
local core = require "blis.core"
local sorted = require "blis.sorted"

local json = { null = core.json_null }

local object_meta, list_meta = {}, {}

--- An object whose keys keep their order: object("a", 1, "b", 2). nil values are left out.
---@return table
function json.object(...)
  local pairs_of = table.pack(...)
  return setmetatable({ pairs_of = pairs_of }, object_meta)
end

--- A list, which may be empty.
---@param items table
---@return table
function json.list(items) return setmetatable(items, list_meta) end

local write

local function write_object(writer, key, value)
  writer:object(key)
  if getmetatable(value) == object_meta then
    for i = 1, value.pairs_of.n, 2 do write(writer, value.pairs_of[i], value.pairs_of[i + 1]) end
  else
    for _, name in ipairs(sorted.names(value)) do write(writer, name, value[name]) end
  end
  writer:done()
end

local function write_list(writer, key, value)
  writer:array(key)
  for _, item in ipairs(value) do write(writer, nil, item) end
  writer:done()
end

local function is_list(value)
  return getmetatable(value) == list_meta or rawget(value, 1) ~= nil
end

function write(writer, key, value)
  if value == nil then return end
  local is_number = type(value) == "number"
  if is_number and value - value ~= 0 then value = json.null end
  if type(value) == "table" then
    return (is_list(value) and write_list or write_object)(writer, key, value)
  end
  if key == nil then writer:item(value) else writer:field(key, value) end
end

--- The text of a value.
---@param value any
---@return string
function json.encode(value)
  local writer = core.json_writer()
  write(writer, nil, value)
  return (writer:take():gsub("\n", ""))
end

--- The value of a text; raises what is wrong with it.
---@param text string
---@return any
function json.decode(text) return core.json_read(text, "JSON") end

return json
