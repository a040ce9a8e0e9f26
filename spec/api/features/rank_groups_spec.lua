--- Groups of data-parallel ranks: who chooses the rank, and groups that come, go and fail whole.
local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local function experiment(ranks, changes)
  local spec = { cluster = { instances = 1, kv_blocks = 4000, ranks = ranks },
    routing = "round-robin", seed = 5,
    workload = { rate = 60, requests = 300, prompt_tokens = 200, output_tokens = 60 } }
  for key, value in pairs(changes or {}) do spec[key] = value end
  for key, value in pairs((changes or {}).more or {}) do spec.cluster[key] = value end
  spec.more = nil
  return spec
end

local function run(ranks, changes) return blis.run(experiment(ranks, changes)) end

local function requests_of(result)
  local counts = {}
  for i, instance in ipairs(result.instances) do counts[i] = instance.requests end
  return counts
end

describe("ranks that their group balances", function()
  it("get what vllm.dp gives them when it sees them", function()
    for clients = 1, 3 do
      local inside = run({ count = 4, balance = "internal", clients = clients, publish_us = 70000 })
      local outside = run(4, { routing = { "vllm.dp", clients = clients, publish_us = 70000 } })
      assert.equal(outside.hash, inside.hash)
      assert.same(requests_of(outside), requests_of(inside))
    end
  end)

  it("are the same with one rank, with both engines and with a barrier", function()
    assert.equal(run(nil).hash, run({ count = 1, balance = "internal" }).hash)
    for _, ranks in ipairs { { count = 3, balance = "internal" },
      { count = 3, balance = "internal", barrier = true } } do
      local fast = run(ranks, { more = { instances = 2, engine = "fast" } })
      local steps = run(ranks, { more = { instances = 2, engine = "stepwise" } })
      assert.equal(steps.hash, fast.hash)
    end
  end)

  local function check_what_routers_see(refresh_us, rate)
    local sent, looks = { 0, 0 }, 0
    run({ count = 3, balance = "internal" }, {
      more = { instances = 2, snapshot_refresh_us = refresh_us },
      workload = { arrival = "constant", rate = rate, requests = 60, prompt_tokens = 32,
        output_tokens = 2000 },
      routing = function(request, instances)
        assert.equal(2, #instances)
        local use = 0.0
        for i, instance in ipairs(instances) do
          assert.equal("instance_" .. 3 * (i - 1), instance.id)
          assert.equal(sent[i], instance.in_flight)
          assert.equal(sent[i], instance.queue_depth + instance.batch_size + instance.pending)
          assert.equal(12000, instance.kv_blocks)
          local used = 12000 - instance.free_kv_blocks
          assert.is_true(math.abs(used - instance.kv_utilization * 12000) < 1e-6)
          use = use + instance.kv_utilization
        end
        looks = looks + 1
        assert.is_true(looks < 40 or use > 0)
        local chosen = request.prompt_tokens > 0 and looks % 3 == 0 and 2 or 1
        sent[chosen] = sent[chosen] + 1
        return chosen
      end })
    assert.equal(60, looks)
    assert.same({ 40, 20 }, sent)
  end

  it("are one candidate with the load of all", function()
    check_what_routers_see(0, 200)
    check_what_routers_see(100000, 8) -- all are read again for each request
  end)

  it("are shared evenly, beside groups that are not", function()
    local r = run(nil, { cluster = { kv_blocks = 4000, groups = {
      { instances = 1, ranks = { count = 4, balance = "internal" } }, { instances = 2 } } } })
    local counts = requests_of(r)
    assert.same({ 100, 100 }, { counts[5], counts[6] })
    for i = 1, 4 do assert.is_true(math.abs(counts[i] - 25) < 5) end
  end)

  it("are left out by a request that names its rank", function()
    local sim = blis.simulation(experiment { count = 3, balance = "internal" })
    for i = 0, 9 do sim:pin("request_" .. i, "instance_2") end
    sim:pin("request_10", "instance_0")
    local r = sim:run()
    for i = 1, 10 do assert.equal("instance_2", r.requests[i].instance) end
    assert.equal("instance_0", r.requests[11].instance)
    local counts = requests_of(r)
    for i = 1, 3 do assert.is_true(math.abs(counts[i] - 100) < 5) end
  end)

  it("refuse what cannot be", function()
    for _, case in ipairs {
      { { count = 2, clients = 2 }, "ranks.clients: has no effect without balance = \"internal\"" },
      { { count = 2, publish_us = 2 }, "ranks.publish_us: has no effect" },
      { { count = 2, balance = "sideways" }, "ranks.balance" },
      { { count = 2, balance = "internal", clients = 0 }, "ranks.clients" } } do
      local ok, message = pcall(run, case[1])
      assert.is_false(ok)
      says(tostring(message), case[2])
    end
    local ok, message = pcall(run, { count = 2, balance = "internal" },
      { more = { instances = 2, prefill_instances = 1, decode_instances = 1 } })
    assert.is_false(ok)
    says(tostring(message), "groups that balance themselves cannot have roles")
  end)
end)

local scaled = {
  autoscaler = function(context)
    return context.now_us < 3000000 and 3 or 1
  end,
  scaling = { interval_us = 1000000, min_replicas = 1, max_replicas = 3,
    loading_delay_us = 500000, replica_price_per_hour = 3 },
  workload = { rate = 100, requests = 800, prompt_tokens = 200, output_tokens = 60 },
}

describe("groups of ranks that are scaled", function()
  it("come and go whole, and are counted once", function()
    for _, balance in ipairs { "router", "internal" } do
      local r = run({ count = 3, balance = balance }, scaled)
      assert.equal(9, #r.instances)
      assert.equal(800, r.completed)
      assert.equal(2, r.scaling.started)
      assert.equal(3, r.scaling.most_paid)
      local levels = {}
      for i, level in ipairs(r.scaling.levels) do
        levels[i] = ("%d/%d/%d"):format(level.wanted, level.ready, level.paid)
      end
      assert.same({ "1/1/1", "3/1/3", "3/3/3" }, { levels[1], levels[2], levels[3] })
      local last = r.scaling.levels[#levels]
      assert.same({ 1, 1, 1 }, { last.wanted, last.ready, last.paid })
      -- 3 USD per hour of a group, and 3 GPUs for it
      assert.is_true(math.abs(r.cost.usd - 3 * r.scaling.replica_seconds / 3600) < 1e-9)
      assert.is_true(math.abs(r.cost.gpu_hours - 3 * r.scaling.replica_seconds / 3600) < 1e-9)
    end
  end)

  it("have room for as many groups as may start", function()
    local few = {}
    for key, value in pairs(scaled) do few[key] = value end
    few.scaling = {}
    for key, value in pairs(scaled.scaling) do few.scaling[key] = value end
    few.scaling.max_starts = 3
    assert.equal(9, #run(3, few).instances)
    few.scaling.max_starts = 2
    local ok, message = pcall(run, 3, few)
    assert.is_false(ok)
    says(tostring(message), "no more starts are possible")
  end)

  it("show their autoscaler a group as an instance", function()
    local seen
    run({ count = 3 }, { more = { instances = 2, max_num_seqs = 10 },
      workload = { rate = 1000, requests = 300, prompt_tokens = 200, output_tokens = 600 },
      autoscaler = function(context)
        if not seen then seen = { ready = context.ready, replicas = context.replicas,
          queue = context.queue_depth, batch = context.batch_size } end
        return 2
      end, scaling = { interval_us = 1000000, min_replicas = 1, max_replicas = 4 } })
    assert.same({ ready = 2, replicas = 2, queue = 240.0, batch = 60.0 }, seen)
  end)

  it("wait until there are GPUs for all of their ranks", function()
    local most = {}
    local r = run({ count = 3 }, { more = { tp = 4, hardware = "H100", kv_blocks = nil },
      autoscaler = function() return 2 end,
      scaling = { interval_us = 1000000, min_replicas = 1, max_replicas = 2,
        node_pools = { { name = "a", gpu = "H100", gpus_per_node = 4, nodes = 5 } } } })
    most[1] = r.scaling.node_pools[1].used
    assert.same({ 12 }, most) -- 8 are left, and not taken by two ranks
    assert.equal(6, #r.instances)
    assert.is_true(r.scaling.state_seconds.pending > 0)
    assert.equal(0, r.instances[4].requests)
  end)
end)

describe("groups of ranks with faults", function()
  it("fail whole and come back whole", function()
    local sim = blis.simulation(experiment(3, { more = { instances = 2 },
      workload = { rate = 100, requests = 300, prompt_tokens = 200, output_tokens = 100 } }))
    sim:at(1000000, function(s)
      local lost = 0
      for i = 4, 6 do lost = lost + s.instances[i].in_flight end
      assert.is_true(lost > 0)
      s.instances[5]:fail()
      assert.equal(lost, s.failed)
      for i = 1, 6 do assert.equal(i < 4 and "active" or "failed", s.instances[i].state) end
    end)
    sim:at(1500000, function(s)
      s.instances[6]:restart()
      for i = 1, 6 do assert.equal("active", s.instances[i].state) end
    end)
    local r = sim:run()
    assert.equal(300, r.completed + r.failed)
  end)

  it("drain until the last rank has nothing left", function()
    local sim = blis.simulation(experiment(3, { more = { instances = 2 } }))
    sim:pin("request_299", "instance_5")
    sim:run_until(1000000)
    sim.instances[2]:drain()
    local rest
    repeat
      rest = 0
      for i = 1, 3 do rest = rest + sim.instances[i].in_flight end
      for i = 1, 3 do
        assert.equal(rest > 0 and "draining" or "drained", sim.instances[i].state)
      end
    until not sim:step() or rest == 0
    assert.equal(0, rest)
  end)

  it("have random states, which are those of all their ranks", function()
    local random = blis.rng(9)
    local function play(engine, barrier, seed)
      local sim = blis.simulation(experiment({ count = 3, barrier = barrier,
        balance = seed % 2 == 0 and "internal" or "router" },
        { more = { instances = 3, engine = engine }, seed = seed,
          workload = { rate = 80, requests = 200, prompt_tokens = 300, output_tokens = 80 } }))
      local acts = blis.rng(seed)
      for i = 1, 12 do
        local which, what = acts:integer(1, 9), acts:integer(1, 5)
        sim:at(i * 200000, function(s)
          local instance = s.instances[which]
          if what == 1 then instance:fail { reroute = i % 2 == 0 }
          elseif what == 2 then instance:drain()
          elseif what == 3 then instance:slow(1.5)
          else instance:restart() end
        end)
      end
      repeat
        for first = 1, 9, 3 do
          local state = sim.instances[first].state
          assert.equal(state, sim.instances[first + 1].state)
          assert.equal(state, sim.instances[first + 2].state)
        end
      until not sim:step()
      return sim:run().hash
    end
    for _ = 1, 6 do
      local seed, barrier = random:integer(1, 1000), random:integer(0, 1) == 1
      assert.equal(play("stepwise", barrier, seed), play("fast", barrier, seed))
    end
  end)

  it("suffer what is declared of one of them", function()
    local function suffer(fault, barrier)
      fault.at = 1000000
      local r = run({ count = 3, barrier = barrier }, { faults = { fault },
        more = { instances = 2 } })
      return r
    end
    local whole = run(3, { more = { instances = 2 } })
    local crash = suffer { kind = "crash", instance = "instance_4", recover_after = 500000 }
    assert.is_true(crash.failed > 3)
    for i = 1, #crash.requests do
      local request = crash.requests[i]
      assert.is_true(request.state ~= "failed" or request.instance >= "instance_3")
    end
    assert.equal(300, suffer({ kind = "slow", instance = "instance_4", factor = 3 }).completed)
    for _, barrier in ipairs { false, true } do
      local hung = suffer({ kind = "hang", instance = "instance_4", recover_after = 500000,
        requests = "retried" }, barrier)
      assert.equal(300, hung.completed)
      assert.is_true(hung.e2e_ms.max > whole.e2e_ms.max + 400)
    end
    local gone = suffer { kind = "reclaim", instance = "instance_4", notice = 100000,
      requests = "rerouted" }
    assert.equal(300, gone.completed + gone.failed)
    for i = 4, 6 do assert.is_true(gone.instances[i].requests < 30) end
  end)
end)

describe("groups of ranks that are taken away", function()
  it("are restarted once each, one after the other", function()
    local r = run(3, { more = { instances = 2 }, faults = { { kind = "rolling-restart",
      at = 1000000, every = 1000000, notice = 200000, recover_after = 300000,
      requests = "rerouted" } } })
    assert.equal(300, r.completed)
    local told = {}
    for i, fault in ipairs(r.faults) do told[i] = fault.instance .. " " .. fault.time_us end
    assert.same({ "instance_0 1000000", "instance_3 2000000" }, told)
  end)

  --- Two groups of three ranks, of which so many may run from 1 s on.
  local function on_spot(available)
    return run(3, { routing = "round-robin", more = { instances = 2, gpu_price_per_hour = 3,
      spot = { notice = 0, restart_time = 0, steps = { { at = 0, available = 2 },
        { at = 1000000, available = available, gpu_price_per_hour = 1 } } } } })
  end

  it("are counted once, as those of an autoscaler are", function()
    for available = 0, 3 do
      local r = on_spot(available)
      assert.equal(math.max(2 - available, 0), r.spot.reclaims)
      local last = r.instance_counts[#r.instance_counts]
      assert.equal(math.min(available, 2), last.serving)
      for i = 1, 6 do
        local group = (i - 1) // 3
        local is_there = group < available
        assert.equal(is_there, r.instances[i].requests > 30, i)
      end
    end
    assert.equal(300, on_spot(1).completed)
  end)

  it("go at their highest numbers, whole", function()
    local r = on_spot(1)
    assert.same({ "instance_3", 1000000 }, { r.faults[1].instance, r.faults[1].time_us })
    for i = 4, 6 do
      assert.is_true(r.instances[i].requests > 0)
      for _, request in ipairs(r.requests) do
        local is_later = request.arrival_us > 1000000
        if is_later then assert.not_equal("instance_" .. i - 1, request.instance) end
      end
    end
    assert.near(0.5 * (1 + 1000000 / r.duration_us), r.spot.serving_share, 1e-6)
  end)

  it("are groups in what was asked for and in the chart", function()
    local r = on_spot(1)
    local asked
    for _, row in ipairs(r.setup.asked) do
      if row.name == "spot capacity" then asked = row.text end
    end
    says(asked, "2 groups of 3 ranks, by 2 steps")
    local chart = require("blis.charts.presence").instances(r)
    local columns = {}
    for i, series in ipairs(chart.series) do columns[series.label] = chart.data[i + 1] end
    local last = #chart.data[1]
    assert.same({ 2, 1, 1 }, { columns.wanted[last], columns["available"][last],
      columns.serving[last] })
  end)
end)
