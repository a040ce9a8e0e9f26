--- Instances that come and go: an autoscaler and what it may do, for the core.
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local schema = require "blis.config.schema"
local section = require "blis.config.scaling"

local scaling = {}

local starts_usual, starts_per_replica = 256, 16

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
---@return table?
function scaling.read(autoscaler, given, cluster, profile)
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
  values.policy = hooks.read_autoscaler(autoscaler, "autoscaler")
  return values
end

return scaling
