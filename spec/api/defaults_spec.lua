--- Versions of the defaults of profile design.
local blis = require "blis"
local core = require "blis.core"
local defaults = require "blis.config.defaults"
local files = require "spec.support.files"
local small = require "spec.support.small"

local says, message_of = small.says, small.message_of

--- Runs a small experiment with these options of the cluster, and of the experiment.
local function run(cluster, more)
  local spec = {
    cluster = { instances = 2 },
    workload = { rate = 30, requests = 60, prompt_tokens = 300, output_tokens = 30 },
  }
  for key, value in pairs(cluster or {}) do spec.cluster[key] = value end
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local first, newest = defaults.names[1], defaults.newest.name

describe("a version of the defaults", function()
  it("is the newest if none is named, and every result states it", function()
    assert.equal("1.0", newest)
    local r = run()
    assert.equal(newest, r.setup.defaults)
    assert.equal(run({ defaults = newest }).hash, r.hash)
    says(tostring(r), "\nrouting round-robin; seed 42; defaults 1.0\n")
    says(tostring(run { defaults = first }), "\nrouting round-robin; seed 42; defaults 1.0-rc1\n")
  end)

  it("can be named in the experiment or in the cluster", function()
    local of_cluster, of_experiment = run { defaults = first }, run(nil, { defaults = first })
    assert.equal(first, of_cluster.setup.defaults)
    assert.equal(first, of_experiment.setup.defaults)
    assert.equal(of_cluster.hash, of_experiment.hash)
    assert.equal(of_cluster.hash, run({ defaults = first }, { defaults = first }).hash)
    assert.not_equal(of_cluster.hash, run().hash)
    says(message_of(run, { defaults = first }, { defaults = newest }),
      "defaults is '1.0', and cluster.defaults is '1.0-rc1'; expected one version")
  end)

  it("1.0-rc1 is the calibrated model without a front end", function()
    local old = run { defaults = first }
    assert.equal("calibrated", old.setup.latency_model)
    assert.is_nil(old.requests[1].frontend_us)
    assert.equal(run({ latency_model = "calibrated" }, { defaults = first }).hash, old.hash)
  end)

  it("1.0 is the composed model with a front end", function()
    local new = run()
    assert.equal("composed", new.setup.latency_model)
    assert.is_true(new.requests[1].frontend_us > 0)
    assert.equal(run { latency_model = "composed", frontend = "completions",
      async_scheduling = true }.hash, new.hash)
  end)

  it("holds for all groups, and for parts of a script", function()
    local r = blis.run { defaults = first, workload = { requests = 3 },
      cluster = { groups = { { instances = 1 }, { instances = 1, hardware = "L40S", tp = 2 } } } }
    for _, group in ipairs(r.setup.groups) do assert.equal("calibrated", group.latency_model) end
    local pools = blis.run { cluster = { defaults = first, prefill_instances = 1,
      decode_instances = 1 }, workload = { requests = 3 } }
    for _, group in ipairs(pools.setup.groups) do
      assert.equal("calibrated", group.latency_model)
    end
    assert.equal(blis.kv_capacity({ defaults = first, gpu_memory_utilization = 0.8 }).blocks,
      blis.kv_capacity({ kv_reserve = "flat", gpu_memory_utilization = 0.8 }).blocks)
  end)

  it("gives way to every option that is set", function()
    assert.equal("roofline", run({ defaults = first, latency_model = "roofline" })
      .setup.latency_model)
    assert.equal("scripted one", run { defaults = first,
      latency_model = { name = "scripted one", step_time = function() return 1000 end } }
      .setup.latency_model)
  end)

  it("is an error if there is none of that name, and lists those that exist", function()
    for _, call in ipairs {
      function() run { defaults = "0.9" } end,
      function() blis.kv_capacity { defaults = "0.9" } end,
      function() blis.instance { defaults = "0.9" } end,
    } do
      local message = message_of(call)
      says(message, "defaults: invalid value '0.9': expected one of 1.0-rc1, 1.0")
    end
    says(message_of(run, nil, { defaults = "0.9" }),
      "defaults: invalid value '0.9': expected one of 1.0-rc1, 1.0")
    for _, value in ipairs { 1, true, {} } do
      says(message_of(run, { defaults = value }), "expected one of 1.0-rc1, 1.0")
    end
  end)

  it("is none of profile go-blis, which has its own defaults", function()
    local r = run(nil, { profile = "go-blis" })
    assert.is_nil(r.setup.defaults)
    assert.equal("trained-physics", r.setup.latency_model)
    assert.not_matches("defaults", tostring(r), 1, true)
    says(message_of(run, { defaults = first }, { profile = "go-blis" }),
      "cluster.defaults: profile go-blis has its own defaults")
    says(message_of(run, nil, { profile = "go-blis", defaults = newest }),
      "defaults: profile go-blis has its own defaults")
  end)
end)

describe("the default latency model", function()
  local ones = ("1, "):rep(13) .. "1"
  local coefficients = ([[
coefficients:
  - kind: calibrated
    model: qwen/qwen3-14b
    hardware: H100
    tp: 1
    alpha: [0, 0, 0]
    beta: [%s]
]]):format(ones)

  it("is calibrated if coefficients are set, which the notes state", function()
    local beta = {}
    for i = 1, 14 do beta[i] = 1 end
    local r = run { alpha_coeffs = { 0, 0, 0 }, beta_coeffs = beta }
    assert.equal("calibrated", r.setup.latency_model)
    says(r.setup.notes, "latency model calibrated, not composed: coefficients are set\n")
    assert.equal("", run({ latency_model = "calibrated", alpha_coeffs = { 0, 0, 0 },
      beta_coeffs = beta }).setup.notes:match "latency model [^\n]*" or "")
  end)

  it("is calibrated if a file of the catalogue has coefficients of the engine", function()
    files.with(coefficients, function(path)
      local yaml = path .. ".yaml"
      assert(os.rename(path, yaml))
      local r = run { catalogue = yaml }
      assert.equal("calibrated", r.setup.latency_model)
      says(r.setup.notes, ("latency model calibrated, not composed: %s has coefficients of this "
        .. "engine\n"):format(yaml))
      local other = run { catalogue = yaml, model = "meta-llama/llama-3.1-8b-instruct" }
      assert.equal("composed", other.setup.latency_model)
      assert.equal("composed", run({ catalogue = yaml, tp = 2 }).setup.latency_model)
      assert.equal("composed", run({ catalogue = yaml, latency_model = "composed" })
        .setup.latency_model)
      os.remove(yaml)
    end)
  end)

  it("is composed for a GPU without constants of its own, and an error without rates", function()
    local own = { name = "own", memory_gib = 80, usable_gib = 79, bandwidth_tb_s = 2,
      peak_tflops = 500 }
    assert.equal("composed", run({ hardware = own }).setup.latency_model)
    own.peak_tflops = nil
    says(message_of(run, { hardware = own, kv_blocks = 1000 }), "peak_tflops is missing")
  end)

  it("lets a replay of a closed loop without think time give the hash of its run", function()
    local lengths = { "gaussian", mean = 100, std_dev = 60, min = 2, max = 300 }
    for _, engine in ipairs { "fast", "stepwise" } do
      local spec = { cluster = { instances = 2, engine = engine }, keep_requests = true,
        workload = { seed = 3, num_requests = 60, clients = { { id = "u", concurrency = 7,
          think_time_us = 0, input_distribution = lengths, output_distribution = lengths } } } }
      local r = blis.run(spec)
      spec.workload = r:trace()
      assert.equal(r.hash, blis.run(spec).hash)
    end
  end)
end)

describe("the default limits of a step", function()
  --- Returns max_num_batched_tokens and max_num_seqs of an instance with these options.
  local function limits(options)
    local cluster = { kv_blocks = 1000 }
    for key, value in pairs(options) do cluster[key] = value end
    local seen = {}
    blis.run { cluster = cluster, workload = { requests = 1 },
      routing = function(_, instances)
        seen = { instances[1].max_num_batched_tokens, instances[1].max_num_seqs }
        return 1
      end }
    return seen
  end

  it("are those of vLLM, by the memory of the GPU", function()
    for gpu, expected in pairs { H100 = { 8192, 1024 }, H200 = { 8192, 1024 },
      B200 = { 16384, 1024 }, MI300X = { 16384, 1024 }, ["A100-SXM"] = { 2048, 256 },
      ["a100-80"] = { 2048, 256 }, L40S = { 2048, 256 }, ["RTX 4090"] = { 2048, 256 },
      ["RTX PRO 6000"] = { 8192, 1024 } } do
      assert.same(expected, limits { hardware = gpu }, gpu)
    end
    assert.same({ 8192, 1024 }, limits {}) -- the usual GPU of the model
    local config = [[{ "hidden_size": 1024, "num_hidden_layers": 4, "intermediate_size": 2048,
      "num_attention_heads": 8, "vocab_size": 32000, "torch_dtype": "bfloat16" }]]
    files.with(config, function(path) -- on an H100, without a usual GPU
      assert.same({ 8192, 1024 }, limits { model_config = path })
    end)
    assert.same({ 8192, 1024 }, limits { hardware = "B200", backend_version = "0.27.0" })
    assert.same({ 16384, 1024 }, limits { hardware = "B200", backend_version = "0.28.1" })
    local own = { name = "own", memory_gib = 69, bandwidth_tb_s = 2, peak_tflops = 500 }
    assert.same({ 2048, 256 }, limits { hardware = own })
    own.memory_gib = 70
    assert.same({ 8192, 1024 }, limits { hardware = own })
  end)

  it("give way to options, presets, groups, and versions", function()
    assert.same({ 512, 512 }, limits { max_num_batched_tokens = 512 })
    assert.same({ 512, 600 }, limits { max_num_batched_tokens = 512, max_num_seqs = 600 })
    assert.same({ 8192, 7 }, limits { max_num_seqs = 7 })
    assert.same({ 2048, 256 }, limits { defaults = first })
    assert.same({ 1000000000, 1000000 }, limits { engine_preset = "routesim" })
    local r = {}
    blis.run { workload = { requests = 2 }, routing = function(_, instances)
      for i = 1, #instances do r[i] = instances[i].max_num_seqs end
      return 1
    end, cluster = { groups = { { instances = 1 },
      { instances = 1, hardware = "L40S", tp = 2 } } } }
    assert.same({ 1024, 256 }, r)
  end)

  it("go with 92% of the memory", function()
    local new, old = blis.kv_capacity {}, blis.kv_capacity { defaults = first }
    assert.equal(blis.kv_capacity({ gpu_memory_utilization = 0.92 }).blocks, new.blocks)
    assert.equal(blis.kv_capacity({ gpu_memory_utilization = 0.9, max_num_seqs = 256,
      max_num_batched_tokens = 2048, kv_reserve = "flat" }).blocks, old.blocks)
    assert.is_true(new.blocks > old.blocks)
  end)
end)

describe("the defaults of autoscalers", function()
  --- Runs a rising load with an autoscaler.
  local function scaled(autoscaler, more)
    local spec = {
      cluster = { instances = 1 }, autoscaler = autoscaler, routing = "least-loaded",
      workload = { rate = 25, requests = 0, prompt = 300, output = 200 },
      horizon_us = blis.seconds(400),
    }
    for key, value in pairs(more or {}) do spec[key] = value end
    return blis.run(spec)
  end

  it("follow queued and running requests, and act", function()
    for _, name in ipairs { "hpa", "threshold", "target-utilization" } do
      local new, old = scaled(name), scaled(name, { defaults = first })
      assert.is_true(new.scaling.scale_ups > 0, name)
      assert.equal(0, old.scaling.scale_ups, name)
      local event = new.scaling.events[1]
      assert.is_truthy(event.reason:find "requests", event.reason)
    end
  end)

  it("hold together: a parameter that is set keeps the others as they were", function()
    local own = scaled { "threshold", scale_up_threshold = 0.7 }
    assert.equal(scaled({ "threshold", signal = "kv-utilization", scale_up_threshold = 0.7,
      scale_down_threshold = 0.3 }).hash, own.hash)
    local metrics = { gateway_queue_size = 1, requests_running = 16 }
    assert.equal(scaled({ "hpa", metrics = metrics }).hash, scaled({ "kubernetes.hpa" }).hash)
    assert.equal(scaled({ "hpa", metrics = { kv_utilization = 0.8 } }).hash,
      scaled({ "hpa", metric_type = "average-value" }).hash)
    assert.equal(scaled({ "hpa", interval_seconds = 30,
      metrics = { gateway_queue_size = 1, requests_running = 16 } }).hash,
      scaled({ "hpa", interval_seconds = 30 }).hash)
  end)

  it("start an instance in 240 s, and at once with 1.0-rc1", function()
    local function first_start(r) return r.scaling.state_seconds end
    local new = first_start(scaled("hpa"))
    assert.is_true(new.provisioning >= 60 and new.loading >= 100)
    local plan = { "hpa", metrics = { requests_running = 16 } }
    local old = first_start(scaled(plan, { defaults = first }))
    assert.same({ 0, 0 }, { old.provisioning, old.loading })
    local own = first_start(scaled(plan, { scaling = { loading_delay_us = 0,
      provisioning_delay_us = blis.seconds(1) } }))
    assert.equal(0, own.loading)
  end)
end)

describe("the JSON of a result", function()
  it("has the version of its defaults", function()
    local command = require "spec.support.commands"
    local function setup_of(...)
      return core.json_read(command.output_of("run", "--num-requests", "5", "--format", "json",
        ...)).setup
    end
    assert.equal(newest, setup_of().defaults)
    local old = setup_of("--defaults", first)
    assert.equal(first, old.defaults)
    assert.equal("calibrated", old.latency_model)
    local code, message = command.error_of("run", "--defaults", "2")
    assert.equal("usage", code)
    says(message, "--defaults: invalid value '2': expected one of 1.0-rc1, 1.0")
  end)
end)
