--- Options of an experiment: the arguments of blis.run, blis.simulation, and blis.compare.
local defaults = require "blis.config.defaults"

---@type blis.Section
return {
  name = "experiment",
  summary = "A cluster, its traffic, and its policies.",
  options = {
    { name = "cluster", described = false, type = "table", doc = "Options of the cluster." },
    {
      name = "workload", described = false, type = "any",
      doc = "Options of generated traffic, or a result of blis.workload, blis.trace.read, or "
        .. "blis.trace.stream.",
    },
    {
      name = "admission", described = false, type = "any", flag = "--admission-policy",
      group = "Admission and routing",
      flag_doc = "Admission policy; 'blis policies' lists them. (default always-admit)",
      metavar = "NAME",
      doc = "A policy by name, { name, parameter = value, ... }, or a function(request, cluster) "
        .. "that returns blis.admit() or blis.reject(reason).",
    },
    {
      name = "routing", described = false, type = "any", default = "round-robin",
      profiles = { ["go-blis"] = "round-robin" }, flag = "--routing-policy",
      group = "Admission and routing",
      flag_doc = "Routing policy; 'blis policies' lists them.", metavar = "NAME",
      doc = "A policy by name, { name, parameter = value, ... }, or a function(request, "
        .. "instances) that returns the index of a candidate.",
    },
    {
      name = "routers", type = "any",
      doc = "Router replicas: several copies of the routing policy behind a load balancer, each "
        .. "with its own state: { replicas = 4, balancer = \"random\", share = { \"prefix\" }, "
        .. "sync = { mode = \"events\", delay_us = 10000 } }, or a number of replicas. Default: "
        .. "one router.",
    },
    {
      name = "regions", type = "any",
      doc = "Regions of clients, gateways, and instances, and the latency between them: { rtt_ms = "
        .. "{ us = { eu = 90 } }, routing = \"nearest\" }. Each group of the cluster has a region.",
    },
    {
      name = "cascade", type = "any",
      doc = "Models that are called in order until an answer is good enough: { chain = { "
        .. "\"small\", \"large\" }, confidence_threshold = -1 }, or a result of blis.cascade.",
    },
    {
      name = "autoscaler", type = "any", flag = "--autoscaler", metavar = "NAME",
      group = "Admission and routing",
      flag_doc = "Autoscaler (see 'blis policies'). Default: fixed number of instances.",
      doc = "Number of instances: an autoscaler by name, { name, parameter = value, ... }, a "
        .. "result of blis.autoscaler, or a function(context) that returns a number, { target =, "
        .. "reason =, unconstrained_target = }, or nil for no change. With pools, it scales each "
        .. "pool; { prefill =, decode = } sets an autoscaler per pool. Default: fixed number of "
        .. "instances.",
    },
    {
      name = "scaling", type = "table",
      doc = "With autoscaler: bounds, cold starts, and draining.",
    },
    {
      name = "queue", type = "any",
      doc = "Gateway queue (flow control), between admission and routing: { saturation =, dispatch "
        .. "=, ttl_us =, ... }, or true for the defaults. Default: no gateway queue.",
    },
    {
      name = "disaggregation", type = "any",
      doc = "Prefill/decode disaggregation, for a cluster with pools: { decider =, order =, "
        .. "bandwidth_gb_s =, ... }, or only the decider. Default: the defaults of these options.",
    },
    {
      name = "kv_tiers", type = "any",
      doc = "KV cache tiers (offloading) in CPU memory, on disks, or in pools: a list of { name =, "
        .. "gb =, scope =, read_gb_s =, ... }, the name of a preset, or both: { preset = "
        .. "\"vllm-0.22\", { name = \"cpu\", gb = 64 } }. Default: no tiers.",
    },
    {
      name = "faults", type = "any",
      doc = "Faults of instances: a list of { at =, instance =, kind = \"crash\", recover_after =, "
        .. "requests = \"rerouted\" } or random faults with mtbf.",
    },
    {
      name = "scheduler", described = false, type = "any",
      doc = "Order of an instance's wait queue: a name, or a function(a, b) that returns true if a "
        .. "runs before b.",
    },
    {
      name = "preemption", described = false, type = "any",
      doc = "Request to preempt when KV blocks run out: a policy by name, or a function(running) "
        .. "that returns the index of a running request.",
    },
    {
      name = "priority",
      described = false, type = "any", flag = "--priority-policy", metavar = "NAME",
      group = "Admission and routing",
      flag_doc = "Priority policy (see 'blis policies'). Defaults to the priority of the request's "
        .. "SLO class.",
      doc = "Priority of an arriving request, for schedulers and preemption: a policy by name, { "
        .. "name, parameter = value, ... }, or a function(request). The function returns a number "
        .. "(higher is more urgent) and, optionally, a table of hints, which admission, routing, "
        .. "and schedulers read as request.hints. Defaults to the value of its SLO class (see "
        .. "slo_priorities). Under profile go-blis, lower is more urgent; 0 is the most important "
        .. "class.",
    },
    {
      name = "think_time", type = "any",
      doc = "A function(session, round, usual_us) that returns the microseconds from an answer to "
        .. "the next round of the session.",
    },
    {
      name = "on_arrival", described = false, type = "any",
      doc = "A function(request), called on every arrival.",
    },
    {
      name = "on_routed", described = false, type = "any",
      doc = "A function(request, instance), called on every routing decision.",
    },
    {
      name = "on_first_token", described = false, type = "any",
      doc = "A function(request, instance, ttft_us), called on the first token of a request, at "
        .. "the end of its step. Under profile go-blis at its start, and again after a preemption.",
    },
    {
      name = "on_escalation", described = false, type = "any",
      doc = "A function(request, instance, attempt), called before a request is sent to another "
        .. "model because its answer was not good enough.",
    },
    {
      name = "on_completion", described = false, type = "any",
      doc = "A function(request, instance, outcome), called when a request completes, at the end "
        .. "of its last step; under profile go-blis at its start.",
    },
    {
      name = "on_rejection", described = false, type = "any",
      doc = "A function(request, reason), called when a request is rejected.",
    },
    {
      name = "on_failure", described = false, type = "any",
      doc = "A function(request, instance, outcome), called when a request timed out, was lost or "
        .. "could never be served.",
    },
    {
      name = "seed",
      described = false, type = "integer", default = 42, flag = "--seed", group = "Run",
      doc = "Seed of every random stream.",
    },
    {
      name = "horizon_us",
      described = false, type = "time_us", min = 1, unit = "us", flag = "--horizon",
      group = "Run",
      doc = "End of the simulation. Default: the end of the last request.",
    },
    {
      name = "instance_times", described = false, type = "boolean", default = false,
      doc = "Report latencies per instance, percentiles included.",
    },
    {
      name = "keep_requests", described = false, type = "boolean", default = false,
      doc = "Keep the requests as they arrived (150 bytes and more each), for result:trace() and "
        .. "result:write_trace(path).",
    },
    {
      name = "keep_records", type = "boolean", default = true,
      doc = "Keep a record of every request (96 bytes). false bounds the memory of very long runs. "
        .. "Percentiles of TTFT, E2E, and scheduling delay are then up to 1/256 too low; other "
        .. "metrics are exact. Results by request, class, tenant, or model are not available.",
    },
    {
      name = "slo_targets", described = false, type = "any",
      doc = "Latency targets by SLO class ('default' for requests without one): { critical = { "
        .. "ttft_ms = 500, itl_ms = 50, e2e_ms = 10000 } }. Results then include goodput.",
    },
    {
      name = "phases", described = false, type = "any", flag = "--phases", group = "Run",
      metavar = "NAME=TIME,...",
      flag_doc = "Phases of the traffic, each with its start time, for metrics per phase: "
        .. "night=0,morning=6h,evening=18h.",
      doc = "Named phases of the traffic. Each lasts until the next one starts: { { name = "
        .. "\"night\" }, { name = \"morning\", from_us = blis.seconds(600) } }. Results then "
        .. "include metrics per phase and the number of requests that met slo_targets.",
    },
    {
      name = "warm_up_us", type = "warm_up_us", min = 1, unit = "us", flag = "--warm-up",
      group = "Run",
      metavar = "TIME",
      flag_doc = "Also report metrics without the requests that arrived before this time. auto: "
        .. "the time at which TTFT converges (MSER-5).",
      doc = "Results include steady: metrics without the requests that arrived before this time. "
        .. "auto: the time at which TTFT converges (MSER-5). steady.from_us is that time. "
        .. "Throughput counts completions until the last arrival.",
    },
    {
      name = "cool_down_us", type = "time_us", min = 0, unit = "us", flag = "--cool-down",
      group = "Run", metavar = "TIME", needs = "warm_up_us",
      flag_doc = "Also omit the requests that arrived in this time before the last arrival. "
        .. "Requires --warm-up.",
      doc = "steady omits the requests that arrived in this time before the last arrival. They end "
        .. "while the cluster drains, with smaller batches than in the steady state.",
    },
    {
      name = "warm_up_requests", type = "integer", min = 0, flag = "--warm-up-requests",
      group = "Run", metavar = "NUMBER",
      flag_doc = "Also report metrics without this number of first completed requests.",
      doc = "Results include steady: metrics without this number of first completed requests, as "
        .. "in RouteSim. steady.from_us is the first arrival of the remaining requests. Instead of "
        .. "warm_up_us.",
    },
    {
      name = "series_interval_us", described = false, type = "time_us", min = 1, unit = "us",
      flag = "--series-interval", group = "Run",
      flag_doc = "Record metrics over time, one row per interval, for --series-path and --format "
        .. "json.",
      doc = "Results include series: metrics of the cluster and its instances per interval of this "
        .. "length.",
    },
    {
      name = "keep_steps", described = false, type = "boolean", default = false,
      doc = "Results include step_log: the batch of each step of each instance, for timelines. "
        .. "Every step is computed individually, so the run takes longer; its result is the same. "
        .. "Runs with more than 262,144 steps merge neighboring steps.",
    },
    {
      name = "keep_steps_from_us", described = false, type = "time_us", min = 0, unit = "us",
      doc = "With keep_steps: omit steps that end before this time.",
    },
    {
      name = "keep_steps_to_us", described = false, type = "time_us", min = 0, unit = "us",
      doc = "With keep_steps: omit steps that begin after this time.",
    },
    {
      name = "keep_timeline", described = false, type = "boolean", default = false,
      doc = "Results include timeline_log, the additional data of timelines: visited instances, "
        .. "preemptions, states of instances, loads of LoRA adapters, reads and writes of KV "
        .. "tiers, and dependencies in session graphs. At most 262,144 entries of each kind.",
    },
    {
      name = "profile", type = "choice", choices = { "design", "go-blis" }, default = "design",
      flag = "--profile", group = "Run",
      doc = "Defaults and formulas. design: a serving engine. go-blis: the simulator BLIS in Go.",
    },
    {
      name = "defaults", described = false, type = "choice", choices = defaults.names,
      doc = "Version of the defaults of profile design, as in cluster. Default: the version of the "
        .. "cluster.",
    },
    {
      name = "trace_level",
      described = false, type = "choice", choices = { "none", "decisions" }, default = "none",
      flag = "--trace-level", group = "Run",
      doc = "decisions: record every decision with its candidates, their scores and the choice; "
        .. "takes 90 bytes plus 56 per candidate.",
    },
    {
      name = "counterfactual_k", described = false, type = "integer", min = 0, max = 1000000,
      profiles = { ["go-blis"] = 0 }, needs = "trace_level", flag = "--counterfactual-k",
      group = "Run",
      doc = "Candidates kept per traced decision, best first. Defaults to all candidates, in the "
        .. "order of the instances.",
    },
    {
      name = "progress", described = false, type = "any",
      doc = "A function(ended, arrived, now_us, steps), called periodically during a long run to "
        .. "show progress.",
    },
    {
      name = "progress_interval_ms",
      described = false, type = "integer", min = 0, max = 1000000000, default = 1000,
      unit = "ms", doc = "Wall-clock time between two calls of progress.",
    },
    {
      name = "watch", described = false, type = "boolean", default = false,
      doc = "Show the state of the cluster on standard error during a run: a live display on a "
        .. "terminal, otherwise one line every ten seconds. The result does not change.",
    },
    {
      name = "watch_interval_ms",
      described = false, type = "integer", min = 0, max = 1000000000, unit = "ms",
      doc = "Wall-clock time between two updates of watch. Default: 250, or 10,000 for lines.",
    },
    {
      name = "oracle", type = "boolean", default = false,
      doc = "Let policies read request.output_tokens, which real policies do not know.",
    },
    {
      name = "locality", type = "choice", choices = { "open", "strict" }, default = "open",
      doc = "strict: policies see only the information that is available at their place. Cached "
        .. "prefixes of instances are hidden (cached_tokens, prefix_hit, estimated_ttft_us). "
        .. "Admission sees no instances, only the counters of the router: sum_in_flight and "
        .. "request rates. Reading anything else is an error, unless oracle = true.",
    },
    {
      name = "live_signals", type = "boolean", default = true,
      doc = "Let Lua policies read instance.live_prefix_hit, which has no signal delay, use scorer "
        .. "oracle-prefix, and receive live instances and all events in on_event. Real routers do "
        .. "not have this information.",
    },
    {
      name = "hide_output_limits", type = "boolean", default = true,
      profiles = { ["go-blis"] = false },
      doc = "Hide output limits that no client has set. A gateway sees max_tokens only if the "
        .. "client sets it. Workloads without such a limit use the true output length; policies "
        .. "and engines then read 0, unless oracle = true. A limit that equals the output length "
        .. "is hidden as well. Under profile go-blis, all policies see it.",
    },
    {
      name = "alias", type = "integer", default = 0,
      doc = "Any number other than 0 anonymizes runs for Lua policies. They see other IDs of "
        .. "requests, sessions, prefixes, and instances, another seed, and a shifted clock, all "
        .. "derived from this number. Policies therefore cannot recognize a run. Results keep the "
        .. "original values.",
    },
  },
}
