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
    for _, group in ipairs(pools.setup.groups) do assert.equal("calibrated", group.latency_model) end
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
      says(message, "defaults: '0.9' is not allowed, expected one of 1.0-rc1, 1.0")
    end
    says(message_of(run, nil, { defaults = "0.9" }),
      "defaults: '0.9' is not allowed, expected one of 1.0-rc1, 1.0")
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
    says(message, "--defaults: '2' is not allowed, expected one of 1.0-rc1, 1.0")
  end)
end)
