--- JSON: encodes values on one line, decodes strings, and writes pieces of JSON with the writer of
--- the core (core.json_writer).
local core = require "blis.core"
local sorted = require "blis.sorted"

local json = { null = core.json_null }

local object_meta, list_meta = {}, {}

--- An object whose keys keep their order: object("a", 1, "b", 2). Omits keys whose value is nil.
---@return table
function json.object(...)
  local pairs_of = table.pack(...)
  return setmetatable({ pairs_of = pairs_of }, object_meta)
end

--- Marks a table as a list, so that an empty table is encoded as [].
---@param items table
---@return table
function json.list(items) return setmetatable(items, list_meta) end

local function write_object(writer, key, value)
  writer:object(key)
  if getmetatable(value) == object_meta then
    for i = 1, value.pairs_of.n, 2 do
      json.write(writer, value.pairs_of[i], value.pairs_of[i + 1])
    end
  else
    for _, name in ipairs(sorted.names(value)) do json.write(writer, name, value[name]) end
  end
  writer:done()
end

local function is_list(value)
  return getmetatable(value) == list_meta or rawget(value, 1) ~= nil
end

--- Writes a value: a scalar, a list, or an object (json.object, or a table whose names are sorted).
--- A number that is not finite becomes null; nil writes nothing.
---@param key string? of a member of an object; nil for an item of a list
---@param value any
function json.write(writer, key, value)
  if value == nil then return end
  if type(value) == "number" and value - value ~= 0 then value = json.null end
  if type(value) ~= "table" then
    if key == nil then writer:item(value) else writer:field(key, value) end
  elseif is_list(value) then
    writer:array(key)
    for _, item in ipairs(value) do json.write(writer, nil, item) end
    writer:done()
  else
    write_object(writer, key, value)
  end
end

--- Writes members of an open object in the order of names. Omits names whose value is nil.
---@param names string[]
---@param values table
function json.write_fields(writer, names, values)
  for _, name in ipairs(names) do
    if values[name] ~= nil then writer:field(name, values[name]) end
  end
end

--- Writes an object with these members. The key is nil for an item of a list.
---@param key? string
function json.write_object(writer, key, names, values)
  writer:object(key)
  json.write_fields(writer, names, values)
  writer:done()
end

--- Writes a list of strings and numbers.
---@param items (string|number)[]
function json.write_list(writer, key, items)
  writer:array(key)
  for _, item in ipairs(items) do writer:item(item) end
  writer:done()
end

--- The text of a value, on one line.
---@param value any
---@return string
function json.encode(value)
  local writer = core.json_writer()
  json.write(writer, nil, value)
  return (writer:take():gsub("\n", ""))
end

--- The value of a JSON string. Raises an error for invalid JSON.
---@param text string
---@return any
function json.decode(text) return core.json_read(text, "JSON") end

return json
