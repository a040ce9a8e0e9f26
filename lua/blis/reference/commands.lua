--- Commands of the program in the reference, and their flags.
local reference = require "blis.reference"

local commands = {}

local new_topic, notes_of = reference.new_topic, reference.notes_of

local function described() return require("blis.cli.program").describe().commands end

--- Calls visit(option, form) for each flag.
local function each_flag(visit)
  for _, command in ipairs(described()) do
    for _, form in ipairs(command.forms) do
      for _, group in ipairs(form.definition.groups) do
        for _, option in ipairs(group.options) do
          if option.flag then visit(option, form) end
        end
      end
    end
  end
end

--- The description of a flag: one topic for all commands with the same text.
---@param wanted string its key
---@param key fun(name: string): string what is compared of a name
---@return blis.Topic[]
function commands.with_flag(wanted, key)
  local found, by_doc = {}, {}
  each_flag(function(option, form)
    if key(option.flag) ~= wanted then return end
    local doc = option.flag_doc or option.doc
    if by_doc[doc] then
      by_doc[doc].title = by_doc[doc].title .. ", blis " .. form.words
    else
      by_doc[doc] = new_topic("options", option.flag, ("%s of blis %s"):format(option.flag,
        form.words), { doc .. notes_of(option, option.default) })
      found[#found + 1] = by_doc[doc]
    end
  end)
  return found
end

--- All flags, each once.
---@return string[]
function commands.flags()
  local flags, seen = {}, {}
  each_flag(function(option)
    if not seen[option.flag] then
      seen[option.flag] = true
      flags[#flags + 1] = option.flag
    end
  end)
  return flags
end

--- "run", "sweep", "sweep run".
---@return string[]
function commands.names()
  local names = {}
  for _, command in ipairs(described()) do
    names[#names + 1] = command.name
    for _, form in ipairs(command.forms) do
      if form.words ~= command.name then names[#names + 1] = form.words end
    end
  end
  return names
end

local function sentence(text) return text:sub(1, 1):upper() .. text:sub(2) .. "." end

local function topic_of_form(form)
  local name, its = "blis " .. form.words, form.definition
  return new_topic("command", name, name, { its.description or sentence(its.summary), "",
    ("'%s --help' lists its flags."):format(name) })
end

--- A command that is several.
local function topic_of_command(command)
  local name = "blis " .. command.name
  local lines = { sentence(command.summary), "" }
  for _, form in ipairs(command.forms) do
    lines[#lines + 1] = ("@item %s %s"):format(form.words:match "%S+$", form.definition.summary)
  end
  return new_topic("command", name, name, lines)
end

--- The command of that name, as topics.
---@param wanted string its key
---@param key fun(name: string): string what is compared of a name
---@return blis.Topic[]
function commands.named(wanted, key)
  local found = {}
  for _, command in ipairs(described()) do
    if #command.forms > 1 and key(command.name) == wanted then
      found[#found + 1] = topic_of_command(command)
    end
    for _, form in ipairs(command.forms) do
      if key(form.words) == wanted then found[#found + 1] = topic_of_form(form) end
    end
  end
  return found
end

return commands
