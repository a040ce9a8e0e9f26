--- How many router replicas, and how must they share state? Two tables.
---
--- Table 1: replicas that share nothing lose prefix hits, since each must learn each prefix itself.
--- State that arrives a second late recovers nearly all of the loss: its delay is short against the
--- time between two requests of a prefix (here 3.3 s). A balancer that hashes the prefix needs no
--- sharing at all.
---
--- Table 2: replicas that share late counts of requests in flight all see the same least-loaded
--- instance and send their requests there (herding). Own counts alone are better. Two random
--- choices repair the herd.
---
--- Step times and limits are written out, so that the tables stay comparable between versions.

local blis = require "blis"

local function cluster(instances)
  return { model = "qwen/qwen3-14b", hardware = "H100", instances = instances,
    latency_model = "calibrated", max_num_batched_tokens = 2048, max_num_seqs = 256,
    kv_blocks = 15909, frontend = "none" }
end

--- The rows of a table: { title, routers, routing }.
local function print_table(title, rows, spec)
  print(title)
  print(("  %-44s %8s %14s %14s"):format("routers", "hit rate", "mean TTFT (ms)", "p99 TTFT (ms)"))
  for _, row in ipairs(rows) do
    local one = {}
    for key, value in pairs(spec) do one[key] = value end
    one.routers, one.routing = row[2], row[3] or spec.routing
    local r = blis.run(one)
    print(("  %-44s %8.3f %14.1f %14.1f"):format(row[1], r.cache_hit_rate_overall, r.ttft_ms.mean,
      r.ttft_ms.p99))
  end
end

--- Replicas that observe each other's decisions after a delay.
local function late(delay_us)
  return { replicas = 4, balancer = "random", share = { "prefix" },
    sync = { mode = "events", delay_us = delay_us } }
end

print_table("Prefix memory: 200 prefixes of 6,000 tokens, 60 requests/s, 8 instances", {
  { "1 router", nil },
  { "2 replicas, nothing shared", { replicas = 2, balancer = "random" } },
  { "4 replicas, nothing shared", { replicas = 4, balancer = "random" } },
  { "8 replicas, nothing shared", { replicas = 8, balancer = "random" } },
  { "4 replicas behind a hash of the prefix", { replicas = 4, balancer = "hash" } },
  { "4 replicas, decisions 10 ms late", late(10000) },
  { "4 replicas, decisions 200 ms late", late(200000) },
  { "4 replicas, decisions 1 s late", late(1000000) },
  { "4 replicas, decisions 10 s late", late(10000000) },
  { "4 replicas as AIBrix (store, every 10 s)", { replicas = 4, balancer = "random",
    preset = "aibrix" } },
}, {
  seed = 1, cluster = cluster(8),
  routing = { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 2 } } },
  workload = { rate = 60, requests = 6000, prompt_tokens = 500, output_tokens = 100,
    prefixes = { groups = 200, tokens = 6000, zipf = 0.8 } },
})

--- Fewest requests in flight, as a replica counts them; ties at random. It compares all instances,
--- or two random ones.
local function in_flight(choices)
  return { name = choices and "two choices" or "fewest in flight", new = function(context)
    local rng = context.rng
    return { route = function(_, instances)
      local least, chosen, ties = math.huge, 1, 0
      for k = 1, choices or #instances do
        local i = choices and rng:integer(1, #instances) or k
        local count = instances[i].in_flight
        if count < least then
          least, chosen, ties = count, i, 1
        elseif count == least then
          ties = ties + 1
          if rng:integer(1, ties) == 1 then chosen = i end
        end
      end
      return chosen
    end }
  end }
end

--- Eight replicas that publish their counts.
local function published(every_us, own)
  return { replicas = 8, balancer = "random", share = { "in-flight" },
    sync = { mode = "periodic", every_us = every_us, own = own } }
end

print()
print_table("Requests in flight: 110 requests/s, 16 instances, fewest in flight", {
  { "1 router", nil },
  { "8 replicas, own counts only", { replicas = 8, balancer = "random" } },
  { "8 replicas, others' counts every 20 ms", published(20000) },
  { "8 replicas, others' counts every 200 ms", published(200000) },
  { "8 replicas, others' counts every 1 s", published(1000000) },
  { "8 replicas, all counts every 200 ms (llm-d)", published(200000, "published") },
  { "the same, two random choices", published(200000, "published"), in_flight(2) },
}, {
  seed = 1, cluster = cluster(16), routing = in_flight(),
  workload = { rate = 110, requests = 6000,
    prompt = { "gaussian", mean = 800, std_dev = 700, min = 20, max = 6000 },
    output = { "gaussian", mean = 200, std_dev = 200, min = 2, max = 2000 } },
})

print()
print("Share prefix state, even a second late. Do not share late counts with a policy that picks")
print("the minimum over all instances: use own counts, or compare two random instances.")
