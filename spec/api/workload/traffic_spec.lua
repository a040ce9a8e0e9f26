local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local presets = require "blis.config.presets"
local small = require "spec.support.small"

local says = small.says

--- What makes a request, of all requests of a list.
local function text_of(list)
  local lines = {}
  for _, r in list:requests() do
    lines[#lines + 1] = table.concat({ r.arrival_us, tostring(r.deadline_us), r.prompt_tokens,
      r.output_tokens, r.shared_tokens, r.tenant, r.slo_class, r.client, r.session,
      r.prefix_group, r.round_index }, " ")
  end
  return table.concat(lines, "\n")
end

local function lengths(spec)
  spec.input_distribution = { "exponential", mean = 120 }
  spec.output_distribution = { type = "gaussian", params = { mean = 20, std_dev = 5, min = 2,
    max = 60 } }
  return spec
end

local yaml_lengths = [[
    input_distribution: {type: exponential, params: {mean: 120}}
    output_distribution: {type: gaussian, params: {mean: 20, std_dev: 5, min: 2, max: 60}}
]]

describe("a workload is the same requests", function()
  it("in a table and in a file", function()
    local in_table = {
      seed = 9, aggregate_rate = 30, num_requests = 80,
      clients = {
        lengths { id = "a", tenant_id = "t", slo_class = "batch", rate_fraction = 2,
          arrival = { "gamma", cv = 2 }, prefix_group = "g", prefix_length = 64,
          timeout = 5000000 },
        lengths { id = "b", slo_class = "critical", closed_loop = false,
          reasoning = { multi_turn = { max_rounds = 3, think_time_us = 100000,
            context_growth = "accumulate" } } },
      },
      cohorts = {
        lengths { id = "c", slo_class = "standard", population = 3,
          spike = { start_time_us = 500000, duration_us = 1000000 } },
      },
    }
    files.with([[
version: "2"
seed: 9
aggregate_rate: 30
num_requests: 80
clients:
  - id: a
    tenant_id: t
    slo_class: batch
    rate_fraction: 2
    arrival: {process: gamma, cv: 2}
    prefix_group: g
    prefix_length: 64
    timeout: 5000000
]] .. yaml_lengths .. [[
  - id: b
    slo_class: critical
    rate_fraction: 1
    arrival: {process: poisson}
    closed_loop: false
    reasoning:
      multi_turn: {max_rounds: 3, think_time_us: 100000, context_growth: accumulate}
]] .. yaml_lengths .. [[
cohorts:
  - id: c
    slo_class: standard
    rate_fraction: 1
    population: 3
    arrival: {process: poisson}
    spike: {start_time_us: 500000, duration_us: 1000000}
]] .. yaml_lengths, function(path)
      local from_file = text_of(blis.workload { file = path })
      assert.equal(text_of(blis.workload(in_table)), from_file)
      assert.equal(blis.run { workload = in_table }.hash,
        blis.run { workload = { file = path } }.hash)
      local other_seed = text_of(blis.workload { file = path, seed = 10 })
      in_table.seed = 10
      assert.equal(text_of(blis.workload(in_table)), other_seed)
      assert.not_equal(from_file, other_seed)
    end)
  end)

  it("in every recorded specification and its table", function()
    for _, name in ipairs { "prefix", "long_tails", "weibull", "windows", "inference_perf" } do
      local path = ("tests/data/workload/%s.yaml"):format(name)
      local table_of_file = core.yaml_read(path)
      assert.equal(text_of(blis.workload { file = path }),
        text_of(blis.workload(table_of_file)), name)
    end
    for _, name in ipairs { "sessions", "users" } do
      local path = ("tests/data/workload/%s.yaml"):format(name)
      local from_file = blis.run { workload = { file = path } }
      assert.equal(from_file.hash, blis.run { workload = core.yaml_read(path) }.hash, name)
      assert.is_true(from_file.completed > 5)
    end
  end)

  it("in the short form, with clients, and from flags", function()
    local distribution = { "gaussian", mean = 100, std_dev = 50, min = 2, max = 700 }
    local short = { rate = 20, requests = 40, prompt = distribution, output = distribution,
      arrival = "constant", prefixes = { tokens = 32 }, timeout_us = 5000000 }
    local long = { rate = 20, requests = 40, clients = {
      { id = "distribution", prompt = distribution, output = distribution, arrival = "constant",
        prefix_group = "shared", prefix_length = 32, timeout = 5000000 } } }
    local hash = blis.run { workload = short }.hash
    assert.equal(text_of(blis.workload(short)), text_of(blis.workload(long)))
    assert.equal(hash, blis.run { workload = long }.hash)
    local flags = { "--rate", "20", "--num-requests", "40", "--arrival", "constant",
      "--prefix-tokens", "32", "--timeout", "5", "--format", "json" }
    for _, kind in ipairs { "prompt", "output" } do
      for flag, value in pairs { [""] = 100, ["-stdev"] = 50, ["-min"] = 2, ["-max"] = 700 } do
        table.move({ ("--%s-tokens%s"):format(kind, flag), tostring(value) }, 1, 2, #flags + 1,
          flags)
      end
    end
    local got = core.json_read(commands.output_of("run", table.unpack(flags)))
    assert.equal(hash, got.hash)
  end)

  it("of sessions, in the short form and with clients", function()
    for _, is_closed in ipairs { true, false } do
      local short = { rate = 5, requests = 40, prompt_tokens = 50, output_tokens = 10,
        timeout_us = 9000000,
        sessions = { max_rounds = 4, think_time_us = 200000, closed_loop = is_closed } }
      local long = { rate = 5, requests = 40, clients = {
        { id = "distribution", prompt = 50, output = 10, timeout = 9000000,
          closed_loop = is_closed, reasoning = { multi_turn = { max_rounds = 4,
            think_time_us = 200000, context_growth = "accumulate" } } } } }
      local result = blis.run { workload = short }
      assert.equal(result.hash, blis.run { workload = long }.hash)
      assert.equal(result.arrived, result.completed)
    end
  end)

  it("of sessions, with as many requests as are asked for, all rounds counted", function()
    for _, is_closed in ipairs { true, false } do
      for _, requests in ipairs { 1, 7, 101 } do
        for _, prefixes in ipairs { false, { groups = 3, tokens = 32 } } do
          local result = blis.run { workload = { rate = 20, requests = requests,
            prompt_tokens = 20, output_tokens = 4, prefixes = prefixes or nil,
            sessions = { max_rounds = 5, think_time_us = 1000, closed_loop = is_closed } } }
          assert.equal(requests, result.arrived)
          assert.equal(requests, result.completed)
        end
      end
    end
    -- Rounds that follow on what was refused never arrive.
    local refused = blis.run { admission = { "token-bucket", bucket_size = 200, refill_rate = 100 },
      workload = { rate = 20, requests = 100, prompt_tokens = 20, output_tokens = 4,
        sessions = { max_rounds = 5, think_time_us = 1000 } } }
    assert.is_true(refused.rejected > 0 and refused.arrived < 100)
  end)

  it("with lazy tokens, in the short form, with clients, in a file, and from flags", function()
    local length = { "gaussian", mean = 512, std_dev = 256, min = 2, max = 7000 }
    local short = { rate = 20, requests = 40, tokens = "lazy" }
    local long = { rate = 20, requests = 40, tokens = "lazy", clients = {
      { id = "distribution", prompt = length, output = length, timeout = 300000000 } } }
    local hash = blis.run { workload = short }.hash
    assert.equal(hash, blis.run { workload = long }.hash)
    assert.not_equal(hash, blis.run { workload = { rate = 20, requests = 40 } }.hash)
    local flags = { "--rate", "20", "--num-requests", "40", "--tokens", "lazy", "--format", "json" }
    assert.equal(hash, core.json_read(commands.output_of("run", table.unpack(flags))).hash)
    local text = core.workload_spec(long, "workload", { seed = 42 }):yaml()
    says(text, "tokens: lazy\n")
    files.with(text, function(path)
      assert.equal(hash, blis.run { workload = { file = path } }.hash)
      local drawn = blis.run { workload = { file = path, tokens = "drawn" } }.hash
      assert.equal(drawn, blis.run { workload = { rate = 20, requests = 40 } }.hash)
    end)
    for _, name in ipairs { "chatbot", "mixed-slo" } do
      local result = blis.run { workload = { preset = name, requests = 20, tokens = "lazy" } }
      local got = core.json_read(commands.output_of("run", "--workload", name, "--num-requests",
        "20", "--tokens", "lazy", "--format", "json"))
      assert.equal(result.hash, got.hash)
    end
  end)

  it("when a specification is written and read again", function()
    for _, path in ipairs { "tests/data/workload/prefix.yaml", "tests/data/workload/sessions.yaml",
      "tests/data/workload/users.yaml", "tests/data/workload/long_tails.yaml",
      "tests/data/workload/weibull.yaml", "tests/data/workload/windows.yaml",
      "tests/data/workload/version_1.yaml", "tests/data/workload/many.yaml",
      "examples/data/chat.yaml", "tests/fuzz/corpus/spec/modalities.yaml",
      "tests/fuzz/corpus/spec/cohorts.yaml", "tests/fuzz/corpus/spec/sessions.yaml" } do
      local settings = { seed = 42, num_requests = 300, is_only_read = true }
      local spec = core.workload_spec(path, "workload", settings)
      local text = spec:yaml()
      files.with(text, function(again)
        local second = core.workload_spec(again, "workload", settings)
        assert.equal(text, second:yaml(), path)
        assert.equal(blis.run { workload = spec }.hash, blis.run { workload = second }.hash, path)
      end)
    end
  end)

  it("of a preset, in a script and from flags", function()
    for _, name in ipairs { "chatbot", "bursty", "unfair-tenants", "prefix-heavy", "mixed-slo" } do
      local result = blis.run { workload = { preset = name, rate = 10, requests = 20 } }
      local got = core.json_read(commands.output_of("run", "--workload", name, "--rate", "10",
        "--num-requests", "20", "--format", "json"))
      assert.equal(result.hash, got.hash)
    end
    for _, name in ipairs(presets.names) do
      assert.equal(5, #blis.workload { preset = name, requests = 5 })
    end
  end)
end)

describe("math.random in functions that draw a workload", function()
  local function drawn(seed)
    return { workload = { requests = 40, rate = 50,
      prompt = function() return math.random(10, 500) end, output_tokens = 5 }, seed = seed }
  end

  it("follows the seed and disturbs nobody", function()
    math.randomseed(1)
    local expected = { math.random(), math.random() }
    math.randomseed(1)
    local first = math.random()
    local hash = blis.run(drawn(7)).hash
    assert.same(expected, { first, math.random() })
    math.randomseed(2)
    assert.equal(hash, blis.run(drawn(7)).hash)
    assert.not_equal(hash, blis.run(drawn(8)).hash)
  end)

  it("works for whole requests, and is over after an error", function()
    local function list_of(seed)
      local n = 0
      return blis.workload { seed = seed, generator = function()
        n = n + 1
        return n <= 5 and { arrival_us = n, prompt_tokens = math.random(1000),
          output_tokens = 2 } or nil
      end }
    end
    local a, b, c = list_of(3), list_of(3), list_of(4)
    local differ = false
    for i = 1, 5 do
      assert.equal(a[i].prompt_tokens, b[i].prompt_tokens)
      differ = differ or a[i].prompt_tokens ~= c[i].prompt_tokens
    end
    assert.is_true(differ)
    math.randomseed(1)
    local expected = math.random()
    assert.is_false(pcall(blis.workload, { generator = function() error("no", 0) end }))
    math.randomseed(1)
    assert.equal(expected, math.random())
  end)
end)

describe("a specification in a file", function()
  local text = "seed: 3\naggregate_rate: 10\nnum_requests: 50\nhorizon: 2000000\nclients:\n"
    .. "  - rate_fraction: 1\n    arrival: {process: constant}\n" .. yaml_lengths

  it("gives way to what is given beside it", function()
    files.with(text, function(path)
      assert.equal(20, #blis.workload { file = path })
      assert.equal(7, #blis.workload { file = path, num_requests = 7 })
      assert.equal(10, #blis.workload { file = path, horizon_us = 1000000 })
      assert.is_nil(blis.workload({ file = path })[1].deadline_us)
      assert.equal(599999, blis.workload({ file = path, timeout_us = 500000 })[1].deadline_us)
      assert.not_equal(text_of(blis.workload { file = path, tokens = "lazy" }),
        text_of(blis.workload { file = path }))
    end)
  end)

  it("ends the run at its horizon", function()
    files.with(text, function(path)
      assert.is_true(blis.run { workload = { file = path } }.duration_us <= 2000000)
      assert.is_true(blis.run { workload = { file = path }, horizon_us = 5000000 }.duration_us
        > 2000000)
    end)
  end)

  it("is compared under several policies", function()
    files.with(text, function(path)
      local list = blis.compare { workload = { file = path }, horizon_us = 1500000,
        routing = { "round-robin", "least-loaded" } }
      assert.equal(list[1].arrived, list[2].arrived)
      assert.equal(15, list[1].arrived)
    end)
  end)

  it("that is not quite what was asked for is noted", function()
    local note = "gamma with cv 20 is too bursty to sample; using poisson"
    local short = { requests = 3, arrival = { "gamma", cv = 20 } }
    local long = { num_requests = 3, aggregate_rate = 1, clients = { lengths {
      arrival = { "gamma", cv = 20 } } } }
    for _, traffic in ipairs { short, long } do
      says(blis.simulation { workload = traffic }:run().setup.notes, note)
      says(blis.workload(traffic):notes()[1], note)
    end
  end)

  it("that is missing is an error", function()
    local problem = small.error_of(blis.workload, { file = "/nosuch.yaml" })
    assert.equal("io", problem.code)
    says(problem.message, "/nosuch.yaml")
  end)
end)

--- A specification of one client with some more keys.
local function with_client(keys)
  local client = lengths {}
  for key, value in pairs(keys) do client[key] = value end
  return { aggregate_rate = 1, num_requests = 3, clients = { lengths {}, client } }
end

local circle = {}
circle[1] = circle

describe("a wrong specification", function()
  for i, case in ipairs {
    { with_client { rate_fraction = -1 }, "workload.clients[2].rate_fraction: client 2: "
      .. "rate_fraction is -1; expected a number of at least 0" },
    { with_client { rate_fracton = 1 }, "workload.clients[2]: 'rate_fracton' is not a key of a "
      .. "client; did you mean 'rate_fraction'?" },
    { with_client { slo_class = "fast" }, "workload.clients[2].slo_class: client 2: unknown "
      .. "slo_class 'fast'; known are critical" },
    { with_client { arrival = { "gamma", cv = 0 } }, "workload.clients[2].arrival: cv is 0" },
    { with_client { arrival = "poison" }, "workload.clients[2].arrival: unknown process" },
    { with_client { arrival = { "poisson" }, prompt = 5 }, "is set twice, under two names" },
    { with_client { input_distribution = { "gausian", mean = 5 } },
      "workload.clients[2].input_distribution: unknown type 'gausian'" },
    { with_client { input_distribution = { "exponential", mean = "5" } },
      "workload.clients[2].input_distribution.mean: '5' is not a number" },
    { with_client { reasoning = { multi_turn = { max_rounds = 2.5 } } },
      "workload.clients[2].reasoning.multi_turn.max_rounds: '2.5' is not a whole number" },
    { with_client { adapter = "a" }, "workload.clients[2].adapter: client 2: unknown adapter 'a'" },
    { with_client { id = print }, "workload.clients[2].id: invalid value of type function" },
    { with_client { id = circle }, "nested too deeply or contain themselves" },
    { "chat.yaml", "workload: invalid value 'chat.yaml'; for a specification in a file, use { file "
      .. "= 'chat.yaml' }; for a trace, blis.trace.read('chat.yaml')" },
    { "chatbot", "workload: invalid value 'chatbot'; for the preset, use { preset = 'chatbot' }" },
    { { sessions = { max_rounds = 2, think_time_us = 1 << 62 } }, "think_time_us" },
    { { clients = {} }, "the workload has no clients" },
    { { clients = { {} }, aggregate_rate = 1 }, "input_distribution is missing" },
    { { clients = 5 }, "workload.clients: '5' is not a list" },
    { { clients = { [true] = 1 } }, "neither a string nor a whole number" },
    { { clients = { lengths {} }, aggregate_rate = 1 }, "the workload never ends" },
    { { version = 3, clients = { lengths {} } },
      "workload.version: '3' is not a workload version" },
    { { inference_perf = { stages = { { rate = 0, duration = 1 } },
      shared_prefix = { num_unique_system_prompts = 1, num_users_per_system_prompt = 1 } } },
      "workload.inference_perf.stages[1].rate: inference_perf: stage 1: rate is 0" },
    { { servegen_data = { path = "/nosuch" } }, "/nosuch" },
  } do
    it(("is named with key, value and what is allowed (%d)"):format(i), function()
      local problem = small.error_of(blis.simulation, { workload = case[1] })
      assert.equal("table", type(problem))
      assert.is_true(problem.code == "invalid" or problem.code == "io", problem.code)
      says(problem.message, case[2])
      says(problem.message, "spec/support/small.lua:")
    end)
  end
end)

describe("functions of a script", function()
  it("draw lengths and arrivals", function()
    local spec = {
      rate = 10, requests = 200, prefixes = { groups = 3, tokens = 40 }, seed = 5,
      arrival = function(rng) return 1000 + math.floor(1000 * rng:exponential()) end,
      prompt = function(rng) return rng:integer(10, 20) end,
      output = function() return 7 end,
    }
    local list = blis.workload(spec)
    assert.equal(200, #list)
    local last_us, groups = 0, {}
    for _, request in list:requests() do
      assert.is_true(request.arrival_us >= last_us + 1000)
      last_us = request.arrival_us
      groups[request.prefix_group] = true
      assert.equal(40, request.shared_tokens)
      assert.is_true(request.prompt_tokens >= 50 and request.prompt_tokens <= 60)
      assert.equal(7, request.output_tokens)
      assert.equal(7, request.max_output_tokens)
      assert.equal(300000000, request.deadline_us - request.arrival_us)
    end
    assert.is_true(groups.prefix_0 and groups.prefix_1 and groups.prefix_2)
    assert.equal(text_of(list), text_of(blis.workload(spec)))
    spec.horizon_us = list[100].arrival_us
    assert.equal(99, #blis.workload(spec))
    assert.equal(99, blis.run { workload = spec }.arrived)
  end)

  for i, case in ipairs {
    { { prompt = function() return -1 end },
      "spec/support/small.lua:30: workload.prompt: the function returned -1 for request 1, "
        .. "expected a whole number of tokens of at least 0" },
    { { prompt = function() return 1.5 end }, "1.5 for request 1, expected a whole number of "
      .. "tokens of at least 0 (math.floor makes one)" },
    { { prompt = function() end }, "workload.prompt: the function returned nil for request 1" },
    { { output = function() return {} end }, "workload.output: the function returned a table" },
    { { output = function() return 2^60 end }, "output_tokens is 1152921504606846976; expected" },
    { { arrival = function() return -5 end }, "workload.arrival: the function returned -5 for "
      .. "request 1, expected a whole number of microseconds of at least 0" },
    { { arrival = function() return 0 / 0 end }, "nan for request 1" },
    { { arrival = function() return "5" end }, "'5' for request 1" },
    { { prompt = -5 }, "workload.prompt: invalid value -5: expected a whole number or {" },
    { { prompt = 1.5 }, "workload.prompt: invalid value 1.5" },
    { { arrival = { "poisson", cv = 3 } }, "workload.arrival: cv, shape and scale are for gamma "
      .. "and weibull; they have no effect" },
    { { arrival = { "gamma", shape = 3 } },
      "shape and scale have no effect unless both are given" },
    { { tokens = "none" }, "workload.tokens: invalid value 'none': expected one of drawn, lazy" },
    { { prompt = function() error "no luck" end }, "no luck" },
    { { arrival = function() return 5 end, requests = 0, horizon_us = 9 },
      "requests must be above 0" },
    { { output = function() return 5 end, sessions = { max_rounds = 2 } }, "not functions" },
    { { preset = "bursty", prompt = 5 }, "preset 'bursty' cannot be combined with 'prompt'" },
    { { preset = "bursti" }, "did you mean 'bursty'" },
  } do
    it(("that are wrong are named (%d)"):format(i), function()
      says(small.message_of(blis.run, { workload = case[1] }), case[2])
    end)
  end

  local function make(n)
    local i = 0
    return function()
      i = i + 1
      if n and i > n then return nil end
      return { arrival_us = i * 1000, prompt_tokens = 100, output_tokens = 5,
        tenant = "t" .. i % 2, session = "s", round_index = i, prefix_group = "g",
        prefix_tokens = 64, timeout_us = 2000000,
        slo_class = "batch", client = "c", max_output_tokens = 9, slo_target_us = 100 }
    end
  end

  it("make all requests", function()
    local list = blis.workload(make(10))
    assert.equal(10, #list)
    local third = list[3]
    assert.equal(2003000, third.deadline_us)
    assert.equal(64, third.shared_tokens)
    assert.equal("g", third.prefix_group)
    assert.equal("t1", third.tenant)
    assert.equal(9, third.max_output_tokens)
    local result = blis.run { workload = make(10) }
    assert.equal(10, result.completed)
    assert.equal(result.hash, blis.run { workload = list }.hash)
    assert.equal(4, #blis.workload { generator = make(), requests = 4 })
    assert.equal(6, blis.run { workload = { generator = make() }, horizon_us = 7000 }.arrived)
    assert.equal(20, #blis.workload(coroutine.wrap(function()
      for i = 1, 20 do
        coroutine.yield { arrival_us = 0, output_tokens = 1,
          content = { { "system", 32 }, { "chat " .. i % 4, 16 }, 8 } }
      end
    end)))
  end)

  it("get a random stream of the seed", function()
    local function random(rng)
      return { arrival_us = 0, prompt_tokens = rng:integer(1000), output_tokens = 1 }
    end
    local function lengths_of(seed)
      return text_of(blis.workload { generator = random, requests = 20, seed = seed })
    end
    assert.equal(lengths_of(1), lengths_of(1))
    assert.not_equal(lengths_of(1), lengths_of(2))
  end)

  for i, case in ipairs {
    { function() return 5 end, "workload: request 1: the function returned 5" },
    { function() return {} end, "request 1: arrival_us is missing" },
    { function() return { arrival_us = 0, output_tokens = 1 } end, "prompt_tokens is missing" },
    { function() return { arrival_us = 0, prompt_token = 1 } end,
      "unknown field 'prompt_token'; did you mean 'prompt_tokens'?" },
    { function() return { arrival_us = -1 } end, "arrival_us is -1" },
    { function() return { 5 } end, "a request has named fields" },
    { function() return { tenant = 5 } end, "tenant is 5; expected a string" },
    { function()
      return { arrival_us = 0, prompt_tokens = 5, output_tokens = 1, prefix_group = "g",
        prefix_tokens = 6 }
    end, "prefix_tokens is above prompt_tokens" },
    { function()
      return { arrival_us = 5, prompt_tokens = 5, output_tokens = 1, deadline_us = 4 }
    end, "deadline_us is before arrival_us" },
    { function()
      return { arrival_us = 5, prompt_tokens = 5, output_tokens = 1, content = { 5 } }
    end, "content replaces prompt_tokens" },
    { function() return { arrival_us = 5, output_tokens = 1, content = { { "x", -5 } } } end,
      "from 0 to" },
    { coroutine.wrap(function()
      coroutine.yield { arrival_us = 5, prompt_tokens = 5, output_tokens = 1 }
      coroutine.yield { arrival_us = 4, prompt_tokens = 5, output_tokens = 1 }
    end), "request 2: arrival_us is 4, before that of the previous request, 5" },
    { { generator = 5 }, "workload.generator: invalid value 5" },
  } do
    it(("that make wrong requests are named (%d)"):format(i), function()
      says(small.message_of(blis.workload, case[1]), case[2])
    end)
  end
end)

describe("a list of requests", function()
  local list = blis.workload { rate = 10, requests = 20, prompt_tokens = 50, output_tokens = 5,
    prefixes = { groups = 2, tokens = 30 } }

  it("is changed by a function", function()
    local changed = list:map(function(request)
      if request.arrival_us % 2 == 0 then return nil end
      return { arrival_us = request.arrival_us * 2, output_tokens = 6, slo_class = "batch" }
    end)
    assert.is_true(#changed > 2 and #changed < 18)
    assert.equal(6, changed[1].max_output_tokens)
    assert.equal("batch", changed[1].slo_class)
    assert.equal(30, changed[1].shared_tokens)
    assert.equal(300000000, changed[1].deadline_us - changed[1].arrival_us)
    assert.equal(text_of(list), text_of(list:map(function(request) return request end)))
  end)

  it("keeps its content", function()
    for change, message in pairs {
      prompt_tokens = "of the prompt, 30 are known content",
      prefix_tokens = "cannot be changed",
    } do
      says(small.message_of(list.map, list, function() return { [change] = 20 } end), message)
    end
    says(small.message_of(list.map, list, function() return 5 end), "must return a table")
  end)
end)

describe("a trace", function()
  local path = "tests/data/tracev2/mt.csv"

  it("is replayed at recorded times, or in a closed loop", function()
    local list = blis.trace.read(path)
    local fixed = blis.run { workload = { trace = list } }
    assert.equal(blis.run { workload = list }.hash, fixed.hash)
    local closed = blis.run { workload = { trace = path, session_mode = "closed-loop" } }
    assert.equal(15, closed.completed)
    assert.not_equal(fixed.hash, closed.hash)
    local quick = blis.run { workload = { trace = list, session_mode = "closed-loop",
      think_time = 1000 } }
    assert.is_true(quick.duration_us < closed.duration_us)
    assert.equal(15, blis.compare { routing = { "round-robin", "least-loaded" },
      workload = { trace = list, session_mode = "closed-loop" } }[2].completed)
  end)

  it("that is none is named", function()
    says(small.message_of(blis.run, { workload = { trace = 5 } }),
      "workload.trace: invalid value 5")
    says(small.message_of(blis.run, { workload = { trace = path, think_time = 5 } }),
      "think_time requires session_mode = 'closed-loop'")
    says(small.message_of(blis.workload, { trace = path, session_mode = "closed-loop" }),
      "cannot be listed beforehand")
  end)
end)

describe("what is good enough", function()
  it("is what the experiment says, and else what the specification does", function()
    local workload = { rate = 5, requests = 20, clients = { lengths { slo_class = "batch" } },
      goodput_slo_targets = { batch = { ttft_ms = 1e6, itl_ms = 1e6 }, critical = { e2e_ms = 0 } } }
    local result = blis.run { workload = workload }
    assert.same({ slo_class = "batch", ttft_ms = 1e6, itl_ms = 1e6 },
      result.goodput.classes.batch.targets)
    assert.equal(1, #result.goodput.classes)
    assert.equal(1, result.goodput.attainment)
    result = blis.run { workload = workload, slo_targets = { batch = { ttft_ms = 0.001 } } }
    assert.equal(0, result.goodput.attainment)
    assert.equal(1e6, result.goodput.classes.batch.targets.itl_ms)
  end)
end)
