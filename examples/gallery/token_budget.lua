#!/usr/bin/env blis
-- Token-budget admission: no more prompt and output tokens under way than the cluster can take.
-- Use it when requests differ so much in length that a limit on their number means little.
local blis = require "blis"

local budget_tokens = 60000

local function make()
  local under_way = 0
  local function cost(request) return request.prompt_tokens + request.max_output_tokens end
  local function give_back(request) under_way = under_way - cost(request) end
  return {
    admission = function(request)
      if under_way + cost(request) > budget_tokens then return blis.reject "token budget" end
      under_way = under_way + cost(request)
      return blis.admit()
    end,
    on_completion = give_back,
    on_failure = give_back,
  }
end

for _, hooks in ipairs { {}, make() } do
  hooks.cluster = { instances = 2 }
  hooks.workload = { rate = 30, requests = 1500, prompt = { "exponential", mean = 900 },
    output = { "exponential", mean = 200 } }
  hooks.routing = "least-loaded"
  local result = blis.run(hooks)
  print(("%-10s %4d completed, %4d rejected, TTFT p99 %.0f ms"):format(
    hooks.admission and "budget" or "everybody", result.completed, result.rejected,
    result.ttft_ms.p99))
end
