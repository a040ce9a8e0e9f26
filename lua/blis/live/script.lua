--- Serving from a script.
local live = require "blis.live"

local script = {}

--- Serves the cluster of an experiment to real clients over HTTP until Ctrl-C, or until the wall
--- clock has reached `duration_us` of the options, and returns the result. Prints the addresses to
--- standard error. The workload of the experiment is ignored: clients send the requests.
---
--- blis.live({ cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 } },
---   { port_base = 8000, duration = "10m" })
---@param spec blis.Experiment
---@param options? table as the flags of blis live: gateway, port_base, listen, speed, ...
---@return blis.Result
function script.serve(spec, options)
  local cluster = spec.cluster
  local model = type(cluster) == "table" and (cluster.model or cluster[1] and cluster[1].model)
  local opened = live.open(spec, options, model or nil)
  opened:run(function(line) return ("live: %s\n"):format(line) end)
  local result = opened.sim:run()
  opened.sim:close()
  return result
end

return script
