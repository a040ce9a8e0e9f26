-- Requests wait at the gateway for something that is planned for much later: the run goes on until
-- then. What never ends is told, as everywhere.
local blis = require "blis"

local cluster = { model = "qwen3-14b", hardware = "H100", instances = 1 }

local function three_requests()
  local n = 0
  return function()
    n = n + 1
    if n <= 3 then return { arrival_us = n + 1, prompt_tokens = 10, output_tokens = 2 } end
  end
end

local function hang(recover_after)
  return { { at = "20us", instance = 1, kind = "hang", recover_after = recover_after } }
end

-- More than a million tries in ten seconds.
local function gate(saturation)
  return { dispatch = "tick", cycle_us = 10, ttl_us = 0, saturation = saturation }
end
local one_at_a_time = { "concurrency", max_concurrency = 1 }

local function run(experiment)
  experiment.cluster, experiment.workload = cluster, three_requests()
  return blis.run(experiment)
end

local function problem(fn)
  local ok, message = pcall(fn)
  assert.is_false(ok)
  return tostring(message)
end

describe("a full gate", function()
  it("is waited at until a hang ends", function()
    local result = run { faults = hang(11000000), queue = gate(one_at_a_time) }
    assert.equal(0, result.still_arriving + result.rejected)
    assert.is_true(result.duration_us > 11000000)
  end)

  it("is waited at until signals are looked at again", function()
    local faults = { { at = "1us", instance = 1, kind = "stale", every = 11000000,
      recover_after = 30000000 } }
    local result = run { faults = faults, queue = gate "utilization" }
    assert.equal(3, result.completed)
  end)

  it("is waited at until a script opens it #lengthy", function()
    local is_open = false
    local queue = gate(function() return is_open and 0 or 1 end)
    local sim = blis.simulation { cluster = cluster, queue = queue, workload = three_requests() }
    sim:at(11000000, function() is_open = true end)
    assert.equal(3, sim:run().completed)
  end)

  it("is waited at until an autoscaler has looked, and looked again #lengthy", function()
    local autoscaler = { name = "late", interval_us = 11000000, decide = function(state)
      return state.now_us >= 22000000 and 2 or state.replicas
    end }
    local result = run { autoscaler = autoscaler, scaling = { max_replicas = 2 },
      queue = gate(function(instances) return #instances > 1 and 0 or 1 end) }
    assert.equal(3, result.completed)
  end)

  it("is waited at up to the horizon", function()
    local result = run { horizon_us = 12000000, faults = hang(nil), queue = gate(one_at_a_time) }
    assert.equal(0, result.completed)
  end)

  it("that nothing opens is an error", function()
    assert.matches("no request has made progress", problem(function()
      run { faults = hang(nil), queue = gate(one_at_a_time) }
    end))
  end)

  it("is an error while a function calls itself again without end #lengthy", function()
    local sim = blis.simulation { cluster = cluster, queue = gate(function() return 1 end),
      workload = three_requests() }
    local function again() sim:at(sim.now_us + 100, again) end
    sim:at(100, again)
    assert.matches("no request has made progress", problem(function() sim:run() end))
  end)

  it("is an error where an autoscaler looks and never acts", function()
    local autoscaler = { name = "idle", interval_us = 1000000,
      decide = function(state) return state.replicas end }
    assert.matches("no request has made progress", problem(function()
      run { autoscaler = autoscaler, scaling = { max_replicas = 2 }, faults = hang(nil),
        queue = gate(one_at_a_time) }
    end))
  end)
end)
