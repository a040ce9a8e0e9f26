--- The live view of a run: a display on a terminal, otherwise periodic lines.
local core = require "blis.core"
local pace = require "blis.watch.pace"
local screen = require "blis.watch.screen"
local view = require "blis.watch.view"

local watch = {}

local stderr = io.stderr

local frame_interval_ms, line_interval_ms = 250, 10000

local function on_screen(shown, total, horizon_us)
  local progress = pace.new(total, horizon_us)
  return function(look, has_failed)
    if not look then return shown.leave(has_failed) end
    pace.note(progress, look, core.clock_us())
    local columns, rows = shown.size()
    if columns then
      shown.draw(view.lines(look, progress, columns, rows, shown.has_colours))
    end
  end
end

local function in_lines(total, horizon_us)
  local progress = pace.new(total, horizon_us)
  return function(look)
    if not look then return end
    pace.note(progress, look, core.clock_us())
    stderr:write("blis: ", view.line(look, progress), "\n")
    stderr:flush()
  end
end

--- What shows a run, as the core calls it: with looks, then with false and whether the run has
--- failed. The picture of a run that has failed stays.
---@param total? integer requests; nil if the number cannot be determined
---@param horizon_us? integer
---@return fun(look: blis.watch.Look|false, has_failed?: boolean) show
---@return integer interval_ms minimum time between updates
function watch.new(total, horizon_us)
  local shown = screen.open()
  if shown then return on_screen(shown, total, horizon_us), frame_interval_ms end
  return in_lines(total, horizon_us), line_interval_ms
end

return watch
