#!/usr/bin/env blis
-- Cognitora's "Routing - KV-aware scoring deep dive". A node's score is 0.55 of the cached prefix,
-- 0.25 of idleness, 0.10 of a low power draw, and 0.10 of capacity. A stable hash of node and
-- prefix breaks near ties. Admission takes a permit until the request ends, and rejects requests
-- without a free permit.
local blis = require "blis"

-- A mixed fleet: two new nodes, two older ones that draw less, two small ones.
local cluster = {
  model = "qwen/qwen3-14b", tp = 1,
  groups = {
    { instances = 2, hardware = "H100", watts = 600, capacity = 1 },
    { instances = 2, hardware = "A100-80", watts = 400, capacity = 0.6 },
    { instances = 2, hardware = "L40S", watts = 300, capacity = 0.3 },
  },
}

-- Agents with system prompts of some hundred tokens, of which the score looks at the first 64.
local workload = blis.workload {
  rate = 60, requests = 3000,
  prompt = { "gaussian", mean = 200, std_dev = 100, min = 2, max = 1000 },
  output = { "gaussian", mean = 150, std_dev = 80, min = 2, max = 800 },
  prefixes = { groups = 24, tokens = 768, zipf = 0.8 },
}

-- Each control leaves one term of the score alone.
local function score(kv, load, power, capacity, more)
  local policy = { "cognitora.score", kv = kv, load = load, power = power, capacity = capacity }
  for key, value in pairs(more or {}) do policy[key] = value end
  return policy
end

local rows = {
  { "the document's weights", score(0.55, 0.25, 0.10, 0.10) },
  { "live figures, not of every 5 s", score(0.55, 0.25, 0.10, 0.10, { heartbeat_us = 0 }) },
  { "cached prefix alone", score(1, 0, 0, 0) },
  { "idleness alone", score(0, 1, 0, 0, { heartbeat_us = 0 }) },
  { "low power alone", score(0, 0, 1, 0) },
  { "capacity alone", score(0, 0, 0, 1) },
  { "ties to the lowest id", score(0.55, 0.25, 0.10, 0.10, { tie = "lowest-id" }) },
  { "the code's formula", { "cognitora.score", profile = "cognitora" } },
  { "round robin, to compare", "round-robin" },
}

local columns = "%-32s %9s %9s %9s %9s %9s %8s"
print(columns:format("weights", "TTFT mean", "TTFT p99", "E2E p99", "hits", "believed", "balance"))
local results = {}
for i, row in ipairs(rows) do
  local r = blis.run { cluster = cluster, workload = workload, routing = row[2] }
  results[i] = r
  print(columns:format(row[1], ("%.1f"):format(r.ttft_ms.mean), ("%.1f"):format(r.ttft_ms.p99),
    ("%.0f"):format(r.e2e_ms.p99), ("%.1f %%"):format(100 * r.cache_hit_rate_overall),
    r.cache_prediction.decisions == 0 and "-"
      or ("%.1f %%"):format(100 * r.cache_prediction.predicted_hit_rate),
    ("%.3f"):format(r.balance)))
end
-- A prefix that sticks to a node is found there more often than one that goes around.
assert(results[1].cache_hit_rate_overall > results[#rows].cache_hit_rate_overall)

-- Weights are read live: turning to load in the middle of a run.
local sim = blis.simulation {
  cluster = cluster, workload = workload, routing = score(0.55, 0.25, 0.10, 0.10),
}
sim:at(blis.seconds(20), function() sim:change_routing { kv = 0.1, load = 0.7 } end)
local turned = sim:run()
print()
print(("weights turned to load after 20 s: %.1f %% hits, balance %.3f"):format(
  100 * turned.cache_hit_rate_overall, turned.balance))

-- Permits: the third of three requests at once is refused with two.
print()
print("permits per model and role    admitted  refused  TTFT p99")
for _, max_queue in ipairs { 20, 60, 1024 } do
  local r = blis.run {
    cluster = cluster, workload = workload, routing = rows[1][2],
    admission = { "cognitora.admission", max_queue = max_queue },
  }
  print(("%27d  %9d  %7d  %8.1f"):format(max_queue, r.completed, r.rejected, r.ttft_ms.p99))
end
local two = blis.run {
  cluster = { instances = 1 }, routing = rows[1][2],
  workload = { rate = 1e6, requests = 3, arrival = "constant", prompt_tokens = 64,
    output_tokens = 8 },
  admission = { "cognitora.admission", max_queue = 2 },
}
assert(two.completed == 2 and two.rejected == 1)
