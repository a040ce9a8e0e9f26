#!/usr/bin/env blis
-- The experiments of RouteSim's design document: its seven algorithms on the traffic of its trace
-- generator, with its engine, compute model, and table of metrics. Sweeps of the rate, of the
-- number of backends, and of the size of the KV cache follow. 'blis routesim' runs RouteSim's
-- configurations and traces.
--   blis examples/routesim.lua [SECONDS]     of traffic, 100 by default (its generator: 300)
-- For comparison, RouteSim's metrics for 100 s on this cluster are printed: it saturates at 63
-- requests/s, and 99.2 % of the requests find their prefix in a cache. Latencies near saturation
-- differ: RouteSim computes all admitted prompts at once, each at full speed. The engine here
-- computes one step at a time.
local blis = require "blis"

local seconds = tonumber(arg[1]) or 100

-- production_h100x8. The preset has RouteSim's engine. Requests join at boundaries, and their KV
-- blocks and 16,384 tokens of the batch are reserved for prompt and output. Only shared prefixes
-- stay in the cache, and 256 requests may wait. [cluster.compute_model]: prompts at 50,000
-- tokens/s. A batch of 1 decodes 80 tokens/s, a batch of 64 or more 3,200, with a line between
-- them.
local function cluster(options)
  local made = {
    model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100", tp = 1, instances = 8,
    engine_preset = "routesim", latency_model = "piecewise", beta_coeffs = { 50000, 80, 64, 3200 },
    kv_blocks = 32768, block_size = 16, max_model_len = 0, gpu_price_per_hour = 3.5,
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

local function run(algorithm, rate, options)
  return blis.run { cluster = cluster(options), workload = traffic(rate), routing = algorithm }
end

-- Cache% is the share of requests that found something, as RouteSim counts it.
local columns = "%-20s %9s %9s %9s %9s %7s %7s %7s %7s %11s %9s"
local function print_header()
  print(columns:format("Algorithm", "TTFT p50", "TTFT p99", "E2E p50", "E2E p99", "Req/s", "Cache%",
    "Jain's", "CV", "USD/1K tok", "rejected"))
end
local function print_row(name, r)
  print(columns:format(name, ("%.1f"):format(r.ttft_ms.p50), ("%.1f"):format(r.ttft_ms.p99),
    ("%.0f"):format(r.e2e_ms.p50), ("%.0f"):format(r.e2e_ms.p99),
    ("%.1f"):format(r.requests_per_sec), ("%.1f"):format(100 * r.request_hit_rate),
    ("%.3f"):format(r.balance), ("%.3f"):format(r.balance_cv),
    ("%.7f"):format(r.cost.usd_per_thousand_tokens or 0), r.rejected))
end

print(("Seven algorithms, %g s of 100 requests/s on 8 backends"):format(seconds))
print_header()
local results = {}
for i, algorithm in ipairs(algorithms) do
  results[i] = run(algorithm, 100)
  print_row(algorithm:match "%.(.*)", results[i])
end
local is_measured = seconds == 100
if is_measured then
  print((columns:format("RouteSim itself", "", "", "", "", "63", "99.2", "", "", "",
    ""):gsub("%s+$", "")))
end

print "\nRates: prefix_aware"
print_header()
for _, rate in ipairs { 50, 100, 150, 200 } do
  print_row(rate .. " requests/s", run("routesim.prefix_aware", rate))
end

print "\nBackends: least_outstanding, 12.5 requests/s for each"
print_header()
for _, n in ipairs { 4, 8, 16 } do
  print_row(n .. " backends", run("routesim.least_outstanding", 12.5 * n, { instances = n }))
end

-- The prompts of gen-trace have no block ids, so prefix_overlap uses only load, as in RouteSim.
print "\nCache pressure: prefix_overlap, with the blocks of all prompts"
print_header()
for _, blocks in ipairs { 512, 1024, 32768 } do
  print_row(blocks .. " blocks", run({ "routesim.prefix_overlap", blocks = "all" }, 100,
    { kv_blocks = blocks }))
end

-- Its worked examples: throughput points of the compute model, an even rotation, saturation.
local model = blis.latency_model("piecewise", cluster())
local function decode_ms(n)
  local batch = {}
  for i = 1, n do batch[i] = { progress = 100, new = 1, prompt = 100, output = 10 } end
  return model:step_time(batch) / 1000
end
assert(decode_ms(1) == 12.5 and decode_ms(8) == 18.75 and decode_ms(64) == 20)
assert(decode_ms(128) == 40)
assert(results[1].balance > 0.9999)
if is_measured then
  assert(math.abs(results[2].requests_per_sec / 63 - 1) < 0.03)
  assert(math.abs(results[4].request_hit_rate - 0.992) < 0.003)
end
