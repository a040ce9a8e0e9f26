-- The gate: what it lets through, what it stops, and what it says of that.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local gate = require "blis.production.gate.gate"
local json = require "blis.json"
local measure = require "blis.production.gate.measure"
local program = require "spec.support.program"
local report = require "blis.production.gate.report"
local shadow = require "blis.production.shadow"
local subject = require "blis.production.subject"
local experiment = require "blis.experiment"

local config = [[
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
schedulingProfiles:
- name: default
  plugins:
  - { pluginRef: queue-scorer, weight: %s }
  - { pluginRef: kv-cache-utilization-scorer, weight: 2 }
  - { pluginRef: prefix-cache-scorer, weight: 3 }
]]

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

--- Calls body with the paths of two configurations that differ in the weight of the queue.
local function with_weights(a, b, body)
  folders.with(function(folder)
    os.execute("mkdir " .. folder)
    write(folder .. "/base.yaml", config:format(a))
    write(folder .. "/new.yaml", config:format(b))
    body(folder .. "/base.yaml", folder .. "/new.yaml", folder)
  end)
end

local options = { seeds = 12, tolerance = 0.02, decisions = 50 }

local function run(a, b, more)
  local given = {}
  for key, value in pairs(options) do given[key] = value end
  for key, value in pairs(more or {}) do given[key] = value end
  return gate.run(subject.read(a), subject.read(b), given)
end

describe("the gate", function()
  it("lets a policy through that is the same", function()
    with_weights("2", "2.0", function(base, new)
      local result = run(base, new, { seeds = 3 })
      assert.is_false(result.is_regression)
      for _, one in ipairs(result.scenarios) do
        assert.equal(0, one.changes.changed, one.id)
        assert.is_true(one.changes.asked >= 390, one.id)
      end
    end)
  end)

  it("stops a weight of the wrong sign, with figures and decisions", function()
    with_weights("2", "-2", function(base, new)
      local result = run(base, new)
      assert.is_true(result.is_regression)
      assert.is_true(gate.count(result, "regression") >= 4)
      local rules = {}
      for _, one in ipairs(result.invariants) do rules[one.name] = true end
      assert.is_true(rules["no dominated choice"])
      assert.is_true(rules["no negative weight"])
      local text = report.text(result)
      assert.matches("long%-prompts +TTFT mean[^\n]* regression", text)
      assert.matches("which is worse in every respect", text, 1, true)
      assert.matches("for the new one: inverted llm-d.queue-scorer +0.286 (0.286 x (1.000 - 0.0",
        text, 1, true)
    end)
  end)

  it("lets an improvement through", function()
    files.with("return { scenarios = { { id = 'a', cluster = { instances = 3 }, workload = { "
      .. "requests = 100, rate = 20, prompt_tokens = 900, output_tokens = 20 } } } }",
      function(path)
        local result = run("always-busiest", "least-loaded", { suite = path })
        assert.is_false(result.is_regression)
        assert.is_true(gate.count(result, "improvement") >= 3)
        assert.is_true(run("least-loaded", "always-busiest", { suite = path }).is_regression)
      end)
  end)

  it("judges by chance and by size", function()
    local function verdicts(a, b, tolerance)
      local runs = { base = {}, new = {} }
      for i = 1, 12 do
        runs.base[i], runs.new[i] = {}, {}
        for _, figure in ipairs(measure.figures) do
          runs.base[i][figure.name], runs.new[i][figure.name] = a(i), b(i)
        end
      end
      local found = {}
      for _, one in ipairs(measure.compare({ { id = "x", runs = runs } }, tolerance)) do
        found[one.figure.name] = one.verdict
      end
      return found
    end
    local function steady(i) return 100 + i end
    local function worse(i) return 103 + i end
    assert.equal("regression", verdicts(steady, worse, 0.02).ttft_mean_ms)
    assert.equal("improvement", verdicts(steady, worse, 0.02).tokens_per_sec)
    assert.equal("none", verdicts(steady, worse, 0.05).ttft_mean_ms)
    assert.equal("none", verdicts(steady, function(i)
      return i % 2 == 0 and 60 + i or 160 + i
    end, 0.02).ttft_mean_ms)
    assert.equal("none", verdicts(steady, steady, 0).ttft_mean_ms)
  end)

  it("calls an interval without 0 undecided if it is no regression", function()
    local function pair(change)
      return { change = change, low = change - 0.04, high = change + 0.04, mean_a = 1,
        mean_b = 1 + change, kind = "ratio" }
    end
    local function text(change, verdict)
      return report.text { comparisons = { { scenario = "s", figure = measure.figures[1],
        pair = pair(change), adjusted_p = 0.08, verdict = verdict } }, scenarios = {},
        invariants = {}, base = { name = "a" }, new = { name = "b" }, suite = "x", seeds = 6,
        tolerance = 0.02 }
    end
    local shown = "Undecided changes: s TTFT mean (11.4 %, p = 0.08)"
    assert.truthy(text(0.114, "none"):find(shown, 1, true), text(0.114, "none"))
    assert.is_nil(text(0.114, "regression"):find("ndecided", 1, true))
    assert.is_nil(text(0.03, "none"):find("ndecided", 1, true))
    assert.matches("^no regression found, and 1 change for the worse undecided: 1 comparisons, 0",
      text(0.114, "none"))
    assert.matches("11.4 %% +7.4 %% to 15.4 %% +undecided\n", text(0.114, "none"))
    assert.matches("^no regression: 1 comparisons, 0 improved", text(-0.114, "none"))
    assert.matches("Undecided changes", text(-0.114, "none"))
  end)

  it("counts undecided changes for the worse", function()
    local function count(better, low, high, verdict)
      local pair = { change = (low + high) / 2, low = low, high = high }
      return gate.undecided_worse { tolerance = 0.02, comparisons = { { pair = pair,
        figure = { better = better }, verdict = verdict or "none" } } }
    end
    assert.equal(1, count("lower", 0.1, 0.2))
    assert.equal(1, count("higher", -0.2, -0.1))
    assert.equal(0, count("lower", -0.2, -0.1))
    assert.equal(0, count("higher", 0.1, 0.2))
    assert.equal(0, count("lower", -0.1, 0.3))
    assert.equal(0, count("lower", 0.005, 0.02))
    assert.equal(0, count("lower", 0.1, 0.2, "regression"))
  end)

  it("reads suites in YAML and JSON", function()
    folders.with(function(folder)
      os.execute("mkdir " .. folder)
      write(folder .. "/s.yaml", "name: mine\nscenarios:\n- id: one\n  cluster: {instances: 2}\n"
        .. "  workload: {rate: 20, requests: 40}\n")
      write(folder .. "/s.json", '{"scenarios": [{"id": "two", "cluster": {"instances": 2}, '
        .. '"workload": {"rate": 20, "requests": 40}}]}')
      local found = run("random", "round-robin", { seeds = 2, suite = folder .. "/s.yaml" })
      assert.equal("mine", found.suite)
      assert.equal("one", found.scenarios[1].id)
      found = run("random", "round-robin", { seeds = 2, suite = folder .. "/s.json" })
      assert.equal("two", found.scenarios[1].id)
      write(folder .. "/s.yaml", "scenarios: 3\n")
      local ok, problem = pcall(run, "random", "round-robin", { suite = folder .. "/s.yaml" })
      assert.is_false(ok)
      assert.truthy(tostring(problem.message):find("expected { name =, scenarios", 1, true))
    end)
  end)

  it("takes a suite of one's own, and says what is wrong with it", function()
    files.with("return { name = 'own', scenarios = { { id = 'one', cluster = { instances = 2 }, "
      .. "workload = { requests = 60, rate = 20, prompt_tokens = 100, output_tokens = 20 } } } }",
      function(path)
        local result = run("random", "random", { suite = path, seeds = 2 })
        assert.equal("own", result.suite)
        assert.equal(5, #result.comparisons)
      end)
    for text, part in pairs {
      ["return 1"] = "expected { name =, scenarios =",
      ["return { scenarios = { { cluster = {}, workload = {} } } }"] = "[1]: id is missing",
      ["return { scenarios = { { id = 'a', cluster = {} } } }"] = "workload",
      ["x ="] = "unexpected symbol",
    } do
      files.with(text, function(path)
        local ok, problem = pcall(run, "random", "random", { suite = path })
        assert.is_false(ok)
        assert.matches(part, problem.message, 1, true)
      end)
    end
  end)

  it("knows policies by name, by scorers and by script", function()
    assert.equal("least-loaded", subject.read("least-loaded").label)
    assert.equal("weighted(queue-depth:1,kv-utilization:2)",
      subject.read("queue-depth:1,kv-utilization:2").label)
    program.with_file("return { 'weighted', scorers = 'queue-depth:1' }", function(path)
      os.rename(path, path .. ".lua")
      assert.equal("weighted(queue-depth:1)", subject.read(path .. ".lua").label)
      os.rename(path .. ".lua", path)
    end)
    for name, part in pairs { ["least-loadd"] = "least-loaded", ["no/such/file"] = "there is no",
      ["none.lua"] = "cannot open" } do
      local ok, problem = pcall(subject.read, name)
      assert.is_false(ok)
      assert.matches(part, problem.message, 1, true)
    end
  end)
end)

describe("a policy that follows another one", function()
  local spec = {
    cluster = { instances = 4, snapshot_refresh_us = 50000 },
    workload = { rate = 30, requests = 150, prompt_tokens = 400, output_tokens = 60,
      prefixes = { groups = 8, tokens = 1024 } },
    routing = { "weighted", scorers = "queue-depth:1,kv-utilization:1" },
  }

  local function traced(routing)
    local made = {}
    for key, value in pairs(spec) do made[key] = value end
    made.routing, made.trace_level = routing, "decisions"
    return experiment.run(made)
  end

  it("agrees with itself in everything", function()
    for _, routing in ipairs { spec.routing, "least-loaded", "smg.cache_aware", { "dynamo.kv" } } do
      local made = {}
      for key, value in pairs(spec) do made[key] = value end
      made.routing = routing
      local outcome = shadow.follow(made, shadow.choices(traced(routing).decisions))
      assert.equal(150, outcome.asked)
      assert.equal(150, outcome.agreed)
      assert.is_true(outcome.is_complete)
    end
  end)

  it("sees what the other one saw, by either way of asking", function()
    local told = shadow.choices(traced("least-loaded").decisions)
    local by_scores = shadow.follow(spec, told, 1000)
    -- As a function it can be asked by repeated runs alone.
    local scripted = {}
    for key, value in pairs(spec) do scripted[key] = value end
    scripted.routing = require("blis").router { "weighted",
      scorers = "queue-depth:1,kv-utilization:1" }
    local by_pins = shadow.follow(scripted, told, 1000)
    assert.is_true(by_scores.agreed < 150)
    assert.equal(by_scores.asked, by_pins.asked)
    local differing = {}
    for i, one in ipairs(by_scores.differences) do differing[i] = one.request end
    local pinned = {}
    for _, one in ipairs(by_pins.differences) do pinned[one.request] = true end
    -- Ties are no differences where scores are asked.
    for _, request in ipairs(differing) do assert.is_true(pinned[request], request) end
  end)
end)

describe("the scenario with adapters", function()
  it("shows what a scorer of adapters is worth, and its wrong sign", function()
    local lora
    for _, one in ipairs(require("blis.production.gate.suite").read().scenarios) do
      if one.id == "lora-mix" then lora = one end
    end
    local function policy(affinity)
      return { name = "it", label = "it", signals = {}, points = { routing = { "weighted",
        scorers = { { "llm-d.queue-scorer", 1 }, affinity },
        picker = "llm-d.max-score-picker" } } }
    end
    local runs = measure.run(policy { "llm-d.lora-affinity-scorer", 2 },
      policy { "inverted", 2, base = "llm-d.lora-affinity-scorer" }, lora, { 1, 2, 3 })
    for i = 1, 3 do assert.is_true(runs.new[i].ttft_mean_ms > 3 * runs.base[i].ttft_mean_ms) end
  end)
end)

describe("blis gate #host", function()
  it("ends with 3 on a regression and writes what CI systems read", function()
    with_weights("2", "-2", function(base, new, folder)
      local outcome = program.run("gate", base, new, "--markdown", folder .. "/m.md", "--junit",
        folder .. "/j.xml", "--json", folder .. "/g.json", "--quiet")
      assert.equal(3, outcome.status, outcome.err)
      assert.matches("^regression: %d+ of 45 comparisons regressed; %d+ rules are broken\n$",
        outcome.out)
      assert.matches("| long-prompts | TTFT mean |", files.read(folder .. "/m.md"), 1, true)
      assert.matches('<failure message="', files.read(folder .. "/j.xml"), 1, true)
      local found = json.decode(files.read(folder .. "/g.json"))
      assert.is_true(found.regression)
      assert.equal(45, #found.comparisons)
      assert.equal(9, #found.scenarios)
      assert.equal("llm-d.queue-scorer", found.scenarios[5].changes[1].base_terms[1].scorer)
    end)
  end)

  it("compares with reviewed decisions", function()
    with_weights("2", "2.5", function(base, new, folder)
      local reviewed = folder .. "/reviewed.json"
      local function call(path, ...)
        return program.run("gate", path, path, "--seeds", "2", "--quiet", "--reviewed", reviewed,
          ...)
      end
      assert.equal(1, call(base).status)
      assert.equal(0, call(base, "--update-reviewed").status)
      assert.equal(0, call(base).status)
      local changed = call(new)
      assert.equal(3, changed.status)
      assert.matches("decisions differ from the reviewed ones in kv-50", changed.out, 1, true)
    end)
  end)

  it("says what is wrong with its command line", function()
    for _, case in ipairs {
      { { "random" }, 2, "expected two policies, got 1" },
      { { "random", "randm" }, 2, "random" },
      { { "random", "random", "--update-reviewed" }, 2, "--update-reviewed requires --reviewed" },
    } do
      local outcome = program.run("gate", table.unpack(case[1]))
      assert.equal(case[2], outcome.status, outcome.err)
      assert.matches(case[3], outcome.err, 1, true)
    end
  end)
end)
