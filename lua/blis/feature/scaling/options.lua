--- The options of instances that come and go: bounds, how long a start takes, and how they leave.

--- How long a part of a start takes.
local function delay(name, doc, flag)
  return {
    name = name, type = "delay_us", min = 0, unit = "us", flag = flag,
    group = flag and "Autoscaling", doc = doc .. " Default: 0.",
  }
end

---@type blis.Section
return {
  name = "scaling",
  summary = "Instances that come and go, with an autoscaler. A cluster begins with its instances.",
  options = {
    {
      name = "min_replicas", type = "integer", min = 0, max = 100000, default = 1,
      flag = "--autoscaler-min", group = "Autoscaling", doc = "Least number of instances.",
    },
    {
      name = "max_replicas", type = "integer", min = 1, max = 100000, default = 8,
      flag = "--autoscaler-max", group = "Autoscaling", doc = "Greatest number of instances.",
    },
    {
      name = "max_starts", type = "integer", min = 1, max = 1000000, unit = "instances",
      doc = "Instances that can be started during a run, the first ones included: each has an id "
        .. "of its own and takes 3 KB; one more ends the run with an error. Default: the most of "
        .. "256, 16 times max_replicas, and one for every 30 s of traffic and two for every "
        .. "fault, up to 32768.",
    },
    delay("request_delay_us", "From being asked for until there is a machine. Every one of these "
      .. "times is a number, or drawn: { mean_us =, stddev_us = }, normal or with distribution = "
      .. "\"lognormal\", \"uniform\" or \"exponential\"."),
    delay("provisioning_delay_us", "Until the machine is up.", "--provisioning-delay"),
    delay("loading_delay_us", "Until weights are loaded and graphs captured.", "--loading-delay"),
    delay("warmup_duration_us", "Until it takes requests, after that.", "--warmup-duration"),
    {
      name = "warmup_factor", type = "number", min = 0.001, max = 1000000,
      flag = "--warmup-factor", group = "Autoscaling",
      doc = "It takes requests from the end of loading on, and its steps take so many times as "
        .. "long for warmup_duration_us. Default: it waits.",
    },
    {
      name = "start_failure", type = "number", min = 0, max = 1, default = 0,
      doc = "How likely a start is to fail when the instance would take requests, also of one "
        .. "that is there at first and loads (warm_start = false). It begins anew, with its "
        .. "provisioning, and takes as long again.",
    },
    {
      name = "start_retries", type = "integer", min = 0, max = 1000, default = 3,
      doc = "Starts that fail in a row after the first: one more, and the instance has failed for "
        .. "good; another one is started in its place.",
    },
    delay("actuation_delay_us", "From a decision of the autoscaler to its effect."),
    {
      name = "interval_us", type = "time_us", min = 1, unit = "us",
      doc = "How often the autoscaler is asked; default: its own interval.",
    },
    {
      name = "prefill", type = "table",
      doc = "Where prefill and decode are apart: options of the prefill pool over these, such as "
        .. "{ max_replicas = 4 }.",
    },
    { name = "decode", type = "table", doc = "The same of the decode pool." },
    {
      name = "warm_start", type = "boolean", default = true,
      doc = "Whether the instances at first take requests at once; else they have a machine, and "
        .. "load and warm up as others do.",
    },
    {
      name = "node_pools", type = "table",
      doc = "Machines on which instances are placed, a list of pools such as { { name = \"a\", "
        .. "gpu = \"H100\", gpus_per_node = 8, nodes = 2, max_nodes = 4 } }: an instance that "
        .. "finds no room starts when there is some. Default: there is always room.",
    },
    {
      name = "drain", type = "choice", choices = { "wait", "redirect", "immediate" },
      default = "wait", flag = "--drain-policy", group = "Autoscaling",
      doc = "What becomes of the requests of an instance that is to go. wait: it finishes them; "
        .. "redirect: those that are not running yet are routed again; immediate: they fail, "
        .. "reason instance-stopped.",
    },
    {
      name = "grace_us", type = "time_us", min = 0, unit = "us",
      doc = "How long an instance may take to finish; default: as long as it takes.",
    },
    {
      name = "victim", type = "choice", choices = { "newest", "oldest", "least-loaded" },
      default = "newest", doc = "Who goes first, after those that are still starting.",
    },
    {
      name = "replica_price_per_hour", type = "number", min = 0, unit = "USD/h",
      flag = "--replica-price-per-hour", group = "Autoscaling",
      doc = "Price of an instance, with all its ranks, for the cost of a run; default: that of its "
        .. "GPUs.",
    },
    {
      name = "instance_capacity", type = "number", above = 0, max = 1e9, unit = "requests/s",
      doc = "What one instance takes within its targets; for over_provisioned_seconds and "
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
      doc = "The autoscaler is also asked between its intervals, as soon as a request finds so "
        .. "many waiting for its instance, or is one of so many that wait at the gateway. Default: "
        .. "at its intervals only.",
    },
    {
      name = "trigger_slo_attainment", type = "number", min = 0, max = 1, default = 0,
      flag = "--autoscaler-trigger-slo-attainment", group = "Autoscaling",
      doc = "The same, as soon as a smaller share of the requests that ended in the last minute, "
        .. "of ten or more, has kept its targets (ttft_target_us, ...); 0 = never.",
    },
    {
      name = "trigger_gap_us", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "Least time since the autoscaler was last asked before a trigger asks it again.",
    },
    {
      name = "ttft_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-ttft-target", group = "Autoscaling",
      doc = "Time to first token that requests are to keep, for slo_attainment; 0 = any. "
        .. "Default of this and the next two: what slo_targets says, if it names one class.",
    },
    {
      name = "tpot_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-tpot-target", group = "Autoscaling",
      doc = "Mean time per output token that requests are to keep, for slo_attainment; 0 = any.",
    },
    {
      name = "e2e_target_us", type = "time_us", min = 0, unit = "us",
      flag = "--autoscaler-e2e-target", group = "Autoscaling",
      doc = "Time from arrival to last token that requests are to keep, for slo_attainment; 0 = "
        .. "any.",
    },
  },
}
