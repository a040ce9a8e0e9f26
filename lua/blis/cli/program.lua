--- Every command of the program with its flags, for completion and the manual.
local program = {}

---@class blis.cli.Form one way to call a command
---@field words string "run", "trace info"
---@field definition blis.cli.Command

---@class blis.cli.Entry
---@field name string
---@field summary string
---@field forms blis.cli.Form[]

--- The forms of a command's module: its subcommands, or the command itself.
local function forms_of(name, module)
  local forms = {}
  for i, one in ipairs(module.subcommands or {}) do
    forms[i] = { words = name .. " " .. one.name, definition = one.definition }
  end
  if #forms == 0 and module.definition then
    forms[1] = { words = name, definition = module.definition }
  end
  return forms
end

--- The commands by name, and the options before a command.
---@return { options: string[][], commands: blis.cli.Entry[] }
function program.describe()
  local about = require "blis.program"
  local commands = {}
  for i, name in ipairs(about.commands) do
    local module = require("blis.cmd." .. name)
    if type(module) ~= "table" then module = {} end
    commands[i] = { name = name, summary = module.summary or "", forms = forms_of(name, module) }
  end
  return { options = about.options, commands = commands }
end

return program
