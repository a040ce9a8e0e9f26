#!/usr/bin/env blis
-- LMetric in three lines: new prefill tokens times batch size, the smaller the better.
-- Use it as a first choice without weights to tune: both factors fall where a cache is warm.
local blis = require "blis"

local lmetric = blis.scorer { name = "lmetric", columns = true, score = function(request, c)
  local new_tokens = c.pending_prefill_tokens + request.prompt_tokens - c.cached_tokens
  return blis.vec.norm(-new_tokens * (c.batch_size + 1), 1)
end }

print(blis.compare {
  cluster = { instances = 4 },
  workload = { rate = 30, requests = 1500, prompt_tokens = 300, output_tokens = 80,
    prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
  routing = { "least-loaded", { "weighted", scorers = { { lmetric, 1 } } } },
})
