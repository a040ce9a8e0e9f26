--- What scaling costs, and what results tell of it.
local blis = require "blis"
local scaled = require "spec.support.scaled"

local run, plan, seconds = scaled.run, scaled.plan, blis.seconds

-- A request that was brought forward leaves the time at which it would have come, and the run goes
-- on until then.
describe("instances that go behind the last request", function()
  it("are paid until the last of them has changed", function()
    local r = blis.run {
      cluster = { instances = 3 },
      workload = { concurrency = 2, idle_cap_us = 1000, graphs = {
        { { prompt_tokens = 100, output_tokens = 5 },
          { after = 1, prompt_tokens = 100, output_tokens = 5, delay_us = seconds(4) } },
        { { prompt_tokens = 100, output_tokens = 100 } } } },
      autoscaler = blis.autoscaler { name = "down", interval_us = seconds(3),
        decide = function() return 1 end },
    }
    local s = r.scaling
    local last_us = s.levels[#s.levels].time_us
    assert.same({ seconds(3), seconds(3) }, { last_us, s.end_us })
    assert.is_true(r.duration_us < last_us)
    assert.equal(3, s.mean_paid)
    assert.near(9, s.replica_seconds, 1e-6)
  end)
end)

describe("an autoscaler", function()
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

  it("counts what it did: ups, downs, oscillations and replica-seconds", function()
    local function counted(oscillation_us)
      local s = run({ autoscaler = plan(3, 1, 1, 2), scaling = { oscillation_us = oscillation_us,
        drain = "immediate" } }).scaling
      return { s.scale_ups, s.scale_downs, s.oscillations }, s
    end
    -- Every 5 s: 1 to 3, to 1 after 5 s, to 2 after another 10 s.
    assert.same({ 2, 1, 0 }, (counted(seconds(4))))
    assert.same({ 2, 1, 1 }, (counted(seconds(5))))
    local counts, s = counted(seconds(10))
    assert.same({ 2, 1, 2 }, counts)
    local at = {}
    for i, event in ipairs(s.events) do
      at[i] = ("%d to %d at %g"):format(event.from, event.to, event.time_us / 1e6)
    end
    assert.same({ "1 to 3 at 5", "3 to 1 at 10", "1 to 2 at 20" }, at)
    assert.near(5 + 3 * 5 + 10 + 2 * (s.end_us / 1e6 - 20), s.replica_seconds, 1e-6)
  end)

  describe("tells when there were as many as wanted", function()
    local function told(more)
      local spec = { autoscaler = plan(3, 3, 1), slo_targets = { default = { ttft_ms = 1000 } },
        scaling = { loading_delay_us = seconds(4), instance_capacity = 4.1 } }
      for key, value in pairs(more or {}) do spec[key] = value end
      return run(spec)
    end

    it("and how requests fared then", function()
      local r = told()
      local phases, arrived, good, whole = r.scaling.phases, 0, 0, 0.0
      for _, phase in pairs(phases) do
        arrived, good = arrived + phase.arrived, good + phase.good
        whole = whole + phase.seconds
      end
      assert.equal(4.0, phases.under_provisioned.seconds)
      assert.equal(400, arrived)
      assert.equal(r.goodput.good, good)
      assert.near(r.scaling.end_us / 1e6, whole, 1e-6)
      local between = 0
      for i = 1, #r.requests do
        local arrival_us = r.requests[i].arrival_us
        between = between + (arrival_us >= seconds(5) and arrival_us < seconds(9) and 1 or 0)
      end
      assert.equal(between, phases.under_provisioned.arrived)
      assert.is_true(phases.under_provisioned.attainment < phases.over_provisioned.attainment)
      assert.truthy(tostring(r):find("under-provisioned for 4.0 s: " .. between, 1, true))
      assert.truthy(tostring(r):find("1 to 3 at 5.0 s", 1, true))
    end)

    it("against what the load takes", function()
      local both = told { workload = { arrival = "constant", rate = 8, requests = 959,
        prompt_tokens = 40, output_tokens = 2 } }
      local s = both.scaling -- two are needed: 1 for 5 s, 3 paid and 1 ready for 4 s, 3 for 6 s
      assert.near(120, s.end_us / 1e6, 1)
      assert.near(5 + 4 + s.end_us / 1e6 - 15, s.under_provisioned_seconds, 0.2)
      assert.near(10, s.over_provisioned_seconds, 0.2)
      assert.is_nil(run({ autoscaler = plan(1) }).scaling.over_provisioned_seconds)
    end)

    it("without targets or records", function()
      local plain = run { autoscaler = plan(3), scaling = { loading_delay_us = seconds(4) } }
      assert.equal(4.0, plain.scaling.phases.under_provisioned.seconds)
      assert.is_nil(plain.scaling.phases.under_provisioned.good)
      assert.is_true(plain.scaling.phases.under_provisioned.arrived > 20)
      local streaming = run { autoscaler = plan(3), keep_records = false,
        scaling = { loading_delay_us = seconds(4), instance_capacity = 4 } }
      assert.equal(4.0, streaming.scaling.phases.under_provisioned.seconds)
      assert.is_nil(streaming.scaling.phases.under_provisioned.arrived)
      assert.is_nil(streaming.scaling.over_provisioned_seconds)
    end)

    it("in files as well", function()
      local path, r = os.tmpname(), told()
      r:save(path)
      local loaded = blis.load_result(path)
      os.remove(path)
      assert.same(r.scaling.events, loaded.scaling.events)
      assert.same(r.scaling.levels, loaded.scaling.levels)
      assert.equal(r.scaling.phases.under_provisioned.good,
        loaded.scaling.phases.under_provisioned.good)
      assert.equal(tostring(r), tostring(loaded))
    end)
  end)

  it("has a price", function()
    local r = run { autoscaler = plan(2), scaling = { replica_price_per_hour = 7.2 } }
    assert.near(r.scaling.replica_seconds * 7.2 / 3600, r.cost.usd, 1e-9)
    assert.near(7.2, r.cost.usd_per_gpu_hour, 1e-9)
  end)

  it("costs by the GPUs of each group", function()
    local r = run { routing = "least-loaded", disaggregation = {},
      cluster = { model = "qwen3-14b", tp = 1, prefill_tp = 2, prefill_instances = 1,
        decode_instances = 1 },
      autoscaler = { decode = plan(3) } }
    local paid = r.scaling.group_seconds
    assert.near(r.scaling.end_us / 1e6, paid[1], 1e-6)
    assert.near(3 * r.scaling.end_us / 1e6 - 2 * 5, paid[2], 1e-6)
    assert.near(r.scaling.replica_seconds, paid[1] + paid[2], 1e-6)
    assert.equal(3, r.cost.gpus) -- at first
    assert.near((2 * paid[1] + paid[2]) / 3600, r.cost.gpu_hours, 1e-9)
    assert.near(r.cost.gpu_hours * r.setup.groups[1].gpu_price_per_hour, r.cost.usd, 1e-9)
  end)

  it("is in the series", function()
    local r = run { autoscaler = plan(3), series_interval_us = seconds(4),
      scaling = { loading_delay_us = seconds(2) } }
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.replicas, 1, 3) })
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.paid_replicas, 1, 3) })
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.wanted_replicas, 1, 3) })
    assert.is_nil(r.series.good)
    assert.equal(3, #r.series.instances)
    assert.equal(0, r.series.instances[3].batch_size[1])
  end)

  it("costs under go-blis what the GPUs do on which instances are placed", function()
    local function usd(pools)
      local r = run { profile = "go-blis", scaling = { node_pools = pools } }
      return r.cost.usd / r.cost.gpu_hours
    end
    local function price(gpu) return blis.hardware(gpu).price_per_hour end
    local function pool(gpu, more)
      local one = { name = gpu, gpu = gpu, gpus_per_node = 8 }
      for key, value in pairs(more or {}) do one[key] = value end
      return one
    end
    assert.near(price "H100", usd { pool "H100" }, 1e-9)
    assert.is_true(price "A100-80" ~= price "H100")
    assert.near(price "A100-80", usd { pool "A100-80", pool "H100" }, 1e-9)
    assert.near(7, usd { pool("A100-80", { cost_per_hour = 7 }) , pool "H100" }, 1e-9)
  end)

  it("is no sign of bad routing", function()
    local herd = { routing = function() return 1 end, workload = { rate = 40, requests = 900,
      prompt_tokens = 40, output_tokens = 20 } }
    herd.autoscaler = plan(3)
    herd.scaling = { loading_delay_us = seconds(100) } -- nobody has come when it is over
    assert.not_matches("never got a request", tostring(run(herd)))
    local alone = run { cluster = { model = "qwen3-14b", tp = 1, instances = 2 },
      routing = "round-robin", workload = herd.workload,
      faults = { { at = seconds(1), instance = 1, kind = "crash", recover_after = seconds(10),
        requests = "rerouted" }, { at = seconds(12), instance = 2, kind = "crash",
        requests = "rerouted" } } }
    assert.is_true(alone.instances[1].active_seconds + alone.instances[2].active_seconds
      < alone.duration_us / 1e6 + 3)
    assert.not_matches("oscillation:", tostring(alone))
  end)
end)
