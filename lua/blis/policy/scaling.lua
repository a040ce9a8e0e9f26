--- Instances that come and go: an autoscaler and what it may do, for the core.
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
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

--- What the core takes as scaling; nil without an autoscaler.
---@param autoscaler any as in an experiment
---@param given? table
---@param cluster table read
---@param profile string
---@param slo_targets? blis.SloTarget[]
---@return table?
function scaling.read(autoscaler, given, cluster, profile, slo_targets)
  if autoscaler == nil then
    if given ~= nil then
      errors.invalid("scaling has no effect without autoscaler, the name of one or what "
        .. "blis.autoscaler returned")
    end
    return nil
  end
  if profile == "go-blis" then
    errors.invalid("autoscaler: under profile go-blis the number of instances is fixed")
  end
  if cluster.groups then
    errors.invalid("autoscaler: a cluster with groups keeps its size")
  end
  local values = schema.read(section, given, "scaling")
  for _, option in ipairs(section.options) do
    if option.type == "delay_us" and not values[option.name] then
      values[option.name] = { mean_us = 0, stddev_us = 0 }
    end
  end
  values.max_starts = values.max_starts
    or math.max(starts_usual, starts_per_replica * values.max_replicas)
  check_bounds(values, cluster.instances)
  add_targets(values, slo_targets)
  check_triggers(values)
  values.policy = hooks.read_autoscaler(autoscaler, "autoscaler")
  return values
end

return scaling
