#!/usr/bin/env blis
-- How many requests per second an instance serves while the p99 of TTFT stays below 200 ms, by the
-- length of the prompt; and how many instances 150 requests per second need. Runs are as long as it
-- takes to see the steady state, and the interval has the noise within runs and between seeds.
local blis = require "blis"

for _, prompt_tokens in ipairs { 256, 1024 } do
  local found = blis.capacity {
    experiment = {
      cluster = { instances = 1 },
      workload = { prompt_tokens = prompt_tokens, output_tokens = 64 },
    },
    targets = { ["ttft_ms.p99"] = 200 },
    from = 4, tolerance = 0.05, quiet = true,
  }
  print(("%4d prompt tokens: %s"):format(prompt_tokens, found:headline()))
end

print(blis.capacity {
  experiment = {
    workload = { rate = 150, prompt_tokens = 256, output_tokens = 64 },
    routing = "least-loaded",
  },
  parameter = "instances", targets = { ["ttft_ms.p99"] = 200, ["e2e_ms.p90"] = 2000 },
  requests = 2000, quiet = true,
})
