#!/usr/bin/env blis
-- Token-budget admission: limits the prompt and output tokens in flight to the cluster's capacity.
-- Use it when the lengths of requests vary too much for a limit on their number.
local blis = require "blis"

--- Lets requests in as long as what they cost stays within the budget.
local function limited(budget, cost)
  local under_way = 0
  local function give_back(request) under_way = under_way - cost(request) end
  return {
    admission = function(request)
      if under_way + cost(request) > budget then return blis.reject "budget" end
      under_way = under_way + cost(request)
      return blis.admit()
    end,
    on_completion = give_back,
    on_failure = give_back,
  }
end

-- A gateway knows max_tokens where the client says it; where not (0), answers are 200 on average.
local function tokens(request)
  local most = request.max_output_tokens
  return request.prompt_tokens + (most > 0 and most or 200)
end
local function one() return 1 end

local cases = {
  { "everybody", {} }, { "100 requests", limited(100, one) },
  { "200,000 tokens", limited(200000, tokens) },
}
for _, case in ipairs(cases) do
  local name, spec = table.unpack(case)
  spec.cluster = { instances = 2, kv_blocks = 10000, max_num_seqs = 64 }
  spec.workload = { rate = 30, requests = 2000, prompt = { "lognormal", mu = 7, sigma = 1.2 },
    output = { "exponential", mean = 200 } }
  spec.routing = "least-loaded"
  local result = blis.run(spec)
  print(("%-15s %4d completed, %4d rejected, TTFT p99 %6.0f ms, %.0f tokens/s"):format(name,
    result.completed, result.rejected, result.ttft_ms.p99, result.tokens_per_sec))
end
