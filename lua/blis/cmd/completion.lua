--- blis completion: what shells need to complete command lines.
local command = require "blis.cli.command"
local completion = require "blis.cli.completion"
local flags = require "blis.cli.flags"
local program = require "blis.cli.program"

local definition = {
  name = "completion",
  summary = "print a completion script for a shell: bash, zsh",
  usage = "blis completion SHELL",
  description = "Prints a script that teaches a shell the commands, flags and values of this "
    .. "program: 'source <(blis completion bash)', or zsh instead of bash.",
  positional = { name = "SHELL", doc = "bash or zsh." },
  groups = {},
}

return command.define(definition, function(parsed)
  local write = completion.of_shell(parsed.positional)
  if not parsed.positional then flags.fail(definition, "SHELL is missing, expected bash or zsh") end
  if not write then
    flags.fail(definition, "'%s' is not allowed, expected bash or zsh", parsed.positional)
  end
  command.print(write(program.describe()))
end)
