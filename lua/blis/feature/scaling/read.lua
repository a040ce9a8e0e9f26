--- Instances that come and go: an autoscaler and what it may do, for the core.
local catalogue = require "blis.catalogue"
local defaults = require "blis.config.defaults"
local errors = require "blis.errors"
local faults = require "blis.feature.faults.read"
local hooks = require "blis.policy.hooks"
local node_pool = require "blis.feature.scaling.node_pool"
local schema = require "blis.config.schema"
local section = require "blis.feature.scaling.options"
local usual = require "blis.feature.scaling.usual"

local scaling = {}

local starts_usual, starts_per_replica = 256, 16
local us_per_start, starts_per_fault, starts_most = 30000000, 2, 32768

--- Maximum number of starts in a run with this traffic and these faults.
local function usual_starts(most_replicas, traffic_us, read_faults)
  local starts = traffic_us / us_per_start
    + starts_per_fault * faults.expected(read_faults, traffic_us, most_replicas)
  return math.max(starts_usual, starts_per_replica * most_replicas,
    math.floor(math.min(starts, starts_most)))
end

-- Targets of scaling by those of an SLO class.
local target_names = {
  ttft_ms = "ttft_target_us", itl_ms = "tpot_target_us", e2e_ms = "e2e_target_us",
}

--- Default targets: the targets of the SLO class, if only one class has targets.
local function add_targets(values, slo_targets)
  local only = slo_targets and #slo_targets == 1 and slo_targets[1] or {}
  for theirs, ours in pairs(target_names) do
    values[ours] = values[ours] or math.ceil((only[theirs] or 0) * 1000)
  end
end

local function check_triggers(values, path)
  local has_target = values.ttft_target_us > 0 or values.tpot_target_us > 0
    or values.e2e_target_us > 0
  if values.trigger_slo_attainment > 0 and not has_target then
    errors.invalid("%s.trigger_slo_attainment requires a target: %s.ttft_target_us, "
      .. "%s.tpot_target_us or %s.e2e_target_us (--autoscaler-ttft-target and so on), or "
      .. "slo_targets of one class alone", path, path, path, path)
  end
end

-- Of pools, as the core has them.
local roles = { all = 0, prefill = 1, decode = 2 }

local function check_bounds(values, instances, path, what)
  local low, high = values.min_replicas, values.max_replicas
  if low > high then
    errors.invalid("%s: min_replicas is %d, more than max_replicas, %d", path, low, high)
  end
  if instances < low or instances > high then
    errors.invalid("%s: the cluster starts with %d %s, expected %d to %d (min_replicas to "
      .. "max_replicas)", path, instances,
      instances == 1 and what:sub(1, -2) or what, low, high)
  end
end

local function fill_delays(options, values)
  for _, option in ipairs(options) do
    if option.type == "delay_us" and not values[option.name] then
      values[option.name] = { mean_us = 0, stddev_us = 0, distribution = "normal" }
    end
  end
end

local example_of_pools = "a list of node pools: { { name = \"a\", gpu = \"H100\", gpus_per_node = "
  .. "8, nodes = 2 } }"

local function read_node_pools(given, path, cluster)
  if given == nil then return nil end
  if type(given) ~= "table" or next(given) == nil then
    schema.raise_value(path, given, example_of_pools)
  end
  schema.check_list(given, path, example_of_pools)
  local pools, names = {}, {}
  for i, one in ipairs(given) do
    local pool = schema.read(node_pool, one, ("%s[%d]"):format(path, i))
    if names[pool.name] then
      errors.invalid("%s[%d]: duplicate node pool '%s'", path, i, pool.name)
    end
    names[pool.name] = true
    pool.max_nodes = pool.max_nodes or pool.nodes
    if pool.max_nodes < pool.nodes then
      errors.invalid("%s[%d]: max_nodes is %d, less than the %d initial nodes", path, i,
        pool.max_nodes, pool.nodes)
    end
    pool.gpu, pool.gpu_price_per_hour = catalogue.gpu_name(pool.gpu, cluster.catalogue)
    fill_delays(node_pool.options, pool)
    pools[i] = pool
  end
  return pools
end

-- The only autoscaler that BLIS in Go has.
local go_blis_autoscaler = "saturation-pipeline"
local go_blis_starts = 1024

--- Under profile go-blis: its own loop, or machines alone.
local function read_go_blis(autoscaler, given, cluster)
  local name = type(autoscaler) == "table" and autoscaler[1] or autoscaler
  if autoscaler ~= nil and name ~= go_blis_autoscaler then
    errors.invalid("autoscaler: profile go-blis supports only '%s'", go_blis_autoscaler)
  end
  if cluster.groups then
    errors.invalid("autoscaler: under profile go-blis, new instances have no role, so an "
      .. "autoscaler cannot be combined with prefill and decode pools or with groups")
  end
  if cluster.ranks then
    errors.invalid("autoscaler: profile go-blis does not support data-parallel ranks with an "
      .. "autoscaler; omit cluster.ranks")
  end
  local values = schema.read(section, given, "scaling")
  fill_delays(section.options, values)
  values.go_blis = true
  values.node_pools = read_node_pools(values.node_pools, "scaling.node_pools", cluster)
  values.warm_start = values.warm_start or not values.node_pools
  values.max_starts = cluster.instances + (values.node_pools and autoscaler ~= nil
    and go_blis_starts or 0)
  values.policy = autoscaler ~= nil and hooks.read_autoscaler(autoscaler, "autoscaler") or nil
  values.role, values.pools = roles.all, { values }
  return values
end

--- Targets of an instance, which is a group of data-parallel ranks where it has any.
local function ranks_of(values) return values.ranks and values.ranks.count or 1 end

--- How many instances of a cluster do a stage alone; without a role, all of them.
local function count_of(cluster, role)
  local count = 0
  for _, group in ipairs(cluster.groups or { cluster }) do
    if not role or group.role == role then count = count + group.instances // ranks_of(group) end
  end
  return count
end

local function most_ranks(cluster)
  local most = 1
  for _, group in ipairs(cluster.groups or { cluster }) do
    most = math.max(most, ranks_of(group))
  end
  return most
end

local stages = { "prefill", "decode" }

--- Whether an autoscaler is given for each stage: { prefill =, decode = }.
local function is_by_stage(autoscaler)
  return type(autoscaler) == "table" and (autoscaler.prefill ~= nil or autoscaler.decode ~= nil)
end

local function without_stages(given)
  local rest = {}
  for key, value in pairs(given or {}) do
    if key ~= "prefill" and key ~= "decode" then rest[key] = value end
  end
  return rest
end

-- Options that are not of one pool or the other.
local of_all = { "instance_capacity", "max_starts", "node_pools", "replica_price_per_hour" }

--- The options of a pool: the common options, overridden by its own options.
local function options_of(given, stage)
  local own = (given or {})[stage]
  if own ~= nil and type(own) ~= "table" then
    schema.raise_value("scaling." .. stage, own, "options of that pool, such as max_replicas")
  end
  for _, name in ipairs(own and of_all or {}) do
    if own[name] ~= nil then
      errors.invalid("scaling.%s.%s: %s applies to all instances; set it in scaling", stage, name,
        name)
    end
  end
  local options = without_stages(given)
  for key, value in pairs(own or {}) do options[key] = value end
  return options
end

local function read_values(given, path, version, slo_targets)
  local values = schema.read(section, usual.scaling(given, version), path)
  if values.warmup_factor and not values.warmup_duration_us then
    errors.invalid("%s: warmup_factor requires warmup_duration_us, the duration of the "
      .. "slowdown", path)
  end
  fill_delays(section.options, values)
  add_targets(values, slo_targets)
  check_triggers(values, path)
  return values
end

--- Each stage on its own; one that has no autoscaler keeps its size.
local function read_stages(autoscaler, given, cluster, slo_targets)
  local version, pools, most = defaults.of(cluster.defaults), {}, 0
  for _, stage in ipairs(stages) do
    local own, path = autoscaler, "autoscaler"
    if is_by_stage(autoscaler) then own, path = autoscaler[stage], "autoscaler." .. stage end
    if own ~= nil then
      local values = read_values(options_of(given, stage), "scaling." .. stage, version,
        slo_targets)
      if values.min_replicas < 1 then
        errors.invalid("scaling.%s: min_replicas is 0, but hand-offs require one instance of each "
          .. "stage", stage)
      end
      check_bounds(values, count_of(cluster, stage), "scaling." .. stage, stage .. " instances")
      values.role = roles[stage]
      values.policy = hooks.read_autoscaler(usual.autoscaler(own, version), path)
      pools[#pools + 1], most = values, most + values.max_replicas
    end
  end
  return pools, most
end

local function check_alike(cluster)
  for _, group in ipairs(cluster.groups or {}) do
    if group.model ~= cluster.groups[1].model then
      errors.invalid("autoscaler: the groups of the cluster serve different models (%s, %s), and "
        .. "one instance count cannot follow the load of both", cluster.groups[1].model,
        group.model)
    end
  end
end

local function read_one_pool(autoscaler, given, cluster, slo_targets)
  if is_by_stage(autoscaler) or type(given) == "table" and (given.prefill or given.decode) then
    errors.invalid("autoscaler: the cluster has no prefill and decode pools to scale separately; "
      .. "set prefill_instances and decode_instances")
  end
  check_alike(cluster)
  local version = defaults.of(cluster.defaults)
  local values = read_values(given, "scaling", version, slo_targets)
  check_bounds(values, count_of(cluster), "scaling", "instances")
  values.role = roles.all
  values.policy = hooks.read_autoscaler(usual.autoscaler(autoscaler, version), "autoscaler")
  return { values }, values.max_replicas
end

--- The definitions of the autoscalers that an experiment asks for.
---@param autoscaler any as in an experiment
---@return { policy: table }[]
function scaling.policies(autoscaler)
  local list = {}
  local function add(one)
    if one ~= nil then
      list[#list + 1] = { policy = hooks.read_autoscaler(one, "autoscaler") }
    end
  end
  if is_by_stage(autoscaler) then
    add(autoscaler.prefill)
    add(autoscaler.decode)
  else
    add(autoscaler)
  end
  return list
end

--- What the core takes as scaling; nil without an autoscaler.
---@param autoscaler any as in an experiment
---@param given? table
---@param cluster table read
---@param profile string
---@param slo_targets? blis.SloTarget[]
---@param traffic_us integer how long requests come, 0 = not known
---@param read_faults? table what faults.read returned
---@return table?
function scaling.read(autoscaler, given, cluster, profile, slo_targets, traffic_us, read_faults)
  local has_machines = type(given) == "table" and given.node_pools ~= nil
  if profile == "go-blis" and (autoscaler ~= nil or has_machines) then
    return read_go_blis(autoscaler, given, cluster)
  end
  if autoscaler == nil then
    if given ~= nil then
      errors.invalid("scaling has no effect without autoscaler (a name, or a result of "
        .. "blis.autoscaler)")
    end
    return nil
  end
  local read = cluster.has_pools and read_stages or read_one_pool
  local pools, most = read(autoscaler, given, cluster, slo_targets)
  local values = {}
  for key, value in pairs(pools[1]) do values[key] = value end
  values.pools = pools
  values.node_pools = read_node_pools(values.node_pools, "scaling.node_pools", cluster)
  values.max_starts = values.max_starts or usual_starts(most, traffic_us, read_faults)
  if values.max_starts < count_of(cluster) then
    errors.invalid("scaling.max_starts is %d, less than the %d initial instances",
      values.max_starts, count_of(cluster))
  end
  values.max_starts = values.max_starts * most_ranks(cluster)
  return values
end

return scaling
