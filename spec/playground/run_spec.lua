--- Runs of scripts as the page gets them.
local blis = require "blis"
local core = require "blis.core"
local playground = require "blis.playground"
local run = require "blis.playground.run"
local small = require "spec.support.small"

local function told(spec)
  local result = blis.run(playground.recorded(spec))
  return core.json_read(run.json(result, "a run"), "run"), result
end

describe("the record of a run", function()
  it("does not change the result", function()
    local spec = small.experiment { routing = "weighted" }
    local json = told(spec)
    assert.equal(blis.run(spec).hash, json.hash)
    assert.is_nil(spec.trace_level)
  end)

  it("has the share of prompt blocks over all instances, as reports", function()
    local json, result = told(small.experiment())
    assert.near(result.cache_hit_rate_overall, json.figures.cache_hit_rate_overall, 1e-3)
    assert.is_nil(json.figures.cache_hit_rate)
  end)

  it("has the requests, as columns", function()
    local json, result = told(small.experiment())
    assert.equal(#result.requests, #json.requests.id)
    for i, request in ipairs { result.requests[1], result.requests[60] } do
      local at = i == 1 and 1 or 60
      assert.equal(request.id, json.requests.id[at])
      assert.equal(request.arrival_us + request.ttft_us, json.requests.first_us[at])
      assert.equal(request.end_us, json.requests.end_us[at])
      assert.equal(request.instance, json.instances[json.requests.instance[at] + 1])
    end
    assert.is_nil(json.requests.tenant)
  end)

  it("has the settings, by which the page names runs", function()
    local json = told(small.experiment { queue = { saturation = "concurrency" } })
    assert.equal("round-robin", json.settings.routing)
    assert.matches("concurrency", json.settings["gateway's queue"])
  end)

  it("has the scores that decided", function()
    local scorer = blis.scorer { name = "mine", score = function(_, instance)
      return instance.index / 4
    end }
    local json = told(small.experiment { routing = { "weighted", scorers = { { scorer, 1 } } } })
    assert.same({ { name = "mine", weight = 1 } }, json.decisions.scorers)
    assert.equal(60, #json.decisions.list)
    local decision = json.decisions.list[7]
    assert.equal(6, decision.request)
    assert.equal(2, decision.chosen)
    assert.equal(3, #decision.candidates)
    for place, candidate in ipairs(decision.candidates) do
      assert.equal(place - 1, candidate[1])
      assert.equal(place / 4, candidate[6])
    end
  end)

  it("tells why a request was refused", function()
    local json = told(small.experiment { admission = function() return blis.reject "full" end })
    assert.equal("rejected", json.requests.state[1])
    assert.equal("full", json.requests.reason[1])
    assert.equal("reject", json.decisions.list[1].verdict)
    assert.equal(core.json_null, json.requests.instance[1])
  end)

  it("stops telling decisions where there are too many", function()
    local most = run.most_signals
    run.most_signals = 100
    local json = told(small.experiment())
    run.most_signals = most
    assert.is_false(json.decisions.is_complete)
    assert.truthy(#json.decisions.list < 60)
  end)
end)

describe("a script that is watched #host", function()
  local files = require "spec.support.files"
  local folders = require "spec.support.folders"
  local program = require "spec.support.program"

  it("has every run told, those driven by hand as the others", function()
    folders.with(function(folder)
      core.make_folder(folder)
      local script = ([[
local blis = require "blis"
require("blis.playground").watch "%s"
local spec = { cluster = { instances = 2 }, workload = { requests = 40, rate = 50 } }
local first = blis.run(spec)
local sim = blis.simulation(spec)
sim:run_until(200000)
local other = sim:clone()
local second = sim:run()
sim:run()
assert(first.hash == second.hash)
print(first.hash, other:run().hash)
blis.simulation(spec):run_until(1000)
]]):format(folder)
      local path = folder .. "/script.lua"
      local file = assert(io.open(path, "w"))
      file:write(script)
      file:close()
      local outcome = program.run(path)
      assert.equal(0, outcome.status, outcome.err)
      local first, third = outcome.out:match "^(%x+)\t(%x+)\n$"
      for i, hash in ipairs { first, first, third } do
        local json = core.json_read(files.read(("%s/%d.json"):format(folder, i)), "run")
        assert.equal(hash, json.hash)
        assert.equal(40, #json.requests.id)
      end
      assert.is_nil(io.open(folder .. "/4.json"))
    end)
  end)
end)
