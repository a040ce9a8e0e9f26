local files = require "spec.support.files"
local program = require "spec.support.program"

local measured = "tests/data/measured/llama-3.1-8b.csv"
local engine = { "--model", "llama-3.1-8b-instruct", "--hardware", "RTX PRO 6000",
  "--max-num-running-reqs", "128", "--max-num-batched-tokens", "2048" }

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

  it("names a model of a config.json as a run does, and says what the fit knows", function()
    local config = [[{ "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
      "vocab_size": 128256, "torch_dtype": "bfloat16" }]]
    files.with(config, function(path)
      local own, yaml = path .. ".json", path .. ".yaml"
      assert(os.rename(path, own))
      local run = program.run("calibrate", "--fit", measured, "--model", own, "--hardware",
        "RTX PRO 6000", "--max-num-batched-tokens", "2048", "--coefficients", yaml,
        "--fit-trials", "20")
      assert.equal("", run.err)
      local text = files.read(yaml)
      assert.matches(('model: "%s"'):format(path:match "[^/]+$"), text, 1, true)
      assert.matches("    tp: 1\n", text, 1, true)
      assert.matches("tokens_max: 2048", text, 1, true)
      local shown = program.run("models", own, "--hardware", "RTX PRO 6000", "--catalogue", yaml)
      assert.matches("fitted on 150 requests of llama-3.1-8b", shown.out, 1, true)
      os.remove(own)
      os.remove(yaml)
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
    assert.matches("--coefficients needs --fit", program.run("calibrate", "--coefficients",
      "x.yaml").err, 1, true)
    assert.matches("--slo-ttft has no effect with --fit", fit("--slo-ttft", "a=1s").err, 1, true)
    assert.equal(2, fit("--until", "2").status)
  end)
end)
