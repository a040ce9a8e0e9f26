#!/usr/bin/env blis
-- Power of two choices: two instances at random, the less loaded one of them.
-- Use it when signals are old: the least loaded instance of an old picture draws a herd.
local blis = require "blis"

local two_choices = blis.router {
  name = "two-choices",
  route = function(_, instances)
    local first = math.random(#instances)
    local second = math.random(#instances - 1)
    if second >= first then second = second + 1 end
    return instances[first].in_flight <= instances[second].in_flight and first or second
  end,
}

print(blis.compare {
  cluster = { instances = 8, max_num_seqs = 32, snapshot_refresh_us = blis.seconds(1) },
  workload = { rate = 240, requests = 4000, prompt_tokens = 300, output_tokens = 60 },
  routing = { "random", "least-loaded", two_choices },
})
