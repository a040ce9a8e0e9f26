#!/usr/bin/env blis
-- The simulation as an object: schedule events, read state, stop, and continue.
local blis = require "blis"

local sim = blis.simulation {
  cluster = { instances = 3 },
  workload = { rate = 30, requests = 1000 },
  routing = "least-loaded",
  seed = 7,
}

for t = 1, 5 do
  sim:at(blis.seconds(t), function(s)
    local busy = {}
    for i, instance in ipairs(s.instances) do
      busy[i] = ("%s q=%d b=%d kv=%.2f"):format(instance.id, instance.queue_depth,
        instance.batch_size, instance.kv_utilization)
    end
    print(s.now_us, table.concat(busy, "  "))
  end)
end

sim:run_until(blis.seconds(10))
print(("%d of %d requests done at %.1f s"):format(sim.completed, sim.injected, sim.now_us / 1e6))
local result = sim:run()
print(result.hash, result)

-- Parts can be explored on their own.
local cache = blis.kv_cache { blocks = 64, block_size = 16 }
local rng = blis.rng(42, "router")
print(cache.free_blocks, rng:integer(4))
