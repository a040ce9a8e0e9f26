-- What routers and admission policies are told of the pool: who waits at the gateway, and how full
-- the instances are.
local blis = require "blis"

local function experiment(options)
  return {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 2, max_num_seqs = 8,
      snapshot_refresh_us = options.refresh_us, engine = options.engine },
    workload = { rate = 80, requests = 200, prompt = 300, output = 60 }, seed = 3,
    queue = options.queue, routing = options.routing, admission = options.admission,
    locality = options.locality,
  }
end

--- What a router that takes turns read, decision by decision.
local function read(options)
  local list = {}
  options.routing = blis.router { name = "reader", route = function(request, candidates)
    list[#list + 1] = { request.gateway_queue_size, request.pool_saturation, candidates }
    local sum = 0.0
    for _, one in ipairs(candidates) do
      sum = sum + math.max(one.queue_depth / 5, one.kv_utilization / 0.8)
    end
    list[#list][3] = sum / #candidates
    return #list % 2 + 1
  end }
  local result = blis.run(experiment(options))
  return list, result
end

describe("request.pool_saturation", function()
  it("is the mean of the instances as the router sees them, without a queue", function()
    for _, refresh_us in ipairs { 0, 200000 } do
      local list = read { refresh_us = refresh_us }
      for _, seen in ipairs(list) do
        assert.equal(0, seen[1])
        assert.near(seen[3], seen[2], 1e-12)
      end
      assert.is_true(list[150][2] > 1)
    end
  end)

  it("is what the queue's detector says of the same signals", function()
    local queue = { saturation = { "utilization", queue_depth_threshold = 5 } }
    for _, refresh_us in ipairs { 0, 100000 } do
      for _, seen in ipairs((read { queue = queue, refresh_us = refresh_us })) do
        assert.near(seen[3], seen[2], 1e-12)
      end
    end
    local list = read { queue = { saturation = { "concurrency", max_concurrency = 10 } } }
    for _, seen in ipairs(list) do
      assert.is_true(seen[2] < 1)
      assert.equal(seen[2] * 20 // 1, seen[2] * 20)
    end
  end)

  it("is that of the last look where a function says it", function()
    local said
    local list = read { queue = { saturation = function(instances)
      said = (instances[1].in_flight + instances[2].in_flight) / 20
      return said
    end } }
    assert.is_true(list[100][2] > 0.9 and list[100][2] < 1)
  end)

  it("is hidden from policies with locality = 'strict'", function()
    local ok, problem = pcall(blis.run, experiment { locality = "strict",
      routing = function(request) return request.pool_saturation > 0 and 1 or 2 end })
    assert.is_false(ok)
    assert.matches("request.pool_saturation is computed from all instances", tostring(problem), 1,
      true)
  end)

  it("is the same in both engines", function()
    local queue = { saturation = { "concurrency", max_concurrency = 9 } }
    local fast = read { queue = queue, refresh_us = 50000, engine = "fast" }
    assert.same(fast, (read { queue = queue, refresh_us = 50000, engine = "stepwise" }))
  end)
end)

describe("request.gateway_queue_size", function()
  it("is who waits as of now, for routers and admission policies", function()
    local most_at_router, most_at_admission = 0, 0
    local list = read { queue = { saturation = { "concurrency", max_concurrency = 10 } },
      admission = function(request)
        most_at_admission = math.max(most_at_admission, request.gateway_queue_size)
        return request.gateway_queue_size < 30
      end }
    for _, seen in ipairs(list) do most_at_router = math.max(most_at_router, seen[1]) end
    assert.equal(30, most_at_admission)
    assert.equal(29, most_at_router)
    assert.is_true(#list < 200)
  end)
end)

describe("cached tokens that lag behind", function()
  -- How often the queue looks at the instances depends on the engine; only decisions see caches.
  it("are as old with a queue, in both engines and with a series", function()
    local function run(changes)
      return blis.run {
        cluster = { instances = 2, kv_blocks = 150, cache_signal_delay_us = 50000,
          engine = changes.engine },
        queue = true, series_interval_us = changes.series_interval_us,
        routing = { "weighted", scorers = "queue-depth:2,precise-prefix-cache:3" },
        workload = { rate = 36, requests = 300, prefixes = { groups = 6, tokens = 500 },
          prompt_tokens = 300, output_tokens = 40 },
      }
    end
    local fast = run { engine = "fast" }
    for _, other in ipairs { run { engine = "stepwise" }, run { series_interval_us = 100000 } } do
      assert.equal(fast.hash, other.hash)
      assert.same(fast.cache_prediction, other.cache_prediction)
    end
  end)
end)
