--- What the design documents print, as they print it: commands, dictionaries, names of states.
local blis = require "blis"
local commands = require "spec.support.commands"
local config = require "blis.routesim.config"
local eval = require "blis.eval"
local files = require "spec.support.files"
local json = require "blis.json"
local small = require "spec.support.small"
local sorted = require "blis.sorted"
local suites = require "blis.eval.suite"

local says = small.says

describe("the scorer framework", function()
  it("has no weights for cache and load any more, and says what replaces them", function()
    for _, name in ipairs { "--routing-cache-weight", "--routing-load-weight" } do
      local code, message = commands.error_of("run", "--routing-policy", "weighted", name, "0.6")
      assert.equal("usage", code)
      says(message, name .. " is not available: set weights with --routing-scorers")
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
  -- What the summary of each says of what was asked for.
  local printed = {
    ["--seed 42"] = "seed 42",
    ["--num-instances 4 --rate 20"] = "instances   25 25 25 25 requests",
    ["--num-instances 2 --admission-policy token-bucket --admission-bucket-size 100"] =
      "7 completed + 93 rejected",
    ["--num-instances 2 --priority-policy slo-based"] = "priority by slo-based",
    ["--num-instances 2 --scheduler priority-fcfs"] = "scheduler priority-fcfs",
    ["--policy-config examples/policy-config.yaml"] =
      "admission token-bucket; scheduler priority-fcfs; preemption priority; priority by slo-based",
    ["--policy-config examples/weighted-routing.yaml"] = "routing weighted",
    ["--kv-gpu-blocks 10000 --kv-cpu-blocks 50000"] = "KV cache of 10,000 blocks",
    ["--kv-gpu-blocks 1000 --kv-cpu-blocks 10000 --kv-offload-threshold 0.9"] =
      "KV cache of 1,000 blocks",
    ["--workload-spec examples/data/chat.yaml"] = "2,000 arrived",
    ["--workload-spec examples/data/chat.yaml --fitness-weights throughput:0.5,p99_ttft:0.3"] =
      "(p99_ttft ",
    ["--num-instances 2 --autoscaler-enabled --autoscaler-max 8"] = "by threshold",
    ["--autoscaler-enabled --provisioning-delay 30s --warmup-duration 60s"] = "by threshold",
    ["--architecture pd --prefill-replicas 2 --decode-replicas 4"] =
      "instances   50 50 25 25 25 25 requests",
    ["--architecture pd --pd-transfer-latency 1ms --pd-transfer-bandwidth 10GB/s"] =
      "hand-offs   100 started",
    ["--num-instances 4 --trace-level decisions"] = "4 instances",
    ["--trace-level decisions --counterfactual-k 5 --summarize-trace"] = "Mean Regret: ",
    ["--num-instances 4 --routing-policy weighted "
      .. "--routing-scorers prefix-affinity:3,queue-depth:2"] =
      "routing weighted(prefix-affinity:3,queue-depth:2)",
  }
  for _, line in ipairs(sorted.names(printed)) do
    it("has the command run " .. line, function()
      local words = { "--model", "qwen/qwen3-14b" }
      for word in line:gmatch "%S+" do words[#words + 1] = word end
      local output = commands.output_of("run", table.unpack(words))
      says(output, "result hash ")
      says(output, printed[line])
    end)
  end

  it("gives one result in a hundred runs", function()
    local first = commands.output_of("run", "--seed", "42", "--num-requests", "20")
    for _ = 2, 100 do
      assert.equal(first, commands.output_of("run", "--seed", "42", "--num-requests", "20"))
    end
  end)

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

  it("preempts the request with the highest id where all are equal", function()
    local function run(preemption, engine)
      local result = blis.run {
        cluster = { instances = 1, kv_blocks = 100, engine = engine }, preemption = preemption,
        workload = { arrival = "constant", rate = 1e6, requests = 12, prompt_tokens = 100,
          output_tokens = 100 },
      }
      assert.equal(12, result.completed)
      assert.is_true(result.preemptions > 0)
      return result.hash
    end
    --- Who is chosen by what a comparison of ids prefers.
    local function by_id(is_preferred)
      return function(running)
        local victim, best = 1, tonumber(running[1].id:match "%d+")
        for i = 2, #running do
          local id = tonumber(running[i].id:match "%d+")
          if is_preferred(id, best) then victim, best = i, id end
        end
        return victim
      end
    end
    local highest = run(by_id(function(id, best) return id > best end))
    for _, engine in ipairs { "fast", "stepwise" } do
      for _, policy in ipairs { "fcfs", "priority" } do
        assert.equal(highest, run(policy, engine))
      end
    end
    assert.not_equal(highest, run(by_id(function(id, best) return id < best end)))
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

  it("shows schedulers arrival, prompt and priority of the requests of their instance", function()
    local arrivals, prompts, places, compared = {}, {}, {}, 0
    local function priority_of(id) return tonumber(id:match "%d+") % 5 end
    blis.run {
      cluster = { instances = 2, max_num_seqs = 2 },
      workload = { rate = 100, requests = 60, output_tokens = 20,
        prompt = { "gaussian", mean = 300, std_dev = 100, min = 10, max = 600 } },
      priority = function(request) return priority_of(request.id) end,
      routing = function(request)
        assert.equal(priority_of(request.id), request.priority)
        arrivals[request.id], prompts[request.id] = request.arrival_us, request.prompt_tokens
        return 1 + tonumber(request.id:match "%d+") // 3 % 2
      end,
      on_routed = function(request, instance) places[request.id] = instance.id end,
      scheduler = function(a, b)
        for _, request in ipairs { a, b } do
          assert.equal(arrivals[request.id], request.arrival_us)
          assert.equal(prompts[request.id], request.prompt_tokens)
          assert.equal(priority_of(request.id), request.priority)
        end
        assert.equal(places[a.id], places[b.id])
        compared = compared + 1
        return a.priority > b.priority
      end,
    }
    assert.is_true(compared > 60)
  end)

  it("breaks ties of routing by the lowest id, as text", function()
    local chosen = {}
    local result = blis.run {
      cluster = { instances = 12 },
      routing = { "weighted", scorers = "load-balance:1" },
      workload = { arrival = "constant", rate = 1e6, requests = 12, prompt_tokens = 100,
        output_tokens = 20 },
    }
    for i, request in ipairs(result.requests) do chosen[i] = request.instance:match "%d+" end
    assert.equal("00 01 02 03 04 05 06 07 08 09 10 11", table.concat(chosen, " "))
  end)

  it("tells how long the run was, and all percentiles of its latencies", function()
    local result, last_us = blis.run(small.experiment()), 0
    local times = { ttft_ms = {}, e2e_ms = {}, scheduling_delay_ms = {} }
    for i, request in ipairs(result.requests) do
      last_us = math.max(last_us, request.end_us)
      for name, list in pairs(times) do list[i] = request[name:gsub("ms$", "us")] / 1000 end
    end
    assert.equal(last_us, result.duration_us)
    for name, list in pairs(times) do
      table.sort(list)
      local sum = 0
      for _, value in ipairs(list) do sum = sum + value end
      local d = result[name]
      assert.near(sum / #list, d.mean, 1e-9)
      assert.equal(list[1], d.min)
      assert.equal(list[#list], d.max)
      for _, p in ipairs { 50, 75, 90, 95, 99 } do
        local rank = p / 100 * (#list - 1)
        local low = list[rank // 1 + 1 | 0]
        local high = list[math.min(rank // 1 + 2, #list) | 0]
        assert.near(low + (high - low) * (rank % 1), d["p" .. p], 1e-9)
      end
    end
    local itl = result.itl_ms
    assert.is_true(itl.p50 <= itl.p75 and itl.p95 <= itl.p99)
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
      name = "plan",
      baseline = "return { routing = 'least-loaded', autoscaler = 'threshold' }",
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
            refill_rate = 8000 },
          autoscaler = { "threshold", scale_up_threshold = p["autoscale.scale_up_threshold"],
            scale_down_threshold = 0.01 },
        }
      end,
      stages = { smoke = { seeds = 1 }, train = { seeds = 1 }, full = { seeds = 1 },
        test = { seeds = 1 } },
      scenarios = { { id = "a", cluster = { instances = 2, max_num_seqs = 8, kv_blocks = 400 },
        options = { scaling = { min_replicas = 2, max_replicas = 4, interval_us = 1000000 } },
        slo = { default = { ttft_ms = 100 } },
        workload = { rate = 20, requests = 200, prompt_tokens = 300, output_tokens = 60,
          prefixes = { groups = 40, tokens = 96 } } },
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
      local dictionary = { "routing.cache_affinity_weight", 0.7, "routing.load_balance_weight", 0.2,
        "routing.queue_depth_weight", 0.1, "admission.bucket_size", 500,
        "autoscale.scale_up_threshold", 0.75 }
      local function of(changed, value)
        local pairs_of = {}
        for i = 1, #dictionary, 2 do
          pairs_of[#pairs_of + 1] = ("%q: %s"):format(dictionary[i],
            dictionary[i] == changed and value or dictionary[i + 1])
        end
        return score("{" .. table.concat(pairs_of, ", ") .. "}")
      end
      local function decoded(result) return json.decode(json.encode(result.object)) end
      local result = of()
      assert.is_true(result.is_valid, result.feedback)
      local object = decoded(result)
      -- Every parameter reaches the policy that it is named for.
      for name, value in pairs { ["routing.cache_affinity_weight"] = 0,
        ["routing.load_balance_weight"] = 1, ["routing.queue_depth_weight"] = 1,
        ["admission.bucket_size"] = 1e6, ["autoscale.scale_up_threshold"] = 0.2 } do
        assert.not_equal(object.provenance.result_sha,
          decoded(of(name, value)).provenance.result_sha, name)
      end
      assert.equal("number", type(object.metrics.goodput_rps)) -- fitness is a map
      assert.equal(16, #object.provenance.policy_sha)
      assert.equal("plan", object.provenance.suite)
      assert.equal("a", object.scenarios[1].id)
      assert.is_true(object.provenance.wall_ms >= 0)
      says(score('{"routing.cache_weight": 0.7}').feedback, "unknown parameter")
    end)
  end)
end)

describe("RouteSim", function()
  it("shows algorithms queue, batch, KV cache and tokens of backends, and takes their choice",
    function()
      local looks = {}
      local result = blis.run {
        cluster = { instances = 2, max_num_seqs = 1, kv_blocks = 100, latency_model = "blackbox",
          alpha_coeffs = { 0, 0, 0 }, beta_coeffs = { 100000, 0, 0 } },
        workload = { arrival = "constant", rate = 2, requests = 3, prompt_tokens = 30,
          output_tokens = 11 },
        routing = blis.router { name = "route_to_last", route = function(request, instances)
          local last = instances[2]
          looks[#looks + 1] = ("%s: %d queued, %d active, %.2f of the cache, %d tokens"):format(
            request.id, last.queue_depth, last.batch_size, last.kv_utilization, last.output_tokens)
          return 2
        end },
      }
      assert.equal("route_to_last", result.routing)
      assert.equal("0 3", tostring(result.requests_per_instance))
      -- Every 500 ms one comes, and a step takes 100 ms: of the 5 and 10 tokens made by then the
      -- newest is not yet in the context, which is 3 blocks of 16.
      assert.same({
        "request_0: 0 queued, 0 active, 0.00 of the cache, 0 tokens",
        "request_1: 0 queued, 1 active, 0.03 of the cache, 4 tokens",
        "request_2: 1 queued, 1 active, 0.03 of the cache, 9 tokens",
      }, looks)
    end)

  it("moves 2 x 2 x heads x dimension x layers bytes per token, 500 us and at 50 GB/s", function()
    local text = [[
[simulation]
[cluster]
num_backends = 2
kv_block_size = 1
kv_cache_blocks = 100000
[cluster.disaggregated]
enabled = true
prefill_backends = 1
decode_backends = 1
num_layers = 32
head_dim = 64
num_kv_heads = 4
[trace]
path = "%s"
]]
    local rows = '{"ts":0,"prompt_tokens":100,"gen_tokens":5}\n'
      .. '{"ts":5000,"prompt_tokens":3001,"gen_tokens":5}\n'
    files.with(rows, function(trace)
      files.with(text:format(trace), function(path)
        local read = config.read(path)
        local spec = config.experiment(read)
        spec.workload, spec.routing = config.requests(read), "routesim.round_robin"
        for _, request in ipairs(blis.run(spec).requests) do
          -- The last token of a prompt is computed where it decodes, and gives the first output.
          local bytes = (request.prompt_tokens - 1) * 2 * 2 * 4 * 64 * 32
          assert.equal(bytes, request.moved_bytes)
          assert.is_near(500 + bytes / 50000, request.transfer_end_us - request.transfer_start_us,
            1)
        end
      end)
    end)
  end)
end)

describe("Cognitora", function()
  it("has two nodes for prompts above colocate_below_tokens, and one more round trip", function()
    local function requests(handshake_us)
      local rows = ""
      for i, prompt in ipairs { 256, 257, 600, 10 } do
        rows = rows .. ('{"ts":%d,"prompt_tokens":%d,"gen_tokens":5}\n'):format(5000 * i, prompt)
      end
      local result
      files.with(rows, function(path)
        result = blis.run {
          cluster = { prefill_instances = 1, prefill_decode_instances = 1 },
          disaggregation = { decider = { "cognitora.plan", colocate_below_tokens = 256 },
            handshake_us = handshake_us },
          workload = blis.trace.read(path), routing = "least-loaded",
        }
      end)
      return result.requests
    end
    local plain, shaken = requests(0), requests(3000)
    for i, is_split in ipairs { false, true, true, false } do
      assert.equal(is_split, plain[i].prefill_instance == "instance_0", i)
      assert.equal("instance_1", plain[i].instance)
    end
    -- Both nodes know each other from the first time on.
    assert.equal(plain[2].ttft_us + 3000, shaken[2].ttft_us)
    assert.equal(plain[3].ttft_us, shaken[3].ttft_us)
    assert.equal(plain[1].ttft_us, shaken[1].ttft_us)
  end)

  it("scores healthy nodes that host the model, and no others", function()
    local hosts = { "qwen/qwen3-14b", "meta-llama/llama-3.1-8b-instruct", "qwen/qwen3-14b" }
    local groups = {}
    for i, model in ipairs(hosts) do groups[i] = { instances = 1, model = model } end
    local sim = blis.simulation {
      cluster = { hardware = "H100", groups = groups }, routing = "cognitora.score",
      workload = { aggregate_rate = 20, num_requests = 200, clients = { { id = "a",
        model = hosts[1], rate_fraction = 1, input_distribution = { "constant", value = 200 },
        output_distribution = { "constant", value = 5 } } } },
    }
    sim:at(blis.seconds(5), function(s) s.instances[1]:fail { reroute = true } end)
    local before, after = {}, {}
    for _, request in ipairs(sim:run().requests) do
      local counts = request.arrival_us < blis.seconds(5) and before or after
      counts[request.instance] = (counts[request.instance] or 0) + 1
    end
    assert.is_nil(before.instance_1 or after.instance_1 or after.instance_0)
    assert.is_true(before.instance_0 > 10 and before.instance_2 > 10 and after.instance_2 > 50)
  end)
end)

describe("Lua on the way of a request", function()
  --- Instructions of Lua that a simulation of so many requests executes.
  local function instructions(requests, routing)
    local sim <close> = blis.simulation {
      cluster = { instances = 4 }, routing = routing,
      workload = { rate = 100, requests = requests, prompt_tokens = 100, output_tokens = 5 },
    }
    local count = 0
    debug.sethook(function() count = count + 1 end, "", 1)
    local ok, problem = pcall(sim.run_until, sim, blis.seconds(1000))
    debug.sethook()
    assert.is_true(ok, problem)
    assert.equal(requests, sim.completed)
    return count
  end

  it("is there where it is asked for, and nowhere else", function()
    for _, routing in ipairs { "weighted", "least-loaded" } do
      assert.equal(instructions(100, routing), instructions(1000, routing))
    end
    local function first() return 1 end
    assert.is_true(instructions(1000, first) > instructions(100, first) + 900)
  end)
end)
