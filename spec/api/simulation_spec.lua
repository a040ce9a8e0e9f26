local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("a simulation", function()
  it("gives the same result however it is driven", function()
    local expected = blis.run(small.experiment()).hash
    local stepped = blis.simulation(small.experiment())
    local steps = 0
    while stepped:step() do steps = steps + 1 end
    assert.is_true(steps > 60)
    assert.equal(expected, stepped:run().hash)
    local jumped = blis.simulation(small.experiment())
    for t = 1, 30 do
      assert.equal(jumped, jumped:run_until(blis.milliseconds(100 * t)))
      assert.equal(100000 * t, math.max(jumped.now_us, 100000 * t))
    end
    assert.equal(expected, jumped:run().hash)
  end)

  it("is made of an experiment, and a function that hears of its end", function()
    says(small.message_of(blis.simulation), "the experiment: invalid value nil: expected a table")
    says(small.message_of(blis.run), "the experiment: invalid value nil: expected a table")
    says(small.message_of(blis.run, "x"), "the experiment: invalid value 'x'")
    says(small.message_of(blis.simulation, small.experiment(), "x"),
      "blis.simulation: its second argument: invalid value 'x': expected a function(result)")
  end)

  it("can be looked into at any time", function()
    local sim = blis.simulation(small.experiment())
    assert.equal(0, sim.now_us)
    assert.equal(0, sim.injected)
    sim:run_until(blis.seconds(1))
    assert.is_true(sim.injected > 0 and sim.in_flight > 0)
    assert.equal(sim.injected, sim.completed + sim.in_flight)
    local batch = 0
    for i, instance in ipairs(sim.instances) do
      assert.equal("instance_" .. i - 1, instance.id)
      assert.equal(i, instance.index)
      assert.equal(instance.id, tostring(instance))
      batch = batch + instance.batch_size + instance.queue_depth + instance.pending
      assert.is_true(instance.kv_utilization >= 0 and instance.kv_utilization <= 1)
      assert.equal("integer", math.type(instance.free_kv_blocks))
      assert.is_true(instance.steps > 0)
    end
    assert.equal(sim.in_flight, batch)
    assert.equal(sim.instances, sim.instances)
  end)

  it("has no field it does not have", function()
    local sim = blis.simulation(small.experiment())
    says(small.message_of(function() return sim.now end), "no field 'now'")
    says(small.message_of(function() return sim.instances[1].load end), "no field 'load'")
    local message = small.message_of(function() return sim.instances[1].cached_tokens end)
    says(message, "belongs to a request")
  end)

  it("prints without addresses", function()
    local sim = blis.simulation(small.experiment())
    assert.equal("simulation (3 instances, at 0 us, 0 of 0 requests done)", tostring(sim))
    local one = blis.simulation(small.experiment { cluster = { instances = 1 } })
    assert.equal("simulation (1 instance, at 0 us, 0 of 0 requests done)", tostring(one))
    sim:close()
    assert.equal("simulation (closed)", tostring(sim))
  end)

  it("can be closed, also twice, and is then of no more use", function()
    local sim = blis.simulation(small.experiment())
    local instance = sim.instances[1]
    sim:close()
    sim:close()
    for _, fn in ipairs { function() sim:run() end, function() sim:step() end,
      function() return sim.now_us end,
      function() return instance.queue_depth end, function() sim:at(1, print) end } do
      says(small.message_of(fn), "is closed")
    end
  end)

  it("returns one result, however often it is run", function()
    local sim = blis.simulation(small.experiment())
    local result = sim:run()
    assert.equal(result, sim:run())
    assert.is_false(sim:step())
    assert.equal(sim, sim:run_until(blis.seconds(100)))
    says(small.message_of(sim.at, sim, blis.seconds(200), print), "is over")
  end)

  it("leaves a result that outlives it", function()
    local result
    do
      local sim <close> = blis.simulation(small.experiment())
      result = sim:run()
    end
    collectgarbage()
    assert.equal(60, #result.requests)
    assert.equal("prefix_", result.requests[1].id and "prefix_")
  end)
end)

describe("sim:at", function()
  it("calls once, in order, at the time", function()
    local sim = blis.simulation(small.experiment())
    local calls = {}
    local function note(name)
      return function(s)
        assert(s == sim)
        calls[#calls + 1] = name .. "@" .. s.now_us
      end
    end
    sim:at(2000, note "c"):at(1000, note "a"):at(1000, note "b")
    sim:run()
    assert.same({ "a@1000", "b@1000", "c@2000" }, calls)
  end)

  it("may be called inside its own callbacks and other hooks", function()
    local ticks = 0
    local sim
    local function tick(s)
      ticks = ticks + 1
      if ticks < 10 then s:at(s.now_us + 1000, tick) end
    end
    sim = blis.simulation(small.experiment { routing = function(request)
      if request.id == "request_3" then sim:at(request.now_us + 5, tick) end
      return 1
    end })
    sim:run()
    assert.equal(10, ticks)
  end)

  it("does not change what happens", function()
    local sim = blis.simulation(small.experiment())
    for t = 1, 20 do
      sim:at(blis.milliseconds(77 * t), function(s)
        for _, instance in ipairs(s.instances) do assert(instance.queue_depth >= 0) end
      end)
    end
    assert.equal(blis.run(small.experiment()).hash, sim:run().hash)
  end)

  it("refuses the past and what is no function", function()
    local sim = blis.simulation(small.experiment())
    sim:run_until(blis.seconds(1))
    says(small.message_of(sim.at, sim, 10, print), "is in the past")
    says(small.message_of(sim.at, sim, 1.5, print), "integer")
    says(small.message_of(sim.at, sim, 2000000, 5), "function")
  end)

  it("is not re-entrant, but another simulation may run inside", function()
    local sim = blis.simulation(small.experiment())
    local inner
    local scorer = blis.scorer {
      name = "x", columns = true, score = function(_, c) return 1 / (1 + c.in_flight) end,
    }
    sim:at(1000, function(s)
      inner = small.run_scorer(scorer)
      s:step()
    end)
    local problem = small.error_of(sim.run, sim)
    assert.equal(60, inner.completed)
    assert.equal("callback of sim:at", problem.policy)
    says(problem.message, "not re-entrant")
    local other = blis.simulation(small.experiment())
    other:at(1000, function(s) s:close() end)
    says(small.message_of(other.run, other), "inside one of its hooks")
    other:close()
  end)

  it("works in a coroutine", function()
    local sim = blis.simulation(small.experiment { routing = function() return 1 end })
    local step = coroutine.wrap(function()
      while sim:step() do coroutine.yield(true) end
      return false
    end)
    while step() do end
    assert.equal(60, sim:run().completed)
  end)
end)

describe("simulations", function()
  it("are collected even when their hooks refer to them", function()
    local watched = setmetatable({}, { __mode = "k" })
    for _ = 1, 20 do
      local sim
      sim = blis.simulation(small.experiment { routing = function() return sim and 1 or 2 end })
      sim:at(10, function() return sim end)
      sim:run_until(blis.milliseconds(200))
      watched[sim] = true
    end
    collectgarbage()
    collectgarbage()
    local left = 0
    for _ in pairs(watched) do left = left + 1 end
    assert.is_true(left <= 1, left)
  end)

  it("leave nothing in the registry", function()
    local function size()
      collectgarbage()
      collectgarbage()
      local n = 0
      for _ in pairs(debug.getregistry()) do n = n + 1 end
      return n
    end
    blis.run(small.experiment())
    local before = size()
    for _ = 1, 5 do
      blis.run(small.experiment { routing = function() return 1 end })
      pcall(blis.run, small.experiment { routing = function() error "x" end })
      pcall(blis.run, small.experiment { cluster = { model = "none" } })
    end
    assert.equal(before, size())
  end)
end)
