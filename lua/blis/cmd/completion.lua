--- blis completion: what shells need to complete command lines.
local command = require "blis.cli.command"
local flags = require "blis.cli.flags"
local program = require "blis.cli.program"

local definition = {
  name = "completion",
  summary = "print a completion script for a shell: bash, zsh, fish",
  usage = "blis completion SHELL",
  description = "Prints a completion script with the commands, flags, and values of this program: "
    .. "'source <(blis completion bash)', zsh instead of bash, or 'blis completion fish | source'.",
  positional = { name = "SHELL", doc = "bash, zsh or fish." },
  groups = {},
}

local is_known = { bash = true, zsh = true, fish = true }

return command.define(definition, function(parsed)
  local shell = parsed.positional
  if not shell then flags.fail(definition, "SHELL is missing, expected bash, zsh or fish") end
  if not is_known[shell] then
    flags.fail(definition, "invalid value '%s': expected bash, zsh or fish", shell)
  end
  command.print(require("blis.cli.completion." .. shell)(program.describe()))
end)
