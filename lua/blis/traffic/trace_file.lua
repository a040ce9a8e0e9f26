--- The file that a trace format in Lua reads: its lines, fields of its rows with clear errors, and
--- notes about it.
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"

local trace_file = {}

local integer_type = math.type

-- Limits of the core (workload.h, time.h).
local max_tokens, max_time_us = 1000000000, 9000000000000000

--- A file that a format reads. Rows in errors are lines of the file.
---@class blis.TraceFile
---@field path string
---@field options table the options to read it, such as limit and hash_block_tokens
---@field null any what null is in JSON
---@field max_tokens integer the limit of a prompt
local file_methods = { null = json.null, max_tokens = max_tokens }
file_methods.__index = file_methods

--- Opens nothing; the methods open the file.
---@param path string
---@param options table
---@return blis.TraceFile
function trace_file.new(path, options)
  return setmetatable({ path = path, options = options, counts = {}, unread_names = {} },
    file_methods)
end

-- Content.

--- for line, number in file:lines() do. Compressed files are unpacked.
---@return fun(): string?, integer?
function file_methods:lines() return core.file_lines(self.path, false) end

--- for object, number in file:json_lines() do. NaN and Infinity are read as NaN, null as
--- file.null. An integer of 2^63 or more keeps 62 bits and is at least 2^62.
---@return fun(): any, integer?
function file_methods:json_lines() return core.file_lines(self.path, true) end

--- Like json_lines, for files whose lines must be objects.
---@return fun(): table?, integer?
function file_methods:objects()
  local next_value = core.file_lines(self.path, true)
  return function()
    local value, line = next_value()
    if line and (type(value) ~= "table" or value[1] ~= nil) then
      self:fail(line, "%s is not an object", type(value) == "table" and "an array"
        or value == json.null and "null" or errors.show(value))
    end
    return value, line
  end
end

--- The whole file as one JSON text.
---@return any
function file_methods:json() return core.json_read(core.unpacked(self.path), self.path) end

-- Errors and fields.

--- Raises an error with the place: "requests.log:12: tokens is missing".
---@param line integer? nil: the whole file
---@param message string for string.format
function file_methods:fail(line, message, ...)
  local place = line and ("%s:%d"):format(self.path, line) or self.path
  errors.raise("parse", place .. ": " .. message:format(...))
end

--- The member of an object; nil if it is null.
local function member(object, key)
  local value = object[key]
  if value == json.null then return nil end
  return value
end

local function missing(self, object, key, line, expected)
  self:fail(line, "key '%s': %s", key, object[key] == nil and "is missing"
    or ("invalid value null: expected %s"):format(expected))
end

local function invalid(self, object, key, line, expected)
  local value = object[key]
  self:fail(line, "key '%s': invalid value %s: expected %s", key,
    type(value) == "table" and (value[1] ~= nil and "an array" or "an object")
    or errors.show(value), expected)
end

--- A number of tokens: object[key], from 0 to 10^9. 100.0 is one, "100" is not.
---@param object table
---@param key string
---@param line integer
---@param default? integer for a key that is missing or null; nil: such a key is an error
---@return integer
function file_methods:tokens(object, key, line, default)
  local value = member(object, key)
  if value == nil then
    return default or missing(self, object, key, line, "a value")
  end
  local tokens = type(value) == "number" and math.tointeger(value)
  if not tokens or tokens < 0 or tokens > max_tokens then
    invalid(self, object, key, line, ("an integer from 0 to %d"):format(max_tokens))
  end
  return tokens
end

--- A time in whole microseconds: object[key] times unit_us; nil for a key that is missing or null.
---@param object table
---@param key string
---@param line integer
---@param unit_us number 1000 for a time in milliseconds
---@return integer?
function file_methods:time_us(object, key, line, unit_us)
  local value = member(object, key)
  if value == nil then return nil end
  local is_time = type(value) == "number" and value >= 0 and value <= max_time_us / unit_us
  if not is_time then
    invalid(self, object, key, line, ("a number from 0 to %.0f"):format(max_time_us / unit_us))
  end
  return math.tointeger((value * unit_us + 0.5) // 1)
end

--- A name: a string, or an integer in digits; nil for one that is missing, null, or empty.
---@param object table
---@param key string
---@param line integer
---@return string?
function file_methods:name(object, key, line)
  local value = member(object, key)
  if value == nil or value == "" then return nil end
  if type(value) ~= "string" and math.type(value) ~= "integer" then
    invalid(self, object, key, line, "a string or an integer")
  end
  return tostring(value)
end

--- Hash ids of the blocks of a prompt: a list of integers of at least 0, or of strings. nil for a
--- key that is missing or null.
---@param object table
---@param key string
---@param line integer
---@return (integer|string)[]?
function file_methods:hash_ids(object, key, line)
  local list = member(object, key)
  if list == nil then return nil end
  if type(list) ~= "table" or (list[1] == nil and next(list) ~= nil) then
    invalid(self, object, key, line, "an array")
  end
  for i, id in ipairs(list) do
    local is_usual = integer_type(id) == "integer" and id >= 0
    local whole = is_usual and id or type(id) == "string" and id
      or type(id) == "number" and math.tointeger(id)
    if not whole or (type(whole) == "number" and whole < 0) then
      self:fail(line, "key '%s': item %d: invalid value %s: expected an integer of at least 0 or a "
        .. "string", key, i, type(id) == "table" and "an array or object" or errors.show(id))
    end
  end
  return list
end

--- Bytes of a text: a string, or a list of strings, messages, and parts of messages.
local function bytes_of(self, value, key, line, depth)
  if value == nil or value == json.null then return 0 end
  if type(value) == "string" then return #value end
  if type(value) ~= "table" or depth > 4 then
    self:fail(line, "key '%s': %s is not a text", key, errors.show(value))
  end
  local bytes = 0
  if value[1] == nil then
    local inner = member(value, "text")
    if inner == nil then inner = member(value, "content") end
    if inner == nil then inner = member(value, "contents") end
    return bytes_of(self, inner, key, line, depth + 1)
  end
  for _, item in ipairs(value) do bytes = bytes + bytes_of(self, item, key, line, depth + 1) end
  return bytes
end

--- Tokens of the text in object[key]: a string, or a list of strings, messages with content, and
--- parts with text. Other parts, such as images, have none.
---@param object table
---@param key string
---@param line integer
---@return integer
function file_methods:text_tokens(object, key, line)
  return self:tokens_of_bytes(bytes_of(self, object[key], key, line, 0))
end

--- Tokens of a text of so many bytes: one for each 4 bytes, or for each bytes_per_token of the
--- options.
---@param bytes integer
---@return integer
function file_methods:tokens_of_bytes(bytes)
  local each = self.options and self.options.bytes_per_token or 0
  return math.min(math.ceil(bytes / (each > 0 and each or 4)), max_tokens)
end

-- Notes.

--- Counts a row for a note: file:count "requests whose tokens were worked out of bytes".
---@param what string
function file_methods:count(what)
  local counts = self.counts
  if not counts[what] then counts[#counts + 1] = what end
  counts[what] = (counts[what] or 0) + 1
end

local max_unread = 12

--- Reports members of an object that the format does not read.
---@param object table
---@param known table<string, any> the names that it reads, as keys
function file_methods:see(object, known)
  for name in pairs(object) do
    local names = self.unread_names
    if known[name] == nil and not names[name] and #names < max_unread then
      names[name], names[#names + 1] = true, ("'%s'"):format(errors.escaped(tostring(name)))
    end
  end
end

--- Notes for the user.
---@param file blis.TraceFile
---@return string[]
function trace_file.notes(file)
  local notes = {}
  for i, what in ipairs(file.counts) do
    notes[i] = ("%s: %s: %d"):format(file.path, what, file.counts[what])
  end
  if #file.unread_names > 0 then
    table.sort(file.unread_names)
    notes[#notes + 1] = ("%s: fields that are not read: %s"):format(file.path,
      table.concat(file.unread_names, ", "))
  end
  return notes
end

return trace_file
