--- The content of the suites that ship, and of samples: a change of one moves scores, so it is a
--- change that somebody decides, with a new version of the suite.
local catalogue = require "blis.policy.catalogue"
local core = require "blis.core"
local describe_server = require "blis.serve.describe"
local feedback = require "blis.eval.feedback"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local request = require "blis.serve.request"
local samples = require "blis.sweep.samples"
local score = require "blis.eval.score"
local suites = require "blis.eval.suite"

--- A text of plain values, in a fixed order.
local function text_of(value, parts)
  parts = parts or {}
  if type(value) ~= "table" then
    parts[#parts + 1] = type(value) == "function" and "function" or ("%s;"):format(value)
    return parts
  end
  parts[#parts + 1] = "{"
  local names, numbers = {}, {}
  for key in pairs(value) do
    table.insert(type(key) == "number" and numbers or names, key)
  end
  table.sort(numbers)
  table.sort(names)
  for _, list in ipairs { numbers, names } do
    for _, key in ipairs(list) do
      parts[#parts + 1] = ("%s="):format(key)
      text_of(value[key], parts)
    end
  end
  parts[#parts + 1] = "}"
  return parts
end

describe("suites that ship", function()
  local pinned = {
    chat = "2 deac593c27f4",
    agents = "2 70096dea5752",
    gateway = "3 675ab30ed5f0",
  }

  it("are what their version says", function()
    local got = {}
    for _, name in ipairs(suites.names) do
      local given = require("blis.eval.suites." .. name)
      got[name] = given.version .. " " .. core.hash128(table.concat(text_of(given))):sub(1, 12)
    end
    assert.same(pinned, got)
  end)
end)

describe("Sobol samples", function()
  it("are those of the sequence, shifted by the seed", function()
    local got = {}
    for i, point in ipairs(samples.new("sobol", 4, 3, 7)) do
      for d = 1, 3 do point[d] = ("%.9f"):format(point[d]) end
      got[i] = table.concat(point, " ")
    end
    assert.same({
      "0.873601859 0.483831625 0.296754916",
      "0.373601859 0.983831625 0.796754916",
      "0.123601859 0.233831625 0.046754916",
      "0.623601859 0.733831625 0.546754916",
    }, got)
  end)
end)

describe("a class that is starved", function()
  local function measures(good)
    return { { classes = { { name = "c", good = good, offered = 100 } } } }
  end

  it("is told with both shares and with the one that is expected", function()
    local stage = { scenarios = { { id = "s" } } }
    assert.equal("c is starved in s: 30.0 % served well, 80.0 % by the baseline, at least 40.0 % "
      .. "are expected", score.starved(stage, 0.5, { measures(80) }, { measures(30) }))
    assert.is_nil(score.starved(stage, 0.5, { measures(80) }, { measures(40) }))
  end)
end)

describe("feedback of a policy that wins everywhere", function()
  local function one(id, log_ratio)
    return { scenario = { id = id, cost = { { metric = "m", weight = 1 } } },
      log_ratio = log_ratio }
  end

  it("names the scenario that wins least when a metric of it is worse", function()
    local function runs(m)
      return { { m = m, reject_frac = 0, lost = 0, preemptions_per_request = 0, balance_cv = 0,
        cache_hit_rate = 0, queue_ms = 0 } }
    end
    local scored = { combined = 1.1, n = 1, soft = {},
      scenarios = { one("little", 0), one("much", 0.5) } }
    local text = feedback.of_score(scored, { runs(1), runs(1) }, { runs(2), runs(0.5) },
      { notes = {} })
    assert.equal("score 1.100 (+10.0%, 1 seeds: too few for an interval). valid.\n"
      .. "least: little, m 2.00x worse.\nBETTER much 0.61x of the cost.", text)
  end)
end)

describe("the description of a server", function()
  local function names_of(list)
    local names = {}
    for i, one in ipairs(list) do names[i] = one.name end
    return names
  end

  it("lists every scenario, metric, signal, and router", function()
    local known = request.scenarios(suites.read "spec/eval/small_suite.lua")
    local all = json.decode(json.encode(describe_server.all(known)))
    local short = json.decode(json.encode(describe_server.short(known)))
    assert.same(metrics.list[1].doc, all.metrics[1].doc)
    assert.same(names_of(metrics.list), names_of(all.metrics))
    assert.equal(#metrics.list, #short.metrics)
    assert.same(names_of(core.signals()), names_of(all.script_api.instance_fields))
    assert.same(names_of(core.signals()), short.instance_fields)
    assert.same({ "llmd.default", table.unpack(names_of(catalogue.routers)) }, all.programs)
    local ids = {}
    for i, one in ipairs(all.scenarios) do ids[i] = one.id end
    assert.same(known.ids, ids)
    assert.equal(#known.ids, #short.scenarios)
    assert.is_true(#known.ids > 1 and #all.programs > 10)
  end)
end)

describe("constraints", function()
  it("are in the order of their names", function()
    local known = request.scenarios(suites.read "spec/eval/small_suite.lua")
    local given = {}
    for _, name in ipairs { "served_share", "cost", "miss_frac", "ttft_p99_ms", "e2e_p99_ms" } do
      given[name] = ">=0"
    end
    local read = request.read({ program = { name = "random" }, scenario = "a",
      constraints = given }, known)
    local names = {}
    for i, constraint in ipairs(read.constraints) do names[i] = constraint.metric.name end
    assert.same({ "cost", "e2e_p99_ms", "miss_frac", "served_share", "ttft_p99_ms" }, names)
  end)
end)
