#!/usr/bin/env blis
-- "B3 Routing Policies - Pseudocode": five policies, each of which isolates one idea, on sessions
-- that grow. lmetric against load_only shows cache awareness, and against sticky hard affinity.
-- Against unified it shows affinity with gates, and against capped the weight of long sessions.
--   blis examples/lmetric_family.lua [TRACE]
-- Without a trace, it generates sessions of the shape in the document: most have one turn, some
-- very many, and every turn contains the previous ones.
local blis = require "blis"

local function made_up_sessions()
  local function sessions(id, share, rounds, think_s, prompt, output)
    return {
      id = id, rate_fraction = share, arrival = "poisson",
      input_distribution = { "exponential", mean = prompt, min = 64, max = 30000 },
      output_distribution = { "exponential", mean = output, min = 16, max = 4000 },
      reasoning = rounds > 1 and {
        multi_turn = { max_rounds = rounds, think_time_us = think_s * 1000000,
          context_growth = "accumulate" },
      } or nil,
      closed_loop = false, prefix_group = id, prefix_length = 1024, timeout = 0,
    }
  end
  return blis.workload {
    aggregate_rate = 4, num_requests = 800, seed = 42,
    clients = {
      sessions("single", 0.3, 1, 0, 8000, 400),
      sessions("chat", 0.4, 6, 8, 2000, 300),
      sessions("agent", 0.3, 30, 2, 1500, 200),
    },
  }
end

local workload = arg[1] and blis.trace.read(arg[1]) or made_up_sessions()
print(workload)
print()

-- The caches are small, so that what is kept where matters.
local cluster = {
  model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100", tp = 1, instances = 4,
  kv_blocks = 12000, block_size = 16,
}

local index = { block_size = 512 }
local function with_index(name, more)
  local policy = { name, block_size = index.block_size }
  for key, value in pairs(more or {}) do policy[key] = value end
  return policy
end

local runs = {
  { "lmetric", with_index("lmetric"), workload },
  { "lmetric, + 1", with_index("lmetric", { bs_offset = 1 }), workload },
  { "load_only", "load_only", workload },
  { "sticky", "sticky", workload },
  { "unified", with_index("unified"), workload },
  { "unified, never bound", with_index("unified", { bind = "never" }), workload },
  { "capped: lmetric on 8 turns", with_index("lmetric"), workload:cap(8) },
  { "b3.lpwl", with_index("b3.lpwl"), workload },
  { "b3.leastwork_kappa", with_index("b3.leastwork_kappa"), workload },
  { "b3.linear", with_index("b3.linear"), workload },
}

local columns = "%-27s %9s %9s %10s %9s %9s %8s %9s"
print(columns:format("policy", "TTFT mean", "TTFT p99", "E2E p99", "believed", "hits", "balance",
  "completed"))
local results = {}
for _, one in ipairs(runs) do
  local r = blis.run { cluster = cluster, workload = one[3], routing = one[2] }
  results[one[1]] = r
  print(columns:format(one[1], ("%.0f"):format(r.ttft_ms.mean), ("%.0f"):format(r.ttft_ms.p99),
    ("%.0f"):format(r.e2e_ms.p99), r.cache_prediction.decisions == 0 and "-"
      or ("%.1f %%"):format(100 * r.cache_prediction.predicted_hit_rate),
    ("%.1f %%"):format(100 * r.cache_hit_rate_overall), ("%.3f"):format(r.balance), r.completed))
end

-- What the matrix of the document says: caches pay, and capping leaves less work.
if not arg[1] then
  assert(results.lmetric.cache_hit_rate_overall > results.load_only.cache_hit_rate_overall)
  assert(results["capped: lmetric on 8 turns"].completed < results.lmetric.completed)
end
