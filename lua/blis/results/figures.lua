--- Every metric of a result: the metrics of the core (src/results/metrics/figures.h), metrics
--- computed from them, and the other fields of a result. These lists define fields, annotations,
--- the summary, JSON, CSV, blis.diff, fitness, and the reference.
local anomalies = require "blis.results.anomalies"
local deferred = require "blis.deferred"
local core = require "blis.core"
local errors = require "blis.errors"
local evenness = require "blis.statistics.evenness"
local renamed = deferred "blis.results.renamed"
local verdicts = deferred "blis.results.verdict"
local expected_errors = deferred "blis.results.expected_error"

local figures = {}

---@class blis.Figure
---@field name string of the field
---@field doc string
---@field type? string of the value: "integer", "number", ...
---@field class? string of a table value: name of a class of this file
---@field unit? string
---@field better? "more"|"less" nil = neither
---@field shown? string summary text: see src/results/metrics/figures.h
---@field is_list? boolean a list of such tables
---@field is_named? boolean such a list, with its items also by name
---@field is_by_name? boolean numbers by names that policies define
---@field asked? string option of the experiment that enables it; nil = always present
---@field from_records? boolean runs without records do not have it
---@field of? fun(result: blis.Result): any computes it on first access

---@class blis.FigureClass
---@field name string
---@field summary string
---@field parent? string a class whose metrics it inherits
---@field figures blis.Figure[] its own, in the order in which they are written

--- Requests of interchangeable instances: all instances, or the instances of a prefill or decode
--- role.
local function alike(result)
  local groups, has_roles = rawget(result.setup, "groups") or {}, false
  for _, group in ipairs(groups) do has_roles = has_roles or group.role ~= nil end
  if not has_roles then return { result.requests_per_instance } end
  local pools = { prefill = {}, decode = {}, both = {} }
  for i, instance in ipairs(result.instances) do
    local pool = pools[groups[instance.group].role]
    if pool then pool[#pool + 1] = result.requests_per_instance[i] end
  end
  return { pools.prefill, pools.decode, pools.both }
end

--- How uneven requests are among instances that are alike, where it is worst.
local function unevenness(result)
  local worst = 0.0
  for _, counts in ipairs(alike(result)) do worst = math.max(worst, (evenness(counts))) end
  return worst
end

local function tenant_tokens(result)
  local tokens = {}
  for _, tenant in ipairs(result.by_tenant) do
    if tenant.name ~= "" and tenant.completed > 0 then
      tokens[#tokens + 1] = tenant.output_tokens
    end
  end
  return tokens
end

local function cpu_reload_rate(result)
  local reloads, lookups = 0, 0
  for _, one in ipairs(result.instances) do
    reloads = reloads + (one.cpu_reloads or 0)
    lookups = lookups + one.cache_hits + one.cache_misses + one.cpu_misses
  end
  return lookups > 0 and reloads / lookups or 0.0
end

local function offload_rate(result)
  local saved = 0
  for _, one in ipairs(result.instances) do saved = saved + (one.cpu_saved or 0) end
  return result.duration_us > 0 and saved / (result.duration_us / 1e6) or 0.0
end

local function is_go_blis(result) return rawget(result.setup, "profile") == "go-blis" end

local function anomalies_of(result)
  return is_go_blis(result) and anomalies.go_blis or anomalies
end

local lists = core.figures()

-- Fields of a result in addition to the metrics of the core.
local head = {
  { name = "verdict", class = "RunVerdict",
    of = function(result) return verdicts.of_result(result) end,
    doc = "verdict on the validity of the metrics; first in JSON" },
  { name = "expected_error", class = "ExpectedError", asked = 'latency_model = "composed"',
    of = function(result) return expected_errors.of_result(result) end,
    doc = "expected error of TPOT and TTFT, from measurements that took no part in the fit" },
  { name = "routing", type = "string", doc = "name of the policy" },
  { name = "hash", type = "string",
    doc = "16 hexadecimal digits over all request records; equal runs have equal hashes" },
}

local derived = {
  { name = "balance_cv", type = "number", better = "less",
    doc = "coefficient of variation of requests per instance, 0 = even; with pools within a role, "
      .. "maximum over roles",
    of = unevenness },
  { name = "tenant_fairness", type = "number", unit = "0 to 1", better = "more",
    from_records = true,
    doc = "Jain's index of output tokens per tenant; 0 without tenants",
    of = function(result) return (select(2, evenness(tenant_tokens(result)))) end },
  { name = "tenant_cv", type = "number", better = "less", from_records = true,
    doc = "coefficient of variation of output tokens per tenant",
    of = function(result) return (evenness(tenant_tokens(result))) end },
  { name = "cpu_reload_rate", type = "number", unit = "0 to 1",
    shown = "CPU tier: {%} of the blocks reloaded",
    doc = "blocks brought back from CPU memory per block looked for", of = cpu_reload_rate },
  { name = "offload_rate", type = "number", unit = "blocks/s",
    doc = "blocks copied to CPU memory per second of the run", of = offload_rate },
  { name = "kv_thrashing_rate", type = "number", unit = "reloads per block", better = "less",
    shown = "CPU tier: {3} reloaded immediately per block saved",
    doc = "immediate reloads (cpu_immediate_reloads) per block moved to the CPU tier, above 1 if "
      .. "blocks are reloaded more than once; go-blis: blocks that the tier drops per saved block",
    of = function(result) return anomalies_of(result).kv_thrashing_rate(result.instances) end },
  { name = "priority_inversions", type = "integer", better = "less", from_records = true,
    doc = "pairs in a queue with the less urgent request scheduled first; go-blis: pairs whose "
      .. "first request took over twice as long, with scheduler priority-fcfs",
    of = function(result)
      return anomalies_of(result).priority_inversions(result.requests,
        rawget(result.setup, "scheduler"))
    end },
  { name = "hol_blocking_events", type = "integer", better = "less", from_records = true,
    doc = "requests that still waited when a less urgent request of their queue completed; "
      .. "go-blis: instances with more than twice the mean wait queue",
    of = function(result)
      return anomalies_of(result).hol_blocking_events(
        is_go_blis(result) and result.instances or result.requests)
    end },
}

local lists_of_scaling = {
  { name = "policy", type = "string", doc = "name of the autoscaler" },
  { name = "replica_seconds", type = "number", unit = "s", better = "less",
    doc = "of all instances, from the scale-up decision until they have stopped or failed "
      .. "permanently" },
  { name = "mean_paid", type = "number", unit = "instances", better = "less",
    doc = "of scaled instances, mean over the run" },
  { name = "mean_ready", type = "number", unit = "instances", doc = "that took requests" },
  { name = "most_paid", type = "integer", unit = "instances", better = "less",
    doc = "at one time" },
  { name = "max_replicas", type = "integer", unit = "instances",
    doc = "upper bound of the autoscaler, of all pools together" },
  { name = "end_us", type = "integer", unit = "us", doc = "up to which instances are paid" },
  { name = "checks", type = "integer", doc = "evaluations of the autoscaler" },
  { name = "triggered", type = "integer",
    doc = "of these by a trigger, between the intervals" },
  { name = "scale_ups", type = "integer", doc = "decisions for more instances" },
  { name = "scale_downs", type = "integer", doc = "decisions for fewer" },
  { name = "clamped", type = "integer", doc = "decisions out of bounds" },
  { name = "oscillations", type = "integer", better = "less",
    doc = "changes against the direction of one shortly before" },
  { name = "started", type = "integer", unit = "instances", doc = "after the first ones" },
  { name = "failed_starts", type = "integer", better = "less",
    doc = "of these, each as often as its start failed" },
  { name = "waited", type = "integer", unit = "requests", better = "less",
    doc = "that found no instance and waited for one" },
  { name = "most_waiting", type = "integer", unit = "requests", doc = "of them at one time" },
  { name = "waited_mean_ms", type = "number", unit = "ms", better = "less",
    doc = "how long they did" },
  { name = "waited_max_ms", type = "number", unit = "ms", doc = "the longest wait" },
  { name = "state_seconds", type = "table<string, number>", unit = "s",
    doc = "of all instances by state: provisioning, loading, active, draining, ..." },
  { name = "group_seconds", type = "number[]", unit = "s",
    doc = "replica_seconds by group, in the order of setup.groups" },
  { name = "over_provisioned_seconds", type = "number?", unit = "s", better = "less",
    doc = "instance-seconds billed beyond the load of every minute; with instance_capacity" },
  { name = "under_provisioned_seconds", type = "number?", unit = "s", better = "less",
    doc = "instance-seconds that the load of every minute required beyond ready instances" },
  { name = "phases", class = "ScalePhases",
    doc = "when there were as many as wanted, and when not" },
  { name = "events", type = "blis.ScaleEvent[]", doc = "changes, and wishes out of bounds" },
  { name = "levels", type = "blis.ScaleLevel[]", doc = "number of instances over time" },
}

local asked_faults = "faults = ... or cluster = { spot = ... }"

local parts = {
  { name = "cache_prediction", class = "CacheBelief",
    doc = "predicted and actual cache hits of the routing policy" },
  { name = "coverage", class = "Coverage",
    asked = 'latency_model = "calibrated" and no coefficients',
    doc = "if the calibrated range of the step times is known" },
  { name = "cost", class = "Cost", doc = "of all GPUs" },
  { name = "energy", class = "Energy", doc = "of all GPUs" },
  { name = "spot", class = "Spot", asked = "cluster = { spot = ... }",
    doc = "with spot: how often instances were taken away, and what that saved" },
  { name = "goodput", class = "Goodput", asked = "slo_targets = ...", doc = "with slo_targets" },
  { name = "steady", class = "Window", asked = "warm_up_us = ... or warm_up_requests = ...",
    doc = "with warm_up_us: requests that arrived later; with warm_up_requests: requests after the "
      .. "first completed ones; with a warm-up or duration_us of session graphs: completed "
      .. "requests that arrived in the measurement window" },
  { name = "kv_tiers", class = "KvTiers", asked = "kv_tiers = ...",
    doc = "with kv_tiers: loads and saves of KV tiers" },
  { name = "handoffs", class = "Handoffs", asked = "prefill_instances = ...",
    doc = "with pools: hand-offs from prefill to decode instances" },
  { name = "queue", class = "Queue", asked = "queue = ...",
    doc = "with queue: of the gateway" },
  { name = "speculation", class = "Speculation", asked = "cluster = { speculation = ... }",
    doc = "with cluster.speculation: acceptance of draft tokens" },
  { name = "ranks", class = "Ranks", asked = "cluster = { ranks = ... }",
    doc = "with cluster.ranks: what data-parallel ranks did at their barriers" },
  { name = "lora", class = "Lora", asked = "cluster = { lora = ... }",
    doc = "with cluster.lora: loads of adapters, and waits for them" },
  { name = "routers", class = "RouterReplica", is_list = true, asked = "routers = ...",
    doc = "with routers: what each router replica did" },
  { name = "requests_without_router", type = "integer", unit = "requests", better = "less",
    asked = "routers = ...",
    doc = "with routers: routed by fail_open, or rejected, while no replica was up" },
  { name = "regions", class = "Regions", asked = "regions = ...",
    doc = "with regions: what clients measured, and what crossed regions" },
  { name = "cascade", class = "Cascade", asked = "cascade = ...",
    doc = "with cascade: requests have attempts, steps, model_used and verdict" },
  { name = "tasks", class = "Tasks", asked = "workload = { graphs = ... }",
    doc = "of session graphs: how long tasks took, and what of" },
  { name = "custom_metrics", type = "table<string, number>", is_by_name = true,
    asked = "custom_metrics = function() ... end of a policy in Lua",
    doc = "with custom_metrics of Lua policies: their values" },
  { name = "scaling", class = "Scaling", asked = "autoscaler = ...",
    doc = "with autoscaler: how many instances there were, and why" },
  { name = "phases", class = "Phase", is_list = true, asked = "phases = ...",
    doc = "with phases: each part of the traffic that has a name" },
  { name = "faults", type = "blis.FaultNote[]", asked = asked_faults,
    doc = "with faults or spot: the faults and their effects" },
  { name = "instance_counts", type = "blis.PresenceLevel[]", asked = asked_faults,
    doc = "with faults or spot: number of instances over time" },
  { name = "rerouted", type = "integer", unit = "requests", asked = asked_faults,
    doc = "with faults or spot: times that a request was taken from its instance and routed "
      .. "again" },
  { name = "retried", type = "integer", unit = "requests", asked = asked_faults,
    doc = "with faults or spot: times that a request lost its instance and was sent again" },
  { name = "series", type = "blis.Series", asked = "series_interval_us = ...",
    doc = "with series_interval_us" },
  { name = "step_log", type = "blis.StepLog", asked = "keep_steps = true",
    doc = "with keep_steps: what each step of each instance computed" },
  { name = "timeline_log", type = "blis.TimelineLog", asked = "keep_timeline = true",
    doc = "with keep_timeline: visited instances, preemptions, instance states, loads, and "
      .. "dependencies of requests" },
  { name = "decisions", type = "blis.Decisions", asked = 'trace_level = "decisions"',
    doc = 'with trace_level = "decisions"' },
  { name = "setup", type = "table",
    doc = "model, hardware, tp, kv_blocks, ... with resolved values" },
  { name = "keeps_records", type = "boolean",
    doc = "false: with keep_records = false, the next five are not available" },
  { name = "by_slo_class", class = "Group", is_named = true, from_records = true,
    doc = "metrics of every SLO class" },
  { name = "by_tenant", class = "Group", is_named = true, from_records = true,
    doc = "metrics of every tenant" },
  { name = "by_model", class = "Group", is_named = true, from_records = true,
    doc = "metrics of every model" },
  { name = "by_adapter", class = "Group", is_named = true, from_records = true,
    asked = "cluster = { lora = ... }",
    doc = 'with cluster.lora: figures of the requests of every adapter; "" = of those without' },
  { name = "requests", type = "blis.Requests", from_records = true,
    doc = "all requests with their outcomes" },
  { name = "has_sessions", type = "boolean", from_records = true,
    doc = "some requests belong to a session" },
  { name = "requests_per_instance", type = "integer[]", doc = "routed to each" },
  { name = "instances", class = "InstanceFigures", is_list = true,
    doc = "metrics of every instance" },
}

--- Creates a class of the given lists of metrics.
local function class(name, summary, parent, ...)
  local all = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #all + 1, all) end
  for _, figure in ipairs(all) do
    if figure.type == "times" then figure.type, figure.class = nil, "Percentiles" end
  end
  return { name = name, summary = summary, parent = parent, figures = all }
end

--- Metrics of an instance that are computed only on request.
local of_requests, known = {}, {}
for _, figure in ipairs(lists.instance) do known[figure.name] = true end
for _, figure in ipairs(table.move(lists.times, 1, #lists.times, #lists.counts + 1,
  table.move(lists.counts, 1, #lists.counts, 1, {}))) do
  if not known[figure.name] then
    local copy = { asked = "instance_times = true" }
    for key, value in pairs(figure) do copy[key] = value end
    copy.doc = figure.doc .. "; with instance_times"
    of_requests[#of_requests + 1] = copy
  end
end

--- Classes in the order of the reference.
---@type blis.FigureClass[]
figures.classes = {
  class("Percentiles", "Times of a set of requests, in milliseconds.", nil, lists.percentiles),
  class("VerdictReason", "A reason of a verdict.", nil, {
    { name = "code", type = "string", doc = "stable name of the condition, such as \"overload\"" },
    { name = "status", type = "string", doc = "\"warning\" or \"invalid\"" },
    { name = "text", type = "string", doc = "condition, effect, and remedy" },
    { name = "runs", type = "string[]?", doc = "with several runs: names of the affected runs" },
  }),
  class("RunVerdict", "Verdict on the validity of a run's metrics.", nil, {
    { name = "status", type = "string", doc = "\"ok\"; \"warning\": a metric can mislead; "
      .. "\"invalid\": metrics depend on the length of the run or describe no requests" },
    { name = "reasons", class = "VerdictReason", is_list = true, doc = "the gravest first" } }),
  class("ExpectedError", "Expected error of means, with latency model composed. Relative.", nil, {
    { name = "tpot", type = "number?", unit = "0 to 1", doc = "median TPOT error of held-out "
      .. "setups in this regime; nil = no bound" },
    { name = "tpot_band", type = "number?", unit = "0 to 1", doc = "four fifths are within this" },
    { name = "tpot_level", type = "string?", doc = "what these setups have in common with this "
      .. "one, as level" },
    { name = "tpot_basis", type = "string", doc = "\"measured\": this model on this GPU, in this "
      .. "range; \"neighbouring\": this format with another model, GPU of the family, or range; "
      .. "\"assumed\": this format was not measured there; \"none\": unknown" },
    { name = "tpot_reason", type = "string?", doc = "why TPOT has no bound" },
    { name = "tpot_note", type = "string?", doc = "what is outside of the measured range of the "
      .. "regime, so that the error is that of other setups" },
    { name = "ttft", type = "number?", unit = "0 to 1", doc = "the same for TTFT; nil = no bound" },
    { name = "ttft_band", type = "number?", unit = "0 to 1", doc = "four fifths for TTFT" },
    { name = "ttft_level", type = "string?", doc = "as tpot_level, for TTFT" },
    { name = "ttft_basis", type = "string", doc = "as tpot_basis, for TTFT" },
    { name = "ttft_reason", type = "string?", doc = "why TTFT has no bound" },
    { name = "ttft_note", type = "string?", doc = "as tpot_note, for TTFT" },
    { name = "level", type = "string", doc = "what was measured: \"model\": this model on this "
      .. "GPU; \"format\": another model, or another GPU of the family; \"family\": other formats "
      .. "on this GPU family; \"nothing\": none of these" },
    { name = "is_measured", type = "boolean", doc = "level is \"model\" or \"format\"; "
      .. "false: the errors are assumed" },
    { name = "regime", type = "string", doc = "GPU, format, experts, and scheduling; of each group "
      .. "of instances" } }),
  class("Counts", "Requests by outcome.", nil, lists.counts),
  class("Part", "Some of the requests of a run.", "Counts", lists.group, lists.times, {
    { name = "gateway_wait_ms", class = "Percentiles", asked = "queue = ...", unit = "ms",
      doc = "with queue: time in the gateway queue, of dispatched requests; part of ttft_ms" },
    { name = "adapter_wait_ms", class = "Percentiles", asked = "cluster = { lora = ... }",
      unit = "ms", doc = "with cluster.lora: waits for adapters, of admitted requests with an "
        .. "adapter; includes waits after the first token" } }),
  class("Group", "One SLO class, tenant, model or adapter.", "Part", {
    { name = "name", type = "string", doc = 'of the group; "" = none' } }),
  class("Window", "The requests that arrived in a part of a run.", "Part", lists.window, {
    { name = "left_out", type = "integer?", unit = "requests",
      doc = "of steady with warm_up_requests: those completed first" },
    { name = "is_settled", type = "boolean?",
      doc = 'of steady with warm_up_us = "auto": false when the run is too short' } }),
  class("Phase", "The requests that arrived in a named part of the traffic.", "Window", {
    { name = "name", type = "string", doc = "name in the experiment" },
    { name = "good", type = "integer?", unit = "requests", better = "more",
      doc = "requests that met their targets; with slo_targets" },
    { name = "attainment", type = "number?", unit = "0 to 1", better = "more",
      doc = "SLO attainment: good / requests with targets" } }),
  class("InstanceFigures", "One instance of a result.", nil,
    { { name = "id", type = "string", doc = '"instance_3"' } }, lists.instance, of_requests, {
      { name = "rank_group", type = "integer", asked = "cluster = { ranks = ... }",
        doc = "with cluster.ranks: the deployment it is a rank of, from 0" },
      { name = "rank", type = "integer", asked = "cluster = { ranks = ... }",
        doc = "with cluster.ranks: its number in that, from 0" } }),
  class("CacheBelief", "Predicted cache hits of the routing policy, and actual hits.", nil,
    lists.cache_belief),
  class("Link", "A link that KV has moved over.", nil, {
    { name = "name", type = "string", doc = '"instance_3 out", "instance_3 in" or "fabric"' } },
    lists.link),
  class("Handoffs", "Hand-offs of KV between prefill and decode instances.", nil, lists.handoffs, {
    { name = "links", class = "Link", is_list = true,
      doc = "used links; none under profile go-blis" } }),
  class("KvTier", "A tier of KV below the caches of the instances.", nil, {
    { name = "name", type = "string", doc = "as the experiment has it" } }, lists.tier),
  class("KvTiers", "KV below the caches of the instances, all tiers together.", nil, lists.tiers, {
    { name = "tiers", class = "KvTier", is_list = true, doc = "each of them, in their order" } }),
  class("QueueBand", "A band of the gateway's queue.", nil, lists.band),
  class("Queue", "The queue of the gateway.", nil, lists.queue, {
    { name = "wait_fairness", type = "number", unit = "0 to 1", better = "more",
      doc = "Jain's index of the mean waits of tenants, 1 = all wait alike; nil without records" },
    { name = "bands", class = "QueueBand", is_list = true,
      doc = "each of them, the highest priority first" } }),
  class("Speculation", "Speculative decoding, over all instances.", nil, lists.speculation, {
    { name = "accepted_per_position", type = "integer[]", unit = "tokens",
      doc = "accepted draft tokens by position in the step" },
    { name = "acceptance_rate_per_position", type = "number[]", unit = "0 to 1",
      doc = "acceptance rate by position in the step (unconditional, as vLLM counts it)" } }),
  class("Ranks", "Data-parallel ranks, over all groups with a barrier; 0 without one.", nil,
    lists.ranks),
  class("LoraAdapter", "A LoRA adapter that was loaded.", nil, {
    { name = "name", type = "string", doc = "as requests name it" } }, lists.adapter),
  class("Lora", "LoRA adapters, over all instances.", nil, lists.lora, {
    { name = "adapters", class = "LoraAdapter", is_list = true,
      doc = "adapters that were loaded at least once" } }),
  class("Region", "A region of clients, a gateway, and instances.", nil, {
    { name = "name", type = "string", doc = "as the experiment names it" } }, lists.region),
  class("Regions", "Regions, all together.", nil, lists.regions, {
    { name = "regions", class = "Region", is_list = true,
      doc = "each of them, those with instances first" } }),
  class("Coverage", "Steps outside the calibrated range of the step times.", nil, {
    { name = "steps_beyond", type = "integer", better = "less",
      doc = "number of steps outside the calibrated range, over all instances" },
    { name = "share_beyond", type = "number", unit = "0 to 1", better = "less",
      shown = "coverage: {%} of the steps outside the calibrated range",
      doc = "share of the steps that were: steps_beyond / steps" } }),
  class("Cost", "What all GPUs cost from the start to the end of a run.", nil, {
    { name = "gpus", type = "integer", unit = "GPUs", doc = "GPUs of all instances" },
    { name = "gpu_hours", type = "number", unit = "h", shown = "cost: {3} GPU-hours",
      better = "less",
      doc = "hours of all GPUs from the start to the end of the run: gpus * duration" },
    { name = "billed_gpu_hours", type = "number", unit = "h", better = "less",
      doc = "gpu_hours, rounded as billing_granularity_us and billing_minimum_us say" },
    { name = "idle_share", type = "number?", unit = "0 to 1", better = "less",
      shown = "cost: {%} of them without requests",
      doc = "share of the GPU-hours in which the instance computed nothing: 1 - busy_gpu_seconds "
        .. "/ (gpu_hours * 3600). Not 1 - utilization: an instance with one request is not idle" },
    { name = "usd_per_gpu_hour", type = "number?", unit = "USD/h",
      doc = "price of a GPU; nil = unknown, as for all values in USD" },
    { name = "usd", type = "number?", unit = "USD", shown = "cost: {3} USD", better = "less",
      doc = "total cost of the run" },
    { name = "busy_gpu_seconds", type = "number", unit = "s", better = "less",
      doc = "seconds of GPUs whose instance computes; idle ones cost as much" },
    { name = "gpu_seconds_per_request", type = "number?", unit = "s", better = "less",
      doc = "busy seconds of GPUs per completed request: busy_gpu_seconds / completed" },
    { name = "usd_per_thousand_tokens", type = "number?", unit = "USD", better = "less",
      doc = "cost of a thousand tokens, prompts included: usd / (prompt_tokens + output_tokens) * "
        .. "1000" },
    { name = "usd_per_million_output_tokens", type = "number?", unit = "USD", better = "less",
      shown = "cost: {3} USD per million output tokens",
      doc = "cost of a million output tokens: usd / output_tokens * 1e6" },
    { name = "usd_per_good_request", type = "number?", unit = "USD", better = "less",
      doc = "cost per request that met its targets: usd / goodput.good; nil without SLO "
        .. "targets" } }),
  class("Energy", "Energy of all GPUs while they are billed; empty without power values.",
    nil, {
      { name = "gpu_watts", type = "number?", unit = "W",
        doc = "configured power of one GPU" },
      { name = "mean_gpu_watts", type = "number?", unit = "W", better = "less",
        doc = "mean power of one GPU over the time that it was paid" },
      { name = "kwh", type = "number?", unit = "kWh", shown = "energy: {3} kWh", better = "less",
        doc = "energy of all GPUs: prefill_kwh + decode_kwh + idle_kwh" },
      { name = "prefill_kwh", type = "number?", unit = "kWh", better = "less",
        doc = "energy of steps that computed prompt tokens" },
      { name = "decode_kwh", type = "number?", unit = "kWh", better = "less",
        doc = "energy of all other steps" },
      { name = "idle_kwh", type = "number?", unit = "kWh", better = "less",
        doc = "energy between steps, and while instances started and drained" },
      { name = "coverage", type = "number?", unit = "0 to 1", better = "more",
        doc = "fraction of the billed GPU-seconds with a power value" },
      { name = "facility_kwh", type = "number?", unit = "kWh", better = "less",
        doc = "energy of the whole facility: kwh * pue" },
      { name = "joules_per_output_token", type = "number?", unit = "J", better = "less",
        shown = "energy: {3} J per output token",
        doc = "energy per output token: energy / output_tokens" },
      { name = "joules_per_request", type = "number?", unit = "J", better = "less",
        doc = "energy per completed request: energy / completed; for the energy of its tokens, see "
          .. "energy_j of a request" },
      { name = "carbon_g", type = "number?", unit = "g", better = "less",
        shown = "energy: {1} g of CO2",
        doc = "emissions of the facility: facility_kwh * carbon_g_per_kwh" },
      { name = "carbon_g_per_request", type = "number?", unit = "g", better = "less",
        doc = "emissions per completed request: carbon_g / completed; those for its tokens are "
          .. "carbon_g of a request" },
      { name = "steps_carbon_g", type = "number?", unit = "g", better = "less",
        doc = "part of carbon_g: emissions while steps computed, at the intensity of each step. It "
          .. "is the sum of carbon_g over requests, except dummy passes of ranks" } }),
  class("Spot", "Spot capacity: reclaims and their cost.", nil, {
    { name = "reclaims", type = "integer", shown = "spot: {reclaim}", better = "less",
      doc = "times that an instance that was there was taken away, or told that it would be" },
    { name = "lost", type = "integer", unit = "requests", better = "less",
      doc = "requests that failed because their instance was taken away" },
    { name = "rerouted", type = "integer", unit = "requests", better = "less",
      doc = "requests that were routed to another instance because theirs was taken away" },
    { name = "retried", type = "integer", unit = "requests", better = "less",
      doc = "requests that were sent again because their instance was taken away" },
    { name = "recomputed_tokens", type = "integer", unit = "tokens", better = "less",
      doc = "prompt and output tokens lost by these requests and computed again, except prompt "
        .. "tokens that another instance has cached" },
    { name = "availability", type = "number", unit = "0 to 1", better = "more",
      shown = "spot: full capacity {%} of the time",
      doc = "share of the time in which all instances took requests, from 0 to the end of the run "
        .. "and of its last request, rejected ones included; as for the two below" },
    { name = "paid_share", type = "number", unit = "0 to 1", better = "more",
      shown = "spot: billed {%}",
      doc = "billed fraction of the total time of all instances, including starts and notices" },
    { name = "serving_share", type = "number", unit = "0 to 1", better = "more",
      shown = "spot: taking requests {%}",
      doc = "fraction of the total time of all instances in which they accepted requests; the "
        .. "difference to paid_share is billed without serving" },
    { name = "usd", type = "number?", unit = "USD", shown = "spot: {3} USD", better = "less",
      doc = "cost of the instances at market prices for their billed time; nil = unknown, as for "
        .. "the two below" },
    { name = "on_demand_usd", type = "number?", unit = "USD",
      doc = "what as many would have cost for the whole run at the price of the cluster or the "
        .. "catalogue" },
    { name = "saved_share", type = "number?", unit = "0 to 1", better = "more",
      shown = "spot: {%} below on demand",
      doc = "share of the price on demand that was saved: 1 - usd / on_demand_usd" },
    { name = "offers", type = "blis.SpotOffer[]",
      doc = "available instances and prices over time" } }),
  class("ClassGoodput", "How often the targets of an SLO class were kept.", nil,
    { { name = "name", type = "string", doc = "SLO class" } }, lists.goodput, {
      { name = "requests_per_sec", type = "number", unit = "requests/s", better = "more",
        doc = "requests per second that met their targets" },
      { name = "targets", type = "blis.SloTarget", doc = "the targets of the class" } }),
  class("Goodput", "SLO attainment, over all classes with targets.", nil, {
    { name = "arrived", type = "integer", unit = "requests",
      doc = "requests of classes with targets that arrived" },
    { name = "good", type = "integer", unit = "requests", better = "more",
      doc = "requests that completed with every time within its target" },
    { name = "attainment", type = "number", unit = "0 to 1", better = "more",
      shown = "goodput: {%} of the requests within their targets",
      doc = "share of the arrived requests that were good: good / arrived" },
    { name = "requests_per_sec", type = "number", unit = "requests/s", better = "more",
      shown = "goodput: {2} requests/s", doc = "requests per second that met their targets" },
    { name = "classes", class = "ClassGoodput", is_named = true, doc = "each class" } }),
  class("RouterReplica", "A router replica.", nil, {
    { name = "requests", type = "integer", unit = "requests", doc = "that it routed" },
    { name = "in_flight", type = "integer", unit = "requests", doc = "of these, not ended" },
    { name = "messages_sent", type = "integer", unit = "messages",
      doc = "to other replicas or to a store; counts: one message per instance and interval" },
    { name = "messages_received", type = "integer", unit = "messages", doc = "and used" },
    { name = "messages_lost", type = "integer", unit = "messages", better = "less",
      doc = "sent to it and lost: by loss, a partition, or while it was down" },
    { name = "bytes_sent", type = "integer", unit = "bytes", doc = "of these messages" },
    { name = "delivery_ms", type = "number?", unit = "ms", better = "less",
      doc = "mean time from an event at another replica until a decision used it" },
    { name = "ghosts", type = "integer", unit = "requests", better = "less",
      doc = "requests of other replicas that it still counts after their end" } }),
  class("CascadeSums", "Attempts with one model of a cascade, or with all models.", nil,
    lists.attempts),
  class("CascadeModel", "Attempts with one model of a cascade.", "CascadeSums",
    { { name = "model", type = "string", doc = "its name" } }),
  class("Cascade", "Totals of a cascade, over all models.", "CascadeSums",
    { { name = "policy", type = "string", doc = "name of the cascade" } }, lists.cascade, {
      { name = "steps", type = "integer[]", doc = "requests by the number of models called" },
      { name = "earlier_ms", class = "Percentiles",
        doc = "arrival to the last attempt, of requests with more than one" },
      { name = "models", class = "CascadeModel", is_list = true,
        doc = "in the order in which they were first done" } }),
  class("Tasks", "The tasks of session graphs: result.requests:tasks() lists them.", nil,
    lists.tasks),
  class("ScalePhase", "Total time in one provisioning state.",
    nil, {
    { name = "seconds", type = "number", unit = "s", doc = "total of these phases" },
    { name = "arrived", type = "number?", unit = "requests", doc = "at these times; with records" },
    { name = "good", type = "number?", unit = "requests", better = "more",
      doc = "requests that also met their targets; with slo_targets" },
    { name = "attainment", type = "number?", unit = "0 to 1", better = "more",
      doc = "fraction of the requests with targets" } }),
  class("ScalePhases", "Time by provisioning state (under-provisioned, over-provisioned, steady), "
    .. "and the requests that arrived in each.", nil, {
    { name = "steady", class = "ScalePhase", doc = "as many instances as the target, all ready" },
    { name = "under_provisioned", class = "ScalePhase",
      doc = "fewer ready instances than the target, for example during cold starts" },
    { name = "over_provisioned", class = "ScalePhase",
      doc = "more billed instances than the target, for example while instances drain" } }),
  class("Scaling", "Actions of an autoscaler, and their cost.", nil, lists_of_scaling),
  class("Result", "The metrics of a run.", "Counts", head, lists.result, lists.times, derived,
    parts),
}

local all_of = {}
for _, one in ipairs(figures.classes) do
  local of_parent = all_of[one.parent] or {}
  local all = table.move(of_parent, 1, #of_parent, 1, {})
  all_of[one.name] = table.move(one.figures, 1, #one.figures, #all + 1, all)
end

--- All metrics of a class, inherited ones first.
---@param name string
---@return blis.Figure[]
function figures.of(name)
  return all_of[name]
end

--- A metric in a table; nil if the table does not have it.
---@param values? table
---@param figure blis.Figure
---@return any
function figures.value(values, figure)
  if not values then return nil end
  local can_be = figure.of and (not figure.from_records or rawget(values, "requests"))
  return can_be and values[figure.name] or rawget(values, figure.name)
end

-- Names of metrics that are aliases of another name.
local same_as = { tpot_ms = "itl_ms" }

--- Resolves the alias of a metric: "itl_ms.p99" for "tpot_ms.p99".
---@param path string
---@return string
function figures.usual_name(path)
  return (path:gsub("^[%l_]+", same_as))
end

--- A metric of a class by its path, "ttft_ms.p99" or "by_tenant.a.completed", and its value in a
--- table. Nothing for an unknown path.
---@param path string
---@param values? table
---@param class_name? string "Result" by default
---@return blis.Figure? figure
---@return any value
function figures.find(path, values, class_name)
  path = figures.usual_name(path)
  if not class_name then path = renamed.accept(path) end
  for _, figure in ipairs(figures.of(class_name or "Result")) do
    local name = figure.name
    if path == name then return figure, figures.value(values, figure) end
    if figure.is_by_name and path:sub(1, #name + 1) == name .. "." then
      local given = figures.value(values, figure)
      return { name = path:sub(#name + 2), type = "number", doc = figure.doc },
        given and given[path:sub(#name + 2)]
    end
    if figure.class and path:sub(1, #name + 1) == name .. "." then
      local value, rest = figures.value(values, figure), path:sub(#name + 2)
      if figure.is_list or figure.is_named then
        local key
        key, rest = rest:match "^([^.]+)%.(.+)$"
        value = value and key and (value[key] or value[tonumber(key)])
      end
      return figures.find(rest or "", value, figure.class)
    end
  end
end

--- Paths of the numbers of a class, including nested classes.
---@param class_name string
---@return string[]
function figures.paths(class_name)
  local paths = {}
  for _, figure in ipairs(figures.of(class_name)) do
    if figure.class and not figure.is_list and not figure.is_named then
      for _, path in ipairs(figures.paths(figure.class)) do
        paths[#paths + 1] = figure.name .. "." .. path
      end
    elseif figure.type == "integer" or figure.type == "number" or figure.type == "number?" then
      paths[#paths + 1] = figure.name
    end
  end
  return paths
end

local numbers = { integer = true, number = true, ["integer?"] = true, ["number?"] = true }

--- Error message if a path of a result is not a number; nil for numbers and unknown names.
---@param path string
---@return string?
function figures.why_no_number(path)
  local figure = figures.find(path)
  if not figure or numbers[figure.type] then return nil end
  if figure.is_list or figure.is_named then return path .. " is a list, not a number" end
  if not figure.class then return ("%s is not a number but a %s"):format(path, figure.type) end
  local paths = figures.paths(figure.class)
  return ("%s contains %s; choose one, as in %s.%s"):format(path, table.concat(paths, ", "), path,
    paths[#paths])
end

-- Names of metrics in other programs, as a prefix or alone, without units.
local other_names = { tpot = "itl_ms", tbt = "itl_ms", inter_token_latency = "itl_ms",
  time_per_output_token = "itl_ms", time_to_first_token = "ttft_ms", ttft = "ttft_ms",
  itl = "itl_ms", e2e = "e2e_ms", e2el = "e2e_ms", latency = "e2e_ms", end_to_end = "e2e_ms",
  e2e_latency = "e2e_ms", request_latency = "e2e_ms", queue_time = "scheduling_delay_ms",
  queueing_delay = "scheduling_delay_ms", throughput = "requests_per_sec", rps = "requests_per_sec",
  qps = "requests_per_sec", request_throughput = "requests_per_sec", tps = "tokens_per_sec",
  token_throughput = "tokens_per_sec", output_throughput = "tokens_per_sec",
  hit_rate = "cache_hit_rate", prefix_hit_rate = "cache_hit_rate" }

--- The end of a message about an unknown metric, as errors.suggestion; maps tpot of other programs
--- to itl_ms.
---@param path string
---@param paths string[] known names
---@param otherwise? string
---@return string
function figures.suggestion(path, paths, otherwise)
  local word, statistic = path:lower():gsub("-", "_"):match "^([%w_]+)(.*)$"
  local plain = (word or ""):gsub("_m?s$", ""):gsub("_seconds$", "")
  local meant = other_names[plain]
  if meant and statistic == "" and meant:find "_ms$" then statistic = ".p99" end
  for _, name in ipairs(meant and paths or {}) do
    if name == meant .. statistic then return ("; did you mean '%s'?"):format(name) end
  end
  return errors.suggestion(path, paths, otherwise)
end

--- The metrics of a result, by name.
---@type table<string, blis.Figure>
figures.of_result = {}
for _, figure in ipairs(figures.of "Result") do figures.of_result[figure.name] = figure end

--- 1 if more of a metric is better, -1 if less is better, nil if undefined.
---@param path string
---@return 1|-1|nil
function figures.direction(path)
  local figure = figures.find(path)
  return figure and (figure.better == "more" and 1 or figure.better == "less" and -1) or nil
end

return figures
