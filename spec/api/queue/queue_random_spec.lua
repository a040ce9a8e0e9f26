-- The queue of the gateway among everything else: random experiments in which every request ends
-- once and both engines agree.
local blis = require "blis"

local classes = { "critical", "standard", "batch", "sheddable" }

local function drawer(rng)
  local draw = {}
  function draw.of(list) return list[rng:integer(1, #list)] end
  function draw.maybe(share, value) if rng:number() < share then return value end end
  return draw
end

--- The longest queue of tenants.
local function most_waiting(flows)
  local best = 1
  for i, flow in ipairs(flows) do
    if flow.waiting > flows[best].waiting then best = i end
  end
  return best
end

--- The lowest band that is open.
local function lowest_open(bands)
  for i = #bands, 1, -1 do
    if bands[i].is_open then return i end
  end
end

local function by_requests(instances)
  local sum = 0
  for _, one in ipairs(instances) do sum = sum + one.in_flight end
  return #instances == 0 and 1 or sum / (6 * #instances)
end

local function draw_queue(rng, draw)
  local dispatch = draw.of { "cycle", "tick", "event" }
  local may_remember = dispatch ~= "event"
  local max_requests = draw.of { 0, 10, 40 }
  return {
    dispatch = dispatch, cycle_us = may_remember and draw.of { 1000, 250, 20000 } or nil,
    saturation = draw.of { "utilization", { "utilization", queue_depth_threshold = 1 },
      { "concurrency", max_concurrency = rng:integer(1, 12) },
      { "concurrency", mode = "hybrid", max_concurrency = 5, max_token_concurrency = 4000 },
      may_remember and by_requests or "never" },
    usage_limit = draw.of { "static", "linear",
      { "priority-holdback", min_ceiling = rng:number() },
      may_remember and "soft-reflective" or "static" },
    fairness = draw.of { "global-strict", "round-robin", "least-service", most_waiting },
    order = draw.of { "fifo", "edf", "slo-deadline",
      function(request) return -request.prompt_tokens end },
    band_selection = may_remember and draw.maybe(0.3, lowest_open) or nil,
    max_requests = max_requests, max_bytes = draw.of { 0, 20000 },
    band_max_requests = draw.of { 5000, 8, 0 }, sheds = rng:number() < 0.3 and max_requests > 0,
    ttl_us = draw.of { 0, 500000, 60000000 },
    no_endpoint_ttl_us = draw.maybe(0.5, draw.of { 0, 700000 }),
    eviction = may_remember and rng:number() < 0.4,
  }
end

local function draw_requests(rng, draw)
  local list, now_us, rate = {}, 0.0, rng:integer(5, 200)
  for i = 1, 120 do
    now_us = now_us + (rng:number() < 0.2 and 0 or rng:exponential(1e6 / rate))
    list[i] = {
      arrival_us = now_us // 1 | 0, slo_class = draw.of(classes), tenant = draw.of { "a", "b", "" },
      prompt_tokens = rng:integer(1, 1500), output_tokens = rng:integer(1, 150),
      slo_target_us = draw.maybe(0.5, rng:integer(1, 5000000)),
    }
  end
  local place = 0
  return function()
    place = place + 1
    return list[place]
  end
end

--- An experiment, always the same one for a seed.
local function draw_experiment(seed, engine)
  local rng = blis.rng(seed, "gateway")
  local draw = drawer(rng)
  local instances = rng:integer(1, 4)
  local apart = instances > 1 and rng:number() < 0.3
  local fault = { kind = draw.of { "crash", "hang", "slow", "flap" }, at = rng:integer(0, 2000000),
    instance = "instance_0", recover_after = rng:integer(100000, 2000000) }
  return {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = instances, engine = engine,
      max_num_seqs = draw.of { 4, 32 }, kv_blocks = draw.of { 300, 10000 },
      prefill_instances = apart and 1 or nil, decode_instances = apart and instances - 1 or nil,
      snapshot_refresh_us = draw.of { 0, 50000 }, routing_latency_us = draw.of { 0, 700 } },
    routing = draw.of { "round-robin", "least-loaded", "weighted" }, seed = seed,
    queue = draw_queue(rng, draw), workload = draw_requests(rng, draw),
    admission = draw.maybe(0.2, draw.of { "probabilistic", "latency-slo" }),
    faults = draw.maybe(0.3, { fault }),
  }
end

local function check_sums(result)
  local queue, turned_away = result.queue, 0
  assert.equal(result.arrived, result.completed + result.rejected + result.failed
    + result.timed_out + result.unservable + result.still_arriving + result.still_queued
    + result.still_running)
  assert.equal(queue.enqueued, queue.dispatched + queue.shed + queue.expired + queue.waiting)
  for _, name in ipairs { "enqueued", "dispatched", "rejected", "shed", "expired", "evicted" } do
    local sum = 0
    for _, band in ipairs(queue.bands) do sum = sum + band[name] end
    assert.equal(queue[name], sum)
  end
  for _, request in ipairs(result.requests) do
    local is_of_queue = tostring(request.reason):match "^rejected%-"
      or tostring(request.reason):match "^gateway%-"
    turned_away = turned_away + (is_of_queue and request.status_code and 1 or 0)
  end
  assert.equal(queue.status_429 + queue.status_503, turned_away)
end

describe("a queue of the gateway, at random", function()
  it("loses nobody, and is the same in both engines #slow", function()
    for seed = 1, 60 do
      local fast = blis.run(draw_experiment(seed, "fast"))
      check_sums(fast)
      assert.equal(fast.hash, blis.run(draw_experiment(seed, "stepwise")).hash, "seed " .. seed)
    end
  end)
end)
