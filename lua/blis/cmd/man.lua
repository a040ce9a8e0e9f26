--- blis man: the manual page.
local command = require "blis.cli.command"
local manual = require "blis.cli.manual"
local program = require "blis.cli.program"

return command.define({
  name = "man",
  summary = "print the manual page of the program, for man(1)",
  usage = "blis man",
  description = "Prints the manual page blis(1) in roff: 'blis man | man -l -' shows it.",
  groups = {},
}, function()
  command.print(manual.text(program.describe()))
end)
