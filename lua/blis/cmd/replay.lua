--- blis replay: simulate a cluster under the requests of a trace.
local command = require "blis.cli.command"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local simulate = require "blis.cli.simulate"
local trace = require "blis.trace"
local trace_sections = require "blis.config.trace"

--- The flag of the trace itself, and those of how it is read.
local function trace_options()
  local options = flags.all(flag_sections.trace)
  local rest = flags.all(trace_sections.read)
  return table.move(rest, 1, #rest, #options + 1, options)
end

local definition = {
  name = "replay",
  summary = "simulate a cluster under the requests of a trace",
  usage = "blis replay TRACE [FLAGS]",
  description = "Lets a simulated cluster serve recorded requests at their recorded times, and "
    .. "prints how they fared. The format of a trace is recognised; files may be packed (gzip, "
    .. "zstd).",
  positional = { name = "TRACE", doc = "The trace, if not given by --trace-data." },
  groups = simulate.groups {
    { title = "Trace", section = "trace", has_defaults = true, options = trace_options() },
  },
  refused = flag_sections.refused "replay",
  notes = "TIME is a number of microseconds, or one with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

local never_us = math.maxinteger

--- BLIS (Go) ends a replay at twice the time of the last arrival.
local function go_blis_horizon_us(workload)
  local last_us = 0
  for _, request in workload:requests() do last_us = math.max(last_us, request.arrival_us) end
  if last_us <= 0 then return 600000000 end
  return last_us > never_us // 2 and never_us or 2 * last_us
end

local function path_of(parsed)
  local data = parsed.values.trace.data
  if data and parsed.positional then
    flags.fail(definition, "the trace is given twice, as '%s' and by --trace-data",
      parsed.positional)
  end
  if not data and not parsed.positional then flags.fail(definition, "there is no TRACE") end
  return data or parsed.positional
end

local function read_trace(parsed)
  local given = parsed.values.trace
  local path = path_of(parsed)
  given.data = nil
  return trace.read(path, given)
end

return command.define(definition, function(parsed)
  simulate.run(definition, parsed, function()
    local workload = read_trace(parsed)
    for _, note in ipairs(workload:notes()) do command.talk(parsed, "%s", note) end
    local given = parsed.values.experiment
    local horizon_us = given.horizon_us
    if given.profile == "go-blis" then
      horizon_us = horizon_us or go_blis_horizon_us(workload)
    end
    return { workload = workload, horizon_us = horizon_us }
  end)
end)
