local files = require "spec.support.files"
local program = require "spec.support.program"

local measured = "tests/data/truth/llmservingsim/rtxpro6000-llama-3.1-8b.csv"
local engine = { "--model", "llama-3.1-8b-instruct", "--hardware", "RTX PRO 6000",
  "--max-num-running-reqs", "128" }

local function fit(...)
  local line = table.move(engine, 1, #engine, 4, { "calibrate", "--fit", measured })
  return program.run(table.unpack(table.move({ ... }, 1, select("#", ...), #line + 1, line)))
end

describe("blis calibrate --fit #host", function()
  it("prints errors and coefficients, and writes what a run takes as a catalogue", function()
    files.with(nil, function(path)
      local yaml, picture = path .. ".yaml", path .. ".svg"
      local run = fit("--coefficients", yaml, "--plot", picture, "--fit-trials", "60")
      assert.equal("", run.err)
      assert.equal(0, run.status)
      assert.matches("fitted to 150 requests of " .. measured, run.out, 1, true)
      assert.matches("after, held out +E2E +150", run.out)
      local fitted = program.run("run", "--catalogue", yaml, "--latency-model", "calibrated",
        "--model", "llama-3.1-8b-instruct", "--hardware", "RTX PRO 6000", "--num-requests", "5")
      assert.equal(0, fitted.status)
      assert.matches("^<svg ", files.read(picture))
      os.remove(yaml)
      os.remove(picture)
    end)
  end)

  it("ends with status 3 when --until is not reached", function()
    assert.equal(3, fit("--until", "0.000001", "--fit-trials", "20").status)
    assert.equal(0, fit("--until", "0.5").status)
  end)

  it("refuses wrong files and flags with status 1 and 2", function()
    local run = program.run("calibrate", "--fit", "nosuch.csv")
    assert.equal(1, run.status)
    assert.equal("blis: nosuch.csv: No such file or directory\n", run.err)
    run = program.run("calibrate", "--tp", "2")
    assert.equal(2, run.status)
    assert.matches("--tp needs --fit", run.err, 1, true)
    assert.equal(2, fit("--until", "2").status)
  end)
end)
