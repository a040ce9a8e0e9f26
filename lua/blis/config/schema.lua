--- Reads option tables by their descriptions.
---
--- A section is data: { name =, summary =, options = { option, ... } }. An option is { name =, type
--- =, default =, doc = } plus the fields of its type (min, max, above, choices), unit, its
--- command-line flag, aliases, and its defaults under other profiles. These descriptions are the
--- source of validation, error messages, flags, YAML keys, and the reference page.
local errors = require "blis.errors"
local notices = require "blis.notices"
local types = require "blis.config.types"

local schema = {}

---@class blis.Option
---@field name string
---@field type string a key of blis.config.types
---@field doc string
---@field default any nil = none, or worked out by the program
---@field profiles? table<string, any> defaults under other profiles than "design"
---@field unit? string
---@field flag? string spelling on the command line
---@field group? string title over the flag in the help of commands that simulate
---@field flag_doc? string doc for command lines, if not the same
---@field expected? string for a string, or type any: the accepted values, in words
---@field path? string what messages of other modules call it, if not section and name
---@field described? boolean false: pages describe the option elsewhere, or it does not decide a run
---@field from_text? fun(text: string, flag: string): any value of the flag; may raise
---@field as_flag? table fields that override the option's fields on the command line
---@field metavar? string what stands for the value in the help of command lines
---@field is_list? boolean the flag may be repeated
---@field may_be_empty? boolean an empty flag counts as not set; default: true for strings, and
--- for paths of any name
---@field is_output? boolean a path that is written to
---@field endings? string[] accepted file name endings: a list of blis.endings
---@field files? fun(path: string): string[]?, string? replacement for a path that is only a
--- name, or why that cannot be
---@field flag_aliases? string[] older spellings of the flag
---@field bare_unit? string unit of a number without unit on a command line, which is then allowed
---@field suffixes? table<string, number> units that a number may have on a command line, in its own
---@field aliases? string[] other accepted names
---@field deprecated? table<string, string> deprecated names and flag_aliases, with the version
---@field renamed? table<string, string> deprecated values of a choice, with their new names
--- that is without
---@field choices? string[]
---@field scripted? string type of the function that a script may use instead
---@field min? number
---@field max? number
---@field above? number exclusive lower limit
---@field required? boolean
---@field needs? string option of the section without which this one has no effect
---@field section? blis.Section of type "section"
---@field of? string type of the numbers of type "numbers_by_name"

---@class blis.Section
---@field name string
---@field summary string
---@field options blis.Option[]

--- Prefix of a message with the location; empty for a whole table of options.
local function in_front(path)
  return path == "" and "" or path .. ": "
end

-- The options of a section by each of their names, made when it is first read.
local indexes = setmetatable({}, { __mode = "k" })

local function index_of(options)
  local index = indexes[options]
  if index and index.count == #options then return index.by_name end
  index = { by_name = {}, count = #options }
  for i = #options, 1, -1 do -- the first entry of a name counts
    local option = options[i]
    for _, alias in ipairs(option.aliases or {}) do index.by_name[alias] = option end
    index.by_name[option.name] = option
  end
  indexes[options] = index
  return index.by_name
end

--- The option that a key of a table names, or nil.
local function find_option(section, key)
  return index_of(section.options)[key]
end

--- Describes the accepted values of an option.
---@param section blis.Section
---@param name string
---@return string
function schema.expected(section, name)
  local option = find_option(section, name)
  return types[option.type].expected(option)
end

--- Every word that could have been meant.
local function known_names(section)
  local words = {}
  for _, option in ipairs(section.options) do words[#words + 1] = option.name end
  return words
end

local function flag_owner(section, key)
  for _, option in ipairs(section.options) do
    local flag = (option.flag or ""):gsub("^%-%-", ""):gsub("-", "_")
    if flag == key then return option.name end
  end
end

--- Sections that users confuse, and what to call them.
local neighbours = {}

--- Explains that an option of these sections belongs to another section.
---@param places table<blis.Section, string> sections by what to call them: "'cluster'"
function schema.set_neighbours(places)
  neighbours = places
end

--- An option of that very name in a neighbour counts for more than a similar name here.
local function place_elsewhere(section, key)
  local found
  for other, name in pairs(neighbours[section] and neighbours or {}) do
    if find_option(other, key) and (not found or name < found) then found = name end
  end
  return found
end

local function raise_unknown(section, path, key)
  if type(key) ~= "string" then
    errors.invalid("%sexpected named options like %s = ..., got %s at [%s]", in_front(path),
      section.options[1].name, "a value", tostring(key))
  end
  local owner, place = flag_owner(section, key), place_elsewhere(section, key)
  local hint = owner and ("; did you mean '%s'?"):format(owner)
    or place and "; it belongs to " .. place
    or errors.suggestion(key, known_names(section))
  errors.invalid("%sunknown option '%s'%s", in_front(path), key, hint)
end

--- The first unknown key in a fixed order, so that the same script raises the same error.
function schema.check_keys(section, given, path)
  local by_name, unknown = index_of(section.options), nil
  for key in pairs(given) do
    if not by_name[key] then
      unknown = unknown or {}
      unknown[#unknown + 1] = key
    end
  end
  if not unknown then return end
  table.sort(unknown, function(a, b) return tostring(a) < tostring(b) end)
  raise_unknown(section, path, unknown[1])
end

--- Warns once about a deprecated name.
---@param option blis.Option
---@param name string the value of the user
---@param instead string
---@param path string its location; "" = everywhere
function schema.tell_deprecated(option, name, instead, path)
  local version = option.deprecated and option.deprecated[name]
  if version then
    notices.tell(("%s'%s' is deprecated and will be removed in blis %s; use '%s'"):format(
      in_front(path), name, version, instead))
  end
end

local function given_value(option, given, path)
  local value, name = given[option.name], option.name
  for _, alias in ipairs(option.aliases or {}) do
    if given[alias] ~= nil then
      if value ~= nil then
        errors.invalid("%s'%s' and '%s' are the same option", in_front(path), name, alias)
      end
      value, name = given[alias], alias
      schema.tell_deprecated(option, alias, option.name, path)
    end
  end
  return value, name
end

--- Raises: the value, its location, and the accepted values.
---@param path string "cluster.instances"
---@param value any
---@param expected string
function schema.raise_value(path, value, expected)
  errors.invalid("%s%s: expected %s", in_front(path), errors.invalid_value(value), expected)
end

--- Raises unless the value is a list without gaps or named fields.
---@param given any
---@param path string
---@param expected string
function schema.check_list(given, path, expected)
  if type(given) ~= "table" then schema.raise_value(path, given, expected) end
  local last = 0
  for key in pairs(given) do
    if math.type(key) ~= "integer" or key < 1 then
      errors.invalid("%s: got a value at [%s], expected %s", path, tostring(key), expected)
    end
    last = math.max(last, key)
  end
  for i = 1, last do
    if given[i] == nil then
      errors.invalid("%s[%d] is nil, but [%d] has a value", path, i, last)
    end
  end
end

--- Checks one value; returns the one to use.
---@param option blis.Option
---@param value any
---@param path string full path of the option
function schema.check_value(option, value, path)
  local kind = types[option.type]
  local checked = kind.check(value, option, path)
  if checked == nil and not (option.type == "boolean" and value == false) then
    local hint = kind.hint and kind.hint(value) or ""
    if option.type == "choice" and type(value) == "string" then
      hint = errors.suggestion(value, option.choices, "")
    end
    schema.raise_value(path, value, kind.expected(option) .. hint)
  end
  if option.type == "boolean" then return value end
  return checked
end

--- The value of an option that is not set.
---@param option blis.Option
---@param profile string
function schema.default(option, profile)
  local of_profile = option.profiles and option.profiles[profile]
  if of_profile ~= nil then return of_profile end
  return option.default
end

local function place_of(path, name)
  return path == "" and name or path .. "." .. name
end

--- Prints a note about each option that is set and has no effect, because the option that it needs
--- is not set.
local function tell_useless(section, given, values, path, profile)
  for _, option in ipairs(section.options) do
    local needed = option.needs
    if needed and profile == "design" and given[option.name] ~= nil
      and values[option.name] ~= schema.default(option, profile) then
      local other = index_of(section.options)[needed]
      if values[needed] == schema.default(other, profile) then
        local flag = option.flag and (" (%s)"):format(option.flag) or ""
        notices.tell(("%s%s has no effect without %s%s"):format(place_of(path, option.name), flag,
          place_of(path, needed), other.flag and (" (%s)"):format(other.flag) or ""))
      end
    end
  end
end

--- Checks a table of options and fills in the defaults.
---@param section blis.Section
---@param given? table
---@param path string "cluster"
---@param profile? string
---@return table values a new table
function schema.read(section, given, path, profile)
  if given == nil then given = {} end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a table of options")
  end
  schema.check_keys(section, given, path)
  local values, options = {}, section.options
  profile = profile or "design"
  for i = 1, #options do
    local option = options[i]
    local name = option.name
    local value = given[name]
    if option.aliases then value, name = given_value(option, given, path) end
    if value ~= nil then
      values[option.name] = schema.check_value(option, value, place_of(path, name))
    elseif option.required then
      errors.invalid("%s is missing, expected %s", place_of(path, name),
        types[option.type].expected(option))
    elseif option.profiles then
      values[option.name] = schema.default(option, profile)
    else
      values[option.name] = option.default
    end
  end
  tell_useless(section, given, values, path, profile)
  return values
end

-- A table of options inside another table.
types.section = {
  expected = function() return "a table of options" end,
  check = function(value, option, path)
    return type(value) == "table" and schema.read(option.section, value, path) or nil
  end,
}

return schema
