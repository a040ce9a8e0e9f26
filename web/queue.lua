-- A queue at the gateway: does one tenant that sends too much slow down the other?
-- Both runs hold requests back until an instance has room; the second takes turns between tenants.
local blis = require "blis"

local function client(tenant, share)
  return { id = tenant, tenant_id = tenant, rate_fraction = share,
    arrival = { process = "poisson" },
    input_distribution = { type = "constant", params = { value = 500 } },
    output_distribution = { type = "constant", params = { value = 150 } } }
end

for _, fairness in ipairs { "global-strict", "round-robin" } do
  local result = blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2, max_num_seqs = 24 },
    workload = { version = "2", aggregate_rate = 30, num_requests = 2000,
      clients = { client("greedy", 0.8), client("modest", 0.2) } },
    routing = "least-loaded", seed = 42,
    queue = { saturation = "concurrency", max_concurrency = 24, fairness = fairness },
  }
  for _, tenant in ipairs(result.by_tenant) do
    print(("%-14s %-8s TTFT p99 %9.1f ms"):format(fairness, tenant.name, tenant.ttft_ms.p99))
  end
end
