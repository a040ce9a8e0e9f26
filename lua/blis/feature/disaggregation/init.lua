--- Prefill/decode disaggregation: pools of instances, hand-offs of the KV between them, and the
--- encode stage.
local deferred = require "blis.deferred"
local format = require "blis.format"
local text_of = require "blis.config.option_text"
local flags = deferred "blis.feature.disaggregation.flags"
local read = deferred "blis.feature.disaggregation.read"

--- "Hand-offs: 6,000 of 6,000 completed, 3.43 ms mean transfer time; the busiest link was active
--- 3.3 % of the time."
local function answer_line(given)
  return ("Hand-offs: %s of %s completed, %s ms mean transfer time; the busiest link was active %s "
    .. "of the time."):format(format.count(given.completed), format.count(given.started),
    format.number(given.mean_transfer_ms, 2), format.percent(given.busiest_link))
end

---@type blis.Feature
local disaggregation = {
  policy_flags = { "scorers", "blis.feature.disaggregation.policy_flags" },
  summary = { slot = "work" },
  page = { title = "Prefill/decode disaggregation", answer = answer_line },
}

function disaggregation.flag_groups(at)
  local features = require "blis.feature"
  local pools, handoffs = "Prefill and decode", "Hand-off of the KV"
  return {
    { title = pools, section = "cluster", at = at,
      options = features.flags_in(require "blis.config.cluster", pools) },
    { title = handoffs, section = "disaggregation", at = at + 1,
      options = features.flags_in(require "blis.feature.disaggregation.options", handoffs) },
  }
end

function disaggregation.flags(spec, cli) flags.apply(spec, cli) end

function disaggregation.read(values, config)
  local read_values = read.read(values, config.cluster, config.routing)
  config.disaggregation = read_values
  if read_values and read_values.decode_routing then
    config.routing, config.routing_ties = read_values.decode_routing, "decode-router"
  end
end

function disaggregation.is_scripted(config)
  return config.disaggregation ~= nil and read.is_scripted(config.disaggregation)
end

local function link_text(gb_s)
  return gb_s > 0 and ("%s GB/s"):format(text_of.number(gb_s)) or "no limit"
end

-- A link is saturated if it moves something for this share of the run.
local busy_link = 0.95

function disaggregation.judge(handoffs, _, judgment)
  if handoffs.busiest_link >= busy_link then
    judgment:add_bottleneck("link", "the busiest link moved KV for %.1f %% of the time",
      100 * handoffs.busiest_link)
  end
end

disaggregation.asked_at = 4

function disaggregation.asked(config, add)
  local pools = config.disaggregation
  if not pools then return end
  add("prefill and decode", ("decided by %s; links of instances %s, fabric %s, %s ms each; KV is "
    .. "moved in order of %s"):format(pools.decider.label or pools.decider.name or "a function",
    link_text(pools.bandwidth_gb_s), link_text(pools.fabric_gb_s),
    text_of.number(pools.base_latency_ms), pools.order))
end

return disaggregation
