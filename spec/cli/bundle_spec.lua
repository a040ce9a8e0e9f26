local blis = require "blis"
local bundle = require "blis.cli.bundle"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

--- What bundle.add makes of a text and of the values of flags.
local function values_of(text, given)
  local values = { experiment = {}, cluster = {}, policies = {}, scaling = {}, queue = {} }
  for section, options in pairs(given or {}) do
    for key, value in pairs(options) do values[section][key] = value end
  end
  local said = {}
  files.with(text, function(path)
    bundle.add(path, values, function(format, ...)
      said[#said + 1] = format:format(...):gsub("^%S+: ", "")
    end)
  end)
  return values, said
end

local whole = [[
admission:
  policy: tier-shed
  token_bucket_capacity: 500
  token_bucket_refill_rate: 20.5
  tier_shed_threshold: 2
  tier_shed_min_priority: 1
  gaie_qd_threshold: 3
  gaie_kv_threshold: 0.5
  slo_priorities: {batch: 2, critical: 9}
routing:
  policy: weighted
  scorers:
    - {name: queue-depth, weight: 2}
    - name: kv-utilization
      weight: 1.5
priority: {policy: constant}
scheduler: priority-fcfs
preemption: {policy: priority}
tenant_budgets: {a: 0.5, b: 1}
node_pools: []
autoscaler:
  interval_us: 0
  hpa_scrape_delay: {mean: 1, stddev: 0.5}
  analyzer: {kv_cache_threshold: 0.9, scale_up_threshold: 0, scale_down_boundary: 0.3}
instance_lifecycle:
  loading_delay: {mean: 30}
  warm_start_initial_instances: true
]]

describe("policy bundles", function()
  it("stand for flags", function()
    local values, said = values_of(whole)
    assert.same({}, said)
    assert.same({ admission = "tier-shed", routing = "weighted", priority = { "constant" } },
      values.experiment)
    assert.same({
      scheduler = "priority-fcfs", preemption_policy = "priority",
      slo_priorities = { batch = 2, critical = 9 }, tenant_budgets = { a = 0.5, b = 1 },
    }, values.cluster)
    assert.same({ { "queue-depth", 2 }, { "kv-utilization", 1.5 } }, values.policies.scorers)
    assert.same({
      ["token-bucket"] = { bucket_size = 500, refill_rate = 20.5 },
      ["tier-shed"] = { threshold = 2, min_priority = 1 },
      ["gaie-legacy"] = { qd_threshold = 3, kv_threshold = 0.5 },
    }, values.policies.of_admission)
  end)

  it("come after flags", function()
    local values = values_of(whole, {
      experiment = { admission = "reject-all", routing = "round-robin" },
      cluster = { scheduler = "sjf", preemption_policy = "fcfs" },
      policies = { scorers = "load-balance:1" },
    })
    assert.same({ admission = "reject-all", routing = "round-robin", priority = { "constant" } },
      values.experiment)
    assert.equal("sjf", values.cluster.scheduler)
    assert.equal("fcfs", values.cluster.preemption_policy)
    assert.equal("load-balance:1", values.policies.scorers)
  end)

  it("with groups do not go with a number of instances", function()
    local _, problem = pcall(values_of, "groups: [{instances: 2}]\n",
      { cluster = { instances = 3 } })
    assert.matches("%-%-num%-instances cannot be combined with groups of %S+",
      problem.message)
  end)

  it("may hold empty texts, lists and blocks", function()
    local values = values_of("admission: {policy: \"\"}\nrouting:\n  scorers: []\nscheduler: ''\n")
    assert.same({}, values.experiment)
    assert.is_nil(values.policies.scorers)
    assert.is_nil(values.cluster.scheduler)
  end)

  it("tell what has no effect", function()
    local _, said = values_of("priority: {policy: slo-based}\n",
      { experiment = { profile = "go-blis" } })
    assert.same({ "priority.policy has no effect" }, said)
  end)

  it("may be written as the macro-level plan writes them", function()
    local values = values_of([[
admission: {type: token-bucket, params: {bucket_size: 100, per_tenant: false}}
priority: {type: slo-based, params: {realtime_score: 7}}
routing: {type: prefix-affinity, params: {max_entries: 5}}
scheduler: {type: priority-fcfs}
]])
    assert.same({ admission = "token-bucket", routing = "prefix-affinity",
      priority = { "slo-based", realtime_score = 7 } }, values.experiment)
    assert.same({ bucket_size = 100, per_tenant = false },
      values.policies.of_admission["token-bucket"])
    assert.same({ max_entries = 5 }, values.policies.of_routing["prefix-affinity"])
    assert.equal("priority-fcfs", values.cluster.scheduler)
  end)

  --- The hash of a run with a bundle, and what the run says of its policies.
  local function run_with(text, ...)
    local more, read = { ... }, nil
    files.with(text, function(path)
      read = core.json_read(commands.output_of("run", "--format", "json", "--num-instances", "3",
        "--num-requests", "60", "--policy-config", path, table.unpack(more)))
    end)
    return read
  end

  --- Fails unless a bundle is refused with a message that holds a text.
  local function refuses(text, part)
    local ok, problem = pcall(values_of, text)
    assert.is_false(ok, text)
    assert.is_truthy(tostring(problem.message):find(part, 1, true), tostring(problem.message))
  end

  it("may be written as the scorer framework writes them", function()
    local values = values_of([[
routing-policy: weighted
routing-scorers:
  - name: prefix-affinity
    weight: 3.0
  - name: queue-depth
    weight: 2.0
  - name: kv-utilization
    weight: 2.0
]])
    assert.equal("weighted", values.experiment.routing)
    assert.same({ { "prefix-affinity", 3 }, { "queue-depth", 2 }, { "kv-utilization", 2 } },
      values.policies.scorers)
    local flat = "routing-policy: weighted\nrouting-scorers: [{name: load-balance, weight: 2}]\n"
    assert.equal(run_with(flat).hash, run_with("routing: {policy: weighted, scorers: "
      .. "[{name: load-balance, weight: 2}]}").hash)
    assert.not_equal(run_with(flat).hash, run_with("routing-policy: round-robin").hash)
    assert.equal(run_with("routing-policy: weighted").hash,
      run_with("{}", "--routing-policy", "weighted").hash)
    refuses("routing-policy: weighted\nrouting: {policy: weighted}\n", "are aliases")
    refuses("routing-policy: weightd\n", "weighted")
    refuses("routing-scorers: [{name: load-balance, wait: 2}]\n", "weight")
  end)

  it("may be all that the macro-level plan writes", function()
    local file = assert(io.open "examples/policy-config.yaml")
    local text = file:read "a"
    file:close()
    local read = run_with(text, "--slo-class", "batch")
    assert.equal(60, read.arrived)
    assert.is_table(read.scaling)
    local values = values_of(text)
    assert.equal("priority-fcfs", values.cluster.scheduler)
    assert.equal("priority", values.cluster.preemption_policy)
    local plain = values_of "scheduler: {type: priority-fcfs, params: {respect_priority: false}}"
    assert.equal("fcfs", plain.cluster.scheduler)
    assert.is_nil(plain.cluster.preemption_policy)
    local reserving = values_of "scheduler: {type: sjf, params: {preemption_enabled: false}}"
    assert.equal("whole", reserving.cluster.kv_reservation)
    assert.is_nil(plain.cluster.kv_reservation)
    refuses("scheduler: {type: sjf, params: {preemption_enabled: false}}\n"
      .. "preemption: {kv_reservation: as-needed}\n", "requires kv_reservation 'whole'")
    refuses("scheduler: {type: sjf, params: {preemption_enable: true}}", "preemption_enabled")
    refuses("scheduler: {type: sjf, parms: {}}", "expected type or params")
    refuses("scheduler: {type: fcfs, params: {preemption_policy: fcfs}}\n"
      .. "preemption: {preemption_policy: fcfs}\n", "are aliases")
  end)

  it("turn the gateway's queue on", function()
    for _, text in ipairs { "queue: true", "queue: {}" } do
      local values = values_of(text)
      assert.is_true(values.policies.flow_control)
      assert.same({}, values.queue)
    end
    assert.is_nil(values_of("queue: false").policies.flow_control)
    local refused = values_of("queue: {max_requests: 3}", { policies = { flow_control = false } })
    assert.is_false(refused.policies.flow_control)
    assert.same({}, refused.queue)
    local values = values_of [[
queue:
  saturation: {policy: concurrency, params: {max_concurrency: 2}}
  usage_limit: priority-holdback
  fairness: round-robin
]]
    assert.same({ saturation = { "concurrency", max_concurrency = 2 },
      usage_limit = "priority-holdback", fairness = "round-robin" }, values.queue)
  end)

  it("give runs the parameters of their policies", function()
    local function rejected(text, ...)
      local got
      local more = { ... }
      files.with(text, function(path)
        got = core.json_read(commands.output_of("run", "--format", "json", "--num-requests", "100",
          "--rate", "100", "--slo-class", "batch", "--tenant", "a", "--policy-config", path,
          table.unpack(more))).rejected
      end)
      return got
    end
    local tier_shed = "admission: {policy: tier-shed, tier_shed_threshold: 2}"
    assert.is_true(rejected(tier_shed) > 50)
    assert.equal(0, rejected "admission: {policy: tier-shed, tier_shed_threshold: 1000}")
    assert.equal(0, rejected(tier_shed, "--admission-policy", "always-admit"))
    assert.is_true(rejected("admission: {tier_shed_threshold: 2}", "--admission-policy",
      "tier-shed") > 50)
    assert.equal(0, rejected [[
admission: {policy: tier-shed, tier_shed_threshold: 2, slo_priorities: {batch: 3}}]])
    assert.equal(100, rejected "admission: {policy: token-bucket, token_bucket_capacity: 1}")
    assert.equal(0, rejected("admission: {policy: token-bucket, token_bucket_capacity: 1}",
      "--token-bucket-capacity", "1e9"))
    assert.is_true(rejected "tenant_budgets: {a: 0.01}" > 50)
    assert.equal(0, rejected "tenant_budgets: {b: 0.01}")
  end)

  local function message_of(text)
    local message
    files.with(text, function(path)
      local _, problem = commands.error_of("run", "--num-requests", "3", "--policy-config", path)
      message = problem:gsub(path:gsub("%p", "%%%0"), "BUNDLE")
    end)
    return message
  end

  it("are refused with file, line and key", function()
    for _, case in ipairs {
      { "", "BUNDLE: is empty" },
      { "x", "BUNDLE:1: invalid value 'x': expected keys and values" },
      { "scheduler: fcfs\nadmision: {}\n",
        "BUNDLE:2: unknown option 'admision'; did you mean 'admission'?" },
      { "routing_policy: weighted\n",
        "BUNDLE:1: unknown option 'routing_policy'; did you mean 'routing-policy'?" },
      { "routing-scorer: []\n",
        "BUNDLE:1: unknown option 'routing-scorer'; did you mean 'routing-scorers'?" },
      { "scheduler: sjf\nscheduler: fcfs\n",
        "BUNDLE:2: key 'scheduler' is given twice, first in line 1" },
      { "scheduler: sjff\n", "BUNDLE:1: scheduler: invalid value 'sjff': expected one of fcfs" },
      { "admission:\n  policy: tier-shad\n", "BUNDLE:2: admission.policy: unknown admission "
        .. "policy 'tier-shad'; did you mean 'tier-shed'?" },
      { "admission:\n  polcy: tier-shed\n",
        "BUNDLE:2: admission: unknown option 'polcy'; did you mean 'policy'?" },
      { "admission: 5\n", "BUNDLE:1: admission: invalid value 5: expected a table of options" },
      { "admission:\n  policy: x\n  gaie_kv_threshold: 1.5\n", "BUNDLE:3: "
        .. "admission.gaie_kv_threshold: invalid value 1.5: expected a number above 0" },
      { "admission: {slo_priorities: {batch: 101}}\n", "BUNDLE:1: admission.slo_priorities.batch: "
        .. "invalid value 101: expected an integer from -100 to 100" },
      { "admission: {slo_targets: {critical: 0}}\n",
        "BUNDLE:1: admission.slo_targets.critical: invalid value 0: expected an integer" },
      { "tenant_budgets:\n  a: 1.5\n",
        "BUNDLE:2: tenant_budgets.a: invalid value 1.5: expected a number from 0 to 1" },
      { "routing:\n  scorers:\n    - {name: queue-depth, weight: 1}\n"
        .. "    - {name: queue-depth, weight: 1}\n",
        "BUNDLE:4: routing.scorers[2]: duplicate scorer 'queue-depth'" },
      { "routing:\n  scorers:\n    - name: queue-depth\n      weight: -1\n", "BUNDLE:4: "
        .. "routing.scorers[1].weight: invalid value -1: expected a number above 0" },
      { "routing: {scorers: {queue-depth: 1}}\n",
        "BUNDLE:1: routing.scorers: invalid value of type table: expected a list of { name, weight "
          .. "}" },
      { "node_pools: [{name: a, gpus_per_node: 1}]\n",
        "BUNDLE:1: node_pools[1].gpu_type is missing" },
      { "node_pools: [{name: a, gpu_type: H100, gpus_per_node: 1, initial_nodes: 2}]\n",
        "BUNDLE:1: node_pools[1]: max_nodes is 0, less than initial_nodes, 2" },
      { "autoscale: {policy: keda}\nautoscaler: {interval_us: 1000}\n", "BUNDLE:1: autoscale and "
          .. "autoscaler.interval_us both configure an autoscaler; set only one of them" },
      { "autoscaler: {analyzer: {scale_down_boundary: 0.9}}\n",
        "BUNDLE:1: autoscaler.analyzer: scale_down_boundary, 0.9, is not below "
          .. "scale_up_threshold, 0.8" },
      { "queue:\n  saturation:\n    name: concurrency\n    max_concurrency: 2\n",
        "BUNDLE:4: queue.saturation: unknown option 'max_concurrency'" },
      { "queue:\n  saturation: {params: {max_concurrency: 2}}\n",
        "BUNDLE:2: queue.saturation.policy is missing" },
      { "queue:\n  saturation: {policy: concurrency, parms: {max_concurrency: 2}}\n",
        "BUNDLE:2: queue.saturation: unknown option 'parms'; did you mean 'params'?" },
      { "queue:\n  usage_limit: {name: static}\n",
        "BUNDLE:2: queue.usage_limit: unknown option 'name'" },
      { "queue:\n  saturation: [concurrency]\n", "BUNDLE:2: queue.saturation: expected named "
        .. "options like policy" },
      { "scheduler: fcfs\nqueue:\n", "BUNDLE:2: queue: no value, expected true, false, or "
        .. "a table of options" },
      { "# flat\nrouting-policy: weighted\n\nrouting-scorers:\n  - name: queue-depth\n"
          .. "    weight: 1\n  - name: nosuch\n    weight: 2\n",
        "BUNDLE:7: routing-scorers[2]: unknown scorer 'nosuch'" },
      { "# flat\nrouting-scorers:\n  - name: queue-depth\n    weight: 0\n",
        "BUNDLE:4: routing-scorers[1].weight: invalid value 0" },
      { "# flat\nrouting-scorers: queue-depth:2\n",
        "BUNDLE:2: routing-scorers: invalid value 'queue-depth:2': expected a list of" },
      { "# flat\n\nrouting-policy: nosuch\n", "BUNDLE:3: routing-policy: unknown routing" },
      { "admission:\n  type: nosuch\n", "BUNDLE:2: admission.type: unknown admission policy" },
      { "admission:\n  type: token-bucket\n  params:\n    bucket_size: x\n",
        "BUNDLE:4: admission.params.bucket_size: invalid value 'x'" },
      { "routing:\n  policy: weighted\n  params: [1]\n",
        "BUNDLE:3: routing.params[1]: 1 has no name, expected { NAME: value, ... }" },
      { "queue:\n  saturation:\n    policy: concurrency\n    params: [a]\n",
        "BUNDLE:4: queue.saturation.params[1]: 'a' has no name, expected" },
      { "autoscale:\n  type: threshold\n  params:\n    cooldwn: 3\n",
        "BUNDLE:4: autoscale.params: unknown option 'cooldwn'" },
      { "scheduler:\n  type: nosuch\n", "BUNDLE:2: scheduler.type: invalid value 'nosuch'" },
      { "scheduler: fcfs\n---\nscheduler: sjf\n", "BUNDLE:2: a second document begins here" },
      { "queue: 7\n", "BUNDLE:1: queue: invalid value 7: expected true, false or a table" },
      { "instance_lifecycle: {drain_policy: x}\n",
        "BUNDLE:1: instance_lifecycle: unknown option 'drain_policy'" },
    } do
      assert.equal(case[2], message_of(case[1]):sub(1, #case[2]))
    end
    local code = commands.error_of("run", "--policy-config", "/nosuch/bundle.yaml")
    assert.equal("io", code)
  end)
end)

describe("a bundle under profile go-blis", function()
  it("leaves requests the priority of their SLO class", function()
    files.with("priority: {policy: constant}\n", function(path)
      local function run(...)
        return commands.output_of("run", "--profile", "go-blis", "--workload", "mixed-slo",
          "--scheduler", "priority-fcfs", "--rate", "200", "--num-requests", "100",
          "--max-num-running-reqs", "4", ...)
      end
      assert.equal(run(), run("--policy-config", path))
    end)
  end)
end)

describe("numbers by name", function()
  local workload = { rate = 100, requests = 60, slo_class = "batch", tenant = "a" }

  it("are options of a cluster", function()
    local function rejected(cluster)
      return blis.run {
        cluster = cluster, workload = workload, admission = { "tier-shed", threshold = 1 },
      }.rejected
    end
    assert.is_true(rejected {} > 20)
    assert.equal(0, rejected { slo_priorities = { batch = 3 } })
    assert.is_true(blis.run {
      cluster = { tenant_budgets = { a = 0 } }, workload = workload,
    }.rejected > 20)
  end)

  it("are checked one by one", function()
    for _, case in ipairs {
      { { slo_priorities = { batch = 1.5 } },
        "cluster.slo_priorities.batch: invalid value 1.5: expected an integer from -100 to 100" },
      { { tenant_budgets = { b = 2, a = "x" } },
        "cluster.tenant_budgets.a: invalid value 'x': expected a number from 0 to 1" },
      { { tenant_budgets = { 0.5 } }, "cluster.tenant_budgets: invalid value of type table: "
        .. "expected a table of names with a number from 0 to 1 each" },
      { { tenant_budgets = 1 }, "cluster.tenant_budgets: invalid value 1" },
    } do
      local ok, problem = pcall(blis.run, { cluster = case[1] })
      assert.is_false(ok)
      assert.is_truthy(problem.message:find(case[2], 1, true), problem.message)
    end
  end)
end)
