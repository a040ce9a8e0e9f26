#!/usr/bin/env blis
-- Tenant fairness: a tenant with more than its share of the requests in flight waits at the door.
-- Use it when one tenant's bursts must not be felt by the others.
local blis = require "blis"

local limit = 40

local function make()
  local in_flight = {}
  local function leave(request)
    in_flight[request.tenant] = in_flight[request.tenant] - 1
  end
  return {
    admission = blis.admission {
      name = "fair-shares",
      decide = function(request)
        local count = in_flight[request.tenant] or 0
        if count >= limit then return blis.delay(blis.milliseconds(20)) end
        in_flight[request.tenant] = count + 1
        return blis.admit()
      end,
    },
    on_completion = leave,
    on_failure = leave,
  }
end

local function client(tenant, share, process)
  return { id = tenant, tenant_id = tenant, rate_fraction = share, arrival = process,
    input_distribution = { "exponential", mean = 400 },
    output_distribution = { "exponential", mean = 150 } }
end

for _, hooks in ipairs { {}, make() } do
  hooks.cluster = { instances = 2, max_num_seqs = 32 }
  hooks.workload = { num_requests = 1500, aggregate_rate = 26,
    clients = { client("steady", 1, "poisson"), client("bursty", 4, { "gamma", cv = 8 }) } }
  hooks.routing = "least-loaded"
  local by = blis.run(hooks).by_tenant
  print(("%-12s TTFT p90: steady %.2f s, bursty %.2f s"):format(
    hooks.admission and hooks.admission.name or "no limit", by.steady.ttft_ms.p90 / 1000,
    by.bursty.ttft_ms.p90 / 1000))
end
