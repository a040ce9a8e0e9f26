--- The completion script for bash.
local words = require "blis.cli.completion.words"

local bash_head = [=[
# Completion of blis for bash, written by 'blis completion bash':
#   source <(blis completion bash)

_blis_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
  COMPREPLY=("${COMPREPLY[@]// /\\ }")
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
        one.flag, words.list(one.values))
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
return function(described)
  local lines = { (bash_head:gsub("\n$", "")) }
  lines[#lines + 1] = "  if [[ -z $command ]]; then"
  lines[#lines + 1] = ("    _blis_words '%s' \"$current\""):format(words.first(described))
  lines[#lines + 1] = "    ((${#COMPREPLY[@]})) || _blis_files \"$current\""
  lines[#lines + 1] = "    return"
  lines[#lines + 1] = "  fi"
  for _, command in ipairs(described.commands) do
    local seconds = words.second(command)
    if seconds then
      lines[#lines + 1] = ("  if [[ $command == %s && $second == \"$current\" ]]; then"):format(
        command.name)
      lines[#lines + 1] = ("    _blis_words '%s' \"$current\""):format(seconds)
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
      add_bash_values(lines, words.flags(form))
      lines[#lines + 1] = "      [[ $current == -* ]] || { _blis_files \"$current\"; return; }"
      lines[#lines + 1] = ("      _blis_words '%s' \"$current\""):format(words.of_flags(form))
      lines[#lines + 1] = "      ;;"
    end
  end
  lines[#lines + 1] = bash_tail
  return table.concat(lines, "\n")
end
