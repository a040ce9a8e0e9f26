local blis = require "blis"
local folders = require "spec.support.folders"
local small = require "spec.support.small"

local says = small.says

local s, m, l = "qwen/qwen2.5-7b-instruct", "meta-llama/llama-3.1-8b-instruct", "qwen/qwen3-14b"

--- An experiment with three models; changes replaces options.
local function experiment(cascade, changes)
  local spec = {
    cluster = { groups = {
      { instances = 2, model = s, hardware = "H100" },
      { instances = 1, model = m, hardware = "H100" },
      { instances = 1, model = l, hardware = "H100" },
    } },
    workload = { rate = 30, requests = 60, prompt_tokens = 200, output_tokens = 20 },
    cascade = cascade,
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return spec
end

--- Requests that are all alike but for what rows say: a list of fields.
local function requests_of(rows)
  local i = 0
  return function()
    i = i + 1
    local row = rows[i]
    if not row then return nil end
    local request = { arrival_us = i * 1000, prompt_tokens = 100, output_tokens = 20 }
    for key, value in pairs(row) do request[key] = value end
    return request
  end
end

--- "a:escalate b:accept", with the first letters of the models' last names.
local function story_of(record)
  local names = { [s] = "small", [m] = "mid", [l] = "large" }
  local parts = {}
  for i, attempt in ipairs(record.attempts or {}) do
    parts[i] = names[attempt.model] .. ":" .. attempt.verdict
  end
  return table.concat(parts, " ")
end

describe("a cascade", function()
  it("is the document's example", function()
    local r = blis.run(experiment({ chain = { s, m, l }, confidence_threshold = -1 }, {
      workload = requests_of {
        { mean_logprob = { [s] = -1.5, [m] = -0.9 } },
        { mean_logprob = { [s] = -1.5, [m] = -1.0 } },
        { mean_logprob = { [s] = -1.5, [m] = -1.2, [l] = -3 } },
        { mean_logprob = -0.5 },
        { mean_logprob = -0.5, cascade = { l, s } },
        { mean_logprob = -2, cascade = {} },
      },
    }))
    local stories = {}
    for i = 1, #r.requests do stories[i] = story_of(r.requests[i]) end
    assert.same({
      "small:escalate mid:accept", "small:escalate mid:accept",
      "small:escalate mid:escalate large:accept_last", "small:accept", "large:accept", "",
    }, stories)
    assert.equal(5, r.cascade.requests)
    assert.same({ 2, 2, 1 }, r.cascade.steps)
    assert.equal(80, r.cascade.dropped_output_tokens)
    assert.equal(120, r.output_tokens)
    local third = r.requests[3]
    assert.equal(3, third.steps)
    assert.equal(l, third.model_used)
    assert.equal(third.attempts[2].end_us, third.attempts[3].start_us)
    assert.equal(third.attempts[3].ttft_us, third.ttft_us)
  end)

  it("is the same with both engines, and in a replay of its trace", function()
    local cascade = {
      chain = { s, m, l }, confidence_threshold = -0.8,
      mean_logprob = { [s] = -1, [m] = -0.8, [l] = -0.5 },
      logprob_std_dev = { [s] = 0.3, [m] = 0.3, [l] = 0.3 },
    }
    local hashes = {}
    for _, engine in ipairs { "fast", "stepwise" } do
      local spec = experiment(cascade, { keep_requests = true, routing = "cognitora.score",
        admission = "cognitora.admission" })
      spec.cluster.engine = engine
      local r = blis.run(spec)
      assert(r.cascade.escalated > 30 and r.cascade.escalated < 119)
      hashes[#hashes + 1] = r.hash
      folders.with(function(path)
        r:write_trace(path)
        spec.workload = blis.trace.read(path .. ".csv")
        os.execute(("rm '%s.csv' '%s.yaml'"):format(path, path))
      end)
      hashes[#hashes + 1] = blis.run(spec).hash
    end
    for i = 2, 4 do assert.equal(hashes[1], hashes[i]) end
  end)

  it("is in the files of results", function()
    local r = blis.run(experiment { chain = { s, l }, confidence_threshold = 1 })
    folders.with(function(path)
      r:save(path)
      local loaded = blis.load_result(path)
      assert.equal(tostring(r), tostring(loaded))
      assert.same(r.requests[7].attempts, loaded.requests[7].attempts)
      assert.same(r.cascade, loaded.cascade)
    end)
    folders.with(function(path)
      path = path .. ".csv"
      r:export_requests(path)
      local file <close> = assert(io.open(path))
      says(file:read("l"), ",steps,model_used,verdict")
      says(file:read("l"), ",2," .. l .. ",accept_last")
    end)
  end)

  it("asks functions of a script", function()
    local asked, heard = {}, {}
    local r = blis.run(experiment({
      name = "mine", chain = { s, m, l },
      quality = function(request, model, rng, output_tokens)
        asked[#asked + 1] = request.model == model and rng:number() or error "another model"
        return -1, model == s and output_tokens - 5 or nil
      end,
      escalate = function(request, attempt, usual)
        assert(not usual and attempt.mean_logprob == -1)
        assert(attempt.next == (attempt.stage == 1 and m or nil))
        return attempt.stage == 1 and request.id ~= "request_3" and l
      end,
    }, {
      on_escalation = function(request, instance, attempt)
        heard[#heard + 1] = request.id
        assert(instance.id == attempt.instance and instance.model == s)
      end,
      on_completion = function(request, _, outcome)
        assert(outcome.steps == (request.id == "request_3" and 1 or 2))
        assert(outcome.model == (request.id == "request_3" and s or l))
      end,
      trace_level = "decisions",
    }))
    assert.equal("mine", r.cascade.policy)
    assert.equal(59, r.cascade.escalated)
    assert.equal(59, #heard)
    assert.equal(60 + 59, #asked)
    assert(asked[1] ~= asked[2])
    assert.equal(15, r.requests[4].output_tokens)
    assert.equal("small:escalate large:accept", story_of(r.requests[1]))
    assert.equal(3, r.requests[1].attempts[2].stage)
    local verdicts = { accept = 0, escalate = 0 }
    for i = 1, #r.decisions do
      local decision = r.decisions[i]
      if decision.kind == "cascade" then
        verdicts[decision.verdict] = verdicts[decision.verdict] + 1
        assert(decision.mean_logprob == -1 and decision.instance and decision.step)
      end
    end
    assert.same({ accept = 60, escalate = 59 }, verdicts)
    assert.equal(59, r.decisions:summary().escalated)
  end)

  it("draws the same answer whatever else is asked", function()
    local function drawn(threshold)
      local r = blis.run(experiment {
        chain = { s, l }, confidence_threshold = threshold,
        mean_logprob = { [s] = -1, [l] = -0.5 }, logprob_std_dev = { [s] = 0.5, [l] = 0.2 },
      })
      return r.requests[5].attempts[1].mean_logprob, r.cascade.escalated
    end
    local first, few = drawn(-1.5)
    local second, many = drawn(-0.5)
    assert.equal(first, second)
    assert(few < many)
  end)

  it("counts without records, too", function()
    local spec = experiment { chain = { s, l }, confidence_threshold = 1 }
    local with = blis.run(spec)
    spec.keep_records = false
    local without = blis.run(spec)
    assert.equal(with.hash, without.hash)
    assert.equal(60, without.cascade.accepted_last)
    assert.same(with.cascade.models, without.cascade.models)
    assert(math.abs(with.cascade.earlier_ms.p99 / without.cascade.earlier_ms.p99 - 1) < 0.005)
    says(tostring(without), "60 requests asked 2.00 models each, 60 sent on, 1,200 tokens dropped")
  end)

  it("can be cloned in the middle", function()
    local sim <close> = blis.simulation(experiment { chain = { s, l }, confidence_threshold = 1 })
    sim:run_until(1000000)
    assert(sim.escalated > 0)
    local clone <close> = sim:clone()
    assert.equal(sim:run().hash, clone:run().hash)
  end)

  it("is left out when it is not enabled", function()
    local r = blis.run(experiment { chain = { s, l }, enabled = false })
    assert.equal(60, r.completed)
    says(small.message_of(function() return r.cascade end),
      "result.cascade requires cascade = ...")
  end)

  it("says what is wrong with it", function()
    local chain = { s, l }
    for _, case in ipairs {
      { 3, "cascade: invalid value 3: expected the name of a cascade" },
      { {}, "cascade: invalid value of type table" },
      { "cognitora.cascad", "unknown cascade 'cognitora.cascad'; did you mean" },
      { { chain = {} }, "cascade cognitora.cascade: chain: it is empty" },
      { { chain = "x" }, "chain: invalid value 'x': expected a list of strings" },
      { { chain = { s, 3 } }, "chain: invalid value of type table: expected a list of strings" },
      { { chains = { x = s } }, "expected a table of lists of strings by name" },
      { { chain = { s, s } }, "duplicate model '" .. s .. "'" },
      { { chain = { s, "qwen3-15b" } }, "no instance serves the model 'qwen3-15b'" },
      { { chain = { s, s:match "[^/]*$" } }, "duplicate model" },
      { { chain = chain, threshold = 1 }, "unknown option 'threshold'" },
      { { chain = chain, qality = 1 }, "unknown option 'qality'; did you mean 'quality'?" },
      { { chain = chain, quality = 1 }, "cascade.quality: invalid value 1: expected a function" },
      { blis.scorer "queue-depth", "cascade: got a scorer, expected a cascade" },
    } do
      says(small.message_of(blis.run, experiment(case[1])), case[2])
    end
    says(small.message_of(blis.cascade), "cascade: invalid value nil: expected the name of")
    says(small.message_of(blis.run, { cluster = { instances = 2, model = l },
      cascade = { chain = chain } }), "no instance serves the model '" .. s
      .. "'; the models served are")
  end)

  it("says what is wrong with what functions return", function()
    local function run(functions)
      functions.chain = { s, l }
      return small.message_of(blis.run, experiment(functions))
    end
    says(run { quality = function() return "good" end },
      "quality of cascade 'cognitora.cascade', request_0, at ")
    says(run { quality = function() return 0 / 0 end }, "expected a mean log-probability")
    says(run { quality = function() return -1, 1.5 end }, "it returned 1.5 as the length")
    says(run { quality = function() return 0 / 0 end }, "it returned nan, expected")
    says(run { quality = function() return "x" end }, "it returned the string 'x', expected")
    says(run { escalate = function() return s end },
      "it returned '" .. s .. "', expected true, false or a later model of the chain: '" .. l)
    says(run { name = "mine", escalate = function() end }, "escalate of cascade 'mine', request_")
    says(run { escalate = function() error "no" end }, "no")
  end)

  it("says what is wrong with requests", function()
    local function of(fields)
      return small.message_of(blis.run,
        experiment({ chain = { s, l } }, { workload = requests_of { fields } }))
    end
    says(of { mean_logprob = true }, "request 1: mean_logprob is true; expected a number")
    says(of { mean_logprob = { ["a=b"] = 1 } }, "whose names have no comma, semicolon")
    says(of { cascade = 3 }, "request 1: cascade is 3; expected a list of models")
    says(of { cascade = { "small" } }, "request_0: its cascade: no instance serves the model")
  end)
end)

describe("a cascade of a policy bundle", function()
  local program = require "spec.support.program"

  --- The result of a run with such a bundle.
  local function run_with(text)
    local outcome
    program.with_file(text, function(path)
      outcome = program.run("run", "--rate", "30", "--num-requests", "40", "--format", "json",
        "--policy-config", path)
    end)
    return outcome
  end

  it("works with groups of instances", function()
    local outcome = run_with(([[
groups:
  - { model: %s, hardware: H100, instances: 2 }
  - { model: %s, hardware: H100 }
cascade:
  chain: [%s, %s]
  confidence_threshold: 1
]]):format(s, l, s, l))
    assert.equal("", outcome.err)
    local result = require("blis.core").json_read(outcome.out, "output")
    assert.equal(40, result.cascade.escalated)
    assert.equal(40, result.cascade.models[2].accepted_last)
    assert.same({ 0, 40 }, result.cascade.steps)
  end)

  it("says where it is wrong", function()
    local outcome = run_with "cascade:\n  chains: 3\n"
    assert.equal(1, outcome.status)
    says(outcome.err, "chains: invalid value 3: expected a table of lists of strings by name")
  end)

  it("says what is wrong with groups, by line and by the keys of the file", function()
    local function problem(text) return run_with(text).err:gsub("^blis: %S-(:%d+:)", "%1") end
    says(problem "groups:\n  - { instances: 1 }\n  - { instances: 0 }\n",
      ":3: groups[2].instances: invalid value 0: expected an integer from 1 to 1000000")
    says(problem "groups:\n  - { instance: 1 }\n",
      ":2: groups[1]: unknown option 'instance'; did you mean 'instances'?")
    local unknown = problem "groups: [{ foo: 1 }]\n"
    says(unknown, ":1: groups[1]: unknown option 'foo'; known are instances, watts")
    says(unknown, ", gpu_watts, gpu_idle_watts")
    says(problem "groups: []\n", ":1: groups: invalid value of type table: expected a list of "
      .. "groups")
  end)
end)
