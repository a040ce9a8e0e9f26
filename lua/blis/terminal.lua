--- How wide text for people may be.
local core = require "blis.core"
local deferred = require "blis.deferred"
local fit = deferred "blis.fit"

local terminal = {}

local usual, least, most = 100, 40, 120

--- Columns of the terminal that standard output is, within reason; 100 where it is none, so that
--- what is kept in files is the same everywhere.
---@return integer
function terminal.width()
  local columns = core.terminal_size "output"
  return columns and math.max(least, math.min(most, columns)) or usual
end

--- A text for people, with its lines broken between words where the terminal is narrower. Files and
--- pipes get the text as it is.
---@param text string
---@return string
function terminal.fitted(text)
  local columns = core.terminal_size "output"
  return columns and fit.text(text, math.max(least, columns)) or text
end

return terminal
