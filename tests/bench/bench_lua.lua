--- What it costs to write policies in Lua: whole runs with the same formula as built-in scorers and
--- in the forms that scripts have, side by side, as ratios of CPU time.
---
---   build/blis tests/bench/bench_lua.lua [REPETITIONS]
local blis = require "blis"

local repetitions = tonumber(arg and arg[1]) or 5

-- Three built-in scorers, and the same formula to the last bit, so that all runs are the same.
local third = 1 / 3
local forms = {
  {
    name = "built in",
    scorers = { { "load-balance", 1 }, { "kv-utilization", 1 }, { "oracle-prefix", 1 } },
  },
  {
    name = "columns", columns = true,
    score = function(_, c)
      return 1 / (1 + c.effective_load) * third + (1 - c.kv_utilization) * third
        + c.live_prefix_hit * third
    end,
  },
  {
    name = "per candidate",
    score = function(_, i)
      return 1 / (1 + i.effective_load) * third + (1 - i.kv_utilization) * third
        + i.live_prefix_hit * third
    end,
  },
  {
    name = "score_all",
    score_all = function(_, list, scores)
      for k = 1, #list do
        local i = list[k]
        scores[k] = 1 / (1 + i.effective_load) * third + (1 - i.kv_utilization) * third
          + i.live_prefix_hit * third
      end
    end,
  },
}

local function spec_of(form, instances, requests)
  local scorers = form.scorers
  if not scorers then
    scorers = { { blis.scorer { name = "bench", columns = form.columns, score = form.score,
      score_all = form.score_all }, 1 } }
  end
  return {
    cluster = { instances = instances, kv_blocks = 16000 },
    workload = { rate = 10 * instances, requests = requests, tokens = "lazy",
      prefixes = { groups = 100, tokens = 256, zipf = 0.8 } },
    routing = { "weighted", scorers = scorers },
    keep_records = false,
  }
end

--- CPU seconds of a run, and what it came to.
local function time(form, instances, requests)
  local sim <close> = blis.simulation(spec_of(form, instances, requests))
  collectgarbage()
  local before = os.clock()
  local hash = sim:run().hash
  return os.clock() - before, hash
end

--- The same arithmetic on tables that never change, in nothing but Lua: what no form can go below
--- with one call per candidate.
local function pure_lua_us(instances)
  local score, list, scores, count = forms[3].score, {}, {}, 2000000 // instances
  for i = 1, instances do
    list[i] = { effective_load = i % 3, kv_utilization = i / 999, live_prefix_hit = i % 2 / 2 }
  end
  local before = os.clock()
  for _ = 1, count do
    for i = 1, instances do scores[i] = score(nil, list[i]) end
  end
  assert(#scores == instances)
  return (os.clock() - before) / count * 1e6
end

local function measure(instances, requests)
  local best, hashes = {}, {}
  for _ = 1, repetitions do
    for k, form in ipairs(forms) do
      local seconds, hash = time(form, instances, requests)
      best[k], hashes[k] = math.min(best[k] or math.huge, seconds), hash
    end
  end
  print(("%d instances, %d requests"):format(instances, requests))
  print(("  %-14s %46.3f us a decision"):format("only the Lua", pure_lua_us(instances)))
  for k, form in ipairs(forms) do
    assert(hashes[k] == hashes[1], form.name)
    local extra_us = (best[k] - best[1]) / requests * 1e6
    print(("  %-14s %6.3f us a request   %5.2fx   %+6.3f us a decision"):format(form.name,
      best[k] / requests * 1e6, best[k] / best[1], extra_us))
  end
end

measure(16, 20000)
measure(256, 5000)
