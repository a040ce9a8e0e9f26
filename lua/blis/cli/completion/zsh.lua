--- The completion script for zsh.
local words = require "blis.cli.completion.words"

--- A string between the quotes of zsh, in which [ ] : have a meaning in descriptions.
local function zsh_text(text)
  return (text:gsub("'", "'\\''"):gsub("[%[%]:\\]", "\\%0"))
end

--- A flag as _arguments has it; action is how its value is completed, nil without one.
local function zsh_argument(flag, doc, action)
  return ("'%s[%s]%s'"):format(flag, zsh_text(doc), action and ":value:" .. action or "")
end

--- How the value of a flag of a command is completed; nil when it has none.
local function action_of(one)
  if not one.takes_value then return nil end
  if type(one.values) == "table" then return ("(%s)"):format(words.list(one.values)) end
  return one.values == "files" and "_files" or ""
end

local function add_zsh_flags(lines, form, indent)
  lines[#lines + 1] = indent .. "_arguments \\"
  for _, one in ipairs(words.flags(form)) do
    lines[#lines + 1] = ("%s  %s \\"):format(indent,
      zsh_argument("*" .. one.flag, words.short(one.doc), action_of(one)))
  end
  lines[#lines + 1] = indent .. "  '*:file:_files'"
end

local function add_zsh_command(lines, command)
  lines[#lines + 1] = ("    %s)"):format(command.name)
  local seconds = words.second(command)
  if seconds then
    lines[#lines + 1] = "      if ((CURRENT == 2)); then"
    lines[#lines + 1] = ("        compadd %s"):format(seconds)
    lines[#lines + 1] = "        return"
    lines[#lines + 1] = "      fi"
    lines[#lines + 1] = "      case $words[2] in"
    for _, form in ipairs(command.forms) do
      lines[#lines + 1] = ("        %s)"):format(form.words:match("%S+$"))
      add_zsh_flags(lines, form, "          ")
      lines[#lines + 1] = "          ;;"
    end
    lines[#lines + 1] = "      esac"
  elseif command.forms[1] then
    add_zsh_flags(lines, command.forms[1], "      ")
  end
  lines[#lines + 1] = "      ;;"
end

--- The script for zsh.
---@param described table of program.describe()
---@return string
return function(described)
  local lines = {
    "#compdef blis",
    "# Completion of blis for zsh, written by 'blis completion zsh': save it as _blis in a folder",
    "# of $fpath, or: source <(blis completion zsh)",
    "",
    "_blis_first() {",
    "  local -a commands=(",
  }
  for _, command in ipairs(described.commands) do
    lines[#lines + 1] = ("    '%s:%s'"):format(command.name, zsh_text(command.summary))
  end
  lines[#lines + 1] = "  )"
  lines[#lines + 1] = "  _describe command commands"
  lines[#lines + 1] = "  _files"
  lines[#lines + 1] = "}"
  lines[#lines + 1] = ""
  lines[#lines + 1] = "_blis() {"
  lines[#lines + 1] = "  local state"
  lines[#lines + 1] = "  _arguments -C \\"
  for _, option in ipairs(described.options) do
    local name, value = option[1]:match("^(%S+) ?(%S*)$")
    lines[#lines + 1] = ("    %s \\"):format(
      zsh_argument(name, option[2], value ~= "" and "_files" or nil))
  end
  lines[#lines + 1] = "    '1:command or file:_blis_first' '*::argument:->rest'"
  lines[#lines + 1] = "  [[ $state == rest ]] || return"
  lines[#lines + 1] = "  case $words[1] in"
  for _, command in ipairs(described.commands) do add_zsh_command(lines, command) end
  lines[#lines + 1] = "    *) _files ;;"
  lines[#lines + 1] = "  esac"
  lines[#lines + 1] = "}"
  lines[#lines + 1] = ""
  lines[#lines + 1] = "if [[ $funcstack[1] == _blis ]]; then"
  lines[#lines + 1] = '  _blis "$@"'
  lines[#lines + 1] = "else"
  lines[#lines + 1] = "  compdef _blis blis"
  lines[#lines + 1] = "fi"
  return table.concat(lines, "\n") .. "\n"
end
