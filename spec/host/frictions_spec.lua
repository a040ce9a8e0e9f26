--- Options without an effect, replaced names, and formats: what a first-time user meets.
local blis = require "blis"
local notices = require "blis.notices"
local program = require "spec.support.program"
local small = require "spec.support.small"

--- Runs fn and returns the notes that it prints.
local function notes_of(fn)
  local lines = {}
  local before = notices.collect(function(line) lines[#lines + 1] = line end)
  local ok, problem = pcall(fn)
  notices.collect(before)
  assert.is_true(ok, problem)
  return table.concat(lines, "\n")
end

local function with_cluster(options, more)
  local spec = small.experiment(more)
  for key, value in pairs(options) do spec.cluster[key] = value end
  return spec
end

describe("options that need another one", function()
  it("print a note without it", function()
    for name, value in pairs { kv_offload_threshold = 0.5, kv_transfer_bandwidth = 7,
      kv_transfer_base_latency_us = 3 } do
      local told = notes_of(function() blis.run(with_cluster { [name] = value }) end)
      assert.truthy(told:find(("cluster.%s (--"):format(name), 1, true), told)
      assert.truthy(told:find("has no effect without cluster.kv_cpu_blocks", 1, true), told)
    end
    local told = notes_of(function() blis.run(small.experiment { counterfactual_k = 3 }) end)
    assert.truthy(told:find("counterfactual_k (--counterfactual-k) has no effect without "
      .. "trace_level (--trace-level)", 1, true), told)
  end)

  it("print none with it, with the default, and in profile go-blis", function()
    for _, options in ipairs { { kv_cpu_blocks = 100, kv_offload_threshold = 0.5 },
      { kv_offload_threshold = 0 }, { kv_transfer_bandwidth = 100 } } do
      assert.equal("", notes_of(function() blis.run(with_cluster(options)) end))
    end
    assert.equal("", notes_of(function()
      blis.run(small.experiment { counterfactual_k = 3, trace_level = "decisions" })
    end))
    local told = notes_of(function()
      blis.run(with_cluster({ kv_offload_threshold = 0.5 }, { profile = "go-blis" }))
    end)
    assert.is_nil(told:find("has no effect", 1, true), told)
  end)

  it("print a note for decisions that nothing shows", function()
    local flags = { "run", "--num-requests", "5", "--trace-level", "decisions" }
    local shown = "records decisions, but no output shows them"
    assert.truthy(program.run(table.unpack(flags)).err:find(shown, 1, true))
    flags[#flags + 1] = "--summarize-trace"
    assert.is_nil(program.run(table.unpack(flags)).err:find(shown, 1, true))
  end)
end)

describe("a weight of 0", function()
  local function routing(weight)
    return { "weighted", scorers = { { "queue-depth", weight }, { "kv-utilization", 1 } } }
  end

  it("is an error that says to omit the scorer", function()
    local ok, problem = pcall(blis.run, small.experiment { routing = routing(0) })
    assert.is_false(ok)
    assert.truthy(tostring(problem):find("routing.scorers[1][2]: invalid value 0: expected a "
      .. "weight above 0; omit the scorer", 1, true), tostring(problem))
    local outcome = program.run("run", "--routing-policy", "weighted", "--routing-scorers",
      "queue-depth:0,kv-utilization:1")
    assert.equal(2, outcome.status)
    assert.truthy(outcome.err:find("the weight of queue-depth is 0", 1, true), outcome.err)
  end)

  it("omits the scorer in trials of a sweep, and only there", function()
    local hashes = {}
    local found = blis.sweep { parameters = { { "weight", { 0, 2 } } }, trial = function(p)
      local result = blis.run(small.experiment { routing = routing(p.weight), seed = p.seed })
      return { is_omitted = result.routing == "weighted(kv-utilization:1)",
        value = result.ttft_ms.mean }
    end }:run { quiet = true, jobs = 1 }
    for i, point in ipairs(found.points) do hashes[i] = point.metrics.is_omitted.mean end
    assert.same({ 1, 0 }, hashes)
    assert.is_false(pcall(blis.run, small.experiment { routing = routing(0) }))
  end)

  it("is an error where all weights are 0, and a failed trial leaves no permission", function()
    local found = blis.sweep { parameters = { { "weight", { 0 } } }, trial = function(p)
      return blis.run(small.experiment { routing = { "weighted",
        scorers = { { "queue-depth", p.weight } } } })
    end }:run { quiet = true, jobs = 1 }
    assert.truthy(found.failures[1].reason:find("all weights are 0", 1, true))
    assert.is_false(pcall(blis.run, small.experiment { routing = routing(0) }))
  end)
end)

describe("seeds", function()
  it("is answered with replications", function()
    local hint = "'seeds'; did you mean 'replications'?"
    for name, options in pairs { compare = { routing = { "random" } }, capacity = {},
      sweep = { parameters = { { "a", { 1 } } }, trial = print } } do
      options.seeds = 4
      local ok, problem = pcall(blis[name], options)
      assert.is_false(ok)
      assert.truthy(tostring(problem):find(hint, 1, true), tostring(problem))
    end
    local outcome = program.run("compare", "--seeds", "4")
    assert.truthy(outcome.err:find("did you mean '--replications'?", 1, true), outcome.err)
    outcome = program.run("calibrate", "--observed", "x.csv")
    assert.truthy(outcome.err:find("did you mean '--fit'?", 1, true), outcome.err)
    assert.is_false(pcall(blis.run, small.experiment { seeds = 4 }))
    outcome = program.run("run", "--seeds", "4")
    assert.truthy(outcome.err:find("did you mean '--seed'?", 1, true), outcome.err)
  end)
end)

describe("the program", function()
  it("has the global blis in -e, unless -l sets it", function()
    assert.equal("table\n", program.run("-e", "print(type(blis.statistics))").out)
    assert.equal("math\n", program.run("-l", "blis=math", "-e",
      "print(blis == math and 'math')").out)
  end)

  it("refuses an empty list of scorers, and takes it in profile go-blis", function()
    local outcome = program.run("run", "--routing-policy", "weighted", "--routing-scorers", "")
    assert.equal(2, outcome.status)
    assert.truthy(outcome.err:find("--routing-scorers: the list is empty", 1, true), outcome.err)
    outcome = program.run("run", "--profile", "go-blis", "--num-requests", "3", "--routing-policy",
      "weighted", "--routing-scorers", "")
    assert.equal(0, outcome.status, outcome.err)
  end)

  it("accepts the flags that documents print, and names a missing file", function()
    for name, flags in pairs { ["openevolve-evaluate"] = { "--config", "c", "--candidate", "d" },
      ["gepa-evaluate"] = { "--policy-config", "p", "--workload", "w" } } do
      local outcome = program.run(name, table.unpack(flags))
      assert.equal(1, outcome.status)
      assert.truthy(outcome.err:find("cannot be opened: No such file", 1, true), outcome.err)
    end
  end)

  it("compares as JSON and CSV", function()
    local json = require "blis.json"
    for replications, key in pairs { [1] = "result", [2] = "figures" } do
      local function compare(format)
        local outcome = program.run("compare", "--policies", "random,round-robin", "--rate", "5",
          "--num-requests", "60", "--num-instances", "2", "--replications",
          ("%d"):format(replications), "--quiet", "--format", format)
        assert.equal(0, outcome.status, outcome.err)
        return outcome.out
      end
      local found = json.decode(compare "json")
      assert.equal("blis-comparison-1", found.format)
      assert.equal(2, #found.policies)
      assert.equal("round-robin", found.policies[2].name)
      assert.is_table(found.policies[2][key])
      assert.is_string(found.verdict.status)
      local text = compare "csv"
      local header, first, second = text:match "^([^\n]*)\n([^\n]*)\n([^\n]*)\n$"
      assert.truthy(header:find("^routing,") and header:find(",verdict$"), header)
      assert.equal("random", first:match "^[^,]*")
      assert.equal("round-robin", second:match "^[^,]*")
      local commas = select(2, header:gsub(",", ""))
      assert.equal(commas, select(2, second:gsub(",", "")))
    end
  end)

  it("prints a search for capacity as CSV", function()
    local outcome = program.run("capacity", "--target", "ttft_ms.p95=100000", "--num-requests",
      "100", "--quiet", "--format", "csv", "--to", "2", "--replications", "1")
    assert.truthy(outcome.out:find("^rate,verdict,met,missed,overloaded,unsettled,requests,"
      .. "missed_share,ttft_ms.p95,range_low,range_high,expected_error,error_basis,error_reason\n"
      .. "1,met,"), outcome.out .. outcome.err)
  end)
end)

describe("blis help #host", function()
  it("describes every type that the reference names", function()
    local reference = require "blis.reference"
    local names, known = {}, {}
    for _, topic in ipairs(reference.topics()) do
      known[topic.name] = true
      for name in table.concat(topic.lines, "\n"):gmatch "blis%.(%u%w+)" do names[name] = true end
    end
    local missing = {}
    for name in pairs(names) do
      if not known[name] then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
    local outcome = program.run("help", "blis.RunEventKind")
    assert.truthy(outcome.out:find("  prefill_complete  +the instance has computed the prompt"),
      outcome.out .. outcome.err)
  end)
end)

describe("faults", function()
  it("print the id of an instance that is given by its place", function()
    local function run(instance)
      return notes_of(function()
        local result = blis.run(with_cluster({ instances = 3 }, { faults = { { kind = "crash",
          at = 1000, instance = instance, recover_after = 1000 } } }))
        assert.equal("instance_1", result.faults[1].instance)
      end)
    end
    assert.truthy(run(2):find("faults[1].instance = 2 is index 2 of sim.instances, which has the "
      .. "id instance_1", 1, true))
    assert.equal("", run "instance_1")
  end)

  it("note a place once, and only if it is another instance's number", function()
    local function run(instances)
      return notes_of(function()
        blis.run(with_cluster({ instances = instances }, { faults = {
          { kind = "crash", at = 1000, instance = 2, recover_after = 1000 },
          { kind = "crash", at = 5000, instance = 2, recover_after = 1000 } } }))
      end)
    end
    assert.equal(1, select(2, run(3):gsub("is index 2", "")))
    assert.equal("", run(2)) -- there is no instance_2
  end)
end)
