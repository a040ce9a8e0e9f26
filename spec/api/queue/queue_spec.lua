-- The queue of the gateway: what leaves when, what becomes of the others, and what is refused.
local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"

local burst = {
  clients = {
    { id = "chat", rate_fraction = 0.5, slo_class = "critical", tenant_id = "a",
      arrival = { process = "poisson" },
      input_distribution = { type = "constant", params = { value = 200 } },
      output_distribution = { type = "constant", params = { value = 40 } } },
    { id = "jobs", rate_fraction = 0.5, slo_class = "batch", tenant_id = "b",
      arrival = { process = "poisson" },
      input_distribution = { type = "constant", params = { value = 200 } },
      output_distribution = { type = "constant", params = { value = 40 } } },
  },
  aggregate_rate = 80, num_requests = 400, version = "2", seed = 7,
}

local function run(queue, more)
  local experiment = {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 1 }, workload = burst,
    queue = queue,
  }
  for key, value in pairs(more or {}) do experiment[key] = value end
  return blis.run(experiment)
end

local function failure(queue)
  local ok, problem = pcall(run, queue)
  assert.is_false(ok)
  return tostring(problem)
end

local full_at_8 = { "concurrency", max_concurrency = 8 }

describe("a queue of the gateway", function()
  it("lets the more important ones go first", function()
    local with, without = run { saturation = full_at_8, ttl_us = 0 }, run(nil)
    local waits = with.by_slo_class
    assert.equal(400, with.queue.dispatched)
    assert.equal(400, with.completed)
    assert.is_true(waits.critical.ttft_ms.mean < waits.batch.ttft_ms.mean / 4)
    assert.is_true(with.queue.mean_wait_ms > 100)
    assert.is_nil(rawget(without, "queue"))
  end)

  it("has three ways to dispatch, and the ideal one keeps nobody waiting", function()
    local seconds = {}
    for _, dispatch in ipairs { "cycle", "tick", "event" } do
      local result = run { dispatch = dispatch, saturation = full_at_8, ttl_us = 0,
        cycle_us = dispatch ~= "event" and 20000 or nil }
      assert.equal(400, result.completed)
      seconds[dispatch] = result.duration_us
    end
    assert.is_true(seconds.event < seconds.cycle)
    assert.is_true(seconds.event < seconds.tick)
  end)

  it("lets nobody leave for a queue that those before have filled", function()
    for _, dispatch in ipairs { "cycle", "event" } do
      local result = run({ dispatch = dispatch, ttl_us = 0, saturation = { "utilization",
        queue_depth_threshold = 5 } }, { cluster = { model = "qwen3-14b", hardware = "H100",
        max_num_seqs = 4 } })
      local leaving, most = {}, 0
      for _, request in ipairs(result.requests) do
        local at_us = request.arrival_us + request.gateway_wait_us
        leaving[at_us] = (leaving[at_us] or 0) + 1
        most = math.max(most, leaving[at_us])
      end
      assert.is_true(most <= 5, dispatch)
      assert.is_true(result.queue.peak > 50)
    end
  end)

  it("gives up what waits too long and what finds no room, and says why", function()
    local late = run { saturation = full_at_8, ttl_us = 1000000 }
    assert.is_true(late.queue.expired > 0)
    assert.equal(late.queue.expired, late.rejected)
    local small = run { saturation = full_at_8, max_requests = 20, ttl_us = 0 }
    assert.is_true(small.queue.rejected > 0)
    assert.equal(400, small.queue.rejected + small.completed)
    for _, request in ipairs(small.requests) do
      if request.state == "rejected" then assert.equal("rejected-saturated", request.reason) end
    end
    local shedding = run { saturation = full_at_8, max_requests = 20, ttl_us = 0, sheds = true }
    assert.is_true(shedding.queue.shed > 0)
    assert.equal(400, shedding.queue.rejected + shedding.queue.shed + shedding.completed)
    assert.is_true(shedding.by_slo_class.critical.rejected < small.by_slo_class.critical.rejected)
  end)

  it("takes running requests away for others", function()
    local result = run { saturation = full_at_8, ttl_us = 0, eviction = true }
    assert.is_true(result.queue.evicted > 0)
    assert.equal(result.queue.evicted, result.failed)
    assert.equal(400, result.completed + result.failed)
  end)

  it("holds lower classes back", function()
    local open = run { saturation = full_at_8, ttl_us = 0 }
    local held = run { saturation = full_at_8, ttl_us = 0,
      usage_limit = { "priority-holdback", min_ceiling = 0.3 } }
    assert.is_true(held.by_slo_class.critical.ttft_ms.p99 < open.by_slo_class.critical.ttft_ms.p99)
    assert.is_true(held.duration_us > open.duration_us)
  end)

  it("is the same in both engines", function()
    local hashes = {}
    for _, engine in ipairs { "fast", "stepwise" } do
      hashes[#hashes + 1] = run({ saturation = full_at_8 }, { cluster = { model = "qwen3-14b",
        hardware = "H100", instances = 2, engine = engine } }).hash
    end
    assert.equal(hashes[1], hashes[2])
  end)

  it("asks functions of a script", function()
    local function measure(instances)
      local sum = 0
      for _, one in ipairs(instances) do sum = sum + one.in_flight end
      return sum / (8 * #instances)
    end
    local function limit(_, priorities)
      local ceilings = {}
      for i in ipairs(priorities) do ceilings[i] = i == 1 and 1 or 0.3 end
      return ceilings
    end
    local builtin = run { saturation = full_at_8, ttl_us = 0,
      usage_limit = { "priority-holdback", min_ceiling = 0.3 } }
    local scripted = run { saturation = measure, usage_limit = limit, ttl_us = 0 }
    assert.equal(builtin.hash, scripted.hash)
    assert.matches("saturation detector.*a number", failure {
      saturation = function() return "x" end })
    assert.matches("saturation detector.*finite", failure {
      saturation = function() return 1 / 0 end })
    assert.matches("saturation detector.*nan", failure {
      saturation = function() return 0 / 0 end })
    assert.matches("usage limit.*nan", failure {
      usage_limit = function() return { 0 / 0, 0 / 0 } end })
    assert.matches("usage limit.*it returned nil as item 1 of a list, expected a number for each "
      .. "band", failure { usage_limit = function() return {} end })
    assert.matches("usage limit.*list of ceilings", failure { usage_limit = function() end })
    assert.matches("queue: the saturation detector depends on the rate", failure {
      dispatch = "event", saturation = measure })
    assert.matches("queue: the usage limit depends on the rate", failure {
      dispatch = "event", usage_limit = limit })
  end)

  it("says how long requests, bands and tenants waited, and with what status they ended", function()
    local result = run { saturation = full_at_8, ttl_us = 1000000, max_requests = 60 }
    local high, low = result.queue.bands[1], result.queue.bands[2]
    assert.same({ 4, -1 }, { high.priority, low.priority })
    assert.equal(result.queue.rejected, high.rejected + low.rejected)
    assert.equal(result.queue.expired, high.expired + low.expired)
    assert.equal(result.queue.status_429, result.rejected)
    assert.equal(0, result.queue.status_503)
    local waits, turned_away = {}, 0
    for _, request in ipairs(result.requests) do
      if request.gateway_wait_us then
        assert.is_true(request.gateway_wait_us <= request.ttft_us)
        waits[#waits + 1] = request.gateway_wait_us
      else
        turned_away = turned_away + 1
        assert.equal(429, request.status_code)
      end
    end
    assert.equal(result.rejected, turned_away)
    assert.equal(#waits, result.queue.wait_ms.count)
    local of_class = result.by_slo_class.critical.gateway_wait_ms
    assert.equal(high.dispatched, of_class.count)
    assert.is_true(math.abs(high.wait_ms.p50 - of_class.p50) <= of_class.p50 / 256)
    assert.equal(of_class.mean, result.by_tenant.a.gateway_wait_ms.mean)
    assert.is_true(result.queue.wait_fairness < 1)
    assert.is_nil(rawget(run(nil).by_slo_class.critical, "gateway_wait_ms"))
  end)

  it("shows its bands and saturation over time", function()
    local series = run({ saturation = full_at_8 }, { series_interval_us = 500000 }).series
    assert.equal(series.rows, #series.saturation)
    assert.same({ 4, -1 }, { series.bands[1].priority, series.bands[2].priority })
    local most, fullest = 0, 0
    for row = 1, series.rows do
      most = math.max(most, series.bands[2].waiting[row])
      fullest = math.max(fullest, series.saturation[row])
    end
    assert.is_true(most > 10)
    assert.equal(1, fullest)
    assert.equal(0, series.bands[2].waiting[series.rows])
    assert.is_nil(run({}, { series_interval_us = 500000, queue = false }).series.bands)
  end)

  it("lets functions choose tenants, order and bands", function()
    local function with(more)
      more.saturation, more.ttl_us = full_at_8, 0
      return run(more)
    end
    local strict = with {}
    assert.equal(strict.hash, with { band_selection = function() return 1 end }.hash)
    assert.equal(strict.hash, with { order = function(_, now_us) return now_us end }.hash)
    local last_first = with { order = function(request) return -request.arrival_us end }
    assert.are_not.equal(strict.hash, last_first.hash)
    assert.equal(400, last_first.completed)
    -- The lower band first is the higher band last.
    local upside_down = with { band_selection = function(bands) return #bands end }
    assert.is_true(upside_down.by_slo_class.batch.gateway_wait_ms.mean
      < upside_down.by_slo_class.critical.gateway_wait_ms.mean)
    local asked = 0
    local queue = blis.queue {
      saturation = full_at_8, ttl_us = 0,
      fairness = { name = "longest wait", new = function()
        return { pick = function(flows)
          asked = asked + 1
          local best = 1
          for i, flow in ipairs(flows) do
            if flow.head_wait_us > flows[best].head_wait_us then best = i end
          end
          return best
        end }
      end },
    }
    local priorities = { cluster = { model = "qwen3-14b", hardware = "H100", instances = 1,
      slo_priorities = { critical = 0, batch = 0 } } }
    local by_wait = run(queue, priorities)
    assert.is_true(asked > 100)
    assert.equal(run({ saturation = full_at_8, ttl_us = 0 }, priorities).hash, by_wait.hash)
  end)

  it("gives bands room of their own", function()
    local result = run { saturation = full_at_8, ttl_us = 0,
      bands = { { priority = -1, max_requests = 5 }, { priority = 4, max_bytes = 8000 } } }
    assert.equal(5, result.queue.bands[2].peak)
    assert.equal(10, result.queue.bands[1].peak) -- of 800 bytes each
    assert.equal(400, result.completed + result.queue.rejected)
  end)

  it("tells users of closed loops that they were turned away, and they come back", function()
    local users = {
      clients = { { id = "users", concurrency = 20, tenant_id = "a",
        input_distribution = { type = "constant", params = { value = 200 } },
        output_distribution = { type = "constant", params = { value = 100 } } } },
      num_requests = 100000, version = "2", seed = 3,
    }
    local queue = { max_requests = 2, saturation = { "concurrency", max_concurrency = 2 } }
    local function arrived(profile)
      return run(queue, { workload = users, horizon_us = blis.seconds(30), profile = profile })
    end
    local design, go_blis = arrived "design", arrived "go-blis"
    assert.is_true(design.rejected > 200)
    assert.is_true(go_blis.rejected <= 20) -- each user once, and never again
    assert.equal(design.arrived, design.completed + design.rejected + design.still_running
      + design.still_arriving + design.still_queued)
  end)

  it("is made once and stays as it was made", function()
    local detector, bands = { "concurrency", max_concurrency = 8 }, { { priority = -1 } }
    local made = blis.queue { saturation = detector, bands = bands, ttl_us = 0 }
    local before = run(made).hash
    detector.max_concurrency, bands[1].max_requests = 1, 1
    assert.equal(before, run(made).hash)
    assert.equal(before, run(blis.queue(made)).hash)
    assert.equal(run(true).hash, run(blis.queue(true)).hash)
    assert.equal(run({}).hash, run(blis.queue()).hash)
    local ok, problem = pcall(blis.queue, false)
    assert.is_false(ok)
    assert.matches("queue: invalid value false", tostring(problem))
  end)

  it("knows parameters of detectors by their other names, too", function()
    for name, more in pairs { concurrency = { max_concurrency = 8 },
      utilization = { queue_depth_threshold = 1 } } do
      local hashes = {}
      for i, alias in ipairs { name, name .. "-detector" } do
        local queue = { saturation = alias, ttl_us = 0 }
        for key, value in pairs(more) do queue[key] = value end
        hashes[i] = run(queue).hash
      end
      assert.equal(hashes[1], hashes[2])
      assert.not_equal(run({ saturation = name, ttl_us = 0 }).hash, hashes[1])
    end
  end)

  it("tells other programs of waits and status codes", function()
    local result = run { saturation = full_at_8, ttl_us = 1000000 }
    local function exported(name, of)
      local path = os.tmpname() .. name
      of:export_requests(path)
      local text = files.read(path)
      os.remove(path)
      return text
    end
    local i = 0
    for line in exported(".jsonl", result):gmatch "[^\n]+" do
      i = i + 1
      assert.same(result.requests[i], core.json_read(line))
    end
    assert.equal(400, i)
    local csv = exported(".csv", result)
    assert.matches("^[^\n]*,gateway_wait_us,status_code,frontend_us,priority\n", csv)
    assert.matches("rejected%-ttl%-expired,%a*,,429,", csv)
    assert.not_matches("gateway_wait_us", exported(".csv", run(nil)))
  end)

  it("counts deadlines from the arrival, and in BLIS (Go) from the queue", function()
    -- The second one is put off, and comes to the queue after the third.
    local function first_of_two(profile)
      local i, arrivals = 0, { 0, 1000, 2000 }
      local result = run({ saturation = { "concurrency", max_concurrency = 1 }, ttl_us = 0,
        order = "slo-deadline", slo_targets = { standard = 1000000 } }, {
        profile = profile,
        admission = function(request, cluster)
          local is_late = request.arrival_us == 1000 and cluster.now_us < 50000
          if is_late then return blis.delay(100000) end
          return blis.admit()
        end,
        workload = function()
          i = i + 1
          return arrivals[i] and { arrival_us = arrivals[i], prompt_tokens = 100,
            output_tokens = 200, slo_class = "standard" } or nil
        end,
      })
      local second, third = result.requests[2], result.requests[3]
      assert.equal(3, result.completed)
      return second.ttft_us + 1000 < third.ttft_us + 2000 and second.number or third.number
    end
    assert.equal(1, first_of_two "design")
    assert.equal(2, first_of_two "go-blis")
  end)

  it("is not stuck while an expiry, a repair or a start is due #lengthy", function()
    local function few(queue, more)
      local count = 0
      more = more or {}
      more.workload = function()
        count = count + 1
        return count <= 3 and { arrival_us = count, prompt_tokens = 9, output_tokens = 2 } or nil
      end
      return run(queue, more)
    end
    local function shut() return 1 end
    local ttl_us = blis.seconds(1100) -- more than a million cycles
    assert.equal(3, few({ saturation = shut, ttl_us = ttl_us }).queue.expired)
    local is_there = function(instances) return #instances == 0 and 1 or 0 end
    assert.equal(3, few({ saturation = is_there, ttl_us = 0 }, { faults = {
      { at = 0, instance = 1, kind = "crash", recover_after = ttl_us } } }).completed)
    local ok, problem = pcall(few, { saturation = shut, ttl_us = 0 })
    assert.is_false(ok)
    assert.matches("3 requests are waiting, 3 of them in the gateway's queue at saturation 1$",
      tostring(problem))
  end)

  it("says what is wrong", function()
    assert.matches("max_concurrency is a parameter of queue.saturation = 'concurrency'",
      failure { max_concurrency = 5 })
    assert.matches("usage_limit_threshold requires usage_limit = 'linear'",
      failure { usage_limit = "static", usage_limit_threshold = 0.5 })
    assert.matches("queue.bands%[1%].priority is missing",
      failure { bands = { { max_requests = 5 } } })
    assert.matches("duplicate priority 3",
      failure { bands = { { priority = 3 }, { priority = 3 } } })
    assert.matches("queue.bands", failure { bands = { priority = 3 } })
    assert.matches("order of a queue, request_0.*nan", failure {
      order = function() return 0 / 0 end })
    assert.matches("band selection.*one of 1 bands, or nil", failure {
      band_selection = function() return 2 end })
    assert.matches("queue.fairness: invalid value 'fair'", failure { fairness = "fair" })
    assert.matches("queue.order.key", failure { order = { name = "mine", key = 3 } })
    assert.matches("band_selection depends on the interval", failure {
      dispatch = "event", band_selection = function() return 1 end })
    assert.matches("expected the options of a queue", failure(blis.scorer "queue-depth"))
    assert.has_error(function() blis.queue { satturation = "never" } end)
    assert.matches("saturation", failure { saturation = "fullness" })
    assert.matches("unknown saturation detector 'utilisation'",
      failure { saturation = "utilisation" })
    assert.matches("queue.ttl_us", failure { ttl_us = -1 })
    assert.matches("queue.dispatch", failure { dispatch = "often" })
    assert.matches("eviction", failure { dispatch = "event", eviction = true })
    assert.matches("soft%-reflective",
      failure { dispatch = "event", usage_limit = "soft-reflective" })
    assert.matches("usage_limit_threshold", failure { usage_limit_threshold = 0 })
    assert.matches("queue", failure(7))
  end)
end)
