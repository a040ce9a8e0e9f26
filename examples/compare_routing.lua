#!/usr/bin/env blis
-- Three ways to route the same traffic. The main job of the program, in one page.
local blis = require "blis"

local cluster = { model = "qwen/qwen3-14b", hardware = "H100", tp = 1, instances = 4 }

-- Eight system prompts of 1,024 tokens, shared by many users: the case in which prefix-aware
-- routing matters.
local workload = blis.workload {
  rate = 40, requests = 4000,
  prompt = { "gaussian", mean = 256, std_dev = 128, min = 2, max = 4000 },
  output = { "gaussian", mean = 128, std_dev = 64, min = 2, max = 1000 },
  prefixes = { groups = 8, tokens = 1024 },
}

local policies = {
  "round-robin",
  "least-loaded",
  { "weighted", scorers = "prefix-affinity:3,queue-depth:2,kv-utilization:2" },
}

-- One row per policy: TTFT, ITL, E2E, throughput, cache hit rate, balance.
local comparison = blis.compare {
  cluster = cluster, workload = workload, routing = policies, seed = 42,
}
print(comparison)
assert(comparison[3].cache_hit_rate > comparison[1].cache_hit_rate)
