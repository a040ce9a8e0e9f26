--- Calls commands inside this process and catches what they print.
local command = require "blis.cli.command"

local commands = {}

---@class commands.outcome
---@field out string what went to standard output
---@field said string[] what was said to people
---@field problem? { code: string, message: string } the error that was raised
---@field status any what the command returned

--- Calls `blis NAME ...`.
---@param name string
---@param ... string
---@return commands.outcome
function commands.call(name, ...)
  local outcome, parts = { said = {} }, {}
  local print_out, say = command.print, command.say
  command.print = function(text) parts[#parts + 1] = text end
  command.say = function(line) table.insert(outcome.said, line) end
  local ok, result = pcall(require("blis.cmd." .. name).run, { ... })
  command.print, command.say = print_out, say
  outcome.out = table.concat(parts)
  if ok then
    outcome.status = result
  elseif type(result) == "table" then
    outcome.problem = result
  else
    error(result, 0)
  end
  return outcome
end

--- What a command prints; it must succeed.
---@return string
function commands.output_of(name, ...)
  local outcome = commands.call(name, ...)
  if outcome.problem then error(outcome.problem.message, 0) end
  return outcome.out
end

--- The code and the message of the error that a command raises.
---@return string code
---@return string message
function commands.error_of(name, ...)
  local outcome = commands.call(name, ...)
  assert(outcome.problem, "expected an error")
  return outcome.problem.code, outcome.problem.message
end

return commands
