#!/usr/bin/env blis
-- A custom prefix affinity: weighs the tokens to compute against the requests already here.
-- Use it as a start when the built-in prefix-affinity is nearly, but not quite, what you want.
local blis = require "blis"

local kv_blocks = 3000
local tokens_per_request = 50 -- what a request in progress counts for

--- An index as large as the cache forgets what the cache has dropped.
local function prefill_cost(capacity)
  local index = blis.prefix_index { capacity = capacity }
  return blis.scorer {
    name = "prefill-cost", columns = true,
    score = function(request, c)
      local work = c.pending_prefill_tokens + request.prompt_tokens - index:match(request, c)
      return blis.vec.norm(-(work + tokens_per_request * c.in_flight), 1)
    end,
    observe = function(request, instance) index:record(request, instance) end,
  }
end

print(blis.compare {
  cluster = { instances = 4, max_num_seqs = 64, kv_blocks = kv_blocks },
  workload = { rate = 40, requests = 1500, prompt_tokens = 200, output_tokens = 80,
    prefixes = { groups = 40, tokens = 4096, zipf = 1 } },
  routing = {
    { "weighted", scorers = "prefix-affinity:3,queue-depth:2" },
    { "weighted", scorers = { { prefill_cost(kv_blocks), 1 } } },
  },
})
