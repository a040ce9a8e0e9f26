-- Autoscaling: how much does the start of an instance cost while the load rises?
-- The load rises from 10 to 60 requests/s in a minute. Instances start in 60 s, and then in 10 s.
local blis = require "blis"

for _, delay in ipairs { "60s", "10s" } do
  local result = blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 1 },
    workload = { rate = 35, requests = 5000, prompt_tokens = 500, output_tokens = 150,
      shape = { "ramp", from = 0.3, to = 1.7, duration_us = "60s" } },
    routing = "least-loaded",
    autoscaler = { "hpa", metrics = { requests_running = 15 } },
    scaling = { max_replicas = 8, loading_delay_us = delay },
    seed = 42,
  }
  print(("start in %-4s TTFT p99 %8.1f ms   %.1f instances billed on average"):format(delay,
    result.ttft_ms.p99, result.scaling.mean_paid))
end
