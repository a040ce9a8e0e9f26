#!/usr/bin/env blis
-- Programs that announce when they use their context again (hints), and a tier of host memory that
-- uses these hints. Agents continue after a tool of 8 s. In between, many single requests with
-- shared prefixes fill the tier several times. At the higher rate, the hinted blocks do not fit.
local blis = require "blis"

local function single(rng)
  return { prefix_group = "topic" .. rng:integer(1, 12), prefix_tokens = 1600,
    { prompt_tokens = 60, output_tokens = 4 } }
end

local function agent()
  local calls = { { id = "call1", prompt_tokens = 3000, output_tokens = 8 } }
  for k = 2, 4 do
    calls[k] = { id = "call" .. k, after = "call" .. (k - 1), tool_us = blis.seconds(8),
      prompt_tokens = 200, output_tokens = 8 }
  end
  return calls
end

local function run(policy, rate)
  return blis.run { seed = 3,
    cluster = { model = "qwen3-14b", instances = 1, kv_blocks = 600 },
    workload = { rate = rate, count = 240, hints = true,
      graphs = function(rng, number) return number % 8 == 0 and agent() or single(rng) end },
    kv_tiers = { { name = "cpu", blocks = 1500, read_gb_s = 32, policy = policy } },
  }
end

--- The mean share of their prompts that the requests of such lengths found.
local function found(r, least, most)
  local sum, count = 0, 0
  for _, q in ipairs(r.requests) do
    if q.prompt_tokens >= least and q.prompt_tokens <= most then
      sum = sum + (q.cached_tokens + q.tier_tokens[1]) / q.prompt_tokens
      count = count + 1
    end
  end
  return 100 * sum / count
end

print(("%-8s %-12s %18s %18s %9s"):format("graphs/s", "policy", "agents come back",
  "single requests", "TTFT ms"))
for _, rate in ipairs { 2, 4 } do
  for _, policy in ipairs { "lru", "reuse-hint" } do
    local r = run(policy, rate)
    print(("%-8d %-12s %16.0f %% %16.0f %% %9.0f"):format(rate, policy, found(r, 3001, 9999),
      found(r, 0, 2000), r.ttft_ms.mean))
  end
end
