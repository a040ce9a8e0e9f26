--- Completion scripts for shells, from the same descriptions that flags are read by.
local catalogue = require "blis.policy.catalogue"
local flags = require "blis.cli.flags"
local library = require "blis.engine.catalogue"

local completion = {}

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
local function flags_of(form)
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

local function first_words(described)
  local words = {}
  for _, option in ipairs(described.options) do words[#words + 1] = option[1]:match("^%S+") end
  for _, command in ipairs(described.commands) do words[#words + 1] = command.name end
  return table.concat(words, " ")
end

local function flag_words(form)
  local words = {}
  for i, one in ipairs(flags_of(form)) do words[i] = one.flag end
  return table.concat(words, " ")
end

--- The words that may follow a command's name and begin one of its forms.
local function second_words(command)
  local words = {}
  for _, form in ipairs(command.forms) do
    words[#words + 1] = form.words:match("^%S+ (%S+)$")
  end
  return #words > 0 and table.concat(words, " ") or nil
end

local bash_head = [=[
# Completion of blis for bash, written by 'blis completion bash':
#   source <(blis completion bash)

_blis_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_blis_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
  compopt -o filenames 2>/dev/null
}

_blis() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command='' second='' i
  COMPREPLY=()
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -e | -l | --scripts) ((i++)) ;;
      -*) ;;
      *)
        command=${COMP_WORDS[i]}
        second=${COMP_WORDS[i + 1]-}
        break
        ;;
    esac
  done
]=]

local bash_tail = [[
    *) _blis_files "$current" ;;
  esac
}

complete -F _blis blis
]]

local function add_bash_values(lines, list)
  lines[#lines + 1] = "      case $previous in"
  local plain = {}
  for _, one in ipairs(list) do
    if type(one.values) == "table" then
      lines[#lines + 1] = ("        %s) _blis_words '%s' \"$current\"; return ;;"):format(
        one.flag, table.concat(one.values, " "))
    elseif one.values == "files" then
      lines[#lines + 1] = ("        %s) _blis_files \"$current\"; return ;;"):format(one.flag)
    elseif one.takes_value then
      plain[#plain + 1] = one.flag
    end
  end
  if #plain > 0 then
    lines[#lines + 1] = ("        %s) return ;;"):format(table.concat(plain, " | "))
  end
  lines[#lines + 1] = "      esac"
end

--- The script for bash.
---@param described table of program.describe()
---@return string
function completion.bash(described)
  local lines = { (bash_head:gsub("\n$", "")) }
  lines[#lines + 1] = "  if [[ -z $command ]]; then"
  lines[#lines + 1] = ("    _blis_words '%s' \"$current\""):format(first_words(described))
  lines[#lines + 1] = "    ((${#COMPREPLY[@]})) || _blis_files \"$current\""
  lines[#lines + 1] = "    return"
  lines[#lines + 1] = "  fi"
  for _, command in ipairs(described.commands) do
    local words = second_words(command)
    if words then
      lines[#lines + 1] = ("  if [[ $command == %s && $second == \"$current\" ]]; then"):format(
        command.name)
      lines[#lines + 1] = ("    _blis_words '%s' \"$current\""):format(words)
      lines[#lines + 1] = "    return"
      lines[#lines + 1] = "  fi"
    end
  end
  lines[#lines + 1] = "  case \"$command $second\" in"
  for _, command in ipairs(described.commands) do
    for _, form in ipairs(command.forms) do
      local pattern = form.words:find(" ", 1, true) and ("'%s'"):format(form.words)
        or form.words .. "' '*"
      lines[#lines + 1] = ("    %s)"):format(pattern)
      add_bash_values(lines, flags_of(form))
      lines[#lines + 1] = "      [[ $current == -* ]] || { _blis_files \"$current\"; return; }"
      lines[#lines + 1] = ("      _blis_words '%s' \"$current\""):format(flag_words(form))
      lines[#lines + 1] = "      ;;"
    end
  end
  lines[#lines + 1] = bash_tail
  return table.concat(lines, "\n")
end

--- A text between the quotes of zsh, where [ ] : have a meaning in descriptions.
local function zsh_text(text)
  return (text:gsub("'", "'\\''"):gsub("[%[%]:\\]", "\\%0"))
end

--- The first sentence of a doc.
local function short_doc(doc)
  return (doc:match("^(.-)[.;:] ") or doc):gsub("%.$", "")
end

local function zsh_flag(one)
  local text = ("'*%s[%s]"):format(one.flag, zsh_text(short_doc(one.doc)))
  if not one.takes_value then return text .. "'" end
  local action = ""
  if type(one.values) == "table" then
    action = ("(%s)"):format(table.concat(one.values, " "))
  elseif one.values == "files" then
    action = "_files"
  end
  return ("%s:value:%s'"):format(text, action)
end

local function add_zsh_flags(lines, form, indent)
  lines[#lines + 1] = indent .. "_arguments \\"
  for _, one in ipairs(flags_of(form)) do
    lines[#lines + 1] = ("%s  %s \\"):format(indent, zsh_flag(one))
  end
  lines[#lines + 1] = indent .. "  '*:file:_files'"
end

local function add_zsh_command(lines, command)
  lines[#lines + 1] = ("    %s)"):format(command.name)
  local words = second_words(command)
  if words then
    lines[#lines + 1] = "      if ((CURRENT == 2)); then"
    lines[#lines + 1] = ("        compadd %s"):format(words)
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
function completion.zsh(described)
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
    lines[#lines + 1] = ("    '%s[%s]%s' \\"):format(name, zsh_text(option[2]),
      value ~= "" and ":value:_files" or "")
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

local shells = { bash = completion.bash, zsh = completion.zsh }

--- The writer for a shell, nil for others.
---@param name? string
---@return (fun(described: table): string)?
function completion.of_shell(name)
  return shells[name or ""]
end

return completion
