#!/usr/bin/env blis
-- Scaled to zero: requests wait at the gateway until an instance has come up, which takes four
-- minutes. How long may they wait? noEndpointRequestTTL of llm-d-router is a minute unless one says
-- otherwise, and then all of them get 503.
local blis = require "blis"

local seconds = blis.seconds
local cold_start_s = 240

local function traffic(rng)
  local now_us, left = 0, 200
  return function()
    if left == 0 then return nil end
    left = left - 1
    now_us = now_us + rng:exponential(1.5e6)
    return { arrival_us = now_us // 1 | 0, prompt_tokens = 500, output_tokens = 100 }
  end
end

local function run(ttl_s, more)
  local queue = { saturation = "concurrency", ttl_us = seconds(60),
    no_endpoint_ttl_us = seconds(ttl_s) }
  for key, value in pairs(more or {}) do queue[key] = value end
  return blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 1 },
    workload = traffic(blis.rng(3, "from zero")), queue = queue,
    autoscaler = { "queue-depth" },
    scaling = { warm_start = false, loading_delay_us = seconds(cold_start_s), max_replicas = 1 },
  }
end

print("An instance takes " .. cold_start_s .. " s to come up; 200 requests meanwhile and after.")
print("TTL without endpoints    503   429   answered   longest TTFT, s")
local turned_away = {}
for _, ttl_s in ipairs { 30, 60, 120, 180, 240, 300 } do
  local result = run(ttl_s)
  turned_away[ttl_s] = result.queue.status_503
  print(("%18d s %6d %5d %10d %17.1f"):format(ttl_s, result.queue.status_503,
    result.queue.status_429, result.completed, result.ttft_ms.max / 1000))
end

--- Prints what the metrics show, and fails if they do not show it.
local function claim(text, holds)
  assert(holds, text)
  print(text)
end

print()
claim("The longer they may wait, the fewer are turned away", turned_away[30] > turned_away[120]
  and turned_away[120] > turned_away[240])
claim("With more than a cold start nobody gets 503", turned_away[300] == 0)
local small = run(300, { max_requests = 50 })
claim("Unless the queue is full, which is 503, too, while nobody is there",
  small.queue.rejected > 0 and small.queue.status_503 == small.queue.rejected)
