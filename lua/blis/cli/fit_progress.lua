--- A line on the terminal that shows the progress of a fit.
local core = require "blis.core"

local fit_progress = {}

local stderr = io.stderr
local width = 30

--- "[#####-----] round 2: 120 of at most 400 replays"
---@param round integer
---@param trials integer
---@param most integer
---@return string
function fit_progress.text(round, trials, most)
  local full = math.min(width, width * trials // most)
  return ("[%s%s] round %d: %d of at most %d replays"):format(("#"):rep(full),
    ("-"):rep(width - full), round, trials, most)
end

--- A line shown on a terminal unless --quiet is set; erased when the value is closed.
---@param parsed blis.cli.Parsed
---@return { tell?: fun(round: integer, trials: integer, most: integer) }
function fit_progress.line(parsed)
  local is_shown = false
  local line = setmetatable({}, {
    __close = function()
      if is_shown then stderr:write("\r\27[K") end
    end,
  })
  if core.is_terminal() and not parsed.values.output.quiet then
    function line.tell(round, trials, most)
      is_shown = true
      stderr:write("\r\27[Kblis: ", fit_progress.text(round, trials, most))
      stderr:flush()
    end
  end
  return line
end

return fit_progress
