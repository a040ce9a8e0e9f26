--- What autoscalers see and are asked, and what they may say.
local blis = require "blis"
local old_defaults = require "spec.support.old_defaults"
local scaled = require "spec.support.scaled"

local experiment, run, plan, seconds = scaled.experiment, scaled.run, scaled.plan, blis.seconds

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
    assert.equal("instance_002", second.instances[3].id)
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

  it("reads the KV utilization of its instances", function()
    local sim, checked
    sim = blis.simulation { cluster = { instances = 1, kv_blocks = 500 }, seed = 1,
      workload = { rate = 10, requests = 60, prompt_tokens = 300, output_tokens = 100 },
      scaling = { max_replicas = 1, interval_us = seconds(3) }, autoscaler = function(context)
        local instance = sim.instances[1]
        checked = instance.used_kv_blocks / instance.kv_blocks
        assert.is_true(checked > 0)
        assert.equal(checked, context.kv_utilization)
      end }
    sim:run()
    assert.is_truthy(checked)
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
      local spec = { defaults = old_defaults.version, scaling = scaling,
        autoscaler = function(context)
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
    local path = os.tmpname() .. ".jsonl"
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

  it("gives reasons that a terminal only shows", function()
    local r = run { autoscaler = function(context)
      if context.replicas < 3 then return { target = 3, reason = "a\n\27[31mb\u{202e}\u{9b}" } end
    end }
    assert.matches(": a\\x0a\\x1b[31mb\\xe2\\x80\\xae\\xc2\\x9b\n", tostring(r), 1, true)
    assert.equal("a\n\27[31mb\u{202e}\u{9b}", r.scaling.events[1].reason)
  end)

  it("leaves a run as it is when it never acts", function()
    assert.equal(run({}).hash, run({ autoscaler = function() end }).hash)
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

  it("is told of a member of its answer that nobody knows", function()
    local ok, message = pcall(run, { autoscaler = function()
      return { target = 1, reasons = "one" }
    end })
    assert.is_false(ok)
    assert.matches("unknown member, the string 'reasons'", tostring(message), 1, true)
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
    says(function(c) return c.ttl end, "'blis help ScaleContext' lists the fields")
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

  it("is shown what cannot be written", function()
    local writes = {
      { function(context) context.target = 3 end, "a context of scaling cannot be changed" },
      { function(context) context.replicas = 3 end, "return the target" },
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
    assert.same({ true, 1, { "instance_000" }, true, true }, seen)
  end)

  it("knows nothing of requests that follow on answers, and says so", function()
    local function sessions(is_closed)
      return run { autoscaler = "oracle", workload = { rate = 5, requests = 100,
        sessions = { max_rounds = 4, think_time_us = 500000, closed_loop = is_closed } } }
    end
    assert.is_true(sessions(false).completed > 90)
    local ok, message = pcall(sessions, true)
    assert.is_false(ok)
    assert.matches("autoscaler oracle: requests of this workload depend on responses",
      tostring(message), 1, true)
    assert.matches("set closed_loop = false for sessions", tostring(message), 1, true)
  end)

  it("is refused where it makes no sense", function()
    local wrong = {
      { { scaling = { max_replicas = 2 } }, "no effect without autoscaler" },
      { { autoscaler = "hpe" }, "unknown autoscaler 'hpe'" },
      { { autoscaler = "hpa", scaling = { min_replicas = 2 } },
        "starts with 1 instance, expected 2 to 8" },
      { { autoscaler = "hpa", scaling = { max_replicas = 0 } }, "max_replicas" },
      { { autoscaler = "hpa", scaling = { min_replicas = 9 } }, "more than max_replicas" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = -1 } }, "loading_delay_us" },
      { { autoscaler = "hpa", scaling = {
          loading_delay_us = { mean_us = 1, distribution = "x" } } }, "loading_delay_us" },
      { { autoscaler = "hpa", scaling = {
          loading_delay_us = { mean_us = 1, stddev_us = 1, distribution = "exponential" } } },
        "loading_delay_us" },
      { { autoscaler = "hpa", scaling = { trigger_queue_depth = 0 } }, "trigger_queue_depth" },
      { { autoscaler = "hpa", scaling = { trigger_slo_attainment = 0.9 } }, "requires a target" },
      { { autoscaler = "hpa", scaling = { warmup_factor = 2 } }, "requires warmup_duration_us" },
      { { autoscaler = "hpa", scaling = { drain = "later" } }, "wait, redirect, immediate" },
      { { autoscaler = { prefill = "hpa" } }, "no prefill and decode pools" },
      { { autoscaler = "hpa", scaling = { decode = {} } }, "no prefill and decode pools" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { min_replicas = 0 } }, "hand-offs require one instance of each stage" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 3 },
        scaling = { decode = { max_replicas = 2 } } }, "starts with 3 decode instances" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { decode = { max_starts = 900 } } }, "scaling.decode.max_starts: max_starts "
        .. "applies to all instances; set it in scaling" },
      { { autoscaler = "hpa", cluster = { prefill_instances = 1, decode_instances = 1 },
        scaling = { prefill = { e2e_target_us = -1 } } },
        "scaling.prefill.e2e_target_us: invalid value" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean = 3 } } },
        "scaling.loading_delay_us: unknown option 'mean'; did you mean 'mean_us'?" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean_us = -3 } } },
        "scaling.loading_delay_us.mean_us: invalid value -3" },
      { { autoscaler = "hpa", scaling = { loading_delay_us = { mean_us = 3,
        distribution = "gamma" } } },
        "scaling.loading_delay_us.distribution: invalid value 'gamma'" },
      { { autoscaler = { "hpa", "keda" } }, "autoscaler: got a value at [2]" },
      { { autoscaler = "hpa", cluster = {
        groups = { { model = "qwen3-14b" }, { model = "llama-3.1-8b" } } } },
        "serve different models" },
      { { autoscaler = "hpa", profile = "go-blis" }, "supports only 'saturation-pipeline'" },
      { { autoscaler = "hpa", scaling = { node_pools = {} } }, "a list of node pools" },
      { { autoscaler = "hpa", scaling = { node_pools = { { name = "a", gpu = "H1000" } } } },
        "unknown GPU 'H1000'" },
      { { autoscaler = "hpa", scaling = { node_pools = { { name = "a", gpu = "L40S" } } } },
        "none has nodes with 1 GPUs of type 'H100'" },
      { { autoscaler = "hpa", scaling = {
          node_pools = { { name = "a", gpu = "H100" }, { name = "a", gpu = "L40S" } } } },
        "scaling.node_pools[2]: duplicate node pool 'a'" },
      { { autoscaler = "hpa", scaling = {
          node_pools = { { name = "a", gpu = "H100", nodes = 3, max_nodes = 2 } } } },
        "max_nodes is 2, less than the 3 initial nodes" },
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

  it("decides at time 0 in profile go-blis", function()
    local sim <close> = blis.simulation { profile = "go-blis", autoscaler = "saturation-pipeline",
      cluster = { instances = 1, model = "qwen/qwen3-14b", hardware = "H100", tp = 1 },
      scaling = { interval_us = 1000000 }, workload = { rate = 5, requests = 5 } }
    local first = sim:events()[1]
    assert.same({ "scaling", 0 }, { first.kind, first.time_us })
  end)
end)
