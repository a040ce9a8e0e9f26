--- blis replay: simulate a cluster under the requests of a trace.
local command = require "blis.cli.command"
local errors = require "blis.errors"
local flag_sections = require "blis.config.flags"
local format = require "blis.format"
local flags = require "blis.cli.flags"
local graphs = require "blis.traffic.graphs"
local live = require "blis.live"
local simulate = require "blis.cli.simulate"
local think_time = require "blis.cli.think_time"
local trace = require "blis.traffic.trace"
local trace_sections = require "blis.config.trace"

--- The flags of the trace and of how it is read.
local function trace_options()
  local options = flags.all(flag_sections.trace)
  for _, section in ipairs { trace_sections.read, trace_sections.open } do
    local rest = flags.all(section)
    table.move(rest, 1, #rest, #options + 1, options)
  end
  return options
end

local definition = {
  name = "replay",
  summary = "simulate a cluster under the requests of a trace",
  usage = "blis replay TRACE [FLAGS]",
  description = "Simulates a cluster that serves recorded requests at their recorded times (or the "
    .. "turns of sessions after the previous responses), and prints the results. The format of the "
    .. "trace is detected; files may be compressed (gzip, zstd).",
  positional = { name = "TRACE", doc = "The trace, instead of --trace-data." },
  groups = simulate.groups {
    { title = "Trace", section = "trace", has_defaults = true, options = trace_options() },
    { title = "Routing decisions", section = "pins", options = {
      { name = "path", type = "path", flag = "--pins", metavar = "FILE",
        doc = "Routing decisions to repeat: a CSV file with request_number,instance, as written by "
          .. "blis live." } } },
    { title = "Sessions", section = "sessions", has_defaults = true,
      options = flag_sections.sessions.options },
  },
  refused = flag_sections.refused "replay",
  notes = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

local never_us = math.maxinteger

--- Last arrival that is fixed before the replay.
local function last_known_us(list, is_closed_loop)
  if not is_closed_loop then return list:last_arrival_us() end
  local last_us = 0
  for _, request in list:requests() do
    if request.session == "" or request.round_index == 0 then
      last_us = math.max(last_us, request.arrival_us)
    end
  end
  return last_us
end

--- BLIS (Go) ends a replay at twice the last arrival time that is fixed before the replay.
local function go_blis_horizon_us(list, is_closed_loop)
  local last_us = last_known_us(list, is_closed_loop)
  if last_us <= 0 then return 600000000 end
  return last_us > never_us // 2 and never_us or 2 * last_us
end

local function path_of(parsed)
  local data = parsed.values.trace.data
  if data and parsed.positional then
    flags.fail(definition, "'%s' cannot be combined with --trace-data",
      parsed.positional)
  end
  if not data and not parsed.positional then flags.fail(definition, "TRACE is missing") end
  return data or parsed.positional
end

--- Whether a file that is not a trace may have session graphs.
local function may_have_graphs(parsed, path)
  local given = parsed.values.trace
  return not given.format and not given.columns and path ~= "-"
    and parsed.values.experiment.profile ~= "go-blis"
end

local function counted(count, noun)
  return ("%s %s%s"):format(format.count(count), noun, count == 1 and "" or "s")
end

--- The session graphs of a file, which arrive at their recorded times.
local function play_graphs(parsed, path, file)
  local about = file:about()
  if not about.has_starts then
    errors.raise("parse", ("%s: session graphs (%s) without arrival times cannot be replayed; "
      .. "'blis run --graphs %s --rate X' or '--concurrency N' plays them"):format(path,
      about.format, path))
  end
  command.talk(parsed, "%s: played as session graphs (%s): %s in %s", path, about.format,
    counted(about.requests, "request"), counted(about.graphs, "session"))
  return file
end

--- The trace, or the session graphs of a file that cannot be read as a trace.
local function open_trace(parsed, path, stream)
  local ok, list = pcall(trace.open, path, parsed.values.trace, stream)
  if ok then return list end
  if not may_have_graphs(parsed, path) or type(list) ~= "table" then error(list, 0) end
  local has_graphs, file = pcall(graphs.open, path)
  if has_graphs then return play_graphs(parsed, path, file) end
  local reason = type(file) == "table" and tostring(file.message) or ""
  local is_known = not list.message:find("not recognized as a trace", 1, true)
  local says_nothing = is_known and reason:find("not recognised as session", 1, true)
  if reason ~= list.message and not says_nothing then
    list.message = ("%s\nas session graphs: %s"):format(list.message, reason)
  end
  error(list, 0)
end

local function read_trace(parsed)
  local given = parsed.values.trace
  local path, stream = path_of(parsed), given.stream
  given.data, given.stream = nil, nil
  if parsed.values.sessions.session_mode ~= "fixed" then
    if stream == "always" then
      flags.fail(definition, "--stream always cannot be combined with --session-mode closed-loop, "
        .. "which needs all rounds of a session together")
    end
    stream = "never"
  end
  return open_trace(parsed, path, stream)
end

local function has_sessions(list)
  for _, request in list:requests() do
    if request.session ~= "" then return true end
  end
  return false
end

--- Think times in place of the recorded ones; nil = those.
local function think_time_of(values, profile)
  if not values.think_time_dist then
    return values.think_time_ms > 0 and values.think_time_ms * 1000 or nil
  end
  local distribution, problem = think_time.parse(values.think_time_dist,
    profile == "go-blis")
  if not distribution then
    flags.fail(definition, "--think-time-dist: invalid value '%s': %s", values.think_time_dist,
      problem)
  end
  return distribution
end

local function check_think_time(values)
  if values.think_time_dist and values.think_time_ms > 0 then
    flags.fail(definition, "--think-time-dist cannot be combined with --think-time-ms")
  end
  for _, name in ipairs { "think_time_dist", "think_time_ms" } do
    local value = values[name]
    if value and value ~= 0 and values.session_mode ~= "closed-loop" then
      flags.fail(definition, "--%s requires --session-mode closed-loop", (name:gsub("_", "-")))
    end
  end
end

--- The workload for blis.run: the list itself, or its sessions in a closed loop.
local function workload_of(parsed, list)
  local values = parsed.values.sessions
  if graphs.is_file(list) then return { graphs = list }, false end
  if values.session_mode == "fixed" then return list, false end
  if not has_sessions(list) then
    command.talk(parsed, "the trace contains no sessions; all requests arrive at their recorded "
      .. "times")
    return list, false
  end
  return { trace = list, session_mode = "closed-loop",
    think_time = think_time_of(values, parsed.values.experiment.profile) }, true
end

--- Returns a function that makes the routing decisions of a file; nil without one.
local function pinning(parsed)
  local path = parsed.values.pins.path
  return path and function(sim)
    for _, pin in ipairs(live.read_pins(path)) do sim:pin(pin.request, pin.instance) end
  end
end

return command.define(definition, function(parsed)
  if parsed.values.ignored.lazy_generation then
    command.talk(parsed, "--lazy-generation has no effect in a replay")
  end
  simulate.run(definition, parsed, function()
    check_think_time(parsed.values.sessions)
    local list = read_trace(parsed)
    local workload, is_closed_loop = workload_of(parsed, list)
    local given = parsed.values.experiment
    local horizon_us = given.horizon_us
    if given.profile == "go-blis" and not horizon_us then
      horizon_us = go_blis_horizon_us(list, is_closed_loop)
      command.talk(parsed, "the replay ends at %s s, as in BLIS (Go): twice the time of the last "
        .. "arrival; set --horizon to change it", format.number(horizon_us / 1e6, 3))
    end
    return { workload = workload, horizon_us = horizon_us, drive = pinning(parsed) }
  end)
end)
