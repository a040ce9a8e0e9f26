local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

describe("blis check #host", function()
  local function check(text)
    local outcome
    program.with_file(text, function(path) outcome = program.run("check", path) end)
    return outcome
  end

  it("reads every experiment and runs none", function()
    local outcome = check [[
      local blis = require "blis"
      local result = blis.run { workload = { requests = 1000000000 } }
      print(result.ttft_ms.p99 / 2, ("%.1f"):format(result.ttft_ms.mean))
      assert(result.hash == blis.compare { routing = { "random", "least-loaded" } }[1].hash)
      for i = 1, #result.requests do error "never" end
    ]]
    assert.equal("", outcome.err)
    says(outcome.out, "3 experiments checked, nothing wrong\n")
    assert.equal(0, outcome.status)
  end)

  it("tells what is wrong, and where", function()
    local cases = {
      { "local blis = require 'blis'\n\nblis.run { cluster = { instancs = 4 } }",
        ":3: cluster: unknown option 'instancs'; did you mean 'instances'?" },
      { "require('blis').scorer 'queue-dept'", "did you mean 'queue-depth'?" },
      { "local x = = 1", ":1: unexpected symbol" },
      { "require('blis').compare { routing = { 'random', 'randm' } }", "did you mean 'random'?" },
      { "error 'no'", "no" },
    }
    for _, case in ipairs(cases) do
      local outcome = check(case[1])
      says(outcome.err, case[2])
      assert.equal(1, outcome.status)
    end
    for _, text in ipairs { "while true do end", "os.exit(0)" } do
      says(check(text).err, "blis: the script runs no experiment")
    end
    local nothing, missing = program.run "check", program.run("check", "no_such_file.lua")
    assert.equal(2, nothing.status)
    says(nothing.err, "blis: check: which script? blis check FILE")
    assert.equal(2, missing.status)
    says(missing.err, "blis: check: cannot open no_such_file.lua")
    says(missing.err, "'blis check --help'")
  end)

  it("stops where a script waits for results", function()
    local outcome = check "local sim = require('blis').simulation {} while sim:step() do end"
    says(outcome.out, "1 experiments checked, nothing wrong\n")
  end)
end)

describe("blis help #host", function()
  it("lists topics, and explains them", function()
    local list = program.run("help").out
    for _, word in ipairs { "cluster", "signals", "blis.scorer", "Candidate", "blis.vec.norm" } do
      says(list, word)
      local text = program.run("help", word).out
      assert.is_true(#text > 100, word)
    end
    says(program.run("help", "cluster").out, "max_num_seqs")
    says(program.run("help", "vec.norm").out, "(x - min) / (max - min)")
    says(program.run("help", "clustr").err, "did you mean 'cluster'?")
  end)

  it("fills the lines of the list and no more", function()
    local rest -- of the line before, when it goes on in this one
    for line in program.run("help").out:match("\nOptions:\n.*"):gmatch "[^\n]+" do
      local words = line:match "^  (.+)$"
      assert.is_true(#line <= 91, line)
      if rest and words then assert.is_true(rest + #words:match "%S+" > 90, line) end
      rest = words and #line
    end
  end)

  it("knows every function of blis and every method of its objects", function()
    local all = program.run("help", "all").out
    local missing = {}
    local blis = require "blis"
    for name, value in pairs(blis) do
      local is_known = type(value) ~= "function" or all:find("blis." .. name .. "(", 1, true)
      if not is_known then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("explains every option", function()
    for _, item in ipairs(require("blis.config.annotations").sections) do
      for _, option in ipairs(item[2].options) do
        assert.is_true(type(option.doc) == "string" and #option.doc > 5, option.name)
      end
    end
  end)
end)
