-- Instances that come, go and fail, together with everything else there is: each pair of features
-- gives the same by both engines, by steps and as a clone, and no request is lost.
local blis = require "blis"
local pairs_of = require "spec.support.feature_pairs"

local seconds = blis.seconds

local function experiment(p)
  p = p or {}
  return {
    cluster = { model = "qwen3-14b", tp = 1, instances = 2, max_num_seqs = 16 },
    workload = { rate = p.rate or 14, requests = 250, prompt_tokens = 300, output_tokens = 120 },
    routing = "least-loaded",
    autoscaler = { p.autoscaler or "queue-depth", cooldown_seconds = 4, interval_seconds = 2 },
    scaling = { max_replicas = 5, loading_delay_us = seconds(3), drain = "redirect",
      trigger_queue_depth = 6 },
    faults = {
      { at = seconds(6), instance = 1, kind = p.kind or "crash", recover_after = seconds(5),
        requests = p.kind ~= "slow" and "rerouted" or nil },
      { kind = "slow", mtbf = seconds(30), recover_after = seconds(4), factor = 2 },
    },
  }
end

local features = {
  { "sessions", function(s)
    s.workload.sessions = { max_rounds = 4, think_time_us = 500000 }
  end },
  { "a budget of a tenant", function(s)
    s.workload.tenant, s.cluster.tenant_budgets = "a", { a = 0.5 }
  end },
  { "a queue of the gateway", function(s) s.queue = {} end },
  { "decisions with counterfactuals", function(s)
    s.trace_level, s.counterfactual_k = "decisions", 2
  end },
  { "a series and targets", function(s)
    s.series_interval_us, s.slo_targets = seconds(2), { default = { ttft_ms = 500 } }
  end },
  { "a warm-up", function(s) s.warm_up_us = seconds(5) end },
  { "priorities", function(s) s.priority, s.cluster.scheduler = "slo-based", "priority-fcfs" end },
  { "prefixes and scorers", function(s)
    s.routing, s.workload.prefixes = "weighted", { groups = 5, tokens = 256, zipf = 1 }
  end },
  { "late signals", function(s)
    s.cluster.snapshot_refresh_us, s.cluster.cache_signal_delay_us = 200000, 100000
  end },
  { "surges", function(s)
    s.workload.shape = { "surges", every_us = seconds(8), duration_us = seconds(2) }
  end },
  { "nothing at times", function(s)
    s.scaling.min_replicas = 0
    s.autoscaler = { "keda", metrics = { queue_depth = 2 }, cooldown_seconds = 3 }
  end },
  { "prefill/decode disaggregation", function(s)
    s.cluster.prefill_instances, s.cluster.decode_instances = 1, 1
    s.cluster.instances, s.disaggregation = nil, {}
  end },
  { "an autoscaler of a script", function(s)
    s.autoscaler = function(context)
      return context.queue_depth > 4 and { target = context.replicas + 1, reason = "long" } or nil
    end
  end },
  { "no records", function(s) s.keep_records = false end },
}

-- What does not go together, and how that is said.
local refused = {
  ["no records + a series and targets"] = "needs records",
  ["no records + a warm-up"] = "needs records",
  ["prefill/decode disaggregation + nothing at times"] = "hand-offs require one instance of each",
  ["sessions + surges"] = "closed_loop = false",
}

local walk = {
  experiment = experiment, features = features, refused = refused, clone_at_us = seconds(9),
  steps = 200, same = { "scaling", "faults" },
  check = function(r, a, b)
    if a == "sessions" or b == "sessions" then -- they end with a request that is lost
      assert.is_true(r.arrived > 150 and r.arrived <= 250)
    else
      assert.equal(250, r.arrived)
    end
  end,
}

describe("a cluster that scales and fails", function()
  pairs_of.each(walk, function(name, run) it("with " .. name, run) end)

  it("refuses what no number of instances can follow", function()
    local spec = experiment()
    spec.cluster = { groups = { { model = "qwen3-14b", tp = 1, instances = 1 },
      { model = "llama-3.1-8b-instruct", tp = 1, instances = 1 } } }
    spec.cascade = { "cognitora.cascade", chain = { "llama-3.1-8b-instruct", "qwen3-14b" } }
    assert.error_matches(function() blis.run(spec) end, "different models", 1, true)
  end)

  it("asks a cascade of models with faults, without scaling", function()
    local spec = experiment()
    spec.cluster = { groups = { { model = "qwen3-14b", tp = 1, instances = 2 },
      { model = "llama-3.1-8b-instruct", tp = 1, instances = 2 } } }
    spec.cascade = { "cognitora.cascade", chain = { "llama-3.1-8b-instruct", "qwen3-14b" } }
    spec.autoscaler, spec.scaling = nil, nil
    local r = blis.run(spec)
    assert.equal(250, r.completed + r.failed)
    spec.cluster.engine = "stepwise"
    assert.equal(r.hash, blis.run(spec).hash)
  end)

  it("is compared by routing and by variants", function()
    local spec = experiment()
    spec.routing = { "round-robin", "least-loaded" }
    local results = blis.compare(spec)
    assert.equal(2, #results)
    for _, r in ipairs(results) do assert.is_true(r.scaling.scale_ups > 0 and #r.faults > 0) end
    assert.not_equal(results[1].hash, results[2].hash)
    spec = experiment()
    spec.variants = {
      { name = "crash" }, { name = "none", faults = {} },
      { name = "hang", faults = { { at = seconds(6), instance = 1, kind = "hang" } } },
      { name = "hpa", autoscaler = "hpa" },
      { name = "slow start", scaling = { max_replicas = 5, loading_delay_us = seconds(20) } },
    }
    local by_name, names = {}, {}
    for i, r in ipairs(blis.compare(spec)) do
      names[i] = spec.variants[i].name
      by_name[names[i]] = r
    end
    assert.equal(0, #by_name.none.faults)
    assert.equal("hang", by_name.hang.faults[1].kind)
    assert.equal("hpa", by_name.hpa.scaling.policy)
    assert.is_true(by_name["slow start"].scaling.phases.under_provisioned.seconds
      > by_name.crash.scaling.phases.under_provisioned.seconds)
    assert.equal(blis.run(experiment()).hash, by_name.crash.hash)
  end)

  it("has a capacity, which faults lower", function()
    local function capacity(faults)
      local spec = experiment()
      spec.cluster.instances, spec.autoscaler, spec.scaling = 3, nil, nil
      spec.faults = faults
      return blis.capacity { experiment = spec, from = 4, to = 64, tolerance = 0.2,
        targets = { ["ttft_ms.p90"] = 1000 }, requests = 3000, max_requests = 3000,
        replications = 2, quiet = true, jobs = 1 }.value
    end
    local whole = capacity {}
    local broken = capacity {
      { at = 0, instance = 2, kind = "crash", requests = "rerouted" },
      { at = 0, instance = 3, kind = "slow", factor = 4 },
    }
    assert.is_true(broken < 0.7 * whole, ("%s against %s"):format(broken, whole))
  end)

  it("is swept over autoscalers and kinds of faults, with figures of scaling", function()
    local swept = blis.sweep {
      parameters = { { "autoscaler", { "queue-depth", "threshold" } },
        { "kind", { "crash", "hang", "slow" } } },
      trial = function(p)
        return blis.run(experiment { autoscaler = p.autoscaler, kind = p.kind })
      end,
      report = { "scaling.replica_seconds", "scaling.phases.under_provisioned.seconds",
        "cost.usd" },
    }:run { quiet = true, jobs = 1 }
    for _, autoscaler in ipairs { "queue-depth", "threshold" } do
      for _, kind in ipairs { "crash", "hang", "slow" } do
        local expected = blis.run(experiment { autoscaler = autoscaler, kind = kind })
        local point = swept:point { autoscaler = autoscaler, kind = kind }
        local metrics = point.metrics
        assert.near(expected.scaling.replica_seconds, metrics["scaling.replica_seconds"].mean,
          1e-9)
        assert.near(expected.scaling.phases.under_provisioned.seconds,
          metrics["scaling.phases.under_provisioned.seconds"].mean, 1e-9)
      end
    end
  end)

  it("loses hand-offs, too, when an instance is stopped at once", function()
    local function stopped(drain)
      local spec = experiment()
      spec.cluster.prefill_instances, spec.cluster.decode_instances = 2, 2
      spec.cluster.instances, spec.faults, spec.workload.rate = nil, nil, 30
      spec.disaggregation = { bandwidth_gb_s = 1 }
      spec.scaling = { max_replicas = 2, drain = drain }
      spec.autoscaler = { prefill = blis.autoscaler { name = "one", interval_us = seconds(3),
        decide = function() return 1 end } }
      local sim <close> = blis.simulation(spec)
      sim:run_until(seconds(3))
      local state = sim.instances[2].state
      local r = sim:run()
      assert.equal(250, r.completed + r.failed)
      return state, r.failed
    end
    assert.same({ "draining", 0 }, { stopped "wait" })
    local state, failed = stopped "immediate"
    assert.equal("drained", state)
    assert.is_true(failed > 0)
  end)

  it("has regrets of single decisions", function()
    local spec = experiment()
    spec.workload.requests = 60
    local regret = blis.regret { experiment = spec, decisions = { "request_5", "request_40" },
      continuations = 2 }
    assert.equal(2, #regret.decisions)
    assert.equal(blis.run(spec).hash, regret.result.hash)
  end)
end)
