--- blis run: simulate a cluster under generated traffic.
local command = require "blis.cli.command"
local flag_sections = require "blis.config.flags"
local simulate = require "blis.cli.simulate"
local traffic = require "blis.cli.traffic"

local definition = {
  name = "run",
  summary = "simulate a cluster under generated traffic",
  usage = "blis run [FLAGS]",
  description = "Generates requests, simulates a cluster that serves them, and prints the results. "
    .. "With --profile go-blis, the same flags and seed reproduce the numbers of the simulator "
    .. "BLIS in Go, in its format.",
  groups = simulate.groups(traffic.groups()),
  refused = flag_sections.refused "run",
  notes = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

return command.define(definition, function(parsed)
  simulate.run(definition, parsed, function()
    local function talk(format, ...) command.talk(parsed, format, ...) end
    return {
      workload = traffic.of_flags(definition, parsed, talk),
      horizon_us = parsed.values.experiment.horizon_us,
    }
  end)
end)
