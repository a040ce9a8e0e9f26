--- Instances that an autoscaler starts and stops.
local blis = require "blis"
local scaled = require "spec.support.scaled"

local experiment, run, plan, seconds = scaled.experiment, scaled.run, scaled.plan, blis.seconds

describe("an autoscaler", function()
  it("goes down to nothing, and requests wait for an instance", function()
    local r = run {
      autoscaler = plan(0, 0, 1), scaling = { min_replicas = 0, loading_delay_us = seconds(3) },
    }
    assert.equal(400, r.completed)
    assert.is_true(r.scaling.waited > 50)
    assert.near(13e3, r.scaling.waited_max_ms, 200)
    assert.equal(2, #r.instances)
  end)

  it("has instances that keep their ids and their states", function()
    local sim = blis.simulation(experiment {
      autoscaler = plan(2, 1, 2), scaling = { warmup_duration_us = seconds(1) } })
    assert.equal(1, #sim.instances)
    sim:run_until(seconds(5))
    assert.equal("warming", sim.instances[2].state)
    sim:run_until(seconds(6))
    assert.equal("active", sim.instances[2].state)
    sim:run_until(seconds(15))
    assert.equal("warming", sim.instances[3].state)
    assert.equal(3, #sim)
    sim:run()
    assert.equal("drained", sim.instances[2].state)
  end)

  it("does not get back an instance that it has stopped", function()
    local sim = blis.simulation(experiment { autoscaler = plan(2, 1) })
    sim:run_until(seconds(1))
    repeat
      sim:run_until(sim.now_us + seconds(1))
    until #sim.instances == 2 and sim.instances[2].state == "drained"
    local ok, message = pcall(function() return sim.instances[2]:restart() end)
    assert.is_false(ok)
    assert.matches("instance_001 cannot recover: it is drained", tostring(message), 1, true)
    assert.equal("drained", sim.instances[2].state)
  end)

  it("shows policies the instances that take requests, and no others", function()
    local most = 0
    run { autoscaler = plan(3), scaling = { loading_delay_us = seconds(4) },
      routing = function(_, instances)
        most = math.max(most, #instances)
        return #instances
      end }
    assert.equal(3, most)
  end)

  it("places instances on machines, where some wait for room", function()
    local function on(pool)
      pool.name, pool.gpu, pool.gpus_per_node = "main", "H100", 2
      return run { autoscaler = plan(4), scaling = { loading_delay_us = seconds(1),
        node_pools = { pool } } }
    end
    local r = on { nodes = 1 }
    local states = r.scaling.state_seconds
    assert.equal(1.0, states.loading)
    assert.is_true(states.pending > 20 and states.requested == 0)
    assert.equal(2, r.scaling.levels[#r.scaling.levels].ready)
    assert.equal(2, r.scaling.most_paid) -- one that is pending has nothing to pay for
    assert.near(r.scaling.replica_seconds, states.active + states.loading, 1e-6)
    assert.same({ { name = "main", gpu = "H100", nodes = 1, most_nodes = 1, gpus = 2, used = 2 } },
      r.scaling.node_pools)
    r = on { nodes = 1, max_nodes = 2, provisioning_delay_us = seconds(3) }
    assert.equal(6.0, r.scaling.state_seconds.provisioning)
    assert.equal(4, r.scaling.levels[#r.scaling.levels].ready)
    assert.equal(2, r.scaling.node_pools[1].most_nodes)
    assert.near(r.cost.gpu_hours * r.setup.gpu_price_per_hour, r.cost.usd, 1e-9)
    r = on { nodes = 2, cost_per_hour = 36 }
    assert.near(r.scaling.replica_seconds / 100, r.cost.usd, 1e-9)
  end)

  it("may serve slowly while it warms up", function()
    local function with(more)
      more.warmup_duration_us, more.max_replicas = seconds(10), 2
      return run { autoscaler = plan(2), scaling = more }
    end
    local waits, slow, fast = with {}, with { warmup_factor = 3 }, with { warmup_factor = 1 }
    assert.equal(10.0, waits.scaling.state_seconds.warming)
    assert.equal(0.0, slow.scaling.state_seconds.warming)
    assert.is_true(fast.e2e_ms.mean < slow.e2e_ms.mean)
    assert.is_true(slow.e2e_ms.mean < waits.e2e_ms.mean)
    local plain = run { autoscaler = plan(2), scaling = { max_replicas = 2 } }
    assert.equal(plain.hash, fast.hash)
  end)

  it("starts once more what has failed to start, and then another one", function()
    local function with(more)
      more.loading_delay_us, more.provisioning_delay_us = seconds(1), seconds(0.5)
      return run { autoscaler = plan(2), scaling = more }
    end
    local usual, never = with {}, with { start_failure = 0, start_retries = 9 }
    assert.equal(usual.hash, never.hash)
    assert.equal(0, usual.scaling.failed_starts)
    local always = with { start_failure = 1, start_retries = 2, max_starts = 1000 }
    local s = always.scaling
    assert.is_true(s.started > 3 and s.failed_starts >= 3 * (s.started - 1))
    assert.equal(0, s.scale_ups - 1)
    assert.equal(1, s.levels[#s.levels].ready)
    assert.near(2.0, s.state_seconds.loading / s.state_seconds.provisioning, 0.1)
    assert.matches("starts failed", tostring(always), 1, true)
    local at_times = with { start_failure = 0.5, start_retries = 1000 }
    assert.equal(1, at_times.scaling.started)
    assert.equal(1.0 * (at_times.scaling.failed_starts + 1),
      at_times.scaling.state_seconds.loading)
  end)

  it("draws how long a start takes", function()
    local function loading(delay)
      local r = run { workload = { rate = 40, requests = 800, prompt_tokens = 10,
        output_tokens = 10 }, autoscaler = plan(40),
        scaling = { max_replicas = 40, loading_delay_us = delay } }
      return r.scaling.state_seconds.loading / 39
    end
    for _, shape in ipairs { "normal", "lognormal", "uniform", "exponential" } do
      local mean = loading { mean_us = 2000000, distribution = shape,
        stddev_us = shape ~= "exponential" and 500000 or nil }
      local off = shape == "exponential" and 1 or 0.3
      assert.is_true(mean ~= 2.0 and math.abs(mean - 2) < off, shape .. " " .. mean)
    end
  end)

  it("lets budgets of tenants follow the instances in service", function()
    local function shed(most)
      local r = run {
        cluster = { model = "qwen3-14b", tp = 1, instances = 1, max_num_seqs = 16,
          tenant_budgets = { a = 0.5 } },
        workload = { rate = 12, requests = 400, prompt_tokens = 400, output_tokens = 200,
          tenant = "a", slo_class = "batch" },
        autoscaler = plan(most), scaling = { max_replicas = 4 },
      }
      return r.rejected
    end
    assert.is_true(shed(1) > shed(4) and shed(4) > 0)
  end)

  it("may let the instances at first load", function()
    local r = run { autoscaler = plan(1), scaling = { warm_start = false,
      loading_delay_us = seconds(4) } }
    assert.equal(4.0, r.scaling.state_seconds.loading)
    assert.is_true(r.scaling.waited > 30)
    assert.equal(400, r.completed)
  end)

  it("loads and warms those at first as it does others, which may fail at it", function()
    local function first(more)
      local options = { warm_start = false, loading_delay_us = seconds(4),
        warmup_duration_us = seconds(2), provisioning_delay_us = seconds(3) }
      for key, value in pairs(more) do options[key] = value end
      local sim <close> = blis.simulation(experiment { autoscaler = plan(1), scaling = options })
      local states = {}
      for second = 1, 20 do
        sim:run_until(seconds(second) - 1)
        states[second] = sim.instances[1].state:sub(1, 1)
      end
      return table.concat(states), sim:run()
    end
    assert.equal("llllwwaaaaaaaaaaaaaa", (first {}))
    local slow = first { warmup_factor = 3 }
    assert.equal("llllaaaaaaaaaaaaaaaa", slow)
    local states, r = first { start_failure = 0.6, start_retries = 100 }
    local failed = r.scaling.failed_starts
    assert.is_true(failed > 0)
    assert.equal(("llllww" .. ("pppllllww"):rep(failed) .. ("a"):rep(20)):sub(1, 20), states)
    assert.equal(400, r.completed)
    local sim <close> = blis.simulation(experiment { autoscaler = plan(1),
      scaling = { warm_start = false, provisioning_delay_us = seconds(1), start_failure = 1,
        start_retries = 0 } })
    sim:run_until(0)
    assert.equal("failed", sim.instances[1].state)
    assert.equal("provisioning", sim.instances[2].state) -- in its place
  end)

  it("has room for the starts of long runs, and says what gives more", function()
    local function flip(traffic, more)
      return { defaults = "1.0-rc1", workload = traffic,
        cluster = { model = "qwen3-14b", tp = 1, instances = 1 },
        autoscaler = blis.autoscaler { name = "flip", interval_us = seconds(20),
          decide = function(context) return context.now_us // seconds(20) % 2 + 1 end },
        scaling = more }
    end
    local days = { rate = 0.01, requests = 200, prompt_tokens = 10, output_tokens = 2,
      arrival = "constant" }
    local r = blis.run(flip(days))
    assert.is_true(r.scaling.started > 450) -- in 20,000 s; 256 is the least
    assert.equal(r.hash, blis.run(flip(days, { max_starts = 2000 })).hash)
    local crashing = flip({ rate = 1, requests = 3000, prompt_tokens = 10, output_tokens = 2,
      arrival = "constant" })
    crashing.autoscaler = function() return 4 end
    crashing.faults = { { kind = "crash", mtbf = seconds(30) } }
    assert.is_true(blis.run(crashing).scaling.started > 300) -- in 3,000 s
    local ok, message = pcall(blis.run, flip(days, { max_starts = 100 }))
    assert.is_false(ok)
    assert.matches("100 instances have been started by %d+ us, and no more starts are possible: "
      .. "scaling.max_starts allows more", tostring(message))
  end)
end)
