#!/usr/bin/env blis
-- A small change to a built-in scorer: prefix-affinity that fades where the queue grows.
-- Use it when a popular prefix must not pull all its requests to one instance.
local blis = require "blis"

local prefix_with_break = blis.scorer {
  name = "prefix-with-break", base = "prefix-affinity", columns = true,
  score = function(_, c, prefix) return prefix / (1 + c.queue_depth) end,
}

print(blis.compare {
  cluster = { instances = 4, max_num_seqs = 32 },
  workload = { rate = 30, requests = 1500, prompt_tokens = 200, output_tokens = 80,
    prefixes = { groups = 6, tokens = 2048, zipf = 2 } },
  routing = {
    { "weighted", scorers = "prefix-affinity:3,queue-depth:1" },
    { "weighted", scorers = { { prefix_with_break, 3 }, { "queue-depth", 1 } } },
  },
})
