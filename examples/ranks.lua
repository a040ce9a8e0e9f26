#!/usr/bin/env blis
-- Four data-parallel ranks of a mixture-of-experts model. Every pass takes as long as the pass of
-- the slowest rank, so a prompt at one rank delays the tokens of all four. Prompts that are
-- computed only in every n-th pass coincide. This reduces the loss at the barrier and the time per
-- output token, at the price of TTFT. The second part compares routing by requests in flight with
-- blind routing over the ranks. The third part shows four engines with all experts each: they have
-- no barrier, but every engine reads all weights in each step.
local blis = require "blis"

local function run(ranks, routing)
  return blis.run {
    cluster = { model = "qwen3-30b-a3b", hardware = "H100", tp = 1, ranks = ranks,
      max_num_batched_tokens = 8192 },
    routing = routing,
    workload = { rate = 40, requests = 1200,
      prompt = { "gaussian", mean = 1500, std_dev = 900, min = 50, max = 5000 },
      output = { "gaussian", mean = 200, std_dev = 120, min = 5, max = 800 } },
  }
end

local function show(name, r)
  print(("%-22s %8.1f %11.0f %12.0f %8.0f %% %8.0f %% %10.2f"):format(name, r.itl_ms.mean,
    r.ttft_ms.p50, r.ttft_ms.p99, 100 * r.ranks.barrier_loss, 100 * r.ranks.dummy_share,
    r.ranks.running_imbalance))
end

print("                        TPOT ms TTFT p50 ms  TTFT p99 ms  lost there  no work  imbalance")
for _, interval in ipairs { 1, 2, 4, 8 } do
  show("prompts every " .. interval, run({ count = 4, prefill_interval = interval },
    "least-loaded"))
end
show("all experts at each", run({ count = 4, barrier = false }, "least-loaded"))
for _, routing in ipairs { "round-robin", "random", "vllm.dp" } do
  show(routing .. ", every 4", run({ count = 4, prefill_interval = 4 }, routing))
end

-- Two groups of a dense model. Routers that see the ranks send a prompt where its beginning is
-- cached; a group that balances itself looks at the load of its ranks alone.
print("\n                                  TTFT p99 ms  cached")
for _, routing in ipairs { "weighted", "least-loaded" } do
  for _, balance in ipairs { "router", "internal" } do
    local r = blis.run {
      cluster = { instances = 2, ranks = { count = 4, balance = balance } }, routing = routing,
      workload = { rate = 60, requests = 1500, prompt_tokens = 300, output_tokens = 150,
        prefixes = { groups = 24, tokens = 3000 } },
    }
    print(("%-33s %11.0f %6.0f %%"):format(routing .. ", balance by " .. balance, r.ttft_ms.p99,
      100 * r.cache_hit_rate_overall))
  end
end
