--- Autoscaling: instances that start and stop during a run.
local catalogue = require "blis.policy.catalogue"
local deferred = require "blis.deferred"
local figures = deferred "blis.feature.scaling.figures"
local format = require "blis.format"
local options = require "blis.config.option_text"
local pools = deferred "blis.feature.scaling.pools"
local read = deferred "blis.feature.scaling.read"
local section = deferred "blis.feature.scaling.options"
local workload = deferred "blis.traffic.workload"

local count, number = format.count, format.number

---@type blis.Feature
local scaling = {
  options = "blis.feature.scaling.options",
  policy_flags = { "admission_parameters", "blis.feature.scaling.policy_flags" },
  asked_at = 8,
}

--- The autoscaler as blis.run takes it; nil without.
local function autoscaler_of(cli)
  local given, policies = cli.values.experiment.autoscaler, cli.values.policies
  if given == nil and policies.autoscaler_enabled then given = "threshold" end
  if given == nil and (policies.autoscaler_interval_us or 0) > 0 then
    given = "saturation-pipeline"
    cli.values.scaling.interval_us = policies.autoscaler_interval_us
  end
  if given == nil and policies.autoscaler_parameters then
    cli.fail("--autoscaler-parameter requires --autoscaler")
  end
  if given == nil then return nil end
  local autoscaler = type(given) == "table" and given or { given }
  cli.add_parameters(autoscaler, "--autoscaler-parameter", policies.autoscaler_parameters)
  return autoscaler
end

--- Bounds and times of scaling; nil if none is set. BLIS (Go) uses the initial instances.
local function scaling_of(cli, autoscaler)
  local given = cli.values.scaling
  if cli.command == "replay" and cli.values.experiment.profile == "go-blis"
    and (given.interval_us or given.node_pools) then
    cli.fail("under profile go-blis, a replay has neither an autoscaler "
      .. "(--model-autoscaler-interval-us, autoscaler.interval_us) nor node_pools")
  end
  for _, option in ipairs(autoscaler == nil and section.options or {}) do
    if option.flag and cli.given[option.flag] and not given.node_pools then
      cli.fail("%s has no effect without --autoscaler", option.flag)
    end
  end
  return given and next(given) ~= nil and given or nil
end

function scaling.flags(spec, cli)
  spec.autoscaler = autoscaler_of(cli)
  spec.scaling = scaling_of(cli, spec.autoscaler)
end

function scaling.read(values, config)
  config.scaling = read.read(values.autoscaler, values.scaling, config.cluster, values.profile,
    config.slo_targets, workload.length_us(config.workload), config.faults)
  config.replica_price_per_hour = config.scaling and config.scaling.replica_price_per_hour
end

--- Adds up pools that are scaled separately, and what follows from the numbers of instances.
function scaling.complete(summary, config, name_of)
  local given, made = config.scaling, summary.scaling
  if given and given.go_blis then
    summary.setup.later = { first = config.cluster.instances, model = config.cluster.model }
  end
  if not made then return end
  pools.add_up(made)
  made.group_seconds = {}
  for i, group in ipairs(summary.paid) do made.group_seconds[i] = group.seconds end
  figures.complete(made, config.keep_records and summary.requests or nil, config.slo_targets,
    given.instance_capacity)
  made.policy = name_of(given.policy)
  made.max_replicas = 0
  for _, pool in ipairs(given.pools) do
    made.max_replicas = made.max_replicas + pool.max_replicas
  end
  for _, reason in ipairs(pools.take_reasons_off(made)) do
    summary.setup.notes = summary.setup.notes .. ("autoscaler: %s\n"):format(reason)
  end
end

function scaling.read_policies(spec, config)
  config.scaling = { pools = read.policies(spec.autoscaler) }
end

function scaling.policies(config)
  local list = {}
  for _, pool in ipairs(config.scaling and config.scaling.pools or {}) do
    list[#list + 1] = pool.policy
  end
  return list
end

--- Returns the fraction of the run with a target of at least `count` instances.
local function share_at(given, replicas)
  local at_us = 0
  figures.each_level(given, function(level, length_us)
    if level.wanted >= replicas then at_us = at_us + length_us end
  end)
  return given.end_us > 0 and at_us / given.end_us or 0
end

-- Shares of a run for which an autoscaler was at its upper bound, with and without lost requests.
local long_at_bound, always_at_bound, lost_enough = 0.2, 0.9, 0.01

function scaling.judge(given, r, judgment)
  local lost = (r.timed_out + r.still_queued) / math.max(1, r.arrived)
  local loses = lost >= lost_enough
  if given.checks > 0 and given.scale_ups + given.scale_downs == 0 and loses then
    judgment:add("invalid", "autoscaler", "%s never changed the number of instances in %s checks, "
      .. "while %s of the requests timed out or waited. Check the metric that it scales on, and "
      .. "its bounds.", given.policy, count(given.checks), format.percent(lost))
    return
  end
  local most = rawget(given, "max_replicas")
  local share = most and share_at(given, most) or 0
  if share >= (loses and long_at_bound or always_at_bound) then
    judgment:add(loses and "invalid" or "warning", "autoscaler", "%s was at its maximum of %s "
      .. "instances for %s of the run%s. Set max_replicas higher.", given.policy, count(most),
      format.percent(share), loses and (", while %s of the requests timed out or waited"):format(
      format.percent(lost)) or "")
  end
end

scaling.summary = { slot = "below", lines = function(value) return figures.lines(value) end }

local most_rows = 40

--- What an autoscaler changed, and of which pool where there are several.
local function changes_table(events, parts)
  local rows, header, is_words = {}, { "time (s)", "from", "to", "reason" }, { [4] = true }
  local has_pools = events[1] and rawget(events[1], "pool")
  for i = 1, math.min(#events, most_rows) do
    local event = events[i]
    rows[i] = { number(event.time_us / 1e6, 1), count(event.from), count(event.to),
      event.reason or "" }
    if has_pools then table.insert(rows[i], 2, event.pool) end
  end
  if has_pools then
    table.insert(header, 2, "pool")
    is_words = { [2] = true, [5] = true }
  end
  return parts.table(parts.first_of(#events, most_rows, "All") .. " changes", header, rows,
    is_words)
end

local function scaling_section(r, parts)
  local given = rawget(r, "scaling")
  if not given then return nil end
  return parts.section("scaling", "Scaling", parts.cards {
    { "instances ready, mean", number(given.mean_ready, 2) },
    { "paid, mean", number(given.mean_paid, 2) },
    { "scaled up", count(given.scale_ups) }, { "scaled down", count(given.scale_downs) },
  }, changes_table(given.events, parts))
end

--- "Autoscaler hpa: 1 to 12 instances, 8.36 billed on average; 8 decisions for more, 8 for fewer."
local function answer_line(given)
  local least, most = math.huge, 0
  figures.each_level(given, function(level)
    least, most = math.min(least, level.ready), math.max(most, level.ready)
  end)
  return ("Autoscaler %s: %s to %s ready instances, %s billed on average; %s for more, %s for "
    .. "fewer."):format(given.policy, count(least), count(most), format.number(given.mean_paid, 2),
      format.plural(given.scale_ups, "decision"), count(given.scale_downs))
end

scaling.page = { title = "Scaling", at = 20, section = scaling_section, answer = answer_line }

-- Options with text of their own, or of no interest.
local told_apart = {}
for _, name in ipairs { "min_replicas", "max_replicas", "max_starts", "prefill", "decode",
  "node_pools", "replica_price_per_hour", "instance_capacity", "oscillation_us", "ttft_target_us",
  "tpot_target_us", "e2e_target_us" } do
  told_apart[name] = true
end

local roles = { [0] = "", "prefill: ", "decode: " }

-- Fields of an autoscaler, which the experiment's autoscaler replaces.
local intervals = { interval_seconds = true, interval_us = true }

local function pool_text(pool)
  local policy = options.of_policy(pool.policy, catalogue.autoscalers,
    pool.interval_us and intervals)
  local words = { roles[pool.role] .. policy,
    ("%d to %d instances"):format(pool.min_replicas, pool.max_replicas) }
  local others = options.of_section(section, pool, "design", told_apart)
  return table.concat(table.move(others, 1, #others, 3, words), ", ")
end

local function scaling_text(given)
  local words = {}
  for _, pool in ipairs(given.pools) do
    words[#words + 1] = pool.policy and pool_text(pool)
  end
  return #words > 0 and table.concat(words, "; ") or nil
end

function scaling.asked(config, add)
  if config.scaling then add("autoscaler", scaling_text(config.scaling)) end
end

return scaling
