-- The queue with dispatch "event" lets go as many as the detector allows, and no more: whatever is
-- counted, however long the way to an instance is.
local blis = require "spec.support.old_defaults"

local function draw_requests(rng, output_max)
  local list, now_us, rate = {}, 0.0, rng:integer(20, 400)
  for i = 1, 150 do
    now_us = now_us + (rng:number() < 0.3 and 0 or rng:exponential(1e6 / rate))
    list[i] = { arrival_us = now_us // 1 | 0, prompt_tokens = rng:integer(1, 1500),
      output_tokens = rng:integer(1, output_max), tenant = ("ab"):sub(i % 2 + 1, i % 2 + 1) }
  end
  local place = 0
  return function()
    place = place + 1
    return list[place]
  end
end

local function of(rng, list) return list[rng:integer(1, #list)] end

--- A simulation with that detector, always the same one for a seed.
local function draw(seed, saturation, output_max, series_interval_us)
  local rng = blis.rng(seed, "event")
  local instances = rng:integer(1, 3)
  return blis.simulation {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = instances,
      max_num_seqs = of(rng, { 4, 256 }), kv_blocks = of(rng, { 400, 2000 }),
      routing_latency_us = of(rng, { 0, 700, 40000 }),
      snapshot_refresh_us = of(rng, { 0, 50000 }), engine = of(rng, { "fast", "stepwise" }) },
    routing = of(rng, { "round-robin", "least-loaded" }), seed = seed,
    queue = { dispatch = "event", saturation = saturation,
      fairness = of(rng, { "global-strict", "round-robin", "least-service" }) },
    workload = draw_requests(rng, output_max), series_interval_us = series_interval_us,
  }, instances
end

--- The largest sum over instances of what a function says of one, at any event.
local function most(sim, of_instance)
  local largest = 0
  while sim:step() do
    local sum = 0
    for _, instance in ipairs(sim.instances) do sum = sum + of_instance(instance) end
    largest = math.max(largest, sum)
  end
  return largest
end

local detectors = {
  "utilization", { "utilization", queue_depth_threshold = 1 },
  { "utilization", queue_depth_threshold = 1e9 },
  { "concurrency", max_concurrency = 7 }, { "concurrency", mode = "tokens",
    max_token_concurrency = 3000 },
}

describe("the queue with dispatch event", function()
  it("never has more in flight than it was told, on the way or not", function()
    local filled = 0
    for seed = 1, 20 do
      local limit = 3 + seed % 5
      local sim, count = draw(seed, { "concurrency", max_concurrency = limit }, 60)
      local largest = most(sim, function(one) return one.in_flight end)
      assert.is_true(largest <= limit * count, "seed " .. seed)
      filled = filled + (largest == limit * count and 1 or 0)
    end
    assert.is_true(filled > 10)
  end)

  it("sends no queue more than its threshold", function()
    local filled = 0
    for seed = 1, 20 do
      local limit = 1 + seed % 4
      local sim, count = draw(seed, { "utilization", queue_depth_threshold = limit,
        kv_utilization_threshold = 1 }, 1)
      local largest = most(sim, function(one) return one.queue_depth end)
      assert.is_true(largest <= limit * count, "seed " .. seed)
      filled = filled + (largest == limit * count and 1 or 0)
    end
    assert.is_true(filled > 5)
  end)

  it("promises no more of the KV than its threshold and a prompt", function()
    local filled = 0
    for seed = 1, 20 do
      local sim, count = draw(seed, { "utilization", queue_depth_threshold = 1e9,
        kv_utilization_threshold = 0.5 }, 1)
      local prompt = 1500 // 16 + 2
      local largest = most(sim, function(one) return one.kv_utilization / count end)
      assert.is_true(largest <= 0.5 + prompt / sim.instances[1].kv_blocks, "seed " .. seed)
      filled = filled + (largest > 0.35 and 1 or 0)
    end
    assert.is_true(filled > 5)
  end)

  it("lets nobody wait while nothing saturates", function()
    local waited = 0
    for seed = 1, 30 do
      local series = draw(seed, detectors[seed % #detectors + 1], 60, 9973):run().series
      for row = 1, series.rows do
        local waiting = 0
        for _, band in ipairs(series.bands) do waiting = waiting + band.waiting[row] end
        assert.is_true(waiting == 0 or series.saturation[row] >= 1,
          ("seed %d at %d us"):format(seed, series.t_us[row]))
        waited = waited + (waiting > 0 and 1 or 0)
      end
    end
    assert.is_true(waited > 1000)
  end)
end)
