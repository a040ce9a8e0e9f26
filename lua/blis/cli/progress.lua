--- A line on the terminal that shows the progress of a long run.
local core = require "blis.core"
local format = require "blis.format"

local progress = {}

local stderr = io.stderr
local clear_line = "\r\27[K"

--- "12,345 of 100,000 requests done, 210 in the cluster, 35.2 s simulated"
---@param ended integer
---@param arrived integer
---@param now_us integer
---@param total? integer
---@return string
function progress.text(ended, arrived, now_us, total)
  local of = total and total > 0 and (" of %s"):format(format.count(total)) or ""
  return ("%s%s requests done, %s in the cluster, %s s simulated"):format(format.count(ended), of,
    format.count(arrived - ended), format.number(now_us / 1e6, 1))
end

--- A line shown on a terminal unless --quiet is set; erased when the value is closed.
---@param parsed blis.cli.Parsed
---@param total? integer
---@return { tell?: fun(ended: integer, arrived: integer, now_us: integer) }
function progress.line(parsed, total)
  local is_shown = false
  local line = setmetatable({}, {
    __close = function()
      if is_shown then stderr:write(clear_line) end
    end,
  })
  if core.is_terminal() and not parsed.values.output.quiet then
    function line.tell(ended, arrived, now_us)
      is_shown = true
      stderr:write(clear_line, "blis: ", progress.text(ended, arrived, now_us, total))
      stderr:flush()
    end
  end
  return line
end

return progress
