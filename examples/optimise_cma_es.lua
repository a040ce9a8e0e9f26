#!/usr/bin/env blis
-- CMA-ES: each generation of weights is drawn around the better half of the one before, wider where
-- that paid and narrower where it did not. Weights are positive, so it searches their logarithms.
local blis = require "blis"

local names = { "prefix-affinity", "queue-depth", "kv-utilization" }
local metric = "ttft_ms.mean"

local function trial(p)
  local scorers = {}
  for i, name in ipairs(names) do scorers[i] = { name, math.exp(p["w" .. i]) } end
  return blis.run {
    cluster = { instances = 4 },
    workload = { rate = 30, requests = 300, prompt_tokens = 500, output_tokens = 100,
                 prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
    routing = { "weighted", scorers = scorers },
    seed = p.seed,
  }
end

--- The metric at all points of a generation, run in parallel.
local function measure(places, seed, replications)
  local points = {}
  for k, x in ipairs(places) do points[k] = { w1 = x[1], w2 = x[2], w3 = x[3] } end
  local result = blis.sweep { points = points, replications = replications, seed = seed,
    trial = trial, report = { metric } }:run { quiet = true }
  local values = {}
  for k, point in ipairs(points) do values[k] = result:point(point).metrics[metric].mean end
  return values
end

local search = blis.cma_es { start = { -2, 0, 2 }, step = 1, low = { -4, -4, -4 },
  high = { 4, 4, 4 } }
for generation = 1, 8 do
  search:tell(measure(search:ask(), 42, 3))
  print(("generation %d  mean TTFT %.2f ms  step %.2f"):format(generation, search.best_value,
    search.step))
end

-- The best of many is lucky as well as good. Seeds that the search has not used show the
-- difference.
local found, even = table.unpack(measure({ search.best, { 0, 0, 0 } }, 1000, 10))
for i, name in ipairs(names) do print(("%-16s %.3g"):format(name, math.exp(search.best[i]))) end
print(("with fresh seeds: mean TTFT %.2f ms; equal weights %.2f ms"):format(found, even))
