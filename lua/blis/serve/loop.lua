--- A server's life: it reads lines, hands out work, writes lines, and waits for whatever comes
--- first.
--- It never waits for its client.
local core = require "blis.core"
local jobs = require "blis.serve.jobs"
local lines = require "blis.serve.lines"
local output = require "blis.serve.output"

local loop = {}

-- Of a line; of answers that nobody has read, above which nothing more is read.
local longest_line, most_unread = 64 << 20, 64 << 20

-- How often a server looks up; how long it works on after the end of its input, and how long it
-- then waits for the reader of its last answers.
local look_us, grace_us, farewell_us = 200000, 5000000, 500000

-- Garbage above what is alive, at which it is collected.
local most_garbage_kb = 4096

--- Collects garbage at once and seldom. In small steps, processes would be made in the middle of a
--- collection, and pages that they share be written to all the time.
local function new_collector()
  local limit_kb = 0
  collectgarbage("stop")
  return function()
    if collectgarbage("count") < limit_kb then return end
    collectgarbage()
    limit_kb = 1.5 * collectgarbage("count") + most_garbage_kb
  end
end

---@class blis.serve.Session what a protocol makes of lines
---@field line fun(text: string?) nil for one that was too long
---@field stop fun() answers all that is open with "cancelled"

--- Serves until the input ends or SIGTERM comes.
---@param count integer processes at a time
---@param open fun(jobs: blis.serve.Jobs, write: fun(line: string)): blis.serve.Session
---@return integer exit status
function loop.run(count, open)
  core.watch_termination()
  local work, out, input = jobs.new(count), output.new(), lines.new(longest_line)
  local collect = new_collector()
  local session = open(work, function(line) output.add(out, line) end)
  local function take(line)
    work.message_bytes = line and #line or 0
    session.line(line)
    collect()
  end
  local end_us
  local function read()
    local piece = core.pipe_read()
    if piece then return lines.feed(input, piece, take) end
    end_us = core.clock_us() + grace_us
    local rest = lines.rest(input)
    if rest then take(rest) end
  end
  while true do
    output.flush(out)
    if core.termination_requested() then
      session.stop()
      output.flush(out)
      return 143
    end
    if end_us and (work.waiting == 0 or core.clock_us() >= end_us or out.is_closed) then
      session.stop()
      output.flush(out)
      if output.is_empty(out) or core.clock_us() >= end_us + farewell_us then return 0 end
    elseif out.is_closed then
      return 0
    end
    local wants_input = not end_us and out.bytes < most_unread
    jobs.start(work)
    collect()
    local number, status, text, detail =
      work.workers:wait(look_us, wants_input, not output.is_empty(out))
    if number then
      jobs.accept(work, number, status, text, detail)
    elseif wants_input then
      read()
    end
  end
end

return loop
