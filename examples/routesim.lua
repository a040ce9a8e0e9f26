#!/usr/bin/env blis
-- The experiments of RouteSim's design document: its seven algorithms on the traffic of its trace
-- generator, its compute model, its table of metrics; then its sweeps of the rate and of the size
-- of the KV cache.
--   blis examples/routesim.lua [SECONDS]     of traffic, 20 by default (its generator: 300)
-- Set alike: the traffic, the compute model, the blocks of the KV cache, the algorithms. Its
-- max_batch_tokens = 16384 reserves prompt and output of every running request, of which about 25
-- fit; here that is max_num_seqs = 25, and a step may compute as many tokens as there are.
-- Different: the engines batch and chunk prefills, where RouteSim prefills all it has admitted at
-- once, so that times near saturation differ by much more than milliseconds. Cache% counts blocks
-- of prompts that were found, where RouteSim counts requests that found any.
local blis = require "blis"

local seconds = tonumber(arg[1]) or 20

-- [cluster.compute_model]: prompts at 50,000 tokens/s; a batch of 1 decodes 80 tokens/s, one of 64
-- or more 3,200 tokens/s in all, and between them it is a straight line.
local function compute_model(prefill_per_sec, batch1_per_sec, saturation, saturated_per_sec)
  return blis.latency_model {
    name = "routesim", from_sums = true,
    step_time = function(batch)
      local n = batch.decode_requests
      local prefill_us = batch.prefill_tokens / prefill_per_sec * 1e6
      local share = math.min(1, (n - 1) / (saturation - 1))
      local per_sec = batch1_per_sec + share * (saturated_per_sec - batch1_per_sec)
      local decode_us = n == 0 and 0 or n / per_sec * 1e6
      return math.max(1, math.ceil(math.max(prefill_us, decode_us) - 1e-6))
    end,
  }
end

-- production_h100x8, with its cost of 3.50 USD per GPU and hour.
local function cluster(options)
  local made = {
    model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100", tp = 1, instances = 8,
    latency_model = compute_model(50000, 80, 64, 3200), kv_blocks = 32768, block_size = 16,
    max_num_batched_tokens = 16384, max_num_seqs = 25, gpu_price_per_hour = 3.5,
  }
  for key, value in pairs(options or {}) do made[key] = value end
  return made
end

-- gen-trace: evenly spaced, prompts of 300 to 699 tokens of which 256 are one of ten prefixes,
-- answers of 100 to 199.
local function traffic(rate)
  return blis.workload {
    rate = rate, requests = math.floor(rate * seconds), arrival = "constant",
    prompt = { "gaussian", mean = 244, std_dev = 115, min = 44, max = 443 },
    output = { "gaussian", mean = 150, std_dev = 29, min = 100, max = 199 },
    prefixes = { groups = 10, tokens = 256 }, seed = 42,
  }
end

local algorithms = {
  "routesim.round_robin", "routesim.least_outstanding", "routesim.least_kv",
  "routesim.prefix_aware", "routesim.prefix_overlap", "routesim.session_affinity",
  "routesim.cost_escalation",
}

local function jain(counts)
  local sum, squares = 0, 0
  for _, n in ipairs(counts) do sum, squares = sum + n, squares + n * n end
  return squares == 0 and 1 or sum * sum / (#counts * squares)
end

-- Standard deviation of the requests per backend, in units of their mean.
local function load_cv(counts)
  local index = jain(counts)
  return math.sqrt(math.max(0, 1 / index - 1))
end

local function cost_per_1k_tokens(r)
  local tokens = r.prompt_tokens + r.output_tokens
  return r.cost.usd and tokens > 0 and r.cost.usd / tokens * 1000 or 0
end

local function run(algorithm, rate, options)
  return blis.run { cluster = cluster(options), workload = traffic(rate), routing = algorithm }
end

local columns = "%-20s %9s %9s %9s %9s %7s %7s %7s %7s %11s %9s"
local function print_header()
  print(columns:format("Algorithm", "TTFT p50", "TTFT p99", "E2E p50", "E2E p99", "Req/s", "Cache%",
    "Jain's", "CV", "USD/1K tok", "rejected"))
end
local function print_row(name, r)
  local counts = r.requests_per_instance
  print(columns:format(name, ("%.1f"):format(r.ttft_ms.p50), ("%.1f"):format(r.ttft_ms.p99),
    ("%.0f"):format(r.e2e_ms.p50), ("%.0f"):format(r.e2e_ms.p99),
    ("%.1f"):format(r.requests_per_sec), ("%.1f"):format(100 * r.cache_hit_rate_overall),
    ("%.3f"):format(jain(counts)), ("%.3f"):format(load_cv(counts)),
    ("%.7f"):format(cost_per_1k_tokens(r)), r.rejected))
end

print(("Seven algorithms, %g s of 100 requests/s on 8 backends"):format(seconds))
print_header()
local results = {}
for i, algorithm in ipairs(algorithms) do
  results[i] = run(algorithm, 100)
  print_row(algorithm:match("%.(.*)"), results[i])
end

print("\nRates: prefix_aware")
print_header()
for _, rate in ipairs { 50, 100, 150, 200 } do
  print_row(rate .. " requests/s", run("routesim.prefix_aware", rate))
end

print("\nBackends: least_outstanding, 12.5 requests/s for each")
print_header()
for _, n in ipairs { 4, 8, 16 } do
  print_row(n .. " backends", run("routesim.least_outstanding", 12.5 * n, { instances = n }))
end

-- The prompts of gen-trace have no block ids, so prefix_overlap alone goes by load, as in RouteSim.
print("\nCache pressure: prefix_overlap, with the blocks of all prompts")
print_header()
for _, blocks in ipairs { 2048, 4096, 32768 } do
  print_row(blocks .. " blocks", run({ "routesim.prefix_overlap", blocks = "all" }, 100,
    { kv_blocks = blocks }))
end

-- Its worked figures: throughput points of the compute model, and an even rotation.
local model = compute_model(50000, 80, 64, 3200)
local function decode_ms(n)
  local batch = {}
  for i = 1, n do batch[i] = { progress = 100, new = 1, prompt = 100, output = 10 } end
  return model:step_time(batch) / 1000
end
assert(decode_ms(1) == 12.5 and decode_ms(8) == 18.75 and decode_ms(64) == 20)
assert(decode_ms(128) == 40)
assert(results[1].balance > 0.9999)
