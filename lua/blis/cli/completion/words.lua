--- What shells complete: commands, their forms, flags and what these may be.
local catalogue = require "blis.policy.catalogue"
local flags = require "blis.cli.flags"
local library = require "blis.catalogue"

local words = {}

local function names_of(entries)
  local names = {}
  for i, entry in ipairs(entries) do names[i] = entry.name or entry.id end
  return names
end

-- Names that options may have as values, by option.
local known_names = {
  model = function() return names_of(library.models()) end,
  hardware = function() return names_of(library.hardware()) end,
  routing = function() return names_of(catalogue.routers) end,
  admission = function() return names_of(catalogue.admissions) end,
}

--- What the value of an option may be: a list of words, "files" or nil.
local function values_of(option)
  if option.choices then return option.choices end
  if option.type == "path" then return "files" end
  local names = known_names[option.name]
  return names and option.flag and names() or nil
end

--- { { flag =, doc =, values =, takes_value = }, ... } of a form of a command.
---@param form blis.cli.Form
---@return { flag: string, doc: string, values?: string[]|"files", takes_value: boolean }[]
function words.flags(form)
  local list = {}
  local function add(option)
    list[#list + 1] = {
      flag = option.flag, doc = option.flag_doc or option.doc, values = values_of(option),
      takes_value = option.type ~= "boolean",
    }
  end
  for _, group in ipairs(form.definition.groups) do
    for _, option in ipairs(group.options) do add(option) end
  end
  add(flags.help_option)
  return list
end

--- Options and commands, which may be the first word of a line.
function words.first(described)
  local list = {}
  for _, option in ipairs(described.options) do list[#list + 1] = option[1]:match("^%S+") end
  for _, command in ipairs(described.commands) do list[#list + 1] = command.name end
  return table.concat(list, " ")
end

--- The flags of a form, as one text.
function words.of_flags(form)
  local list = {}
  for i, one in ipairs(words.flags(form)) do list[i] = one.flag end
  return table.concat(list, " ")
end

--- Values as words of a shell; some have spaces.
function words.list(values)
  local list = {}
  for i, value in ipairs(values) do list[i] = value:gsub(" ", "\\ ") end
  return table.concat(list, " ")
end

--- The first sentence of a doc.
function words.short(doc)
  return (doc:match("^(.-)[.;:] ") or doc):gsub("%.$", "")
end

--- The words that may follow a command's name and begin one of its forms.
function words.second(command)
  local list = {}
  for _, form in ipairs(command.forms) do
    list[#list + 1] = form.words:match("^%S+ (%S+)$")
  end
  return #list > 0 and table.concat(list, " ") or nil
end

return words
