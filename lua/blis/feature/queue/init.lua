--- The gateway queue: admitted requests wait between admission and routing until the instances have
--- room.
local catalogue = require "blis.policy.catalogue"
local deferred = require "blis.deferred"
local evenness = deferred "blis.statistics.evenness"
local flags = deferred "blis.feature.queue.flags"
local format = require "blis.format"
local options = require "blis.config.option_text"
local read = deferred "blis.feature.queue.read"
local served = require "blis.catalogue.served"
local section = deferred "blis.feature.queue.options"

---@type blis.Feature
local queue = {
  options = "blis.feature.queue.options",
  policy_flags = { "refill_rate", "blis.feature.queue.policy_flags" },
  asked_at = 5,
  summary = { slot = "work" },
  page = { title = "Queue of the gateway" },
}

function queue.flags(spec, cli)
  local is_go_blis = cli.values.experiment.profile == "go-blis"
  if cli.values.policies.flow_control then
    spec.queue = flags.read(cli)
    if is_go_blis then spec.admission = { "always-admit" } end -- the queue takes its place
  elseif not is_go_blis and next(cli.values.queue) ~= nil then
    cli.talk("flags of the gateway queue have no effect without --flow-control")
  end
end

function queue.read(values, config)
  config.queue = read.read(values.queue, values.profile)
end

function queue.read_policies(spec, config)
  config.queue = read.read(spec.queue, spec.profile or "design")
end

function queue.policies(config)
  return config.queue and read.policies(config.queue) or {}
end

function queue.notes(config)
  local count = #served.models_of(config.cluster)
  if not config.queue or config.go_blis or count < 2 then return {} end
  return { ("one gateway queue serves %d models: saturation is the mean over all instances, so "
    .. "full instances of one model can delay requests for another model. A real gateway has a "
    .. "queue per model"):format(count) }
end

--- How evenly tenants waited in the gateway's queue.
local function wait_fairness_of(by_tenant)
  local waits = {}
  for _, tenant in ipairs(by_tenant) do
    local wait_ms = tenant.gateway_wait_ms
    if wait_ms and wait_ms.count > 0 then waits[#waits + 1] = wait_ms.mean end
  end
  return (select(2, evenness(waits)))
end

function queue.finish(summary)
  if summary.queue and summary.by_tenant then
    summary.queue.wait_fairness = wait_fairness_of(summary.by_tenant)
  end
end

-- The gateway is saturated if its queue is this share of the TTFT, and longer than this.
local most_of_ttft, long_wait_ms = 0.5, 200

function queue.judge(given, r, judgment)
  local wait_ms = given.mean_wait_ms
  if wait_ms >= long_wait_ms and wait_ms >= most_of_ttft * r.ttft_ms.mean then
    judgment:add_bottleneck("gateway", "requests waited %s ms on average in the gateway queue, "
      .. "%s of their TTFT", format.number(wait_ms), format.percent(wait_ms / r.ttft_ms.mean))
  end
end

-- Options with text of their own.
local told_apart = {}
for _, name in ipairs { "saturation", "max_concurrency", "queue_depth_threshold",
  "kv_utilization_threshold", "usage_limit", "usage_limit_threshold", "max_requests",
  "no_endpoint_ttl_us", "bands", "slo_targets" } do
  told_apart[name] = true
end

local scripted_in_queue = { { "fairness_policy", "fairness" }, { "order_policy", "order" },
  { "band_policy", "band selection" } }

local function queue_text(given)
  local words = { "saturation by " .. options.of_policy(given.saturation,
    catalogue.saturation_detectors), given.max_requests and given.max_requests > 0
    and ("at most %s"):format(format.plural(given.max_requests, "request"))
    or "no limit on its length" }
  if given.usage_limit.name ~= "static" or #given.usage_limit.parameters > 0 then
    words[3] = "usage limit " .. options.of_policy(given.usage_limit, catalogue.usage_limits)
  end
  for _, one in ipairs(scripted_in_queue) do
    local policy = given[one[1]]
    words[#words + 1] = policy and ("%s by %s"):format(one[2], options.of_policy(policy, {}))
  end
  local others = options.of_section(section, given,
    given.go_blis and "go-blis" or "design", told_apart)
  return table.concat(table.move(others, 1, #others, #words + 1, words), "; ")
end

function queue.asked(config, add)
  if config.queue then add("gateway's queue", queue_text(config.queue)) end
end

return queue
