--- blis live: serve a simulated cluster to real clients over HTTP.
local command = require "blis.cli.command"
local flags = require "blis.cli.flags"
local live = require "blis.live"
local section = require "blis.config.live"
local simulate = require "blis.cli.simulate"

local definition = {
  name = "live",
  summary = "serve a simulated cluster to real clients over HTTP",
  usage = "blis live [FLAGS]",
  description = "Serves the OpenAI API of vLLM with the timing of a simulated cluster, without "
    .. "GPUs: for routers, load generators, autoscalers, and dashboards. Each instance can have "
    .. "its own address, and a gateway address has any routing policy in front of the instances. "
    .. "Ctrl-C ends it and prints the results. docs/live.md has recipes.",
  groups = simulate.groups {
    { title = "Server", section = "live", has_defaults = true, options = flags.all(section) },
  },
  notes = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h. With --trace-output NAME, blis "
    .. "replay NAME.csv and the same cluster flags give the same latencies; add --pins "
    .. "NAME.pins.csv if clients sent requests to the addresses of instances.",
}

-- The status of programs that an interrupt has ended.
local interrupted = 128

return command.define(definition, function(parsed)
  local service
  simulate.run(definition, parsed, function()
    live.check_build()
    local asked = parsed.values.experiment
    if parsed.values.live.max_instances and asked.autoscaler == nil then
      asked.autoscaler = live.by_request
    end
    return {
      horizon_us = parsed.values.experiment.horizon_us,
      open = function(spec)
        service = live.open(spec, parsed.values.live, parsed.values.cluster.model)
        return service.sim
      end,
      drive = function()
        service:run(function(line)
          return parsed.values.output.quiet and "" or ("blis: live: %s\n"):format(line)
        end)
        local outcome = service.outcome
        command.talk(parsed, "live: %d HTTP requests; tokens were late by %.1f ms (p50), %.1f ms "
          .. "(p99); %d clients dropped", outcome.requests, outcome.lag_p50_us / 1000,
          outcome.lag_p99_us / 1000, outcome.dropped)
        local trace = parsed.values.output.trace_output
        if trace then service:write_pins(trace .. ".pins.csv") end
        if trace and outcome.interventions > 0 then
          command.talk(parsed, "live: %d requests changed the cluster (/admin, "
            .. "/reset_prefix_cache) or loaded KV (kv_transfer_params); a replay does not repeat "
            .. "these changes", outcome.interventions)
        end
      end,
    }
  end)
  local signal = service.outcome.signal
  return signal > 0 and interrupted + signal or 0
end)
