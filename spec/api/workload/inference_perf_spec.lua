-- Configurations of inference-perf as workloads.
local blis = require "blis"
local files = require "spec.support.files"
local inference_perf = require "blis.traffic.inference_perf"
local small = require "spec.support.small"

local says = small.says

local lengths = [[
data:
  type: random
  input_distribution: { min: 50, max: 50, mean: 50, std_dev: 0 }
  output_distribution: { min: 4, max: 40, mean: 20, std: 5 }
]]

local function load_of(text) return ("load: %s\napi: { type: completion }\n"):format(text) end

local function read(text, stage)
  local spec, notes
  files.with(text, function(path) spec, notes = inference_perf.read(path, stage) end)
  return spec, notes
end

local function run(text)
  local result
  files.with(text, function(path)
    result = blis.run { cluster = { instances = 2 }, workload = { file = path }, seed = 7 }
  end)
  return result
end

local function message_of(text)
  return small.message_of(read, text)
end

describe("a configuration of inference-perf", function()
  it("with one stage has its rate times its duration as requests", function()
    local text = load_of "{ type: constant, stages: [{ rate: 5, duration: 20 }] }" .. lengths
    local result = run(text)
    assert.equal(100, result.arrived)
    assert.equal(50, result.requests[1].prompt_tokens)
    local gap_us = result.requests[2].arrival_us - result.requests[1].arrival_us
    assert.is_true(math.abs(gap_us - 200000) <= 1)
    local spec = read(text)
    assert.same({ type = "gaussian", params = { mean = 20, std_dev = 5, min = 4, max = 40 } },
      spec.clients[1].output_distribution)
  end)

  it("with several stages has a window per stage", function()
    local result = run(load_of "{ stages: [{ rate: 5, duration: 20 }, { rate: 50, duration: 2 }] }"
      .. lengths)
    local early = 0
    for _, request in ipairs(result.requests) do
      if request.arrival_us < 20000000 then early = early + 1 end
    end
    assert.is_true(early >= 98 and early <= 101)
    assert.is_true(result.arrived >= 197 and result.arrived <= 201)
  end)

  it("with a concurrency has as many users", function()
    local text = load_of("{ type: concurrent, stages: [{ concurrency_level: 3, num_requests: 30 }, "
      .. "{ concurrency_level: 9, num_requests: 40 }] }") .. lengths
    local spec = read(text, 2)
    assert.same({ 9, 40 }, { spec.clients[1].concurrency, spec.num_requests })
    says(message_of(text), "2 stages of a concurrency")
    says(small.message_of(read, text, 3), "unknown stage 3; the file has 2 stages")
  end)

  it("with shared prefixes has their groups", function()
    local text = load_of "{ type: poisson, stages: [{ rate: 5, duration: 20 }] }" .. [[
data:
  type: shared_prefix
  shared_prefix: { num_groups: 3, num_prompts_per_group: 2, system_prompt_len: 160, question_len: 9,
    output_len: 5 }
]]
    local result = run(text)
    assert.equal(169, result.requests[1].prompt_tokens)
    assert.is_true(result.cache_hit_rate_overall > 0.5)
  end)

  it("reports the defaults that it fills in", function()
    local _, notes = read(load_of "{ stages: [{ rate: 5, duration: 20 }] }"
      .. "data: { type: random, input_distribution: { mean: 100, min: 10, max: 200 } }\n")
    assert.same({ "data.input_distribution: std_dev 200, the defaults of inference-perf",
      "data.output_distribution: mean 512, min 10, max 1024, std_dev 200, the defaults of "
        .. "inference-perf" }, notes)
  end)

  it("names what cannot be read, with its line", function()
    local stage = load_of "{ stages: [{ rate: 5, duration: 20 }] }"
    for text, expected in pairs {
      [load_of "{ stages: [{ rate: REPLACE_ENV_RATE, duration: 20 }] }" .. lengths] =
        ":1: load.stages[1].rate is the placeholder 'REPLACE_ENV_RATE': replace it by a number",
      [load_of "{ stages: [{ rate: -1, duration: 20 }] }" .. lengths] =
        ":1: load.stages[1].rate is -1, expected a number from 1e-09",
      [load_of "{ stages: [] }" .. lengths] = ":1: load.stages has no stage",
      [load_of "{ stages: [3] }" .. lengths] = ":1: load.stages[1] is 3, expected a section",
      [load_of "{ type: concurrent, stages: [{ concurrency_level: 1.5, num_requests: 3 }] }"
        .. lengths] = ":1: load.stages[1].concurrency_level is 1.5, expected a whole number",
      [load_of "{ type: trace_session_replay, stages: [{}] }" .. lengths] =
        ":1: load.type is 'trace_session_replay', expected constant, poisson, or concurrent",
      [load_of "{ sweep: { type: linear } }" .. lengths] = ":1: load.sweep searches",
      [load_of "3" .. lengths] = ":1: load is 3, expected a section",
      ["load: { stages: [{ rate: 5, duration: 20 }] }\n"] = ":1: data is nil, expected a section",
      [stage .. "data: { type: shareGPT }\n"] = ":3: data.type is 'shareGPT', which has no lengths "
        .. "that a simulation could draw; expected random, synthetic, or shared_prefix; "
        .. "'blis run --graphs FILE --rate X' plays a ShareGPT file",
      [stage .. "data: { type: random, input_distribution: { min: 9, max: 4 } }\n"] =
        ":3: data.input_distribution.min is 9, expected at most max (4)",
      [stage .. "data: { type: random, input_distribution: { type: zipf } }\n"] =
        ":3: data.input_distribution.type is 'zipf', expected normal or lognormal",
      [stage .. "data: { type: shared_prefix, shared_prefix: { enable_multi_turn_chat: 3 } }\n"] =
        ":3: data.shared_prefix.enable_multi_turn_chat is 3, expected true or false",
    } do says(message_of(text), expected) end
  end)
end)
