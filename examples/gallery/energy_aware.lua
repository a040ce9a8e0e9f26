#!/usr/bin/env blis
-- Energy-aware: requests are packed onto as few instances as can take them, others are idle.
-- Use it when load is low most of the day, and idle instances can sleep.
local blis = require "blis"

local full = 24 -- requests that an instance takes before the next one is woken

local pack = blis.router {
  name = "pack",
  route = function(_, instances)
    local least = 1
    for i = 1, #instances do
      if instances[i].in_flight < full then return i end
      if instances[i].in_flight < instances[least].in_flight then least = i end
    end
    return least
  end,
}

local comparison = blis.compare {
  cluster = { instances = 6 },
  workload = { rate = 10, requests = 1000, prompt_tokens = 200, output_tokens = 120 },
  routing = { "least-loaded", pack },
}
print(comparison)
for _, result in ipairs { comparison[1], comparison[2] } do
  print(("%-12s requests per instance: %s"):format(result.routing,
    tostring(result.requests_per_instance)))
end
