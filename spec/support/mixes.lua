--- Experiments at random out of all optional parts of a cluster, for properties that hold whatever
--- meets whatever: always the same one for a seed.
local blis = require "blis"

local mixes = {}

local seconds = blis.seconds

local function drawer(rng)
  local draw = {}
  function draw.int(low, high) return rng:integer(low, high) end
  function draw.chance(share) return rng:number() < share end
  function draw.of(list) return list[rng:integer(1, #list)] end
  function draw.maybe(share, value) return draw.chance(share) and value or nil end
  return draw
end

local classes = { "critical", "standard", "batch", "sheddable" }

--- A task: a chain, with a fork or a child in the background now and then.
local function task(rng, number)
  local calls = { prefix_group = number % 3 == 0 and "system" or nil,
    prefix_tokens = number % 3 == 0 and 320 or nil, tenant = number % 2 == 0 and "a" or "b" }
  for k = 1, rng:integer(1, 5) do
    calls[k] = {
      id = "call" .. k, after = k > 1 and "call" .. rng:integer(math.max(1, k - 2), k - 1) or nil,
      tool_us = k > 1 and rng:integer(0, 1500000) or nil,
      background = k > 1 and rng:number() < 0.15 or nil,
      extends = k > 1 and rng:number() < 0.2 and false or nil,
      prompt_tokens = rng:integer(20, 500), output_tokens = rng:integer(1, 60),
      adapter = rng:number() < 0.3 and "adapter_2" or nil,
    }
  end
  return calls
end

local workloads = {}

function workloads.graphs(draw, is_adapted)
  local named = draw.chance(0.5)
  local has_lanes = named and draw.chance(0.4)
  return {
    graphs = function(rng, number)
      local calls = task(rng, number)
      for _, call in ipairs(is_adapted and {} or calls) do call.adapter = nil end
      return calls
    end,
    count = draw.int(8, 25), rate = not named and draw.of { 1, 4 } or nil,
    concurrency = named and draw.int(2, 8) or nil, hints = draw.chance(0.5),
    on_failure = draw.of { "break", "continue" },
    timeout_us = draw.of { seconds(300), seconds(4) },
    idle_cap_us = has_lanes and draw.of { 1, 5000, 400000 } or nil,
    tree_idle_cap_us = has_lanes and draw.of { 1000, 300000 } or nil,
    warm_up_requests = has_lanes and draw.int(0, 3) or nil,
    primers = has_lanes and draw.chance(0.3) or nil,
  }
end

function workloads.short(draw)
  return {
    rate = draw.of { 5, 20, 60 }, requests = draw.int(30, 90),
    prompt = { "gaussian", mean = 300, std_dev = 250, min = 4, max = 1400 },
    output = { "gaussian", mean = 40, std_dev = 40, min = 1, max = 150 },
    prefixes = draw.maybe(0.6, { groups = draw.int(1, 6), tokens = draw.of { 64, 500 }, zipf = 1 }),
    sessions = draw.maybe(0.4, { max_rounds = 4, think_time_us = draw.of { 0, 400000 } }),
    timeout_us = draw.of { seconds(300), seconds(3) },
    slo_class = draw.maybe(0.3, draw.of(classes)), tenant = draw.maybe(0.3, "a"),
  }
end

local function kv_tiers(draw)
  local tiers = {
    { name = "cpu", blocks = draw.of { 0, 30, 400 }, read_gb_s = draw.of { 0, 0.5, 32 },
      scope = draw.of { "instance", "instance", "cluster", "node" },
      policy = draw.of { "lru", "fifo", "lfu", "arc", "reuse-hint",
        function(block) return block.uses - block.depth end },
      store = draw.of { "write-through", "write-through", "on-evict" },
      latency_us = draw.of { 0, 300 }, half_duplex = draw.chance(0.2),
      threshold = draw.of { 0, 0, 2 }, per_gpu = draw.chance(0.3),
      evict_above = draw.maybe(0.3, draw.of { 0.5, 0.9 }) },
  }
  local cpu = tiers[1]
  if cpu.scope == "node" then cpu.instances_per_node = 2 end
  if cpu.scope == "instance" then
    cpu.shared, cpu.survives = draw.chance(0.4), draw.chance(0.3)
    cpu.peer_weight = cpu.shared and draw.of { 0, 0.4 } or nil
  end
  if draw.chance(0.5) then
    tiers[2] = { name = "disk", blocks = draw.of { 60, 1000 }, read_gb_s = draw.of { 1, 5 },
      stage = draw.maybe(0.7, "cpu"), store = draw.of { "write-through", "on-evict", "none" },
      scope = draw.of { "instance", "cluster" }, promote = draw.chance(0.7) }
    if cpu.scope ~= "instance" and tiers[2].stage then tiers[2].scope = "cluster" end
  end
  tiers.load = draw.of { "all", "all", "if-faster",
    function(_, offer) return offer.offered_tokens // 2 end }
  tiers.network_gb_s = draw.of { 0, 10 }
  tiers.save_output = draw.chance(0.3)
  tiers.chunk_tokens = draw.of { 0, 0, 64 }
  tiers.batch_blocks = draw.of { 1, 10 }
  return tiers
end

local function lora(draw)
  return {
    adapters = draw.int(2, 6), slots = draw.int(1, 3), host_slots = draw.of { 0, 4 },
    rank = draw.of { 8, 64 }, load_base_latency_us = draw.of { 0, 40000 },
    order = draw.of { "skip", "head-of-line" }, max_skip_us = draw.of { 0, 200000 },
    mode = draw.of { "overlap", "block" }, reserve_memory = false,
  }
end

local function speculation(draw)
  return {
    method = draw.of { "draft", "mtp", "ngram" }, tokens = draw.int(1, 4),
    acceptance = draw.of { 0, 0.6, 0.95, 1 }, draft_base_us = 300, draft_per_sequence_us = 10,
    max_batch = draw.of { 0, 0, 4 },
  }
end

local kinds = { "crash", "hang", "slow", "partition", "stale", "lost-cache", "reclaim", "flap" }
local ending = { crash = true, hang = true, reclaim = true, flap = true }

local function faults(draw, instances)
  local list = {}
  for i = 1, draw.int(1, 3) do
    local kind = draw.of(kinds)
    local fault = { kind = kind,
      recover_after = kind ~= "lost-cache" and seconds(draw.int(1, 4)) or nil,
      requests = ending[kind] and draw.of { "rerouted", "retried", "failed" } or nil,
      notice = kind == "reclaim" and seconds(draw.int(0, 2)) or nil }
    if draw.chance(0.3) then
      fault.mtbf = seconds(draw.int(3, 20))
    else
      fault.at, fault.instance = draw.int(100000, seconds(8)), draw.int(1, instances)
    end
    list[i] = fault
  end
  return list
end

local function spot(draw, instances)
  return {
    notice = draw.of { 0, seconds(1) }, restart_time = draw.of { 0, seconds(1) },
    requests = draw.of { "failed", "rerouted", "retried" },
    steps = {
      { at = 0, available = instances, gpu_price_per_hour = 1 },
      { at = seconds(draw.int(1, 3)), available = draw.int(0, instances) },
      { at = seconds(draw.int(4, 6)), available = instances, gpu_price_per_hour = 2 },
    },
  }
end

local function queue(draw)
  return {
    dispatch = draw.of { "cycle", "tick", "event" },
    saturation = draw.of { "utilization", { "concurrency", max_concurrency = draw.int(1, 12) } },
    fairness = draw.of { "global-strict", "round-robin" }, order = draw.of { "fifo", "edf" },
    ttl_us = draw.of { 0, seconds(1), seconds(60) },
  }
end

local function scaling(draw, spec)
  local wishes = {}
  for i = 1, 20 do wishes[i] = draw.int(0, 5) end
  spec.autoscaler = draw.of { "threshold", { "queue-depth", interval_seconds = 1 },
    blis.autoscaler { name = "wishes", interval_us = seconds(1) + draw.int(0, 900000),
      decide = function(context) return wishes[context.now_us // 1000000 % #wishes + 1] end } }
  spec.scaling = { min_replicas = draw.int(0, 1), max_replicas = 4,
    loading_delay_us = draw.of { 0, seconds(1) },
    drain = draw.of { "wait", "redirect", "immediate" } }
end

local function routing(draw, has_tiers, has_lora)
  local scorers = { "queue-depth:2", draw.of { "prefix-affinity:3", "precise-prefix-cache:3" } }
  if has_tiers then scorers[#scorers + 1] = "tiered-prefix:2" end
  if has_lora then scorers[#scorers + 1] = "lora-affinity:2" end
  return draw.of { "round-robin", "least-loaded", { "weighted",
    scorers = table.concat(scorers, ",") } }
end

local function cluster(draw)
  local instances = draw.int(1, 4)
  local made = {
    model = "qwen3-14b", hardware = "H100", tp = draw.of { 1, 2 }, instances = instances,
    kv_blocks = draw.of { 110, 200, 600, 5000 }, block_size = draw.of { 16, 32 },
    max_num_seqs = draw.of { 3, 16, 64 }, max_num_batched_tokens = draw.of { 200, 2048 },
    snapshot_refresh_us = draw.of { 0, 0, 30000 }, routing_latency_us = draw.of { 0, 0, 700 },
    cache_signal_delay_us = draw.of { 0, 0, 50000 },
    async_scheduling = draw.chance(0.5), scheduler = draw.of { "fcfs", "sjf", "priority-fcfs" },
    preemption_policy = draw.of { "fcfs", "priority" },
  }
  if instances > 1 and draw.chance(0.3) then
    made.prefill_instances = draw.int(1, instances - 1)
    made.decode_instances = instances - made.prefill_instances
  end
  return made
end

local function disaggregation(draw)
  return {
    decider = draw.of { "always", { "prefix-threshold", threshold = 200 } },
    order = draw.of { "source", "destination" }, bandwidth_gb_s = draw.of { 0.5, 25 },
    on_failure = draw.of { "fail", "recompute", "retry" },
    stage_order = draw.of { "decode-first", "prefill-first" },
  }
end

local function ranks(draw)
  return { count = draw.int(1, 3), barrier = draw.chance(0.5),
    prefill_interval = draw.of { 1, 1, 3 }, sync_every = draw.of { 1, 32 },
    dummy_us = draw.maybe(0.3, draw.of { 0, 30000 }) }
end

--- What there is in profile go-blis: the parts it shares with the other one.
local function as_in_go_blis(spec)
  spec.profile, spec.kv_tiers, spec.cluster.speculation = "go-blis", nil, nil
  spec.cluster.ranks, spec.cluster.spot, spec.faults = nil, nil, nil
  if spec.disaggregation then spec.disaggregation = {} end
  if spec.autoscaler then
    spec.autoscaler, spec.scaling = not spec.disaggregation and "saturation-pipeline" or nil, nil
  end
end

--- The experiment of a seed, and the names of its parts.
---@param seed integer
---@param engine? string
---@return table, string[]
function mixes.experiment(seed, engine)
  local draw, parts = drawer(blis.rng(seed, "mixes")), {}
  local function has(name, share)
    local is_in = draw.chance(share)
    if is_in then parts[#parts + 1] = name end
    return is_in
  end
  local spec = { seed = seed, cluster = cluster(draw) }
  local instances = spec.cluster.instances
  spec.cluster.engine = engine
  if spec.cluster.prefill_instances then
    parts[1] = "pools"
    spec.cluster.instances = nil
    spec.disaggregation = disaggregation(draw)
  end
  if has("lora", 0.3) then spec.cluster.lora = lora(draw) end
  if has("speculation", 0.3) then spec.cluster.speculation = speculation(draw) end
  if has("ranks", 0.15) then spec.cluster.ranks = ranks(draw) end
  if has("kv_tiers", 0.5) then spec.kv_tiers = kv_tiers(draw) end
  if has("kv_cpu_blocks", spec.kv_tiers and 0.02 or 0.15) then
    spec.cluster.kv_cpu_blocks = draw.of { 50, 500 }
  end
  local kind = has("graphs", 0.4) and "graphs" or "short"
  spec.workload = workloads[kind](draw, spec.cluster.lora ~= nil)
  if has("faults", 0.3) then spec.faults = faults(draw, instances) end
  if has("spot", 0.12) then spec.cluster.spot = spot(draw, instances) end
  if has("queue", 0.2) then spec.queue = queue(draw) end
  if has("autoscaler", spec.cluster.spot and 0.05 or 0.2) then
    scaling(draw, spec)
  end
  if draw.chance(0.07) then
    as_in_go_blis(spec)
    parts = { "go-blis" }
  end
  spec.priority = draw.maybe(0.2, draw.of { "slo-based",
    spec.profile == nil and "least-attained-service" or "slo-based" })
  spec.series_interval_us = draw.maybe(0.1, seconds(1))
  spec.trace_level = draw.maybe(0.1, "decisions")
  spec.admission = draw.maybe(0.1, "probabilistic")
  spec.horizon_us = draw.maybe(0.15, seconds(draw.int(2, 9)))
  spec.routing = routing(draw, spec.kv_tiers ~= nil, spec.cluster.lora ~= nil)
  return spec, parts
end

return mixes
