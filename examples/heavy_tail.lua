#!/usr/bin/env blis
-- The contrasts of "B3 Routing Policies" on sessions with a heavy tail: nine of ten have a single
-- turn, a few have hundreds, and every turn contains the previous ones. One session, an agent that
-- works on many files at a time, exceeds the capacity of an instance.
--   lmetric against load_only   the gain of cache awareness
--
--   lmetric against sticky      the cost of hard affinity: the best hits, the worst hot spot
--
--   lmetric against unified     the gain of affinity while it pays
--
--   lmetric against capped      the part of the tail of TTFT that is due to the longest sessions
local blis = require "blis"

local function sessions(count, per_second)
  local rng, rows, start_us = blis.rng(7, "sessions"), {}, 0
  local function turns_of_session()
    local u = rng:number()
    if u < 0.03 then return math.floor(40 + 360 * rng:number() ^ 3) end
    return u < 0.1 and rng:integer(2, 18) or 1
  end
  for s = 1, count do
    start_us = start_us + rng:exponential(1e6 / per_second)
    local turns, at_us, context = turns_of_session(), start_us, 0
    for turn = 0, turns - 1 do
      local new = turn == 0 and 1000 + rng:exponential(4000) or 100 + rng:exponential(300)
      context = math.min(context + math.floor(new), 30000)
      rows[#rows + 1] = { arrival_us = math.floor(at_us), session = "s" .. s, round_index = turn,
        output_tokens = math.floor(20 + rng:exponential(80)),
        content = { { "session " .. s, context } } }
      at_us = at_us + 300000 + rng:exponential(turns > 18 and 1.2e6 or 6e6)
    end
  end
  for turn = 0, 499 do -- the agent: every turn reads another file
    rows[#rows + 1] = { arrival_us = 20000000 + 70000 * turn, session = "agent",
      round_index = turn, output_tokens = 40, content = { { "agent", 4000 }, 2000 } }
  end
  table.sort(rows, function(a, b)
    if a.arrival_us ~= b.arrival_us then return a.arrival_us < b.arrival_us end
    return a.session < b.session
  end)
  local i = 0
  return blis.workload(function()
    i = i + 1
    return rows[i]
  end)
end

local workload = sessions(500, 4)
local turns = workload:statistics().turns
print(("turns of a session: p90 %d, p99 %d, max %d"):format(turns.p90, turns.p99, turns.max))

local line = "%-20s %7s %9s %9s %9s %9s %9s"
print(line:format("policy", "hits", "TTFT p50", "p90", "p99", "p99/p50", "max/mean"))
local function run(name, routing, requests)
  local r = blis.run {
    -- The load was chosen for step times by these defaults.
    cluster = { defaults = "1.0-rc1", model = "qwen/qwen3-14b", hardware = "H100", instances = 4,
      kv_blocks = 12000 },
    workload = requests or workload, routing = routing,
  }
  local most = 0
  for _, instance in ipairs(r.instances) do most = math.max(most, instance.requests) end
  local made = { hits = r.cache_hit_rate_overall, ttft = r.ttft_ms,
    tail = r.ttft_ms.p99 / r.ttft_ms.p50, hot = most * #r.instances / r.arrived }
  print(line:format(name, ("%.1f %%"):format(100 * made.hits), ("%.0f"):format(made.ttft.p50),
    ("%.0f"):format(made.ttft.p90), ("%.0f"):format(made.ttft.p99), ("%.1f"):format(made.tail),
    ("%.2f"):format(made.hot)))
  return made
end

local lmetric = run("lmetric", "lmetric")
local load_only = run("load_only", "load_only")
local sticky = run("sticky", "sticky")
local unified = run("unified", "unified")
local printed = run("unified-as-printed", "unified-as-printed")
local capped = run("capped", "lmetric", workload:cap(8))

-- What the document says of each.
assert(lmetric.hits > load_only.hits and lmetric.ttft.p50 < load_only.ttft.p50)
assert(sticky.hits > lmetric.hits and sticky.hits > load_only.hits)
for _, other in ipairs { lmetric, load_only, unified, printed } do
  assert(sticky.hot > other.hot and sticky.ttft.p99 > 1.5 * other.ttft.p99)
end
assert(unified.hits > lmetric.hits) -- and no hot spot, as the gate opens where an instance is full
assert(math.abs(printed.hits - lmetric.hits) < 0.01) -- it never binds: lmetric with other ties
assert(capped.tail < lmetric.tail and capped.ttft.p99 < lmetric.ttft.p99)
