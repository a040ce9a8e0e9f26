local blis = require "blis"
local files = require "spec.support.files"

local cluster = { model = "meta-llama/llama-3.1-8b-instruct", hardware = "H100", max_num_seqs = 64,
  max_num_batched_tokens = 2048 }

--- A table of requests whose times come from a run with other coefficients than the shipped ones.
local function measured(changes, count)
  local core, engine = require "blis.core", require "blis.engine"
  local with = { latency_model = "calibrated" }
  for name, value in pairs(cluster) do with[name] = value end
  local set = core.coefficients(engine.read(with, "cluster"))
  for index, value in pairs(changes) do set.beta[index] = value end
  with.alpha_coeffs, with.beta_coeffs = set.alpha, set.beta
  local result = blis.run {
    cluster = with, workload = { rate = 6, requests = count, prompt = { "gaussian", mean = 700,
      std_dev = 400, min = 20, max = 3000 }, output = { "gaussian", mean = 120, std_dev = 60,
      min = 2, max = 400 } }, routing = "round-robin",
  }
  local lines = { "prompt_tokens,output_tokens,arrival_us,ttft_us,e2e_us" }
  for i, one in ipairs(result.requests) do
    lines[i + 1] = ("%d,%d,%d,%d,%d"):format(one.prompt_tokens, one.output_tokens, one.arrival_us,
      one.ttft_us, one.e2e_us)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function calibrate(text, options)
  local fitted
  files.with(text, function(path)
    local spec = { observed = path, cluster = cluster }
    for name, value in pairs(options or {}) do spec[name] = value end
    fitted = blis.calibrate(spec)
  end)
  return fitted
end

describe("blis.calibrate", function()
  it("finds the way back to step times that differ from the prior", function()
    -- Slow launches and memory: steps that are a third longer.
    local fitted = calibrate(measured({ [7] = 90, [12] = 900, [1] = 0.8 }, 120))
    assert.is_true(fitted.before.held_out.e2e.mape > 0.2)
    assert.is_true(fitted.after.held_out.e2e.mape < 0.01)
    -- Where in a step a request arrives changes with every microsecond, so single TTFTs do.
    assert.is_true(math.abs(fitted.after.held_out.ttft.bias) < 0.05)
    assert.is_true(fitted.after.held_out.tpot.mape < 0.01)
    assert.equal(60, fitted.after.train.e2e.count)
    assert.equal(60, fitted.after.held_out.e2e.count)
  end)

  it("leaves coefficients where they are when nothing is to be mended", function()
    local fitted = calibrate(measured({}, 60))
    assert.is_true(fitted.before.held_out.e2e.mape < 1e-9)
    for i, value in ipairs(fitted.prior.beta) do
      assert.is_near(value, fitted.fitted.beta[i], 0.02 * value)
    end
  end)

  it("writes coefficients that a run takes from a catalogue, and says how good they are", function()
    local fitted = calibrate(measured({ [12] = 2500 }, 80))
    files.with(nil, function(path)
      local yaml, picture = path .. ".yaml", path .. ".svg"
      fitted:save(yaml)
      fitted:plot(picture)
      local text = files.read(yaml)
      assert.matches("# Error on what they were not fitted to: E2E ", text, 1, true)
      assert.matches("fitted_on: \"40 requests of ", text, 1, true)
      local options = { latency_model = "calibrated", catalogue = yaml, instances = 1 }
      for name, value in pairs(cluster) do options[name] = value end
      local set = require("blis.core").coefficients(require("blis.engine").read(options, "cluster"))
      for i, value in ipairs(fitted.fitted.beta) do
        assert.is_near(value, set.beta[i], math.abs(value) * 1e-5)
      end
      local svg = files.read(picture)
      assert.matches("^<svg ", svg)
      assert.equal(3 * (80 + 2), select(2, svg:gsub("<circle ", ""))) -- and in the legend
      os.remove(yaml)
      os.remove(picture)
    end)
  end)

  it("is the same twice, and tells how far it is", function()
    local text, most, told = measured({ [7] = 70 }, 60), nil, 0
    local first = calibrate(text, { tell = function(round, trials, of)
      told, most = told + 1, of
      assert.is_true(round <= 2 and trials >= 1)
    end })
    assert.equal(400, most)
    assert.equal(first.trials, told)
    assert.same(first.fitted, calibrate(text).fitted)
  end)

  it("goes on until a gap is closed, or says that it is not", function()
    local text = measured({ [2] = 0.5, [3] = 0.5, [12] = 900 }, 80)
    local near = calibrate(text, { until_gap = 0.03 })
    assert.is_true(near.is_within)
    assert.is_true(near.gap <= 0.03)
    assert.matches("within the requested 3.0 %", tostring(near), 1, true)
    local never = calibrate(measured({ [12] = 3000 }, 60), { until_gap = 0, trials = 20 })
    assert.is_false(never.is_within)
    assert.matches("more than the requested 0.0 %", tostring(never), 1, true)
    local already = calibrate(measured({}, 60), { until_gap = 0.05 })
    assert.equal(0, already.trials)
  end)

  it("fits rows of means without a simulation", function()
    local lines = { "rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms" }
    for _, row in ipairs { { 2, 30, 1400 }, { 4, 33, 1510 }, { 6, 36, 1640 }, { 8, 40, 1800 },
      { 10, 44, 1990 }, { 12, 50, 2230 } } do
      lines[#lines + 1] = ("%d,500,150,%d,%d"):format(row[1], row[2], row[3])
    end
    local fitted = calibrate(table.concat(lines, "\n") .. "\n")
    assert.is_false(fitted.is_by_request)
    assert.equal(3, fitted.after.train.e2e.count)
    assert.equal(3, fitted.after.held_out.e2e.count)
    assert.is_true(fitted.after.held_out.e2e.mape < 0.05)
    assert.is_true(fitted.after.held_out.e2e.mape < fitted.before.held_out.e2e.mape)
  end)

  it("refuses what cannot be fitted, and says why", function()
    local function refusal(text, options)
      local ok, problem = pcall(calibrate, text, options)
      assert.is_false(ok)
      return problem.message
    end
    assert.matches("found 30 requests, expected at least", refusal(measured({}, 30)), 1, true)
    local lines = { "prompt_tokens,output_tokens,ttft_ms,e2e_ms" }
    for i = 1, 50 do lines[i + 1] = "100,50,20,600" end
    assert.matches("have no arrival times", refusal(table.concat(lines, "\n") .. "\n"), 1, true)
    assert.matches("found one row of means",
      refusal "rate_rps,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n5,100,50,20,600\n", 1, true)
    assert.matches("only 'calibrated' can be fitted",
      refusal(measured({}, 40), { cluster = { latency_model = "roofline" } }), 1, true)
    assert.matches("unknown option 'untl_gap'",
      refusal(measured({}, 40), { untl_gap = 1 }), 1, true)
  end)
end)
