--- Progress of a sweep on standard error: a bar on a terminal, otherwise periodic lines.
local core = require "blis.core"
local format = require "blis.format"

local progress = {}

local stderr = io.stderr

local bar_period_us, line_period_us = 100000, 10000000

---@class blis.sweep.Progress
---@field update fun(done: integer, total: integer, failed: integer)
---@field say fun(format: string, ...)
---@field finish fun()

--- "12 s", "3 min 20 s", "2 h 5 min"
local function duration(seconds)
  seconds = math.floor(seconds + 0.5)
  if seconds < 60 then return ("%d s"):format(seconds) end
  if seconds < 3600 then return ("%d min %d s"):format(seconds // 60, seconds % 60) end
  return ("%d h %d min"):format(seconds // 3600, seconds % 3600 // 60)
end

local function rate_text(rate)
  return format.number(rate, rate < 10 and 2 or rate < 100 and 1 or 0)
end

--- "23/45 trials, 12.3/s, 2 s left, 1 failed"
local function facts(state, now)
  local seconds = math.max(1e-6, (now - state.start) / 1e6)
  local rate = (state.done - state.first) / seconds
  local parts = { ("%s/%s trials"):format(format.count(state.done), format.count(state.total)) }
  if rate > 0 then
    parts[#parts + 1] = rate_text(rate) .. "/s"
    if state.done < state.total then
      parts[#parts + 1] = duration((state.total - state.done) / rate) .. " left"
    end
  end
  if state.failed > 0 then parts[#parts + 1] = format.count(state.failed) .. " failed" end
  return table.concat(parts, ", ")
end

local function draw_bar(state, now)
  local text = facts(state, now)
  local room = math.min(state.columns, 100) - #state.name - #text - 6
  local width = math.max(5, math.min(40, room))
  local full = state.total > 0 and width * state.done // state.total or width
  local line = ("%s [%s%s] %s"):format(state.name, ("#"):rep(full), ("-"):rep(width - full), text)
  stderr:write("\r", line:sub(1, state.columns - 1), "\27[K")
  state.is_drawn = true
end

local function draw(state, now)
  state.drawn_at = now
  if state.columns then
    draw_bar(state, now)
  else
    stderr:write(("blis: %s: %s\n"):format(state.name, facts(state, now)))
  end
end

local function clear(state)
  if state.is_drawn then
    stderr:write("\r\27[K")
    state.is_drawn = false
  end
end

local silent = { update = function() end, say = function() end, finish = function() end }

--- Starts the progress display of a sweep.
---@param name string
---@param first integer trials that are known already
---@param total integer
---@param is_quiet boolean
---@return blis.sweep.Progress
function progress.new(name, first, total, is_quiet)
  if is_quiet then return silent end
  local now = core.clock_us()
  local state = { name = name, first = first, done = first, total = total, failed = 0, start = now,
    drawn_at = now, columns = core.terminal_size() }
  local period = state.columns and bar_period_us or line_period_us
  return {
    update = function(done, wanted, failed)
      state.done, state.total, state.failed = done, wanted, failed
      now = core.clock_us()
      if now - state.drawn_at >= period then draw(state, now) end
    end,
    say = function(text, ...)
      clear(state)
      stderr:write("blis: ", text:format(...), "\n")
    end,
    finish = function()
      if state.done > state.first then draw(state, core.clock_us()) end
      if state.is_drawn then stderr:write("\n") end
      state.is_drawn = false
    end,
  }
end

return progress
