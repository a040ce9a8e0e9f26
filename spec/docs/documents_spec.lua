--- What the design documents print, as they print it: commands, dictionaries, names of states.
local blis = require "blis"
local commands = require "spec.support.commands"
local eval = require "blis.eval"
local files = require "spec.support.files"
local json = require "blis.eval.json"
local small = require "spec.support.small"
local suites = require "blis.eval.suite"

local says = small.says

describe("the scorer framework", function()
  it("has no weights for cache and load any more, and says what replaces them", function()
    for _, name in ipairs { "--routing-cache-weight", "--routing-load-weight" } do
      local code, message = commands.error_of("run", "--routing-policy", "weighted", name, "0.6")
      assert.equal("usage", code)
      says(message, name .. " is not available: weights are given by --routing-scorers")
    end
  end)

  it("routes as least-loaded with load-balance alone, and has a default of both stages", function()
    local function run(routing)
      return blis.run {
        cluster = { instances = 4 }, routing = routing,
        workload = { rate = 60, requests = 300, prompt_tokens = 400, output_tokens = 60,
          prefixes = { groups = 5, tokens = 256 } },
      }
    end
    local function weighted(scorers) return run { "weighted", scorers = scorers } end
    assert.equal(run("least-loaded").hash, weighted("load-balance:1").hash)
    assert.equal(run("weighted").hash,
      weighted("prefix-affinity:3,queue-depth:2,kv-utilization:2").hash)
    assert.equal(run("weighted-stateless").hash,
      weighted("queue-depth:2,kv-utilization:2,load-balance:1").hash)
    assert.not_equal(run("weighted").hash, run("weighted-stateless").hash)
  end)
end)

describe("the macro-level plan", function()
  local printed = {
    "--seed 42", "--num-instances 4 --rate 20",
    "--num-instances 2 --admission-policy token-bucket --admission-bucket-size 100",
    "--num-instances 2 --priority-policy slo-based",
    "--num-instances 2 --scheduler priority-fcfs",
    "--policy-config examples/policy-config.yaml",
    "--kv-gpu-blocks 10000 --kv-cpu-blocks 50000",
    "--kv-gpu-blocks 1000 --kv-cpu-blocks 10000 --kv-offload-threshold 0.9",
    "--workload-spec examples/data/chat.yaml",
    "--workload-spec examples/data/chat.yaml --fitness-weights throughput:0.5,p99_ttft:0.3",
    "--num-instances 2 --autoscaler-enabled --autoscaler-max 8",
    "--autoscaler-enabled --provisioning-delay 30s --warmup-duration 60s",
    "--architecture pd --prefill-replicas 2 --decode-replicas 4",
    "--architecture pd --pd-transfer-latency 1ms --pd-transfer-bandwidth 10GB/s",
    "--num-instances 4 --trace-level decisions",
    "--trace-level decisions --counterfactual-k 5 --summarize-trace",
  }
  for _, line in ipairs(printed) do
    it("has the command run " .. line, function()
      local words = { "--model", "qwen/qwen3-14b" }
      for word in line:gmatch "%S+" do words[#words + 1] = word end
      says(commands.output_of("run", table.unpack(words)), "result hash ")
    end)
  end

  it("asks admission, then routing, then the scheduler, and priorities on arrival", function()
    local seen = {}
    local function note(word) if #seen < 4 then seen[#seen + 1] = word end end
    blis.run {
      cluster = { instances = 1, max_num_seqs = 1 },
      workload = { rate = 1000, requests = 4, prompt_tokens = 100, output_tokens = 4 },
      priority = function() note "priority" return 1 end,
      admission = function() note "admission" return blis.admit() end,
      routing = function() note "routing" return 1 end,
      on_first_token = function() note "first token" end,
    }
    assert.same({ "priority", "admission", "routing", "priority" }, seen)
  end)

  it("shows autoscalers replicas, bounds, load, targets and when they acted last", function()
    local last
    blis.run(small.experiment {
      cluster = { instances = 2 }, slo_targets = { default = { ttft_ms = 500 } },
      scaling = { min_replicas = 1, max_replicas = 4, ttft_target_us = 500000 },
      autoscaler = blis.autoscaler { name = "looks", interval_us = blis.milliseconds(200),
        decide = function(context)
          last = {}
          for _, name in ipairs { "replicas", "min", "max", "avg_queue_depth", "avg_utilization",
            "request_rate", "slo_attainment", "since_last_scale_us" } do
            last[name] = context[name]
          end
          last.samples = #context.samples
          if context.replicas == 2 then return { target = 3, reason = "three" } end
        end },
    })
    assert.equal(3, last.replicas)
    assert.equal(1, last.min)
    assert.equal(4, last.max)
    assert.is_true(last.samples > 2 and last.since_last_scale_us > 0 and last.request_rate > 0)
    assert.is_true(last.slo_attainment >= 0 and last.slo_attainment <= 1)
    assert.is_true(last.avg_queue_depth >= 0 and last.avg_utilization >= 0)
  end)

  it("shows policies the pool of an instance", function()
    local function roles(cluster)
      local seen = {}
      blis.run(small.experiment { cluster = cluster, routing = function(request, instances)
        for _, one in ipairs(instances) do
          seen[("%s %s"):format(request.stage or "both", one.role)] = true
        end
        return 1
      end })
      local list = {}
      for word in pairs(seen) do list[#list + 1] = word end
      table.sort(list)
      return table.concat(list, ", ")
    end
    assert.equal("both 0", roles { instances = 2 })
    assert.equal("decode 2, prefill 1", roles { prefill_instances = 2, decode_instances = 3 })
  end)

  it("evaluates a flat dictionary of parameters of built-in policies", function()
    local text = [[return {
      name = "plan", baseline = "return 'least-loaded'",
      parameters = {
        { name = "routing.cache_affinity_weight", low = 0, high = 1, default = 0.6 },
        { name = "routing.load_balance_weight", low = 0, high = 1, default = 0.3 },
        { name = "routing.queue_depth_weight", low = 0, high = 1, default = 0.1 },
        { name = "admission.bucket_size", low = 1, high = 1e9, default = 1000 },
        { name = "autoscale.scale_up_threshold", low = 0, high = 1, default = 0.8 },
      },
      policy = function(p)
        return {
          routing = { "weighted-scoring",
            cache_affinity_weight = p["routing.cache_affinity_weight"],
            load_balance_weight = p["routing.load_balance_weight"],
            queue_depth_weight = p["routing.queue_depth_weight"] },
          admission = { "token-bucket", bucket_size = p["admission.bucket_size"],
            refill_rate = 1e6 },
        }
      end,
      stages = { smoke = { seeds = 1 }, train = { seeds = 1 }, full = { seeds = 1 },
        test = { seeds = 1 } },
      scenarios = { { id = "a", cluster = { instances = 2 }, slo = { default = { ttft_ms = 100 } },
        workload = { rate = 20, requests = 40, prompt_tokens = 300, output_tokens = 20 } },
        { id = "b", split = "test", cluster = { instances = 2 },
          slo = { default = { ttft_ms = 100 } },
          workload = { rate = 20, requests = 40, prompt_tokens = 300, output_tokens = 20 } } },
    }]]
    files.with(text, function(path)
      local suite = suites.read(path)
      local function score(candidate)
        return eval.run(suite, candidate, "candidate.json", { stage = suite.stages.train,
          limits = suite.limits, jobs = 1, known = {} })
      end
      local result = score [[{"routing.cache_affinity_weight": 0.7,
        "routing.load_balance_weight": 0.2, "routing.queue_depth_weight": 0.1,
        "admission.bucket_size": 500000, "autoscale.scale_up_threshold": 0.75}]]
      assert.is_true(result.is_valid, result.feedback)
      local object = json.decode(json.encode(result.object))
      assert.equal("number", type(object.metrics.goodput_rps)) -- fitness is a map
      assert.equal(16, #object.provenance.policy_sha)
      assert.equal("plan", object.provenance.suite)
      assert.equal("a", object.scenarios[1].id)
      assert.is_true(object.provenance.wall_ms >= 0)
      says(score('{"routing.cache_weight": 0.7}').feedback, "unknown parameter")
    end)
  end)
end)
