#!/usr/bin/env blis
-- Is a policy better, or was it lucky? Every policy meets the same seeds, as many as it takes.
local blis = require "blis"

print(blis.compare {
  cluster = { instances = 4 },
  workload = { rate = 60, requests = 1000, prompt_tokens = 200, output_tokens = 50,
               prefixes = { groups = 40, tokens = 2000, zipf = 0.8 } },
  routing = { "round-robin", "least-loaded", "weighted" },
  replications = "auto", -- until the difference in the first metric has a precision of 2 %
  report = { "ttft_ms.mean", "ttft_ms.p99", "tokens_per_sec" },
  quiet = true,
})
