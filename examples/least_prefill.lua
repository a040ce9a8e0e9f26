#!/usr/bin/env blis
-- A custom scorer, compared with three built-in policies.
local blis = require "blis"

-- A new scorer, no compiler: prefer the instance with the least prefill work ahead.
local least_prefill = blis.scorer {
  name = "least-prefill",
  score = function(request, instance)
    local new_tokens = request.prompt_tokens - instance.cached_tokens
    return 1 / (1 + (instance.pending_prefill_tokens + new_tokens) / 1000)
  end,
}

print(blis.compare {
  cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
  workload = { rate = 30, requests = 5000, prompt_tokens = 500, output_tokens = 100,
               prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
  routing = { "round-robin", "least-loaded", "weighted",
              { "weighted", scorers = { { least_prefill, 1 } } } },
})
