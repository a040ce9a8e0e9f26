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
      trigger = "interval", reason = "three are better" }, event)
    assert.equal(1, #r.scaling.events)
    assert.equal(400, r.completed)
    assert.equal(3, #r.instances)
    assert.equal(4.0, r.scaling.state_seconds.loading)
  end)

  it("sees what a pool is and what it was", function()
    local contexts = {}
    run { scaling = { loading_delay_us = seconds(12), max_replicas = 4 },
      autoscaler = function(context)
        contexts[#contexts + 1] = context
        return 3
      end }
    local first, second, third = contexts[1], contexts[2], contexts[3]
    assert.equal("all", first.pool)
    assert.equal("interval", first.trigger)
    assert.same({ 0, 2, 0 }, { first.starting, second.starting, third.starting })
    assert.equal(0, first.draining)
    assert.equal(first.queue_depth, first.avg_queue_depth)
    assert.near(third.kv_utilization / 3, third.avg_utilization, 1e-12)
    assert.equal(3, #third.samples)
    for i, context in ipairs(contexts) do
      if i > 3 then break end
      local sample = third.samples[i]
      assert.equal(context.now_us, sample.now_us)
      assert.equal(context.replicas, sample.replicas)
      assert.equal(context.ready, sample.ready)
      assert.equal(context.request_rate, sample.request_rate)
      assert.equal(context.queue_depth, sample.queue_depth)
    end
  end)

  it("keeps the samples of its last 32 looks", function()
    local last
    run { autoscaler = blis.autoscaler { name = "watcher", interval_us = seconds(1),
      decide = function(context) last = context end } }
    assert.equal(32, #last.samples)
    assert.equal(last.now_us, last.samples[32].now_us)
    assert.equal(last.now_us - seconds(31), last.samples[1].now_us)
  end)

  describe("is also asked", function()
    local function looks(scaling, more)
      local seen = {}
      scaling.loading_delay_us = seconds(3)
      local spec = { scaling = scaling, autoscaler = function(context)
        seen[#seen + 1] = context
        return math.min(context.replicas + 1, 4)
      end }
      for key, value in pairs(more or {}) do spec[key] = value end
      local r = run(spec)
      assert.equal(#seen, r.scaling.checks)
      return seen, r
    end

    it("when many requests wait, and not more often than it may be", function()
      local seen, r = looks { trigger_queue_depth = 5 }
      assert.equal("queue-depth", seen[1].trigger)
      assert.is_true(seen[1].queue_depth == 6 and seen[1].now_us < seconds(3))
      assert.is_true(r.scaling.triggered >= 3)
      assert.equal("queue-depth", r.scaling.events[1].trigger)
      local at_intervals = 0
      for i, context in ipairs(seen) do
        local by_interval = context.trigger == "interval"
        at_intervals = at_intervals + (by_interval and 1 or 0)
        if by_interval then assert.equal(0, context.now_us % seconds(10)) end
        if i > 1 and not by_interval then
          assert.is_true(context.now_us - seen[i - 1].now_us >= seconds(1))
        end
      end
      assert.equal(r.scaling.end_us // seconds(10), at_intervals)
      assert.equal(#seen - at_intervals, r.scaling.triggered)
      local rarely = looks { trigger_queue_depth = 5, trigger_gap_us = seconds(4) }
      assert.is_true(#rarely < #seen)
    end)

    it("when nobody is there to take a request", function()
      local seen = {}
      local r = run { scaling = { min_replicas = 0, trigger_queue_depth = 1 },
        workload = { generator = function(rng)
          seen.n = (seen.n or 0) + 1
          if seen.n > 2 then return nil end
          return { arrival_us = seconds(25) * (seen.n - 1), prompt_tokens = rng:integer(10, 20),
            output_tokens = 10 }
        end },
        autoscaler = function(context)
          seen[#seen + 1] = context.trigger
          return context.trigger == "interval" and 0 or 1
        end }
      assert.same({ "interval", "interval", "queue-depth" }, { table.unpack(seen) })
      assert.equal(2, r.completed)
      assert.equal(0.0, r.scaling.waited_max_ms)
    end)

    it("when few requests keep their targets", function()
      local seen = looks({ trigger_slo_attainment = 0.9 },
        { slo_targets = { default = { ttft_ms = 1000 } } })
      local first = seen[1]
      assert.equal("slo-attainment", first.trigger)
      assert.is_true(first.slo_attainment < 0.9 and first.slo_attainment > 0.7)
      assert.equal("interval", looks({ trigger_slo_attainment = 0.9, ttft_target_us = seconds(99) },
        { slo_targets = { default = { ttft_ms = 1000 } } })[1].trigger)
    end)
  end)

  it("leaves its looks in the trace of decisions", function()
    local r = run { autoscaler = plan(2, 2, 99, 1), trace_level = "decisions",
      scaling = { loading_delay_us = seconds(2), max_replicas = 3 } }
    local looks = {}
    for _, decision in ipairs(r.decisions) do
      if decision.kind == "scaling" then looks[#looks + 1] = decision end
    end
    assert.equal(r.scaling.checks, #looks)
    local verdicts = {}
    for i = 1, 4 do verdicts[i] = looks[i].verdict end
    assert.same({ "up", "none", "up", "down" }, verdicts)
    assert.equal(seconds(5), looks[1].time_us)
    assert.is_nil(looks[1].request)
    local facts = looks[3].facts
    assert.same({ 2, 3, 99, 2, 0 },
      { facts.from, facts.to, facts.proposed, facts.ready, facts.starting })
    assert.is_true(facts.request_rate > 6 and facts.ttft_p90_us > 0)
    local path = os.tmpname()
    r:save_decisions(path)
    local found
    for line in io.lines(path) do found = found or line:find('"kind":"scaling"', 1, true) end
    os.remove(path)
    assert.truthy(found)
  end)

  it("may say which metrics it reads", function()
    local seen
    local function decide(context) seen = context end
    run { autoscaler = blis.autoscaler {
      name = "one", metrics = { "queue_depth" }, decide = decide,
    } }
    assert.is_number(seen.queue_depth)
    assert.is_nil(rawget(seen, "ttft_p90_us"))
    assert.is_number(seen.samples[1].queue_depth)
    assert.is_nil(rawget(seen.samples[1], "request_rate"))
    local ok, message = pcall(run, { autoscaler = blis.autoscaler { name = "one",
      metrics = { "queue_deep" }, decide = decide } })
    assert.is_false(ok)
    assert.truthy(tostring(message):find("'queue_depth'", 1, true), tostring(message))
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
      assert.equal(4.0, phases.short.seconds)
      assert.equal(400, arrived)
      assert.equal(r.goodput.good, good)
      assert.near(r.scaling.end_us / 1e6, whole, 1e-6)
      local between = 0
      for i = 1, #r.requests do
        local arrival_us = r.requests[i].arrival_us
        between = between + (arrival_us >= seconds(5) and arrival_us < seconds(9) and 1 or 0)
      end
      assert.equal(between, phases.short.arrived)
      assert.is_true(phases.short.attainment < phases.surplus.attainment)
      assert.truthy(tostring(r):find("short of what was wanted for 4.0 s: " .. between, 1, true))
      assert.truthy(tostring(r):find("1 to 3 at 5.0 s", 1, true))
    end)

    it("against what the load takes", function()
      local scaled = told { workload = { arrival = "constant", rate = 8, requests = 959,
        prompt_tokens = 40, output_tokens = 2 } }
      local s = scaled.scaling -- two are needed: 1 for 5 s, 3 paid and 1 ready for 4 s, 3 for 6 s
      assert.near(120, s.end_us / 1e6, 1)
      assert.near(5 + 4 + s.end_us / 1e6 - 15, s.under_provisioned_seconds, 0.2)
      assert.near(10, s.over_provisioned_seconds, 0.2)
      assert.is_nil(run({ autoscaler = plan(1) }).scaling.over_provisioned_seconds)
    end)

    it("without targets or records", function()
      local plain = run { autoscaler = plan(3), scaling = { loading_delay_us = seconds(4) } }
      assert.equal(4.0, plain.scaling.phases.short.seconds)
      assert.is_nil(plain.scaling.phases.short.good)
      assert.is_true(plain.scaling.phases.short.arrived > 20)
      local streaming = run { autoscaler = plan(3), keep_records = false,
        scaling = { loading_delay_us = seconds(4), instance_capacity = 4 } }
      assert.equal(4.0, streaming.scaling.phases.short.seconds)
      assert.is_nil(streaming.scaling.phases.short.arrived)
      assert.is_nil(streaming.scaling.over_provisioned_seconds)
    end)

    it("in files as well", function()
      local path, r = os.tmpname(), told()
      r:save(path)
      local loaded = blis.load_result(path)
      os.remove(path)
      assert.same(r.scaling.events, loaded.scaling.events)
      assert.same(r.scaling.levels, loaded.scaling.levels)
      assert.equal(r.scaling.phases.short.good, loaded.scaling.phases.short.good)
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
      scaling = { loading_delay_us = { mean_us = 3e6, stddev_us = 1e6 }, drain = "redirect",
        trigger_queue_depth = 3, trigger_slo_attainment = 0.95, ttft_target_us = seconds(1) },
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

  it("does not get back an instance that it has stopped", function()
    local sim = blis.simulation(experiment { autoscaler = plan(2, 1) })
    sim:run_until(seconds(1))
    repeat
      sim:run_until(sim.now_us + seconds(1))
    until #sim.instances == 2 and sim.instances[2].state == "drained"
    local ok, message = pcall(function() return sim.instances[2]:restart() end)
    assert.is_false(ok)
    assert.matches("instance_1 cannot come back: it is drained", tostring(message), 1, true)
    assert.equal("drained", sim.instances[2].state)
  end)

  it("is told of a member of its answer that nobody knows", function()
    local ok, message = pcall(run, { autoscaler = function()
      return { target = 1, reasons = "one" }
    end })
    assert.is_false(ok)
    assert.matches("unknown member, the text 'reasons'", tostring(message), 1, true)
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
    assert.same({ 1, 1, 3 }, { table.unpack(r.series.wanted_replicas, 1, 3) })
    assert.is_nil(r.series.good)
    assert.equal(3, #r.series.instances)
    assert.equal(0, r.series.instances[3].batch_size[1])
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

  it("plans with what an instance usually does, not with what it does in a fault", function()
    local slow = { { at = 0, instance = 1, kind = "slow", factor = 50,
      recover_after = seconds(25) } }
    local function most(autoscaler, faults, cluster)
      return run { autoscaler = autoscaler, faults = faults, cluster = cluster,
        workload = { rate = 10, requests = 500, prompt_tokens = 100, output_tokens = 20 },
        scaling = { max_replicas = 30 } }.scaling.most_paid
    end
    for _, name in ipairs { "oracle", "dynamo.planner" } do
      local autoscaler = { name }
      if name == "dynamo.planner" then
        autoscaler.optimization_target, autoscaler.throughput_interval_seconds = "sla", 5
      end
      assert.equal(most(autoscaler), most(autoscaler, slow))
    end
  end)

  it("plans with batches no larger than they may be", function()
    local function most(max_num_seqs)
      return run { autoscaler = { "dynamo.planner", optimization_target = "sla",
        throughput_interval_seconds = 5 }, cluster = { model = "qwen3-14b", tp = 1, instances = 1,
        max_num_seqs = max_num_seqs }, scaling = { max_replicas = 30 },
        workload = { rate = 20, requests = 600, prompt_tokens = 100, output_tokens = 100 },
      }.scaling.most_paid
    end
    assert.is_true(most(4) > most(64))
  end)

  it("shows a context whose unknown names are errors", function()
    local function says(read, words, more)
      local spec = { name = "mine", decide = function(c) return read(c) and nil end }
      for key, value in pairs(more or {}) do spec[key] = value end
      local ok, message = pcall(run, { autoscaler = blis.autoscaler(spec) })
      assert.equal(words == nil, ok, tostring(message))
      if words then assert.truthy(tostring(message):find(words, 1, true), tostring(message)) end
    end
    says(function(c) return c.since_last_scale_us end)
    says(function(c) return c.instances[1].queue_depth + c.samples[1].queue_depth end)
    says(function(c) return c.queue_dept end,
      "a context of scaling has no field 'queue_dept'; did you mean 'queue_depth'?")
    says(function(c) return c.ttl end, "'blis help ScaleContext' lists what there is")
    says(function(c) return c[1] end, "has no field")
    says(function(c) return c.instances[1].queue_dept end, "did you mean 'queue_depth'?")
    says(function(c) return c.samples[1].request_rat end, "did you mean 'request_rate'?")
    local metrics = { metrics = { "queue_depth" } }
    says(function(c) return c.queue_depth end, nil, metrics)
    says(function(c) return c.request_rate end,
      "request_rate is not collected: the metrics of the autoscaler do not name it", metrics)
  end)

  it("says what a function answers instead of a target, and has a name", function()
    local ok, message = pcall(run, { autoscaler = function() return {} end })
    assert.is_false(ok)
    assert.matches("it returned a table without target", tostring(message), 1, true)
    local r = run { autoscaler = function() end }
    assert.equal("function", r.scaling.policy)
    assert.matches("0 instances started, by function\n", tostring(r))
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

  it("may be an oracle, which asks before the load comes", function()
    local spec = {
      workload = { rate = 12, requests = 1500, prompt_tokens = 400, output_tokens = 200,
        shape = "surges" },
      scaling = { max_replicas = 12, loading_delay_us = seconds(30) },
    }
    local function with(autoscaler)
      spec.autoscaler = autoscaler
      return run(spec)
    end
    local knows = with "oracle"
    local sees = with { "target-utilization", interval_seconds = 5, cooldown_seconds = 5 }
    assert.equal(1500, knows.completed)
    assert.is_true(knows.scaling.scale_ups > 0 and knows.scaling.scale_downs > 0)
    assert.is_true(knows.ttft_ms.p99 < sees.ttft_ms.p99)
    assert.equal(knows.hash, with("oracle").hash)
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
      return { cluster = { model = "qwen3-14b", tp = 1, instances = 1 }, workload = traffic,
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
    assert.matches("100 instances have been started by %d+ us, and there is room for no more: "
      .. "scaling.max_starts gives more", tostring(message))
  end)

  it("is shown what cannot be written", function()
    local writes = {
      { function(context) context.target = 3 end, "a context of scaling cannot be changed" },
      { function(context) context.replicas = 3 end, "what is wanted is returned" },
      { function(context) context.instances[1] = nil end, "the list of instances of a context" },
      { function(context) context.instances[1].queue_depth = 0 end, "an instance of a context" },
      { function(context) table.insert(context.samples, {}) end, "the list of samples" },
      { function(context) context.samples[1].ready = 0 end, "a sample of a context" },
    }
    for _, one in ipairs(writes) do
      local ok, message = pcall(run, { autoscaler = one[1] })
      assert.is_false(ok)
      assert.matches(one[2], tostring(message), 1, true)
    end
    local seen
    run { autoscaler = function(context)
      local names = {}
      for name in pairs(context) do names[name] = true end
      local places = {}
      for i, instance in ipairs(context.instances) do places[i] = instance.id end
      seen = { names.replicas and names.samples and not names.target, #context.instances, places,
        context.instances[9] == nil, #context.samples > 0 }
    end }
    assert.same({ true, 1, { "instance_0" }, true, true }, seen)
  end)

  it("knows nothing of requests that follow on answers, and says so", function()
    local function sessions(is_closed)
      return run { autoscaler = "oracle", workload = { rate = 5, requests = 100,
        sessions = { max_rounds = 4, think_time_us = 500000, closed_loop = is_closed } } }
    end
    assert.is_true(sessions(false).completed > 90)
    local ok, message = pcall(sessions, true)
    assert.is_false(ok)
    assert.matches("autoscaler oracle: requests of this workload follow on answers",
      tostring(message), 1, true)
    assert.matches("give sessions closed_loop = false", tostring(message), 1, true)
  end)

  local function apart(more)
    local spec = {
      cluster = { model = "qwen3-14b", tp = 1, prefill_instances = 1, decode_instances = 2,
        max_num_seqs = 16 },
      disaggregation = "always",
    }
    for key, value in pairs(more) do spec[key] = value end
    return run(spec)
  end

  it("scales prefill and decode each on its own", function()
    local seen = {}
    local function watch(context)
      seen[context.pool] = context
      if context.pool == "prefill" then return 2 end
      return { target = 4, reason = "decode" }
    end
    local r = apart { autoscaler = watch, scaling = { loading_delay_us = seconds(1),
      prefill = { max_replicas = 2 }, decode = { max_replicas = 3, drain = "redirect" } } }
    assert.equal(400, r.completed)
    assert.equal(2, seen.prefill.replicas)
    assert.equal(3, seen.decode.replicas)
    assert.same({ 2, 3 }, { seen.prefill.max, seen.decode.max })
    assert.is_true(#seen.prefill.instances == 2 and #seen.decode.instances == 3)
    local pools = r.scaling.pools
    assert.same({ 1, 1 }, { pools.prefill.started, pools.decode.started })
    assert.equal(2, pools.prefill.levels[#pools.prefill.levels].ready)
    assert.equal(5, r.scaling.levels[#r.scaling.levels].ready)
    assert.equal("decode", r.scaling.events[2].pool)
    assert.equal(2, r.scaling.scale_ups)
    local prefills = {}
    for i = 1, #r.requests do
      local record = r.requests[i]
      prefills[record.prefill_instance] = (prefills[record.prefill_instance] or 0) + 1
    end
    assert.is_true(prefills.instance_3 > 0)
  end)

  it("may leave one of two pools as it is", function()
    local r = apart { autoscaler = { decode = plan(3, 1) } }
    assert.equal(400, r.completed)
    assert.same({ "decode" }, require("blis.sorted").names(r.scaling.pools))
    assert.same({ 1, 1 }, { r.scaling.scale_ups, r.scaling.scale_downs })
    assert.equal(1, r.scaling.levels[#r.scaling.levels].ready)
  end)

  it("starts the cheapest of unequal instances, and lets the dearest go first", function()
    local groups = { { instances = 1, hardware = "H100", cost_per_hour = 4 },
      { instances = 1, hardware = "L40S", cost_per_hour = 1 } }
    local r = run { cluster = { model = "qwen3-14b", tp = 1, groups = groups },
      autoscaler = plan(3, 2) }
    assert.equal(400, r.completed)
    local states, gpus = {}, {}
    local sim = blis.simulation(experiment {
      cluster = { model = "qwen3-14b", tp = 1, groups = groups }, autoscaler = plan(3, 2) })
    sim:run()
    for i = 1, 3 do states[i], gpus[i] = sim.instances[i].state, sim.instances[i].gpu end
    assert.same({ "drained", "active", "active" }, states)
    assert.same({ "H100", "L40S", "L40S" }, gpus)
    sim:close()
  end)

  it("is refused where it makes no sense", function()
    local wrong = {
      { { scaling = { max_replicas = 2 } }, "no effect without autoscaler" },
      { { autoscaler = "hpe" }, "unknown autoscaler 'hpe'" },
      { { autoscaler = "hpa", scaling = { min_replicas = 2 } }, "begins with 1 instances" },
      { { autoscaler = "hpa", scaling = { max_replicas = 0 } }, "max_replicas" },
      { { autoscaler = "hpa", scaling = { min_replicas = 9 } }, "more than max_replicas" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = -1 } }, "loading_delay_us" },
      { { autoscaler = "hpa", scaling = {
          loading_delay_us = { mean_us = 1, distribution = "x" } } }, "loading_delay_us" },
      { { autoscaler = "hpa", scaling = {
          loading_delay_us = { mean_us = 1, stddev_us = 1, distribution = "exponential" } } },
        "loading_delay_us" },
      { { autoscaler = "hpa", scaling = { trigger_queue_depth = 0 } }, "trigger_queue_depth" },
      { { autoscaler = "hpa", scaling = { trigger_slo_attainment = 0.9 } }, "needs a target" },
      { { autoscaler = "hpa", scaling = { warmup_factor = 2 } }, "needs warmup_duration_us" },
      { { autoscaler = "hpa", scaling = { drain = "later" } }, "wait, redirect, immediate" },
      { { autoscaler = { prefill = "hpa" } }, "no pools of prefill and decode" },
      { { autoscaler = "hpa", scaling = { decode = {} } }, "no pools of prefill and decode" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { min_replicas = 0 } }, "hand-offs need one instance of each stage" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 3 },
        scaling = { decode = { max_replicas = 2 } } }, "begins with 3 decode instances" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { decode = { max_starts = 900 } } }, "scaling.decode.max_starts: max_starts is "
        .. "of all instances, and belongs into scaling" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { prefill = { e2e_target_us = -1 } } }, "scaling.prefill.e2e_target_us: -1" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean = 3 } } },
        "scaling.loading_delay_us: unknown option 'mean'; did you mean 'mean_us'?" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean_us = -3 } } },
        "scaling.loading_delay_us.mean_us: -3 is not allowed" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean_us = 3,
        distribution = "gamma" } } }, "scaling.loading_delay_us.distribution: 'gamma'" },
      { { autoscaler = { "hpa", "keda" } }, "autoscaler: got a value at [2]" },
      { { autoscaler = "hpa", cluster = {
        groups = { { model = "qwen3-14b" }, { model = "llama-3.1-8b" } } } },
        "serve different models" },
      { { autoscaler = "hpa", profile = "go-blis" }, "there is only 'saturation-pipeline'" },
      { { autoscaler = "hpa", scaling = { node_pools = {} } }, "a list of node pools" },
      { { autoscaler = "hpa", scaling = { node_pools = { { name = "a", gpu = "H1000" } } } },
        "unknown GPU 'H1000'" },
      { { autoscaler = "hpa", scaling = { node_pools = { { name = "a", gpu = "L40S" } } } },
        "none has nodes with 1 GPUs of type 'H100'" },
      { { autoscaler = "hpa", scaling = {
          node_pools = { { name = "a", gpu = "H100" }, { name = "a", gpu = "L40S" } } } },
        "scaling.node_pools[2]: there is a node pool 'a' already" },
      { { autoscaler = "hpa", scaling = {
          node_pools = { { name = "a", gpu = "H100", nodes = 3, max_nodes = 2 } } } },
        "max_nodes is 2, less than the 3 nodes at first" },
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
