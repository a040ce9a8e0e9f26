--- The completion script for fish.
local words = require "blis.cli.completion.words"

local head = [[
# Completion of blis for fish, written by 'blis completion fish': save it as blis.fish in
# ~/.config/fish/completions, or: blis completion fish | source

function __blis_words --description 'the words of the command line behind the options of blis'
  set -l rest (commandline -opc)
  set -e rest[1]
  while set -q rest[1]
    switch $rest[1]
      case -e -l --scripts '--sandbox-*'
        set -e rest[1]
      case '-*'
      case '*'
        break
    end
    set -e rest[1]
  end
  string join -- \n $rest
end

function __blis_begins --description 'true when the command line is that of a form'
  set -l rest (__blis_words)
  set -l count (count $argv)
  test (count $rest) -ge $count; and test "$rest[1..$count]" = "$argv"
end

function __blis_is --description 'true when these are all words so far'
  set -l rest (__blis_words)
  test "$rest" = "$argv"
end
]]

--- A string between single quotes.
local function quoted(text)
  return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local function add_word(lines, so_far, word, doc)
  lines[#lines + 1] = ("complete -c blis -n %s -a %s -d %s"):format(
    quoted(("__blis_is " .. so_far):match "^(.-) ?$"), quoted(word), quoted(doc))
end

local function add_flag(lines, form, one)
  local kind = ""
  if type(one.values) == "table" then
    kind = " -x -a " .. quoted(words.list(one.values))
  elseif one.values == "files" then
    kind = " -r -F"
  elseif one.takes_value then
    kind = " -x"
  end
  local name = one.flag:gsub("^%-%-", "")
  lines[#lines + 1] = ("complete -c blis -n %s -l %s%s -d %s"):format(
    quoted("__blis_begins " .. form.words), name, kind, quoted(words.short(one.doc)))
end

--- The script for fish.
---@param described table of program.describe()
---@return string
return function(described)
  local lines = { (head:gsub("\n$", "")), "" }
  for _, option in ipairs(described.options) do
    local name = option[1]:match "^%S+"
    lines[#lines + 1] = ("complete -c blis -n '__blis_is' -a %s -d %s"):format(quoted(name),
      quoted(option[2]))
  end
  for _, command in ipairs(described.commands) do
    add_word(lines, "", command.name, command.summary)
    for _, form in ipairs(command.forms) do
      local second = form.words:match "^%S+ (%S+)$"
      if second then add_word(lines, command.name, second, form.definition.summary) end
      for _, one in ipairs(words.flags(form)) do add_flag(lines, form, one) end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end
