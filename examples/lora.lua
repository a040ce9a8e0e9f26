#!/usr/bin/env blis
-- LoRA adapters with a long tail: 128 adapters, of which a few get most of the requests, and four
-- instances with eight slots each. Routing by load alone loads adapters all the time. Preferring
-- the instance that has the adapter loads few of them, at the price of an uneven load. One adapter
-- exceeds the capacity of an instance, so affinity must spill over. A rare adapter behind adapters
-- that are always in use can starve if its requests may be passed.
local blis = require "blis"

local function run(routing, lora, rate)
  return blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, instances = 4, lora = lora },
    workload = { rate = rate or 20, requests = 3000, prompt_tokens = 300, output_tokens = 100 },
    routing = routing,
  }
end

local function by(affinity, load)
  return { "weighted", scorers = { { affinity, 1 }, { "queue-depth", load } } }
end

local routings = {
  { "least-loaded", "least-loaded" },
  { "lora-affinity:1, queue-depth:1", by("lora-affinity", 1) },
  { "lora-affinity:1, queue-depth:0.1", by("lora-affinity", 0.1) },
  { "llm-d's scorer:1, queue-depth:1", by("llm-d.lora-affinity-scorer", 1) },
  { "the same before #2625", { "weighted", scorers = {
    { { "llm-d.lora-affinity-scorer", version = "before-2625" }, 1 }, { "queue-depth", 1 } } } },
}

local function compare(title, lora, rate)
  print(title)
  print("                                   loads/100  found  wait ms  TTFT mean      p99  balance")
  for _, one in ipairs(routings) do
    local r = run(one[2], lora, rate)
    print(("  %-32s %9.1f %5.0f%% %8.1f %10.1f %8.1f %8.2f"):format(one[1], r.lora.loads_per_100,
      100 * r.lora.hit_rate, r.lora.mean_wait_ms, r.ttft_ms.mean, r.ttft_ms.p99, r.balance))
  end
end

compare("128 adapters, Zipf 1.0, 8 slots", { adapters = 128, slots = 8, zipf = 1 })

compare("\none adapter has nine of ten requests, at 60 requests/s",
  { adapters = { { id = "hot", weight = 90 }, { id = "a", weight = 5 }, { id = "b", weight = 5 } },
    slots = 2 }, 60)

print("\na rare adapter behind two that are always in use, 2 slots")
print("                          rare: mean TTFT      p99   all: p99")
for _, one in ipairs {
  { "passed at any time", {} }, { "not after 0.5 s", { max_skip_us = 500000 } },
  { "nobody is passed", { order = "head-of-line" } } } do
  local lora = { slots = 2, adapters = { { id = "hot", weight = 60 }, { id = "warm", weight = 39 },
    { id = "rare", weight = 1 } } }
  for key, value in pairs(one[2]) do lora[key] = value end
  local r = run("least-loaded", lora)
  local rare = r.by_adapter.rare
  print(("  %-22s %15.0f %8.0f %10.0f"):format(one[1], rare.ttft_ms.mean, rare.ttft_ms.p99,
    r.ttft_ms.p99))
end

print("\nslots fewer than the adapters of a batch: loads in the way of everybody, or beside them")
for _, mode in ipairs { "overlap", "block" } do
  local r = run("least-loaded", { adapters = 32, zipf = 0, slots = 4, mode = mode })
  print(("  %-8s %6.1f loads/100, TTFT p99 %8.0f ms, ITL mean %5.1f p99 %6.1f ms"):format(mode,
    r.lora.loads_per_100, r.ttft_ms.p99, r.itl_ms.mean, r.itl_ms.p99))
end
