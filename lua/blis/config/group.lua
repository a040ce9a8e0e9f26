--- Options of a group of instances: the cluster options that describe an instance, and attributes
--- that policies can read.
local cluster = require "blis.config.cluster"

-- These apply to the cluster as a whole.
local whole = {}
for _, name in ipairs { "defaults", "groups", "instances", "catalogue", "scheduler",
  "preemption_policy",
  "engine", "strict_coverage", "snapshot_refresh_us", "cache_signal_delay_us",
  "admission_latency_us",
  "prefill_instances", "decode_instances", "prefill_decode_instances", "encode_instances",
  "architecture",
  "prefill_tp",
  "prefill_nic_gb_s", "decode_nic_gb_s",
  "prefill_hardware", "prefill_max_model_len", "prefill_latency_model", "decode_tp",
  "decode_hardware", "decode_max_model_len", "decode_latency_model",
  "pue", "carbon_g_per_kwh",
  "routing_latency_us", "slo_priorities", "tenant_budgets", "max_requests_in_memory" } do
  whole[name] = true
end

local options = {
  {
    name = "instances", type = "integer", min = 1, max = 1000000, default = 1,
    doc = "Number of serving engines in the group.",
  },
  {
    name = "watts", type = "number", min = 0, max = 1e9, unit = "W",
    doc = "Mean power draw of an instance, for policies; default: gpu_watts times its GPUs.",
  },
  {
    name = "capacity", type = "number", min = 0, max = 1, default = 1,
    doc = "Relative capacity of an instance, for policies.",
  },
  {
    name = "cost_per_hour", type = "number", min = 0, max = 1e9, unit = "USD",
    doc = "Price of an instance, as seen by policies. Defaults to the total price of its GPUs.",
  },
  {
    name = "region", type = "string",
    doc = "Region of the instances, for the option `regions` of an experiment.",
  },
  {
    name = "role", type = "choice", choices = { "prefill", "decode", "both", "encode", "none" },
    doc = "Role of the instances in a disaggregated cluster. If any group has a role, groups "
      .. "without a role receive no requests.",
  },
}
local own = #options
for _, option in ipairs(cluster.options) do
  if not whole[option.name] then options[#options + 1] = option end
end

---@type blis.Section
local section = {
  name = "group",
  summary = "A subset of the instances of a cluster. Options that are not set come from the "
    .. "cluster.",
  options = options,
}

return { section = section, own = own, instances_max = options[1].max }
