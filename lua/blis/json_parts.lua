--- Pieces of JSON that many outputs have, for the core's writer.
local json_parts = {}

--- Fields of a table in this order, without those that are not there.
---@param names string[]
---@param values table
function json_parts.fields(writer, names, values)
  for _, name in ipairs(names) do
    if values[name] ~= nil then writer:field(name, values[name]) end
  end
end

--- An object of these fields; the key is nil in a list.
---@param key? string
function json_parts.object(writer, key, names, values)
  writer:object(key)
  json_parts.fields(writer, names, values)
  writer:done()
end

--- A list of texts and numbers.
---@param items (string|number)[]
function json_parts.list(writer, key, items)
  writer:array(key)
  for _, item in ipairs(items) do writer:item(item) end
  writer:done()
end

return json_parts
