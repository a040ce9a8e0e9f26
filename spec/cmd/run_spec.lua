local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local golden = require "spec.support.golden"
local program = require "spec.support.program"

--- Flags of a run of a fraction of a second of computing.
local small = { "--num-requests", "40", "--rate", "20", "--num-instances", "2",
  "--output-tokens", "20", "--output-tokens-stdev", "0", "--output-tokens-min", "1" }

local function with(...)
  return table.unpack(table.move({ ... }, 1, select("#", ...), #small + 1, { table.unpack(small) }))
end

local function output_of(...) return commands.output_of("run", with(...)) end

local function message_of(...)
  local code, message = commands.error_of("run", ...)
  assert.equal("usage", code)
  return message
end

describe("blis run", function()
  it("prints the summary of the same experiment in Lua", function()
    local result = blis.run {
      cluster = { instances = 2 },
      workload = { rate = 20, requests = 40,
        prompt = { "gaussian", mean = 512, std_dev = 256, min = 2, max = 7000 },
        output = { "gaussian", mean = 20, std_dev = 0, min = 1, max = 7000 } },
    }
    assert.equal(tostring(result) .. "\n", output_of())
  end)

  it("prints capacity and step times as they are worked out by hand", function()
    local text = commands.output_of("run", "--model", "meta-llama/llama-3.1-8b-instruct",
      "--hardware", "H100", "--num-requests", "2", "--defaults", "1.0-rc1")
    assert.matches("26,312 blocks of 16 tokens (420,992 tokens): 72.0 GiB usable - 14.96 weights "
      .. "- 5.50 activations - 0.15 other", text, 1, true)
    assert.matches("20,876 us (1 prefill of 1,000 tokens), 7,431 us (8 decodes at 333 to 4,096 "
      .. "tokens)", text, 1, true)
  end)

  it("prints the same in every form, on every run", function()
    for _, form in ipairs { "table", "json", "csv" } do
      assert.equal(output_of("--format", form), output_of("--format", form))
    end
  end)

  it("prints JSON whose numbers are those of the result", function()
    local got = core.json_read(output_of("--format", "json", "--slo-class", "batch"))
    assert.equal("round-robin", got.routing)
    assert.equal(40, got.completed)
    assert.equal(2, #got.instances)
    assert.equal("batch", got.by_slo_class[1].name)
    assert.equal("qwen/qwen3-14b", got.setup.model)
    local sum = got.instances[1].output_tokens + got.instances[2].output_tokens
    assert.equal(got.output_tokens, sum)
    assert.matches("^%x+$", got.hash)
  end)

  it("prints a line of CSV for the cluster and each instance", function()
    local lines = {}
    for line in output_of("--format", "csv"):gmatch("[^\n]+") do lines[#lines + 1] = line end
    assert.equal(4, #lines)
    assert.matches("^id,arrived,completed,", lines[1])
    assert.matches("^cluster,40,40,0,0,", lines[2])
    assert.matches("^instance_1,20,20,", lines[4])
  end)

  it("prints JSON with everything that was asked for", function()
    local got = core.json_read(output_of("--format", "json", "--warm-up", "500ms", "--gpu-watts",
      "700", "--gpu-price-per-hour", "2", "--series-interval", "1s", "--trace-level", "decisions",
      "--summarize-trace", "--tenant", "t", "--routing-policy", "weighted", "--kv-cpu-blocks",
      "100", "--prefix-tokens", "64"))
    local result = blis.run {
      cluster = { instances = 2, gpu_watts = 700, gpu_price_per_hour = 2, kv_cpu_blocks = 100 },
      routing = "weighted", warm_up_us = 500000, series_interval_us = 1000000,
      workload = { rate = 20, requests = 40, tenant = "t", prefixes = { tokens = 64 },
        prompt = { "gaussian", mean = 512, std_dev = 256, min = 2, max = 7000 },
        output = { "gaussian", mean = 20, std_dev = 0, min = 1, max = 7000 } },
    }
    assert.equal(result.hash, got.hash)
    assert.equal(40, got.completed)
    for _, name in ipairs { "ttft_ms", "itl_ms", "e2e_ms", "scheduling_delay_ms" } do
      for _, one in ipairs { "mean", "min", "p50", "p99.9", "max" } do
        assert.equal(result[name][one], got[name][one])
        assert.equal(result.steady[name][one], got.steady[name][one])
        assert.equal(result.by_tenant.t[name][one], got.by_tenant[1][name][one])
        assert.is_number(got.instances[2][name][one])
      end
    end
    assert.equal(result.kv_thrashing_rate, got.kv_thrashing_rate)
    assert.equal(result.cpu_reload_rate, got.cpu_reload_rate)
    assert.equal(result.cache_prediction.true_tokens, got.cache_prediction.true_tokens)
    assert.equal(result.balance, got.balance)
    assert.equal(1, got.tenant_fairness)
    assert.equal(result.energy.kwh, got.energy.kwh)
    assert.equal(result.cost.usd, got.cost.usd)
    assert.equal(40, got.decisions.routed)
    assert.equal(result.series.rows, #got.series)
    assert.equal(result.series.output_tokens[2], got.series[2].output_tokens)
    assert.equal(result.series.instances[2].batch_size[2], got.series[2]["instance_1.batch_size"])
    assert.equal(0, got.priority_inversions)
    assert.same({}, got.setup.notes)
  end)

  it("counts as inversions less urgent requests that are scheduled first", function()
    local function inversions(scheduler)
      return core.json_read(commands.output_of("run", "--format", "json", "--workload", "mixed-slo",
        "--rate", "60", "--num-requests", "300", "--max-num-running-reqs", "4", "--scheduler",
        scheduler)).priority_inversions
    end
    assert.is_true(inversions "fcfs" > 100)
    assert.is_true(inversions "priority-fcfs" < inversions "fcfs" / 10)
  end)

  it("counts inversions as BLIS in Go does with profile go-blis", function()
    local function inversions(scheduler)
      return core.json_read(output_of("--format", "json", "--scheduler", scheduler, "--profile",
        "go-blis", "--output-tokens-stdev", "100", "--output-tokens", "150")).priority_inversions
    end
    assert.equal(0, inversions "fcfs")
    assert.is_true(inversions "priority-fcfs" > 0)
  end)

  it("writes requests and figures over time for other programs", function()
    files.with(nil, function(requests)
      files.with(nil, function(over_time)
        local json = over_time .. ".jsonl"
        output_of("--requests-path", requests, "--series-path", over_time, "--series-interval",
          "1s")
        output_of("--series-path", json, "--series-interval", "1s")
        local lines = {}
        for line in files.read(requests):gmatch("[^\n]+") do lines[#lines + 1] = line end
        assert.equal(41, #lines)
        assert.matches("^id,number,state,instance,arrival_us,ttft_us,", lines[1])
        assert.matches("^request_0,0,completed,instance_0,", lines[2])
        lines = {}
        for line in files.read(over_time):gmatch("[^\n]+") do lines[#lines + 1] = line end
        assert.matches("^t_us,requests_per_sec,.*,instance_1.kv_utilization$", lines[1])
        local row, row_number = nil, 0
        for line in files.read(json):gmatch("[^\n]+") do
          row_number = row_number + 1
          row = core.json_read(line)
        end
        assert.equal(row_number, #lines - 1)
        assert.equal(40, row.completed)
        assert.matches(("^%d,"):format(row.t_us), lines[#lines])
        os.remove(json)
      end, ".csv")
    end, ".csv")
    assert.matches("%-%-series%-path requires %-%-series%-interval",
      message_of("--series-path", "x.csv"))
  end)

  it("tells of every tenant and model", function()
    local text = commands.output_of("run", "--workload", "unfair-tenants", "--num-requests", "40")
    assert.matches("\n  tenant +arrived", text)
    assert.matches("\n  heavy +%d+ +%d+", text)
    assert.not_matches("\n  model +arrived", text)
  end)

  it("prints as BLIS in Go does under that profile", function()
    golden.check("spec/cmd/golden/run_go_blis.txt", output_of("--profile", "go-blis",
      "--scheduler", "priority-fcfs", "--tenant", "t", "--prefix-tokens", "64",
      "--fitness-weights", "throughput:0.5,p99_ttft:0.5"))
  end)

  it("reads a specification", function()
    files.with([[
version: 1
seed: 9
aggregate_rate: 30
num_requests: 25
category: language
clients:
  - id: 7
    tenant_id: a
    slo_class: interactive
    rate_fraction: 1
    streaming: true
    arrival: {process: gamma, cv: 2}
    input_distribution: {type: constant, params: {value: 100}}
    output_distribution: {type: exponential, params: {mean: 12}}
    prefix_group: g
    prefix_length: 64
]], function(path)
      local got = core.json_read(commands.output_of("run", "--workload-spec", path, "--format",
        "json"))
      assert.equal(25, got.completed)
      assert.equal(25 * 164, got.prompt_tokens)
      got = core.json_read(commands.output_of("run", "--workload-spec", path, "--format",
        "json", "--num-requests", "5"))
      assert.equal(5, got.completed)
      local outcome = commands.call("run", "--workload-spec", path, "--rate", "5")
      assert.same({ "blis: --rate has no effect with --workload-spec" }, outcome.said)
      assert.matches("note: slo_class interactive is now named standard", outcome.out, 1, true)
      outcome = commands.call("run", "--workload-spec", path, "--rate", "5", "--quiet")
      assert.same({}, outcome.said)
    end)
  end)

  it("tells which flags of traffic have no effect", function()
    for _, case in ipairs {
      { "--workload chatbot --prompt-tokens 5", "--prompt-tokens has no effect with --workload "
        .. "chatbot" },
      { "--workload chatbot --prompt-tokens 5 --concurrency 2", "--prompt-tokens has no effect "
        .. "with --workload chatbot" },
      { "--workload bursty --output-tokens-min 5", "--output-tokens-min has no effect with "
        .. "--workload bursty" },
      { "--workload distribution --prompt-tokens 5" },
      { "--workload chatbot --prefix-tokens 5 --format csv" },
      { "--workload chatbot --prefix-tokens 5 --profile go-blis", "--prefix-tokens has no effect "
        .. "with --workload chatbot in profile go-blis" },
      { "--think-time-ms 5", "--think-time-ms has no effect without --concurrency" },
      { "--arrival gamma:20 --format csv",
        "arrival: gamma with cv 20 is too bursty to sample; using poisson" },
    } do
      local given = { "--num-requests", "3" }
      for word in case[1]:gmatch("%S+") do given[#given + 1] = word end
      local said = commands.call("run", table.unpack(given)).said
      assert.same({ case[2] and "blis: " .. case[2] }, said)
    end
  end)

  it("tells which flags of energy have no effect", function()
    local function said(...) return commands.call("run", "--num-requests", "3", ...).said end
    assert.same({
      "blis: --gpu-idle-watts has no effect without --gpu-watts, or --gpu-prefill-watts and "
        .. "--gpu-decode-watts",
      "blis: --pue has no effect without --gpu-watts, or --gpu-prefill-watts and "
        .. "--gpu-decode-watts",
    }, said("--pue", "1.2", "--gpu-idle-watts", "60"))
    assert.same({}, said("--pue", "1.2", "--gpu-idle-watts", "60", "--gpu-watts", "400"))
  end)

  it("tells no level of overload under go-blis when nothing was completed", function()
    local flags = { "--num-requests", "3", "--admission-policy", "reject-all", "--detectors",
      "all", "--slo-ttft", "default=1s", "--format", "json" }
    assert.matches('"saturation"', commands.output_of("run", table.unpack(flags)), 1, true)
    flags[#flags] = nil
    flags[#flags] = "--profile=go-blis"
    local text = commands.output_of("run", table.unpack(flags))
    assert.is_nil(text:find("saturation", 1, true))
    assert.is_nil(text:find("Per-SLO Metrics", 1, true))
    assert.matches('"slo_attainment": 0', text, 1, true)
  end)

  it("lets users wait for answers", function()
    local flags = { "--concurrency", "3", "--num-requests", "12", "--think-time-ms", "10",
      "--prefix-tokens", "32" }
    files.with(nil, function(path)
      commands.output_of("run", "--metrics-path", path, table.unpack(flags))
      local metrics = core.json_read(files.read(path))
      assert.equal(12, metrics.completed_requests)
      local last = metrics.requests[12]
      assert.matches("^session_concurrency_distribution_user_%d_round_%d_9$", last.requestID)
      assert.is_true(last.round_index > 0)
      assert.equal(1, #metrics.requests[1].session_id:match("user_(%d)"))
    end)
  end)

  it("keeps no records where they are not wanted", function()
    local text = output_of("--no-records", "--fitness-weights", "p99_ttft:1")
    assert.matches("no records kept", text, 1, true)
    assert.equal(output_of():match("result hash %x+"), text:match("result hash %x+"))
    for flag, value in pairs {
      ["--metrics-path"] = "m.json", ["--requests-path"] = "r.csv", ["--warm-up"] = "1s",
      ["--detectors"] = "all", ["--slo-ttft"] = "critical=1s", ["--format"] = "json",
    } do
      local message = message_of(with("--no-records", flag, value))
      assert.matches("--no-records", message, 1, true)
      assert.matches(flag:sub(1, 5), message, 1, true)
    end
    message_of(with("--no-records", "--profile", "go-blis"))
  end)

  it("scores a run", function()
    assert.matches("\nfitness 0%.%d+ %(throughput 0%.%d+%)\n$",
      output_of("--fitness-weights", "throughput:1"))
  end)

  it("keeps what was decided and what came of it", function()
    files.with(nil, function(result_path)
      files.with(nil, function(decisions_path)
        local text = output_of("--save", result_path, "--trace-level", "decisions",
          "--decisions-path", decisions_path, "--summarize-trace", "--counterfactual-k", "1")
        assert.matches("\nTotal Decisions: 40\n  Admitted: 40\n", text)
        local result = blis.load_result(result_path)
        assert.equal(result.hash, text:match("result hash (%x+)"))
        local lines = 0
        for line in io.lines(decisions_path) do
          local decision = core.json_read(line)
          if decision.kind == "routing" then assert.equal(1, #decision.candidates) end
          lines = lines + 1
        end
        assert.equal(81, lines)
      end, ".jsonl")
    end)
    assert.matches("\n=== Trace Summary ===\nTotal Decisions: 40\n", output_of("--profile",
      "go-blis", "--trace-level", "decisions", "--summarize-trace"))
    assert.matches("--decisions-path requires --trace-level decisions",
      message_of("--decisions-path", "x.jsonl"), 1, true)
    local outcome = commands.call("run", with("--summarize-trace"))
    assert.matches("no effect without --trace-level decisions", outcome.said[1], 1, true)
  end)

  it("takes the flags of the macro-level plan", function()
    local function hash_of(...)
      return core.json_read(output_of("--num-requests", "20", "--format", "json", ...)).hash
    end
    assert.equal(hash_of("--total-kv-blocks", "400", "--kv-cpu-blocks", "100"),
      hash_of("--kv-gpu-blocks", "400", "--kv-cpu-blocks", "100"))
    local pools = { "--architecture", "pd", "--prefill-replicas", "1", "--decode-replicas", "1" }
    local function apart(latency, bandwidth)
      local more = table.move(pools, 1, #pools, 5, { "--pd-transfer-latency", latency,
        "--pd-transfer-bandwidth", bandwidth })
      return hash_of(table.unpack(more))
    end
    assert.equal(apart("1ms", "10"), apart("1ms", "10GB/s"))
    assert.equal(apart("1ms", "10"), apart("1000us", "10000MB/s"))
    assert.not_equal(apart("1ms", "10"), apart("100ms", "10GB/s"))
    local code, message = commands.error_of("run", "--pd-transfer-latency", "1min")
    assert.equal("usage", code)
    assert.is_truthy(message:find("invalid value '1min'", 1, true))
  end)

  it("has all its flags in the help", function()
    golden.check("spec/cmd/golden/run_help.txt", commands.output_of("run", "--help"))
  end)
end)

describe("files of blis run", function()
  it("hold metrics, a row per request, and latencies", function()
    files.with(nil, function(metrics_path)
      files.with(nil, function(results_path)
        output_of("--metrics-path", metrics_path, "--results-path", results_path, "--tenant", "t")
        local metrics = core.json_read(files.read(metrics_path))
        assert.equal(40, #metrics.requests)
        local first = metrics.requests[1]
        assert.equal("request_0", first.requestID)
        assert.equal("t", first.tenant_id)
        assert.equal(20, first.num_decode_tokens)
        assert.equal(0, first.round_index)
        assert.is_nil(first.slo_class)
        local results = core.json_read(files.read(results_path))
        assert.equal(40, #results)
        assert.equal(0, results[1].request_id)
        assert.equal(first.ttft_ms, results[1].ttft_us / 1000)
        assert.equal(20, results[1].output_tokens)
      end)
    end)
  end)

  it("that cannot be written are an error", function()
    local code, message = commands.error_of("run", with("--metrics-path", "/nosuch/m.json"))
    assert.equal("io", code)
    assert.matches("/nosuch/m.json: cannot be written: ", message, 1, true)
  end)
end)

describe("lengths of blis run", function()
  local function lengths_of(...)
    local got = core.json_read(commands.output_of("run", "--num-requests", "40", "--format", "json",
      ...))
    return got.prompt_tokens / got.arrived, got.output_tokens / got.completed
  end

  it("are exact when they are given alone", function()
    assert.same({ 8000, 50 }, { lengths_of("--prompt-tokens", "8000", "--output-tokens", "50") })
    assert.same({ 100, 50 }, { lengths_of("--prompt-tokens", "100", "--output-tokens", "50",
      "--output-tokens-min", "10") })
  end)

  it("vary where a deviation is asked for, and as they always did in go-blis", function()
    local prompt = lengths_of("--prompt-tokens", "1000", "--prompt-tokens-stdev", "100")
    assert.is_true(prompt ~= 1000 and math.abs(prompt - 1000) < 60)
    assert.is_true(lengths_of("--prompt-tokens", "100", "--profile", "go-blis") > 120)
  end)
end)

describe("wrong flags of blis run", function()
  local hint = "; 'blis run --help' lists the flags"

  it("are named with what is allowed", function()
    for _, case in ipairs {
      { { "--routing", "x" }, "run: unknown flag '--routing'; did you mean '--routing-policy'?"
        .. hint },
      { { "--modle", "x" }, "run: unknown flag '--modle'; did you mean '--model'?" .. hint },
      { { "--tp", "0" },
        "run: --tp: invalid value 0: expected an integer from 1 to 65536" .. hint },
      { { "--rate", "-1" },
        "run: --rate: invalid value -1: expected a number above 0 and up to 1000000000" .. hint },
      { { "--prompt-tokens", "8000", "--prompt-tokens-stdev", "9" },
        "run: --prompt-tokens: 8000 is not between --prompt-tokens-min and --prompt-tokens-max, 2 "
        .. "and 7000" .. hint },
      { { "--output-tokens-min", "9", "--output-tokens-max", "8" },
        "run: --output-tokens-min: 9 is above --output-tokens-max, 8" .. hint },
      { { "--output-tokens-stdev", "1" }, "run: --output-tokens-stdev: 1 is neither 0 nor between "
        .. "--output-tokens-min and --output-tokens-max, 2 and 7000" .. hint },
      { { "--timeout", "0" },
        "run: --timeout: invalid value 0: expected above 0, or below 0 for none" .. hint },
      { { "--num-requests", "0" },
        "run: --num-requests: 0 means no limit, and requires --horizon" .. hint },
      { { "--concurrency", "2" }, "run: --concurrency requires --num-requests or "
        .. "--horizon" .. hint },
      { { "--concurrency", "2", "--rate", "1", "--horizon", "1s" },
        "run: --rate cannot be combined with --concurrency" .. hint },
      { { "--prefix-groups", "3" },
        "run: --prefix-groups and --prefix-zipf require --prefix-tokens" .. hint },
      { { "--hardware", "H10" }, "run: unknown hardware 'H10'" },
      { { "--model", "01-ai/yi-34b", "--profile", "go-blis" },
        "run: --hardware is missing, and the catalogue has no default GPU for 01-ai/yi-34b" },
      { { "--arrival", "gama:2" }, "run: --arrival: " },
      { { "--routing-policy", "round-robbin" }, "run: --routing-policy: unknown routing policy "
        .. "'round-robbin'; did you mean 'round-robin'?" },
      { { "--routing-policy", "weighted", "--routing-scorers", "queue-depth" .. ":x" },
        "run: --routing-scorers: the weight of queue-depth, 'x', is not a number; expected a "
        .. "finite number > 0" },
      { { "--routing-parameter", "tie" },
        "run: --routing-parameter: invalid value 'tie': expected NAME=VALUE" .. hint },
      { { "--admission-policy", "always" }, "run: --admission-policy: unknown admission policy "
        .. "'always'" },
      { { "--routing-parameter", "tie=first" }, "run: --routing-policy round-robin: unknown option "
        .. "'tie'; there are none" },
      { { "--trace-output", "/tmp/" },
        "run: --trace-output: invalid value '/tmp/': expected a name for two files" .. hint },
      { { "--trace-output", "-" },
        "run: --trace-output: invalid value '-': expected a name for two files" .. hint },
      { { "--trace-output", "a.csv.gz", "--save", "./a.yaml" },
        "run: --trace-output and --save are both './a.yaml'" .. hint },
      { { "--concurrency", "1000001" }, "run: --concurrency: invalid value 1000001" },
      { { "--warm-up", "soon" }, "run: --warm-up: invalid value 'soon': expected a duration of "
        .. "at least 1us, such as 500us, 50ms, 30s, 5m, or 1h, or 'auto'" .. hint },
      { { "--fitness-weights", "speed:1" }, "run: --fitness-weights: unknown key 'speed'" },
      { { "--flow-control", "--saturation-detector", "fullness" },
        "run: --saturation-detector: unknown saturation detector 'fullness'; known are never" },
      { { "--flow-control", "--saturation-detector", "concurrency:max_concurrency=2" },
        "run: --saturation-detector: unknown saturation detector 'concurrency:max_concurrency=2'" },
      { { "--flow-control", "--usage-limit", "usage_limit" },
        "run: --usage-limit: unknown usage limit 'usage_limit'; known are" },
      { { "--flow-control", "--max-concurrency", "4" }, "run: --max-concurrency is a parameter of "
        .. "--saturation-detector = 'concurrency', which is not used" },
      { { "--flow-control", "--slo-targets", "critical=100" },
        "run: --slo-targets has no effect without --dispatch-order = 'slo-deadline'" },
      { { "--flow-control", "--slo-targets", "critical" },
        "run: --slo-targets: invalid value 'critical': expected CLASS=MICROSECONDS" .. hint },
      { { "--flow-control", "--usage-limit-threshold", "0" },
        "run: --usage-limit-threshold: invalid value 0: expected a number above 0 and up to 1"
        .. hint },
      { { "--prefill-instances", "2" }, "run: cluster: --prefill-instances is 2 and "
        .. "--decode-instances 0; without --prefill-decode-instances, both are required" },
      { { "--encode-instances", "2" },
        "run: cluster: --encode-instances is 2, but no instance prefills or decodes; set "
        .. "--prefill-decode-instances, or --prefill-instances and --decode-instances" },
    } do
      local message = message_of(table.unpack(case[1]))
      local expected = case[2]:gsub("%?;", "?")
      assert.equal(expected, message:sub(1, #expected))
    end
  end)

  it("may be harmless", function()
    assert.equal(output_of(), output_of("--pd-decider", "never", "--prefill-instances", "0",
      "--trace-level", "none", "--flow-control=false", "--log", "fatal", "--lazy-generation"))
  end)
end)

describe("wrong specifications", function()
  local function message_of_spec(text)
    local result
    files.with(text, function(path)
      local _, message = commands.error_of("run", "--workload-spec", path)
      result = message:gsub(path:gsub("%p", "%%%0"), "SPEC")
    end)
    return result
  end

  local client = "{rate_fraction: 1, arrival: {process: poisson}, "
    .. "input_distribution: {type: constant, params: {value: 9}}, "
    .. "output_distribution: {type: constant, params: {value: 9}}}"

  it("are named with file and line", function()
    for _, case in ipairs {
      { "", "SPEC: " },
      { "seed: 1\n", "SPEC:1: the workload has no clients" },
      { "version: 3\nclients: []\n",
        "SPEC:1: key 'version': '3' is not a workload version; known are 1 and 2" },
      { "aggregate_rate: 5\nnum_requests: 3\n\nclients:\n  - rate_fraction: -1\n",
        "SPEC:5: client 1: rate_fraction is -1; expected a number of at least 0" },
      { "aggregate_rate: 5\nclients:\n  - rate_fracton: 1\n",
        "SPEC:3: 'rate_fracton' is not a key of a client; did you mean 'rate_fraction'?" },
      { "aggregate_rate: 5\nclients:\n  - id: a\n    adapter: lora\n",
        "SPEC:4: client 1 ('a'): unknown adapter 'lora': cluster.lora (--lora-config) has none" },
      { "aggregate_rate: 5\nclients:\n  - rate_fraction: 1\n    arrival: {process: poisson}\n"
        .. "    input_distribution: {type: constant, params: {value: 9}}\n"
        .. "    output_distribution: {type: constant, params: {value: 9}}\n"
        .. "    reasoning:\n      multi_turn: {max_rounds: 0}\n",
        "SPEC:8: client 1: multi_turn: max_rounds is 0; expected an integer from 1" },
      { "aggregate_rate: 5\ncohorts:\n  - population: x\n",
        "SPEC:3: key 'population': 'x' is not a whole number" },
      { "servegen_data: {path: x}\nclients: [" .. client .. "]\n",
        "SPEC:1: clients and servegen_data exclude each other" },
      { "aggregate_rate: fast\nclients: [" .. client .. "]\n",
        "SPEC:1: key 'aggregate_rate': 'fast' is not a number" },
    } do
      local message = message_of_spec(case[1])
      assert.equal(case[2], message:sub(1, #case[2]))
    end
  end)

  it("without an end need one", function()
    local spec = "aggregate_rate: 5\nclients: [" .. client .. "]\n"
    assert.matches("the workload never ends", message_of_spec(spec), 1, true)
  end)
end)

describe("blis run --trace-output", function()
  it("writes the trace of BLIS in Go", function()
    files.with(nil, function(name)
      commands.output_of("run", "--profile", "go-blis", "--model", "qwen/qwen3-14b", "--rate", "2",
        "--num-requests", "4", "--prefix-tokens", "32", "--prompt-tokens", "20",
        "--prompt-tokens-stdev", "5", "--prompt-tokens-min", "2", "--prompt-tokens-max", "40",
        "--output-tokens", "4", "--output-tokens-stdev", "2", "--output-tokens-min", "1",
        "--output-tokens-max", "8", "--trace-output", name, "--quiet")
      for _, ending in ipairs { ".csv", ".yaml" } do
        assert.equal(files.read("tests/data/tracev2/t1" .. ending), files.read(name .. ending))
        os.remove(name .. ending)
      end
    end)
  end)
end)

describe("the program #host", function()
  it("writes results and requests to files, for run and for replay", function()
    files.with(nil, function(path)
      local saved, rows, trace = path .. ".blis", path .. ".csv", path .. ".trace"
      for _, line in ipairs {
        { "run", with("--trace-output", trace) },
        { "replay", trace .. ".csv", "--num-instances", "2" },
      } do
        local outputs = { "--save", saved, "--requests-path", rows }
        local run = program.run(table.unpack(table.move(outputs, 1, 4, #line + 1, line)))
        assert.equal("", run.err)
        assert.equal(0, run.status)
        assert.equal(40, blis.load_result(saved).completed)
        assert.equal(41, select(2, files.read(rows):gsub("\n", "")))
        os.remove(saved)
        os.remove(rows)
      end
      os.remove(trace .. ".csv")
      os.remove(trace .. ".yaml")
    end)
  end)

  it("ends with status 2 for wrong flags and 1 for a failed run", function()
    local run = program.run("run", "--nosuch")
    assert.equal(2, run.status)
    assert.equal("", run.out)
    assert.equal("blis: run: unknown flag '--nosuch'; 'blis run --help' lists the flags\n", run.err)
    run = program.run("run", "--num-requests", "3", "--metrics-path", "/nosuch/m.json")
    assert.equal(1, run.status)
    assert.equal("", run.out)
    assert.equal("", program.run("run", "--help").err)
  end)

  it("leaves an older file alone when a run fails", function()
    files.with("old", function(path)
      program.run("run", "--model", "nosuch", "--metrics-path", path)
      assert.equal("old", files.read(path))
    end)
  end)
end)
