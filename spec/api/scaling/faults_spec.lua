local blis = require "blis"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

local function simulation(changes)
  local spec = small.experiment { routing = "least-loaded",
    workload = { rate = 40, requests = 200, prompt_tokens = 200, output_tokens = 50 } }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return blis.simulation(spec)
end

describe("an instance that fails", function()
  it("loses its requests, or has them routed once more", function()
    local function run(reroute)
      local sim = simulation()
      sim:at(2000000, function(s)
        local first = s.instances[1]
        assert.is_true(first.in_flight > 0)
        assert.equal(first, first:fail { reroute = reroute })
        assert.equal("failed", first.state)
        assert.equal(0, first.in_flight)
      end)
      local result = sim:run()
      return result, sim
    end
    local lost, lossy = run(false)
    assert.is_true(lost.failed > 0)
    assert.equal(lossy.failed, lost.failed)
    assert.equal(0, lossy.rerouted)
    says(tostring(lost), ("200 arrived = %d completed + %d failed"):format(200 - lost.failed,
      lost.failed))
    local failed = 0
    for i = 1, #lost.requests do
      local request = lost.requests[i]
      if request.state == "failed" then
        failed = failed + 1
        assert.equal("instance-failed", request.reason)
        assert.equal("instance_0", request.instance)
      end
    end
    assert.equal(lost.failed, failed)
    local saved, sim = run(true)
    assert.equal(200, saved.completed)
    assert.equal(lost.failed, sim.rerouted)
    assert.is_true(saved.ttft_ms.max > lost.ttft_ms.max)
  end)

  it("comes back with an empty cache", function()
    local sim = simulation { cluster = { instances = 1 },
      workload = { rate = 20, requests = 40, prompt_tokens = 100, output_tokens = 4,
        prefixes = { groups = 1, tokens = 512 } } }
    sim:run_until(1000000)
    local instance = sim.instances[1]
    local hits = instance.cache_hits
    assert.is_true(hits > 0)
    instance:fail():restart()
    assert.equal("active", instance.state)
    assert.equal(0, instance.used_kv_blocks)
    assert.equal(sim.instances[1].kv_blocks, instance.free_kv_blocks)
    assert.equal(40, sim:run().arrived)
  end)

  it("leaves nobody: requests are rejected", function()
    local sim = simulation { cluster = { instances = 1 } }
    sim:at(1000000, function(s) s.instances[1]:fail() end)
    local result = sim:run()
    assert.is_true(result.rejected > 0)
    assert.equal("no-instance", result.requests[200].reason)
    assert.equal(503, result.requests[200].status_code)
  end)
end)

describe("an instance that drains", function()
  it("gets nothing new and goes when it is empty", function()
    local sim = simulation()
    sim:run_until(2000000)
    local first = sim.instances[1]
    first:drain()
    assert.equal("draining", first.state)
    local there = first.completed + first.in_flight
    sim:run_until(4500000)
    assert.equal("drained", first.state)
    assert.equal(there, first.completed)
    first:restart()
    assert.equal(200, sim:run().completed)
  end)
end)

describe("an instance that slows down", function()
  it("takes a multiple of its step times", function()
    local function e2e(factor)
      local sim = simulation { cluster = { instances = 1 },
        workload = { rate = 1, requests = 1, prompt_tokens = 100, output_tokens = 10 } }
      sim.instances[1]:slow(factor)
      local result = sim:run()
      return result.itl_ms.mean, result.hash
    end
    local usual, hash = e2e(1)
    local slow = e2e(3)
    assert.near(3, slow / usual, 0.02)
    assert.equal(hash, select(2, e2e(1.0)))
  end)
end)

describe("a fault", function()
  it("is refused where it cannot happen, and the simulation goes on", function()
    local sim = simulation()
    local instance = sim.instances[2]
    says(small.message_of(instance.slow, instance, 0), "the factor of step times is 0, expected "
      .. "0.001 to 1000000")
    says(small.message_of(instance.slow, instance, 0 / 0), "expected 0.001")
    says(small.message_of(instance.slow, instance), "number expected")
    says(small.message_of(instance.fail, instance, { rerout = true }), "reroute is the only option")
    says(small.message_of(instance.drain, instance, { reroute = 1 }), "reroute is true or false")
    says(small.message_of(instance.fail, instance, true), "table expected")
    says(small.message_of(function() return instance.fial end), "has no field 'fial'")
    local result = sim:run()
    assert.equal(200, result.completed)
    says(small.message_of(instance.fail, instance), "the simulation is over")
    sim:close()
    says(small.message_of(instance.fail, instance), "the simulation is closed")
  end)

  it("is not for policies, which can schedule it", function()
    local sim
    sim = simulation { routing = function()
      sim.instances[1]:fail()
      return 1
    end }
    says(small.message_of(sim.run, sim), "during a decision")
    local has_failed = false
    sim = simulation { routing = function(request)
      if request.id == "request_20" then
        sim:at(request.now_us, function(s)
          has_failed = true
          s.instances[3]:fail { reroute = true }
        end)
      end
      return request.prompt_tokens % 2 + 1
    end }
    assert.equal(200, sim:run().completed)
    assert.is_true(has_failed)
  end)

  it("happens to clones as well", function()
    local sim = simulation()
    sim:at(900000, function(s) s.instances[1]:fail() end)
    sim:run_until(1000000)
    sim.instances[2]:slow(2)
    pcall(sim.instances[2].slow, sim.instances[2], 0)
    sim.instances[3]:drain { reroute = true }
    sim:run_until(2000000)
    sim.instances[1]:restart()
    local clone = sim:clone()
    assert.equal("active", clone.instances[1].state)
    assert.equal("drained", clone.instances[3].state)
    assert.equal(sim:run().hash, clone:run().hash)
  end)

  it("gives the same run again", function()
    local function hash()
      local sim = simulation()
      for i = 1, 3 do
        sim:at(i * 700000, function(s) s.instances[i]:fail { reroute = i > 1 } end)
        sim:at(i * 900000, function(s) s.instances[i]:restart():slow(i) end)
      end
      return sim:run().hash
    end
    assert.equal(hash(), hash())
  end)
end)

describe("the end of a script #host", function()
  it("finds nothing that is gone already", function()
    program.with_file([[
      local blis = require "blis"
      local result
      guard = setmetatable({}, { __gc = function()
        io.write(tostring(pcall(tostring, result.requests)),
          tostring(pcall(function() return #result.requests end)))
      end })
      result = blis.run { workload = { requests = 2, rate = 1, output_tokens = 2 } }
    ]], function(path)
      local outcome = program.run(path)
      assert.equal("falsefalse", outcome.out)
      assert.equal(0, outcome.status)
    end)
  end)
end)
