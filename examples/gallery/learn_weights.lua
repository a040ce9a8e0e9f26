#!/usr/bin/env blis
-- Learning weights online: the weight of the prefix score against that of load climbs or falls with
-- the time to first token of the last requests. Use it when nobody knows how much prefixes matter.
local blis = require "blis"

local prefix, load = blis.scorer "prefix-affinity", blis.scorer "load-balance"

local function make()
  local weight, step, sum_us, count, before_us = 0.5, 0.1, 0, 0, math.huge
  local learned = blis.scorer {
    name = "learned", columns = true,
    score = function(request, c)
      return weight * prefix:score(request, c) + (1 - weight) * load:score(request, c)
    end,
  }
  local function learn(_, _, ttft_us)
    sum_us, count = sum_us + ttft_us, count + 1
    if count < 100 then return end
    local mean_us = sum_us / count
    if mean_us > before_us then step = -step end -- it got worse: turn round
    weight = math.min(0.95, math.max(0.05, weight + step))
    sum_us, count, before_us = 0, 0, mean_us
  end
  return learned, learn, function() return weight end
end

local learned, learn, weight = make()
local result = blis.run {
  cluster = { instances = 4 },
  workload = { rate = 40, requests = 3000, prompt_tokens = 200, output_tokens = 60,
    prefixes = { groups = 12, tokens = 2048, zipf = 1 } },
  routing = { "weighted", scorers = { { learned, 1 } } },
  on_first_token = learn,
}
print(("weight of the prefix: %.2f; TTFT mean %.1f ms, p99 %.1f ms; cache hits %.0f %%"):format(
  weight(), result.ttft_ms.mean, result.ttft_ms.p99, 100 * result.cache_hit_rate))
