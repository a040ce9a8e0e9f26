--- The help text of a command, from the same descriptions that its flags are read by.
local flags = require "blis.cli.flags"
local format = require "blis.format"
local terminal = require "blis.terminal"
local units = require "blis.units"

local help = {}

-- Below this width, flags and descriptions use separate lines.
local least_for_columns = 76

local metavars = {
  integer = "N", number = "X", time_us = "TIME", delay_us = "TIME", numbers = "X,X,...",
  string = "NAME",
  path = "PATH", choice = "WORD", arrival = "PROCESS", any = "VALUE",
}

--- Whether a flag takes a number with a unit of time.
local function is_duration(option)
  local is_number = option.type == "number" or option.type == "integer"
  return option.type:match "_us$" ~= nil or is_number and units.scale(option.unit) ~= nil
end

local function metavar(option)
  return option.metavar or is_duration(option) and "TIME" or metavars[option.type] or "VALUE"
end

local function flag_text(option)
  if option.type == "boolean" then return option.flag end
  return option.flag .. " " .. metavar(option)
end

local function value_text(value)
  if math.type(value) == "integer" then return ("%d"):format(value) end
  if type(value) == "number" then return ("%.14g"):format(value) end
  return tostring(value)
end

--- "default 16 tokens, go-blis 50000"
local function default_text(option)
  local parts, text_of = {}, value_text
  local scale = units.scale(option.type:match "_us$" and "us" or option.unit)
  if scale and option.type ~= "numbers" then
    text_of = function(value) return units.text(value * scale) end
  end
  if option.default ~= nil and option.type ~= "boolean" then
    parts[1] = "default " .. text_of(option.default)
  end
  local go = option.profiles and option.profiles["go-blis"]
  if go ~= nil and go ~= option.default then
    parts[#parts + 1] = "go-blis " .. text_of(go)
  end
  return table.concat(parts, ", ")
end

--- The flags of a command by the names that options have elsewhere.
local function flags_by_name(command)
  local by_name = {}
  for _, group in ipairs(command.groups) do
    for _, option in ipairs(group.options) do by_name[option.name] = option.flag end
  end
  return by_name
end

--- Replaces option names by flags; columns of files keep their names.
local function with_flags(text, by_name)
  local columns_from, columns_to = text:find "columns [%w_, ]+"
  return (text:gsub("()([%l]+_[%l_]+)(%.?%w?)", function(place, name, behind)
    local is_column = columns_from and place > columns_from and place <= columns_to
    local is_figure = behind:match "^%.%w" -- ttft_ms.p99
    local flag = not is_column and not is_figure and by_name[name]
    return flag and flag .. behind or nil
  end))
end

--- The doc of an option with unit, choices and defaults.
local function describe(option, by_name)
  local text = with_flags(option.flag_doc or option.doc, by_name)
  if option.choices then
    text = ("%s Choices: %s."):format(text, table.concat(option.choices, ", "))
  end
  local notes = {}
  if option.unit and option.unit ~= "" and not is_duration(option) then
    notes[1] = option.unit
  end
  local default = default_text(option)
  if default ~= "" then notes[#notes + 1] = default end
  if option.is_list then notes[#notes + 1] = "may be repeated" end
  if #notes > 0 then text = text .. " (" .. table.concat(notes, ", ") .. ")" end
  return text
end

local function add_entry(lines, left, text, width)
  local flag_width = width >= least_for_columns and 34 or 8
  local indent = (" "):rep(flag_width)
  local described = format.wrap(text, width - flag_width)
  local head = "  " .. left
  if #head + 2 > flag_width then
    lines[#lines + 1] = head
  else
    lines[#lines + 1] = head .. (" "):rep(flag_width - #head) .. table.remove(described, 1)
  end
  for _, line in ipairs(described) do lines[#lines + 1] = indent .. line end
end

--- The arguments of a command by group: { { title =, entries = { { flag text, doc }, ... } } }.
---@param command blis.cli.Command
---@return { title: string, entries: { [1]: string, [2]: string }[] }[]
function help.groups(command)
  local groups, by_name = {}, flags_by_name(command)
  for g, group in ipairs(command.groups) do
    groups[g] = { title = group.title, entries = {} }
    for i, option in ipairs(group.options) do
      groups[g].entries[i] = { flag_text(option), describe(option, by_name) }
    end
  end
  return groups
end

--- The unsupported flags of a command by missing feature, in order: { { feature =, flags = "--a
--- --b" }, ... }.
---@param command blis.cli.Command
---@return { feature: string, flags: string }[]
function help.refused(command)
  local list, by_feature = {}, {}
  for _, refused in ipairs(command.refused or {}) do
    local one = by_feature[refused.feature]
    if one then
      one.flags = one.flags .. " " .. refused.flag
    else
      one = { feature = refused.feature, flags = refused.flag }
      list[#list + 1] = one
      by_feature[refused.feature] = one
    end
  end
  return list
end

local function add_refused(lines, command, width)
  local refused = help.refused(command)
  if #refused == 0 then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Unsupported flags (rejected):"
  for _, one in ipairs(refused) do
    lines[#lines + 1] = ("  %s:"):format(one.feature)
    for _, line in ipairs(format.wrap(one.flags, width - 4)) do
      lines[#lines + 1] = "    " .. line
    end
  end
end

--- The whole text.
---@param command blis.cli.Command
---@param width? integer default: the width of the terminal
---@return string
function help.text(command, width)
  width = width or terminal.width()
  local lines = { "usage: " .. command.usage, "" }
  for _, line in ipairs(format.wrap(command.description or command.summary, width)) do
    lines[#lines + 1] = line
  end
  if command.positional then
    lines[#lines + 1] = ""
    add_entry(lines, command.positional.name, command.positional.doc, width)
  end
  for _, group in ipairs(help.groups(command)) do
    lines[#lines + 1] = ""
    lines[#lines + 1] = group.title .. ":"
    for _, entry in ipairs(group.entries) do add_entry(lines, entry[1], entry[2], width) end
  end
  lines[#lines + 1] = ""
  add_entry(lines, flag_text(flags.help_option), flags.help_option.doc, width)
  if command.notes then
    lines[#lines + 1] = ""
    for _, line in ipairs(format.wrap(command.notes, width)) do lines[#lines + 1] = line end
  end
  add_refused(lines, command, width)
  return table.concat(lines, "\n") .. "\n"
end

return help
