#!/usr/bin/env blis
-- A new scorer in five lines, no compiler: prefer the instance that has the least new prefill work.
local blis = require "blis"

local least_prefill = blis.scorer {
  name = "least-prefill",
  score = function(request, instance)     -- once per candidate; the result is clamped to [0, 1]
    local new_tokens = request.prompt_tokens - instance.cached_tokens
    return 1 / (1 + (instance.pending_prefill_tokens + new_tokens) * (instance.requests + 1) / 1000)
  end,
}

local result = blis.run {
  cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
  workload = { rate = 40, requests = 2000, prompt_tokens = 512, output_tokens = 128 },
  routing = { "weighted", scorers = { { least_prefill, 1 }, { "queue-depth", 1 } } },
}
print(result)

-- The same idea over whole columns: one expression for all candidates at once, close to the speed
-- of C.
local least_prefill_columns = blis.scorer {
  name = "least-prefill-columns", columns = true,
  score = function(request, c)
    local new_tokens = request.prompt_tokens - c.cached_tokens
    return 1 / (1 + (c.pending_prefill_tokens + new_tokens) * (c.requests + 1) / 1000)
  end,
}
assert(blis.run {
  cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
  workload = { rate = 40, requests = 2000, prompt_tokens = 512, output_tokens = 128 },
  routing = { "weighted", scorers = { { least_prefill_columns, 1 }, { "queue-depth", 1 } } },
}.hash == result.hash)                    -- same formula, same decisions, same bytes

-- The whole-candidate form, for scorers that compare candidates with each other. This one remembers
-- something, so it is made by a function: new is called at the beginning of every run, and no run
-- sees what another one has left behind.
local spread = blis.scorer {
  name = "spread",
  new = function()
    local last = {}
    return {
      score_all = function(request, instances, scores)
        for i = 1, #instances do
          scores[i] = instances[i].id == last[request.tenant] and 0 or 1
        end
      end,
      observe = function(request, chosen) last[request.tenant] = chosen.id end,
    }
  end,
}
print(blis.run {
  cluster = { instances = 4 },            -- model, hardware and the rest have defaults
  workload = { rate = 20, requests = 500 },
  routing = { "weighted", scorers = { { spread, 1 } } },
}.requests_per_instance)
