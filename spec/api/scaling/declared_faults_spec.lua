local blis = require "blis"

local seconds = blis.seconds

local function experiment(faults, more)
  local spec = {
    cluster = { model = "qwen3-14b", tp = 1, instances = 3 }, routing = "least-loaded",
    workload = { rate = 15, requests = 450, prompt_tokens = 300, output_tokens = 150 },
    faults = faults,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return spec
end

local function run(faults, more) return blis.run(experiment(faults, more)) end

local function states(faults, instance, times)
  local sim <close> = blis.simulation(experiment(faults))
  local seen = {}
  for i, second in ipairs(times) do
    sim:run_until(seconds(second))
    seen[i] = sim.instances[instance].state
  end
  return seen
end

local function conserves(r)
  return r.arrived == r.completed + r.rejected + r.timed_out + r.unservable + r.failed
    + r.still_running + r.still_queued + r.still_arriving
end

describe("two lasting faults at once", function()
  --- Requests that an instance got, by instance.
  local function routed(faults, more)
    local counts = { 0, 0, 0 }
    local r = run(faults, more)
    for _, request in ipairs(r.requests) do
      local number = tonumber((request.instance or ""):match "%d+$")
      if number then counts[number + 1] = counts[number + 1] + 1 end
    end
    return counts, r
  end

  local function lasting(kind, instance, more)
    local fault = { at = seconds(5), instance = instance, kind = kind }
    for name, value in pairs(more or {}) do fault[name] = value end
    return fault
  end

  it("hold for their own instances", function()
    local one = run({ lasting("partition", 1) }).hash
    local two = run({ lasting("partition", 1), lasting("partition", 2) }).hash
    local other = run({ lasting("partition", 2) }).hash
    assert.not_equal(one, two)
    assert.not_equal(other, two)
    local hung = routed { lasting("hang", 1), lasting("hang", 2) }
    assert.is_true(hung[3] > 0)
    assert.not_equal(run({ lasting("hang", 1) }).hash, run({ lasting("hang", 1),
      lasting("hang", 2) }).hash)
  end)

  it("hold for their own kinds", function()
    local stale = lasting("stale", 1, { every = seconds(3) })
    local both = run({ stale, lasting("partition", 1) }).hash
    assert.not_equal(run({ stale }).hash, both)
    assert.not_equal(run({ stale, lasting("slow", 1, { factor = 3 }) }).hash, both)
  end)

  it("change nothing when they are the same", function()
    assert.equal(run({ lasting("partition", 1) }).hash,
      run({ lasting("partition", 1), lasting("partition", 1) }).hash)
  end)
end)

describe("a declared fault", function()
  it("is named in the summary, the first few of many", function()
    local lost = run { { at = seconds(10), instance = 2, kind = "crash" } }
    assert.matches(("\n  faults      crash of instance_1 at 10.0 s %%(%d lost%%)\n"):format(
      lost.failed), tostring(lost))
    local many = {}
    for i = 1, 5 do many[i] = { at = seconds(i), instance = 1, kind = "slow", factor = 1.5 } end
    local text = tostring(run(many))
    assert.matches("\n +slow of instance_0 at 3.0 s\n +%.%.%. and 2 more faults\n", text)
    assert.not_matches("\n  faults ", tostring(run {}))
  end)

  it("loses requests in a crash, or sends them to another instance", function()
    local crash = { at = seconds(10), instance = 2, kind = "crash", recover_after = seconds(8),
      restart_time = seconds(3) }
    local lost = run { crash }
    assert.is_true(lost.failed > 0)
    assert.same({ time_us = seconds(10), instance = "instance_1", kind = "crash",
      is_missed = false, recover_us = seconds(8), lost = lost.failed, rerouted = 0, retried = 0,
      recomputed_tokens = 0 }, lost.faults[1])
    crash.requests = "rerouted"
    local rerouted = run { crash }
    assert.equal(450, rerouted.completed)
    assert.equal(lost.failed, rerouted.faults[1].rerouted)
    assert.same({ "failed", "recovering", "active" }, states({ crash }, 2, { 10, 16, 18 }))
  end)

  --- Both instances of two are down for a while.
  local function both_down(kind, recover_after, more)
    local spec = { cluster = { model = "qwen3-14b", tp = 1, instances = 2 } }
    for key, value in pairs(more or {}) do spec[key] = value end
    local faults = {}
    for i = 1, 2 do
      faults[i] = { at = seconds(4 + i), instance = i, kind = kind, requests = "rerouted",
        recover_after = recover_after, notice = kind == "reclaim" and seconds(2) or nil }
    end
    return run(faults, spec)
  end

  it("has requests wait while nobody is there, if somebody comes back", function()
    for _, kind in ipairs { "crash", "reclaim" } do
      for _, queue in ipairs { false, true } do
        local r = both_down(kind, seconds(6), { queue = queue or nil })
        assert.equal(450, r.completed)
        assert.is_true(r.ttft_ms.max > 4000)
        r = both_down(kind, nil, { queue = queue or nil })
        assert.is_true(r.rejected > 300)
        assert.equal(450, r.completed + r.rejected)
        assert.equal(queue and "rejected-no-endpoints" or "no-instance",
          r.requests[#r.requests].reason)
      end
    end
    local by_steps = { cluster = { model = "qwen3-14b", tp = 1, instances = 2,
      engine = "stepwise" } }
    assert.equal(both_down("crash", seconds(6)).hash,
      both_down("crash", seconds(6), by_steps).hash)
  end)

  it("has hand-offs wait for whoever of the two stages is away", function()
    for instance = 1, 2 do
      local function hashed(engine, recover_after)
        return run({ { at = seconds(5), instance = instance, kind = "crash",
          recover_after = recover_after, requests = "rerouted" } },
          { cluster = { model = "qwen3-14b", tp = 1, prefill_instances = 1, decode_instances = 1,
            engine = engine }, disaggregation = {} })
      end
      local r = hashed("fast", seconds(4))
      assert.equal(450, r.completed)
      assert.equal(r.hash, hashed("stepwise", seconds(4)).hash)
      local gone = hashed "fast"
      assert.is_true(gone.rejected > 300 and conserves(gone))
    end
  end)

  it("says what becomes of hand-offs, before the policy of these does", function()
    local function crashed(instance, requests, on_failure)
      return run({ { at = seconds(5), instance = instance, kind = "crash",
        recover_after = seconds(2), requests = requests } },
        { cluster = { model = "qwen3-14b", tp = 1, prefill_instances = 2, decode_instances = 2 },
          disaggregation = { on_failure = on_failure, bandwidth_gb_s = 1 } })
    end
    for instance = 1, 3, 2 do -- one of either stage
      for _, on_failure in ipairs { "fail", "recompute", "retry" } do
        local lost = crashed(instance, "failed", on_failure)
        assert.is_true(lost.failed > 0 and lost.rerouted == 0 and conserves(lost))
        for _, word in ipairs { "rerouted", "retried" } do
          local saved = crashed(instance, word, on_failure)
          assert.equal(450, saved.completed)
          assert.is_true(saved[word] >= lost.failed)
          assert.equal(saved[word], saved.faults[1][word])
          assert.equal(0, saved[word == "retried" and "rerouted" or "retried"])
        end
      end
      local usual = crashed(instance, nil, "fail")
      assert.equal(crashed(instance, "failed", "fail").hash, usual.hash)
      assert.is_true(crashed(instance, nil, "retry").failed < usual.failed)
    end
  end)

  it("has clients send lost requests again after a pause, and admission asked again", function()
    local function crashed(more)
      local crash = { at = seconds(10), instance = 2, kind = "crash", requests = "retried" }
      for key, value in pairs(more) do crash[key] = value end
      local asked = 0
      local r = run({ crash }, { admission = function()
        asked = asked + 1
        return blis.admit()
      end, series_interval_us = seconds(10) })
      assert.is_true(conserves(r))
      return r, asked
    end
    local r, asked = crashed { retry_after = seconds(3) }
    assert.equal(450, r.completed)
    assert.is_true(r.retried > 0)
    assert.equal(450 + r.retried, asked)
    assert.equal(0, r.rerouted)
    assert.matches(("%d to be retried"):format(r.retried), tostring(r), 1, true)
    local again, none = crashed { requests = "rerouted" }
    assert.equal(r.retried, again.rerouted)
    assert.equal(450, none)
    assert.is_true(r.ttft_ms.max > 3000 and r.ttft_ms.max > again.ttft_ms.max + 2000)
    local twice = run { { at = seconds(10), instance = 2, kind = "crash", requests = "retried",
      recover_after = seconds(1) }, { at = seconds(15), instance = 1, kind = "crash",
      requests = "rerouted" } }
    assert.equal(twice.faults[1].retried, twice.retried)
    assert.matches(("in total %d requests rerouted, %d to be retried"):format(twice.rerouted,
      twice.retried), tostring(twice), 1, true)
  end)

  it("is not kept in numbers that fill memory", function()
    local ok, message = pcall(run, { { kind = "slow", factor = 1, mtbf = "1us" } })
    assert.is_false(ok)
    assert.matches("faults: there were 100000 by ", tostring(message), 1, true)
  end)

  it("does not have them wait for one that another fault takes for good", function()
    local r = run({
      { at = seconds(5), instance = 1, kind = "reclaim", notice = seconds(9),
        recover_after = seconds(5) },
      { at = seconds(6), instance = 2, kind = "crash" },
      { at = seconds(6), instance = 1, kind = "crash" },
    }, { cluster = { model = "qwen3-14b", tp = 1, instances = 2 } })
    assert.is_true(r.rejected > 300 and conserves(r))
    assert.equal(0, r.still_queued + r.still_arriving)
  end)

  it("is not paid for, once an instance has gone for good", function()
    local function hours(faults) return run(faults).cost.gpu_hours end
    local crash = { at = seconds(9), instance = 1, kind = "crash", requests = "rerouted" }
    local r = run { crash }
    assert.near((2 * r.duration_us + seconds(9)) / 3.6e9, r.cost.gpu_hours, 1e-9)
    assert.near(r.cost.gpu_hours * r.setup.gpu_price_per_hour, r.cost.usd, 1e-9)
    crash.recover_after = seconds(3)
    r = run { crash }
    assert.near(3 * r.duration_us / 3.6e9, r.cost.gpu_hours, 1e-9)
    local reclaim = { at = seconds(5), instance = 3, kind = "reclaim", notice = seconds(9),
      recover_after = seconds(4) }
    local usual = hours {}
    assert.is_true(hours { reclaim } < usual - 3 / 3600)
  end)

  it("slows steps, and factors multiply where two overlap", function()
    local usual = run {}
    local slow = { at = 0, instance = 1, kind = "slow", factor = 2 }
    local one = run { slow }
    local two = run { slow, { at = 0, instance = 1, kind = "slow", factor = 3 } }
    local six = run { { at = 0, instance = 1, kind = "slow", factor = 6 } }
    assert.is_true(one.e2e_ms.p99 > usual.e2e_ms.p99)
    assert.equal(six.hash, two.hash)
    local over = run { { at = 0, instance = 1, kind = "slow", factor = 6,
      recover_after = seconds(5) } }
    assert.is_true(over.e2e_ms.mean < six.e2e_ms.mean)
  end)

  it("hangs until somebody kills the engine", function()
    local r = run { { at = seconds(5), instance = 1, kind = "hang", recover_after = seconds(10),
      requests = "rerouted" } }
    assert.equal(450, r.completed)
    assert.is_true(r.e2e_ms.max > 9000)
    assert.is_true(conserves(r))
  end)

  it("ends no step while it hangs, and leaves no trace of one", function()
    local hang = { at = seconds(5), instance = 1, kind = "hang" }
    local faster = { at = seconds(5), instance = 1, kind = "slow", factor = 0.001 }
    for _, profile in ipairs { "design", "go-blis" } do
      for _, engine in ipairs { "fast", "stepwise" } do
        local more = { profile = profile, cluster = { model = "qwen3-14b", tp = 1, instances = 2,
          engine = engine }, routing = "round-robin", horizon_us = seconds(100) }
        local stuck = run({ hang, faster, faster }, more)
        local seen = 0
        assert.is_true(stuck.completed < 300)
        assert.equal(450, stuck.completed + stuck.still_running + stuck.still_queued)
        for i = 1, #stuck.requests do
          local one = stuck.requests[i]
          if one.instance == "instance_0" and one.state == "completed" then
            seen = seen + 1
            assert.is_true(one.end_us <= seconds(5.1))
          end
        end
        assert.is_true(seen > 10)
        more.horizon_us = nil
        local usual = run({}, more)
        hang.recover_after, hang.requests = seconds(3), "rerouted"
        local killed = run({ hang }, more)
        hang.recover_after, hang.requests = nil, nil
        assert.equal(450, killed.completed)
        assert.is_true(killed.duration_us < usual.duration_us + seconds(3))
      end
    end
  end)

  it("flaps, and rolls through all instances", function()
    local r = run { { at = seconds(4), instance = "instance_0", kind = "flap", times = 3,
      every = seconds(5), recover_after = seconds(2), requests = "rerouted" } }
    assert.equal(3, #r.faults)
    assert.equal(seconds(14), r.faults[3].time_us)
    assert.equal(450, r.completed)
    r = run { { at = seconds(4), kind = "rolling-restart", every = seconds(6), notice = seconds(4),
      recover_after = seconds(1), requests = "rerouted" } }
    assert.equal(3, #r.faults)
    assert.equal("instance_2", r.faults[3].instance)
    assert.equal(450, r.completed)
  end)

  it("takes an instance away after notice, and gives it back", function()
    local reclaim = { at = seconds(5), instance = 3, kind = "reclaim", notice = seconds(1),
      recover_after = seconds(4) }
    assert.same({ "draining", "failed", "active" }, states({ reclaim }, 3, { 5.5, 7, 11 }))
    reclaim.notice = seconds(20)
    assert.same({ "drained", "active" }, states({ reclaim }, 3, { 15, 29.5 }))
  end)

  it("hides what an instance does from the router", function()
    local r = run({ { at = seconds(5), instance = 1, kind = "partition",
      recover_after = seconds(5) } })
    local usual = run {}
    assert.is_true(r.hash ~= usual.hash)
    assert.equal(450, r.completed)
  end)

  it("empties the cache of an instance, which works on", function()
    local more = { workload = { rate = 15, requests = 450, prompt_tokens = 300, output_tokens = 50,
      prefixes = { groups = 4, tokens = 2000 } } }
    local usual = run(nil, more)
    local faults = {}
    for i = 1, 3 do
      for k = 1, 20 do
        faults[#faults + 1] = { at = seconds(k), instance = i, kind = "lost-cache" }
      end
    end
    local lost = run(faults, more)
    assert.equal(450, lost.completed)
    assert.equal(0, lost.faults[1].lost)
    assert.is_true(lost.cache_hit_rate < usual.cache_hit_rate - 0.02)
  end)

  --- What a router sees of an instance's queue and batch, by time.
  local function seen(faults)
    local list = {}
    run(faults, { routing = function(request, instances)
      local one = instances[1]
      list[#list + 1] = { t = request.arrival_us, load = one.batch_size + one.queue_depth }
      return 1 + #list % #instances
    end })
    return function(from, to)
      local values, last = 0, nil
      for _, one in ipairs(list) do
        if one.t > seconds(from) and one.t < seconds(to) and one.load ~= last then
          values, last = values + 1, one.load
        end
      end
      return values
    end
  end

  it("shows signals of now and then, or none, and the older ones where two overlap", function()
    local stale = { at = seconds(5), instance = 1, kind = "stale", every = seconds(2),
      recover_after = seconds(10) }
    local count = seen { stale }
    assert.equal(1, count(5.1, 6.9))
    assert.equal(1, count(7.1, 8.9))
    assert.is_true(count(5.1, 14.9) > 2)
    assert.is_true(count(15.1, 25) > 10)
    count = seen { stale, { at = seconds(6), instance = 1, kind = "partition",
      recover_after = seconds(6) } }
    assert.equal(1, count(5.1, 11.9)) -- the partition hides the looks
    assert.is_true(count(12.1, 14.9) > 1)
    count = seen { { at = seconds(5), instance = 1, kind = "hang", recover_after = seconds(9) } }
    assert.equal(1, count(5.1, 13.9))
    count = seen { stale, { at = seconds(6), instance = 1, kind = "crash",
      recover_after = seconds(1) } }
    assert.is_true(count(7.1, 8.9) <= 2) -- what is outside of the engine outlives it
  end)

  it("misses who is gone, and a crash ends what was before it", function()
    local crash = { at = seconds(6), instance = 1, kind = "crash", recover_after = seconds(2) }
    local slow = { at = seconds(5), instance = 1, kind = "slow", factor = 50 }
    local r = run { slow, crash, { at = seconds(7), instance = 1, kind = "slow", factor = 50 },
      { at = seconds(7), instance = 1, kind = "lost-cache" } }
    local missed = {}
    for i, fault in ipairs(r.faults) do missed[i] = fault.is_missed end
    assert.same({ false, false, true, true }, missed)
    local rest = run { crash }
    assert.is_true(math.abs(r.e2e_ms.p50 - rest.e2e_ms.p50) < 0.05 * rest.e2e_ms.p50)
    assert.same({ "failed", "active" }, states({ slow, crash }, 1, { 7, 8.5 }))
  end)

  it("comes at random in several ways, each with a stream of its own", function()
    local function crashes(...)
      local times = {}
      for _, fault in ipairs(run({ ... }).faults) do
        if fault.kind == "crash" then times[#times + 1] = fault.time_us .. fault.instance end
      end
      return table.concat(times, " ")
    end
    local crash = { kind = "crash", mtbf = seconds(15), instance = 2, seed = 7,
      recover_after = seconds(1), requests = "rerouted" }
    local usual = crashes(crash)
    assert.is_truthy(usual:find("instance_1"))
    assert.is_nil(usual:find("instance_[02]"))
    assert.equal(usual, crashes(crash, { kind = "lost-cache", mtbf = seconds(5) }))
    crash.seed = 8
    assert.is_true(usual ~= crashes(crash))
  end)

  it("comes now and then", function()
    local faults = { { kind = "crash", mtbf = seconds(20), recover_after = seconds(2),
      requests = "rerouted" } }
    local r = run(faults)
    assert.is_true(#r.faults >= 2)
    assert.is_true(conserves(r))
    assert.equal(r.hash, run(faults).hash)
    assert.is_true(r.hash ~= run(faults, { seed = 43 }).hash)
  end)

  it("is replaced where an autoscaler keeps the number", function()
    local r = run({ { at = seconds(5), instance = 1, kind = "crash", requests = "rerouted" } },
      { autoscaler = function() end, scaling = { loading_delay_us = seconds(2) } })
    assert.equal(1, r.scaling.started)
    assert.equal(4, #r.instances)
    assert.equal(450, r.completed)
  end)

  it("gives the same by steps, by both engines and as a clone", function()
    local spec = experiment({
      { at = seconds(3), instance = 1, kind = "hang", recover_after = seconds(4) },
      { at = seconds(4), instance = 1, kind = "slow", recover_after = seconds(9) },
      { at = seconds(5), instance = 2, kind = "partition", recover_after = seconds(4) },
      { kind = "crash", mtbf = seconds(25), recover_after = seconds(3), requests = "rerouted" },
      { kind = "lost-cache", mtbf = seconds(9) },
      { at = seconds(2), instance = 2, kind = "stale", every = seconds(1) },
      { at = seconds(9), instance = 3, kind = "reclaim", notice = seconds(2) },
    }, { autoscaler = { "queue-depth", up = 2, cooldown_seconds = 3, interval_seconds = 1 } })
    local whole = blis.run(spec)
    assert.is_true(conserves(whole))
    local sim = blis.simulation(spec)
    while sim.now_us < seconds(8) do sim:step() end
    local clone = sim:clone()
    while sim:step() do end
    local stepped, cloned = sim:run(), clone:run()
    spec.cluster.engine = "stepwise"
    for _, r in ipairs { stepped, cloned, blis.run(spec) } do
      assert.equal(whole.hash, r.hash)
      assert.same(whole.faults, r.faults)
      assert.same(whole.scaling, r.scaling)
    end
  end)

  it("takes the place of an instance as any number has it", function()
    local r = run { { at = seconds(1), instance = 2.0, kind = "lost-cache" } }
    assert.equal("instance_1", r.faults[1].instance)
  end)

  it("is refused where it is wrong", function()
    local at = seconds(1)
    local wrong = {
      { { { at = at, instance = 4, kind = "crash" } }, "faults[1]: unknown instance_3" },
      { { { at = at, instance = 0, kind = "crash" } }, "faults[1].instance" },
      { { { at = at, kind = "crash" } }, "faults[1].instance" },
      { { { instance = 1, kind = "crash" } }, "faults[1]: at is missing" },
      { { { at = at, instance = 1, kind = "crush" } }, "did you mean 'crash'" },
      { { { at = at, instance = 1, kind = "slow", factor = 0 } }, "faults[1].factor" },
      { { { at = at, instance = 1, kind = "crash", until_us = 3 } }, "unknown option 'until_us'" },
      { { { at = at, instance = 1, kind = "flap" } }, "recover_after is missing" },
      { { { at = at, instance = 1, kind = "crash", mtbf = "5us" } },
        "at cannot be combined with mtbf" },
      { { { at = at, instance = 1, kind = "crash", seed = 5 } }, "seed requires mtbf" },
      { { { mtbf = "5us", instance = 4, kind = "crash" } }, "unknown instance_3" },
      { { { at = at, instance = 1, kind = "crash", factor = 3 } },
        "faults[1]: factor has no effect on a fault of kind crash; it applies to slow" },
      { { { at = at, instance = 1, kind = "slow", notice = at } }, "notice has no effect" },
      { { { mtbf = at, kind = "crash", every = at } }, "every has no effect" },
      { { { at = at, kind = "rolling-restart", every = seconds(6), notice = seconds(4),
        recover_after = seconds(3) } }, "unavailable for 4000000 us (notice) and 3000000 us" },
      { { { at = at, kind = "rolling-restart", notice = math.maxinteger, recover_after = "1us" } },
        "can be unavailable for" },
      { { { at = at, instance = 1, kind = "crash", retry_after = "5us" } },
        "retry_after requires requests = 'retried'" },
      { { { at = at, instance = 1, kind = "slow", requests = "rerouted" } },
        "requests has no effect on a fault of kind slow" },
      { { { at = at, instance = 1, kind = "hang", requests = "rerouted" } },
        "requests has no effect on a hang without recover_after" },
      { { { at = at, instance = 1, kind = "lost-cache", recover_after = at } },
        "recover_after has no effect" },
      { { { at = at, instance = 1, kind = "crash", restart_time = at } },
        "restart_time requires recover_after" },
      { { { at = at, instance = 1, kind = "crash", recover_after = "5us", restart_time = "6us" } },
        "restart_time is 6 us, but must be at most recover_after, 5 us" },
      { { { at = at, instance = 1, kind = "partition", recover_after = "5us",
        restart_time = "4us" } },
        "restart_time has no effect on a fault of kind partition" },
      { { { at = at, instance = 1, kind = "rolling-restart", recover_after = "5us" } },
        "instance has no effect on a fault of kind rolling-restart" },
      { { { at = at, instance = 1, kind = "flap", recover_after = "5us", times = 100000,
        every = math.maxinteger // 4 } }, "faults[1]: 100000 faults every 2305843009213693951 us" },
      { { { at = math.maxinteger, kind = "rolling-restart", recover_after = "5us" } },
        "the maximum simulated time" },
      { { { at = at, instance = 1.5, kind = "crash" } }, "faults[1].instance: invalid value 1.5" },
      { { { at = at, instance = 1, kind = "crash" }, nil, { at = at, instance = 1,
        kind = "crash" } }, "faults[2] is nil, but [3] has a value" },
      { { { at = at, instance = 1, kind = "crash" }, kind = "crash" },
        "faults: got a value at [kind]" },
      { { { at = at, instance = 1, kind = "crash", "hang" } }, "got a value at [1]" },
      { "crash", "a list of faults" },
      { { at = 3 }, "a list of faults" },
    }
    for _, one in ipairs(wrong) do
      local ok, message = pcall(run, one[1])
      assert.is_false(ok)
      assert.truthy(tostring(message):find(one[2], 1, true), tostring(message))
    end
  end)
end)
