local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

-- Each request: tokens computed before, new tokens, prompt tokens, output tokens.
local decodes = { { 512, 1, 512, 128 }, { 600, 1, 512, 128 }, { 1024, 1, 1000, 256 },
  { 1100, 1, 1000, 256 }, { 2048, 1, 2000, 300 }, { 2200, 1, 2000, 300 }, { 4096, 1, 4000, 400 },
  { 333, 1, 300, 64 } }
local prefills = { { 0, 1000, 1000, 100 }, { 512, 1048, 3000, 200 } }
local mixed = { { 0, 700, 700, 100 }, { 1024, 512, 2048, 100 }, { 512, 1, 512, 128 },
  { 600, 1, 512, 128 }, { 1500, 1, 1000, 1000 }, { 3000, 1, 2000, 2000 } }

local llama = "meta-llama/llama-3.1-8b-instruct"

local function model(name, options) return blis.latency_model(name, options) end

describe("a built-in latency model", function()
  -- Worked out by hand from the formulas; coefficients are the defaults.
  local worked = {
    { "trained-physics", llama, "H100", 1, { 7773, 11652, 10040 } },
    { "roofline", llama, "H100", 1, { 4633, 66086, 39262 } },
    { "trained-physics", llama, "L40S", 1, { 26722, 36330, 32381 } },
    { "roofline", llama, "A100-80", 1, { 7613, 248201, 147762 } },
    { "trained-physics", "qwen/qwen3-14b", "H100", 2, { 7387, 11656, 9883 } },
    { "roofline", "qwen/qwen3-14b", "H100", 2, { 4235, 62240, 36984 } },
    { "trained-physics", "meta-llama/llama-3.1-70b-instruct", "H100", 4,
      { 17224, 29730, 24551 } },
    { "roofline", "mistralai/mixtral-8x7b-v0.1", "H100", 2, { 12748, 58970, 35051 } },
  }
  -- The same from the formulas of src/latency/step/calibrated.h.
  local h100 = { 0.9, 0.8, 0.9, 0.7, 0.7, 0.6, 45, 6, 40, 5, 8, 300, 70, 270 }
  it("takes the coefficients of the calibrated model", function()
    local m = model("calibrated", { model = llama, hardware = "H100", tp = 1,
      alpha_coeffs = { 1, 2, 3 }, beta_coeffs = h100 })
    assert.same({ 7570, 40749, 26079 },
      { m:step_time(decodes), m:step_time(prefills), m:step_time(mixed) })
    assert.same({ 1, 3, 2 }, { m:queueing_time(9), m:output_token_time(), m:fixed_overhead() })
    says(small.message_of(model, "calibrated", { model = llama, hardware = "H100",
      alpha_coeffs = { 1, 2, 3 }, beta_coeffs = { 2, table.unpack(h100, 2) } }),
      "beta[0], share of the bandwidth for weights, must be above 0 and at most 1, got 2")
    local slow = model("calibrated", { model = llama, hardware = "L40S", tp = 1 })
    assert.is_true(slow:step_time(prefills) > 2 * m:step_time(prefills))
  end)

  for _, case in ipairs(worked) do
    local name, id, gpu, tp, times = table.unpack(case)
    it(("gives the worked step times: %s, %s, %s, TP %d"):format(name, id, gpu, tp), function()
      local m = model(name, { model = id, hardware = gpu, tp = tp })
      assert.same(times, { m:step_time(decodes), m:step_time(prefills), m:step_time(mixed) })
    end)
  end

  it("spreads experts over data parallel ranks", function()
    local options = { model = "mixtral-8x7b-v0.1", hardware = "H100", tp = 2, dp = 2 }
    local gather = model("trained-physics", options)
    assert.same({ 11133, 13120, 12306 },
      { gather:step_time(decodes), gather:step_time(prefills), gather:step_time(mixed) })
    options.moe_comm_backend = "pplx"
    local all_to_all = model("trained-physics", options)
    assert.same({ 11133, 13210, 12360 }, { all_to_all:step_time(decodes),
      all_to_all:step_time(prefills), all_to_all:step_time(mixed) })
  end)

  it("gives the other times", function()
    local m = model("trained-physics", { model = llama, hardware = "H100", tp = 1 })
    assert.same({ 15563, 45, 777 },
      { m:queueing_time(1000), m:output_token_time(), m:fixed_overhead() })
    local r = model("roofline", { model = llama, hardware = "H100", tp = 1 })
    assert.same({ 0, 0, 0 },
      { r:queueing_time(1000), r:output_token_time(), r:fixed_overhead() })
    local b = model("blackbox", { alpha_coeffs = { 100, 0.5, 7 }, beta_coeffs = { 1000, 2, 30 } })
    assert.equal(600, b:queueing_time(1000))
    assert.equal(1000 + 2 * 1000 + 30 * 1,
      b:step_time { { new = 1000, prompt = 1000 }, { progress = 12, new = 1, prompt = 10 } })
  end)

  it("takes requests by names and in order, and sums", function()
    local m = model("trained-physics", { model = llama, hardware = "H100", tp = 1 })
    assert.equal("trained-physics", m.name)
    assert.is_true(m.from_sums)
    assert.equal("latency model 'trained-physics' (meta-llama/llama-3.1-8b-instruct on H100, tp 1)",
      tostring(m))
    local named = {}
    for i, r in ipairs(mixed) do
      named[i] = { progress = r[1], new = r[2], prompt_tokens = r[3], output_tokens = r[4] }
    end
    assert.equal(10040, m:step_time(named))
    assert.equal(7773, m:step_time_from_sums { requests = 8, decode_requests = 8,
      decode_context_tokens = 11913 })
    assert.equal(11652, m:step_time_from_sums { requests = 2, prefill_tokens = 2048,
      prefill_attention = 10386304, prefill_pairs = 3169408, prefill_context_tokens = 512 })
    assert.equal(1, m:step_time {})
  end)

  it("says what is wrong with a batch", function()
    local m = model("roofline", { model = llama, hardware = "H100", tp = 1 })
    local function message(batch) return small.message_of(m.step_time, m, batch) end
    says(message { { progress = 0, new = 5 } }, "request 1 of the batch: prompt is nil")
    says(message { { 0, 5, 5 }, { 0, 0, 5 } }, "request 2 of the batch: new is 0, expected an "
      .. "integer from 1 to 1000000000")
    says(message { { 0, 1.5, 5 } }, "new is 1.5")
    says(message { { progres = 1, new = 1, prompt = 2 } }, "unknown field 'progres'")
    says(message { 7 }, "request 1 of the batch is a number")
    says(small.message_of(m.queueing_time, m, -1), "cannot be negative")
    says(small.message_of(function() return m.step end), "has no field 'step'")
  end)

  it("needs what it needs", function()
    says(small.message_of(model, "roofine"), "invalid value 'roofine': expected one of "
      .. "calibrated, composed, trained-physics, roofline, blackbox, piecewise")
    says(small.message_of(model, "roofline", { model = "llama-2-70b-x" }), "llama-2-70b-x")
    says(small.message_of(model, "roofline", { hardwar = "H100" }), "did you mean 'hardware'?")
    says(small.message_of(model, "roofline", { model = llama, hardware = "custom", tp = 1 }),
      "custom")
    says(small.message_of(model, "blackbox", { beta_coeffs = { 1, 2, 3 } }),
      "must be given together")
    says(small.message_of(model, "trained-physics",
      { alpha_coeffs = { 1, 2, 3 }, beta_coeffs = { 1, 2, 3 } }), "7")
    says(small.message_of(model, "roofline",
      { model = "mixtral-8x7b-v0.1", hardware = "H100", tp = 2, dp = 2 }),
      "use trained-physics")
    says(small.message_of(model, "trained-physics", { model = llama, hardware = "H100", dp = 2 }),
      "dense")
    says(small.message_of(model, "trained-physics",
      { model = llama, hardware = "H100", expert_parallel = true }), "mixture-of-experts")
    says(small.message_of(model, "trained-physics", { moe_comm_backend = "x" }), "expected one of")
  end)

  it("brings its options along into a cluster", function()
    local options = { model = llama, hardware = "H100", tp = 1 }
    local spec = small.experiment { cluster = { latency_model = model("roofline", options) } }
    local r = blis.run(spec)
    assert.equal(llama, r.setup.model)
    assert.equal(27947, r.setup.kv_blocks)
    options.latency_model = "roofline"
    assert.equal(blis.run(small.experiment { cluster = options }).hash, r.hash)
    spec.cluster.tp = 2
    says(small.message_of(blis.run, spec), "cluster.tp: invalid value 2: the latency model was "
      .. "created for 1")
  end)
end)

--- A run of mixed prefills and decodes; with the built-in models, preemptions as well.
local function hash_of(latency_model, engine)
  local r = blis.run {
    cluster = { model = llama, hardware = "H100", tp = 1, instances = 2, kv_blocks = 400,
      max_num_batched_tokens = 512, latency_model = latency_model, engine = engine },
    workload = { rate = 60, requests = 150, seed = 5,
      prompt = { "gaussian", mean = 300, std_dev = 200, min = 2, max = 900 },
      output = { "gaussian", mean = 150, std_dev = 100, min = 1, max = 500 } },
  }
  return r.hash, r.steps
end

describe("a latency model in Lua", function()
  it("is as good as a built-in one", function()
    for _, name in ipairs { "trained-physics", "roofline" } do
      local built_in = model(name, { model = llama, hardware = "H100", tp = 1 })
      local wrapped = blis.latency_model {
        name = "wrapped",
        step_time = function(batch) return built_in:step_time(batch) end,
        queueing_time = function(tokens) return built_in:queueing_time(tokens) end,
        output_token_time = built_in:output_token_time(),
        fixed_overhead = built_in:fixed_overhead(),
      }
      assert.equal(hash_of(name), hash_of(wrapped))
      assert.equal(hash_of(name, "stepwise"), hash_of(wrapped, "stepwise"))
    end
  end)

  it("may work from sums, at one call per step", function()
    local calls = 0
    local built_in = model("trained-physics", { model = llama, hardware = "H100", tp = 1 })
    local summed = blis.latency_model {
      name = "summed", from_sums = true,
      step_time = function(batch)
        calls = calls + 1
        return built_in:step_time(batch)
      end,
      queueing_time = 15563, output_token_time = 45, fixed_overhead = 777,
    }
    local hash, steps = hash_of(summed)
    assert.equal(hash_of "trained-physics", hash)
    assert.equal(steps, calls)
    assert.equal(hash, (hash_of(summed, "stepwise")))
  end)

  it("sees the requests of a batch", function()
    local seen
    local m = blis.latency_model {
      step_time = function(batch)
        seen = { #batch, batch.requests, batch.prefill_tokens, batch.decode_requests,
          batch.decode_context_tokens, batch[1].progress_tokens, batch[1].new_tokens,
          batch[1].prompt_tokens, batch[1].is_prefill, batch[1].is_decode, batch[3].is_decode,
          batch[0] == nil, batch[7] == nil }
        local count = 0
        for _, request in ipairs(batch) do count = count + request.new_tokens end
        return count
      end,
    }
    assert.equal(1216, m:step_time(mixed))
    assert.same({ 6, 6, 1212, 4, 5612, 0, 700, 700, true, false, true, true, true }, seen)
    assert.is_false(m.from_sums)
    assert.equal("latency model 'latency model' (in Lua)", tostring(m))
    assert.is_nil(m:step_time_from_sums { requests = 1 })
    local r = blis.latency_model { step_time = function(batch)
      return batch[2].is_prefill and 5 or batch[1].is_decode and 7 or 3
    end }
    assert.equal(3, r:step_time { { 5, 1, 5, 0 }, { 5, 1, 5, 0 } })
  end)

  it("takes times as whole microseconds of at least 1 per step", function()
    local m = blis.latency_model { step_time = function(batch) return batch.prefill_tokens / 4 end }
    assert.equal(2, m:step_time { { 0, 11, 20 } })
    assert.equal(1, m:step_time { { 0, 3, 20 } })
    assert.equal(1, m:step_time { { 20, 1, 20 } })
  end)

  it("may be a mere function, or be written in the cluster", function()
    local function step_time(batch) return 1000 + batch.requests end
    local hash = hash_of(step_time)
    assert.equal(hash, (hash_of { step_time = step_time }))
    assert.equal(hash, (hash_of(blis.latency_model { name = "x", step_time = step_time })))
    local r = blis.run(small.experiment { cluster = { latency_model = step_time } })
    assert.equal("function", r.setup.latency_model)
    assert.equal(0, #r.setup.step_times)
    says(tostring(r), "step times by the script's function")
  end)

  it("adds its other times as built-in models do", function()
    local r = blis.run {
      cluster = { latency_model = { step_time = function() return 1000 end, queueing_time = 200.9,
        output_token_time = 30, fixed_overhead = 4 } },
      workload = { requests = 1, rate = 1, prompt_tokens = 10, output_tokens = 3 },
    }
    assert.near((200 + 1000 + 30) / 1000, r.ttft_ms.mean, 1e-9)
    assert.near(1030 / 1000, r.itl_ms.mean, 1e-9)
    assert.near((1230 + 2 * 1030 + 4) / 1000, r.e2e_ms.mean, 1e-9)
  end)

  it("goes on after it was asked for nonsense", function()
    local m = blis.latency_model { step_time = function(batch) return batch[1].new_tokens - 5 end }
    says(small.message_of(m.step_time, m, { { 0, 2, 9 } }),
      "latency model 'latency model': step_time returned -3, expected microseconds from 0 to 2^53")
    assert.equal(2, m:step_time { { 0, 7, 9 } })
  end)
end)

describe("a failing latency model in Lua", function()
  local function run(step_time, options)
    local given = { name = "mine", step_time = step_time }
    for key, value in pairs(options or {}) do given[key] = value end
    return small.error_of(blis.run, small.experiment { cluster = { instances = 3,
      latency_model = blis.latency_model(given) } })
  end

  -- Step times of the batches with at least three decodes.
  local bad = {
    { 0 / 0, "step_time returned NaN, expected microseconds from 0 to 2^53" },
    { -1, "step_time returned -1, " }, { 1 / 0, "step_time returned inf, " },
    { 2 ^ 60, "step_time returned 1.15292150460" }, { "5", "step_time returned the string '5'" },
    { {}, "step_time returned a table" }, { nil, "step_time returned nil" },
  }

  for _, from_sums in ipairs { false, true } do
    it(("is named with instance and time, from_sums = %s"):format(from_sums), function()
      local function fails_with(value)
        return run(function(batch)
          if batch.decode_requests >= 3 then return value() end
          return 40000
        end, { from_sums = from_sums })
      end
      for i = 1, 7 do
        local problem = fails_with(function() return bad[i][1] end)
        says(problem.message, bad[i][2])
        says(problem.message, ("latency model 'mine', %s, at %d us: "):format(problem.instance,
          problem.time_us))
        assert.equal("policy", problem.code)
        assert.equal("latency model 'mine'", problem.policy)
        assert.is_true(problem.time_us > 40000)
      end
      local problem = fails_with(function() error "no idea" end)
      says(problem.message, "latency_spec.lua:")
      says(problem.message, ": no idea")
      says(problem.traceback, "latency_spec.lua")
    end)
  end

  it("is the same error by either engine", function()
    local function time_of(engine)
      local steps = 0
      local problem = small.error_of(blis.run, small.experiment { cluster = {
        engine = engine, latency_model = { from_sums = true, step_time = function(batch)
          steps = steps + 1
          if batch.decode_context_tokens > 900 then error "too long" end
          return 20000
        end } } })
      return { problem.time_us, problem.instance, problem.message }
    end
    assert.same(time_of "stepwise", time_of "fast")
  end)

  it("also stops a run by its queueing time", function()
    local problem = run(function() return 1000 end,
      { queueing_time = function(tokens) return tokens > 1 and "soon" or 1 end })
    says(problem.message, "queueing_time returned the string ")
    assert.equal("latency model 'mine'", problem.policy)
  end)

  it("has no field but those it has", function()
    says(run(function(batch) return batch.requets end).message,
      "a batch has no field 'requets'; it has requests, ")
    says(run(function(batch) return batch[1].tokens end).message,
      "a request of a batch has no field 'tokens'; it has progress_tokens, ")
    says(run(function(batch) return batch[1].new_tokens end, { from_sums = true }).message,
      "with from_sums = true a batch has only sums, no requests")
    local built_in = model("roofline")
    says(run(function() return built_in:step_time() end).message, "table expected")
  end)

  it("cannot keep a batch", function()
    local kept, request
    local m = blis.latency_model { step_time = function(batch)
      kept, request = batch, batch[1]
      return 5
    end }
    assert.equal(5, m:step_time { { 0, 2, 9 } })
    says(small.message_of(function() return kept[1] end), "can be read only while")
    assert.equal(2, request.new_tokens) -- a plain table
    local built_in = model("roofline")
    says(small.message_of(built_in.step_time, built_in, kept), "this batch is over")
  end)

  it("cannot ask itself", function()
    local m
    m = blis.latency_model { step_time = function(batch) return m:step_time(batch) end }
    says(small.message_of(m.step_time, m, { { 0, 2, 9 } }), "cannot be called inside its own")
  end)

  it("is refused when it is no model", function()
    says(small.message_of(blis.latency_model, {}), "latency_model.step_time is missing, expected a "
      .. "function(batch)")
    says(small.message_of(blis.latency_model, { step_time = 5 }), "invalid value 5")
    says(small.message_of(blis.latency_model, { step_time = print, fixed_overhead = -1 }),
      "latency_model.fixed_overhead: invalid value -1: expected microseconds from 0 to 2^53")
    says(small.message_of(blis.latency_model, { step_time = print, queueing_time = 0 / 0 }),
      "latency_model.queueing_time")
    says(small.message_of(blis.latency_model, { step_times = print }), "did you mean 'step_time'?")
    says(small.message_of(blis.latency_model, 5), "invalid value 5")
    says(small.message_of(blis.latency_model, { step_time = print }, {}), "options require")
    says(small.message_of(blis.run, small.experiment { cluster = { latency_model = 5 } }),
      "cluster.latency_model: invalid value 5: expected one of calibrated, composed, "
        .. "trained-physics, roofline, blackbox, piecewise, "
        .. "what blis.latency_model returned, or a function(batch)")
  end)
end)
