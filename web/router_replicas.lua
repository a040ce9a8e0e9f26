-- Router replicas: what happens when each router remembers only its own requests?
-- Four replicas that share nothing do not know which prefixes the others placed where.
local blis = require "blis"

for _, sync in ipairs { "shared", "none" } do
  local result = blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 6 },
    workload = { rate = 24, requests = 3000, prompt_tokens = 300, output_tokens = 100,
      prefixes = { groups = 60, tokens = 6000 } },
    routing = "weighted", routers = { replicas = 4, sync = sync }, seed = 42,
  }
  print(("state %-7s TTFT p99 %7.1f ms   %.1f %% of the prompt blocks in cache"):format(sync,
    result.ttft_ms.p99, 100 * result.cache_hit_rate_overall))
end
