#!/usr/bin/env blis
-- Conversations: a round's prompt is everything said before and something new, so it pays to send
-- it to the instance whose KV cache has the rounds before.
local blis = require "blis"

local workload = {
  rate = 6, requests = 600,               -- first rounds per second; rounds of all sessions
  prompt = { "exponential", mean = 200 }, -- what is new in a round
  output = { "exponential", mean = 150 },
  prefixes = { groups = 4, tokens = 1500 },
  sessions = { max_rounds = 6, think_time_us = blis.seconds(2) },
}

-- In a closed loop users wait for answers, so a slow cluster gets fewer requests per second.
-- Planned rounds come in any case; only then is the traffic the same for every policy.
for _, is_closed in ipairs { true, false } do
  workload.sessions.closed_loop = is_closed
  print(is_closed and "rounds after answers" or "rounds at planned times")
  print(blis.compare {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
    workload = workload,
    routing = { "round-robin", "least-loaded", "weighted" },
  })
  print()
end
