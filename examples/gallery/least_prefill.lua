#!/usr/bin/env blis
-- Least prefill: the instance with the fewest prompt tokens to compute, this request's included.
-- Use it when prompts are long and differ a lot, and the time to first token is what matters.
local blis = require "blis"

local least_prefill = blis.scorer {
  name = "least-prefill", columns = true,
  score = function(request, c)
    local work = c.pending_prefill_tokens + request.prompt_tokens - c.cached_tokens
    return blis.vec.norm(-work, 1)
  end,
}

print(blis.compare {
  cluster = { instances = 4 },
  workload = { rate = 24, requests = 1000, prompt = { "exponential", mean = 6000 },
    output_tokens = 60 },
  routing = { "least-loaded", { "weighted", scorers = { { least_prefill, 1 } } } },
})
