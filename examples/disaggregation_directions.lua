#!/usr/bin/env blis
-- Published results on prefill/decode disaggregation, reproduced on four H100 with qwen3-14b.
--
-- Goodput is the highest rate at which 90% of the requests meet the targets for the first token and
-- for the time between tokens (TPOT). Each section names the source of a claim and reports whether
-- the model reproduces it. docs/disaggregation.md contains the same lines.
local blis = require "blis"

local fewest, shortest_s, closeness = 300, 20, 1.05

local function cluster_of(options)
  local cluster = { model = "qwen/qwen3-14b", hardware = "H100" }
  for key, value in pairs(options) do cluster[key] = value end
  return cluster
end

local function together() return { instances = 4 } end

local function apart(prefill)
  return { prefill_instances = prefill, decode_instances = 4 - prefill }
end

local function keeps(setup, rate)
  local workload = { rate = rate, requests = math.max(fewest, math.ceil(shortest_s * rate)),
    prompt = setup.prompt, output = setup.output }
  local result = blis.run { cluster = cluster_of(setup.cluster), routing = "least-loaded",
    disaggregation = setup.disaggregation, workload = workload }
  local good = 0
  for _, r in ipairs(result.requests) do
    local is_good = r.state == "completed" and r.ttft_us <= 1000 * setup.ttft_ms
      and r.itl_sum_us <= 1000 * setup.tpot_ms * r.itl_count
    good = good + (is_good and 1 or 0)
  end
  return good >= 0.9 * result.arrived
end

--- Returns the goodput in requests/s; 0 if it is below one request in four seconds.
local function goodput(setup)
  local low, high = 0.25, 0.5
  if not keeps(setup, low) then return 0.0 end
  while keeps(setup, high) do low, high = high, 2 * high end
  while high / low > closeness do
    local middle = math.sqrt(low * high)
    if keeps(setup, middle) then low = middle else high = middle end
  end
  return low
end

local function with(setup, cluster, disaggregation)
  local changed = { cluster = cluster, disaggregation = disaggregation }
  for key, value in pairs(setup) do changed[key] = value end
  return changed
end

--- Goodput of the best split of four GPUs, and its size of the prefill pool.
local function best_split(setup, disaggregation)
  local best, prefill = -1, nil
  for p = 1, 3 do
    local rate = goodput(with(setup, apart(p), disaggregation))
    if rate > best then best, prefill = rate, p end
  end
  return best, prefill
end

local function name_of(prefill) return ("%dP + %dD"):format(prefill, 4 - prefill) end

local function verdict(is_shown) return is_shown and "reproduced" or "not reproduced" end

local function say(is_shown, text, ...)
  print(("- %s: %s"):format(verdict(is_shown), text:format(...)))
end

-- 1. TaiChi (arXiv 2508.01989): the best layout depends on the tight target.
local usual = { prompt = 2000, output = 200 }
local tight_tpot = { prompt = 2000, output = 200, ttft_ms = 5000, tpot_ms = 16 }
local one = goodput(with(tight_tpot, together()))
local two, p = best_split(tight_tpot)
say(two > one, "disaggregation wins under a tight TPOT (5 s, 16 ms): %s %.1f requests/s, "
  .. "colocated %.1f", name_of(p), two, one)

local tight_ttft = { prompt = usual.prompt, output = usual.output, ttft_ms = 250, tpot_ms = 100 }
one = goodput(with(tight_ttft, together()))
two, p = best_split(tight_ttft)
say(one > two, "colocated instances win under a tight TTFT (250 ms, 100 ms): %.1f requests/s, "
  .. "%s %.1f", one, name_of(p), two)

-- 2. Dynamo's planner, sglang 24488: long prompts with short outputs.
local long = { prompt = 4000, output = 20, ttft_ms = 5000, tpot_ms = 100 }
one = goodput(with(long, together()))
two, p = best_split(long)
say(one > two, "colocated instances win on equal GPUs with long prompts and short outputs "
  .. "(4,000 and 20 tokens): %.1f requests/s, %s %.1f", one, name_of(p), two)

-- 3. Cognitora: decode GPUs can be cheaper. Each decode instance uses an A100, at list prices.
local h100_usd, a100_usd = 3.5, 2
local cheap = apart(p)
cheap.decode_hardware = "A100-80"
local three = goodput(with(long, cheap))
local usd_same, usd_cheap = 4 * h100_usd, p * h100_usd + (4 - p) * a100_usd
local per_same, per_cheap = 3600 * two / usd_same, 3600 * three / usd_cheap
say(per_cheap > per_same, "for this workload, cheaper decode GPUs save money: %s with A100 for "
  .. "decode %.0f requests/USD, only H100 %.0f", name_of(p), per_cheap, per_same)
local per_together = 3600 * one / usd_same
say(per_cheap > per_together, "cheaper decode GPUs also beat colocated instances (%.0f "
  .. "requests/USD), because the decode GPU is idle most of the time", per_together)

-- 4. Conditional deciders (llm-d, Dynamo): mixed traffic with 20% long prompts.
local mixed = { output = 150, ttft_ms = 1000, tpot_ms = 25,
  prompt = function(rng) return rng:number() < 0.2 and 6000 or 200 end }
one = goodput(with(mixed, together()))
local always, p_always = best_split(mixed, "always")
local some, p_some = best_split(mixed, { "prefix-threshold", threshold = 1000 })
say(some > math.max(one, always), "a conditional decider wins on mixed traffic: %s that "
  .. "splits prompts above 1,000 tokens %.1f requests/s, %s that splits all %.1f, colocated %.1f",
  name_of(p_some), some, name_of(p_always), always, one)

-- 5. Contention of links moves the best ratio.
local wide = { prompt = 4000, output = 20, ttft_ms = 2000, tpot_ms = 50 }
two, p = best_split(wide, { bandwidth_gb_s = 25 })
local slow, p_slow = best_split(wide, { bandwidth_gb_s = 5 })
say(p ~= p_slow, "contention changes the best ratio: %s with 25 GB/s per GPU (%.1f "
  .. "requests/s), %s with 5 GB/s (%.1f)", name_of(p), two, name_of(p_slow), slow)

-- 6. SGLang PR 23515: layer-wise overlap reduces TTFT for prompts of about 1,000 tokens and more.
local function gain(prompt)
  local function ttft(overlap)
    local cluster = apart(1)
    cluster.decode_instances, cluster.max_num_batched_tokens = 1, 16384
    return blis.run {
      cluster = cluster_of(cluster), workload = { rate = 0.5, requests = 100,
        prompt_tokens = prompt, output_tokens = 32 },
      disaggregation = { order = "destination", first_token = "prefill", overlap = overlap },
    }.ttft_ms.mean
  end
  return 100 * (1 - ttft "layers" / ttft "none")
end
local gains = { gain(256), gain(1024), gain(4096) }
say(gains[2] > gains[1] and gains[3] > gains[1], "layer-wise overlap helps more above about 1,000 "
  .. "tokens: TTFT is %.1f%% lower at 256 tokens, %.1f%% at 1,024, %.1f%% at 4,096",
  gains[1], gains[2], gains[3])
say(gains[1] < 0, "layer-wise overlap costs time for short prompts: the model has no cost per "
  .. "group of layers")
