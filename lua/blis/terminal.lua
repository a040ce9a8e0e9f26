--- How wide text for people may be.
local core = require "blis.core"

local terminal = {}

local usual, least, most = 100, 40, 120

--- Columns of the terminal that standard output is, within reason; 100 where it is none, so that
--- what is kept in files is the same everywhere.
---@return integer
function terminal.width()
  local columns = core.terminal_size "output"
  return columns and math.max(least, math.min(most, columns)) or usual
end

return terminal
