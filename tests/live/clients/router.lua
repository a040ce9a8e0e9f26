-- The rule of router.js in virtual time, with signals that are as old as its scrapes.
--
--   blis router.lua TRACE.csv
local blis = require "blis"

local interval_us = 50000
local turn = 0

-- The instance with the lowest load; equal ones in turn.
local function route(_, instances)
  local best, least = {}, math.huge
  for i = 1, #instances do
    local load = instances[i].queue_depth + instances[i].batch_size
    if load < least then best, least = {}, load end
    if load == least then best[#best + 1] = i end
  end
  turn = turn + 1
  return best[(turn - 1) % #best + 1]
end

-- The order of ties changes the p99 of a run.
for start = 0, 3 do
  turn = start
  local result = blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4,
      snapshot_refresh_us = interval_us },
    routing = route, workload = blis.trace.read(arg[1]),
  }
  print(("  TTFT p50 %.1f ms, p99 %.1f ms"):format(result.ttft_ms.p50, result.ttft_ms.p99))
end
