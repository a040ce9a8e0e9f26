#!/usr/bin/env blis
-- A cluster of unequal GPUs, of which one fails for a while: who notices?
local blis = require "blis"

local function experiment(routing)
  return {
    cluster = {
      model = "meta-llama/llama-3.1-8b-instruct", tp = 1,
      groups = {                        -- groups inherit options from the cluster
        { instances = 2, hardware = "H100" },
        { instances = 2, hardware = "L40S", max_num_seqs = 64 },
      },
    },
    workload = { rate = 24, requests = 1500, prompt_tokens = 500, output_tokens = 150 },
    routing = routing,
  }
end

for _, routing in ipairs { "round-robin", "least-loaded" } do
  local sim = blis.simulation(experiment(routing))
  local first = sim.instances[1]

  -- At 20 s an H100 fails and its requests go back to routing; at 35 s it is back, its cache empty.
  sim:at(blis.seconds(20), function() first:fail { reroute = true } end)
  sim:at(blis.seconds(35), function() first:restart() end)

  -- At 45 s an L40S gets hot: its steps take twice as long.
  sim:at(blis.seconds(45), function() sim.instances[4]:slow(2) end)

  local result = sim:run()
  print(("%-12s  %s requests, TTFT mean %.1f ms, E2E p99 %.0f ms, %d routed again, %.2f USD")
    :format(routing, result.requests_per_instance, result.ttft_ms.mean, result.e2e_ms.p99,
      sim.rerouted, result.cost.usd))
end
