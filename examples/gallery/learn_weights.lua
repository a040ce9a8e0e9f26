#!/usr/bin/env blis
-- Learning weights online: tries out how much the prefix score counts against the load score, and
-- keeps the weight with the shortest time to first token. Use it when it is unclear how much
-- prefixes matter.
local blis = require "blis"

local prefix, load = blis.scorer "prefix-affinity", blis.scorer "load-balance"
local weights = { 0.1, 0.3, 0.5, 0.7, 0.9 }
local window, explore, memory = 25, 0.05, 0.3 -- first tokens; share of trials; of the new value

--- Each weight once, afterwards the best one, and sometimes a random one.
local function next_place(cost_us)
  local best = 1
  for k = 1, #weights do
    if not cost_us[k] then return k end
    if cost_us[k] < cost_us[best] then best = k end
  end
  return math.random() < explore and math.random(#weights) or best
end

local function make()
  local place, sum_us, count, cost_us = 3, 0, 0, {}
  local learned = blis.scorer {
    name = "learned", columns = true,
    score = function(request, c)
      local w = weights[place]
      return w * prefix:score(request, c) + (1 - w) * load:score(request, c)
    end,
  }
  local function learn(_, _, ttft_us)
    sum_us, count = sum_us + ttft_us, count + 1
    if count < window then return end
    local mean_us = sum_us / count
    local before_us = cost_us[place] or mean_us
    cost_us[place] = before_us + memory * (mean_us - before_us)
    place, sum_us, count = next_place(cost_us), 0, 0
  end
  return learned, learn
end

local function run(scorers, learn)
  local result = blis.run {
    cluster = { instances = 4, max_num_seqs = 32, kv_blocks = 4000 },
    workload = { rate = 70, requests = 6000, prompt_tokens = 200, output_tokens = 60,
      prefixes = { groups = 100, tokens = 2048, zipf = 1.5 } },
    routing = { "weighted", scorers = scorers },
    on_first_token = learn,
  }
  print(("%-45s TTFT mean %5.0f ms, p99 %5.0f ms"):format(result.routing, result.ttft_ms.mean,
    result.ttft_ms.p99))
end

local learned, learn = make()
run "prefix-affinity:1,load-balance:1"
run({ { learned, 1 } }, learn)
run "prefix-affinity:1,load-balance:4" -- what one would find by hand
