#!/usr/bin/env blis
-- Session stickiness with an overload break: a session stays where it is, unless that is crowded.
-- Use it for conversations: their context is in one cache, but one instance can have too many.
local blis = require "blis"

local slack = 6 -- requests more than the least loaded instance has

local function make()
  local home = {}
  return blis.router {
    name = "sticky",
    route = function(request, instances)
      local least, at_home = 1, nil
      for i = 1, #instances do
        if instances[i].in_flight < instances[least].in_flight then least = i end
        if instances[i].id == home[request.session] then at_home = i end
      end
      local stays = at_home
        and instances[at_home].in_flight <= instances[least].in_flight + slack
      local chosen = stays and at_home or least
      if request.session ~= "" then home[request.session] = instances[chosen].id end
      return chosen
    end,
  }
end

print(blis.compare {
  cluster = { instances = 4 },
  workload = { num_requests = 1200, aggregate_rate = 12, clients = { {
    id = "chat", reasoning = { multi_turn = { max_rounds = 6, think_time_us = 2000000,
      context_growth = "accumulate" } },
    input_distribution = { "exponential", mean = 1000 },
    output_distribution = { "exponential", mean = 100 } } } },
  routing = { "round-robin", "least-loaded", make() },
})
