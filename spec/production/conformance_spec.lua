-- Vectors of policies: recorded decisions, and a form that others can run.
local commands = require "spec.support.commands"
local catalogue = require "blis.policy.catalogue"
local experiment = require "blis.experiment"
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local json = require "blis.json"
local program = require "spec.support.program"
local recorded = require "blis.production.conformance.recorded"
local vectors = require "blis.production.conformance.vectors"

local function case_of(name)
  for _, case in ipairs(vectors.cases()) do
    if case.name == name then return case end
  end
end

local function vector_of(name) return json.decode(vectors.of(case_of(name)).text()) end

describe("a conformance vector", function()
  it("is as recorded, for every policy of the catalogue", function()
    local count = 0
    for _, case in ipairs(vectors.cases()) do
      local key = case.kind .. "." .. case.name
      assert.equal(recorded[key], vectors.of(case).hash, key
        .. ": if it is meant to, blis conformance --format recorded")
      count = count + 1
    end
    local expected = -2 -- external and external-http decide outside of the program
    for _, kind in ipairs { "routers", "filters", "scorers", "pickers" } do
      expected = expected + #catalogue[kind]
    end
    assert.equal(expected, count)
  end)

  it("has inputs from which scores and choice follow", function()
    local given = vector_of "llm-d.queue-scorer"
    local compared = 0
    for _, step in ipairs(given.steps) do
      if step.event == "decision" then
        local low, high = math.huge, -math.huge
        for _, one in ipairs(step.candidates) do
          low = math.min(low, one.signals.queue_depth)
          high = math.max(high, one.signals.queue_depth)
        end
        local best, first
        for i, one in ipairs(step.candidates) do
          local score = high > low and (high - one.signals.queue_depth) / (high - low) or 1
          assert.equal(score, step.scores[i].parts["llm-d.queue-scorer"])
          if not best or score > best then best, first = score, one.instance end
        end
        assert.equal(first, step.chosen)
        compared = compared + 1
      end
    end
    assert.is_true(compared >= 48)
  end)

  it("has the events from which policies with a memory learn", function()
    -- dynamo.kv: blocks to prefill, by its own counts of what it sent, and blocks in decode.
    local given, size, loads, held = vector_of "dynamo.kv", 16, {}, {}
    local function load_of(instance)
      loads[instance] = loads[instance] or { prefill = 0, blocks = 0 }
      return loads[instance]
    end
    for _, step in ipairs(given.steps) do
      if step.event == "decision" then
        local prompt, least, bests = step.facts.prompt_tokens, math.huge, {}
        for _, one in ipairs(step.candidates) do
          local load = load_of(one.instance)
          local prefill = (load.prefill + prompt) / size - one.signals.cached_tokens / size
          local cost = math.max(0, prefill) + load.blocks
          if cost < least then least, bests = cost, {} end
          if cost == least then bests[one.instance] = one.signals.cached_tokens end
        end
        local cached = bests[step.chosen]
        assert.is_truthy(cached, step.request)
        local load = load_of(step.chosen)
        held[step.request] = { prefill = prompt - cached, blocks = (prompt + size - 1) // size }
        load.prefill = load.prefill + held[step.request].prefill
        load.blocks = load.blocks + held[step.request].blocks
      else
        local load, own = load_of(step.instance), held[step.request]
        load.prefill, own.prefill = load.prefill - own.prefill, 0
        if step.event == "end" then load.blocks = load.blocks - own.blocks end
      end
    end
  end)

  it("is not changed by being written down", function()
    for _, name in ipairs { "least-loaded", "smg.cache_aware", "ray.prefix-cache-affinity" } do
      local given, chosen = vector_of(name), {}
      for _, step in ipairs(given.steps) do
        if step.event == "decision" then chosen[#chosen + 1] = step.chosen end
      end
      local before = {}
      local run = experiment.run
      experiment.run = function(spec)
        spec.admission, spec.on_first_token, spec.on_completion = nil, nil, nil
        spec.on_failure = nil
        local result = run(spec)
        if #before == 0 then
          for i = 1, #result.decisions do
            if result.decisions[i].kind == "routing" then
              before[#before + 1] = result.decisions[i].chosen
            end
          end
        end
        return result
      end
      pcall(vectors.of, case_of(name))
      experiment.run = run
      assert.same(before, chosen, name)
    end
  end)

  it("says whether random numbers decide", function()
    assert.is_true(vectors.of(case_of "smg.power_of_two").draws)
    assert.is_false(vectors.of(case_of "least-loaded").draws)
  end)
end)

describe("blis conformance", function()
  it("tells version, source and result", function()
    local out = commands.output_of("conformance", "dynamo.kv")
    assert.matches("router +dynamo.kv +%d+ +%a+ +as recorded +NVIDIA Dynamo, lib/kv%-router", out)
    local code, message = commands.error_of("conformance", "dynamo.vk")
    assert.equal("usage", code)
    assert.matches("unknown policy 'dynamo.vk'", message, 1, true)
  end)

  it("finds a policy that decides otherwise", function()
    local before = recorded["router.dynamo.kv"]
    recorded["router.dynamo.kv"] = "0"
    local outcome = commands.call("conformance", "dynamo.kv")
    recorded["router.dynamo.kv"] = before
    assert.equal(1, outcome.status)
    assert.matches("DIFFERS", outcome.out, 1, true)
  end)

  it("checks vectors of others #host", function()
    folders.with(function(folder)
      local made = program.run("conformance", "lmetric", "--output", folder)
      assert.equal(0, made.status, made.err)
      local path = folder .. "/router.lmetric.json"
      local same = program.run("conformance", "--check", path)
      assert.equal("router lmetric: all decisions are the same\n", same.out)
      assert.equal(0, same.status)
      local text = files.read(path)
      local first = text:match '"chosen":"(instance_%d)"'
      files.with((text:gsub('"chosen":"' .. first .. '"', '"chosen":"instance_9"', 1)),
        function(changed)
          local other = program.run("conformance", "--check", changed)
          assert.equal(1, other.status)
          assert.matches("request_0: instance_9 there, " .. first .. " here", other.out, 1, true)
        end)
      files.with("{}", function(bad)
        local wrong = program.run("conformance", "--check", bad)
        assert.equal(1, wrong.status)
        assert.matches("expected a vector of the format blis-conformance-1", wrong.err, 1, true)
      end)
    end)
  end)
end)
