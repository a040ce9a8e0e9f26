-- What step times were fitted to: runs tell how much of them was beyond it, or refuse to be.
local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

-- H100 coefficients that were fitted to little.
local catalogue = [[
coefficients:
  - kind: calibrated
    hardware: H100
    alpha: [0, 0, 0, 4000, 1.4]
    beta: [0.9, 0.8, 0.9, 0.7, 0.7, 0.6, 45, 6, 40, 5, 8, 300, 70, 270]
    coverage:
      fitted_on: one afternoon
      parameters_min: 1.0e+9
      parameters_max: 2.0e+10
      tp_max: 1
      tokens_max: 64
]]

local path = os.tmpname()

--- A run with these coefficients; changes go into the cluster.
local function experiment(changes)
  local cluster = { model = "qwen3-14b", hardware = "H100", latency_model = "calibrated",
    catalogue = { path } }
  for key, value in pairs(changes or {}) do cluster[key] = value end
  return small.experiment { cluster = cluster }
end

describe("the coverage of step times", function()
  setup(function()
    local file <close> = assert(io.open(path, "w"))
    file:write(catalogue)
  end)

  teardown(function() os.remove(path) end)

  it("is told by results, equal in both engines", function()
    local fast, stepwise = blis.run(experiment()), blis.run(experiment { engine = "stepwise" })
    assert.equal(fast.hash, stepwise.hash)
    assert.same(fast.coverage, stepwise.coverage)
    -- Each request is a prefill of more than 64 tokens, alone or with a few others.
    assert.is_true(fast.coverage.steps_beyond > 10 and fast.coverage.steps_beyond <= 60)
    assert.is_true(fast.coverage.share_beyond > 0 and fast.coverage.share_beyond < 0.5)
    says(tostring(fast), ("coverage    %.1f %% of the steps outside the calibrated range")
      :format(100 * fast.coverage.share_beyond))
    says(tostring(fast), "up to 64 tokens a step")
    assert.same({ fitted_on = "one afternoon", extrapolated = false,
      limits = "models of 1B to 20B parameters, TP up to 1, up to 64 tokens a step" },
      fast.setup.coverage)
  end)

  it("is nothing worth a line when no step is beyond it", function()
    local r = blis.run(experiment { max_num_batched_tokens = 64 })
    assert.same({ steps_beyond = 0, share_beyond = 0.0 }, r.coverage)
    assert.is_nil(tostring(r):find("coverage", 1, true))
  end)

  it("is counted over groups of instances", function()
    local function group(changes)
      local one = experiment().cluster
      one.catalogue = nil
      for key, value in pairs(changes) do one[key] = value end
      return one
    end
    local groups = { group {}, group { latency_model = "roofline" } }
    local r = blis.run(small.experiment { cluster = { catalogue = { path }, groups = groups } })
    assert.is_true(r.coverage.steps_beyond > 0)
    assert.equal(r.coverage.share_beyond, r.coverage.steps_beyond / r.steps)
    assert.equal("one afternoon", r.setup.groups[1].coverage.fitted_on)
    assert.is_nil(r.setup.groups[2].coverage)
  end)

  it("is not known of other models", function()
    local plain = small.experiment { cluster = { latency_model = "trained-physics" } }
    says(small.message_of(function() return blis.run(plain).coverage end),
      'result.coverage requires latency_model = "calibrated"')
    local own = blis.run(experiment { alpha_coeffs = { 0, 0, 0 },
      beta_coeffs = { 0.9, 0.8, 0.9, 0.7, 0.7, 0.6, 45, 6, 40, 5, 8, 300, 70, 270 } })
    assert.is_nil(rawget(own, "coverage"))
  end)

  it("is kept with strict_coverage", function()
    local function refusal(changes)
      changes.strict_coverage = true
      return small.message_of(blis.run, experiment(changes))
    end
    assert.matches("cluster.strict_coverage: %d+ of %d+ steps %(%d+ %%%) "
      .. "are outside the fitted range of the step times", refusal {})
    says(refusal { tp = 2 }, "cluster.strict_coverage: step times on H100 were not fitted for "
      .. "this: TP 2 (fitted up to 1)")
    says(refusal { model = "llama-3.1-70b-instruct", tp = 4 },
      "70.6B parameters (fitted up to 20B)")
    says(refusal { hardware = "B200", tp = 1 }, "cluster.strict_coverage: step times on B200 are "
      .. "extrapolated: data sheet")
    local own = { name = "own", peak_tflops = 300, bandwidth_tb_s = 1, memory_gib = 80 }
    says(refusal { hardware = own, tp = 1 }, "step times on own are extrapolated: its rates, "
      .. "shares between those of the GPUs that were measured")
    says(refusal { latency_model = "roofline" }, "cluster.strict_coverage: the fitted range of "
      .. "the coefficients of roofline is unknown")
    local r = blis.run(experiment { strict_coverage = true, max_num_batched_tokens = 64 })
    assert.equal(0, r.coverage.steps_beyond)
  end)
end)
