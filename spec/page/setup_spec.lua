--- "Configuration" of pages: what an experiment asked for, and what tells several runs apart.
local blis = require "blis"
local files = require "spec.support.files"
local program = require "spec.support.program"
local small = require "spec.support.small"

local s = blis.seconds

--- The rows of the section by their names, each with the texts of its cells, and the headings in
--- front of them.
local function rows_in(path)
  local text, rows, heads = files.read(path), {}, {}
  local head
  for kind, body in text:match('<section [^>]*id="setup">.-</section>')
    :gmatch "<([ht][3r])>(.-)</[ht][3r]>" do
    if kind == "h3" then
      head = body
    else
      local cells = {}
      for cell in body:gmatch "<t[hd][^>]*>(.-)</t[hd]>" do cells[#cells + 1] = cell end
      rows[cells[1]], heads[cells[1]] = { table.unpack(cells, 2) }, head
    end
  end
  return rows, heads, text
end

--- Those of the page of a result or comparison.
local function rows_of(shown)
  local found
  files.with(nil, function(path)
    shown:report(path)
    found = { rows_in(path) }
  end, ".html")
  return table.unpack(found)
end

local function assert_rows(expected, rows)
  for name, text in pairs(expected) do
    assert.truthy(rows[name], "no row " .. name)
    assert.equal(text, rows[name][1])
  end
end

describe("what was run", function()
  it("has adapters, drafts, targets, tiers and spot capacity", function()
    local experiment = {
      kv_tiers = { network_gb_s = 12.5, load = "if-faster",
        { name = "host", gb = 4, read_gb_s = 10, write_gb_s = 8 },
        { name = "disk", blocks = 1200, read_gb_s = 0, half_duplex = true, scope = "cluster",
          stage = "host", policy = "fifo" } },
      slo_targets = { standard = { ttft_ms = 200, e2e_ms = 800.5 }, batch = { itl_ms = 30 } },
      cluster = { instances = 2, kv_blocks = 1500,
        lora = { adapters = { "a", { id = "b", rank = 32 } }, slots = 1, host_slots = 1 },
        speculation = { method = "draft", tokens = 2, acceptance = { 0.7, 0.5 },
          draft_base_us = 300, max_batch = 8 },
        spot = { notice = s(4), restart_time = s(3), requests = "failed",
          steps = { { at = s(20), available = 0 }, { at = s(30), available = 2 } } } },
      workload = { rate = 5, requests = 5, prompt_tokens = 100, output_tokens = 4 },
    }
    local expected = {
      ["SLO targets"] = "batch: ITL at most 30 ms; standard: TTFT at most 200 ms, E2E at most "
        .. "800.5 ms",
      ["LoRA adapters"] = "2 adapters of ranks 8 to 32; 1 slot on the GPUs of an "
        .. "instance, 1 slot in host memory; steps continue during loads",
      ["speculative decoding"] = "2 drafts per step, one pass each, acceptance 0.7, 0.5; a pass "
        .. "takes 300 us and 0 us per request; none with more than 8 running requests",
      ["KV tier 1"] = "host: 4 GB of each instance, read at 10 GB/s, written at 8 GB/s; lru, "
        .. "write-through",
      ["KV tier 2"] = "disk: 1,200 blocks of all instances, reads and writes take no time; "
        .. "fifo, write-through, through host",
      ["links of KV tiers"] = "network of an instance 12.5 GB/s; load: if-faster",
      ["spot capacity"] = "2 instances, by 2 steps; 4 s notice, serving again 3 s after capacity "
        .. "returns; unfinished requests fail",
    }
    local result = blis.run(experiment)
    local rows = rows_of(result)
    assert_rows(expected, rows)
    assert.is_nil(rows.faults) -- reclaims are the market's
    files.with(nil, function(path)
      result:save(path)
      local loaded = blis.load_result(path)
      assert_rows(expected, rows_of(loaded))
      files.with(nil, function(page)
        loaded:report(page)
        local text = files.read(page)
        assert.truthy(text:find("Read from a saved result; its hash is", 1, true))
        assert.is_nil(text:find(">Again<", 1, true))
      end, ".html")
    end)
  end)

  it("has pools, the gateway's queue, autoscalers and faults", function()
    local rows = rows_of(blis.run { queue = { max_requests = 50, saturation = "concurrency" },
      disaggregation = { bandwidth_gb_s = 40, base_latency_ms = 0.2 },
      faults = { { kind = "crash", at = s(1), instance = 1, recover_after = s(2) } },
      cluster = { prefill_instances = 1, decode_instances = 2 },
      workload = { rate = 5, requests = 5 } })
    assert_rows({ ["prefill and decode"] = "decided by always; links of instances 40 GB/s, fabric "
      .. "no limit, 0.2 ms each; KV is moved in order of source",
      faults = "crash of instance_0 at 1 s, for 2 s" }, rows)
    assert.equal("saturation by concurrency (max concurrency 100 requests, max token concurrency "
      .. "1,000,000 tokens, mode requests); at most 50 requests", rows["gateway&#39;s queue"][1])
    rows = rows_of(blis.run(small.experiment { queue = { saturation = "concurrency",
        max_concurrency = 30, usage_limit_threshold = 0.8, usage_limit = "linear", ttl_us = s(30),
        fairness = function() return 1 end, order = "edf" },
      kv_tiers = { load = function() return true end,
        { name = "host", gb = 4, read_gb_s = 10, half_duplex = true } },
      cluster = { instances = 2, spot = { requests = "rerouted",
        steps = { { at = s(20), available = 0 } } } } }))
    assert.equal("saturation by concurrency (max concurrency 30 requests, max token concurrency "
      .. "1,000,000 tokens, mode requests); no limit on its length; usage limit linear (threshold "
      .. "0.8); fairness by a function; order edf; ttl 30 s", rows["gateway&#39;s queue"][1])
    assert_rows({ ["KV tier 1"] = "host: 4 GB of each instance, reads and writes share 10 GB/s; "
      .. "lru, write-through",
      ["links of KV tiers"] = "network without a limit; load: by a function" }, rows)
    assert.truthy(rows["spot capacity"][1]:find("; unfinished requests are rerouted$"))
    rows = rows_of(blis.run(small.experiment {
      autoscaler = { "hpa", metrics = { queue_depth = 1 } },
      scaling = { max_replicas = 4 } }))
    assert_rows({ autoscaler = "hpa (metrics queue depth 1), 1 to 4 instances, "
      .. "provisioning delay 60 s, loading delay 180 s" }, rows)
    rows = rows_of(blis.run(small.experiment {
      autoscaler = { "threshold", signal = "queue-depth", scale_up_threshold = 3 },
      scaling = { max_replicas = 4, interval_us = s(5), provisioning_delay_us = s(30),
        loading_delay_us = { mean_us = s(20), stddev_us = s(2) }, drain = "redirect",
        warm_start = false } }))
    assert_rows({ autoscaler = "threshold (signal queue-depth, scale up threshold 3, scale down "
      .. "threshold 0.3, cooldown 60 s), 1 to 4 instances, provisioning delay 30 s, "
      .. "loading delay 20 s on average, interval 5 s, warm start no, drain redirect" }, rows)
  end)

  it("has the first faults, and how many more there are", function()
    local faults = {
      { kind = "slow", at = s(1), instance = 2, factor = 3 },
      { kind = "crash", mtbf = s(100), requests = "retried", recover_after = s(1) },
      { kind = "flap", at = s(2), instance = 1, times = 4, every = s(5), recover_after = s(1) },
    }
    local text = "slow (3 times as long) of instance_1 at 1 s; crash of instance_0 at 2 s, for 1 "
      .. "s; crash of instance_0 at 7 s, for 1 s; crash of instance_0 at 12 s, for 1 s; and 2 more"
    assert_rows({ faults = text }, rows_of(blis.run(small.experiment { faults = faults })))
    assert_rows({ faults = "crash of any instance every 100 s on average, for 1 s, its requests "
      .. "are retried" }, rows_of(blis.run(small.experiment { faults = { faults[2] } })))
  end)

  it("has the parameters of admission policies, in their place", function()
    for text, admission in pairs {
      ["token-bucket (bucket size 4,000 tokens, refill rate 100 tokens/s, per tenant yes, "
        .. "cost input_tokens)"] = { "token-bucket", bucket_size = 4000 },
      ["rate-limit (rate 50 requests/s, burst 200 requests, on limit reject)"] = "rate-limit",
      ["latency-slo (prefill tokens 30,000 tokens/s, cold utilization 0.02)"] = { "latency-slo",
        prefill_tokens_per_s = 30000 },
      ["tenant-quota (default quota no limit, quota a 3 requests)"] = { "tenant-quota",
        quota = { a = 3 } },
      ["reject-all"] = "reject-all",
      ["a function"] = function() return blis.admit() end,
    } do
      local _, _, page = rows_of(blis.run(small.experiment { admission = admission }))
      local names = {}
      for name, cell in page:gmatch '<tr><th scope="row">([^<]+)</th><td[^>]*>([^<]*)</td></tr>' do
        names[#names + 1] = name
        if name == "admission" then assert.equal(text, cell) end
      end
      local all = table.concat(names, ", ")
      assert.truthy(all:find("routing, admission, scheduler, ", 1, true), all)
      assert.is_nil(all:find("admission.*admission"), all)
    end
  end)

  it("has the scorers that nobody gave, as the core has them", function()
    local given = {}
    for _, profile in ipairs { "design", "go-blis" } do
      for _, name in ipairs { "weighted", "weighted-stateless" } do
        local function run(routing)
          return blis.run(small.experiment { profile = profile, routing = routing,
            cluster = { instances = 3 }, trace_level = "decisions" })
        end
        local result = run(name)
        local text = rows_of(result).scorers[1]:match "^(.*), as usual$"
        local scorers = {}
        for scorer, weight in text:gmatch "([%w-]+):(%d+)" do
          scorers[#scorers + 1] = { scorer, tonumber(weight) }
        end
        local same = run { "weighted", scorers = scorers }
        for i, one in ipairs(result.decisions) do
          for k, candidate in ipairs(one.candidates or {}) do
            assert.equal(candidate.score, same.decisions[i].candidates[k].score)
          end
        end
        assert.is_nil(rows_of(same).scorers)
        given[text] = true
      end
    end
    assert.is_true(given["precise-prefix-cache:2, queue-depth:1, kv-utilization:1"])
    assert.is_true(given["prefix-affinity:3, queue-depth:2, kv-utilization:2"])
  end)

  it("says which groups have what", function()
    local function group(slots)
      return { instances = 1, lora = slots and { adapters = 4, slots = slots } }
    end
    local rows = rows_of(blis.run { cluster = { groups = { group(2), group(3), group(2) } },
      workload = { rate = 5, requests = 5 } })
    local text = "4 adapters of rank 8; %d slots on the GPUs of an instance, all adapters in "
      .. "host memory; steps continue during loads"
    assert_rows({ ["LoRA adapters"] = ("groups 1, 3: %s; group 2: %s"):format(text:format(2),
      text:format(3)) }, rows)
    assert.truthy(rows["KV cache of group 3"])
  end)

  it("has every setting that decides the run and is not as usual", function()
    local result = blis.run {
      cluster = { instances = 2, max_num_seqs = 8, max_num_batched_tokens = 512,
        routing_latency_us = 5000, snapshot_refresh_us = 200000, async_scheduling = false,
        slo_priorities = { batch = 1 }, tenant_budgets = { a = 0.5, b = 0.25 }, pue = 1.2 },
      workload = { rate = 20, requests = 20 }, oracle = true, horizon_us = s(10),
      phases = { { name = "night" }, { name = "day", from_us = s(3) } },
      series_interval_us = s(1), keep_steps = true,
    }
    local expected = { horizon = "10 s", ["max num seqs"] = "8 requests",
      ["max num batched tokens"] = "512 tokens", ["routing latency"] = "5 ms",
      ["snapshot refresh"] = "0.2 s", ["async scheduling"] = "no",
      ["SLO priorities"] = "batch 1, realtime 4", ["tenant budgets"] = "a 0.5, b 0.25",
      PUE = "1.2", oracle = "yes", phases = "night from 0 s, day from 3 s" }
    local rows = rows_of(result)
    assert_rows(expected, rows)
    for _, name in ipairs { "series interval", "keep steps", "admission latency", "model" } do
      assert.is_nil(rows[name], name) -- only recorded, as usual, or told elsewhere
    end
    files.with(nil, function(path)
      result:save(path)
      assert_rows(expected, rows_of(blis.load_result(path)))
    end)
  end)

  it("has the settings of groups with their numbers, and of ranks", function()
    local rows = rows_of(blis.run { workload = { rate = 20, requests = 20 },
      cluster = { admission_latency_us = 3000, groups = { { instances = 1, max_num_seqs = 4 },
        { instances = 1, ranks = { count = 2, balance = "internal" } } } } })
    assert_rows({ ["max num seqs"] = "group 1: 4 requests; group 2: 1,024 requests",
      ["admission latency"] = "3 ms", ["data-parallel ranks"] = "group 2: 2 of a group, "
        .. "balanced within, by loads published every 0.1 s to 1 client" }, rows)
  end)

  it("has what is not usual under a profile, and the profile", function()
    local rows = rows_of(blis.run(small.experiment { profile = "go-blis" }))
    assert.same({ "go-blis" }, rows.profile)
    assert.is_nil(rows["snapshot refresh"]) -- 50 ms there
    rows = rows_of(blis.run(small.experiment { profile = "go-blis",
      cluster = { instances = 3, snapshot_refresh_us = 0 } }))
    assert.same({ "0 s" }, rows["snapshot refresh"])
  end)

  it("has nothing of what was not asked for", function()
    local result = blis.run(small.experiment())
    assert.is_nil(rawget(result.setup, "asked"))
    assert.is_nil(rows_of(result)["SLO targets"])
  end)
end)

describe("what was compared", function()
  it("says so where nothing differs", function()
    files.with(nil, function(path)
      blis.compare(small.experiment { routing = { "round-robin", "round-robin" } }):report(path)
      local text = files.read(path)
      assert.truthy(text:find("<p>Only settings that reports do not show.</p>", 1, true))
      assert.truthy(text:find("As resolved", 1, true))
    end, ".html")
  end)

  it("is apart from what is the same for all policies", function()
    local rows, heads = rows_of(blis.compare(small.experiment {
      slo_targets = { standard = { ttft_ms = 200 } }, routing = { "round-robin", { "weighted",
        scorers = { { "prefix-affinity", 3 }, { "queue-depth", 1 } } } } }))
    assert.same({ "round-robin", "weighted(prefix-affinity:3, queue-depth:1)" }, rows.routing)
    assert.equal("What differs", heads.routing)
    assert.same({ "standard: TTFT at most 200 ms" }, rows["SLO targets"])
    for _, name in ipairs { "SLO targets", "scheduler", "KV cache", "seed" } do
      assert.equal("The same for all", heads[name])
    end
  end)

  it("is told of variants as they were given, with what follows", function()
    local experiment = small.experiment { variants = { { scheduler = "sjf" },
      { name = "plain" }, { slo_targets = { batch = { itl_ms = 9 } } } } }
    local rows, heads = rows_of(blis.compare(experiment))
    assert.same({ '{ scheduler = &quot;sjf&quot; }', "nothing",
      "{ slo_targets = { batch = { itl_ms = 9 } } }" }, rows.changed)
    assert.same({ "sjf", "fcfs", "fcfs" }, rows.scheduler)
    assert.same({ "-", "-", "batch: ITL at most 9 ms" }, rows["SLO targets"])
    for _, name in ipairs { "changed", "scheduler", "SLO targets" } do
      assert.equal("What differs", heads[name])
    end
    assert.equal("The same for all", heads.routing)
  end)

  it("is told of runs over seeds as of single runs, with all seeds", function()
    local experiment = small.experiment { scheduler = "sjf", seed = 7,
      routing = { "round-robin", "weighted" } }
    local rows, heads = rows_of(blis.compare(experiment))
    experiment.replications, experiment.quiet = 3, true
    local seen, seen_heads, text = rows_of(blis.compare(experiment))
    assert.same({ "7" }, rows.seed)
    assert.same({ "7 to 9" }, seen.seeds)
    seen.seed, seen_heads.seed = rows.seed, heads.seed
    seen.seeds, seen_heads.seeds = nil, nil
    assert.same(rows, seen)
    assert.same(heads, seen_heads)
    assert.truthy(text:find("<p>Traffic: generated requests: ", 1, true))
    assert.equal("setup", text:match '<section [^>]*id="([^"]+)"') -- first, as on other pages
    experiment.workload = blis.workload(experiment.workload)
    assert.same(rows, (rows_of(blis.compare(experiment)))) -- which no seed changes
  end)

  it("is told of variants over seeds as they were given, with what follows", function()
    local rows = rows_of(blis.compare(small.experiment { replications = 2, quiet = true,
      variants = { { scheduler = "sjf", preemption = "priority" }, { name = "plain" } } }))
    assert.same({ '{ preemption = &quot;priority&quot;, scheduler = &quot;sjf&quot; }', "nothing" },
      rows.changed)
    assert.same({ "sjf", "fcfs" }, rows.scheduler)
  end)

  it("does not tell a change twice", function()
    local function rows_with(...) return rows_of(blis.compare(small.experiment {
      variants = { ... } })) end
    local rows = rows_with({ scheduler = "sjf" }, { name = "plain" })
    assert.is_nil(rows.changed)
    assert.same({ "sjf", "fcfs" }, rows.scheduler)
    rows = rows_with({ cluster = { max_num_batched_tokens = 1024 } },
      { cluster = { max_num_batched_tokens = 2048 } })
    assert.is_nil(rows.changed)
    assert.same({ "1,024 tokens", "2,048 tokens" }, rows["max num batched tokens"])
    rows = rows_with({ oracle = true, cluster = { max_model_len = 900 } }, { name = "plain" })
    assert.same({ "yes", "no" }, rows.oracle)
    assert.same({ "900 tokens", "-" }, rows["max model len"]) -- as the model has it
    rows = rows_with({ cluster = { instances = 2, max_num_seqs = 9 } }, { cluster = {
      instances = 3 } })
    assert.same({ "{ cluster = { instances = 2, max_num_seqs = 9 } }",
      "{ cluster = { instances = 3 } }" }, rows.changed)
  end)

  it("has a row for each of many runs", function()
    local given = {}
    for i = 1, 5 do
      given[i] = { name = "v" .. i, cluster = { instances = i }, scheduler = "sjf" }
    end
    local rows, heads, text = rows_of(blis.compare(small.experiment { variants = given }))
    assert.same({ "{ cluster = { instances = 3 }, scheduler = &quot;sjf&quot; }",
      "3 instances of qwen/qwen3-14b on H100, tp 1" }, rows.v3)
    assert.equal("What differs", heads.v5)
    assert.truthy(text:find('<th class="words" scope="col">instances</th>', 1, true))
    assert.same({ "sjf" }, rows.scheduler)
    given[5] = nil
    rows = rows_of(blis.compare(small.experiment { variants = given }))
    assert.is_nil(rows.v3)
    assert.equal("4 instances of qwen/qwen3-14b on H100, tp 1", rows.instances[4])
  end)
end)

describe("what variants of a command change #host", function()
  --- The rows of the page of `blis compare` with such variants.
  local function compared(replications, ...)
    local words = { "compare", "--rate", "40", "--num-requests", "20", "--quiet", "--scheduler",
      "sjf", "--replications", tostring(replications) }
    for _, text in ipairs { ... } do table.move({ "--variant", text }, 1, 2, #words + 1, words) end
    local found
    files.with(nil, function(path)
      table.move({ "--report", path }, 1, 2, #words + 1, words)
      local done = program.run(table.unpack(words))
      assert.equal(0, done.status, done.err)
      found = { rows_in(path) }
    end, ".html")
    return table.unpack(found)
  end

  it("is all that differs, and not told twice", function()
    for _, replications in ipairs { 1, 2 } do
      local rows, heads = compared(replications, "--num-instances 3", "--routing-policy weighted")
      local different = {}
      for name, head in pairs(heads) do
        if head == "What differs" then different[name] = rows[name] end
      end
      assert.same({ routing = { "round-robin", "weighted" }, scorers = { "-",
        "prefix-affinity:3, queue-depth:2, kv-utilization:2, as usual" }, instances = {
        "3 instances of qwen/qwen3-14b on H100, tp 1",
        "1 instance of qwen/qwen3-14b on H100, tp 1" } }, different)
      assert.same({ "sjf" }, rows.scheduler)
    end
  end)

  it("is told by their flags alone where the resolved rows are the same", function()
    local _, _, text = compared(1, "--trace-level none", "--trace-level decisions")
    assert.truthy(text:find("<p>The flags differ only in settings that reports do not show: "
      .. "--trace-level none; --trace-level decisions.</p>", 1, true))
  end)

  it("leaves each its cluster and horizon, and traffic for the longest to all", function()
    files.with([[
version: "2"
aggregate_rate: 20
clients:
  - id: a
    rate_fraction: 1
    arrival: { process: constant }
    input_distribution: { type: constant, params: { value: 100 } }
    output_distribution: { type: constant, params: { value: 10 } }
]], function(path)
      local done = program.run("compare", "--workload-spec", path, "--replications", "1",
        "--variant", "--horizon 2s --num-instances 2", "--variant", "--horizon 1s")
      assert.equal(0, done.status, done.err)
      local arrived = {}
      for line in done.out:gmatch "[^\n]+" do
        local variant, n = line:match "^%-%-horizon (%d)s.-(%d+) +%d+  warning: short %+%d$"
        if variant then arrived[variant] = tonumber(n) end
      end
      assert.same({ ["1"] = 20, ["2"] = 40 }, arrived)
    end, ".yaml")
  end)
end)
