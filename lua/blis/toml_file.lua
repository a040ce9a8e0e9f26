--- TOML files, limited to the part of TOML 1.0 that configurations use: [tables], and keys with
--- strings, integers, floats, booleans, and lists of these on one line. Everything else is an error
--- that names it. Errors state file and line.
local core = require "blis.core"
local errors = require "blis.errors"
local yaml_file = require "blis.yaml_file"

local toml_file = {}

---@class blis.TomlReader
---@field path string
---@field line integer
---@field root table
---@field where table<table, table<string|integer, { [1]: integer }>>
---@field seen table<table, boolean> tables that a header has named

local function fail(reader, format, ...)
  errors.raise("parse", ("%s:%d: %s"):format(reader.path, reader.line, format:format(...)))
end

local escapes = { b = "\b", t = "\t", n = "\n", f = "\f", r = "\r", ['"'] = '"', ["\\"] = "\\" }

--- The text behind the quotation mark at place, and the place behind it.
local function read_quoted(reader, line, place)
  local parts, from = {}, place + 1
  while true do
    local at = line:find('["\\]', from)
    if not at then fail(reader, "unterminated string: \" is missing") end
    parts[#parts + 1] = line:sub(from, at - 1)
    if line:sub(at, at) == '"' then return table.concat(parts), at + 1 end
    local letter = line:sub(at + 1, at + 1)
    local digits = letter == "u" and line:match("^%x%x%x%x", at + 2)
      or letter == "U" and line:match("^%x%x%x%x%x%x%x%x", at + 2)
    local code = digits and tonumber(digits, 16)
    if code and code <= 0x10FFFF and not (code >= 0xD800 and code <= 0xDFFF) then
      parts[#parts + 1] = utf8.char(code)
      from = at + 2 + #digits
    elseif escapes[letter] then
      parts[#parts + 1] = escapes[letter]
      from = at + 2
    else
      fail(reader, "'\\%s' is not an escape sequence", letter)
    end
  end
end

--- 1_000 without the underscores; nil when one is out of place.
local function without_underscores(word)
  local is_out_of_place = ("-" .. word .. "-"):find "[^%d]_" or (word .. "-"):find "_[^%d]"
  if is_out_of_place then return nil end
  return (word:gsub("_", ""))
end

local function read_number(reader, word)
  if word:find "^0[xob]" then fail(reader, "hexadecimal, octal, and binary numbers are not "
    .. "supported") end
  if word:find "^[+-]?inf$" or word:find "^[+-]?nan$" then
    fail(reader, "%s is not a valid number", word)
  end
  if word:find "^%d%d%d%d%-%d%d" or word:find "^%d%d:%d%d" then
    fail(reader, "dates and times are not supported: %s", word)
  end
  local text = without_underscores(word)
  local digits = text and text:match "^[+-]?(.*)$"
  local is_whole = digits and digits:find "^%d+$"
  local is_real = digits and (digits:find "^%d+%.%d+$" or digits:find "^%d+%.?%d*[eE][+-]?%d+$")
    and not digits:find "%.[eE]"
  local has_zeros = digits and digits:find "^0%d"
  local value = (is_whole or is_real) and not has_zeros and tonumber((text:gsub("^%+", "")))
  if not value then
    fail(reader, "invalid value '%s'; put strings in quotation marks", word)
  end
  if is_whole and math.type(value) ~= "integer" then
    fail(reader, "%s is not within 64 bits", word)
  end
  return value
end

local read_value

local function read_list(reader, line, place)
  local list, where = {}, {}
  local at = line:find("%S", place + 1)
  while at and line:sub(at, at) ~= "]" do
    if line:sub(at, at) == "#" then break end
    list[#list + 1], at = read_value(reader, line, at)
    where[#list] = { reader.line }
    at = line:find("%S", at)
    local mark = at and line:sub(at, at)
    if mark == "," then
      at = line:find("%S", at + 1)
    elseif mark and mark ~= "]" then
      fail(reader, "expected ',' or ']' in the list, got '%s'", mark)
    end
  end
  if not at or line:sub(at, at) ~= "]" then
    fail(reader, "the list does not end on its line; lists of several lines are not supported")
  end
  reader.where[list] = where
  return list, at + 1
end

--- The value at place, and the place behind it.
function read_value(reader, line, place)
  local three, mark = line:sub(place, place + 2), line:sub(place, place)
  if three == '"""' or three == "'''" then
    fail(reader, "strings of several lines are not supported")
  elseif mark == '"' then
    return read_quoted(reader, line, place)
  elseif mark == "'" then
    local stop = line:find("'", place + 1, true)
    if not stop then fail(reader, "unterminated string: ' is missing") end
    return line:sub(place + 1, stop - 1), stop + 1
  elseif mark == "[" then
    return read_list(reader, line, place)
  elseif mark == "{" then
    fail(reader, "inline tables are not supported; write a [table]")
  end
  local word = line:match("^[^%s,%]#]+", place)
  if not word then fail(reader, "missing value after '='") end
  if word == "true" or word == "false" then return word == "true", place + #word end
  return read_number(reader, word), place + #word
end

local function check_end(reader, line, place)
  local rest = line:match("^%s*([^%s].*)$", place)
  if rest and not rest:find "^#" then
    fail(reader, "unexpected '%s'", rest)
  end
end

--- A name as keys and tables have it, and the place behind it.
local function read_name(reader, line, place)
  if line:find('^"', place) then return read_quoted(reader, line, place) end
  local name = line:match("^[%w_-]+", place)
  if not name then
    fail(reader, "expected a name of letters, digits, '_' and '-', got '%s'", line:sub(place))
  end
  return name, place + #name
end

local function set(reader, into, name, value)
  if into[name] ~= nil then
    fail(reader, "duplicate key %s, first used in line %d", name, reader.where[into][name][1])
  end
  into[name] = value
  reader.where[into][name] = { reader.line }
  if type(value) == "table" then reader.where[value] = reader.where[value] or {} end
end

--- [cluster.compute_model]: the table that the keys below belong to.
local function read_header(reader, line)
  if line:find "^%[%[" then fail(reader, "lists of tables, [[...]], are not supported") end
  local into, place = reader.root, 2
  repeat
    local name
    name, place = read_name(reader, line, line:find("%S", place) or place)
    if into[name] == nil then
      set(reader, into, name, {})
    elseif type(into[name]) ~= "table" or into[name][1] ~= nil then
      fail(reader, "%s is a value, in line %d", name, reader.where[into][name][1])
    end
    into = into[name]
    place = line:find("%S", place) or place
    local goes_on = line:sub(place, place) == "."
    place = goes_on and place + 1 or place
  until not goes_on
  if line:sub(place, place) ~= "]" then
    fail(reader, "missing ']' after the name of the table")
  end
  check_end(reader, line, place + 1)
  if reader.seen[into] then fail(reader, "duplicate table %s", line:match "%b[]") end
  reader.seen[into] = true
  return into
end

local function read_pair(reader, line, into)
  local name, place = read_name(reader, line, 1)
  place = line:find("%S", place) or place
  local mark = line:sub(place, place)
  if mark == "." then fail(reader, "keys with dots are not supported; write a [table]") end
  if mark ~= "=" then fail(reader, "missing '=' after %s", name) end
  local value
  value, place = read_value(reader, line, line:find("%S", place + 1) or #line + 1)
  check_end(reader, line, place)
  set(reader, into, name, value)
end

--- Reads TOML from a string.
---@param text string
---@param path string for errors
---@return blis.YamlFile
function toml_file.parse(text, path)
  local root = {}
  local reader = { path = path, line = 0, root = root, where = { [root] = {} }, seen = {} }
  local into = root
  for line in (text:gsub("\r\n", "\n") .. "\n"):gmatch "(.-)\n" do
    reader.line = reader.line + 1
    if not utf8.len(line) then fail(reader, "invalid UTF-8") end
    if line:find "[\0-\8\11-\31\127]" then fail(reader, "control characters are not supported") end
    local content = line:match "^%s*(.-)%s*$"
    if content:find "^%[" then
      into = read_header(reader, content)
    elseif content ~= "" and not content:find "^#" then
      read_pair(reader, content, into)
    end
  end
  return { path = path, root = root, where = reader.where }
end

--- Reads a file; yaml_file.located gives errors about its values their lines.
---@param path string
---@return blis.YamlFile
function toml_file.read(path)
  local file <close>, problem = core.open_input(path)
  local text = file and file:read "a"
  if not text then errors.raise("io", "cannot read " .. (problem or path)) end
  return toml_file.parse(text, path)
end

toml_file.located = yaml_file.located

return toml_file
