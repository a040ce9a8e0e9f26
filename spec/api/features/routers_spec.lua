--- Router replicas: sharing of decisions and counts, its delay, and faults.
local blis = require "blis"

local function prefixes(more)
  local all = {
    seed = 1, cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 8,
      latency_model = "calibrated", max_num_batched_tokens = 2048, max_num_seqs = 256,
      kv_blocks = 15909 },
    workload = { rate = 60, requests = 1500, prompt_tokens = 500, output_tokens = 100,
      prefixes = { groups = 200, tokens = 6000, zipf = 0.8 } },
    routing = { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 2 } } },
  }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

local function run(routers, more)
  local spec = prefixes(more)
  spec.routers = routers
  return blis.run(spec)
end

--- Least requests in flight, as the replica counts them; ties at random.
local least_in_flight = { name = "least in flight", new = function(context)
  local rng = context.rng
  return { route = function(_, instances)
    local best, chosen, ties = math.huge, 1, 0
    for i, instance in ipairs(instances) do
      local count = instance.in_flight
      if count < best then
        best, chosen, ties = count, i, 1
      elseif count == best then
        ties = ties + 1
        if rng:integer(1, ties) == 1 then chosen = i end
      end
    end
    return chosen
  end }
end }

local function says(pattern, routers, more)
  local ok, message = pcall(run, routers, more)
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

describe("router replicas", function()
  local single = run(nil)

  it("change nothing where there is one", function()
    for _, sync in ipairs { "none", "shared" } do
      assert.equal(single.hash, run({ replicas = 1, sync = sync }).hash)
    end
    local r = run { replicas = 1, share = { "prefix", "in-flight" }, sync = "events" }
    assert.equal(single.hash, r.hash)
    assert.is_nil(rawget(r, "routers"))
    assert.equal(single.hash, run(1).hash)
  end)

  it("equal one router with one state, with events that need no time, and by hash on the prefix",
    function()
      local shared = run { replicas = 4, balancer = "random", sync = "shared" }
      assert.equal(single.hash, shared.hash)
      local events = run { replicas = 4, share = { "prefix" }, sync = "events" }
      assert.equal(single.hash, events.hash)
      assert.equal(single.hash, run({ replicas = 4, balancer = "hash" }).hash)
    end)

  it("lose hits the more of them share nothing, and the later they hear of each other", function()
    local last = single.cache_hit_rate_overall
    for _, count in ipairs { 2, 4, 8 } do
      local hits = run({ replicas = count, balancer = "random" }).cache_hit_rate_overall
      assert.is_true(hits < last - 0.02)
      last = hits
    end
    local alone = run({ replicas = 4 }).cache_hit_rate_overall
    local second = run({ replicas = 4, share = { "prefix" },
      sync = { mode = "events", delay_us = 1000000 } }).cache_hit_rate_overall
    local ten = run({ replicas = 4, share = { "prefix" },
      sync = { mode = "events", delay_us = 10000000 } }).cache_hit_rate_overall
    assert.is_true(second > ten and ten > alone)
  end)

  it("equal replicas that share nothing when every message is lost", function()
    local lost = run { replicas = 4, share = { "prefix" }, sync = { mode = "events", loss = 1 } }
    assert.equal(run({ replicas = 4 }).hash, lost.hash)
    local report = lost.routers[1]
    assert.equal(375, report.requests)
    assert.equal(3 * 375, report.messages_sent)
    assert.equal(3 * 375, report.messages_lost)
    assert.equal(0, report.messages_received)
  end)

  it("herd with shared counts that are late, and two choices repair that", function()
    local cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 16,
      latency_model = "calibrated", max_num_batched_tokens = 2048, max_num_seqs = 256,
      kv_blocks = 15909 }
    local traffic = { rate = 110, requests = 4000,
      prompt = { "gaussian", mean = 800, std_dev = 700, min = 20, max = 6000 },
      output = { "gaussian", mean = 200, std_dev = 200, min = 2, max = 2000 } }
    local function ttft_ms(routers, routing)
      return run(routers, { cluster = cluster, workload = traffic,
        routing = routing or least_in_flight }).ttft_ms.mean
    end
    local own = ttft_ms { replicas = 8, balancer = "random" }
    local late = { mode = "periodic", every_us = 200000 }
    local fresh = ttft_ms { replicas = 8, balancer = "random", share = { "in-flight" },
      sync = late }
    local stale = ttft_ms { replicas = 8, balancer = "random", preset = "llm-d" }
    assert.is_true(own < fresh and fresh < stale)
    assert.is_true(ttft_ms({ replicas = 8, balancer = "random", preset = "llm-d" },
      "power-of-two") < fresh)
  end)

  it("give scorers of the core the counts of their replica", function()
    local own = blis.scorer { name = "own", score = function(_, instance)
      return 1 / (1 + instance.in_flight)
    end }
    local traffic = { rate = 60, requests = 300, prompt_tokens = 500, output_tokens = 100 }
    for _, routers in ipairs { { replicas = 3 }, { replicas = 3, share = { "in-flight" },
      sync = { mode = "periodic", every_us = 200000 } } } do
      local hashes = {}
      for i, scorer in ipairs { "active-requests", own } do
        hashes[i] = run(routers, { workload = traffic,
          routing = { "weighted", scorers = { { scorer, 1 } } } }).hash
      end
      assert.equal(hashes[1], hashes[2])
    end
  end)

  it("make a policy in Lua once per replica", function()
    local made = {}
    local policy = { name = "own state", new = function(context)
      local mine = { decisions = 0, seed = context.seed }
      made[context.replica] = mine
      assert.equal(3, context.replicas)
      return {
        route = function() mine.decisions = mine.decisions + 1 return 1 end,
        observe = function() mine.observed = (mine.observed or 0) + 1 end,
      }
    end }
    local r = run({ replicas = 3, share = { "prefix" }, sync = "events" }, { routing = policy,
      workload = { rate = 5, requests = 30, prompt_tokens = 32, output_tokens = 2 } })
    for i = 1, 3 do
      assert.equal(10, made[i].decisions)
      assert.equal(10, r.routers[i].requests)
      assert.is_true(made[i].observed > 25)
    end
    assert.not_equal(made[1].seed, made[2].seed)
  end)

  it("have metrics of their own, also after a crash", function()
    local policy = { name = "counts", new = function(context)
      local decisions = 0
      return {
        route = function() decisions = decisions + 1 return 1 end,
        custom_metrics = function() return { n = decisions, number = context.replica } end,
      }
    end }
    local r = run({ replicas = 2, faults = {
      { kind = "crash", replica = 2, at = 2000000, recover_after = 1000000 },
      { kind = "crash", replica = 1, at = 3500000, recover_after = 1000000 },
      { kind = "crash", replica = 2, at = 4000000, recover_after = 500000 },
    } }, { routing = policy,
      workload = { rate = 10, requests = 80, prompt_tokens = 32, output_tokens = 2 } })
    local sum = r.requests_without_router
    for name, value in pairs(r.custom_metrics) do
      if name:find "^n_router" then sum = sum + value end
      if name:find "^number_router_2" then assert.equal(2, value) end
    end
    assert.equal(80, sum)
    assert.is_number(r.custom_metrics.n_router_1_restart_1)
    assert.is_number(r.custom_metrics.n_router_2_restart_2)
    assert.is_nil(r.custom_metrics.n_router_1_restart_2)
  end)

  it("crash: the next replica takes over after the lease, with an empty state", function()
    local routers = { replicas = 2, mode = "active-passive", lease_us = blis.seconds(2),
      faults = { { kind = "crash", replica = 1, at = blis.seconds(10) } } }
    local r = run(routers)
    assert.equal(r.routers[1].requests + r.routers[2].requests + r.requests_without_router, 1500)
    assert.is_true(r.requests_without_router > 60)
    assert.is_true(r.routers[2].requests > 500)
    assert.is_true(r.cache_hit_rate_overall < single.cache_hit_rate_overall)
    routers.fail_open = "reject"
    r = run(routers)
    assert.equal(r.rejected, r.requests_without_router)
  end)

  it("have equal hashes in both engines", function()
    for _, routers in ipairs {
      { replicas = 3, preset = "aibrix" }, { replicas = 4, preset = "llm-d", balancer = "hash" },
      { replicas = 3, balancer = "least-connections", share = { "prefix", "in-flight" },
        sync = { mode = "events", delay_us = 50000, loss = 0.1, ttl_us = 5000000 },
        faults = { { kind = "partition", replicas = { 1 }, at = 3000000, recover_after = 2000000 },
          { kind = "crash", replica = 2, at = 4000000, recover_after = 1000000 } } },
    } do
      local cluster = prefixes().cluster
      local fast = run(routers)
      cluster.engine = "stepwise"
      assert.equal(fast.hash, run(routers, { cluster = cluster }).hash)
    end
  end)

  it("are in decision traces, summaries, and descriptions", function()
    local r = run({ replicas = 2, preset = "llm-d" }, { trace_level = "decisions",
      workload = { rate = 5, requests = 10, prompt_tokens = 32, output_tokens = 2 } })
    local text = tostring(r)
    assert.truthy(text:find("routers +2 replicas, 5 requests each"), text)
    local path = os.tmpname() .. ".html"
    r:report(path)
    local file <close> = assert(io.open(path))
    local page = file:read "a"
    os.remove(path)
    os.remove((path:gsub("%.html$", "")))
    assert.truthy(page:find("Router replicas</h2>.-<td>5</td>"))
    local told = "2 replicas, balancer round-robin, in-flight shared by periodic, every 0.2 s"
    assert.truthy(page:find(told, 1, true))
    local seen = {}
    for _, decision in ipairs(r.decisions) do
      if decision.kind == "routing" then seen[decision.facts.router_replica] = true end
    end
    assert.same({ [1] = true, [2] = true }, seen)
  end)

  it("report wrong options", function()
    says("routers.replicas: invalid value 0: expected an integer from 1 to 64", { replicas = 0 })
    says("routers.share: has no effect with sync.mode = 'none'",
      { replicas = 2, share = { "prefix" } })
    says("routers.sync: has no effect without share", { replicas = 2, sync = "events" })
    says("routers.share[1]: invalid value 'sessions'", { replicas = 2, sync = "events",
      share = { "sessions" } })
    says("routers.sync.own: 'published' requires mode periodic or pull-push",
      { replicas = 2, share = { "in-flight" }, sync = { mode = "events", own = "published" } })
    says("routers.faults[1].replica: invalid value 3: expected a replica from 1 to 2",
      { replicas = 2, faults = { { kind = "crash", replica = 3, at = 0 } } })
    says("routers.faults: replica 1 crashes at 5 us, while it is down", { replicas = 2,
      faults = { { kind = "crash", replica = 1, at = 0 },
        { kind = "crash", replica = 1, at = "5us" } } })
    says("routers.sync.phases_us: expected 2 values, one per replica, got 1", { replicas = 2,
      share = { "prefix" }, sync = { mode = "pull-push", phases_us = { 0 } } })
    says("cannot observe the decisions of other replicas", { replicas = 2, share = { "prefix" },
      sync = "events" }, { routing = "round-robin" })
    says("profile go-blis has one router", { replicas = 2 }, { profile = "go-blis",
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 2 } })
  end)
end)
