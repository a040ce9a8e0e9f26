--- What a run draws, by what its GPUs do, against figures worked out by hand.
local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

-- A step with prompt tokens takes 100 s, any other 5 s.
local function model()
  return blis.latency_model { name = "slow", step_time = function(batch)
    for _, item in ipairs(batch) do
      if item.progress_tokens < item.prompt_tokens then return 100000000 end
    end
    return 5000000
  end }
end

local function one_request()
  local is_given
  return function()
    if is_given then return nil end
    is_given = true
    return { arrival_us = 400000000, prompt_tokens = 64, output_tokens = 101 }
  end
end

--- One request: 400 s in which nothing happens, 100 s of prefill, 100 steps of decoding.
local function run(cluster, more)
  local spec = { cluster = { latency_model = model() },
    workload = { generator = one_request() } }
  for key, value in pairs(cluster) do spec.cluster[key] = value end
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local function near(expected, got) assert.is_near(expected, got, 1e-9 * math.abs(expected)) end

describe("the energy of a run", function()
  it("is what each state draws, times how long it lasted", function()
    local r = run { gpu_prefill_watts = 285, gpu_decode_watts = 190, gpu_idle_watts = 60,
      pue = 1.3, carbon_g_per_kwh = 400 }
    assert.equal(1000000000, r.duration_us)
    near(147500 / 3.6e6, r.energy.kwh)
    near(28500 / 3.6e6, r.energy.prefill_kwh)
    near(95000 / 3.6e6, r.energy.decode_kwh)
    near(24000 / 3.6e6, r.energy.idle_kwh)
    near(147.5, r.energy.mean_gpu_watts)
    near(1.3 * 147500 / 3.6e6, r.energy.facility_kwh)
    near(400 * 1.3 * 147500 / 3.6e6, r.energy.carbon_g)
    near(r.energy.carbon_g, r.energy.carbon_g_per_request)
    near(147500 / 101, r.energy.joules_per_output_token)
    assert.equal(1, r.energy.coverage)
    says(tostring(r), "0.041 kWh, 1,460.396 J per output token, 21.3 g of CO2")
  end)

  it("is the mean draw of all the time where no more is said", function()
    local r = run { gpu_watts = 700 }
    near(700 * 1000 / 3.6e6, r.energy.kwh)
    near(700, r.energy.mean_gpu_watts)
    near(r.energy.kwh, r.energy.facility_kwh)
    assert.is_nil(r.energy.carbon_g)
  end)

  it("takes the draw under load for both kinds of steps", function()
    near((600 * 700 + 400 * 100) / 3.6e6, run { gpu_watts = 700, gpu_idle_watts = 100 }.energy.kwh)
  end)

  it("charges steps that do both with the larger draw", function()
    local function kwh(prefill, decode)
      return run { gpu_prefill_watts = prefill, gpu_decode_watts = decode, gpu_idle_watts = 0 }
        .energy.prefill_kwh
    end
    near(100 * 300 / 3.6e6, kwh(200, 300))
    near(100 * 300 / 3.6e6, kwh(300, 200))
  end)

  it("tells of which share of the GPUs the draw is known", function()
    local r = run({ groups = { { instances = 1, gpu_watts = 300,
      gpu_idle_watts = 60 }, { instances = 3 } } }, { routing = "round-robin" })
    assert.equal(0.25, r.energy.coverage)
    near((600 * 300 + 400 * 60) / 3.6e6, r.energy.kwh)
    assert.same({}, run {}.energy)
  end)

  it("counts the GPUs of an instance, and the same in both engines", function()
    local traffic = { workload = { rate = 20, requests = 200, prompt_tokens = 300,
      output_tokens = 50 } }
    local function busy(engine)
      local r = blis.run { workload = traffic.workload, cluster = { engine = engine,
        instances = 2, tp = 2, gpu_watts = 500, gpu_idle_watts = 50 } }
      local prefill, all = 0, 0
      for _, one in ipairs(r.instances) do
        prefill, all = prefill + one.prefill_us, all + one.busy_us
      end
      assert.is_true(0 < prefill and prefill < all)
      near(2 * (all * 500 + (2 * r.duration_us - all) * 50) / 3.6e12, r.energy.kwh)
      return prefill
    end
    assert.equal(busy "stepwise", busy "fast")
  end)

  it("is cut by a cap, which makes steps longer whose draw is above it", function()
    local watts = { gpu_prefill_watts = 600, gpu_decode_watts = 300, gpu_idle_watts = 60 }
    local function capped(more)
      local cluster = {}
      for key, value in pairs(watts) do cluster[key] = value end
      for key, value in pairs(more) do cluster[key] = value end
      local r = run(cluster)
      return r.requests[1].ttft_us / 1e6, (r.duration_us - 400000000) / 1e6, r.energy
    end
    local ttft_s, all_s = capped {}
    assert.same({ 100.0, 600.0 }, { ttft_s, all_s })
    local energy
    ttft_s, all_s, energy = capped { gpu_power_cap_watts = 400, power_cap_exponent = 0.5 }
    assert.is_near(100 * 1.5 ^ 0.5, ttft_s, 1e-6)
    assert.is_near(500 + 100 * 1.5 ^ 0.5, all_s, 1e-6)
    near(400 * ttft_s / 3.6e6, energy.prefill_kwh)
    near(300 * 500 / 3.6e6, energy.decode_kwh)
    ttft_s, all_s, energy = capped { gpu_power_cap_watts = 150, power_cap_exponent = 1 }
    assert.same({ 400.0, 1400.0 }, { ttft_s, all_s })
    near((150 * 1400 + 60 * 400) / 3.6e6, energy.kwh)
    local rows = { { 200, 3, 1.5 }, { 300, 2, 1 }, { 600, 1, 1 } }
    ttft_s, all_s = capped { gpu_power_cap_watts = 250, power_cap_slowdown = rows }
    assert.same({ 250.0, 250.0 + 500 * 1.25 }, { ttft_s, all_s })
    ttft_s, all_s = capped { gpu_power_cap_watts = 700, power_cap_slowdown = rows }
    assert.same({ 100.0, 600.0 }, { ttft_s, all_s })
  end)

  it("has caps by group, the same in both engines", function()
    local function capped(engine)
      return blis.run { cluster = { engine = engine, gpu_watts = 500, gpu_idle_watts = 50,
        power_cap_exponent = 0.5, groups = { { role = "prefill" },
          { role = "decode", gpu_power_cap_watts = 250 } } },
        workload = { rate = 5, requests = 100, prompt_tokens = 500, output_tokens = 40 } }
    end
    local fast, stepwise = capped "fast", capped "stepwise"
    assert.equal(stepwise.hash, fast.hash)
    assert.equal(stepwise.energy.kwh, fast.energy.kwh)
    local free = blis.run { cluster = { gpu_watts = 500, gpu_idle_watts = 50, groups = {
      { role = "prefill" }, { role = "decode" } } },
      workload = { rate = 5, requests = 100, prompt_tokens = 500, output_tokens = 40 } }
    assert.is_true(fast.itl_ms.mean > 1.3 * free.itl_ms.mean)
    assert.is_true(fast.energy.decode_kwh < free.energy.decode_kwh)
  end)

  it("does not know what a cap does unless it is told", function()
    local function refused(cluster, text)
      says(small.message_of(run, cluster), text)
    end
    refused({ gpu_power_cap_watts = 200 }, "cluster.gpu_power_cap_watts is 200, but what a GPU "
      .. "draws without it is not known; give gpu_watts, or power_cap_slowdown")
    refused({ gpu_power_cap_watts = 200, gpu_watts = 300 }, "is 200, below the 300 W of some "
      .. "steps, but how much slower they get is not known; give power_cap_exponent or "
      .. "power_cap_slowdown")
    refused({ gpu_watts = 300, power_cap_exponent = 0.5 },
      "cluster.power_cap_exponent: has no effect without gpu_power_cap_watts")
    local function with_rows(...)
      return { gpu_watts = 300, gpu_power_cap_watts = 100, power_cap_slowdown = { ... } }
    end
    refused(with_rows({ 200, 2, 1 }), "what a cap of 100 W does is not known, the lowest row has "
      .. "200 W")
    refused(with_rows({ 50, 2, 1 }, { 50, 1, 1 }), "cluster.power_cap_slowdown[2]: 50 W is not "
      .. "above 50 W")
    refused(with_rows({ 50, 0, 1 }), "cluster.power_cap_slowdown[1]: ")
    refused(with_rows(), "expected at least one row")
    refused({ gpu_watts = 300, gpu_power_cap_watts = 100, power_cap_exponent = 1,
      power_cap_slowdown = { { 50, 1, 1 } } }, "both say what a cap does")
  end)

  it("is never made up of a part of what has to be known", function()
    local function refused(cluster, text)
      says(small.message_of(run, cluster), text)
    end
    refused({ gpu_prefill_watts = 300 }, "cluster.gpu_prefill_watts is 300, but what a GPU draws "
      .. "in steps without prompt tokens is not known; give gpu_decode_watts as well")
    refused({ gpu_decode_watts = 200, gpu_idle_watts = 60 }, "in steps with prompt tokens is not "
      .. "known; give gpu_prefill_watts as well")
    refused({ gpu_decode_watts = 200, gpu_watts = 300 }, "without requests is not known; give "
      .. "gpu_idle_watts as well")
    refused({ pue = 0.9 }, "cluster.pue: 0.9 is not allowed")
  end)
end)
