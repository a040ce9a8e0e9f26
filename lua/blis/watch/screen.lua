--- A place at the end of the terminal's text that is drawn again and again.
---
--- Each frame is one string that restores the state of the terminal and leaves the cursor below
--- the frame. A program that ends between two frames needs no cleanup.
local core = require "blis.core"

local screen = {}

local stderr, getenv = io.stderr, os.getenv

local begin_frame, end_frame = "\27[?2026h\27[?7l", "\27[?7h\27[?2026l"
local clear_line, clear_below = "\27[K", "\27[J"

---@class blis.watch.Screen
---@field has_colours boolean
---@field size fun(): integer, integer columns and rows
---@field draw fun(lines: string[]) none of them longer than the columns, all together not higher
---@field leave fun(stays: boolean) the frame stays on the terminal or goes

--- Standard error, if it is a terminal that can be drawn on and that no other program uses.
---@return blis.watch.Screen?
function screen.open()
  local terminal = getenv "TERM" or ""
  if not core.terminal_size() or core.is_in_background() or terminal == "" or terminal == "dumb"
  then
    return nil
  end
  local height, width = 0, nil
  local self = { has_colours = (getenv "NO_COLOR" or "") == "" }

  function self.size() return core.terminal_size() end

  --- Moves to the first line of the previous frame. Terminals differ in how they wrap lines when
  --- they become narrower; in this case, the old frame remains and a new frame starts below it.
  local function to_the_top(columns)
    if height == 0 or columns ~= width then return "\r" end
    return ("\27[%dA\r"):format(height)
  end

  function self.draw(lines)
    local columns = core.terminal_size()
    local parts = { begin_frame, to_the_top(columns) }
    for _, line in ipairs(lines) do
      parts[#parts + 1] = line
      parts[#parts + 1] = clear_line .. "\n"
    end
    parts[#parts + 1] = clear_below .. end_frame
    stderr:write(table.concat(parts))
    stderr:flush()
    height, width = #lines, columns
  end

  function self.leave(stays)
    if height > 0 and not stays then
      stderr:write(to_the_top(core.terminal_size()), clear_below)
      stderr:flush()
    end
    height = 0
  end

  return self
end

return screen
