--- The main loop of a server: it reads lines, distributes work, writes lines, and waits for the
--- next event. It never waits for its client.
---
local core = require "blis.core"
local format = require "blis.format"
local jobs = require "blis.serve.jobs"
local lines = require "blis.serve.lines"
local output = require "blis.serve.output"

local loop = {}

-- Maximum size of a line, and of unread answers; above the second, the server reads no requests.
local longest_line, most_unread = 64 << 20, 64 << 20

-- How often a server looks up; how long it works on after the end of its input, and how long it
-- then waits for a reader who takes nothing of the last answers.
local look_us, grace_us, patience_us = 200000, 5000000, 5000000
-- The same while evaluations wait, which may get a short time.
local short_look_us = 50000

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

--- Writes the lines that are left, as long as the client takes some.
local function deliver(work, out)
  local left, until_us = math.huge, core.clock_us() + patience_us
  while not output.is_empty(out) and not out.is_closed and core.clock_us() < until_us do
    output.flush(out)
    local now_left = out.bytes - out.from
    if now_left < left then left, until_us = now_left, core.clock_us() + patience_us end
    if not output.is_empty(out) then work.workers:wait(look_us, false, true) end
  end
end

--- Answers all that is open with "cancelled"; returns the exit status.
local function finish(session, work, out, status)
  session.stop()
  deliver(work, out)
  local missing = output.missing(out)
  if missing == 0 then return status end
  -- A client that has ended reads no message; the exit status reports the loss.
  local problem = out.problem
    or ("standard output accepted no data for %d s"):format(patience_us // 1000000)
  if not problem:find("Broken pipe", 1, true) then
    io.stderr:write(("blis: serve: %s not written: %s\n"):format(format.plural(missing, "line"),
      problem))
  end
  return status ~= 0 and status or 1
end

---@class blis.serve.Session what a protocol makes of lines
---@field line fun(text: string?) nil for one that was too long
---@field stop fun() answers all that is open with "cancelled"

--- Serves until the input ends, or SIGTERM, SIGINT, or SIGHUP comes. A line that the client did not
--- take makes the status one of failure.
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
    local signal = core.termination_requested()
    if signal then return finish(session, work, out, 128 + signal) end
    if out.is_closed then return finish(session, work, out, 0) end
    if end_us and (work.waiting == 0 or core.clock_us() >= end_us) then
      return finish(session, work, out, 0)
    end
    local wants_input = not end_us and out.bytes < most_unread
    jobs.start(work)
    collect()
    local number, status, text, detail =
      work.workers:wait(work.waiting > work.started and short_look_us or look_us, wants_input,
        not output.is_empty(out))
    if number then
      jobs.accept(work, number, status, text, detail)
    elseif wants_input then
      read()
    end
  end
end

return loop
