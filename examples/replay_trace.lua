#!/usr/bin/env blis
-- Replay a recorded trace under several policies.
--   blis examples/replay_trace.lua [TRACE]
-- Mooncake publishes its traces at https://github.com/kvcache-ai/Mooncake (FAST25-release/traces).
-- Without TRACE, it reads ../shared/traces/mooncake_conversation.jsonl if that exists, otherwise
-- made-up requests in the same form, in this folder.
local blis = require "blis"

local function is_readable(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local sample = arg[0]:gsub("[^/]*$", "") .. "data/mooncake_sample.jsonl"
local whole = "../shared/traces/mooncake_conversation.jsonl"
local path = arg[1] or is_readable(whole) and whole or sample

-- The format is recognised; print shows how many requests, over what time, tokens, reuse.
local trace = blis.trace.read(path, { limit = 2000 })
print(trace)
print()

-- Mooncake names blocks of 512 tokens; the router's index works on the same ones.
local prefix_affinity = blis.scorer { "prefix-affinity", block_size = 512 }

print(blis.compare {
  cluster = { model = "meta-llama/llama-3.1-8b-instruct", instances = 8, block_size = 512 },
  workload = trace,
  routing = {
    "round-robin",
    "least-loaded",
    "lmetric",
    {
      "weighted",
      scorers = { { prefix_affinity, 3 }, { "queue-depth", 2 }, { "kv-utilization", 2 } },
    },
  },
})
