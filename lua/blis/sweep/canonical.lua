--- One text for one value: JSON with the keys in order.
local core = require "blis.core"
local errors = require "blis.errors"

local canonical = {}

local function sorted_keys(value, path)
  local keys = {}
  for key in pairs(value) do
    if type(key) ~= "string" and math.type(key) ~= "integer" then
      errors.invalid("%s: a table with a %s as key requires a label; write { label = \"...\", "
        .. "value = ... }", path, type(key))
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  return keys
end

local write

-- Deeper tables are assumed to contain themselves.
local deepest = 32

local function write_table(writer, value, key, path, depth)
  if depth > deepest then
    errors.invalid("%s: tables are nested more than %d levels deep; write { label = \"...\", value "
      .. "= ... }", path, deepest)
  end
  local keys = sorted_keys(value, path)
  if #keys > 0 and #keys == #value then
    writer:array(key)
    for _, item in ipairs(value) do write(writer, item, nil, path, depth + 1) end
  else
    writer:object(key)
    for _, name in ipairs(keys) do
      write(writer, value[name], tostring(name), path, depth + 1)
    end
  end
  writer:done()
end

function write(writer, value, key, path, depth)
  local kind = type(value)
  if kind == "table" and getmetatable(value) == nil then
    write_table(writer, value, key, path, depth or 1)
  elseif kind == "number" or kind == "string" or kind == "boolean" then
    if kind == "number" and value - value ~= 0 then
      errors.invalid("%s: %s: expected a finite number", path, errors.invalid_value(value))
    end
    if kind == "string" and (value:find("\0", 1, true) or not utf8.len(value)) then
      errors.invalid("%s: invalid value %q: expected UTF-8 without zero bytes; write { label = "
        .. "\"...\", value = ... }", path, value)
    end
    if key then writer:field(key, value) else writer:item(value) end
  else
    errors.invalid("%s: %s needs a label; write { label = \"...\", value = ... }", path,
      errors.show(value))
  end
end

--- The text of a number, text, boolean, or table of such.
---@param value any
---@param path string for messages
---@return string
function canonical.text(value, path)
  local writer = core.json_writer()
  write(writer, value, nil, path)
  return writer:take()
end

--- Adds a value to a JSON text that is being written.
canonical.write = write

return canonical
