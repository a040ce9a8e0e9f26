#!/usr/bin/env blis
-- Rules at the other decision points: admission, routing as a whole, wait-queue order.
local blis = require "blis"

local result = blis.run {
  cluster = { instances = 2, max_num_seqs = 32 },
  workload = {
    num_requests = 1500, aggregate_rate = 60,
    clients = {
      { id = "chat", tenant_id = "a", slo_class = "critical", rate_fraction = 1,
        arrival = { process = "poisson" },
        input_distribution = { "gaussian", mean = 200, std_dev = 80, min = 2, max = 1000 },
        output_distribution = { "exponential", mean = 60 } },
      { id = "batch", tenant_id = "b", slo_class = "batch", rate_fraction = 3,
        arrival = { process = "gamma", cv = 3 },
        input_distribution = { "exponential", mean = 600 },
        output_distribution = { "exponential", mean = 200 } },
    },
  },

  admission = function(request, cluster)
    if request.slo_class == "batch" and cluster.mean_queue_depth > 8 then
      return blis.reject "overloaded"
    end
    return blis.admit()
  end,

  -- A whole routing policy is a function that returns the index of the chosen candidate.
  routing = function(_, instances)
    local best, best_load = 1, math.huge
    for i = 1, #instances do
      local load = instances[i].queue_depth * 4 + instances[i].batch_size
      if load < best_load then best, best_load = i, load end
    end
    return best
  end,

  scheduler = function(a, b)              -- order of an instance's wait queue: does a precede b?
    return a.prompt_tokens < b.prompt_tokens
  end,
}
print(result)
print(result.by_slo_class.critical.ttft_ms.p99, result.rejected)
