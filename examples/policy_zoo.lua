#!/usr/bin/env blis
-- Every routing policy of the design documents on a trace of conversations, one row each. Admission
-- policies and orders of the wait queue follow, with least-loaded routing.
--   blis examples/policy_zoo.lua [--all] [TRACE]
-- By default, it uses the first requests of the trace; --all uses the whole trace. Mooncake
-- publishes its traces at https://github.com/kvcache-ai/Mooncake (FAST25-release/traces). Without
-- TRACE, it reads ../shared/traces/mooncake_conversation.jsonl if that exists, otherwise made-up
-- requests in the same form, in this folder.
local blis = require "blis"

local function is_readable(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local takes_all, path = false, nil
for _, word in ipairs(arg) do
  if word == "--all" then takes_all = true else path = word end
end
local sample = arg[0]:gsub("[^/]*$", "") .. "data/mooncake_sample.jsonl"
local whole = "../shared/traces/mooncake_conversation.jsonl"
path = path or is_readable(whole) and whole or sample
local trace = blis.trace.read(path, { limit = takes_all and 0 or 1000 })

-- Mooncake names blocks of 512 tokens, and so do the caches and the policies that follow prefixes.
local block = 512
local cluster = { model = "meta-llama/llama-3.1-8b-instruct", instances = 8, block_size = block }
local affinity = { "prefix-affinity", 1, block_size = block }

local function weighted(scorers) return { "weighted", scorers = scorers } end

local zoo = {
  { "Composable scorers", {
    "round-robin", "least-loaded", "always-busiest",
    weighted { { "prefix-affinity", 3, block_size = block }, { "queue-depth", 2 },
      { "kv-utilization", 2 } },
    "weighted-stateless",
    weighted { affinity }, weighted "queue-depth:1", weighted "kv-utilization:1",
    weighted "load-balance:1",
    { "prefix-affinity", block_size = block }, "weighted-scoring", "weighted-v0.4",
  } },
  { "RouteSim", {
    "routesim.round_robin", "routesim.least_outstanding", "routesim.least_kv",
    "routesim.prefix_aware", "routesim.prefix_overlap", "routesim.session_affinity",
    "routesim.cost_escalation",
  } },
  { "Cognitora", { { "cognitora.score", block_size = block, overlap_tokens = 4 * block } } },
  { "LMetric and B3", { "lmetric", "load_only", "sticky", "unified", "capped" } },
}

local admissions = {
  "always-admit", "reject-all", { "token-bucket", bucket_size = 200000, refill_rate = 20000 },
  { "rate-limit", rps = 2, burst = 20 }, { "tenant-quota", default_quota = 32 },
  { "cognitora.admission", max_queue = 32 },
}
local schedulers = { "fcfs", "priority-fcfs", "sjf", "reverse-priority" }

-- One table. TTFT and E2E in ms. believed: predicted cache hits of the chosen instance, as a
-- fraction of all prompt tokens. hits: actual hits.
local columns = "%-42s %9s %9s %10s %10s %8s %8s %7s %6s"

local function percent(share) return share and ("%.1f %%"):format(100 * share) or "-" end

local function print_row(name, r)
  local belief = r.cache_prediction
  print(columns:format(name, ("%.0f"):format(r.ttft_ms.mean), ("%.0f"):format(r.ttft_ms.p99),
    ("%.0f"):format(r.e2e_ms.mean), ("%.0f"):format(r.e2e_ms.p99),
    percent(belief.decisions > 0 and belief.predicted_hit_rate or nil),
    percent(r.cache_hit_rate_overall), ("%.3f"):format(r.balance), r.completed))
end

local function run(routing, admission, scheduler)
  return blis.run { cluster = cluster, workload = trace, routing = routing,
    admission = admission, scheduler = scheduler, seed = 42 }
end

local function name_of(policy) return type(policy) == "table" and policy[1] or policy end

print(trace)
print()
print(columns:format("policy", "TTFT mean", "p99", "E2E mean", "p99", "believed", "hits",
  "balance", "done"))
for _, family in ipairs(zoo) do
  print("-- " .. family[1])
  for _, routing in ipairs(family[2]) do
    local r = run(routing)
    print_row(r.routing, r)
  end
end
print("-- least-loaded behind an admission policy")
for _, admission in ipairs(admissions) do
  print_row(name_of(admission), run("least-loaded", admission))
end
print("-- least-loaded before instances that order their queues")
for _, scheduler in ipairs(schedulers) do
  print_row(scheduler, run("least-loaded", nil, scheduler))
end
