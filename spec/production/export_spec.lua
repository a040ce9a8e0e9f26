-- Policies as configurations of routers, and back.
local blis = require "blis"
local core = require "blis.core"
local export = require "blis.production.export.export"
local files = require "spec.support.files"
local flags = require "blis.production.export.flags"
local import = require "blis.production.import"
local json = require "blis.json"
local names = require "blis.production.export.names"
local program = require "spec.support.program"
local subject = require "blis.production.subject"

local folder = "spec/production/epp/"

local function subject_of(points)
  return { name = "it", label = "it", points = points, signals = {} }
end

--- Exports and sees that what is read again takes the same decisions.
local function round_trip(system, points, what)
  local made = export.of(system, subject_of(points), {})
  assert.is_true(made.decisions >= 300, what)
  assert.equal(made.decisions, made.equal, what)
  assert.equal(made.hash, made.rounded_hash, what)
  return made
end

local function weighted(changes)
  local routing = { "weighted", scorers = { { "llm-d.queue-scorer", 1 } },
    picker = "llm-d.max-score-picker" }
  for key, value in pairs(changes or {}) do routing[key] = value end
  return routing
end

local parameters = {
  ["llm-d.utilization-filter"] = { max_waiting_queue = 3, fallback_on_empty = true },
  ["llm-d.prefix-cache-scorer"] = { block_size = 128, match_length_weight = 0.25 },
  ["llm-d.prefix-cache-affinity-filter"] = { affinity_threshold = 0.5 },
  ["llm-d.session-affinity-scorer"] = { ttl_us = 7000000 },
  ["priority-holdback"] = { min_ceiling = 0.6 },
}

local function with_parameters(name, weight)
  local made = { name, weight }
  for key, value in pairs(parameters[name] or {}) do made[key] = value end
  return made
end

describe("an exported policy, read again, decides the same", function()
  it("for every scorer that llm-d has", function()
    local count = 0
    for _, entry in ipairs(core.policies().scorers) do
      if names.type_of("scorer", entry.name) then
        count = count + 1
        round_trip("llm-d", { routing = weighted { scorers = { with_parameters(entry.name, 3),
          entry.name ~= "llm-d.queue-scorer" and { "llm-d.queue-scorer", 1 } or nil } } },
          entry.name)
      end
    end
    assert.equal(11, count)
  end)

  it("for weights below 0", function()
    local made = round_trip("llm-d", { routing = weighted { scorers = {
      { "inverted", 2, base = { "llm-d.prefix-cache-scorer", block_size = 128 } },
      { "inverted", 0.5, base = "kv-utilization" }, { "llm-d.queue-scorer", 1 } } } },
      "negative weights")
    assert.matches("weight: -2\n", made.config, 1, true)
    assert.matches("weight: -0.5\n", made.config, 1, true)
    made = export.of("llm-d", subject_of { routing = weighted { scorers = {
      { "inverted", 3, base = { "inverted", base = "kv-utilization" } } } } }, {})
    assert.matches("weight: 3\n", made.config, 1, true)
    assert.equal(made.decisions, made.equal)
  end)

  it("for every filter, picker and admission policy that it has", function()
    local count = 0
    for _, entry in ipairs(core.policies().filters) do
      count = count + 1
      round_trip("llm-d", { routing = weighted { filters = { with_parameters(entry.name) } } },
        entry.name)
    end
    for _, name in ipairs { "llm-d.max-score-picker", "llm-d.random-picker", "weighted-random" } do
      count = count + 1
      round_trip("llm-d", { routing = weighted { picker = name } }, name)
    end
    for _, admission in ipairs { "probabilistic", "latency-slo", "gaie-legacy" } do
      count = count + 1
      round_trip("llm-d", { routing = "random", admission = admission }, admission)
    end
    assert.equal(11, count)
  end)

  it("for the queue and for pools", function()
    for _, limit in ipairs { "static", "priority-holdback", "soft-reflective" } do
      round_trip("llm-d", { routing = weighted(), queue = { saturation = { "concurrency",
        max_concurrency = 6 }, usage_limit = with_parameters(limit), fairness = "round-robin",
        order = "slo-deadline", ttl_us = 20000000, band_max_requests = 40 } }, limit)
    end
    for _, decider in ipairs { "always", "never", { "llmd.prefix-based",
      non_cached_tokens = 300 } } do
      round_trip("llm-d", { routing = weighted(), disaggregation = { decider = decider,
        prefill_routing = weighted { scorers = { { "llm-d.prefix-cache-scorer", 2 } } } } })
    end
  end)

  it("for every policy that Dynamo and SMG have", function()
    local given = {
      ["dynamo.kv"] = { overlap_score_credit = 0.7, router_temperature = 0.2,
        router_track_prefill_tokens = false },
      ["smg.cache_aware"] = { gate = "mean", cache_threshold = 0.2, capacity = 4096 },
      ["smg.manual"] = { assignment_mode = "min_load", max_idle_us = 5000000 },
      ["smg.least_load"] = { kv_pressure_weight = 0.3 },
      ["smg.bucket"] = { balance_rel_threshold = 1.25 },
      ["smg.prefix_hash"] = { prefix_token_count = 512 },
    }
    local count = 0
    for system, known in pairs(flags.systems) do
      for name in pairs(known.policies) do
        local routing = { name }
        for key, value in pairs(given[name] or {}) do routing[key] = value end
        round_trip(system, { routing = routing }, name)
        count = count + 1
      end
    end
    assert.equal(13, count)
  end)

  it("for the samples of llm-d's router, in both directions", function()
    for _, name in ipairs { "epp-config", "pd-epp-config", "sim-epp-no-hit-lru",
      "epp-precise-prefix-cache-config", "soft-reflective-ceiling-epp-config" } do
      local path = folder .. name .. ".yaml"
      local first = import.read(path)
      local made = export.of("llm-d", subject.read(path), {})
      assert.equal(made.decisions, made.equal, name)
      files.with(export.text(made), function(again)
        local second = import.read(again)
        local a, b = load(first.lua)("policy"), load(second.lua)("policy")
        assert.same(a.routing, b.routing)
        assert.same(a.disaggregation, b.disaggregation)
        assert.same(a.queue, b.queue)
      end)
    end
  end)
end)

describe("an export", function()
  local function fails(system, points, part)
    local ok, problem = pcall(export.of, system, subject_of(points), {})
    assert.is_false(ok, part)
    assert.matches(part, problem.message, 1, true)
  end

  it("lists what has no counterpart", function()
    local own = blis.scorer { name = "own", score = function() return 1 end }
    fails("llm-d", { routing = weighted { scorers = { { own, 1 }, { "load-balance", 2 } } } },
      "routing.scorers[1]: it is written in Lua")
    fails("llm-d", { routing = weighted { scorers = { { "predicted-latency", 2 } } } },
      "no scorer corresponds to 'predicted-latency'\n")
    fails("llm-d", { routing = weighted { scorers = { { { "prefix-affinity", block_size = 64 },
      3 } } } }, "no scorer corresponds to 'prefix-affinity' with these parameters; the closest is "
        .. "llm-d.prefix-cache-scorer")
    fails("llm-d", { routing = weighted { picker = "softmax" } }, "routing.picker")
    fails("llm-d", { routing = weighted(), scheduler = "sjf" }, "scheduler")
    fails("llm-d", { routing = "least-loaded" }, "'least-loaded' is not a sum of llm-d scores")
    fails("dynamo", { routing = { "dynamo.kv", block_size = 32 } },
      "no flag sets the parameter 'block_size'")
    fails("dynamo", { routing = weighted() }, "dynamo has no routing policy like 'weighted'")
    fails("smg", { routing = "smg.cache_aware" }, "'mean'")
    fails("smg", { routing = "random", queue = {} }, "queue: no flag sets it")
  end)

  local function exported(points, options)
    local made = export.of("llm-d", subject_of(points), options or {})
    return export.text(made), made
  end

  local function queue_text(queue)
    return exported { routing = weighted(), queue = queue }
  end

  it("has all that a queue says, whichever way it says it", function()
    assert.matches("maxConcurrency: 7\n", queue_text { saturation = "concurrency",
      max_concurrency = 7 }, 1, true)
    local text = queue_text(blis.queue { queue_depth_threshold = 3, ttl_us = 1234567,
      usage_limit_threshold = 0.25, order = "priority", band_max_requests = 0,
      bands = { { priority = 3, max_requests = 0 } } })
    for _, part in ipairs { "queueDepthThreshold: 3\n", "defaultRequestTTL: \"1234567us\"\n",
      "minCeiling: 0.25\n", "orderingPolicyRef: fcfs-ordering-policy\n",
      "maxRequests: 1000000000\n" } do
      assert.matches(part, text, 1, true)
    end
    local _, made = queue_text { usage_limit = "linear", usage_limit_threshold = 0.25 }
    assert.equal(made.decisions, made.equal)
  end)

  it("tells of every option that it leaves out", function()
    fails("llm-d", { routing = weighted(), queue = { max_requests = 5, sheds = true } },
      "queue.sheds: the router rejects the arriving request")
    fails("llm-d", { routing = weighted(), queue = { cycle_us = 5000 } },
      "queue.cycle_us: the router's cycle is 1 ms")
    fails("llm-d", { routing = weighted(), queue = { band_selection = function() return 1 end } },
      "queue.band_selection")
    assert.matches("# queue.slo_targets: omitted: requests state their deadlines", queue_text {
      order = "slo-deadline", slo_targets = { critical = 5 } }, 1, true)
    local text = exported { routing = weighted(), disaggregation = { decider = "always",
      bandwidth_gb_s = 50, on_failure = "recompute" } }
    assert.matches("# disaggregation.bandwidth_gb_s: omitted", text, 1, true)
    assert.matches("# disaggregation.on_failure: omitted", text, 1, true)
    assert.not_matches("decider: omitted", text, 1, true)
  end)

  it("has the stage that encodes", function()
    local encode = { encode_decider = "multimodal", encode_routing = weighted(),
      encode_base_us = 20000, encode_us_per_token = 20 }
    local text = exported { routing = weighted(), disaggregation = encode }
    assert.matches("encode: always-disagg-multimodal-decider", text, 1, true)
    assert.matches("- name: encode\n", text, 1, true)
    assert.not_matches("- name: prefill\n", text, 1, true)
    encode.decider = "always"
    local whole = exported { routing = weighted(), disaggregation = encode }
    assert.matches("prefill: always-disagg-pd-decider", whole, 1, true)
    files.with(whole, function(path)
      local read = load(import.read(path).lua)("policy").disaggregation
      assert.same({ "always", "multimodal" }, { read.decider, read.encode_decider })
    end)
  end)

  it("leaves that out where it may, and says so in the file", function()
    local made = export.of("llm-d", subject_of { routing = weighted { scorers = {
      { "predicted-latency", 2 }, { "llm-d.queue-scorer", 1 } } } }, { allow_missing = true })
    assert.matches("# routing.scorers[1]: omitted: no scorer corresponds to 'predicted-latency'",
      export.text(made), 1, true)
    assert.is_nil(made.equal)
  end)

  it("writes weights with six digits, which count from then on", function()
    local made = export.of("llm-d", subject_of { routing = weighted { scorers = {
      { "llm-d.queue-scorer", 1 / 3 }, { "kv-utilization", 2 } } } }, {})
    local text = export.text(made)
    assert.matches("weight: 0.333333\n", text, 1, true)
    assert.matches("weight 0.3333333333333333 is written as 0.333333", text, 1, true)
    assert.matches("decisions of the conformance workload alike", text, 1, true)
  end)

  it("says that ties are drawn there", function()
    local made = export.of("llm-d", subject_of { routing = { "weighted",
      scorers = "llm-d.queue-scorer:1" } }, {})
    assert.matches("ties go to the lowest-id in blis", export.text(made), 1, true)
    assert.matches("alike, up to ties", export.text(made), 1, true)
    assert.equal(made.decisions, made.equal)
  end)

  it("takes the nearest scorers of llm-d for those of the design documents", function()
    for _, routing in ipairs { "weighted", { "weighted", scorers = "queue-depth:2,load-balance:1" },
      { "weighted" } } do
      local made = export.of("llm-d", subject_of { routing = routing }, {})
      assert.matches("'queue-depth' is exported as llm-d.queue-scorer", export.text(made), 1, true)
      assert.is_true(made.equal > made.decisions / 4)
    end
  end)
end)

describe("blis export #host", function()
  it("measures what it exports", function()
    local outcome = program.run("export", "llm-d", folder .. "epp-config.yaml", "--baseline",
      "random", "--seeds", "2")
    assert.equal(0, outcome.status, outcome.err)
    assert.matches("# against random, 9 stock scenarios x 2 seeds, 95 %% intervals:\n#   TTFT mean",
      outcome.out)
    local made = program.run("export", "dynamo", "dynamo.kv", "--format", "json", "--seeds", "2")
    local found = json.decode(made.out)
    assert.matches("^%x+$", found.policy_id)
    for _, name in ipairs { "throughput", "p99_ttft" } do
      local value = found.sim_fitness[name]
      assert.is_true(value > 0 and value < 1)
    end
    assert.is_true(found.sim_metrics.tokens_per_sec > 100)
    assert.is_true(found.sim_metrics.p99_ttft_ms > 0)
    assert.is_true(found.sim_metrics.e2e_mean_ms > 0)
    assert.equal("python -m dynamo.frontend --router-mode kv", found.config_for_deployment.command)
    assert.matches("python -m dynamo.frontend --router-mode kv\n", found.config_text, 1, true)
  end)

  it("writes the skeleton of a plugin for scorers in Lua", function()
    program.with_file([[
      local blis = require "blis"
      return { "weighted", scorers = { { blis.scorer { name = "least work",
        score = function() return 1 end }, 2 }, { "llm-d.queue-scorer", 1 } } }]], function(path)
      os.rename(path, path .. ".lua")
      local outcome = program.run("export", "llm-d", path .. ".lua", "--format", "go")
      os.rename(path .. ".lua", path)
      assert.equal(0, outcome.status, outcome.err)
      assert.matches('const LeastWorkScorerType = "least-work-scorer"', outcome.out, 1, true)
      assert.matches("func (s *LeastWorkScorer) Score(", outcome.out, 1, true)
    end)
    local none = program.run("export", "llm-d", folder .. "epp-config.yaml", "--format", "go")
    assert.equal(2, none.status)
    assert.matches("no scorer of it is written in Lua", none.err, 1, true)
  end)

  it("checks a script for the selector of Dynamo", function()
    local made = program.run("export", "dynamo", "spec/production/least_work.lua", "--format",
      "selector")
    assert.equal(0, made.status, made.err)
    assert.matches("DYN_ROUTER_WORKER_SELECTOR_PLUGIN", made.out, 1, true)
    assert.matches('name = "least-work"', made.out, 1, true)
    program.with_file("return function(_, instances) return instances[1].queue_depth end",
      function(path)
        local bad = program.run("export", "dynamo", path, "--format", "selector")
        assert.equal(2, bad.status)
        assert.matches("the router does not pass instance.queue_depth", bad.err, 1, true)
      end)
  end)

  it("says what is wrong with its command line", function()
    for _, case in ipairs {
      { { "llm-d" }, "expected SYSTEM POLICY, got 1 words" },
      { { "nginx", "random" }, "invalid value 'nginx': expected one of llm-d, dynamo, smg" },
      { { "smg", "random", "--format", "go" }, "--format go requires system llm-d" },
    } do
      local outcome = program.run("export", table.unpack(case[1]))
      assert.equal(2, outcome.status)
      assert.matches(case[2], outcome.err, 1, true)
    end
    assert.equal(1, program.run("export", "llm-d", "least-loaded").status)
  end)
end)
