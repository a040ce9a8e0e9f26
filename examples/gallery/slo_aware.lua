#!/usr/bin/env blis
-- SLO-aware: one instance is kept for urgent requests as long as the others are not full.
-- Use it when a few interactive users share a cluster with a lot of batch work.
local blis = require "blis"

local urgent = { critical = true, standard = true }

local keep_one_free = blis.filter {
  name = "keep-one-free",
  keep = function(request, instance)
    return urgent[request.slo_class] or instance.index > 1 or instance.queue_depth == 0
      and instance.batch_size < 8
  end,
}

local function client(id, class, share, prompt, output)
  return { id = id, slo_class = class, rate_fraction = share,
    input_distribution = { "exponential", mean = prompt },
    output_distribution = { "exponential", mean = output } }
end

for _, filters in ipairs { {}, { keep_one_free } } do
  local result = blis.run {
    cluster = { instances = 3, max_num_seqs = 16 },
    workload = { num_requests = 1200, aggregate_rate = 18,
      clients = { client("chat", "critical", 1, 200, 80), client("batch", "batch", 3, 800, 300) } },
    routing = { "weighted", scorers = "load-balance:1", filters = #filters > 0 and filters or nil },
  }
  local by = result.by_slo_class
  print(("%-40s TTFT p90: critical %.0f ms, batch %.0f ms"):format(result.routing,
    by.critical.ttft_ms.p90, by.batch.ttft_ms.p90))
end
