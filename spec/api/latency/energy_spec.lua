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

local function one_request(output_tokens)
  local is_given
  return function()
    if is_given then return nil end
    is_given = true
    return { arrival_us = 400000000, prompt_tokens = 64, output_tokens = output_tokens or 101 }
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

--- Two requests in steps with 100 prompt tokens; 99 and a decode, twice; 2 and a decode.
local function mixed(more)
  local given = 0
  local requests = { { arrival_us = 0, prompt_tokens = 100, output_tokens = 4 },
    { arrival_us = 0, prompt_tokens = 200, output_tokens = 1 } }
  local cluster = { max_num_batched_tokens = 100, async_scheduling = false, gpu_idle_watts = 0,
    latency_model = blis.latency_model { name = "sums", from_sums = true,
      step_time = function(batch)
        return 1000 * batch.prefill_tokens + 25000 * batch.decode_requests
      end } }
  for key, value in pairs(more) do cluster[key] = value end
  return blis.run { cluster = cluster, workload = { generator = function()
    given = given + 1
    return requests[given]
  end } }
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

  -- 49,999 decodes in 500 s, of which the first takes 20 ms and the others 10.
  it("by token is 2.95 J where the same makes 50,000 tokens", function()
    local is_first = true
    local r = run({ gpu_prefill_watts = 285, gpu_decode_watts = 190, gpu_idle_watts = 60,
      max_model_len = 0, async_scheduling = false, latency_model = function(batch)
        if batch.decode_requests == 0 then return 100000000 end
        local took_us = is_first and 20000 or 10000
        is_first = false
        return took_us
      end }, { workload = { generator = one_request(50000) } })
    assert.equal(1000000000, r.duration_us)
    near(147500 / 50000, r.energy.joules_per_output_token)
    says(tostring(r), "2.950 J per output token")
    near(40.97, math.floor(r.energy.kwh * 1e5 + 0.5) / 100)
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

  it("of steps that do both is the larger figure, or between the two", function()
    -- The first decodes 3 of its tokens while 200 prompt tokens of the second are computed.
    local max = mixed { gpu_prefill_watts = 600, gpu_decode_watts = 200 }
    near(600 * (0.1 + 0.124 + 0.124 + 0.027), max.energy.prefill_kwh * 3.6e6)
    local linear = mixed { gpu_prefill_watts = 600, gpu_decode_watts = 200,
      mixed_step_power = "linear" }
    local function between(prefill_s) return 600 * prefill_s + 200 * 0.025 end
    assert.is_near(600 * 0.1 + 2 * between(0.099) + between(0.002),
      linear.energy.prefill_kwh * 3.6e6, 1e-3)
    near(linear.energy.prefill_kwh, linear.energy.kwh)
  end)

  it("may be what a function says of each step", function()
    local seen = {}
    local r = mixed { gpu_step_watts = function(step)
      seen[#seen + 1] = { step.prefill_tokens, step.decode_tokens, step.kv_tokens,
        step.duration_us }
      return 100 + step.prefill_tokens
    end }
    assert.same({ { 100, 0, 0, 100000 }, { 99, 1, 100, 124000 }, { 99, 1, 200, 124000 },
      { 2, 1, 300, 27000 } }, seen)
    near(200 * 0.1 + 199 * 0.248 + 102 * 0.027, r.energy.kwh * 3.6e6)
    local capped = mixed { gpu_power_cap_watts = 150, power_cap_slowdown = { { 1, 1, 1 } },
      gpu_step_watts = function(step) return 100 + step.prefill_tokens end }
    near(150 * 0.348 + 102 * 0.027, capped.energy.kwh * 3.6e6)
    says(small.message_of(mixed, { gpu_step_watts = function() return "much" end }),
      "gpu_step_watts: it returned the string 'much', expected W of a GPU from 0 to 1000000")
    says(small.message_of(mixed, { gpu_step_watts = function(step) return step.watts.none end }),
      "gpu_step_watts: ")
    says(small.message_of(mixed, { gpu_step_watts = 5 }), "cluster.gpu_step_watts: invalid value "
      .. "5: expected a function(step) that returns W")
    says(small.message_of(mixed, { gpu_step_watts = print, gpu_decode_watts = 5 }),
      "gpu_step_watts cannot be combined with gpu_decode_watts")
    says(small.message_of(run, { gpu_step_watts = print }), "set gpu_idle_watts as well")
  end)

  it("is that of the requests, by the tokens that were computed for each", function()
    local r = mixed { gpu_prefill_watts = 600, gpu_decode_watts = 200 }
    local per_token = { 600 * 0.124 / 100, 600 * 0.027 / 3 }
    near(600 * 0.1 + 2 * per_token[1] + per_token[2], r.requests[1].energy_j)
    near(2 * 99 * per_token[1] + 2 * per_token[2], r.requests[2].energy_j)
    near(r.energy.kwh * 3.6e6 / 2, r.energy.joules_per_request)
    assert.is_nil(run {}.requests[1].energy_j)
  end)

  it("of requests adds up to that of all steps, whatever becomes of them", function()
    local function with(more)
      local spec = { cluster = { gpu_prefill_watts = 612.5, gpu_decode_watts = 233.7,
        gpu_idle_watts = 71, mixed_step_power = "linear", kv_blocks = 300,
        carbon_g_per_kwh = { { 0, 400 }, { 4000000, 100 } } },
        workload = { rate = 30, requests = 300, prompt_tokens = 400, output_tokens = 80 },
        routing = "least-loaded", seed = 7 }
      for key, value in pairs(more.cluster or {}) do spec.cluster[key] = value end
      for _, key in ipairs { "faults", "horizon_us" } do spec[key] = more[key] end
      local results = {}
      for _, engine in ipairs { "stepwise", "fast" } do
        spec.cluster.engine = engine
        local r = blis.run(spec)
        local sum, carbon_g = 0, 0
        for i = 1, #r.requests do
          sum = sum + r.requests[i].energy_j
          carbon_g = carbon_g + r.requests[i].carbon_g
        end
        near(r.energy.prefill_kwh + r.energy.decode_kwh, sum / 3.6e6)
        assert.near(r.energy.steps_carbon_g, carbon_g, 1e-8) -- in whole pg for each token
        results[engine] = r
      end
      for i = 1, #results.fast.requests do
        assert.equal(results.stepwise.requests[i].energy_j, results.fast.requests[i].energy_j)
        assert.equal(results.stepwise.requests[i].carbon_g, results.fast.requests[i].carbon_g)
      end
      assert.same(results.stepwise.energy, results.fast.energy)
    end
    with { cluster = { instances = 3 } }
    with { cluster = { instances = 3 }, horizon_us = 4000000 }
    with { cluster = { instances = 3 }, faults = {
      { kind = "crash", at = 3000000, instance = 1, recover_after = 2000000,
        requests = "rerouted" },
      { kind = "crash", at = 5000000, instance = 2, recover_after = 2000000,
        requests = "retried" } } }
    with { cluster = { groups = { { role = "prefill", instances = 2, tp = 2 },
      { role = "decode", instances = 2 } } } }
    with { cluster = { instances = 3, pue = 1.4, carbon_g_per_kwh = 350 } }
  end)

  it("emits for each request what the grid does while its tokens are computed", function()
    local function emitted(given, more)
      local spec = { cluster = { gpu_watts = 300, gpu_idle_watts = 60, pue = 1.25,
          carbon_g_per_kwh = given }, workload = { generator = coroutine.wrap(function()
        for i = 0, 2 do
          coroutine.yield { arrival_us = i * 100000000, prompt_tokens = 64, output_tokens = 50 }
        end
      end) } }
      for key, value in pairs(more or {}) do spec.cluster[key] = value end
      return blis.run(spec)
    end
    local function g_of(r, i) return r.requests[i].energy_j / 3.6e6 * 1.25 end
    local r = emitted { { 0, 400 }, { 50000000, 0 }, { 150000000, 90 } }
    near(400 * g_of(r, 1), r.requests[1].carbon_g)
    assert.equal(0, r.requests[2].carbon_g)
    near(90 * g_of(r, 3), r.requests[3].carbon_g)
    near(r.requests[1].carbon_g + r.requests[3].carbon_g, r.energy.steps_carbon_g)
    assert.is_true(r.energy.carbon_g > 2 * r.energy.steps_carbon_g) -- most of it while idle
    local constant = emitted(400)
    for i = 1, 3 do near(400 * g_of(constant, i), constant.requests[i].carbon_g) end
    local without = emitted(nil)
    assert.is_nil(without.requests[1].carbon_g)
    assert.is_nil(without.energy.steps_carbon_g)
    local path = os.tmpname()
    r:save(path)
    local again = blis.load_result(path)
    for i = 1, 3 do assert.equal(r.requests[i].carbon_g, again.requests[i].carbon_g) end
    os.remove(path)
    r:export_requests(path .. ".csv")
    local file <close> = assert(io.open(path .. ".csv"))
    assert.truthy(file:read("l"):find(",energy_j,carbon_g", 1, true))
    os.remove(path .. ".csv")
  end)

  it("emits what the grid does at the time", function()
    local watts = { gpu_prefill_watts = 285, gpu_decode_watts = 190, gpu_idle_watts = 60,
      pue = 1.3 }
    local function emitted(given)
      watts.carbon_g_per_kwh = given
      return run(watts).energy.carbon_g
    end
    local constant = emitted(400)
    near(constant, emitted { { 0, 400 } })
    near(constant, emitted { { 0, 400 }, { 450000000, 400 }, { 10000000000, 90 } })
    -- 300 s idle at 400, 100 s at 100; 50 s of prefill at 100, 50 s at 200; decoding at 200, and
    -- from 700 s on at 0.
    local g = 60 * (300 * 400 + 100 * 100) + 285 * (50 * 100 + 50 * 200) + 190 * 200 * 200
    local steps = { { 0, 400 }, { 300000000, 100 }, { 450000000, 200 }, { 700000000, 0 } }
    near(1.3 * g / 3.6e6, emitted(steps))
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write("time_s,g_per_kwh\n0,400\n300,100\n450,200\n700,0\n"):flush()
    near(1.3 * g / 3.6e6, emitted(path))
    near(constant, emitted "400")
    local function refused(given, text) says(small.message_of(emitted, given), text) end
    refused({}, "cluster.carbon_g_per_kwh: expected at least one step")
    refused({ { 5, 400 } }, "cluster.carbon_g_per_kwh[1]: 5 us is not 0")
    refused({ { 0, 400 }, { 0, 1 } }, "cluster.carbon_g_per_kwh[2]: 0 us is not after 0 us")
    refused({ { 0, -5 } }, "cluster.carbon_g_per_kwh[1][2]: invalid value -5: expected a number "
      .. "of g per kWh from 0 to 1000000")
    refused({ { 0, 5 }, { 0.5, 5 } }, "cluster.carbon_g_per_kwh[2][1]: invalid value 0.5: "
      .. "expected a whole number of microseconds")
    refused({ { 0, 5, 1 } }, "cluster.carbon_g_per_kwh[1]: invalid value of type table")
    file:write("600,1\n"):flush()
    refused(path, path .. ":6: time_s: 600000000 us is not after 700000000 us")
    file:write("900,much\n"):flush()
    refused(path, path .. ":7: g_per_kwh: invalid value 'much'")
    os.remove(path)
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
    refused({ gpu_power_cap_watts = 200 }, "cluster.gpu_power_cap_watts is 200, but the power of a "
      .. "GPU without it is unknown; set gpu_watts or power_cap_slowdown")
    refused({ gpu_power_cap_watts = 200, gpu_watts = 300 }, "is 200, below the 300 W of some "
      .. "steps, but their slowdown is unknown; set power_cap_exponent or power_cap_slowdown")
    refused({ gpu_watts = 300, power_cap_exponent = 0.5 },
      "cluster.power_cap_exponent: has no effect without gpu_power_cap_watts")
    local function with_rows(...)
      return { gpu_watts = 300, gpu_power_cap_watts = 100, power_cap_slowdown = { ... } }
    end
    refused(with_rows({ 200, 2, 1 }), "the effect of a cap of 100 W is unknown; the lowest row has "
      .. "200 W")
    refused(with_rows({ 50, 2, 1 }, { 50, 1, 1 }), "cluster.power_cap_slowdown[2]: 50 W is not "
      .. "above 50 W")
    refused(with_rows({ 50, 2, 1 }, { 200, 0.5, 1 }), "cluster.power_cap_slowdown[2][2]: invalid "
      .. "value 0.5: expected a factor from 1 to 1000000: the slowdown of steps")
    refused(with_rows({ 50, 1, 0.999 }), "cluster.power_cap_slowdown[1][3]: invalid value 0.999")
    refused(with_rows({ 50, 1, "1" }), "cluster.power_cap_slowdown[1][3]: invalid value '1'")
    refused(with_rows({ 50, 1, 2e6 }), "cluster.power_cap_slowdown[1][3]: ")
    refused(with_rows({ 0, 1, 1 }), "cluster.power_cap_slowdown[1][1]: invalid value 0: expected "
      .. "W above 0")
    refused(with_rows({ 50, 1 }), "cluster.power_cap_slowdown[1]: invalid value of type table: "
      .. "expected { watts, prefill_factor, decode_factor }")
    assert.equal(run { gpu_watts = 300 }.hash, run(with_rows { 50, 1, 1 }).hash)
    refused(with_rows(), "expected at least one row")
    refused({ gpu_watts = 300, gpu_power_cap_watts = 100, power_cap_exponent = 1,
      power_cap_slowdown = { { 50, 1, 1 } } }, "power_cap_exponent cannot be combined with "
        .. "power_cap_slowdown")
  end)

  it("is never made up of a part of what has to be known", function()
    local function refused(cluster, text)
      says(small.message_of(run, cluster), text)
    end
    refused({ gpu_prefill_watts = 300 }, "cluster.gpu_prefill_watts is 300, but the power of a GPU "
      .. "in steps without prompt tokens is unknown; set gpu_decode_watts as well")
    refused({ gpu_decode_watts = 200, gpu_idle_watts = 60 }, "in steps with prompt tokens is "
      .. "unknown; set gpu_prefill_watts as well")
    refused({ gpu_decode_watts = 200, gpu_watts = 300 }, "without requests is unknown; set "
      .. "gpu_idle_watts as well")
    refused({ pue = 0.9 }, "cluster.pue: invalid value 0.9")
  end)
end)
