local blis = require "blis"

local function simulation(routing)
  return blis.simulation {
    cluster = { instances = 4 }, routing = routing,
    workload = { rate = 40, requests = 200, prompt_tokens = 64, output_tokens = 32,
      prefixes = { groups = 2, tokens = 256 } },
  }
end

local live = { "cognitora.score", heartbeat_us = 0 }

describe("parameters of a routing policy", function()
  it("change during a run", function()
    local plain = simulation(live):run()
    local sim = simulation(live)
    sim:at(blis.seconds(1), function(s)
      assert.equal(s, s:change_routing { kv = 0, load = 1, power = 0, capacity = 0 })
    end)
    assert.not_equal(plain.hash, sim:run().hash)
    local same = simulation(live)
    same:at(blis.seconds(1), function() same:change_routing { kv = 0.55 } end)
    assert.equal(plain.hash, same:run().hash)
  end)

  it("change in clones, too", function()
    local sim = simulation(live)
    sim:run_until(blis.seconds(1))
    local given = { kv = 0, load = 1, power = 0, capacity = 0 }
    sim:change_routing(given)
    given.load = 0
    local clone = sim:clone()
    assert.equal(sim:run().hash, clone:run().hash)
  end)

  it("that are fixed, unknown or out of range are errors", function()
    local sim = simulation(live)
    assert.error_matches(function() sim:change_routing { epsilon = 0.5 } end, "epsilon")
    assert.error_matches(function() sim:change_routing { kw = 0.5 } end, "kv")
    assert.error_matches(function() sim:change_routing { kv = 2 } end, "2")
    assert.error_matches(function() sim:change_routing { kv = {} } end, "number")
    assert.error_matches(function() sim:change_routing { 1 } end, "parameter = value")
    assert.error_matches(function() simulation("round-robin"):change_routing { kv = 1 } end,
      "round%-robin")
  end)

  it("do not change when the run is over", function()
    local sim = simulation(live)
    sim:run()
    assert.error_matches(function() sim:change_routing { kv = 0 } end, "over")
  end)
end)
