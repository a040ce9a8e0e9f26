#!/usr/bin/env blis
-- Coordinate search: one scorer's weight after the other is tried at some values, the best is kept,
-- until a round over all weights changes nothing.
local blis = require "blis"

local names = { "prefix-affinity", "queue-depth", "kv-utilization" }
local weights, choices = { 1, 1, 1 }, { 0.25, 0.5, 1, 2, 4 }
local metric = "ttft_ms.mean"

local function trial(p)
  local scorers = {}
  for i, name in ipairs(names) do scorers[i] = { name, p["w" .. i] } end
  return blis.run {
    cluster = { instances = 4 },
    workload = { rate = 30, requests = 300, prompt_tokens = 500, output_tokens = 100,
                 prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } },
    routing = { "weighted", scorers = scorers },
    seed = p.seed,
  }
end

--- All values of weight i, run side by side; returns the best and what it gives.
local function try(i)
  local points = {}
  for k, value in ipairs(choices) do
    points[k] = { w1 = weights[1], w2 = weights[2], w3 = weights[3] }
    points[k]["w" .. i] = value
  end
  local best = blis.sweep { points = points, replications = 2, trial = trial, report = { metric } }
    :run { quiet = true }:best(metric)
  return best.parameters["w" .. i], best.metrics[metric].mean
end

local has_changed
repeat
  has_changed = false
  for i, name in ipairs(names) do
    local value, ttft_ms = try(i)
    if value ~= weights[i] then has_changed = true end
    weights[i] = value
    print(("%-16s %4g   mean TTFT %.2f ms"):format(name, value, ttft_ms))
  end
until not has_changed
