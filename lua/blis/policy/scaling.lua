--- Instances that come and go: an autoscaler and what it may do, for the core.
local catalogue = require "blis.engine.catalogue"
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local node_pool = require "blis.config.node_pool"
local schema = require "blis.config.schema"
local section = require "blis.config.scaling"

local scaling = {}

local starts_usual, starts_per_replica = 256, 16

-- Targets of scaling by those of an SLO class.
local target_names = {
  ttft_ms = "ttft_target_us", itl_ms = "tpot_target_us", e2e_ms = "e2e_target_us",
}

--- Targets that are not given are those of the only SLO class that has any.
local function add_targets(values, slo_targets)
  local only = slo_targets and #slo_targets == 1 and slo_targets[1] or {}
  for theirs, ours in pairs(target_names) do
    values[ours] = values[ours] or math.ceil((only[theirs] or 0) * 1000)
  end
end

local function check_triggers(values)
  local has_target = values.ttft_target_us + values.tpot_target_us + values.e2e_target_us > 0
  if values.trigger_slo_attainment > 0 and not has_target then
    errors.invalid("scaling.trigger_slo_attainment needs a target: ttft_target_us, tpot_target_us, "
      .. "e2e_target_us, or slo_targets of one class")
  end
end

local function check_bounds(values, instances)
  local low, high = values.min_replicas, values.max_replicas
  if low > high then
    errors.invalid("scaling: min_replicas is %d, more than max_replicas, %d", low, high)
  end
  if instances < low or instances > high then
    errors.invalid("scaling: the cluster begins with %d instances, expected %d to %d "
      .. "(min_replicas to max_replicas)", instances, low, high)
  end
  if values.max_starts < instances then
    errors.invalid("scaling.max_starts is %d, less than the %d instances at first",
      values.max_starts, instances)
  end
end

local function fill_delays(options, values)
  for _, option in ipairs(options) do
    if option.type == "delay_us" and not values[option.name] then
      values[option.name] = { mean_us = 0, stddev_us = 0 }
    end
  end
end

local function read_node_pools(given, path, cluster)
  if given == nil then return nil end
  if type(given) ~= "table" or #given == 0 then
    schema.raise_value(path, given, "a list of node pools: { { name = \"a\", gpu = \"H100\", "
      .. "gpus_per_node = 8, nodes = 2 } }")
  end
  local pools, names = {}, {}
  for i, one in ipairs(given) do
    local pool = schema.read(node_pool, one, ("%s[%d]"):format(path, i))
    if names[pool.name] then
      errors.invalid("%s[%d]: there is a node pool '%s' already", path, i, pool.name)
    end
    names[pool.name] = true
    pool.max_nodes = pool.max_nodes or pool.nodes
    if pool.max_nodes < pool.nodes then
      errors.invalid("%s[%d]: max_nodes is %d, less than the %d nodes at first", path, i,
        pool.max_nodes, pool.nodes)
    end
    pool.gpu = catalogue.gpu_name(pool.gpu, cluster.catalogue)
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
    errors.invalid("autoscaler: under profile go-blis there is only '%s'", go_blis_autoscaler)
  end
  if cluster.groups then
    errors.invalid("autoscaler: under profile go-blis instances that come have no role; it cannot "
      .. "be combined with pools of prefill and decode, nor with groups")
  end
  local values = schema.read(section, given, "scaling")
  fill_delays(section.options, values)
  values.go_blis = true
  values.node_pools = read_node_pools(values.node_pools, "scaling.node_pools", cluster)
  values.warm_start = values.warm_start or not values.node_pools
  values.max_starts = cluster.instances + (values.node_pools and autoscaler ~= nil
    and go_blis_starts or 0)
  values.policy = autoscaler ~= nil and hooks.read_autoscaler(autoscaler, "autoscaler") or nil
  return values
end

--- What the core takes as scaling; nil without an autoscaler.
---@param autoscaler any as in an experiment
---@param given? table
---@param cluster table read
---@param profile string
---@param slo_targets? blis.SloTarget[]
---@return table?
function scaling.read(autoscaler, given, cluster, profile, slo_targets)
  local has_machines = type(given) == "table" and given.node_pools ~= nil
  if profile == "go-blis" and (autoscaler ~= nil or has_machines) then
    return read_go_blis(autoscaler, given, cluster)
  end
  if autoscaler == nil then
    if given ~= nil then
      errors.invalid("scaling has no effect without autoscaler, the name of one or what "
        .. "blis.autoscaler returned")
    end
    return nil
  end
  if cluster.groups then
    errors.invalid("autoscaler: a cluster with groups keeps its size")
  end
  local values = schema.read(section, given, "scaling")
  fill_delays(section.options, values)
  values.node_pools = read_node_pools(values.node_pools, "scaling.node_pools", cluster)
  values.max_starts = values.max_starts
    or math.max(starts_usual, starts_per_replica * values.max_replicas)
  check_bounds(values, cluster.instances)
  add_targets(values, slo_targets)
  check_triggers(values)
  values.policy = hooks.read_autoscaler(autoscaler, "autoscaler")
  return values
end

return scaling
