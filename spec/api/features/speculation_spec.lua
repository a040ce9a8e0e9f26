--- Speculative decoding from scripts and flags: tokens per step, times, blocks, what is told.
local blis = require "blis"
local program = require "spec.support.program"

--- Steps of 1000 us and 100 us for every token in them.
local function model()
  return blis.latency_model { name = "even", step_time = function(batch)
    return 1000 + 100 * #batch
  end }
end

local function run(speculation, outputs, more)
  local i = 0
  local cluster = { instances = 1, kv_blocks = 1000, speculation = speculation,
    async_scheduling = false, latency_model = model() }
  for key, value in pairs(more or {}) do cluster[key] = value end
  local profile, prompt_tokens = cluster.profile, cluster.prompt_tokens or 16
  local instance_times = cluster.instance_times
  cluster.profile, cluster.prompt_tokens, cluster.instance_times = nil, nil, nil
  return blis.run { cluster = cluster, profile = profile, instance_times = instance_times,
    workload = { requests = #outputs,
    generator = function()
      i = i + 1
      return outputs[i] and { arrival_us = 0, prompt_tokens = prompt_tokens,
        output_tokens = outputs[i] }
    end } }
end

local function ngram(tokens, acceptance, more)
  local all = { method = "ngram", tokens = tokens, acceptance = acceptance }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

local function says(pattern, ...)
  local ok, message = pcall(run, ...)
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

describe("speculative decoding", function()
  it("takes 22 steps for 64 tokens with two drafts that hold", function()
    local r = run(ngram(2, 1), { 64 })
    assert.equal(22, r.steps)
    assert.equal(64, r.output_tokens)
    assert.near(2.909, r.output_tokens / r.steps, 5e-4)
    -- A prefill of 1100 us, 21 steps of three verified tokens.
    assert.equal(1100 + 21 * 1300, r.requests[1].e2e_us)
    assert.equal(63, r.requests[1].itl_count)
    assert.near(21 * 1.3 / 63, r.itl_ms.mean, 1e-9)
    assert.equal(1.3, r.itl_ms.max)
    assert.equal(0.0, r.itl_ms.p50)
    assert.equal(3.0, r.speculation.mean_acceptance_length)
    assert.equal(1.0, r.speculation.acceptance_rate)
  end)

  it("never gives more than the output, and counts what is behind it as not accepted", function()
    local r = run(ngram(3, 1), { 6 }) -- 1 + 4 + 1
    assert.equal(3, r.steps)
    assert.equal(6, r.output_tokens)
    assert.same({ 2, 6, 3 }, { r.speculation.drafts, r.speculation.draft_tokens,
      r.speculation.accepted_tokens })
  end)

  it("tells of requests what they drafted, and nothing where nobody may", function()
    local r = run(ngram(3, 1), { 6, 1 })
    assert.same({ 6, 3 }, { r.requests[1].drafted_tokens, r.requests[1].accepted_tokens })
    assert.same({ 0, 0 }, { r.requests[2].drafted_tokens, r.requests[2].accepted_tokens })
    local columns = { ",drafted_tokens,accepted_tokens", "6,3", "0,0" }
    local path = os.tmpname() .. ".csv"
    r:export_requests(path)
    local line = 0
    for text in io.lines(path) do
      line = line + 1
      assert.truthy(text:sub(-#columns[line]) == columns[line], text)
    end
    assert.equal(3, line)
    r:save(path)
    local again = blis.load_result(path)
    assert.same({ 6, 3 }, { again.requests[1].drafted_tokens, again.requests[1].accepted_tokens })
    assert.equal(0, again.requests[2].drafted_tokens)
    assert.same(r.speculation, again.speculation)
    local plain = run(nil, { 6 })
    assert.is_nil(plain.requests[1].drafted_tokens)
    plain:export_requests(path)
    assert.is_nil(io.open(path):read("a"):find("drafted", 1, true))
    os.remove(path)
  end)

  it("counts by position", function()
    -- 1 + 4 + 4 + 2: two whole steps, and one of which only the first draft is in the output.
    local r = run(ngram(3, 1), { 11 })
    assert.same({ 3, 2, 2 }, r.speculation.accepted_per_position)
    assert.near(2 / 3, r.speculation.acceptance_rate_per_position[2], 1e-12)
    r = run(ngram(3, { 0.8, 0.7, 0.6 }), { 60000 }, { kv_blocks = 10000, max_model_len = 0 })
    for i, rate in ipairs { 0.8, 0.56, 0.336 } do
      assert.near(rate, r.speculation.acceptance_rate_per_position[i], 0.01)
    end
    assert.equal(3, #r.speculation.accepted_per_position)
    assert.same({ 0, 0 }, run(ngram(2, 0), { 9 }).speculation.accepted_per_position)
    assert.same({ 0.0, 0.0 }, run(ngram(2, 0), { 1 }).speculation.acceptance_rate_per_position)
  end)

  it("tells inter-token latencies of chunks", function()
    local r = run(ngram(2, 1), { 64 }) -- 21 steps of three tokens behind the first one
    local chunks = r.speculation.itl_per_chunk_ms
    assert.same({ 1.3, 1.3, 1.3 }, { chunks.mean, chunks.p50, chunks.max })
    assert.same({ 1.3, 1.3 }, { chunks.min, chunks["p99.9"] })
    assert.near(1.3 / 3, r.itl_ms.mean, 1e-12)
    -- Asked for twice, and together with the times of instances.
    r = run(ngram(2, 1), { 64 }, { instance_times = true })
    assert.near(1.3 / 3, r.itl_ms.mean, 1e-12)
    assert.equal(1.3, r.speculation.itl_per_chunk_ms.min)
    -- Where no draft holds, a chunk is a token; a request of one token has none.
    r = run(ngram(2, 0), { 30, 1 })
    assert.same(r.itl_ms.mean, r.speculation.itl_per_chunk_ms.mean)
    assert.equal(0.0, run(ngram(2, 1), { 1 }).speculation.itl_per_chunk_ms.max)
  end)

  it("is a loss of time when no draft holds", function()
    local plain, r = run(nil, { 30 }), run(ngram(3, 0), { 30 })
    assert.equal(plain.steps, r.steps)
    assert.equal(plain.requests[1].e2e_us + 29 * 300, r.requests[1].e2e_us)
    assert.equal(0, r.speculation.accepted_tokens)
  end)

  it("gives as many tokens a step as the rates say", function()
    local r = run(ngram(3, { 0.8, 0.7, 0.6 }), { 60000 }, { kv_blocks = 10000, max_model_len = 0 })
    assert.near(2.696, r.speculation.mean_acceptance_length, 0.02)
    assert.near(0.5653, r.speculation.acceptance_rate, 0.007)
    r = run(ngram(4, 0.7), { 60000 }, { kv_blocks = 10000, max_model_len = 0 })
    assert.near(2.7731, r.speculation.mean_acceptance_length, 0.03)
  end)

  it("takes drafting times of one pass for each token, or of one for all", function()
    local costs = { draft_base_us = 500, draft_per_sequence_us = 50 }
    local r = run(ngram(2, 1, costs), { 4, 4 })
    -- Two prefills in a step of 1200 us; 6 verified tokens, and a pass of two sequences.
    assert.equal(1200 + 1600 + 600, r.requests[1].e2e_us)
    costs.method = "draft"
    r = run(ngram(2, 1, costs), { 4, 4 })
    assert.equal(1200 + 1600 + 1200, r.requests[1].e2e_us)
  end)

  it("drafts what the token budget leaves", function()
    -- Of 10 tokens the first request verifies 9 while it lasts, 4 steps with outputs of 9, 9, 9
    -- and 2, and the second one has a plain decode beside it; then that takes 9, 9 and 7.
    local r = run({ method = "draft", tokens = 8, acceptance = 1, draft_base_us = 100 },
      { 30, 30 }, { max_num_batched_tokens = 10, max_num_seqs = 2, prompt_tokens = 5 })
    assert.equal(1200 + 4 * (2000 + 800), r.requests[1].e2e_us)
    assert.equal(1200 + 4 * 2800 + 3 * (1900 + 800), r.requests[2].e2e_us)
    assert.same({ 7, 56, 25 + 22 }, { r.speculation.drafts, r.speculation.draft_tokens,
      r.speculation.accepted_tokens })
  end)

  it("drafts no token behind the longest sequence of the model", function()
    -- A prompt of 16 and 4 tokens: behind the first one, there is room for three and the last.
    assert.equal(1100 + 1400, run(ngram(8, 1), { 4 }, { max_model_len = 20 }).requests[1].e2e_us)
    local r = run(ngram(8, 0), { 4 }, { max_model_len = 20 })
    assert.equal(1100 + 1400 + 1300 + 1200, r.requests[1].e2e_us)
  end)

  it("speeds up and slows down as steps and rates say", function()
    local function tpot(acceptance)
      local slow = blis.latency_model { name = "slow", step_time = function() return 20000 end }
      local r = run({ method = "draft", tokens = 3, acceptance = acceptance,
        draft_base_us = 10000 / 3 }, { 20000 }, { latency_model = slow, kv_blocks = 10000,
        max_model_len = 0 })
      return r.itl_ms.mean, r.speculation.mean_acceptance_length
    end
    -- 30 ms for m tokens, in place of 20 ms for each.
    local fast_ms, m = tpot { 0.8, 0.7, 0.6 }
    assert.near(2.696, m, 0.03)
    assert.near(30 / m, fast_ms, 0.01)
    assert.near(11.13, fast_ms, 0.15)
    assert.near(1.797, 20 / fast_ms, 0.025)
    local slow_ms, few = tpot { 0.3, 0.2, 0.1 }
    assert.near(1.366, few, 0.02)
    assert.near(30 / few, slow_ms, 0.01)
    assert.near(21.96, slow_ms, 0.3)
  end)

  it("stops in larger batches", function()
    local r = run(ngram(2, 1, { max_batch = 1 }), { 4, 7 })
    -- Nobody drafts beside another one: three steps after the prefills, then one of three.
    assert.equal(1, r.speculation.drafts)
    assert.equal(5, r.steps)
  end)

  it("needs blocks for what it drafts, and gives them back", function()
    -- 16 tokens a block: two requests of 16 + 12 tokens need two blocks each.
    local few = { kv_blocks = 4, max_num_seqs = 2 }
    local r = run(ngram(4, 0), { 12, 12 }, few)
    assert.equal(2, r.completed)
    assert.equal(0, r.preemptions)
    -- With outputs of 14, the last drafts want a third block, which others hold.
    r = run(ngram(8, 0), { 14, 14 }, few)
    assert.equal(2, r.completed)
    assert.is_true(r.preemptions > 0)
    -- Alone in the cache, it drafts less.
    r = run(ngram(8, 0), { 14 }, { kv_blocks = 2 })
    assert.equal(0, r.preemptions)
    assert.equal(1, r.completed)
  end)

  it("verifies tokens one behind the other", function()
    local seen = {}
    run(ngram(2, 1), { 7 }, { latency_model = blis.latency_model { name = "watch",
      step_time = function(batch)
        local contexts = {}
        for k = 1, #batch do
          contexts[k] = batch[k].progress_tokens
          assert.equal(#seen == 0 and 16 or 1, batch[k].new_tokens)
        end
        seen[#seen + 1] = contexts
        return 1000
      end } })
    assert.same({ { 0 }, { 16, 17, 18 }, { 19, 20, 21 } }, seen)
  end)

  it("takes the same blocks for drafts again and again", function()
    -- Of 6 blocks, 2 have the first prompt, and the second request takes 2. In each of its steps
    -- it has one more for its drafts: were it another one, the first prompt would soon be lost.
    local list = {
      { arrival_us = 0, prompt_tokens = 32, prefix_group = "g", prefix_tokens = 32,
        output_tokens = 1 },
      { arrival_us = 100000, prompt_tokens = 16, output_tokens = 14 },
      { arrival_us = 900000, prompt_tokens = 48, prefix_group = "g", prefix_tokens = 32,
        output_tokens = 1 },
    }
    local i = 0
    local r = blis.run { cluster = { kv_blocks = 6, speculation = ngram(15, 0),
      async_scheduling = false, latency_model = model() }, workload = { requests = #list,
      generator = function()
        i = i + 1
        return list[i]
      end } }
    assert.equal(13, r.speculation.drafts)
    assert.is_true(r.requests[3].had_hit)
  end)

  it("draws alike in every batch and both engines", function()
    local many = run(ngram(3, 0.6), { 200, 200, 200 })
    local single = { { 200, 1, 1 }, { 1, 200, 1 }, { 1, 1, 200 } }
    local drafts, differ = 0, {}
    for i = 1, 3 do -- only the i-th drafts
      single[i] = run(ngram(3, 0.6), single[i]).speculation.drafts
      drafts = drafts + single[i]
      differ[single[i]] = true
    end
    assert.equal(drafts, many.speculation.drafts)
    assert.is_truthy(next(differ, next(differ)), "all requests draw the same")
    assert.equal(many.hash, run(ngram(3, 0.6), { 200, 200, 200 }, { engine = "stepwise" }).hash)
  end)

  it("asks a function once for each request and position, when it comes", function()
    local asked, at = {}, {}
    local function acceptance(request, position)
      asked[#asked + 1] = request.id .. ":" .. position
      at[#asked] = request.now_us
      return ({ 0.8, 0.7, 0.6 })[position]
    end
    local r = run(ngram(3, acceptance), { 40, 1, 30 })
    assert.same({ "request_0:1", "request_0:2", "request_0:3", "request_1:1", "request_1:2",
      "request_1:3", "request_2:1", "request_2:2", "request_2:3" }, asked)
    assert.equal(0, at[9])
    assert.equal(run(ngram(3, { 0.8, 0.7, 0.6 }), { 40, 1, 30 }).hash, r.hash)
    -- Neither preemption nor the batch asks again, or another time.
    local few = { kv_blocks = 6, max_num_seqs = 3, engine = "fast" }
    asked = {}
    r = run(ngram(3, acceptance), { 40, 40, 40 }, few)
    assert.is_true(r.preemptions > 0)
    assert.equal(9, #asked)
    assert.equal(run(ngram(3, { 0.8, 0.7, 0.6 }), { 40, 40, 40 }, few).hash, r.hash)
  end)

  it("lets requests differ", function()
    local function of(acceptance, more)
      local i = 0
      local spec = { cluster = { instances = 2, kv_blocks = 1000,
        speculation = { method = "ngram", tokens = 2, acceptance = acceptance } },
        workload = { requests = 6, generator = function()
          i = i + 1
          return i <= 6 and { arrival_us = i * 1000, prompt_tokens = 16, output_tokens = 31,
            slo_class = i % 2 == 0 and "batch" or "chat", tenant = "t" .. i } or nil
        end } }
      for key, value in pairs(more or {}) do spec[key] = value end
      return blis.run(spec)
    end
    local function drafted(r)
      local list = {}
      for i = 1, #r.requests do list[i] = r.requests[i].accepted_tokens end
      return list
    end
    local by_function = of(function(request) return request.slo_class == "batch" and 1 or 0 end)
    assert.same({ 0, 20, 0, 20, 0, 20 }, drafted(by_function))
    assert.equal(by_function.hash, of({ slo_class = { batch = 1 }, default = 0 }).hash)
    assert.same({ 0, 0, 0, 15, 0, 0 },
      drafted(of { tenant = { t4 = { 1, 0 } }, default = { 0, 0.5 } }))
    -- Moved, sent again, or seen by an observer: it is the same request.
    local ends = 0
    local seen = of(function(request) return request.slo_class == "batch" and 1 or 0 end,
      { on_completion = function() ends = ends + 1 end })
    assert.equal(6, ends)
    assert.equal(by_function.hash, seen.hash)
  end)

  it("has a drafter for each group of instances", function()
    local r = blis.run { routing = "round-robin", cluster = { kv_blocks = 1000, groups = {
      { instances = 1, speculation = ngram(2, function() return 1 end) },
      { instances = 1, speculation = ngram(4, function(_, position)
        return position < 3 and 1 or 0
      end) }, { instances = 1 } } },
      workload = { requests = 6, rate = 10, prompt_tokens = 16, output_tokens = 31 } }
    local by_instance = {}
    for i = 1, #r.requests do
      local one = r.requests[i]
      by_instance[one.instance] = ("%s/%s"):format(one.accepted_tokens, one.drafted_tokens)
    end
    assert.same({ instance_0 = "20/20", instance_1 = "20/40", instance_2 = "nil/nil" },
      by_instance)
    assert.same({ 40, 40, 0, 0 }, r.speculation.accepted_per_position)
  end)

  it("asks where the request decodes, and again where it is sent after a crash", function()
    local asked = 0
    local function acceptance()
      asked = asked + 1
      return 0.5
    end
    local speculation = { method = "ngram", tokens = 1, acceptance = acceptance }
    local workload = { requests = 20, rate = 50, prompt_tokens = 64, output_tokens = 64 }
    local r = blis.run { workload = workload, cluster = { kv_blocks = 1000,
      prefill_instances = 1, decode_instances = 1, speculation = speculation } }
    assert.equal(20, r.completed)
    assert.equal(20, asked)
    asked = 0
    r = blis.run { workload = workload, cluster = { instances = 2, kv_blocks = 1000,
      speculation = speculation }, faults = { { kind = "crash", at = 200000, instance = 1,
      recover_after = 1000000, requests = "rerouted" } } }
    assert.equal(20, r.completed)
    assert.is_true(asked > 20)
  end)

  it("is counted over crashes", function()
    -- A prefill of 1100 us and 4 steps of 1300 that have begun by 5100 us; then all of it anew.
    local i = 0
    local r = blis.run { cluster = { kv_blocks = 1000, speculation = ngram(2, 1),
      async_scheduling = false, latency_model = model() }, workload = { requests = 1,
        generator = function()
          i = i + 1
          return i == 1 and { arrival_us = 0, prompt_tokens = 16, output_tokens = 64 } or nil
        end }, faults = { { kind = "crash", at = 5100, instance = 1, recover_after = 1000,
          requests = "rerouted" } } }
    assert.equal(4 + 21, r.speculation.drafts)
    assert.equal(2 * (4 + 21), r.speculation.accepted_tokens)
    assert.equal(2 * 21, r.requests[1].drafted_tokens)
  end)

  it("takes energy for drafts that do not hold as for those that do", function()
    -- Both verify three tokens in the first two steps of 1600 us; the second goes on alone.
    local i = 0
    local r = blis.run { cluster = { kv_blocks = 1000, async_scheduling = false,
      latency_model = model(), gpu_prefill_watts = 400, gpu_decode_watts = 400,
      gpu_idle_watts = 0, speculation = ngram(2, function(request)
        return request.tenant == "a" and 1 or 0
      end) }, workload = { requests = 2, generator = function()
        i = i + 1
        return i <= 2 and { arrival_us = 0, prompt_tokens = 16, output_tokens = 7,
          tenant = i == 1 and "a" or "b" } or nil
      end } }
    local both_us, alone_us = 1200 + 2 * 1600, 4 * 1300
    assert.near(400 * both_us / 2 / 1e6, r.requests[1].energy_j, 1e-6)
    assert.near(400 * (both_us / 2 + alone_us) / 1e6, r.requests[2].energy_j, 1e-6)
  end)

  it("shows what policies see, within what they may take", function()
    local function fails(pattern, acceptance, more)
      says(pattern, ngram(2, acceptance), { 4, 9 }, more)
    end
    fails("request.output_tokens lies in the future",
      function(request) return request.output_tokens / 9 end)
    fails("speculation 'acceptance', request_1, at 0 us: it returned", function(request, position)
      return request.id == "request_1" and position == 2 and 1.5 or 1
    end)
    fails("it returned 1.5 for position 2, expected the acceptance probability of "
      .. "this draft token, 0 to 1",
      function(_, position) return position == 2 and 1.5 or 1 end)
    fails("it returned nil", function() end)
    fails("it returned nan", function() return 0 / 0 end)
    fails("it returned the string '0.5'", function() return "0.5" end)
    fails("no field 'slo_clas'; did you mean 'slo_class'", function(request)
      return request.slo_clas
    end)
    local kept
    run(ngram(2, function(request)
      kept = request
      return 1
    end), { 4 })
    assert.has_error(function() return kept.tenant end,
      "a request can be read only during a decision about it")
  end)

  it("goes together with everything else", function()
    for k = 1, 8 do
      local r = blis.run {
        cluster = { instances = k % 3 == 0 and nil or 2, kv_blocks = 300 + 200 * k,
          prefill_instances = k % 3 == 0 and 1 or nil, decode_instances = k % 3 == 0 and 1 or nil,
          speculation = { method = "mtp", tokens = k, acceptance = 0.7, draft_base_us = 100 },
          lora = k % 2 == 0 and { adapters = 6, slots = 2 } or nil },
        workload = { rate = 20, requests = 120, prompt_tokens = 100, output_tokens = 60,
          prefixes = { groups = 3, tokens = 64 },
          sessions = k % 4 == 1 and { max_rounds = 3 } or nil },
        faults = k % 2 == 1 and k % 3 ~= 0 and { { kind = "crash", at = 1000000, instance = 1,
          recover_after = 1000000, requests = "rerouted" } } or nil,
        queue = k % 4 == 2 or nil, seed = k,
      }
      assert.equal(r.arrived, r.completed)
      assert.is_true(r.speculation.mean_acceptance_length > 1)
      local drafted, accepted, latencies, by_position = 0, 0, 0, 0
      for i = 1, #r.requests do
        local request = r.requests[i]
        drafted = drafted + request.drafted_tokens
        accepted = accepted + request.accepted_tokens
        latencies = latencies + request.itl_count
      end
      for _, count in ipairs(r.speculation.accepted_per_position) do
        by_position = by_position + count
      end
      assert.equal(r.speculation.accepted_tokens, by_position)
      if rawget(r, "faults") then -- drafts of an instance that was lost are of no request
        assert.is_true(drafted <= r.speculation.draft_tokens)
      else
        assert.same({ r.speculation.draft_tokens, r.speculation.accepted_tokens },
          { drafted, accepted })
      end
      assert.near(r.itl_ms.mean * latencies,
        r.speculation.itl_per_chunk_ms.mean * (latencies - accepted), 1e-3)
    end
  end)

  it("says what is wrong", function()
    says("cluster.speculation: method 'draft' requires draft_base_us or draft_per_sequence_us",
      { method = "draft", acceptance = 0.5 }, { 4 })
    says("cluster.speculation.acceptance: expected one probability per draft token",
      ngram(3, { 0.5, 0.5 }), { 4 })
    says("cluster.speculation.acceptance[2]", ngram(2, { 0.5, 2 }), { 4 })
    says("cluster.speculation.acceptance: invalid value 'often': expected a number from 0 to 1, a "
      .. "list of such numbers, a function(request, position), or a "
      .. "table", ngram(2, "often"), { 4 })
    says("cluster.speculation.acceptance is missing, expected a number from 0 to 1, a list of such",
      ngram(2), { 4 })
    says("cluster.speculation.acceptance[2] is nil", ngram(3, { 0.5, nil, 0.5 }), { 4 })
    says("cluster.speculation.acceptance: got a value at [draft]", ngram(1, { 0.5, draft = 1 }),
      { 4 })
    says("cluster.speculation.acceptance: slo_class cannot be combined with tenant",
      ngram(1, { slo_class = { a = 1 }, tenant = { b = 1 }, default = 1 }), { 4 })
    says("cluster.speculation.acceptance.default is missing", ngram(1, { tenant = { b = 1 } }),
      { 4 })
    says("cluster.speculation.acceptance: there is a default of nothing",
      ngram(1, { default = 1 }), { 4 })
    says("cluster.speculation.acceptance.tenant.b: expected one probability per draft token",
      ngram(2, { tenant = { b = { 1 } }, default = 1 }), { 4 })
    says("cluster.speculation.acceptance.tenant", ngram(2, { tenant = {}, default = 1 }), { 4 })
    says("cluster.speculation.acceptance.tenant.1: expected names",
      ngram(2, { tenant = { 1 }, default = 1 }), { 4 })
    says("cluster.speculation.acceptance: unknown member 'other'",
      ngram(2, { tenant = { b = 1 }, default = 1, other = 2 }), { 4 })
    local ok, message = pcall(blis.instance, { kv_blocks = 100,
      speculation = ngram(2, function() return 1 end) })
    assert.is_false(ok)
    assert.truthy(tostring(message):find("instance.speculation.acceptance: acceptance by request "
      .. "requires a cluster", 1, true))
    says("cluster.speculation.tokens", ngram(17, 0.5), { 4 })
    says("cluster.speculation", 3, { 4 })
    assert.is_nil(rawget(run(nil, { 4 }), "speculation"))
  end)

  it("can be asked for by flags", function()
    local line = "$BLIS run --num-requests 40 --output-tokens 50 --speculative-method draft "
    local plain = program.shell(line .. "--speculative-acceptance 0.8,0.7,0.6 --draft-base-us 900")
    assert.equal(0, plain.status, plain.err)
    assert.truthy(plain.out:find("speculation +%d+%.%d %% of the draft tokens accepted"), plain.out)
    local hashes, count = {}, 0
    for _, more in ipairs { "", "--speculative-acceptance 0.8,0.7,0.6 --draft-base-us 900",
      "--speculative-acceptance 0.3,0.2,0.1 --draft-base-us 900",
      "--speculative-acceptance 0.3,0.2,0.1 --draft-base-us 901",
      "--speculative-acceptance 0.3,0.2,0.1 --draft-base-us 900 --speculative-tokens 3",
      "--speculative-acceptance 0.5 --speculative-tokens 2 --draft-base-us 900" } do
      local asked = more == "" and line:gsub("%-%-speculative%-method draft", "") or line .. more
      local hash = program.shell(asked .. " --format json").out:match '"hash": *"(%x+)"'
      assert.is_string(hash)
      count = count + (hashes[hash] and 0 or 1)
      hashes[hash] = true
    end
    assert.equal(5, count) -- no flag is ignored; three rates are three tokens
    for text, expected in pairs {
      [""] = "speculative decoding needs --speculative-method and --speculative-acceptance",
      ["--speculative-acceptance 0.5,x"] = "invalid value 'x': expected a number from 0 to 1",
      ["--speculative-acceptance 0.5,1.1"] = "--speculative-acceptance: invalid value '1.1'",
      ["--speculative-acceptance 0.5,0.4 --speculative-tokens 3 --draft-base-us 9"] =
        "--speculative-acceptance: expected one probability per draft token",
      ["--speculative-acceptance 0.5"] = "requires --draft-base-us or --draft-per-sequence-us",
    } do
      local done = program.shell(line .. text)
      assert.not_equal(0, done.status)
      assert.truthy(done.err:find(expected, 1, true), done.err)
    end
  end)
end)
