local blis = require "blis"
local commands = require "spec.support.commands"
local files = require "spec.support.files"

--- Arrival and lengths of all requests of a specification.
local function text_of(spec)
  local lines = {}
  for _, r in blis.workload(spec):requests() do
    lines[#lines + 1] = table.concat({ r.arrival_us, r.prompt_tokens, r.output_tokens, r.client,
      r.slo_class, r.tenant, r.shared_tokens, tostring(r.deadline_us) }, " ")
  end
  return table.concat(lines, "\n")
end

--- Calls body with the path of a file that holds what a command prints.
local function with_output(body, ...)
  files.with(commands.output_of(...), body)
end

describe("blis convert", function()
  it("writes a preset as BLIS in Go does", function()
    assert.equal([[
version: "2"
seed: 0
category: language
clients:
    - id: preset-chatbot
      tenant_id: ""
      slo_class: ""
      rate_fraction: 1
      arrival:
        process: constant
      input_distribution:
        type: gaussian
        params:
            max: 800
            mean: 256
            min: 2
            std_dev: 100
      output_distribution:
        type: gaussian
        params:
            max: 1024
            mean: 256
            min: 1
            std_dev: 100
      streaming: false
aggregate_rate: 5
num_requests: 7
]], commands.output_of("convert", "preset", "--name", "chatbot", "--rate", "5",
      "--num-requests", "7"))
  end)

  it("writes what gives the same requests", function()
    with_output(function(path)
      local preset = { preset = "mixed-slo", rate = 3, requests = 50, timeout_us = 0, seed = 0 }
      assert.equal(text_of(preset), text_of { file = path })
    end, "convert", "preset", "--name", "mixed-slo", "--rate", "3", "--num-requests", "50")
    with_output(function(path)
      assert.equal(text_of { file = "tests/data/servegen/language.yaml" },
        text_of { file = path, num_requests = 40 })
    end, "convert", "servegen", "--path", "tests/data/servegen/language")
  end)

  it("writes ServeGen data in the form of BLIS in Go", function()
    local text = commands.output_of("convert", "servegen", "--path",
      "tests/data/servegen/reasoning", "--window-duration-seconds", "60")
    assert.matches([[
version: "2"
seed: 42
category: reasoning
clients: []
cohorts:
    - id: reasoning-critical
      population: 1
      slo_class: critical
      arrival:
        process: poisson
      input_distribution:
        type: lognormal
        params:
            mu: 4.1588830833596715
            sigma: 0
]], text, 1, true)
    assert.matches([[
      streaming: true
      rate_fraction: 1
      spike:
        start_time_us: 0
        duration_us: 60000000
        trace_rate: 0.]], text, 1, true)
    assert.matches([[
        multi_turn:
            max_rounds: 1
            think_time_us: 0
            context_growth: ""
      closed_loop: false
]], text, 1, true)
    assert.equal("aggregate_rate: 0\n", text:match("[^\n]*\n$"))
  end)

  it("keeps one part of the day", function()
    local text = commands.output_of("convert", "servegen", "--path",
      "tests/data/servegen/language", "--time", "morning")
    local ids = {}
    for id in text:gmatch("%- id: (%S+)") do ids[#ids + 1] = id end
    assert.same({ "morning-critical", "morning-standard" }, ids)
  end)

  it("writes the load of inference-perf, and says what is lost", function()
    local outcome = commands.call("convert", "inference-perf", "--spec",
      "tests/data/workload/inference_perf.yaml")
    assert.matches("arrivals are Poisson", outcome.said[#outcome.said], 1, true)
    files.with(outcome.out, function(path)
      assert.equal(12, #blis.workload { file = path, num_requests = 12 })
    end)
    files.with([[
inference_perf:
  stages: [{rate: 4, duration: 3}, {rate: 40, duration: 2}]
  shared_prefix: {num_unique_system_prompts: 1, num_users_per_system_prompt: 2,
    system_prompt_len: 20, question_len: 10, output_len: 5}
]], function(source)
      with_output(function(path)
        local count = { 0, 0 }
        for _, request in blis.workload({ file = path }):requests() do
          local stage = request.arrival_us < 3000000 and 1 or 2
          count[stage] = count[stage] + 1
        end
        assert.same({ 12, 80 }, count)
      end, "convert", "inference-perf", "--spec", source)
    end)
  end)

  it("tells what is wrong", function()
    for message, arguments in pairs {
      ["convert: missing COMMAND"] = {},
      ["convert: invalid value 'servgen'"] = { "servgen" },
      ["convert preset: --name is missing"] = { "preset" },
      ["convert preset: --name: invalid value 'chat'"] = { "preset", "--name", "chat" },
      ["/nosuch"] = { "servegen", "--path", "/nosuch" },
      ["no cohort has an id that starts with 'morning-'"] = { "servegen", "--path",
        "tests/data/servegen/reasoning", "--time", "morning" },
    } do
      local _, text = commands.error_of("convert", table.unpack(arguments))
      assert.matches(message, text, 1, true)
    end
    assert.matches("usage: blis convert COMMAND", commands.output_of("convert", "--help"), 1, true)
  end)
end)

local function client(fields)
  return fields .. ", arrival: {process: poisson}, input_distribution: {type: constant, params: "
    .. "{value: 9}}, output_distribution: {type: constant, params: {value: 9}}}"
end

describe("blis compose", function()
  local first = "aggregate_rate: 10\nseed: 4\nclients:\n  - "
    .. client "{id: a, rate_fraction: 3" .. "\n  - " .. client "{id: b, rate_fraction: 1" .. "\n"
  local second = "aggregate_rate: 30\nseed: 4\nnum_requests: 5\nclients:\n  - "
    .. client "{id: c, rate_fraction: 7" .. "\n"

  local function compose(...)
    local outcomes = {}
    local one, two = ...
    files.with(one, function(a)
      files.with(two, function(b)
        outcomes[1] = commands.call("compose", "--from", a, "--from", b)
      end)
    end)
    return outcomes[1]
  end

  it("keeps the rate of every client", function()
    local outcome = compose(first, second)
    local fractions = {}
    for text in outcome.out:gmatch("rate_fraction: (%S+)") do
      fractions[#fractions + 1] = tonumber(text)
    end
    assert.same({ 0.1875, 0.0625, 0.75 }, fractions)
    assert.matches("aggregate_rate: 40\n", outcome.out, 1, true)
    assert.matches("seed: 4\n", outcome.out, 1, true)
    assert.same({ "blis: num_requests differ and are dropped" }, outcome.said)
    files.with(outcome.out, function(path)
      assert.equal(20, #blis.workload { file = path, num_requests = 20 })
    end)
  end)

  it("keeps cohorts and targets", function()
    local outcome = compose("aggregate_rate: 1\ncohorts:\n  - "
      .. client "{id: d, population: 2, rate_fraction: 1, slo_class: batch"
      .. "\ngoodput_slo_targets: {batch: {ttft_ms: 5}}\n",
      "aggregate_rate: 1\nclients:\n  - " .. client "{id: e, rate_fraction: 1, slo_class: batch"
      .. "\ngoodput_slo_targets: {batch: {ttft_ms: 6}, critical: {e2e_ms: 1}}\n")
    assert.is_nil(outcome.problem)
    assert.matches("cohorts:\n    - id: d\n      population: 2\n", outcome.out, 1, true)
    assert.matches("goodput_slo_targets:\n    batch:\n        ttft_ms: 5\n", outcome.out, 1, true)
    assert.matches("critical:\n        ttft_ms: 0\n", outcome.out, 1, true)
  end)

  it("takes users beside rates", function()
    local users = "aggregate_rate: 0\nclients:\n  - " .. client "{id: u, concurrency: 3"
    local outcome = compose(first, users)
    assert.is_nil(outcome.problem)
    assert.matches("concurrency: 3\n", outcome.out, 1, true)
  end)

  it("tells what does not go together", function()
    local windows = "clients:\n  - " .. client("{id: f, rate_fraction: 1, lifecycle: "
      .. "{windows: [{start_us: 0, end_us: 9, trace_rate: 1}]}") .. "\n"
    assert.matches("has no aggregate_rate but others have",
      compose(first, windows).problem.message, 1, true)
    assert.matches("either all clients and cohorts need one or none",
      compose(first, "aggregate_rate: 1\nclients:\n  - "
        .. client "{id: e, rate_fraction: 1, slo_class: batch").problem.message, 1, true)
    local _, message = commands.error_of("compose")
    assert.matches("--from is missing", message, 1, true)
  end)
end)
