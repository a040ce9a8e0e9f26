--- What the reference says about the age of signals, against what a policy sees.
local blis = require "blis"
local core = require "blis.core"

--- The signals of an instance that differ between decisions of a run.
local function varying(cluster)
  local first, varies = {}, {}
  local function look(instance)
    for _, signal in ipairs(core.signals()) do
      local ok, value = pcall(function() return instance[signal.name] end)
      if ok and value ~= nil then
        if first[signal.name] == nil then first[signal.name] = value end
        varies[signal.name] = varies[signal.name] or first[signal.name] ~= value
      end
    end
  end
  cluster.instances, cluster.kv_blocks = 2, 2000
  blis.run { cluster = cluster, workload = { rate = 30, requests = 200, prompt_tokens = 100,
    output = { "exponential", mean = 30 }, prefixes = { groups = 3, tokens = 512 } },
    routing = { name = "looks", new = function()
      local n = 0
      return { route = function(_, instances)
        n = n + 1
        if n > 1 then look(instances[1]) end
        return n % 2 + 1
      end }
    end } }
  return varies
end

describe("the freshness of a signal", function()
  local hours = 3600000000
  local live, frozen = varying {}, varying { snapshot_refresh_us = hours,
    cache_signal_delay_us = hours }
  local refreshed, cached = varying { snapshot_refresh_us = hours },
    varying { cache_signal_delay_us = hours }

  -- A sum of a signal that ages and one that is current.
  local mixed = { effective_load = true, estimated_ttft_us = true }

  it("is what a policy sees", function()
    local counts = {}
    for _, signal in ipairs(core.signals()) do
      local name, text = signal.name, signal.freshness
      counts[text] = (counts[text] or 0) + 1
      if text == "constant" then
        assert.is_falsy(live[name], name)
      elseif live[name] and not mixed[name] then
        assert.equal(text == "always current", frozen[name], name)
        if text == "ages by snapshot_refresh_us" then
          assert.is_true(cached[name], name)
          assert.is_false(refreshed[name], name)
        elseif text == "ages by cache_signal_delay_us" then
          assert.is_false(cached[name], name)
        end
      end
    end
    assert.is_true(counts["always current"] >= 6)
    assert.is_true(counts["ages by snapshot_refresh_us"] >= 10)
    assert.is_true(counts["ages by cache_signal_delay_us"] >= 2)
  end)
end)
