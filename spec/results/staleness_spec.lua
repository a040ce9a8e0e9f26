--- Which signals of a routing policy age, and the note of a comparison whose policies differ.
local blis = require "blis"
local notices = require "blis.notices"
local policy = require "blis.policy"
local staleness = require "blis.policy.staleness"

local function ages(routing)
  local names = {}
  for _, name in ipairs(staleness.options) do
    if staleness.of(policy.read_router(routing, "routing"))[name] then names[#names + 1] = name end
  end
  return table.concat(names, " ")
end

local function note_of(spec)
  local lines = {}
  local before = notices.collect(function(line) lines[#lines + 1] = line end)
  spec.workload = { rate = 20, requests = 20, prompt_tokens = 64, output_tokens = 2 }
  local ok, problem = pcall(blis.compare, spec)
  notices.collect(before)
  assert(ok, problem)
  for _, line in ipairs(lines) do
    if line:find("the age of their signals", 1, true) then return line end
  end
end

describe("the age of a policy's signals", function()
  local both = "snapshot_refresh_us cache_signal_delay_us"

  it("follows from the signals that the policy and its stages read", function()
    assert.equal("", ages "lmetric")
    assert.equal("", ages "round-robin")
    assert.equal("snapshot_refresh_us", ages "least-loaded")
    assert.equal("snapshot_refresh_us", ages "weighted")
    assert.equal(both, ages "blitz.lmetric")
    assert.equal("", ages { "weighted", scorers = { { "prefix-affinity", 1 } } })
    assert.equal("cache_signal_delay_us",
      ages { "weighted", scorers = { { "precise-prefix-cache", 1 } } })
    local scorer = blis.scorer { name = "mine", score = function() return 1 end }
    assert.equal(both, ages { "weighted", scorers = { { scorer, 1 } } })
    assert.equal(both, ages(function() return 1 end))
  end)

  it("is in the description of a policy", function()
    local catalogue = require "blis.policy.catalogue"
    local function text(kind, name)
      for _, entry in ipairs(catalogue[kind]) do
        if entry.name == name then return staleness.text(kind, entry) end
      end
    end
    assert.equal("reads no delayed signal", text("routers", "lmetric"))
    assert.equal("can read signals delayed by snapshot_refresh_us", text("routers", "weighted"))
    assert.is_nil(text("autoscalers", "hpa"))
  end)

  it("is noted where compared policies differ in it", function()
    local routing = { "lmetric", "least-loaded" }
    assert.equal("compare: the policies differ in the age of their signals. lmetric: current "
      .. "signals only; least-loaded: signals delayed by snapshot_refresh_us (5s)",
      note_of { cluster = { instances = 2, snapshot_refresh_us = "5s" }, routing = routing })
    assert.is_nil(note_of { cluster = { instances = 2 }, routing = routing })
    assert.is_nil(note_of { cluster = { instances = 2, cache_signal_delay_us = 5000 },
      routing = routing })
    assert.is_nil(note_of { cluster = { instances = 2, snapshot_refresh_us = 5000 },
      routing = { "least-loaded", "weighted" } })
    assert.matches("snapshot_refresh_us=7: signals delayed by snapshot_refresh_us %(7%)",
      note_of { cluster = { instances = 2 }, routing = "least-loaded",
        variants = { { cluster = { snapshot_refresh_us = 0 } },
          { cluster = { snapshot_refresh_us = 7 } } } })
  end)
end)
