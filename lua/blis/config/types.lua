--- The types of option values: accepted values, and how messages describe them.
---
--- A type has check(value, option, path), which returns the value to use or nil, and
--- expected(option), the description for error messages and the reference page. Optional:
--- hint(value), a suggestion for a wrong value.
local errors = require "blis.errors"
local notices = require "blis.notices"
local units = require "blis.units"

local types = {}

local function limit(number)
  local integer = math.tointeger(number)
  return integer and ("%d"):format(integer) or ("%g"):format(number)
end

local function range_text(option)
  local low, high, above = option.min, option.max, option.above
  if above and high then return (" above %s and up to %s"):format(limit(above), limit(high)) end
  if above then return (" above %s"):format(limit(above)) end
  if low and high then return (" from %s to %s"):format(limit(low), limit(high)) end
  if low then return (" of at least %s"):format(limit(low)) end
  if high then return (" of at most %s"):format(limit(high)) end
  return ""
end

local function in_range(value, option)
  return value == value and value >= (option.min or -math.huge)
    and value <= (option.max or math.huge) and (not option.above or value > option.above)
end

local example = "such as 500us, 50ms, 30s, 5m, or 1h"

-- Describes the range of a duration in microseconds, like range_text.
local function time_range_text(option)
  local low, high = option.min or option.above, option.max
  local function text(us) return us and us ~= 0 and units.text(us) end
  low, high = text(low), text(high)
  if low and high then return (" from %s to %s"):format(low, high) end
  if option.above and low then return (" above %s"):format(low) end
  if low then return (" of at least %s"):format(low) end
  if high then return (" of at most %s"):format(high) end
  return ""
end

local function is_duration(option) return units.scale(option.unit) ~= nil end

--- Converts a duration to the unit of the option: "30s" is 30000 in ms.
local function in_unit(value, option)
  if type(value) ~= "string" or not is_duration(option) then return value end
  local us = units.parse(value)
  return us and us / units.scale(option.unit)
end

local function unit_text(option)
  return is_duration(option) and (" (%s), or a duration such as \"30s\""):format(option.unit) or ""
end

types.integer = {
  expected = function(option)
    return "an integer" .. range_text(option) .. unit_text(option)
  end,
  check = function(value, option)
    value = in_unit(value, option)
    local integer = type(value) == "number" and math.tointeger(value)
    return integer and in_range(integer, option) and integer or nil
  end,
}

types.number = {
  expected = function(option)
    return "a number" .. range_text(option) .. unit_text(option)
  end,
  check = function(value, option)
    value = in_unit(value, option)
    local is_finite = type(value) == "number" and value - value == 0
    return is_finite and in_range(value, option) and value or nil
  end,
}

-- An option whose name has no unit needs a number with a unit. Larger numbers can be results of
-- blis.seconds and similar functions, which return microseconds.
local least_of_functions_us = 1000

--- Raises an error if neither the number nor the name of the option has a unit, as in { at = 30 }.
local function check_bare(value, path)
  local name = path and path:match "[%a_]+$"
  if value > 0 and value < least_of_functions_us and name and not units.of_name(name) then
    errors.invalid("%s: %d has no unit; write %s = \"%ds\" (units: us, ms, s, m, h, d)", path,
      value, name, value)
  end
end

local function time_of(value, option)
  if type(value) == "string" then value = units.whole(units.parse(value)) end
  local integer = type(value) == "number" and math.tointeger(value)
  return integer and in_range(integer, option) and integer or nil
end

-- A point in time or a duration: "30s", or a whole number of microseconds if the name of the
-- option states the unit. Other options accept numbers of at least 1000, as blis.seconds returns.
types.time_us = {
  expected = function(option)
    return "a duration" .. time_range_text(option) .. " such as \"30s\", or a whole number of "
      .. "microseconds (as blis.seconds(n) returns)"
  end,
  check = function(value, option, path)
    local us = time_of(value, option)
    if us and type(value) == "number" then check_bare(us, path) end
    return us
  end,
}

-- A point in time or a duration on a command line, with a unit.
types.time = {
  expected = function(option)
    return ("a duration%s, %s"):format(time_range_text(option), example)
  end,
  check = time_of,
}

local delay_shapes = { "normal", "lognormal", "uniform", "exponential" }
local delay_keys = { "distribution", "mean_us", "stddev_us" }

local function is_among(word, words)
  for _, one in ipairs(words) do
    if one == word then return true end
  end
  return false
end

local function check_delay_part(value, name, option, path)
  local given = value[name]
  if type(given) == "string" then given = units.parse(given) end
  local number = types.number.check(given, option)
  if number then return number end
  errors.invalid("%s.%s: %s: expected %s", path, name, errors.invalid_value(value[name]),
    types.number.expected(option))
end

--- Checks a time with a mean and a standard deviation. Exponential times take no deviation.
local function check_drawn_delay(value, option, path)
  errors.check_names(value, delay_keys, path, "option")
  local shape = value.distribution or "normal"
  if not is_among(shape, delay_shapes) then
    errors.invalid("%s.distribution: %s: expected one of %s", path,
      errors.invalid_value(shape), table.concat(delay_shapes, ", "))
  end
  if shape == "exponential" and value.stddev_us ~= nil then
    errors.invalid("%s.stddev_us: cannot be set for an exponential distribution, whose standard "
      .. "deviation equals its mean",
      path)
  end
  local mean_us = check_delay_part(value, "mean_us", option, path)
  local stddev_us = value.stddev_us ~= nil and check_delay_part(value, "stddev_us", option, path)
  return { mean_us = mean_us, stddev_us = stddev_us or 0, distribution = shape }
end

-- A constant or a random duration.
types.delay_us = {
  expected = function(option)
    return types.time_us.expected(option) .. ", or { mean_us =, stddev_us =, distribution = "
      .. "\"normal\", \"lognormal\" or \"uniform\" }, or { mean_us =, distribution = "
      .. "\"exponential\" }"
  end,
  check = function(value, option, path)
    if type(value) == "table" then return check_drawn_delay(value, option, path) end
    local mean_us = time_of(value, option)
    return mean_us and { mean_us = mean_us, stddev_us = 0, distribution = "normal" }
  end,
}

-- A duration on a command line.
types.delay = {
  expected = function(option) return types.time.expected(option) end,
  check = types.delay_us.check,
}

-- A time after the start of a run, or a method that determines it.
types.warm_up_us = {
  expected = function(option) return types.time_us.expected(option) .. ", or 'auto'" end,
  check = function(value, option)
    return value == "auto" and value or time_of(value, option)
  end,
}

-- The command-line form of this type.
types.warm_up = {
  expected = function(option) return types.time.expected(option) .. ", or 'auto'" end,
  check = types.warm_up_us.check,
}

types.boolean = {
  expected = function() return "true or false" end,
  check = function(value) return type(value) == "boolean" and value or nil end,
}

types.string = {
  expected = function(option) return option.expected or "a string" end,
  check = function(value) return type(value) == "string" and value ~= "" and value or nil end,
}

types.path = {
  expected = function() return "the path of a file" end,
  check = types.string.check,
}

-- The path of a trace, or a table with a path.
types.spot = {
  expected = function() return "the path of a CSV file, or a table of options" end,
  check = function(value)
    if type(value) == "string" and value ~= "" then return { trace = value } end
    return type(value) == "table" and value or nil
  end,
}

types.folder = {
  expected = function() return "the path of a folder" end,
  check = types.string.check,
}

-- A switch, or the path of a folder.
types.switch_or_folder = {
  expected = function() return "true, false, or the path of a folder" end,
  check = function(value)
    if type(value) == "boolean" then return value end
    return types.string.check(value)
  end,
}

-- A path, or a list of paths.
types.paths = {
  expected = function() return "the path of a file, or a list of them" end,
  check = function(value)
    if type(value) == "string" then value = { value } end
    if type(value) ~= "table" then return nil end
    for key, path in pairs(value) do
      local is_path = math.type(key) == "integer" and type(path) == "string" and path ~= ""
      if not is_path then return nil end
    end
    return table.move(value, 1, #value, 1, {})
  end,
}

-- An entry of the catalog: its name, or a table that describes it.
types.described = {
  expected = function() return "a name, or a table that describes it" end,
  check = function(value)
    return (type(value) == "table" or types.string.check(value)) and value or nil
  end,
}

types.choice = {
  expected = function(option) return "one of " .. table.concat(option.choices, ", ") end,
  check = function(value, option)
    local new = option.renamed and option.renamed[value]
    if new then
      notices.tell(("%s: '%s' is deprecated and will be removed in blis 2.0.0; use '%s'"):format(
        option.flag or option.name, value, new))
      return new
    end
    for _, word in ipairs(option.choices) do
      if word == value then return value end
    end
  end,
}

types.table = {
  expected = function() return "a table of options" end,
  check = function(value) return type(value) == "table" and value or nil end,
}

-- The module that owns the option checks it, because the option accepts several forms.
types.any = {
  expected = function(option) return option.expected or option.doc end,
  check = function(value) return value end,
}

types.numbers = {
  expected = function() return "a list of numbers of at least 0" end,
  check = function(value, _, path)
    if type(value) ~= "table" or #value == 0 then return nil end
    local copy = {}
    for i, number in ipairs(value) do
      local is_valid = type(number) == "number" and number >= 0 and number - number == 0
      if not is_valid then
        errors.invalid("%s: %s: expected numbers of at least 0", path,
          errors.invalid_value(number))
      end
      copy[i] = number
    end
    return copy
  end,
}

-- Numbers by name, { critical = 4, batch = 0 }. The value is a list in the order of the names.
types.numbers_by_name = {
  expected = function(option)
    return ("a table of names with %s each"):format(types[option.of or "number"].expected(option))
  end,
  check = function(value, option, path)
    if type(value) ~= "table" then return nil end
    local kind, list = types[option.of or "number"], {}
    for name, number in pairs(value) do
      if type(name) ~= "string" then return nil end
      list[#list + 1] = { name = name, value = number }
    end
    table.sort(list, function(a, b) return a.name < b.name end)
    for _, one in ipairs(list) do
      local number = kind.check(one.value, option)
      if number == nil then
        errors.invalid("%s.%s: %s: expected %s", path, one.name,
          errors.invalid_value(one.value), kind.expected(option))
      end
      one.value = number
    end
    return list
  end,
}

-- A table with a number for each name.
types.named_numbers = {
  expected = function(option)
    return "a table of numbers by name, each" .. range_text(option)
  end,
  check = function(value, option)
    if type(value) ~= "table" then return nil end
    local copy = {}
    for name, number in pairs(value) do
      local is_valid = type(name) == "string" and types.number.check(number, option)
      if not is_valid then return nil end
      copy[name] = number
    end
    return copy
  end,
}

--- Returns a copy of a list of strings, or nil.
local function texts_of(value)
  if type(value) ~= "table" then return nil end
  local copy = {}
  for key, text in pairs(value) do
    local is_item = math.type(key) == "integer" and key >= 1 and key <= #value
    if not is_item or type(text) ~= "string" or text == "" then return nil end
    copy[key] = text
  end
  return copy
end

-- An ordered list of strings.
types.texts = {
  expected = function() return "a list of strings" end,
  check = texts_of,
}

-- Ordered lists of strings by name.
types.texts_by_name = {
  expected = function() return "a table of lists of strings by name" end,
  check = function(value)
    if type(value) ~= "table" then return nil end
    local copy = {}
    for name, texts in pairs(value) do
      copy[name] = type(name) == "string" and texts_of(texts) or nil
      if not copy[name] then return nil end
    end
    return copy
  end,
}

-- Models in order, or by recorded name. In a string, separated by commas.
types.served_models = {
  expected = function()
    return "models in order, or by recorded name: a list, a table of strings by name, "
      .. "\"MODEL,...\" or \"NAME=MODEL,...\""
  end,
  check = function(value)
    if type(value) == "string" then
      local _, commas = value:gsub(",", "")
      local _, names = value:gsub("[^,=]+=[^,=]+", "")
      local _, models = value:gsub("[^,]+", "")
      local is_plain = models == commas + 1 and (names == 0 or names == models)
      return is_plain and (names > 0 or not value:find "=") and value or nil
    end
    if type(value) ~= "table" or next(value) == nil then return nil end
    if #value > 0 then return texts_of(value) end
    for name, model in pairs(value) do
      local is_pair = type(name) == "string" and type(model) == "string" and name ~= ""
        and model ~= ""
      if not is_pair then return nil end
    end
    return value
  end,
}

-- Columns by role: a string "timestamp=start,prompt=tokens_in", or a table { timestamp = "start" }.
-- The value is the string form.
types.columns = {
  expected = function()
    return "columns by role, { timestamp = \"start\", prompt = \"tokens_in\" }, or a string "
      .. "\"timestamp=start,prompt=tokens_in\""
  end,
  check = function(value)
    if type(value) == "string" then return value:find "=" and value or nil end
    if type(value) ~= "table" or next(value) == nil then return nil end
    local list = {}
    for role, column in pairs(value) do
      local is_pair = type(role) == "string" and type(column) == "string" and column ~= ""
      if not is_pair then return nil end
      list[#list + 1] = role .. "=" .. column
    end
    table.sort(list)
    return table.concat(list, ",")
  end,
}

types.callback = {
  expected = function(option) return "a function" .. (option.arguments or "") end,
  check = function(value) return type(value) == "function" and value or nil end,
}

types.strings = {
  expected = function() return "a list of strings" end,
  check = function(value)
    if type(value) ~= "table" or #value == 0 then return nil end
    for key, text in pairs(value) do
      if math.type(key) ~= "integer" or type(text) ~= "string" or text == "" then return nil end
    end
    return table.move(value, 1, #value, 1, {})
  end,
}

--- As a flag, names with commas in between.
types.names = {
  expected = function() return "a list of names" end,
  check = function(value)
    if type(value) ~= "string" then return types.strings.check(value) end
    local list = {}
    for name in value:gmatch "[^,]+" do list[#list + 1] = name:match "^%s*(.-)%s*$" end
    return types.strings.check(list)
  end,
}

types.reals = {
  expected = function() return "a list of numbers" end,
  check = function(value)
    if type(value) ~= "table" or #value == 0 then return nil end
    for key, number in pairs(value) do
      local is_valid = math.type(key) == "integer" and type(number) == "number"
        and number - number == 0
      if not is_valid then return nil end
    end
    return table.move(value, 1, #value, 1, {})
  end,
}

return types
