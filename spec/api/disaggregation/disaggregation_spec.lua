local blis = require "blis"
local small = require "spec.support.small"

--- The call fails, and says so.
local function says(part, call)
  local ok, problem = pcall(call)
  assert.is_false(ok)
  small.says(problem.message, part)
end

--- A run with pools, and what is said of hand-offs.
local function run(options, cluster)
  local all = { prefill_instances = 1, decode_instances = 2 }
  for key, value in pairs(cluster or {}) do all[key] = value end
  return blis.run {
    cluster = all, disaggregation = options,
    workload = { rate = 8, requests = 40, prompt = 600, output = 30 },
  }
end

describe("prefill/decode disaggregation", function()
  it("hands every request off, unless the decider says otherwise", function()
    local result = run()
    assert.equal(40, result.completed)
    assert.equal(40, result.handoffs.started)
    assert.equal(40, result.handoffs.completed)
    assert.equal("40 20 20", tostring(result.requests_per_instance))
    local none = run { decider = "never" }
    assert.equal(0, none.handoffs.started)
    assert.equal(40, none.handoffs.colocated)
  end)

  it("says how even the instances of a role are", function()
    local function cv(cluster)
      local result = run(nil, cluster)
      return result.balance_cv, tostring(result.requests_per_instance)
    end
    local even, counts = cv()
    assert.equal("0.0 40 20 20", even .. " " .. counts)
    even = cv { decode_instances = 0, prefill_decode_instances = 3 }
    assert.is_true(even > 0) -- one that does both beside others of its kind, and one that prefills
    local uneven = cv { instances = 8, prefill_instances = 3 }
    assert.is_near(2 ^ 0.5 / 40, uneven, 1e-9)
  end)

  it("moves the bytes of a model over links", function()
    -- 163,840 bytes a token in blocks of 16: 599 tokens are 38 blocks, or 99.6 MB.
    local result = run { bandwidth_gb_s = 25, base_latency_ms = 0, decider = "always" }
    assert.equal(40 * 38 * 16 * 163840 / 1e9, result.handoffs.moved_gb)
    local alone = run({ bandwidth_gb_s = 25, base_latency_ms = 0 },
      { prefill_instances = 40, decode_instances = 40 })
    assert.is_near(38 * 16 * 163840 / 25000 / 1000, alone.handoffs.mean_transfer_ms, 0.001)
    local slow = run { bandwidth_gb_s = 1, first_token = "prefill", order = "destination" }
    assert.is_true(slow.ttft_ms.mean > result.ttft_ms.mean)
  end)

  it("leaves a copy of the KV at the source, or none", function()
    local function hits(source_cache)
      local number = 0
      local result = blis.run {
        cluster = { prefill_instances = 1, decode_instances = 1 },
        disaggregation = { source_cache = source_cache },
        workload = function()
          number = number + 1
          return number <= 3 and { arrival_us = number * 3000000, output_tokens = 4,
            content = { { "p", 640 } } } or nil
        end,
      }
      assert.equal(3, result.handoffs.completed)
      return result.instances[1].cache_hits
    end
    assert.equal(2 * 39, hits()) -- the last of 40 blocks is computed again
    assert.equal(2 * 39, hits "keep")
    assert.equal(0, hits "drop")
  end)

  it("is limited by the end of a hand-off with fewer GPUs", function()
    local function moved(prefill_tp, decode_tp)
      local result = run({ bandwidth_gb_s = 25, base_latency_ms = 0, transfer_content = "all" },
        { prefill_instances = 40, decode_instances = 40, prefill_tp = prefill_tp,
          decode_tp = decode_tp, model = "qwen/qwen3-14b", hardware = "H100" })
      return result.handoffs.moved_gb, result.handoffs.mean_transfer_ms
    end
    local gb, ms = moved(1, 1)
    local shared_gb, shared_ms = moved(8, 8)
    assert.is_near(gb / 8, shared_gb, 1e-9)
    assert.is_near(ms / 8, shared_ms, 0.002)
    for _, tps in ipairs { { 1, 8 }, { 8, 1 } } do
      local unequal_gb, unequal_ms = moved(tps[1], tps[2])
      assert.is_near(gb, unequal_gb, 1e-9)
      assert.is_near(ms, unequal_ms, 0.002)
    end
  end)

  it("loads each end with its own parts", function()
    -- 2,000 tokens (125 blocks without the last one) at 1 GB/s, all sent at once.
    local function mean_ms(prefills, prefill_tp, decode_tp)
      local result = blis.run {
        cluster = { model = "qwen/qwen3-14b", hardware = "H100", prefill_instances = prefills,
          decode_instances = 1, prefill_tp = prefill_tp, decode_tp = decode_tp },
        disaggregation = { bandwidth_gb_s = 1, base_latency_ms = 0, decider = "always" },
        routing = "round-robin",
        workload = { requests = prefills, arrival = "constant", rate = 1e6, prompt_tokens = 2000,
          output_tokens = 2 },
      }
      return result.handoffs.mean_transfer_ms
    end
    local alone = 125 * 16 * 163840 / 1e6
    assert.is_near(alone, mean_ms(1, 1, 1), 0.01)
    assert.is_near(alone, mean_ms(1, 1, 4), 0.01)
    assert.is_near(alone, mean_ms(2, 1, 2), 0.01)
    assert.is_near(alone, mean_ms(4, 1, 4), 0.01)
    assert.is_near(2 * alone, mean_ms(2, 1, 1), 0.01)
    assert.is_near(2 * alone, mean_ms(4, 1, 2), 0.01)
    assert.is_near(2 * alone, mean_ms(2, 2, 1), 0.01)
  end)

  it("says the same of links and of hand-offs where transfers are cut short", function()
    local function check(options, horizon_us)
      local all = { bandwidth_gb_s = 0.05, base_latency_ms = 0 }
      for key, value in pairs(options) do all[key] = value end
      local result = blis.run {
        cluster = { prefill_instances = 1, decode_instances = 2 }, disaggregation = all,
        horizon_us = horizon_us,
        workload = { rate = 8, requests = 40, prompt = 600, output = 30 },
      }
      local busiest, gb = 0, 0
      for _, link in ipairs(result.handoffs.links) do
        assert.is_true(link.utilization <= 1)
        busiest = math.max(busiest, link.utilization)
        if link.name:find "out$" then gb = gb + link.moved_gb end
      end
      assert.is_true(busiest > 0.5)
      assert.is_near(busiest, result.handoffs.busiest_link, 1e-12)
      assert.is_near(gb, result.handoffs.moved_gb, 1e-8)
      return result
    end
    check({}, 3000000)
    check({ overlap = "layers", order = "destination" }, 3000000)
    local late = check { transfer_timeout_us = 1000000 }
    assert.is_true(late.handoffs.failed > 0)
  end)

  it("refuses what profile go-blis would ignore", function()
    local function start(options, cluster)
      local all = { prefill_instances = 1, decode_instances = 1, model = "qwen/qwen3-14b",
        hardware = "H100" }
      for key, value in pairs(cluster or {}) do all[key] = value end
      options.decider = "always"
      return blis.run { profile = "go-blis", cluster = all, disaggregation = options,
        workload = { rate = 8, requests = 10 } }
    end
    for name, value in pairs { first_token = "prefill", transfer_timeout_us = 1000,
      fabric_gb_s = 1, handshake_us = 5, overlap = "layers", layer_groups = 3,
      overlap_min_tokens = 7, order = "destination", transfer_content = "missing",
      on_destination_full = "wait", on_failure = "retry", retries = 3, retry_pause_us = 5,
      kv_limit = 0.5, source_cache = "drop",
      stage_order = "prefill-first" } do
      says(("disaggregation.%s: has no effect in profile go-blis"):format(name),
        function() start { [name] = value } end)
    end
    says("nic_gb_s has no effect", function() start({}, { prefill_nic_gb_s = 1 }) end)
    says("nic_gb_s has no effect", function() start({}, { nic_gb_s = 1 }) end)
    says("encode_base_us: has no effect in profile go-blis",
      function() start({ encode_base_us = 7 }, { encode_instances = 1 }) end)
    assert.equal(10, start({ first_token = "decode", bandwidth_gb_s = 10, transfer_content = "all",
      on_destination_full = "drop" }).handoffs.started)
  end)

  it("tells of instances in no pool", function()
    local notices, told = require "blis.notices", {}
    local before = notices.collect(function(line) told[#told + 1] = line end)
    run({}, { instances = 9 })
    notices.collect(before)
    assert.same({ "cluster: 6 of 9 instances are in no pool: they serve no requests, but are "
      .. "billed" },
      told)
  end)

  it("refuses what has no effect with other options", function()
    for name, other in pairs {
      layer_groups = 'overlap = "layers"', retries = 'on_failure = "retry"',
      retry_pause_us = 'on_failure = "retry"', overlap_min_tokens = 'overlap = "chunks"' } do
      says(("disaggregation.%s: has no effect without %s"):format(name, other),
        function() run { [name] = 3 } end)
    end
  end)

  it("refuses a decision with a name that it does not know", function()
    says("a table with the key", function()
      run { decider = function() return { prefil = 1 } end }
    end)
    says("'prefil'", function() run { decider = function() return { prefil = 1 } end } end)
    says("a table with the key", function() run { decider = function() return { 0, 1 } end } end)
    assert.equal(40, run({ decider = function() return { prefill = 1 } end },
      { prefill_instances = 2 }).handoffs.completed)
  end)

  it("hands no KV off to another model", function()
    local function start(roles, request_model)
      local groups = {}
      for i, one in ipairs(roles) do
        groups[i] = { instances = 1, role = one[1], model = one[2], hardware = "H100" }
      end
      return blis.run { cluster = { groups = groups },
        workload = { rate = 8, requests = 10, prompt = 600, output = 30, model = request_model } }
    end
    local a, b = "qwen/qwen3-14b", "meta-llama/llama-3.1-8b-instruct"
    says("no group for decode serves its model, qwen/qwen3-14b",
      function() start { { "prefill", a }, { "decode", b } } end)
    says("no group for prefill serves its model, " .. b,
      function() start { { "both", a }, { "decode", b } } end)
    says("hands KV off to another model", function()
      start { { "prefill", a }, { "prefill", b }, { "decode", a }, { "decode", a },
        { "decode", b } }
    end)
    assert.equal(10, start({ { "prefill", a }, { "decode", a } }).handoffs.completed)
  end)

  it("hides transfers behind the prefill", function()
    local function ttft(overlap, more)
      local options = { order = "destination", first_token = "prefill",
        bandwidth_gb_s = 2, base_latency_ms = 0,
        overlap = overlap }
      for key, value in pairs(more or {}) do options[key] = value end
      return run(options).ttft_ms.mean
    end
    local none = ttft "none"
    -- Prompts are computed in one step each, so a chunk is the whole of it.
    assert.equal(none, ttft "chunks")
    local layers = ttft "layers"
    assert.is_true(layers < none)
    assert.is_true(ttft("layers", { layer_groups = 40 }) < layers)
    assert.equal(none, ttft("layers", { overlap_min_tokens = 601 }))
    says("requires order", function() run { overlap = "layers" } end)
  end)

  it("says what links have carried", function()
    local result = run({ bandwidth_gb_s = 25, fabric_gb_s = 3 },
      { prefill_nic_gb_s = 5, decode_nic_gb_s = 2 })
    local by_name, moved = {}, result.handoffs.moved_gb
    for _, link in ipairs(result.handoffs.links) do by_name[link.name] = link end
    assert.equal(4, #result.handoffs.links)
    assert.equal(5.0, by_name["instance_0 out"].gb_s)
    assert.equal(2.0, by_name["instance_2 in"].gb_s)
    assert.is_near(moved, by_name.fabric.moved_gb, 1e-9)
    assert.is_near(moved, by_name["instance_0 out"].moved_gb, 1e-9)
    assert.is_near(moved, by_name["instance_1 in"].moved_gb + by_name["instance_2 in"].moved_gb,
      1e-9)
    assert.equal(result.handoffs.busiest_link, by_name.fabric.utilization)
    assert.is_true(by_name.fabric.mean_depth > 1)
    -- The tightest link has each transfer to itself, or shares it.
    assert.is_true(run({ base_latency_ms = 0 }, { decode_nic_gb_s = 2 }).handoffs.mean_transfer_ms
      >= 38 * 16 * 163840 / 2000 / 1000)
    assert.same({}, blis.run {
      profile = "go-blis", disaggregation = "always",
      cluster = { instances = 2, prefill_instances = 1, decode_instances = 1 },
      workload = { rate = 8, requests = 4 },
    }.handoffs.links)
  end)

  it("shows hand-offs over time", function()
    local series = blis.run {
      cluster = { prefill_instances = 2, decode_instances = 1 }, disaggregation = {
        bandwidth_gb_s = 1 },
      series_interval_us = 200000,
      workload = { rate = 20, requests = 40, prompt = 600, output = 30 },
    }.series
    local most, on_one = 0, 0
    for row = 1, series.rows do
      most = math.max(most, series.transfers[row])
      on_one = math.max(on_one, series.transfers_on_one_link[row])
      assert.is_true(row == 1 or series.moved_gb[row] >= series.moved_gb[row - 1])
    end
    assert.is_true(most >= 2 and on_one >= 2 and on_one <= most)
    assert.equal(0, series.waiting_for_room[series.rows])
    local links = {}
    for _, link in ipairs(series.links) do
      links[link.name] = true
      local total, deepest = 0, 0
      for row = 1, series.rows do
        local share, depth = link.utilization[row], link.mean_depth[row]
        assert.is_true(share >= 0 and share <= 1 + 1e-9)
        assert.is_true(share > 0 and depth >= 1 - 1e-9 or depth == 0)
        total, deepest = total + share * 0.2, math.max(deepest, depth)
      end
      assert.is_true(total > 0)
      if link.name == "instance_2 in" then -- two send to it
        assert.is_true(deepest > 1)
        assert.is_near(40 * 38 * 16 * 163840 / 1e9, total, 1e-5) -- 1 GB/s, whole blocks
      end
    end
    assert.same({ ["instance_0 out"] = true, ["instance_1 out"] = true, ["instance_2 in"] = true },
      links)
    assert.is_nil(blis.run { workload = { requests = 2 }, series_interval_us = 200000 }
      .series.transfers)
  end)

  it("asks functions, about instances", function()
    local seen = {}
    local result = run(function(request, context)
      seen[#seen + 1] = #context.decode .. context.peer.id
      if request.id == "request_3" then return "local" end
      if request.id == "request_4" then return { prefill = 1, decode = context.decode[2] } end
      return "split"
    end)
    assert.equal(40, #seen)
    assert.equal("2instance_1", seen[1])
    assert.equal(39, result.handoffs.completed)
    assert.equal("instance_2", result.requests[5].instance)
    says("decider, request_0, at ", function() run(function() return { prefill = 2 } end) end)
    says("us: instance_1 is not one of those that prefill", function()
      run(function(_, context) return { prefill = context.decode[1] } end)
    end)
    says("us: the number 9 to prefill is none of the 3 instances of the cluster", function()
      run(function() return { prefill = 9 } end)
    end)
    says("us: instance_0 is not one of those that decode", function()
      run(function() return { decode = 1 } end)
    end)
    says("it returned true, expected \"local\", \"split\"", function()
      run(function() return true end)
    end)
    says("expected \"local\", \"split\"", function()
      run(function() return 3 end)
    end)
  end)

  it("takes pools by numbers, by groups, and says what is wrong with them", function()
    local groups = blis.run {
      cluster = { groups = { { instances = 1, role = "prefill" },
        { instances = 2, role = "decode" } } },
      workload = { rate = 8, requests = 40, prompt = 600, output = 30 },
    }
    assert.equal(run().hash, groups.hash)
    local unequal = run(nil, { prefill_tp = 2, decode_hardware = "A100-80" })
    assert.equal(2, unequal.setup.groups[1].tp)
    assert.equal("A100-SXM", unequal.setup.groups[2].hardware)
    says("prefill_instances is 2 and decode_instances 0", function()
      run(nil, { prefill_instances = 2, decode_instances = 0 })
    end)
    says("instances is 2, but the pools have 3", function() run(nil, { instances = 2 }) end)
    says("cluster.prefill_tp: has no effect without pools; set prefill_instances", function()
      blis.run { cluster = { instances = 2, prefill_tp = 2 }, workload = { requests = 1 } }
    end)
    says("cluster.decode_nic_gb_s: has no effect with groups", function()
      blis.run { cluster = { decode_nic_gb_s = 2, groups = { { role = "both" } } },
        workload = { requests = 1 } }
    end)
    says("disaggregation.contention: has no effect in profile design", function()
      run { contention = true }
    end)
    says("the cluster has no pools", function() blis.run { disaggregation = "always" } end)
    says("unknown decider 'alway'", function() run "alway" end)
    says("no instance has the role decode", function()
      blis.run { cluster = { groups = { { role = "prefill" } } } }
    end)
  end)

  it("gives equal results in both engines and with little room", function()
    local function both(options)
      local hashes = {}
      for i, engine in ipairs { "fast", "stepwise" } do
        local result = run(options, { engine = engine, kv_blocks = 90 })
        assert.equal(result.handoffs.started, result.handoffs.completed)
        assert.is_true(result.handoffs.waited > 0)
        hashes[i] = result.hash
      end
      assert.equal(hashes[1], hashes[2])
    end
    both { order = "source" }
    both { order = "destination", first_token = "prefill", kv_limit = 0.8 }
  end)
end)
