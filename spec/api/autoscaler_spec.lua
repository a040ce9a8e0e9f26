local blis = require "blis"

local seconds = blis.seconds

local function experiment(more)
  local spec = {
    cluster = { model = "qwen3-14b", tp = 1, instances = 1, max_num_seqs = 16 },
    workload = { rate = 12, requests = 400, prompt_tokens = 400, output_tokens = 200 },
    routing = "least-loaded",
  }
  for key, value in pairs(more) do spec[key] = value end
  return spec
end

local function run(more) return blis.run(experiment(more)) end

--- Says one number after the other, and the last one from then on.
local function plan(...)
  local targets = { ... }
  return blis.autoscaler { name = "plan", new = function()
    local looks = 0
    return { interval_us = seconds(5), decide = function()
      looks = looks + 1
      return targets[math.min(looks, #targets)]
    end }
  end }
end

describe("an autoscaler", function()
  it("sees the cluster and says how many instances there are to be", function()
    local contexts = {}
    local r = run { scaling = { loading_delay_us = seconds(2) }, autoscaler = function(context)
      contexts[#contexts + 1] = context
      if context.replicas < 3 then return { target = 3, reason = "three are better" } end
    end }
    local first, second = contexts[1], contexts[2]
    assert.equal(seconds(10), first.now_us)
    assert.equal(1, first.replicas)
    assert.equal(1, first.ready)
    assert.equal(1, first.min)
    assert.equal(8, first.max)
    assert.is_nil(first.since_last_scale_us)
    assert.equal(seconds(10), second.since_last_scale_us)
    assert.equal(3, second.ready)
    assert.equal(3, #second.instances)
    assert.equal("instance_2", second.instances[3].id)
    assert.is_true(first.request_rate > 8 and first.request_rate < 16)
    assert.is_true(first.queue_depth > 0 and first.batch_size == 16)
    assert.is_true(first.ttft_p90_us > 0 and first.kv_utilization > 0)
    local event = r.scaling.events[1]
    assert.same({ time_us = seconds(10), from = 1, to = 3, proposed = 3, is_oscillation = false,
      reason = "three are better" }, event)
    assert.equal(1, #r.scaling.events)
    assert.equal(400, r.completed)
    assert.equal(3, #r.instances)
    assert.equal(4.0, r.scaling.state_seconds.loading)
  end)

  it("costs what its instances do, from being asked for on", function()
    local fixed = run {}
    local r = run { autoscaler = plan(2), scaling = { provisioning_delay_us = seconds(20) } }
    local paid = 2 * r.scaling.end_us / 1e6 - 5
    assert.near(paid, r.scaling.replica_seconds, 1e-6)
    assert.near(paid / 3600, r.cost.gpu_hours, 1e-9)
    assert.near(fixed.cost.usd_per_gpu_hour, r.cost.usd_per_gpu_hour, 1e-9)
    assert.is_true(r.ttft_ms.p90 < fixed.ttft_ms.p90)
    assert.truthy(tostring(r):find("by plan", 1, true))
  end)

  it("leaves a run as it is when it never acts", function()
    assert.equal(run({}).hash, run({ autoscaler = function() end }).hash)
  end)

  it("goes down to nothing, and requests wait for an instance", function()
    local r = run {
      autoscaler = plan(0, 0, 1), scaling = { min_replicas = 0, loading_delay_us = seconds(3) },
    }
    assert.equal(400, r.completed)
    assert.is_true(r.scaling.waited > 50)
    assert.near(13e3, r.scaling.waited_max_ms, 200)
    assert.equal(2, #r.instances)
  end)

  it("is clamped, and that is told", function()
    local r = run { autoscaler = plan(100, -5), scaling = { max_replicas = 4 } }
    assert.equal(4, r.scaling.events[1].to)
    assert.equal(100, r.scaling.events[1].proposed)
    assert.equal(1, r.scaling.events[2].to)
    assert.is_true(r.scaling.events[2].is_oscillation)
    assert.equal(r.scaling.checks, r.scaling.clamped)
  end)

  it("may not say half an instance", function()
    for _, wrong in ipairs { 1.5, 0 / 0, "2", true, { target = 0.5 }, { reason = "x" } } do
      assert.error_matches(function() run { autoscaler = function() return wrong end } end,
        "expected a whole number of instances", 1, false)
    end
  end)

  it("gives the same by steps, by both engines and as a clone", function()
    local spec = experiment {
      autoscaler = { "queue-depth", up = 2, down = 1, cooldown_seconds = 5, interval_seconds = 2 },
      scaling = { loading_delay_us = { mean_us = 3e6, stddev_us = 1e6 }, drain = "redirect" },
    }
    local whole = blis.run(spec)
    assert.is_true(whole.scaling.scale_ups > 1 and whole.scaling.scale_downs > 0)
    local sim = blis.simulation(spec)
    while sim.now_us < seconds(17) do sim:step() end
    local clone = sim:clone()
    assert.equal(#sim.instances, #clone.instances)
    while sim:step() do end
    local stepped, cloned = sim:run(), clone:run()
    spec.cluster.engine = "stepwise"
    local stepwise = blis.run(spec)
    for _, r in ipairs { stepped, cloned, stepwise } do
      assert.equal(whole.hash, r.hash)
      assert.same(whole.scaling, r.scaling)
    end
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

  it("shows policies the instances that take requests, and no others", function()
    local most = 0
    run { autoscaler = plan(3), scaling = { loading_delay_us = seconds(4) },
      routing = function(_, instances)
        most = math.max(most, #instances)
        return #instances
      end }
    assert.equal(3, most)
  end)

  it("is in the series", function()
    local r = run { autoscaler = plan(3), series_interval_us = seconds(4),
      scaling = { loading_delay_us = seconds(2) } }
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.replicas, 1, 3) })
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.paid_replicas, 1, 3) })
    assert.equal(3, #r.series.instances)
    assert.equal(0, r.series.instances[3].batch_size[1])
  end)

  it("is refused where it makes no sense", function()
    local wrong = {
      { { scaling = { max_replicas = 2 } }, "no effect without autoscaler" },
      { { autoscaler = "hpe" }, "unknown autoscaler 'hpe'" },
      { { autoscaler = "hpa", scaling = { min_replicas = 2 } }, "begins with 1 instances" },
      { { autoscaler = "hpa", scaling = { max_replicas = 0 } }, "max_replicas" },
      { { autoscaler = "hpa", scaling = { min_replicas = 9 } }, "more than max_replicas" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = -1 } }, "loading_delay_us" },
      { { autoscaler = "hpa", scaling = { drain = "later" } }, "wait, redirect, immediate" },
      { { autoscaler = "hpa", profile = "go-blis" }, "fixed" },
    }
    for _, one in ipairs(wrong) do
      local ok, message = pcall(run, one[1])
      assert.is_false(ok)
      assert.truthy(tostring(message):find(one[2], 1, true), tostring(message))
    end
  end)

  it("runs by every name there is", function()
    for _, entry in ipairs(require("blis.core").policies().autoscalers) do
      local needs = entry.name == "keda" and { queue_depth = 4 } or nil
      local r = run { autoscaler = { entry.name, interval_seconds = 2, metrics = needs } }
      assert.equal(400, r.completed, entry.name)
    end
  end)
end)
