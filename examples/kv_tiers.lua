#!/usr/bin/env blis
-- Agents with separate caches, and with a common pool of all instances, under a router that reads
-- the tiers and under one that does not. A task is a chain of calls, each with all earlier messages
-- in its prompt. Between calls, tools run, and other requests take the GPU's blocks.
local blis = require "blis"

local function task(rng)
  local calls = {}
  for k = 1, rng:integer(6, 14) do
    calls[k] = {
      id = "call" .. k, after = k > 1 and "call" .. (k - 1) or nil,
      tool_us = k > 1 and rng:integer(500000, 6000000) or nil,
      prompt_tokens = k == 1 and rng:integer(3000, 8000) or rng:integer(200, 2000),
      output_tokens = rng:integer(50, 300),
    }
  end
  return calls
end

local instances, gb = 4, 40 -- of host memory for each of them

local memories = {
  { name = "GPU alone" },
  { name = "own host memory",
    { name = "cpu", gb = gb, read_gb_s = 32, weight = 0.75 } },
  { name = "shared pool",
    { name = "pool", scope = "cluster", gb = gb * instances, read_gb_s = 100, weight = 0.75 },
    network_gb_s = 25 },
}

local routers = {
  { name = "knows caches", scorers = "precise-prefix-cache:3,queue-depth:2" },
  { name = "knows tiers", scorers = "tiered-prefix:3,queue-depth:2" },
}

print(("%-16s %-13s %9s %12s %9s %9s %8s"):format("memory", "router", "hit rate", "from tiers",
  "TTFT ms", "E2E s", "task s"))
for _, memory in ipairs(memories) do
  for _, router in ipairs(routers) do
    local tiers = memory[1] and { memory[1], network_gb_s = memory.network_gb_s }
    local r = blis.run {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = instances,
        kv_blocks = 6000 },
      workload = { graphs = task, rate = 0.7, count = 200 },
      routing = { "weighted", scorers = router.scorers },
      kv_tiers = tiers, seed = 7,
    }
    local found = tiers and r.kv_tiers.hit_rate or 0
    print(("%-16s %-13s %7.1f %% %10.1f %% %9.0f %9.2f %8.1f"):format(memory.name, router.name,
      100 * r.cache_hit_rate_overall, 100 * found, r.ttft_ms.mean, r.e2e_ms.mean / 1000,
      r.tasks.task_ms.mean / 1000))
  end
end
