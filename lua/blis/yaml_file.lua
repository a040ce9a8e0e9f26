--- YAML files whose errors name the line.
local core = require "blis.core"

local yaml_file = {}

---@class blis.YamlFile
---@field path string
---@field root any
---@field where table<table, table<string|integer, { [1]: integer, [2]: string? }>>
---@field spelled? { [1]: string, [2]: string }[] spelling of message paths in the file

--- Reads a file; a key that is given twice is an error.
---@param path string
---@return blis.YamlFile
function yaml_file.read(path)
  local root, where = core.yaml_read(path)
  return { path = path, root = root, where = where }
end

--- The keys of a path such as "clients[2].arrival", which ends with the message after it.
local function keys_of(text)
  local keys = {}
  for name, rest in (text .. "."):gmatch("([%w_%-]+)([%[%]%d]*)%.") do
    keys[#keys + 1] = name
    for index in rest:gmatch("%d+") do keys[#keys + 1] = math.tointeger(tonumber(index)) end
  end
  return keys
end

--- The line of the value that a message is about: the deepest value on its path that exists.
local function line_of(file, message)
  local keys = keys_of(message:match("^[%w_%-.%[%]]*"))
  keys[#keys + 1] = message:match("unknown option '([^']*)'")
  local line, place = 1, file.root
  for _, key in ipairs(keys) do
    local known = type(place) == "table" and file.where[place] and file.where[place][key]
    if known then
      line = known[1]
      place = place[key]
    end
  end
  return line
end

--- A message as it is about the file: values may have been read under other names.
local function as_spelled(file, message)
  for _, pair in ipairs(file.spelled or {}) do
    local path, spelling = pair[1], pair[2]
    if message:sub(1, #path) == path and not message:find("^[%w_%-]", #path + 1) then
      return spelling .. message:sub(#path + 1)
    end
  end
  return message
end

--- Calls fn(...), which calls the values of the file name.key, name.key[2].key and so on; its
--- errors get file and line in place of that name.
---@param file blis.YamlFile
---@param name string
---@param fn function
function yaml_file.located(file, name, fn, ...)
  local results = table.pack(pcall(fn, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local object = results[2]
  local message = type(object) == "table" and type(object.message) == "string"
    and object.message:match("%f[%w]" .. name .. "%f[%W](.*)")
  if message then
    message = as_spelled(file, message:gsub("^[.:]? ?", ""))
    object.message = ("%s:%d: %s"):format(file.path, line_of(file, message), message)
    object.code = "parse"
  end
  error(object, 0)
end

return yaml_file
