#!/usr/bin/env blis
-- Holding jobs back keeps room free for important requests, which costs throughput. How much of
-- each? priority-holdback gives the highest band a ceiling of 1 and the lowest one min_ceiling: the
-- saturation up to which it may leave.
local blis = require "blis"

local seconds = blis.seconds
local until_s = 120

--- Bursts of people, and more jobs than there is time for.
local function traffic(rng)
  local list = {}
  local function add(class, rate, from_s, to_s, prompt_tokens, output_tokens)
    local now_us = seconds(from_s)
    while now_us < seconds(to_s) do
      list[#list + 1] = { arrival_us = now_us // 1 | 0, slo_class = class,
        prompt_tokens = rng:integer(prompt_tokens // 2, 3 * prompt_tokens // 2),
        output_tokens = rng:integer(output_tokens // 2, 3 * output_tokens // 2) }
      now_us = now_us + rng:exponential(1e6 / rate)
    end
  end
  -- A band exists from its first request on: with jobs alone there would be nothing to hold them
  -- back for, and the first people would find the engines full of them.
  for from_s = 0, until_s - 10, 20 do add("critical", 12, from_s, from_s + 5, 500, 80) end
  add("batch", 40, 1, until_s, 800, 400)
  table.sort(list, function(a, b) return a.arrival_us < b.arrival_us end)
  return list
end

local requests = traffic(blis.rng(6, "holdback"))

local function run(min_ceiling)
  local i = 0
  local result = blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 2 },
    workload = function()
      i = i + 1
      return requests[i]
    end,
    routing = "least-loaded", horizon_us = seconds(until_s),
    queue = { saturation = { "concurrency", max_concurrency = 32 }, ttl_us = 0,
      band_max_requests = 0,
      usage_limit = { "priority-holdback", min_ceiling = min_ceiling } },
  }
  local ttft, jobs = result.by_slo_class.critical.ttft_ms.p99, result.by_slo_class.batch
  print(("%11.1f %14.0f %12d %16d"):format(min_ceiling, ttft, jobs.completed, jobs.output_tokens))
  return ttft, jobs.completed
end

print("min_ceiling  TTFT p99, ms   jobs done   tokens of jobs   in " .. until_s .. " s")
local ttfts, done = {}, {}
for tenths = 2, 10 do ttfts[tenths], done[tenths] = run(tenths / 10) end

--- Prints what the metrics show, and fails if they do not show it.
local function claim(text, holds)
  assert(holds, text)
  print(text)
end

print()
claim("Without holding back, bursts wait for jobs", ttfts[10] > 3 * ttfts[2])
claim("Holding back costs jobs", done[2] < 0.6 * done[10])
claim("Most of the gain is there at 0.8, for a seventh of the jobs",
  ttfts[8] < ttfts[10] / 2 and done[8] > 0.8 * done[10])
