--- The options of instances that come and go: bounds, how long a start takes, and how they leave.

local defaults = require "blis.config.defaults"

--- How long a part of a start takes.
local function delay(name, doc, flag)
  local usual_us = defaults.newest.scaling[name] or 0
  return {
    name = name, type = "delay_us", min = 0, unit = "us", flag = flag,
    group = flag and "Autoscaling",
    doc = ("%s Default: %s."):format(doc, usual_us > 0
      and ("%d s, or 0 if another delay of this kind is set"):format(usual_us // 1000000) or "0"),
  }
end

---@type blis.Section
return {
  name = "scaling",
  summary = "Autoscaling: bounds, cold starts, and draining. A run starts with the instances of "
    .. "the cluster.",
  options = {
    {
      name = "min_replicas", type = "integer", min = 0, max = 100000, default = 1,
      flag = "--autoscaler-min", group = "Autoscaling", doc = "Minimum number of instances.",
    },
    {
      name = "max_replicas", type = "integer", min = 1, max = 100000, default = 8,
      flag = "--autoscaler-max", group = "Autoscaling", doc = "Maximum number of instances.",
    },
    {
      name = "max_starts", type = "integer", min = 1, max = 1000000, unit = "instances",
      doc = "Maximum number of instance starts during a run, including initial instances. Each "
        .. "start has a unique ID and takes 3 KB. A run that exceeds it fails. Default: the "
        .. "largest of 256, 16 * max_replicas, and one per 30 s of traffic plus two per fault, up "
        .. "to 32768.",
    },
    delay("request_delay_us", "Delay from the request for an instance until a node is assigned. "
      .. "Delays are numbers or random: { mean_us =, stddev_us = }, normal or with distribution = "
      .. "\"lognormal\", \"uniform\", or \"exponential\"."),
    delay("provisioning_delay_us", "Time to schedule the instance and to fetch its image.",
      "--provisioning-delay"),
    delay("loading_delay_us", "Time to load weights and to capture graphs.", "--loading-delay"),
    delay("warmup_duration_us", "Time from the end of loading until the instance "
      .. "serves.", "--warmup-duration"),
    {
      name = "warmup_factor", type = "number", min = 0.001, max = 1000000,
      flag = "--warmup-factor", group = "Autoscaling",
      doc = "Serve requests during warm-up. Steps then take this many times as long for "
        .. "warmup_duration_us. Default: wait for the end of warm-up.",
    },
    {
      name = "start_failure", type = "number", min = 0, max = 1, default = 0,
      doc = "Probability that a start fails at its end. The instance then repeats provisioning. "
        .. "Applies to initial instances only if warm_start is false.",
    },
    {
      name = "start_retries", type = "integer", min = 0, max = 1000, default = 3,
      doc = "Maximum consecutive failed starts after the first. After more, the instance has "
        .. "failed permanently and is replaced.",
    },
    delay("actuation_delay_us", "From a decision of the autoscaler to its effect."),
    {
      name = "interval_us", type = "time_us", min = 1, unit = "us",
      doc = "Interval between evaluations of the autoscaler. Default: its preferred interval.",
    },
    {
      name = "prefill", type = "table",
      doc = "Overrides for the prefill pool of a disaggregated cluster, such as { max_replicas = 4 "
        .. "}.",
    },
    { name = "decode", type = "table", doc = "Overrides for the decode pool." },
    {
      name = "warm_start", type = "boolean", default = true,
      doc = "Initial instances serve immediately. false: they have a node, but load and warm up "
        .. "like other instances.",
    },
    {
      name = "node_pools", type = "table",
      doc = "Nodes for instances, a list of pools such as { { name = \"a\", gpu = \"H100\", "
        .. "gpus_per_node = 8, nodes = 2, max_nodes = 4 } }. An instance that does not fit starts "
        .. "when a node is free. Default: unlimited nodes.",
    },
    {
      name = "drain", type = "choice", choices = { "wait", "redirect", "immediate" },
      default = "wait", flag = "--drain-policy", group = "Autoscaling",
      doc = "How to handle the requests of an instance that is scaled down. wait: finish them. "
        .. "redirect: route requests that are not running again. immediate: fail them, reason "
        .. "instance-stopped.",
    },
    {
      name = "grace_us", type = "time_us", min = 0, unit = "us",
      doc = "Maximum time to drain an instance. Default: unlimited.",
    },
    {
      name = "victim", type = "choice", choices = { "newest", "oldest", "least-loaded" },
      default = "newest", doc = "Instances to scale down first, after instances that are starting.",
    },
    {
      name = "replica_price_per_hour", type = "number", min = 0, unit = "USD/h",
      flag = "--replica-price-per-hour", group = "Autoscaling",
      doc = "Instance price, all ranks included, for the cost of a run. Default: the total price "
        .. "of its GPUs.",
    },
    {
      name = "instance_capacity", type = "number", above = 0, max = 1e9, unit = "requests/s",
      doc = "Rate that one instance serves within its targets, for over_provisioned_seconds and "
        .. "under_provisioned_seconds of results.",
    },
    {
      name = "oscillation_us", type = "time_us", min = 0, default = 120000000, unit = "us",
      doc = "A change that undoes the direction of the last one within this time counts as an "
        .. "oscillation.",
    },
    {
      name = "trigger_queue_depth", type = "integer", min = 1, unit = "requests",
      flag = "--autoscaler-trigger-queue-depth", group = "Autoscaling",
      doc = "Also evaluate the autoscaler when this many requests wait for an instance or at the "
        .. "gateway. Default: only at its intervals.",
    },
    {
      name = "trigger_slo_attainment", type = "number", min = 0, max = 1, default = 0,
      flag = "--autoscaler-trigger-slo-attainment", group = "Autoscaling",
      doc = "Also evaluate the autoscaler when the fraction of requests that met ttft_target_us "
        .. "and the other targets falls below this. Counts requests that ended in the last minute, "
        .. "if at least ten. 0: never.",
    },
    {
      name = "trigger_gap_us", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "Minimum time since the last evaluation before a trigger can cause another one.",
    },
    {
      name = "ttft_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-ttft-target", group = "Autoscaling",
      doc = "TTFT target for slo_attainment; 0 = no target. Default of this and the next two "
        .. "options: slo_targets, if it has one class.",
    },
    {
      name = "tpot_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-tpot-target", group = "Autoscaling",
      doc = "Target for the mean time per output token, for slo_attainment; 0 = no target.",
    },
    {
      name = "e2e_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-e2e-target", group = "Autoscaling",
      doc = "Target for the end-to-end latency, for slo_attainment; 0 = no target.",
    },
  },
}
