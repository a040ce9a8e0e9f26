--- The options of an experiment: what blis.run, blis.simulation and blis.compare take.
---@type blis.Section
return {
  name = "experiment",
  summary = "A cluster, the traffic it gets, and the policies in between.",
  options = {
    { name = "cluster", described = false, type = "table", doc = "Options of the cluster." },
    {
      name = "workload", described = false, type = "any",
      doc = "Options of generated traffic, or what blis.workload, blis.trace.read or "
        .. "blis.trace.stream returned.",
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
      name = "cascade", type = "any",
      doc = "Models that are asked one after the other until an answer is good enough: "
        .. "{ chain = { \"small\", \"large\" }, confidence_threshold = -1 }, or what blis.cascade "
        .. "returned.",
    },
    {
      name = "autoscaler", type = "any", flag = "--autoscaler", metavar = "NAME",
      group = "Admission and routing",
      flag_doc = "Autoscaler; 'blis policies' lists them. (default: the number of instances stays)",
      doc = "How many instances there are: an autoscaler by name, { name, parameter = value, "
        .. "... }, what blis.autoscaler returned, or a function(context) that returns a number, "
        .. "{ target =, reason =, wish = } or nil for no change. Where prefill and decode are "
        .. "apart, it is for either pool, or { prefill =, decode = } gives each its own. Default: "
        .. "the number stays.",
    },
    {
      name = "scaling", type = "table",
      doc = "With autoscaler: bounds, how long instances take to start, and how they leave.",
    },
    {
      name = "queue", type = "any",
      doc = "The queue of the gateway, between admission and routing: { saturation =, dispatch =, "
        .. "ttl_us =, ... }, or true for the defaults. Default: there is none.",
    },
    {
      name = "disaggregation", type = "any",
      doc = "Prefill and decode apart, for a cluster with pools: { decider =, order =, "
        .. "bandwidth_gb_s =, ... }, or the decider alone; without it the defaults hold.",
    },
    {
      name = "kv_tiers", type = "any",
      doc = "KV below the caches of the instances, in memory of hosts, on disks or in pools: a "
        .. "list of { name =, gb =, scope =, read_gb_s =, ... }, the name of a preset, or both, "
        .. "{ preset = \"vllm-0.22\", { name = \"cpu\", gb = 64 } }. Default: none.",
    },
    {
      name = "faults", type = "any",
      doc = "What happens to instances: a list of { at =, instance =, kind = \"crash\", "
        .. "recover_after =, requests = \"rerouted\" } and the like, or of random ones with mtbf.",
    },
    {
      name = "scheduler", described = false, type = "any",
      doc = "Order of an instance's wait queue: a name, or a function(a, b) that returns whether a "
        .. "goes before b.",
    },
    {
      name = "preemption", described = false, type = "any",
      doc = "Which request is preempted when KV blocks run out: a name, or a function(running) "
        .. "that returns the index of a running request.",
    },
    {
      name = "priority",
      described = false, type = "any", flag = "--priority-policy", metavar = "NAME",
      group = "Admission and routing",
      flag_doc = "Priority policy; 'blis policies' lists them. Default: the priority of the "
        .. "request's SLO class.",
      doc = "How urgent an arriving request is, for schedulers and preemption that use priorities: "
        .. "a policy by name, { name, parameter = value, ... }, or a function(request) that "
        .. "returns a number, higher is more urgent, and perhaps a table of hints, which "
        .. "admission, routing and schedulers read as request.hints. Default: the value of its SLO "
        .. "class (see slo_priorities). Under profile go-blis, functions return and see "
        .. "numbers where lower is more urgent, from 0 for the most important class.",
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
      doc = "A function(request, instance, attempt), called when an answer was not good enough and "
        .. "another model will be asked.",
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
      doc = "When the simulation ends; default: with the last request.",
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
      doc = "Keep a record of every request (96 bytes). false is for very long runs: memory does "
        .. "not grow with their length, percentiles of TTFT, E2E and scheduling delay are up to "
        .. "1/256 too low (all else is exact), and there is nothing by request, class, tenant or "
        .. "model.",
    },
    {
      name = "slo_targets", described = false, type = "any",
      doc = "Latency targets by SLO class ('default' for requests without one): { critical = { "
        .. "ttft_ms = 500, itl_ms = 50, e2e_ms = 10000 } }. Results then include goodput.",
    },
    {
      name = "phases", described = false, type = "any", flag = "--phases", group = "Run",
      metavar = "NAME=TIME,...",
      flag_doc = "Parts of the traffic, each from a time until the next one begins, for figures of "
        .. "each: night=0,morning=6h,evening=18h.",
      doc = "Parts of the traffic with names, each until the next one begins: { { name = "
        .. "\"night\" }, { name = \"morning\", from_us = blis.seconds(600) } }. Results then have "
        .. "figures of each, and how many requests kept slo_targets.",
    },
    {
      name = "warm_up_us", type = "warm_up_us", min = 1, unit = "us", flag = "--warm-up",
      group = "Run",
      metavar = "TIME",
      flag_doc = "Also report figures without the requests that arrived before this time; 'auto': "
        .. "before TTFT settled (MSER-5).",
      doc = "Results have steady: figures without the requests that arrived before this time. "
        .. "'auto': before TTFT settled (MSER-5); steady.from_us is that time.",
    },
    {
      name = "warm_up_requests", type = "integer", min = 0, flag = "--warm-up-requests",
      group = "Run", metavar = "NUMBER",
      flag_doc = "Also report figures without the first completed requests, so many of them.",
      doc = "Results have steady: figures of the requests that were completed behind the first so "
        .. "many, as RouteSim has them; steady.from_us is the first arrival of these. Instead of "
        .. "warm_up_us.",
    },
    {
      name = "series_interval_us", described = false, type = "time_us", min = 1, unit = "us",
      flag = "--series-interval", group = "Run",
      flag_doc = "Record figures over time, one row per interval, for --series-path and --format "
        .. "json.",
      doc = "Results have series: figures of the cluster and its instances in intervals of this "
        .. "length.",
    },
    {
      name = "keep_steps", described = false, type = "boolean", default = false,
      doc = "Results have step_log: what each step of each instance computed, for timelines. Every "
        .. "step is computed then, so that the run takes longer; its result is the same. Of runs "
        .. "with more than 262,144 steps, neighbours are put together.",
    },
    {
      name = "keep_steps_from_us", described = false, type = "time_us", min = 0, unit = "us",
      doc = "With keep_steps: steps that end before this time are left out.",
    },
    {
      name = "keep_steps_to_us", described = false, type = "time_us", min = 0, unit = "us",
      doc = "With keep_steps: steps that begin after this time are left out.",
    },
    {
      name = "keep_timeline", described = false, type = "boolean", default = false,
      doc = "Results have timeline_log: what timelines show beside requests and steps, which is "
        .. "every instance that a request was at, when it was preempted, the states of instances, "
        .. "loads of LoRA adapters, reads and writes of KV tiers, and, of session graphs, which "
        .. "request waited for which. Of each, the first 262,144.",
    },
    {
      name = "profile", type = "choice", choices = { "design", "go-blis" }, default = "design",
      flag = "--profile", group = "Run",
      doc = "Which defaults and formulas apply: the design's, or those of the simulator BLIS in "
        .. "Go.",
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
      profiles = { ["go-blis"] = 0 }, flag = "--counterfactual-k", group = "Run",
      doc = "Candidates kept per traced decision, best first; default: all of them, in the order "
        .. "of the instances.",
    },
    {
      name = "progress", described = false, type = "any",
      doc = "A function(ended, arrived, now_us, steps) that is called now and then during a long "
        .. "run, to show progress.",
    },
    {
      name = "progress_interval_ms",
      described = false, type = "integer", min = 0, max = 1000000000, default = 1000,
      unit = "ms", doc = "Wall-clock time between two calls of progress.",
    },
    {
      name = "watch", described = false, type = "boolean", default = false,
      doc = "Show the cluster on standard error while a long run goes on: a picture that is drawn "
        .. "again and again on a terminal, elsewhere a line every ten seconds. The result is the "
        .. "same.",
    },
    {
      name = "watch_interval_ms",
      described = false, type = "integer", min = 0, max = 1000000000, unit = "ms",
      doc = "Wall-clock time between two pictures of watch; default: 250, between lines 10,000.",
    },
    {
      name = "oracle", type = "boolean", default = false,
      doc = "Let policies read request.output_tokens, which is knowledge of the future.",
    },
    {
      name = "locality", type = "choice", choices = { "open", "strict" }, default = "open",
      doc = "strict: policies see what is known at their place alone. What is cached where is "
        .. "hidden (cached_tokens, prefix_hit, estimated_ttft_us), and admission sees no "
        .. "instances, but what the router counts: sum_in_flight, and the rates of requests. "
        .. "Reading more is an error, unless oracle = true.",
    },
    {
      name = "live_signals", type = "boolean", default = true,
      doc = "Let functions of policies read instance.live_prefix_hit, which is current whatever "
        .. "the delay of cache signals, use scorer oracle-prefix, and get live instances and all "
        .. "events in on_event; no router knows these.",
    },
    {
      name = "hide_output_limits", type = "boolean", default = true,
      profiles = { ["go-blis"] = false },
      doc = "A gateway knows max_tokens where the client gave it, and no more. Workloads without "
        .. "such a limit have the length of the output in its place; policies see 0 then, in "
        .. "routing as in engines, unless oracle = true. A limit that happens to be the length is "
        .. "hidden, too. Under profile go-blis all see it.",
    },
    {
      name = "alias", type = "integer", default = 0,
      doc = "Other than 0: policies in Lua see other ids of requests, sessions, prefixes and "
        .. "instances, another seed and a clock that starts elsewhere, all by this number, so that "
        .. "they cannot tell runs apart by them. Results have what is.",
    },
  },
}
