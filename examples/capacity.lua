#!/usr/bin/env blis
-- How many requests per second an instance serves while the p99 of TTFT stays below 200 ms, by the
-- length of the prompt.
local blis = require "blis"

for _, prompt_tokens in ipairs { 256, 512, 1024 } do
  local found = blis.capacity {
    trial = function(p)
      return blis.run {
        cluster = { instances = 1 },
        workload = { rate = p.rate, requests = 500, prompt_tokens = prompt_tokens,
                     output_tokens = 64 },
        seed = p.seed,
      }
    end,
    metric = "ttft_ms.p99", limit = 200, from = 4, tolerance = 0.05, quiet = true,
  }
  print(("%4d prompt tokens: %s"):format(prompt_tokens, found))
end
