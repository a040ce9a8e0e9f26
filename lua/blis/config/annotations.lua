--- Generates the annotations of all option tables and policies for editors. The build writes them
--- to annotations/options.lua of the build folder and installs them as blis/meta/options.lua.
local deferred = require "blis.deferred"
local policies = deferred "blis.policy.annotations"

local annotations = {}

local sections = {
  { "blis.Experiment", require "blis.config.experiment" },
  { "blis.ClusterOptions", require "blis.config.cluster" },
  { "blis.FaultOptions", require "blis.feature.faults.options" },
  { "blis.SpotOptions", require("blis.feature.spot.options").section },
  { "blis.SpotStep", require("blis.feature.spot.options").step },
  { "blis.ScalingOptions", require "blis.feature.scaling.options" },
  { "blis.NodePoolOptions", require "blis.feature.scaling.node_pool" },
  { "blis.GroupOptions", require("blis.config.group").section },
  { "blis.RoutersOptions", require("blis.feature.routers.options").all },
  { "blis.RouterSyncOptions", require("blis.feature.routers.options").sync },
  { "blis.RouterFaultOptions", require("blis.feature.routers.options").fault },
  { "blis.RegionsOptions", require "blis.feature.regions.options" },
  { "blis.QueueOptions", require "blis.feature.queue.options" },
  { "blis.LoraOptions", require "blis.feature.lora.options" },
  { "blis.KvGroupOptions", require "blis.config.kv_layout" },
  { "blis.SpeculationOptions", require "blis.feature.speculation.options" },
  { "blis.SglangOptions", require "blis.feature.sglang.options" },
  { "blis.TrtllmOptions", require "blis.feature.trtllm.options" },
  { "blis.RankOptions", require "blis.feature.ranks.options" },
  { "blis.DisaggregationOptions", require "blis.feature.disaggregation.options" },
  { "blis.KvTiersOptions", require("blis.feature.kv_tiers.options").all },
  { "blis.KvTierOptions", require("blis.feature.kv_tiers.options").tier },
  { "blis.WorkloadOptions", require("blis.config.workload").short },
  { "blis.ShapeOptions", require("blis.traffic.shape").described() },
  { "blis.PrefixOptions", require("blis.config.workload").prefixes },
  { "blis.SessionOptions", require("blis.config.workload").sessions },
  { "blis.FileOptions", require("blis.config.workload").file },
  { "blis.ReplayOptions", require("blis.config.workload").replay },
  { "blis.GraphFileOptions", require("blis.config.workload").graph_file },
  { "blis.GraphsOptions", require("blis.config.workload").graphs },
  { "blis.GeneratorOptions", require("blis.config.workload").generator },
  { "blis.ClientsOptions", require("blis.config.workload").with_clients },
  { "blis.ClientOptions", require("blis.config.workload").client },
  { "blis.CohortOptions", require("blis.config.workload").cohort },
  { "blis.WindowOptions", require("blis.config.workload").window },
  { "blis.LatencyOptions", require "blis.config.latency" },
  { "blis.TraceOptions", require("blis.config.trace").read },
  { "blis.TraceFormatOptions", require("blis.config.trace").format },
  { "blis.CutOptions", require("blis.config.trace").cut },
  { "blis.MergeOptions", require("blis.config.trace").merge },
  { "blis.TraceWriteOptions", require("blis.config.trace").write },
  { "blis.SweepOptions", require("blis.config.sweep").space },
  { "blis.PrecisionOptions", require("blis.config.sweep").precision },
  { "blis.CompareOptions", require("blis.config.sweep").compare },
  { "blis.StoppingOptions", require("blis.config.sweep").stopping },
  { "blis.CapacityOptions", require("blis.config.sweep").capacity },
  { "blis.RecommendOptions", require("blis.config.sweep").recommend },
  { "blis.SweepRunOptions", require("blis.config.sweep").run },
  { "blis.CmaEsOptions", require("blis.config.sweep").cma_es },
  { "blis.CalibrateOptions", require "blis.config.fit" },
}

local type_names = {
  integer = "integer", time_us = "integer", delay_us = "integer|table<string, number>",
  number = "number", boolean = "boolean",
  warm_up_us = 'integer|"auto"',
  string = "string", path = "string", numbers = "number[]", reals = "number[]", any = "any",
  table = "table",
  section = "table", callback = "function", strings = "string[]", jobs = 'integer|"auto"',
  replications = "integer|blis.PrecisionOptions",
  experiment = "blis.Experiment|fun(p: table): blis.Experiment",
  comparisons = 'integer|"auto"|blis.StoppingOptions',
  switch_or_folder = "boolean|string", folder = "string",
  described = "string|table", paths = "string|string[]",
  served_models = "string|string[]|table<string, string>",
  names = "string[]", numbers_by_name = "table<string, number>",
  shape = "string|blis.ShapeOptions", spot = "string|blis.SpotOptions",
  carbon = "number|string|number[][]",
  distribution = "number|table", arrival = "string|table", prefixes = "blis.PrefixOptions",
  lengths = "number|table|fun(rng: blis.Rng): integer", sessions = "blis.SessionOptions",
  gaps = "string|table|fun(rng: blis.Rng): integer",
}

local special = {
  ["blis.Experiment.cluster"] = "blis.ClusterOptions",
  ["blis.Experiment.workload"] = "blis.WorkloadOptions|blis.ClientsOptions|blis.FileOptions|"
    .. "blis.ReplayOptions|blis.GeneratorOptions|blis.GraphsOptions|blis.Workload|blis.TraceStream|"
    .. "fun(rng: blis.Rng): table?",
  ["blis.Experiment.admission"] = "blis.AnyAdmission",
  ["blis.Experiment.routing"] = "blis.AnyRouter",
  ["blis.Experiment.cascade"] = "blis.AnyCascade",
  ["blis.Experiment.autoscaler"] = "blis.AnyAutoscaler|blis.PoolAutoscalers",
  ["blis.DisaggregationOptions.decider"] = "blis.AnyDecider",
  ["blis.DisaggregationOptions.prefill_routing"] = "blis.AnyRouter",
  ["blis.DisaggregationOptions.decode_routing"] = "blis.AnyRouter",
  ["blis.DisaggregationOptions.encode_routing"] = "blis.AnyRouter",
  ["blis.ScalingOptions.node_pools"] = "blis.NodePoolOptions[]",
  ["blis.Experiment.faults"] = "blis.FaultOptions[]",
  ["blis.Experiment.phases"] = "{ name: string, from_us: integer }[]",
  ["blis.FaultOptions.instance"] = "integer|string",
  ["blis.Experiment.queue"] = "boolean|blis.QueueOptions",
  ["blis.QueueOptions.saturation"] = "blis.AnySaturation",
  ["blis.QueueOptions.usage_limit"] = "blis.AnyUsageLimit",
  ["blis.Experiment.scaling"] = "blis.ScalingOptions",
  ["blis.Experiment.scheduler"] = "blis.AnyScheduler",
  ["blis.Experiment.preemption"] = "blis.AnyPreemption",
  ["blis.Experiment.disaggregation"] = "blis.AnyDecider|blis.DisaggregationOptions",
  ["blis.Experiment.kv_tiers"] = "string|blis.KvTiersOptions|blis.KvTierOptions[]",
  ["blis.KvTiersOptions.load"] = '"all"|"if-faster"|fun(request: blis.Request, '
    .. "offer: blis.KvOffer): integer|boolean",
  ["blis.KvTierOptions.policy"] = '"lru"|"fifo"|"lfu"|"arc"|"reuse-hint"|'
    .. 'fun(block: blis.KvTierBlock): number',
  ["blis.TraceFormatOptions.read"] = "fun(file: blis.TraceFile): table|function",
  ["blis.TraceFormatOptions.recognize"] = "fun(head: string): any",
  ["blis.Experiment.priority"] = "blis.AnyPriority",
  ["blis.Experiment.think_time"] = "fun(session: string, round: integer, usual_us: integer): "
    .. "integer",
  ["blis.Experiment.on_arrival"] = "fun(request: blis.Request)",
  ["blis.Experiment.on_routed"] = "fun(request: blis.Request, instance: blis.Candidate)",
  ["blis.Experiment.on_first_token"] = "fun(request: blis.Request, instance: blis.Candidate, "
    .. "ttft_us: integer)",
  ["blis.Experiment.on_escalation"] = "fun(request: blis.Request, instance: blis.Candidate, "
    .. "attempt: blis.Attempt)",
  ["blis.Experiment.on_completion"] = "fun(request: blis.Request, instance: blis.Candidate, "
    .. "outcome: blis.Outcome)",
  ["blis.Experiment.on_rejection"] = "fun(request: blis.Request, reason: string)",
  ["blis.Experiment.on_failure"] = "fun(request: blis.Request, instance?: blis.Candidate, "
    .. "outcome: blis.Outcome)",
  ["blis.Experiment.progress"] = "fun(ended: integer, arrived: integer, now_us: integer, "
    .. "steps: integer)",
  ["blis.Experiment.slo_targets"] = "table<string, table<string, number>>",
  ["blis.ReplayOptions.trace"] = "blis.Workload|blis.TraceStream|string",
  ["blis.GraphsOptions.graphs"] = "table[]|string|blis.GraphFile|"
    .. "fun(rng: blis.Rng, number: integer): table?",
  ["blis.GeneratorOptions.generator"] = "fun(rng: blis.Rng): table?",
  ["blis.ClientsOptions.clients"] = "blis.ClientOptions[]",
  ["blis.ClientsOptions.cohorts"] = "blis.CohortOptions[]",
  ["blis.ClusterOptions.groups"] = "blis.GroupOptions[]",
  ["blis.ClusterOptions.lora"] = "blis.LoraOptions",
  ["blis.Experiment.routers"] = "integer|blis.RoutersOptions",
  ["blis.RoutersOptions.share"] = '("prefix"|"in-flight")[]',
  ["blis.RoutersOptions.sync"] = "string|blis.RouterSyncOptions",
  ["blis.RoutersOptions.faults"] = "blis.RouterFaultOptions[]",
  ["blis.Experiment.regions"] = "blis.RegionsOptions",
  ["blis.RegionsOptions.rtt_ms"] = "table<string, table<string, number>>",
  ["blis.RegionsOptions.routing"] = '"nearest"|"least-cost"|"weighted"|"prefix"|'
    .. "fun(request: blis.Request, regions: blis.RegionLook[]): blis.RegionLook|string",
  ["blis.RegionsOptions.origin"] = '"tenant"|"client"|fun(request: blis.Request): string',
  ["blis.RegionsOptions.egress_usd_per_gb"] = "number|table<string, number>",
  ["blis.ClusterOptions.kv_layout"] = "blis.KvGroupOptions[]",
  ["blis.ClusterOptions.speculation"] = "blis.SpeculationOptions",
  ["blis.ClusterOptions.sglang"] = "blis.SglangOptions",
  ["blis.ClusterOptions.trtllm"] = "blis.TrtllmOptions",
  ["blis.ClusterOptions.ranks"] = "integer|blis.RankOptions",
  ["blis.ClusterOptions.gpu_step_watts"] = "fun(step: blis.PowerStep): number",
  ["blis.GroupOptions.gpu_step_watts"] = "fun(step: blis.PowerStep): number",
  ["blis.RankOptions.expert_imbalance"] = "number|number[]",
  ["blis.SpeculationOptions.acceptance"] = "number|number[]|"
    .. "fun(request: blis.Request, position: integer): number|table<string, any>",
  ["blis.LoraOptions.adapters"] = "integer|(string|{ id: string, rank?: integer, "
    .. "weight?: number })[]",
  ["blis.LoraOptions.step_overhead_tiers"] = "{ rank: integer, factor: number }[]",
  ["blis.GroupOptions.latency_model"] = "string|blis.LatencyModel",
  ["blis.ClusterOptions.latency_model"] = "string|blis.LatencyModel|blis.LatencyOptions|"
    .. "fun(batch: blis.Batch): number",
  ["blis.LatencyOptions.step_time"] = "fun(batch: blis.Batch): number",
  ["blis.LatencyOptions.queueing_time"] = "number|fun(prompt_tokens: integer): number",
  ["blis.LatencyOptions.output_token_time"] = "number",
  ["blis.LatencyOptions.fixed_overhead"] = "number",
  ["blis.CalibrateOptions.cluster"] = "blis.ClusterOptions",
  ["blis.CalibrateOptions.tell"] = "fun(round: integer, trials: integer, most: integer)",
  ["blis.CompareOptions.variants"] = "table<string, any>[]",
  ["blis.SweepOptions.cost"] = "fun(p: table): number",
  ["blis.SweepOptions.trial"] = "fun(p: table): any",
  ["blis.CapacityOptions.trial"] = "fun(p: table): any",
  ["blis.CapacityOptions.experiment"] = "blis.Experiment",
  ["blis.CapacityOptions.targets"] = "table<string, number>",
  ["blis.SweepOptions.where"] = "fun(p: table): boolean",
  ["blis.TraceOptions.format"] = "string", -- the formats are listed by blis.trace.formats()
}

local function type_of(class, option)
  local known = special[class .. "." .. option.name]
  if known then return known end
  if not option.choices then return type_names[option.type] end
  local words = {}
  for i, word in ipairs(option.choices) do words[i] = '"' .. word .. '"' end
  words[#words + 1] = option.scripted
  return table.concat(words, "|")
end

local function default_text(option)
  local parts = {}
  if option.unit and option.unit ~= "" then parts[1] = option.unit end
  if option.default ~= nil then parts[#parts + 1] = "default " .. tostring(option.default) end
  return #parts > 0 and " (" .. table.concat(parts, ", ") .. ")" or ""
end

--- The option tables, as { class, section } in the order of the file.
annotations.sections = sections

--- The type of an option in annotations for editors.
annotations.type_of = type_of

--- The text of options.lua.
---@return string
function annotations.generate()
  local lines = {
    "---@meta",
    "--- The tables of options, and the policies that they may name, for editors. Written by",
    "--- blis.config.annotations; do not edit.",
  }
  for _, item in ipairs(sections) do
    local class, section = item[1], item[2]
    lines[#lines + 1] = ""
    lines[#lines + 1] = "--- " .. section.summary
    lines[#lines + 1] = "---@class " .. class
    for _, option in ipairs(section.options) do
      local mark = option.required and "" or "?"
      lines[#lines + 1] = ("---@field %s%s %s %s%s"):format(option.name, mark,
        type_of(class, option), option.doc, default_text(option))
    end
  end
  return table.concat(lines, "\n") .. "\n\n" .. policies.generate()
end

return annotations
