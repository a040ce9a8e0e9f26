--- The gateway's queue, for the core.
local errors = require "blis.errors"
local hooks = require "blis.policy.hooks"
local schema = require "blis.config.schema"
local section = require "blis.config.queue"

local queue = {}

local usual_cycle_us, sweep_us, forget_bands_us = 1000, 1000000, 600000000

--- The detector, with the parameters that have options of their own.
local function read_detector(values, is_go_blis, path)
  local given = values.saturation
  local own = {
    concurrency = { max_concurrency = values.max_concurrency },
    utilization = {
      queue_depth_threshold = values.queue_depth_threshold,
      kv_utilization_threshold = values.kv_utilization_threshold,
      staleness_seconds = is_go_blis and 0 or nil,
    },
  }
  if type(given) == "string" and own[given] then
    own[given][1] = given
    given = own[given]
  end
  return hooks.read_saturation(given, path .. ".saturation")
end

local function read_limit(values, path)
  local given = values.usage_limit
  if values.usage_limit_threshold then
    given = { "linear", threshold = values.usage_limit_threshold }
  end
  return hooks.read_usage_limit(given, path .. ".usage_limit")
end

--- What the core takes; nil without a queue.
---@param given table|boolean|nil
---@param profile string
---@return table?
function queue.read(given, profile)
  if given == nil or given == false then return nil end
  if given == true then given = {} end
  local path, is_go_blis = "queue", profile == "go-blis"
  local values = schema.read(section, given, path, profile)
  values.saturation = read_detector(values, is_go_blis, path)
  values.usage_limit = read_limit(values, path)
  if values.cycle_us == 0 then values.cycle_us = usual_cycle_us end
  if values.dispatch == "event" and values.eviction then
    errors.invalid("queue.eviction goes by how often the queue is looked at, which dispatch "
      .. "'event' leaves open; use dispatch 'cycle'")
  end
  values.no_endpoint_ttl_us = values.no_endpoint_ttl_us or values.ttl_us
  values.is_go_blis = is_go_blis
  values.sweep_us = is_go_blis and 1 or sweep_us
  values.forget_bands_us = is_go_blis and 0 or forget_bands_us
  return values
end

return queue
