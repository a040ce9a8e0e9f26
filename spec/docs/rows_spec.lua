-- Statements of the design documents that no other spec asserts, as the documents write them.
local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local json = require "blis.json"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

--- The decisions of a kind in a small run.
local function decisions_of(kind, options)
  local experiment = { cluster = { instances = 3, model = "qwen/qwen3-14b" },
    workload = { rate = 5, requests = 20 }, trace_level = "decisions" }
  for key, value in pairs(options) do experiment[key] = value end
  local found = {}
  local result = blis.run(experiment)
  for _, decision in ipairs(result.decisions) do
    if decision.kind == kind then found[#found + 1] = decision end
  end
  return found, result
end

describe("the decision log", function()
  it("has the reason of a delay", function()
    local admission = blis.admission { name = "late", decide = function(_, cluster)
      if cluster.now_us < 500000 then return blis.delay(100000, "too early") end
      if cluster.now_us < 900000 then return blis.delay(100000) end
      return blis.admit()
    end }
    local reasons = {}
    for _, one in ipairs(decisions_of("admission", { admission = admission })) do
      reasons[one.verdict .. ": " .. one.reason] = true
    end
    assert.same({ ["delay: too early"] = true, ["delay: late"] = true, ["admit: late"] = true },
      reasons)
    says(small.message_of(decisions_of, "admission", { admission = blis.admission { name = "x",
      decide = function() return blis.delay(5, 7) end } }), "the reason is a number")
  end)

  it("has the reason and the scores of a router in Lua, and regret by these scores", function()
    local function routed(details)
      return decisions_of("routing", { routing = blis.router { name = "own",
        route = function() return 2, details end } })
    end
    local found, result = routed { reason = "because", scores = { 0.5, 1, 4 }, priority = 2 }
    assert.same({ "because", 1, 3 }, { found[1].reason, found[1].score, found[1].regret })
    assert.equal(4, found[1].candidates[3].score)
    assert.equal(3, result.decisions:summary().mean_regret)
    found = routed { scores = { instance_1 = 2, instance_2 = 2.5 } }
    assert.same({ "own", 2, 0.5 }, { found[1].reason, found[1].score, found[1].regret })
    assert.equal(-math.huge, found[1].candidates[1].score)
  end)

  it("reports details that are wrong", function()
    local function message(details)
      return small.message_of(decisions_of, "routing", { routing = blis.router { name = "own",
        route = function() return 2, details end } })
    end
    says(message { scores = { 1 } }, "its scores have none for candidate 2, which it chose")
    says(message { scores = { 1, "x" } }, "the score of candidate 2 is")
    says(message { scores = 3 }, "its scores are 3, expected a table of numbers")
    says(message { reason = 3 }, "the reason is a number")
    says(message { why = "x" }, "its second result has an unknown field; known are reason, scores")
    says(message "x", "expected the priority of the request")
  end)
end)

describe("scorers with parameters", function()
  it("may be written as name:weight:key=value", function()
    local router = { "weighted", scorers = "prefix-affinity:3:block_size=64,queue-depth:2" }
    local list = { "weighted", scorers = { { "prefix-affinity", 3, block_size = 64 },
      { "queue-depth", 2 } } }
    local plain = { "weighted", scorers = "prefix-affinity:3,queue-depth:2" }
    local function hash(routing)
      return tostring(blis.run { cluster = { instances = 3, kv_blocks = 2000 }, routing = routing,
        workload = { rate = 20, requests = 300, prefixes = { groups = 9, tokens = 500 } } }.hash)
    end
    assert.equal(hash(list), hash(router))
    assert.not_equal(hash(plain), hash(router))
    for text, message in pairs {
      ["queue-depth:1:load"] = "'load' of queue-depth is not KEY=VALUE",
      ["queue-depth:1:load=queue:load=queue"] = "parameter 'load' of queue-depth is set twice",
      ["queue-depth:1:x=1"] = "unknown option 'x'",
      ["queue-depth:z:load=queue"] = "the weight of queue-depth, 'z', is not a number",
    } do
      says(small.message_of(blis.router, { "weighted", scorers = text }), message)
    end
  end)
end)

describe("the scorers of the catalog", function()
  it("have the categories of llm-d", function()
    local categories = require "blis.policy.scorer_categories"
    local catalogue = require "blis.policy.catalogue"
    local without, known = {}, {}
    for _, entry in ipairs(catalogue.scorers) do
      known[entry.name] = true
      if not categories[entry.name] then without[#without + 1] = entry.name end
    end
    assert.same({ "inverted" }, without)
    for name in pairs(categories) do assert.is_true(known[name], name) end
    says(commands.output_of("policies", "prefix-affinity"), "  category affinity\n")
    says(commands.output_of("policies", "queue-depth"), "  category distribution\n")
  end)
end)

describe("examples/servegen-language.yaml", function()
  local path = "examples/servegen-language.yaml"

  it("has 70 % of its prompt tokens in shared prefixes", function()
    local shared, all = 0, 0
    for _, request in blis.workload { file = path }:requests() do
      shared, all = shared + request.shared_tokens, all + request.prompt_tokens
    end
    assert.near(0.7, shared / all, 0.01)
  end)

  it("is routed to fewer instances, the more prefix-affinity weighs", function()
    local last = 0
    for _, weight in ipairs { 0.001, 2, 5 } do
      local result = blis.run { cluster = { instances = 8, model = "qwen/qwen3-14b" },
        workload = { file = path, num_requests = 800 }, routing = { "weighted",
          scorers = { { "prefix-affinity", weight }, { "queue-depth", 1 } } } }
      assert.is_true(result.balance_cv > last, weight .. " " .. result.balance_cv)
      last = result.balance_cv
    end
    assert.is_true(last > 0.5)
  end)
end)

describe("the permits of Cognitora", function()
  --- The largest number of completed requests at a time, by the times of their clients.
  local function most_at_once(result)
    local events, now, most = {}, 0, 0
    for _, request in ipairs(result.requests) do
      if request.state == "completed" then
        events[#events + 1] = { request.arrival_us, 1 }
        events[#events + 1] = { request.arrival_us + request.e2e_us, -1 }
      end
    end
    table.sort(events, function(a, b)
      if a[1] ~= b[1] then return a[1] < b[1] end
      return a[2] < b[2]
    end)
    for _, event in ipairs(events) do
      now = now + event[2]
      most = math.max(most, now)
    end
    return most
  end

  it("hold a permit until the client has the last token", function()
    for _, name in ipairs { "routing", "admission" } do
      local experiment = { workload = { rate = 40, requests = 400, prompt_tokens = 600,
        output_tokens = 100 }, cluster = { instances = 4, model = "qwen/qwen3-14b",
        latency_model = "calibrated" } }
      experiment[name] = { name == "routing" and "cognitora.score" or "cognitora.admission",
        max_queue = 17 }
      assert.equal(17, most_at_once(blis.run(experiment)))
    end
  end)
end)

describe("a candidate in the form of the macro-level plan", function()
  local candidate = [[{ "routing.cache_affinity_weight": 0.7, "routing.load_balance_weight": 0.2,
    "routing.queue_depth_weight": 0.1, "admission.bucket_size": 500,
    "autoscale.scale_up_threshold": 0.75 }]]
  local eval_candidate = require "blis.eval.candidate"
  local suite = { name = "s", scenarios = { {} }, parameters = {} }

  it("is the parameters of built-in policies", function()
    local notes = {}
    local read = eval_candidate.read(candidate, "c.json")
    local given = { write = function(line) notes[#notes + 1] = line end }
    assert.same({
      routing = { "weighted-scoring", cache_affinity_weight = 0.7, load_balance_weight = 0.2,
        queue_depth_weight = 0.1 },
      admission = { "token-bucket", bucket_size = 500 },
    }, eval_candidate.load(read, suite, given))
    says(notes[1], "autoscale.* has no effect: no scenario of suite s scales")
    local scaled = { name = "s", scenarios = { { scaling = {} } }, parameters = {} }
    assert.same({ "threshold", scale_up_threshold = 0.75 },
      eval_candidate.load(read, scaled, given).autoscaler)
    says(small.message_of(eval_candidate.load, eval_candidate.read('{"x.y": 1}', "c.json"), suite),
      "c.json: unknown parameter 'x.y', expected KIND.PARAMETER, where KIND is admission, ")
  end)

  it("is evaluated by the commands that the plan prints #host", function()
    local workload = 'version: "2"\nseed: 1\naggregate_rate: 20\nnum_requests: 30\nclients:\n'
      .. "- {id: a, rate_fraction: 1, arrival: {process: poisson},\n"
      .. "   input_distribution: {type: constant, params: {value: 100}},\n"
      .. "   output_distribution: {type: constant, params: {value: 10}}}\n"
    files.with(workload, function(w)
      local config = "max_iterations: 9\nworkload: " .. w .. "\nrun: {num-instances: 2}\n"
        .. "fitness_weights: {throughput: 0.4, p99_ttft: 0.6}\n"
      files.with(config, function(oe)
        files.with(candidate, function(c)
          local run = program.run("openevolve-evaluate", "--config", oe, "--candidate", c)
          assert.equal(0, run.status, run.err)
          local found = json.decode(run.out)
          assert.equal("weighted-scoring", found.routing)
          assert.is_true(found.fitness.score > 0 and found.fitness.score < 1)
          run = program.run("gepa-evaluate", "--policy-config", "examples/policy-config.yaml",
            "--workload", w)
          assert.equal(0, run.status, run.err)
          found = json.decode(run.out)
          assert.is_true(found.fitness.score > 0)
          assert.is_table(found.decisions)
        end)
        local run = program.run("openevolve-evaluate", "--config", oe)
        assert.equal(2, run.status)
        says(run.err, "--config requires --candidate FILE")
      end)
      says(program.run("gepa-evaluate", "--workload", w).err,
        "--policy-config and --workload require each other")
    end)
  end)
end)

describe("a capped trace", function()
  it("keeps the lines of the input, in the order of their times", function()
    local rows = {}
    for i, row in ipairs { { "a", 2, 300 }, { "b", 0, 100 }, { "a", 0, 0 }, { "a", 1, 200 } } do
      rows[i] = ('{"session_id":"%s","turn_id":%d,"timestamp":%d,"input_length":5,'
        .. '"output_length":2,"own":"%d"}'):format(row[1], row[2], row[3], i)
    end
    files.with(table.concat(rows, "\n") .. "\n", function(path)
      files.with(nil, function(made)
        commands.call("trace", "cap", path, "--turns", "2", "--output", made)
        assert.equal(table.concat({ rows[3], rows[2], rows[4] }, "\n") .. "\n", files.read(made))
        commands.call("trace", "cap", path, "--turns", "1", "--output", made, "--to", "routesim")
        assert.equal(0, core.json_read(files.read(made):match "^[^\n]*").ts)
      end)
    end)
  end)
end)
