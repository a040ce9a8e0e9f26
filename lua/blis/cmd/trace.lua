--- blis trace: look at recorded requests, and make traces of others.
local command = require "blis.cli.command"
local flags = require "blis.cli.flags"
local tools = require "blis.cli.trace_tools"

local names = { "info", "convert", "cut", "scale", "warp", "cap", "filter", "merge" }

local definition = {
  name = "trace",
  summary = "describe, convert, cut, scale, filter and merge traces",
  usage = "blis trace COMMAND FILE [FLAGS]",
}

local subcommands = {}
for i, name in ipairs(names) do
  subcommands[i] = { name = name, definition = tools[name].definition }
end

local function help_text()
  local lines = { "usage: " .. definition.usage, "" }
  for _, name in ipairs(names) do
    lines[#lines + 1] = ("  %-10s%s"):format(name, tools[name].summary)
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "'blis trace COMMAND --help' lists the flags of a command."
  return table.concat(lines, "\n") .. "\n"
end

--- The first argument says what to do with a trace.
local function run(args)
  local name = args[1]
  if name == "--help" or name == "-h" then
    command.print(help_text())
    return 0
  end
  for _, known in ipairs(names) do
    if known == name then return tools[name].run(table.move(args, 2, #args, 1, {})) end
  end
  local expected = "one of " .. table.concat(names, ", ")
  if not name then flags.fail(definition, "there is no COMMAND, expected %s", expected) end
  flags.fail(definition, "'%s' is not allowed, expected %s", name, expected)
end

return { summary = definition.summary, subcommands = subcommands, run = run }
