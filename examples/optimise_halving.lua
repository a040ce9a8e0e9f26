#!/usr/bin/env blis
-- Successive halving: many candidates with little work each, the better half of them with twice as
-- much, and so on until one is left. Sobol samples cover the weights more evenly than chance.
local blis = require "blis"

local metric = "ttft_ms.p90"

local function trial_of(requests)
  return function(p)
    return blis.run {
      cluster = { instances = 4 },
      workload = { rate = 30, requests = requests, prompt_tokens = 500, output_tokens = 100,
                   prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
      routing = { "weighted", scorers = { { "prefix-affinity", p.prefix }, { "queue-depth", 1 },
                                          { "kv-utilization", p.kv } } },
      seed = p.seed,
    }
  end
end

local function race(spec, requests)
  spec.trial, spec.replications, spec.report = trial_of(requests), 2, { metric }
  local points = blis.sweep(spec):run({ quiet = true }).points
  table.sort(points, function(a, b)
    local x, y = a.metrics[metric].mean, b.metrics[metric].mean
    if x ~= y then return x < y end
    return a.name < b.name
  end)
  return points
end

local requests = 100
local points = race({
  parameters = { { "prefix", from = 0.1, to = 10, scale = "log" },
                 { "kv", from = 0.1, to = 10, scale = "log" } },
  sampling = "sobol", samples = 16,
}, requests)

while #points > 1 do
  print(("%2d candidates, %4d requests each; best %s with %.2f ms"):format(#points, requests,
    points[1].name, points[1].metrics[metric].mean))
  local better = {}
  for i = 1, #points // 2 do better[i] = points[i].parameters end
  requests = requests * 2
  points = race({ points = better }, requests)
end
print(("the best: %s with a p90 TTFT of %.2f ms"):format(points[1].name,
  points[1].metrics[metric].mean))
