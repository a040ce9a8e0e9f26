#!/usr/bin/env blis
-- Epsilon-greedy with a memory: mostly the instance whose first tokens came fastest of late.
-- Use it when nothing is known of the instances but how they answer, and they may change.
local blis = require "blis"

local epsilon, memory = 0.1, 0.2

local function make()
  local mean_us = {}
  local router = blis.router {
    name = "epsilon-greedy",
    route = function(_, instances)
      if math.random() < epsilon then return math.random(#instances) end
      local best = 1
      for i = 2, #instances do
        local here, there = mean_us[instances[i].id] or 0, mean_us[instances[best].id] or 0
        if here < there then best = i end
      end
      return best
    end,
  }
  local function learn(_, instance, ttft_us)
    local before = mean_us[instance.id] or ttft_us
    mean_us[instance.id] = before + memory * (ttft_us - before)
  end
  return router, learn
end

local router, learn = make()
local spec = {
  cluster = { instances = 4 },
  workload = { rate = 20, requests = 1000, prompt_tokens = 300, output_tokens = 60 },
}
local random = blis.run { cluster = spec.cluster, workload = spec.workload, routing = "random" }
local greedy = blis.run { cluster = spec.cluster, workload = spec.workload, routing = router,
  on_first_token = learn }
for _, result in ipairs { random, greedy } do
  print(("%-15s TTFT mean %.1f ms, p99 %.1f ms; requests %s"):format(result.routing,
    result.ttft_ms.mean, result.ttft_ms.p99, tostring(result.requests_per_instance)))
end
