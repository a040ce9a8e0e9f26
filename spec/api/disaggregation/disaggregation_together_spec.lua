-- Prefill and decode apart, together with everything else there is: each pair of features gives the
-- same by both engines and as a clone, no request and no hand-off is lost; or is refused, and said
-- why.
local blis = require "blis"
local pairs_of = require "spec.support.feature_pairs"

local seconds = blis.seconds
local requests = 160

local function experiment()
  return {
    cluster = { model = "qwen3-14b", prefill_instances = 2, decode_instances = 2, kv_blocks = 300,
      max_num_seqs = 16, max_num_batched_tokens = 512 },
    workload = { rate = 16, requests = requests, prompt_tokens = 500, output_tokens = 60 },
    routing = "least-loaded",
    disaggregation = { bandwidth_gb_s = 2, transfer_timeout_us = seconds(20),
      on_failure = "retry" },
  }
end

local function preempts(s)
  s.cluster.kv_blocks, s.workload.output_tokens = 90, 300
  s.workload.rate = 8
end

local features = {
  { "room first, layer by layer", function(s)
    local d = s.disaggregation
    d.order, d.first_token, d.overlap = "destination", "prefill", "layers"
  end },
  { "prefill routed first", function(s) s.disaggregation.stage_order = "prefill-first" end },
  { "a conditional decider", function(s)
    s.workload.prompt_tokens, s.workload.prompt = nil, { "gaussian", mean = 500,
      std_dev = 300, min = 20, max = 900 }
    s.disaggregation.decider = { "dynamo.conditional-disagg", policy = "isl_or_load",
      prefill_busy_threshold = 1 }
  end },
  { "a pair chosen by a script", function(s)
    s.routing = blis.router { name = "pair", route = function(_, instances, context)
      if context.stage == "prefill" then return 1 end
      if #instances < 1 or #context.prefill < 1 then return 1 end
      local p = context.prefill[1]
      for _, one in ipairs(context.prefill) do
        if one.pending_prefill_tokens < p.pending_prefill_tokens then p = one end
      end
      local d = instances[1]
      for _, one in ipairs(instances) do
        if context.links.transfer_ms(p, one) + one.in_flight
          < context.links.transfer_ms(p, d) + d.in_flight then d = one end
      end
      return { prefill = p, decode = d }
    end }
  end },
  { "sessions", function(s)
    s.workload.sessions = { max_rounds = 3, think_time_us = 400000 }
    s.workload.output_tokens = 40
  end },
  { "late signals", function(s)
    s.cluster.snapshot_refresh_us, s.cluster.cache_signal_delay_us = 200000, 100000
  end },
  { "prefixes and scorers", function(s)
    s.routing, s.workload.prefixes = "weighted", { groups = 5, tokens = 256, zipf = 1 }
  end },
  { "a budget of a tenant", function(s)
    s.workload.tenant, s.cluster.tenant_budgets = "a", { a = 0.1 }
    s.workload.slo_class = "sheddable"
  end },
  { "a queue of the gateway", function(s) s.queue = {} end },
  { "faults of both pools", function(s)
    s.faults = {
      { at = seconds(3), instance = 1, kind = "crash", recover_after = seconds(4),
        requests = "rerouted" },
      { at = seconds(6), instance = 4, kind = "crash", recover_after = seconds(2),
        requests = "rerouted" },
      { kind = "slow", mtbf = seconds(10), recover_after = seconds(4), factor = 2 },
    }
  end },
  { "preemption", preempts },
  { "a CPU tier", function(s)
    preempts(s)
    s.cluster.kv_cpu_blocks, s.workload.prefixes = 400, { groups = 5, tokens = 256, zipf = 1 }
  end },
  { "deadlines", function(s)
    s.workload.rate, s.workload.timeout_us = 60, 1300000
  end },
  { "decisions with counterfactuals", function(s)
    s.trace_level, s.counterfactual_k = "decisions", 2
  end },
  { "a series and targets", function(s)
    s.series_interval_us, s.slo_targets = seconds(2), { default = { ttft_ms = 500 } }
  end },
  { "an instance of both roles", function(s)
    s.cluster.prefill_decode_instances = 1
  end },
  { "few records in memory", function(s) s.cluster.max_requests_in_memory = 1000 end },
  { "no records", function(s) s.keep_records = false end },
}

-- What does not go together, and how that is said.
local refused = {
  ["no records + a series and targets"] = "needs records",
  ["prefill routed first + a conditional decider"] = "every request is split",
}

local function check_handoffs(r, is_open)
  if not is_open then assert.equal(requests, r.arrived) end
  local h = r.handoffs
  assert.equal(h.started, h.completed + h.failed + h.timed_out + h.cancelled + h.in_flight)
  assert.equal(0, h.in_flight)
  assert.is_true(h.completed > 0)
  if rawget(r, "decisions") then
    local routed = 0
    for _, decision in ipairs(r.decisions) do
      routed = routed + (decision.kind == "routing" and 1 or 0)
    end
    assert.is_true(routed >= h.started)
  end
end

local walk = {
  experiment = experiment, features = features, refused = refused, clone_at_us = seconds(4),
  steps = 100, same = { "handoffs" },
  check = function(r, a, b) check_handoffs(r, a == "sessions" or b == "sessions") end,
}

--- What a feature does, so that it is there at all.
local shows = {
  ["a conditional decider"] = function(r) return r.handoffs.colocated > 0 end,
  ["late signals"] = function(r, plain) return r.hash ~= plain.hash end,
  ["room first, layer by layer"] = function(r, plain)
    return r.ttft_ms.mean < plain.ttft_ms.mean
  end,
  ["a budget of a tenant"] = function(r) return r.rejected > 0 end,
  ["faults of both pools"] = function(r) return r.rerouted > 0 and #r.faults > 2 end,
  preemption = function(r) return r.preemptions > 0 end,
  ["a CPU tier"] = function(r) return r.preemptions > 0 and r.cpu_reload_rate > 0 end,
  deadlines = function(r) return r.timed_out > 0 and r.handoffs.timed_out > 0 end,
  ["an instance of both roles"] = function(r)
    local seen = {}
    for _, request in ipairs(r.requests) do
      seen[request.prefill_instance or ""] = true
      seen[request.instance] = true
    end
    return seen.instance_4
  end,
}

describe("prefill/decode disaggregation", function()
  it("does what each feature says", function()
    local plain = blis.run(experiment())
    for _, feature in ipairs(features) do
      local show = shows[feature[1]]
      if show then
        local result = blis.run(pairs_of.experiment(walk, feature, feature))
        assert.is_truthy(show(result, plain), feature[1])
      end
    end
  end)

  pairs_of.each(walk, function(name, run) it("with " .. name, run) end)

  it("asks a cascade of models, each with pools of its own", function()
    local small, large = "qwen/qwen2.5-7b-instruct", "qwen/qwen3-14b"
    local function run(engine, changes)
      local spec = experiment()
      spec.cluster = { engine = engine, groups = {
        { model = small, role = "prefill" }, { model = small, role = "decode" },
        { model = large, role = "prefill" }, { model = large, role = "decode" },
      } }
      spec.cascade = { chain = { small, large }, confidence_threshold = -1,
        quality = function(request, model)
          return model == small and request.prompt_tokens % 2 == 0 and -2 or -0.5
        end }
      spec.workload.prompt_tokens, spec.workload.prompt = nil, { "gaussian", mean = 300,
        std_dev = 100, min = 20, max = 900 }
      for key, value in pairs(changes or {}) do spec[key] = value end
      return blis.run(spec)
    end
    local r = run "fast"
    pairs_of.check_endings(r)
    check_handoffs(r)
    local on_large = 0
    for _, request in ipairs(r.requests) do
      local name = request.instance
      assert.is_true(name == "instance_1" or name == "instance_3")
      on_large = on_large + (name == "instance_3" and 1 or 0)
    end
    assert.is_true(on_large > 0)
    assert.is_true(r.handoffs.started == requests + on_large)
    assert.equal(r.hash, run("stepwise").hash)
  end)

  it("is swept, and judged by what would have been", function()
    local found = blis.sweep {
      parameters = { { "bandwidth_gb_s", { 1, 25 } }, { "order", { "source", "destination" } } },
      replications = 2,
      trial = function(p)
        local spec = experiment()
        spec.disaggregation.bandwidth_gb_s, spec.disaggregation.order = p.bandwidth_gb_s, p.order
        spec.seed = p.seed
        return blis.run(spec)
      end,
    }:run { jobs = 2, quiet = true }
    assert.equal(4, #found.points)
    assert.equal(0, #found.failures)
    local regret = blis.regret { experiment = experiment(), decisions = 3, continuations = 2 }
    assert.is_true(#tostring(regret) > 0)
  end)

  it("counts what is on its way as load of where it will decode", function()
    -- Prompts take long and arrive together: all are routed before any is decoded.
    local spec = experiment()
    spec.workload = { rate = 1000, requests = 20, prompt_tokens = 2000, output_tokens = 5 }
    local r = blis.run(spec)
    assert.equal("10 10 10 10", tostring(r.requests_per_instance))
  end)

  it("keeps the times of each stage in records", function()
    local function check_stages(order, overlaps)
      local spec = experiment()
      spec.disaggregation.order, spec.disaggregation.overlap = order, overlaps and "layers" or nil
      for _, r in ipairs(blis.run(spec).requests) do
        assert.equal("completed", r.state)
        assert.is_true(r.arrival_us <= r.prefill_admitted_us)
        assert.is_true(r.prefill_admitted_us < r.prefill_end_us)
        assert.is_true(overlaps or r.prefill_end_us <= r.transfer_start_us)
        assert.is_true(r.transfer_start_us <= r.transfer_end_us)
        assert.is_true(r.prefill_end_us <= r.transfer_end_us)
        assert.is_true(r.transfer_end_us <= r.arrival_us + r.e2e_us)
        assert.is_true(r.moved_bytes > 0)
        assert.matches("^instance_[01]$", r.prefill_instance)
        assert.matches("^instance_[23]$", r.instance)
      end
    end
    check_stages("source", false)
    check_stages("destination", false)
    check_stages("destination", true)
  end)
end)
