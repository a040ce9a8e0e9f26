#!/usr/bin/env blis
-- Nelder and Mead (1965): a simplex of weights walks downhill. Weights are positive, so it walks in
-- their logarithms; the same seeds everywhere make the landscape smooth enough to walk on.
local blis = require "blis"

local metric = "e2e_ms.mean"

local function trial(p)
  return blis.run {
    cluster = { instances = 4 },
    workload = { rate = 30, requests = 300, prompt_tokens = 500, output_tokens = 100,
                 prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
    routing = { "weighted", scorers = { { "prefix-affinity", p.prefix }, { "queue-depth", p.queue },
                                        { "kv-utilization", 1 } } },
    seed = p.seed,
  }
end

--- The metric at some points, run in parallel.
local function measure(places)
  local points = {}
  for i, x in ipairs(places) do points[i] = { prefix = math.exp(x[1]), queue = math.exp(x[2]) } end
  local sweep = blis.sweep { points = points, replications = 3, trial = trial, report = { metric } }
  local result = sweep:run { quiet = true }
  local list = {}
  for i, x in ipairs(places) do
    list[i] = { x[1], x[2], value = result:point(points[i]).metrics[metric].mean }
  end
  return list
end

--- middle + t (worst - middle)
local function along(middle, worst, t)
  return { middle[1] + t * (worst[1] - middle[1]), middle[2] + t * (worst[2] - middle[2]) }
end

local simplex = measure { { -3, 0 }, { -2, 0 }, { -3, 1 } }
for step = 1, 10 do
  table.sort(simplex, function(a, b) return a.value < b.value end)
  local best, second, worst = simplex[1], simplex[2], simplex[3]
  print(("step %2d  prefix %6.3f  queue %6.3f  mean E2E %.2f ms"):format(step, math.exp(best[1]),
    math.exp(best[2]), best.value))
  local middle = { (best[1] + second[1]) / 2, (best[2] + second[2]) / 2 }
  -- All three moves at once: with cores to spare that costs no more time than one.
  local reflected, expanded, contracted = table.unpack(measure {
    along(middle, worst, -1), along(middle, worst, -2), along(middle, worst, 0.5) })
  local moved = reflected.value < best.value and expanded.value < reflected.value and expanded
    or reflected.value < second.value and reflected or contracted
  if moved.value < worst.value then
    simplex[3] = moved
  else
    local near = measure { along(best, second, 0.5), along(best, worst, 0.5) }
    simplex[2], simplex[3] = near[1], near[2]
  end
end
