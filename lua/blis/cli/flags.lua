--- Command lines: flags described by the schema, read into tables of options.
---
--- A command is { name =, summary =, usage =, groups =, refused =, positional = }. A group is {
--- title =, section =, options = { option, ... } }; values of its flags are stored in
--- parsed.values[section][option.name]. An unsupported flag, { flag =, type =, harmless =, feature
--- = }, accepts only its harmless values.
local core = require "blis.core"
local endings = require "blis.endings"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local shape = require "blis.traffic.shape"
local units = require "blis.units"

local flags = {}

---@class blis.cli.Group
---@field title string
---@field section string
---@field options blis.Option[]
---@field has_defaults? boolean apply defaults; for sections that are not validated elsewhere

---@class blis.cli.Refused
---@field flag string
---@field type string
---@field harmless any[]
---@field feature string

---@class blis.cli.Positional
---@field name string
---@field doc string
---@field count? integer how many there are at most, 1 by default

---@class blis.cli.Command
---@field name string
---@field summary string
---@field usage string
---@field groups blis.cli.Group[]
---@field refused? blis.cli.Refused[]
---@field not_here? table<string, string> flags of other commands, with the reason for rejection
---@field positional? blis.cli.Positional arguments that are no flags

---@class blis.cli.Parsed
---@field values table<string, table> by section
---@field given table<string, boolean> flags of the command line, by their usual spelling
---@field positional? string the first one
---@field positionals string[]
---@field wants_help boolean
---@field bare string[] errors about durations without unit, for all profiles but go-blis

local help_option = { name = "help", flag = "--help", type = "boolean", doc = "Print this text." }

--- Raises what is wrong with a command line. Flags in the message are spelled as they were typed.
---@param command { name: string, typed?: table<string, string> }
---@param format string
function flags.fail(command, format, ...)
  local text = format:format(...):gsub("%-%-[%w-]+", command.typed or {})
  local object = core.error_object("usage", ("%s: %s%s 'blis %s --help' lists the flags"):format(
    command.name, text, text:find "%?$" and "" or ";", command.name))
  object.traceback = false
  error(object, 0)
end

--- A message without the place in a script: command lines have none.
---@param message string
---@return string
function flags.without_place(message)
  return (message:gsub("^%S+%.lua:%d+: ", ""))
end

local function read_number(text)
  return not text:lower():match("[in]") and not text:match("^%s") and tonumber(text) or nil
end

local function read_numbers(text)
  local list = {}
  for item in (text .. ","):gmatch("([^,]*),") do
    local number = read_number(item:match("^%s*(.-)%s*$"))
    if not number then return nil end
    list[#list + 1] = number
  end
  return list
end

-- What text means as a value of a type; nil when it means nothing.
local readers = {
  integer = function(text)
    return text:match "^[+-]?%d+%.?0*$" and math.tointeger(tonumber(text))
  end,
  number = read_number,
  numbers = read_numbers,
  boolean = function(text)
    local words = { ["true"] = true, ["false"] = false, ["1"] = true, ["0"] = false }
    return words[text:lower()]
  end,
}

--- true or false; any other text is a folder.
function readers.switch_or_folder(text)
  local switch = readers.boolean(text)
  if switch == nil then return text end
  return switch
end

--- A part of the value of a flag that is a duration, in whole microseconds; nil if it is none. A
--- number without unit is noted in bare: only profile go-blis takes it, as microseconds.
---@param text string
---@param bare table[] parsed.bare, or the second argument of a reader
---@param flag string
---@param key? string in front of the duration, with "="
---@return integer? us
function flags.duration(text, bare, flag, key)
  local us, fault, number = units.parse(text)
  if us then return units.whole(us) end
  if fault ~= "no unit" then return nil end
  if number ~= 0 then
    local before = key and key .. "=" or ""
    bare[#bare + 1] = ("%s: '%s%s' has no unit; write %s%s (units: us, ms, s, m, h, d)"):format(
      flag, before, text, key and before or flag .. " ", units.correction(number))
  end
  return math.tointeger(number)
end

--- gamma:3 as { "gamma", cv = 3 }.
function readers.arrival(text)
  local process, cv = text:match("^([^:]+):([^:]+)$")
  if not process then return text end
  return { process, cv = read_number(cv) or cv }
end

--- diurnal:period=2h,speed=10 as { "diurnal", period_us = 7200000000, speed = 10 }.
function readers.shape(text, bare)
  local kind, rest = text:match("^([^:]+):(.+)$")
  local section = shape.section_of(kind or text)
  if not kind or not section then return text end
  local known, given = {}, { kind }
  for _, option in ipairs(section.options) do known[option.name] = true end
  for item in (rest .. ","):gmatch("([^,]*),") do
    local key, value = item:match("^([%w_]+)=(.+)$")
    if not key then return nil end
    if known[key .. "_us"] then
      given[key .. "_us"] = flags.duration(value, bare, "--shape", key) or value
    else
      given[key] = read_number(value) or value
    end
  end
  return given
end

--- A number whose unit is the option's, or that has its own unit: 10GB/s.
local function read_with_suffix(option, text)
  local number, suffix = text:match "^(.-)%s*([%a/]+)$"
  local factor = suffix and option.suffixes[suffix]
  local value = factor and read_number(number)
  if value then return value * factor end
end

-- Types of durations, and the types with special wording on command lines.
local types_of_durations = { time_us = "time", delay_us = "delay", warm_up_us = "warm_up" }

--- The unit of an option that is a duration; nil for other options.
local function duration_unit(option)
  if types_of_durations[option.type] then return "us" end
  local is_number = option.type == "number" or option.type == "integer"
  return is_number and units.scale(option.unit) and option.unit or nil
end

--- Whether numbers without unit are allowed: the flag states the unit, or has always had one.
local function may_be_bare(option, flag)
  return option.bare_unit ~= nil or units.of_name(flag) == duration_unit(option)
end

--- A duration in the unit of its option; nil for a string that is not a duration.
local function read_duration(option, text, flag, bare)
  if text == "auto" and option.type == "warm_up_us" then return text end
  local us, fault = units.parse(text)
  if us and types_of_durations[option.type] then return units.whole(us) end
  if us then return us / units.scale(option.unit) end
  if fault ~= "no unit" then return nil end
  if not may_be_bare(option, flag) then flags.duration(text, bare, flag) end
  return readers[option.type == "number" and "number" or "integer"](text)
end

local function read_value(option, text, flag, bare)
  if option.from_text then return option.from_text(text, flag) end
  local reader = readers[option.type]
  local value = text
  if duration_unit(option) then
    value = read_duration(option, text, flag, bare)
  elseif reader then
    value = reader(text, bare)
  end
  if option.suffixes and type(value) ~= "number" then value = read_with_suffix(option, text) end
  if value == nil then value = text end
  local own_type = types_of_durations[option.type]
  if own_type then option = setmetatable({ type = own_type }, { __index = option }) end
  return schema.check_value(option, value, flag)
end

-- Where no text means nothing: the flag is as good as not there.
local may_be_empty = { string = true, path = true, described = true }

local function is_nothing(option, text)
  if text ~= "" then return false end
  if option.may_be_empty ~= nil then return option.may_be_empty end
  return may_be_empty[option.type] and not option.endings
end

--- The entries of a command by every spelling of their flags, and these in order.
local function index_of(command)
  local by_flag, words = {}, {}
  local function add(flag, entry)
    by_flag[flag] = entry
    words[#words + 1] = flag
  end
  add(help_option.flag, { option = help_option })
  for _, group in ipairs(command.groups) do
    for _, option in ipairs(group.options) do
      local entry = { option = option, section = group.section }
      add(option.flag, entry)
      for _, alias in ipairs(option.flag_aliases or {}) do by_flag[alias] = entry end
    end
  end
  for _, refused in ipairs(command.refused or {}) do
    add(refused.flag, { refused = refused, option = refused })
  end
  return by_flag, words
end

local function check_refused(command, refused, flag, text)
  local value
  if readers[refused.type] then value = readers[refused.type](text) else value = text end
  for _, harmless in ipairs(refused.harmless) do
    if value == harmless then return end
  end
  if is_nothing(refused, text) then return end
  flags.fail(command, "%s is not available: %s", flag, refused.feature)
end

--- The names of files determine their format.
local function check_ending(command, option, flag, path)
  local problem = option.endings and endings.problem(path, option.endings)
  if problem then
    flags.fail(command, "%s: %s: %s", flag, errors.invalid_value(path), problem)
  end
end

local function mentions_go_blis(args)
  for _, word in ipairs(args) do
    if word:find "go%-blis$" then return true end
  end
  return false
end

local function store(command, parsed, entry, flag, text)
  if entry.refused then return check_refused(command, entry.refused, flag, text) end
  local option = entry.option
  if flag ~= option.flag and flag:find "^%-%-" then command.typed[option.flag] = flag end
  schema.tell_deprecated(option, flag, option.flag, "")
  if is_nothing(option, text) then
    parsed.given[option.flag] = true
    return
  end
  local count = #parsed.bare
  local ok, value = pcall(read_value, option, text, flag, parsed.bare)
  if not ok then
    if type(value) ~= "table" or not value.message then error(value, 0) end
    if #parsed.bare > count and not mentions_go_blis(parsed.args) then
      flags.fail(command, "%s", parsed.bare[#parsed.bare])
    end
    flags.fail(command, "%s", flags.without_place(value.message))
  end
  if option == help_option then
    parsed.wants_help = value
    return
  end
  check_ending(command, option, flag, value)
  parsed.given[option.flag] = true
  local values = parsed.values[entry.section]
  if option.is_list then
    values[option.name] = values[option.name] or {}
    table.insert(values[option.name], value)
  else
    values[option.name] = value
  end
end

local function fail_unknown(command, flag, words)
  local reason = command.not_here and command.not_here[flag]
  if reason then flags.fail(command, "%s: %s; leave it out", flag, reason) end
  flags.fail(command, "unknown flag %s%s", errors.show(flag),
    errors.suggestion(flag, words, #words > 12 and "" or nil))
end

--- Parses the flag at args[i]; returns the next index and its value.
local function read_flag(command, parsed, args, i, by_flag, words)
  local flag, text = args[i]:match("^(%-%-[^=]+)=(.*)$")
  flag = flag or (args[i] == "-h" and "--help" or args[i])
  local entry = by_flag[flag]
  if not entry then fail_unknown(command, flag, words) end
  if not text then
    if entry.option.type == "boolean" then
      text = "true"
    elseif i == #args then
      flags.fail(command, "missing value after '%s'", flag)
    else
      i = i + 1
      text = args[i]
    end
  end
  store(command, parsed, entry, flag, text)
  return i + 1
end

local function fill_defaults(command, parsed)
  for _, group in ipairs(command.groups) do
    local values = parsed.values[group.section]
    for _, option in ipairs(group.has_defaults and group.options or {}) do
      if values[option.name] == nil then values[option.name] = option.default end
    end
  end
end

--- Fails at the first duration without unit, except in profile go-blis.
---@param command blis.cli.Command
---@param parsed blis.cli.Parsed
function flags.check_units(command, parsed)
  local profile = (parsed.values.experiment or {}).profile
  if parsed.bare[1] and profile ~= "go-blis" then flags.fail(command, "%s", parsed.bare[1]) end
end

--- Reads the arguments of a command.
---@param command blis.cli.Command
---@param args string[]
---@return blis.cli.Parsed
function flags.parse(command, args)
  local by_flag, words = index_of(command)
  local parsed = { values = {}, given = {}, positionals = {}, wants_help = false, args = args,
    bare = {} }
  command.typed = {}
  for _, group in ipairs(command.groups) do parsed.values[group.section] = {} end
  local i, only_positional = 1, false
  while i <= #args do
    local argument = args[i]
    if argument == "--" and not only_positional then
      only_positional = true
      i = i + 1
    elseif argument:match("^%-.") and not only_positional then
      i = read_flag(command, parsed, args, i, by_flag, words)
    elseif command.positional and #parsed.positionals < (command.positional.count or 1) then
      table.insert(parsed.positionals, argument)
      parsed.positional = parsed.positionals[1]
      i = i + 1
    else
      flags.fail(command, "unexpected argument %s", errors.show(argument))
    end
  end
  flags.check_units(command, parsed)
  fill_defaults(command, parsed)
  return parsed
end

--- Options of a section by name, in the order of the names; for the groups of a command.
---@param section blis.Section
---@param names string[]
---@return blis.Option[]
function flags.pick(section, names)
  local picked = {}
  for i, name in ipairs(names) do
    for _, option in ipairs(section.options) do
      if option.name == name then picked[i] = option end
    end
    assert(picked[i] and picked[i].flag, section.name .. "." .. name .. " has no flag")
  end
  return picked
end

--- The options of a section whose flags stand together in the help of commands that simulate.
---@param section blis.Section
---@param group string
---@return blis.Option[]
function flags.of_group(section, group)
  local list = {}
  for _, option in ipairs(section.options) do
    if option.group == group then list[#list + 1] = option end
  end
  return list
end

--- All options of a section that have a flag.
---@param section blis.Section
---@return blis.Option[]
function flags.all(section)
  local list = {}
  for _, option in ipairs(section.options) do
    if option.flag then list[#list + 1] = option end
  end
  return list
end

flags.help_option = help_option

return flags
