--- The keys of policy bundles, the YAML files of --policy-config, as in BLIS in Go (inference-sim
--- f90a1e3a).
local cluster_section = require "blis.config.cluster"

--- A block of keys as an option of the block around it.
local function block(name, doc, options)
  local section = { name = name, summary = doc, options = options }
  return { name = name, type = "section", section = section, doc = doc }
end

local function number(name, limits, doc)
  local option = { name = name, type = "number", doc = doc }
  for key, value in pairs(limits) do option[key] = value end
  return option
end

local function integer(name, min, doc)
  return { name = name, type = "integer", min = min, doc = doc }
end

local function text(name, doc)
  return { name = name, type = "string", doc = doc }
end

--- The description of a cluster option under another name and without a default.
local function of_cluster(option_name, name)
  for _, option in ipairs(cluster_section.options) do
    if option.name == option_name then
      return {
        name = name, type = option.type, choices = option.choices, of = option.of,
        min = option.min, max = option.max, doc = option.doc,
      }
    end
  end
end

local function delay(name, doc)
  return block(name, doc, {
    number("mean", { min = 0 }, "Seconds."), number("stddev", { min = 0 }, "Seconds."),
  })
end

local params = { name = "params", type = "table", doc = "Parameters of the policy." }

local admission = block("admission", "Which requests are admitted.", {
  params,
  text("policy", "Admission policy; 'blis policies' lists them."),
  number("token_bucket_capacity", { min = 0 }, "Of token-bucket."),
  number("token_bucket_refill_rate", { min = 0 }, "Of token-bucket, per second."),
  integer("tier_shed_threshold", 0, "Of tier-shed: highest load at which all requests are "
    .. "admitted."),
  integer("tier_shed_min_priority", nil, "Of tier-shed: lowest class priority that is still "
    .. "admitted."),
  number("gaie_qd_threshold", { above = 0 }, "Of gaie-legacy: queue depth."),
  number("gaie_kv_threshold", { above = 0, max = 1 }, "Of gaie-legacy: KV use."),
  of_cluster("slo_priorities", "slo_priorities"),
  { name = "slo_targets", type = "numbers_by_name", of = "integer", min = 1,
    doc = "Targets for time to first token used by a gateway queue, in us." },
})

local analyzer = block("analyzer", "What counts as too much and too little load.", {
  number("kv_cache_threshold", { min = 0, max = 1 }, "Share of the KV cache that counts."),
  number("scale_up_threshold", { min = 0 }, "Instances are added above this utilization."),
  number("scale_down_boundary", { min = 0 }, "Instances are removed below this utilization."),
  number("avg_input_tokens", { min = 0 }, "Tokens that a waiting request will need."),
})

local autoscaler = block("autoscaler", "Instances that come and go.", {
  number("interval_us", { min = 0 }, "Interval between load checks, 0 = off."),
  number("scale_up_stabilization_window_us", { min = 0 }, "Delay before instances are added."),
  number("scale_down_stabilization_window_us", { min = 0 }, "Delay before instances are removed."),
  delay("hpa_scrape_delay", "Delay between a decision and its execution."),
  analyzer,
})

---@type blis.Section
local node_pool = {
  name = "node_pool",
  summary = "Nodes with equal GPUs.",
  options = {
    { name = "name", type = "string", required = true, doc = "Name of the pool." },
    { name = "gpu_type", type = "string", required = true, doc = "Type of its GPUs." },
    { name = "gpus_per_node", type = "integer", min = 1, max = 4096, required = true,
      doc = "GPUs per node." },
    number("gpu_memory_gib", { above = 0 }, "Memory of a GPU. Overrides the catalog."),
    { name = "initial_nodes", type = "integer", min = 0, max = 100000, default = 0,
      doc = "Initial number of nodes." },
    { name = "min_nodes", type = "integer", min = 0, max = 100000, default = 0,
      doc = "Has no effect." },
    { name = "max_nodes", type = "integer", min = 0, max = 100000, default = 0,
      doc = "Maximum number of nodes. Under go-blis, the pool does not grow." },
    delay("provisioning_delay", "Delay until a machine is available."),
    number("cost_per_hour", { min = 0 }, "Price of an instance in this pool."),
  },
}

---@type blis.Section
local bundle = {
  name = "bundle",
  summary = "Policies of a cluster in a file.",
  options = {
    admission,
    block("routing", "Where requests go.", {
      params,
      text("policy", "Routing policy; 'blis policies' lists them."),
      { name = "scorers", type = "any", doc = "Scorers of policy weighted: a list of { name, "
        .. "weight }." },
    }),
    { name = "cascade", type = "table",
      doc = "Models that are called in this order: chain, confidence_threshold, and the other "
        .. "parameters listed by 'blis policies cognitora.cascade'. policy is the name of the "
        .. "cascade policy." },
    { name = "groups", type = "table",
      doc = "Groups of differing instances, instead of --num-instances: a list of group options." },
    block("priority", "How urgent requests are; go-blis: by their SLO classes.", {
      params, text("policy", "Priority policy; 'blis policies' lists them."),
    }),
    of_cluster("scheduler", "scheduler"),
    block("preemption", "Which request is "
      .. "preempted.", { of_cluster("preemption_policy", "policy"),
      of_cluster("kv_reservation", "kv_reservation") }),
    of_cluster("defaults", "defaults"),
    of_cluster("tenant_budgets", "tenant_budgets"),
    { name = "queue", type = "any",
      doc = "Gateway queue: its options ('blis help queue'), or true for the defaults. saturation "
        .. "and usage_limit are names, or { policy =, params = }." },
    { name = "node_pools", type = "table",
      doc = "Nodes for instances: a list of pools." },
    autoscaler,
    block("autoscale", "How many instances there are.", {
      params, text("policy", "Autoscaler; 'blis policies' lists them."),
    }),
    { name = "faults", type = "table", doc = "Faults of instances: a list." },
    { name = "scaling", type = "table",
      doc = "With autoscale: bounds, cold starts, and draining." },
    { name = "shape", type = "any",
      doc = "Shape of the rate of generated traffic over time: a name, or a block of options with "
        .. "its kind ('blis help shape')." },
    { name = "phases", type = "table",
      doc = "Phases of the traffic, a list of { name, from_us }. Results include metrics per "
        .. "phase." },
    block("instance_lifecycle", "How instances start.", {
      delay("loading_delay", "Delay between the start of an instance and its first request."),
      { name = "warm_start_initial_instances", type = "boolean",
        doc = "Start the initial instances ready to serve." },
    }),
  },
}

return { section = bundle, node_pool = node_pool }
