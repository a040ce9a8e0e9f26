-- The queue of the gateway: what leaves when, what becomes of the others, and what is refused.
local blis = require "blis"

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
        cycle_us = 20000 }
      assert.equal(400, result.completed)
      seconds[dispatch] = result.duration_us
    end
    assert.is_true(seconds.event < seconds.cycle)
    assert.is_true(seconds.event < seconds.tick)
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
      saturation = function() return 0 / 0 end })
    assert.matches("usage limit.*each band", failure { usage_limit = function() return {} end })
    assert.matches("usage limit.*list of ceilings", failure { usage_limit = function() end })
    assert.matches("looked at", failure { dispatch = "event", saturation = measure })
  end)

  it("says what is wrong", function()
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
