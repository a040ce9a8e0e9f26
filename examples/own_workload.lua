#!/usr/bin/env blis
-- Custom traffic in three ways: functions that sample lengths and arrivals, a generator of whole
-- requests, and changes to requests that exist.
local blis = require "blis"

local function show(title, workload)
  local result = blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2 },
    workload = workload,
    routing = "weighted",
  }
  print(("%-22s %4d requests, prompts of %6.1f tokens, TTFT p99 %7.1f ms, cache hits %.0f %%")
    :format(title, result.completed, result.prompt_tokens / result.completed,
      result.ttft_ms.p99, 100 * result.cache_hit_rate))
end

-- Two sizes of prompt, and a burst of five requests every half second. rng is a random stream of
-- the experiment's seed, so that equal seeds give equal bytes.
local in_burst = 0
show("drawn by functions", {
  requests = 400,
  prompt = function(rng) return rng:number() < 0.8 and 200 or 3000 end,
  output = function(rng) return rng:integer(20, 120) end,
  arrival = function()
    in_burst = (in_burst + 1) % 5
    return in_burst == 1 and 500000 or 0
  end,
})

-- An agent calls tools in a row: every call has the conversation so far in its prompt. Content with
-- the same name and position is the same, and can be found in a KV cache.
local function agents(count, calls)
  return coroutine.wrap(function(rng)
    local time_us = 0
    for agent = 1, count do
      local context = 400
      time_us = time_us + math.floor(1e6 * rng:exponential())
      for call = 1, calls do
        coroutine.yield {
          arrival_us = time_us, output_tokens = 60, session = "agent " .. agent,
          round_index = call - 1, tenant = agent % 2 == 0 and "even" or "odd",
          content = { { "instructions", 800 }, { "agent " .. agent, context }, rng:integer(50) },
        }
        context = context + 200
        time_us = time_us + 250000
      end
    end
  end)
end
show("made by a generator", agents(60, 6))

-- For a list: twice the speed, the last three quarters, another SLO class for long prompts.
local list = blis.workload { rate = 8, requests = 400, preset = "chatbot" }
show("a list", list)
local first_us = list[101].arrival_us
show("the list, changed", list:map(function(request)
  if request.arrival_us < first_us then return nil end
  return {
    arrival_us = (request.arrival_us - first_us) // 2,
    slo_class = request.prompt_tokens > 300 and "batch" or "critical",
  }
end))
