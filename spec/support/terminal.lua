--- Runs the program on a terminal of its own, as a person sees it; see terminal.py.
local core = require "blis.core"
local program = require "spec.support.program"

local terminal = {}

--- Whether there is what this takes.
terminal.is_there = program.shell("command -v python3").status == 0

local function steps_text(steps)
  local writer = core.json_writer(0):array()
  for _, step in ipairs(steps) do
    writer:array()
    for _, word in ipairs(step) do writer:item(word) end
    writer:done()
  end
  return writer:done():take()
end

---@class terminal.outcome
---@field screen string what stands on the terminal at the end
---@field text string all that was written
---@field status integer

--- Runs the program with arguments while somebody does these steps.
---@param steps table[] { { "see", text }, { "type", keys }, { "size", columns, rows }, ... }
---@param arguments string[]
---@param options? { columns?: integer, rows?: integer, environment?: string[] }
---@return terminal.outcome
function terminal.run(steps, arguments, options)
  options = options or {}
  local words = { tostring(options.columns or 80), tostring(options.rows or 24),
    steps_text(steps) }
  for _, one in ipairs(options.environment or {}) do words[#words + 1] = one end
  words[#words + 1] = program.path
  for _, one in ipairs(arguments) do words[#words + 1] = one end
  for i, word in ipairs(words) do words[i] = program.quote(word) end
  local run = program.shell("python3 -I -B spec/support/terminal.py " .. table.concat(words, " "))
  assert(run.status == 0, run.err)
  local outcome = core.json_read(run.out)
  assert(outcome.problem == "", outcome.problem .. "\n" .. outcome.text)
  return outcome
end

return terminal
