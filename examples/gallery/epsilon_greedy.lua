#!/usr/bin/env blis
-- Epsilon-greedy with a memory: mostly the recently fastest instance, sometimes a random one.
-- Use it when only the latencies of instances are available, and some may become slow.
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
  local function learn(_, instance, outcome)
    local before = mean_us[instance.id] or outcome.e2e_us
    mean_us[instance.id] = before + memory * (outcome.e2e_us - before)
  end
  return router, learn
end

--- After a second, two of the four instances take twice as long for everything.
local function run(routing, learn)
  local sim <close> = blis.simulation {
    cluster = { instances = 4, max_num_seqs = 64 },
    workload = { rate = 20, requests = 1500, prompt_tokens = 300, output_tokens = 60 },
    routing = routing, on_completion = learn,
  }
  sim:at(blis.seconds(1), function(s)
    s.instances[2]:slow(2)
    s.instances[3]:slow(2)
  end)
  local result = sim:run()
  print(("%-15s E2E mean %5.0f ms; requests per instance %s"):format(result.routing,
    result.e2e_ms.mean, tostring(result.requests_per_instance)))
end

run "random"
run "least-loaded"
run(make())
