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
    says(small.message_of(read, text, 3), "unknown stage 3; the file has 2 stages")
  end)

  it("with several stages of a concurrency has them one after the other", function()
    local result = run(load_of("{ type: concurrent, interval: 2, stages: [{ concurrency_level: 3, "
      .. "num_requests: 30 }, { concurrency_level: 5, num_requests: 40 }] }") .. lengths)
    assert.equal(70, result.completed)
    local events, first_end, second_start = {}, 0, math.huge
    for i, request in ipairs(result.requests) do
      events[#events + 1] = { request.arrival_us, 1 }
      events[#events + 1] = { request.end_us, -1 }
      if i <= 30 then first_end = math.max(first_end, request.end_us)
      else second_start = math.min(second_start, request.arrival_us) end
    end
    table.sort(events, function(a, b)
      if a[1] ~= b[1] then return a[1] < b[1] end
      return a[2] < b[2]
    end)
    local now, most = 0, 0
    for _, event in ipairs(events) do
      now = now + event[2]
      most = math.max(most, now)
    end
    assert.equal(5, most)
    assert.is_true(second_start >= first_end + 2000000)
  end)

  it("with conversations has as many in flight, with their prompts and pauses", function()
    local function conversations(replay, load)
      return load_of(load or "{ type: concurrent, stages: [{ concurrency_level: 2, num_requests: "
        .. "24 }] }") .. "data: { type: conversation_replay, conversation_replay: {\n"
        .. "  num_conversations: 4, shared_system_prompt_len: 64,\n"
        .. "  dynamic_system_prompt_len: { type: uniform, min: 200, max: 200, mean: 200, "
        .. "std_dev: 0 },\n"
        .. "  turns_per_conversation: { type: lognormal, min: 6, max: 6, mean: 6, std_dev: 1 },\n"
        .. "  input_tokens_per_turn: { min: 16, max: 16, mean: 16, std_dev: 0 },\n"
        .. "  output_tokens_per_turn: { type: lognormal, min: 8, max: 8, mean: 8, std_dev: 1 },\n"
        .. "  tool_call_latency_sec: { type: normal, min: 1, max: 1, mean: 1, std_dev: 0 }"
        .. (replay or "") .. " } }\n"
    end
    local result = run(conversations())
    assert.equal(24, result.completed)
    assert.equal(280, result.requests[1].prompt_tokens)
    assert.equal(304, result.requests[3].prompt_tokens)
    assert.equal(1000000, read(conversations()).graphs[1][2].delay_us)
    assert.is_true(result.cache_hit_rate_overall > 0.5)
    -- 280 + 8 tokens fit in 320, and the next turn with 16 + 8 more; no third one.
    local cut, notes = read(conversations ", max_model_len: 320")
    assert.equal(2, #cut.graphs[1])
    says(notes[1], "the conversations have 8 of 24 requests")
    local short = read(conversations(nil, "{ type: concurrent, stages: [{ concurrency_level: 2, "
      .. "num_requests: 5 }] }"))
    assert.same({ 2, 1, 1, 1 }, { #short.graphs[1], #short.graphs[2], #short.graphs[3],
      #short.graphs[4] })
    says(message_of(conversations(nil, "{ type: poisson, stages: [{ rate: 1, duration: 9 }] }")),
      "expects one stage of type concurrent")
    says(message_of(conversations ", max_model_len: 9"), "leaves no room for a request")
    says(message_of((conversations():gsub("min: 8,", "min: 9,"))), "min is 9, expected at most max")
    says(message_of((conversations():gsub("uniform", "zipf"))), "dynamic_system_prompt_len.type is "
      .. "'zipf', expected normal, lognormal, or uniform")
  end)

  it("with fewer requests than users has the first groups", function()
    local text = load_of "{ stages: [{ rate: 1, duration: 4 }] }" .. [[
data:
  type: shared_prefix
  shared_prefix: { num_groups: 32, num_prompts_per_group: 2, system_prompt_len: 160,
    question_len: 9, output_len: 5 }
]]
    assert.equal(4, run(text).completed)
    local _, notes = read(text)
    says(notes[1], "4 requests reach 2 of 32 groups")
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

  it("may be in a ConfigMap, or in one of several documents, and have quoted numbers", function()
    local text = load_of '{ stages: [{ rate: "5", duration: 20 }] }' .. lengths
    local inner = "    " .. text:gsub("\n(.)", "\n    %1")
    local map = "apiVersion: v1\nkind: ConfigMap\ndata:\n  c.yml: |\n" .. inner
    for _, whole in ipairs { map, "# Two\n---\n" .. map .. "---\nkind: Job\n",
      "kind: Job\n---\n" .. text } do
      assert.equal(100, run(whole).arrived)
    end
    says(message_of("kind: Job\n---\n" .. text .. "---\n" .. text),
      "2 configurations of inference-perf; expected one")
    says(message_of(map:gsub("rate: \"5\"", "rate: -5")), ":5: load.stages[1].rate is -5")
    says(message_of "kind: Job\n---\nkind: Job\n", "a second document begins here")
  end)

  it("names what cannot be read, with its line", function()
    local stage = load_of "{ stages: [{ rate: 5, duration: 20 }] }"
    for text, expected in pairs {
      [load_of "{ stages: [{ rate: REPLACE_ENV_RATE, duration: 20 }] }" .. lengths] =
        ":1: load.stages[1].rate is the placeholder 'REPLACE_ENV_RATE': replace it with a number",
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
      ["load: { stages: [{ rate: 5, duration: 20 }] }\n"] =
        ":1: data is missing, expected a section",
      [stage .. "data: { type: shareGPT }\n"] = ":3: data.type is 'shareGPT', which has no lengths "
        .. "to sample; expected random, synthetic, shared_prefix, or "
        .. "conversation_replay; 'blis run --graphs FILE --rate X' plays a ShareGPT file",
      [stage .. "data: { type: random, input_distribution: { min: 9, max: 4 } }\n"] =
        ":3: data.input_distribution.min is 9, expected at most max (4)",
      [stage .. "data: { type: random, input_distribution: { type: zipf } }\n"] =
        ":3: data.input_distribution.type is 'zipf', expected normal or lognormal",
      [stage .. "data: { type: shared_prefix, shared_prefix: { enable_multi_turn_chat: 3 } }\n"] =
        ":3: data.shared_prefix.enable_multi_turn_chat is 3, expected true or false",
    } do says(message_of(text), expected) end
  end)
end)
