#!/usr/bin/env blis
-- A policy in another process: a line of JSON for every decision. This script is both ends: with
-- the word "decide" it is the policy, which could be in any language; docs/external-policies.md
-- has one in Python.
if arg[1] == "decide" then
  for line in io.lines() do
    local best, least = nil, math.huge
    for id, queued, running in line:gmatch
      '{"id":"(instance_%d+)".-"queue_depth":(%d+),"batch_size":(%d+)' do
      local load = queued + running
      if load < least then best, least = id, load end
    end
    print(best and ('{"target":"%s"}'):format(best) or "{}") -- {} answers the first line
    io.flush()
  end
  return
end

local blis = require "blis"

local function run(routing)
  return blis.run {
    cluster = { instances = 4 },
    workload = { rate = 80, requests = 300, prompt = { "exponential", mean = 300 },
      output_tokens = 60 },
    routing = routing,
  }
end

local blis_program = os.getenv "BLIS_PROGRAM" or "blis"
local outside = run { "external", signals = { "queue_depth", "batch_size" },
  command = ("'%s' '%s' decide"):format(blis_program, arg[0]) }

local inside = run(function(_, instances)
  local best, least = 1, math.huge
  for i, instance in ipairs(instances) do
    local load = instance.queue_depth + instance.batch_size
    if load < least then best, least = i, load end
  end
  return best
end)

print(outside)
assert(outside.hash == inside.hash, "the same rule decides the same, wherever it runs")
