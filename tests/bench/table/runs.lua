--- The named runs whose cost is kept an eye on. Each says everything that its cost depends on (step
--- times, KV blocks, how tokens are made), so that figures of different versions can be compared.
---
--- A run is { name, goal, counted = { few, many }, requests, spec = function(requests) ... end }:
--- instructions per request are those of `many` less those of `few`, divided by the difference, so
--- that start-up and construction do not count; `requests` is for runs by the clock.
local blis = require "blis"

local runs = {}

local trace = (os.getenv("BLIS_SHARED_DIR") or "../shared") .. "/traces/mooncake_conversation.jsonl"

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

--- The cluster and traffic of most runs, with what is given of them replaced.
local function spec_of(requests, cluster, workload, routing)
  local spec = {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 16,
      latency_model = "trained-physics", kv_blocks = 30000, max_num_seqs = 256,
      max_num_batched_tokens = 2048 },
    workload = { rate = 100, requests = requests, prompt_tokens = 512, output_tokens = 512,
      tokens = "lazy", timeout_us = 0 },
    routing = routing or "round-robin",
  }
  for key, value in pairs(cluster) do spec.cluster[key] = value end
  for key, value in pairs(workload) do spec.workload[key] = value end
  return spec
end

local function add(run)
  run.counted = run.counted or { 1000, 3000 }
  run.requests = run.requests or 1000000
  runs[#runs + 1] = run
end

add { name = "round-robin", goal = 2800, speed_goal = 1000000,
  spec = function(n) return spec_of(n, {}, {}) end }

add { name = "calibrated",
  spec = function(n) return spec_of(n, { latency_model = "calibrated" }, {}) end }

add { name = "weighted", goal = 5000,
  spec = function(n) return spec_of(n, {}, {}, "weighted") end }

-- The same load as round-robin: what an autoscaler costs that never acts, which is to be 2 % at
-- most.
add { name = "idle autoscaler",
  spec = function(n)
    local spec = spec_of(n, {}, {})
    spec.autoscaler = { "hpa", metrics = { requests_running = 100 } }
    spec.scaling = { min_replicas = 16, max_replicas = 16 }
    return spec
  end }

add { name = "prefixes", goal = 6500,
  spec = function(n)
    return spec_of(n, {}, { prefixes = { groups = 500, tokens = 1024, zipf = 1 } }, "weighted")
  end }

add { name = "mooncake", goal = 30000, counted = { 1000, 3000 }, requests = 12031,
  missing = not exists(trace) and "no " .. trace or nil,
  spec = function(n)
    local spec = spec_of(n, { instances = 8 }, {}, "weighted")
    spec.workload = { trace = blis.trace.read(trace, { limit = n }) }
    return spec
  end }

add { name = "sessions", goal = 20000, requests = 200000,
  spec = function(n)
    return spec_of(n, {}, { sessions = { max_rounds = 5, think_time_us = 1000000 } }, "weighted")
  end }

-- The same where caches are full, and what comes back has been evicted or not.
add { name = "sessions, full caches", counted = { 12000, 16000 }, requests = 200000,
  spec = function(n)
    return spec_of(n, {}, { sessions = { max_rounds = 5, think_time_us = 1000000 } }, "weighted")
  end }

-- Of the sixteen, half prefill and half decode, so that each request is handed off; beside
-- round-robin and weighted, which are the same load without pools.
for _, routing in ipairs { "round-robin", "weighted" } do
  add { name = "pools, " .. routing,
    spec = function(n)
      return spec_of(n, { instances = 16, prefill_instances = 8, decode_instances = 8 }, {},
        routing)
    end }
end

-- Preemptions begin after some thousand requests.
add { name = "shortage", goal = 15000, speed_goal = 200000, requests = 30000,
  counted = { 10000, 30000 },
  spec = function(n)
    return spec_of(n, { kv_blocks = 8000 }, { rate = 47.5, output_tokens = 2048 })
  end }

for _, tokens in ipairs { 64, 2048 } do
  add { name = tokens .. " tokens", requests = 300000,
    spec = function(n)
      return spec_of(n, {}, { rate = 47.5, output_tokens = tokens })
    end }
end

for _, routing in ipairs { "weighted", "least-loaded" } do
  for _, instances in ipairs { 16, 1024, 10000 } do
    add { name = ("%s, %d instances"):format(routing, instances),
      -- Enough for each instance to have work.
      counted = { 1000 + instances, 3000 + instances }, requests = 100000,
      spec = function(n)
        return spec_of(n, { instances = instances }, { rate = 6.25 * instances }, routing)
      end }
  end
end

-- The same formula built in, on columns and per candidate; weights of one half are exact.
local function pair_of(scorers)
  return function(n)
    return spec_of(n, {}, {}, { "weighted", scorers = scorers() })
  end
end

add { name = "built-in pair",
  spec = pair_of(function() return { { "load-balance", 1 }, { "kv-utilization", 1 } } end) }

add { name = "columns",
  spec = pair_of(function()
    return {
      { blis.scorer { name = "load", columns = true,
        score = function(_, c) return 1 / (1 + c.effective_load) end }, 1 },
      { blis.scorer { name = "memory", columns = true,
        score = function(_, c) return 1 - c.kv_utilization end }, 1 },
    }
  end) }

add { name = "per candidate",
  spec = pair_of(function()
    return { { blis.scorer { name = "both", score = function(_, i)
      return 0.5 / (1 + i.effective_load) + 0.5 * (1 - i.kv_utilization)
    end }, 1 } }
  end) }

return runs
