--- Options that only command lines have: traffic in single numbers, how results are shown, where
--- they go; and the flags of the simulator BLIS in Go for which there is nothing here.
local endings = require "blis.endings"
local presets = require "blis.config.presets"

local formats = { "table", "json", "csv" }

---@type blis.Section
local listing = {
  name = "output",
  summary = "Output of a list.",
  options = {
    {
      name = "format", type = "choice", choices = formats, default = "table", flag = "--format",
      doc = "Output format.",
    },
  },
}

---@type blis.Section
local description = {
  name = "output",
  summary = "Output of a description.",
  options = {
    {
      name = "format", type = "choice", choices = { "text", "json" }, default = "text",
      flag = "--format", doc = "Output format.",
    },
  },
}

---@type blis.Option
local say_nothing = {
  name = "quiet", type = "boolean", default = false, flag = "--quiet",
  doc = "Print only results and errors.",
}

---@type blis.Section
local quiet = { name = "output", summary = "Printed output.", options = { say_nothing } }

---@type blis.Section
local answer = {
  name = "output",
  summary = "Output of an answer.",
  options = {
    {
      name = "format", type = "choice", choices = { "text", "json", "csv" }, default = "text",
      flag = "--format", doc = "Output format. csv: a row for each value or layout.",
    },
    {
      name = "report", type = "path", is_output = true, flag = "--report", metavar = "FILE.html",
      endings = endings.page,
      doc = "Also write an HTML report: the answer in GPUs and USD per hour, and what was tried.",
    },
    say_nothing,
  },
}

---@type blis.Section
local catalogue = {
  name = "catalogue",
  summary = "Models, GPUs and coefficients in addition to the built-in ones.",
  options = {
    {
      name = "files", type = "path", is_list = true, flag = "--catalogue",
      doc = "YAML file with more models, GPUs and coefficients; it takes precedence over the "
        .. "built-in catalogue.",
    },
  },
}

local workloads = table.move(presets.names, 1, #presets.names, 2, { "distribution" })
table.move(presets.agents, 1, #presets.agents, #workloads + 1, workloads)

--- The four flags of one kind of length.
local function lengths(kind, what)
  local function tokens(name, flag, default, doc)
    return {
      name = kind .. name, type = "integer", min = name == "_stdev" and 0 or 1, max = 1000000000,
      default = default, unit = "tokens", flag = "--" .. kind .. "-tokens" .. flag, doc = doc,
    }
  end
  return tokens("_mean", "", 512, "Length of all " .. what .. "; with a deviation, or without this "
      .. "flag, their mean."),
    tokens("_stdev", "-stdev", 256, "Standard deviation of the length. 0 if only the length is "
      .. "set, except under profile go-blis."),
    tokens("_min", "-min", 2, "Minimum length."),
    tokens("_max", "-max", 7000, "Maximum length.")
end

local prompt_mean, prompt_stdev, prompt_min, prompt_max = lengths("prompt", "prompts")
local output_mean, output_stdev, output_min, output_max = lengths("output", "outputs")

---@type blis.Section
local synthesis = {
  name = "synthesis",
  summary = "Generated traffic on command lines.",
  options = {
    {
      name = "preset", type = "choice", choices = workloads, default = "distribution",
      flag = "--workload",
      doc = "Workload preset. distribution: prompt and output lengths of the flags below. "
        .. "Application presets use typical lengths, scenarios have several clients. coding-agent, "
        .. "rag, and deep-research are agent tasks (session graphs).",
    },
    {
      name = "spec", type = "path", flag = "--workload-spec",
      doc = "YAML file that describes the traffic instead (workload specification, version 2).",
    },
    {
      name = "concurrency", type = "integer", min = 0, max = 1000000, default = 0,
      unit = "users", flag = "--concurrency",
      doc = "Number of users, each with one request at a time, instead of a rate.",
    },
    {
      name = "think_time_ms", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "ms", flag = "--think-time-ms",
      doc = "Delay between the end of a user's request and the next one.",
    },
    prompt_mean, prompt_stdev, prompt_min, prompt_max,
    output_mean, output_stdev, output_min, output_max,
    {
      name = "timeout_s", type = "number", default = 300, max = 1000000000, unit = "s",
      flag = "--timeout", bare_unit = "s",
      doc = "Time limit per request, from arrival. Negative: no limit. A number without unit is "
        .. "in seconds. Overrides the --workload-spec file only if set.",
    },
  },
}

---@type blis.Section
local policies = {
  name = "policies",
  summary = "Policies on command lines.",
  options = {
    {
      name = "scorers", type = "string", flag = "--routing-scorers", path = "routing.scorers",
      metavar = "NAME:WEIGHT,...",
      doc = "Scorers of routing policy weighted, in order; 'blis policies' lists them.",
    },
    {
      name = "parameters", type = "string", is_list = true, flag = "--routing-parameter",
      metavar = "NAME=VALUE", doc = "A parameter of the routing policy.",
    },
    {
      name = "admission_parameters", type = "string", is_list = true,
      flag = "--admission-parameter", metavar = "NAME=VALUE",
      doc = "A parameter of the admission policy.",
    },
    {
      name = "bucket_size", type = "number", above = 0, unit = "tokens",
      flag = "--token-bucket-capacity", flag_aliases = { "--admission-bucket-size" },
      doc = "Bucket capacity, for --admission-policy token-bucket.",
    },
    {
      name = "refill_rate", type = "number", above = 0, unit = "tokens/s",
      flag = "--token-bucket-refill-rate",
      doc = "Refill rate, for --admission-policy token-bucket.",
    },
    {
      name = "bundle", type = "path", flag = "--policy-config",
      doc = "YAML file with policies and their parameters; flags take precedence.",
    },
  },
}

--- The files of a trace in format tracev2: its data, which may be packed, and its header.
local function trace_files(name)
  if name == "-" or name:match("/$") then return nil, "expected a name for two files" end
  local stem, packing = name:match("^(.+)(%.gz)$")
  if not stem then stem, packing = name:match("^(.+)(%.zst)$") end
  stem = (stem or name):gsub("(.)%.csv$", "%1"):gsub("(.)%.ya?ml$", "%1")
  return { stem .. ".csv" .. (packing or ""), stem .. ".yaml" }
end

---@type blis.Section
local results = {
  name = "output",
  summary = "Output of the results of a run.",
  options = {
    {
      name = "format", type = "choice", choices = formats, flag = "--format",
      doc = "Output format. Default: a summary (go-blis: text and JSON of BLIS in Go).",
    },
    {
      name = "metrics_path", type = "path", is_output = true, flag = "--metrics-path",
      doc = "JSON file with the metrics and a row per request, in the format of BLIS in Go.",
    },
    {
      name = "trace_output", type = "path", is_output = true, flag = "--trace-output",
      metavar = "NAME", files = trace_files,
      doc = "The requests and their outcomes as a trace (tracev2): NAME.csv and NAME.yaml.",
    },
    {
      name = "results_path", type = "path", is_output = true, flag = "--results-path",
      doc = "JSON file with the latencies of completed requests in microseconds.",
    },
    {
      name = "requests_path", type = "path", is_output = true, flag = "--requests-path",
      endings = endings.rows,
      doc = "The record of every request: CSV in FILE.csv, JSON lines in FILE.jsonl.",
    },
    {
      name = "series_path", type = "path", is_output = true, flag = "--series-path",
      endings = endings.rows,
      doc = "Metrics over time: CSV in FILE.csv, JSON lines in FILE.jsonl. Requires "
        .. "--series-interval.",
    },
    {
      name = "fitness_weights", type = "string", flag = "--fitness-weights",
      metavar = "KEY:WEIGHT,...",
      doc = "One number for the whole run: the weighted sum of throughput, tokens_per_sec, "
        .. "p99_ttft, p50_ttft, mean_ttft, p99_e2e, p50_e2e, mean_e2e, each scaled to 0..1.",
    },
    {
      name = "watch", type = "boolean", default = false, flag = "--watch",
      doc = "Show instances, queues, and rates during the run: a live display on a terminal, "
        .. "otherwise one line every ten seconds. Ctrl-C stops the run.",
    },
    {
      name = "save", type = "path", is_output = true, flag = "--save",
      may_be_empty = false,
      doc = "Save the whole result to this file, for blis diff and for blis.load_result in a "
        .. "script.",
    },
    {
      name = "report", type = "path", is_output = true, flag = "--report", metavar = "FILE.html",
      endings = endings.page,
      doc = "Write an HTML report: metrics with intervals, distributions, the run over time, and "
        .. "its slowest requests. One file, without network access.",
    },
    {
      name = "timeline", type = "path", is_output = true, flag = "--timeline",
      metavar = "FILE.json.gz", endings = endings.timeline,
      doc = "Write a timeline for ui.perfetto.dev and chrome://tracing: request states and waits, "
        .. "preemptions, hand-offs, loads of adapters and KV tiers, faults, instance states, and "
        .. "scaling. Compressed if the name ends in .gz.",
    },
    {
      name = "timeline_from_us", type = "time_us", min = 0, flag = "--timeline-from",
      doc = "Limit --timeline to requests that end at this time or later.",
    },
    {
      name = "timeline_to_us", type = "time_us", min = 0, flag = "--timeline-to",
      doc = "Limit --timeline to requests that arrive before this time.",
    },
    {
      name = "timeline_every", type = "integer", min = 1, flag = "--timeline-every", metavar = "N",
      doc = "Limit --timeline to every Nth request. Default: at most 200,000 requests.",
    },
    {
      name = "timeline_steps", type = "boolean", default = false, flag = "--timeline-steps",
      doc = "Add the steps of each instance, with their batches, to --timeline. Every step is "
        .. "computed individually, so the run takes longer.",
    },
    {
      name = "decisions_path", type = "path", is_output = true, flag = "--decisions-path",
      endings = endings.lines,
      doc = "File with a JSON line for every decision; requires --trace-level decisions.",
    },
    {
      name = "summarize_trace", type = "boolean", default = false, flag = "--summarize-trace",
      doc = "Print the number of decisions, where requests went, and the regrets; requires "
        .. "--trace-level decisions.",
    },
    {
      name = "no_records", type = "boolean", default = false, flag = "--no-records",
      doc = "Do not keep per-request records, to bound memory in very long runs. Traces of 64 MB "
        .. "or more are not kept either. Only the summary is available. Its percentiles of TTFT, "
        .. "E2E, and scheduling delay are up to 1/256 too low.",
    },
    say_nothing,
  },
}

---@type blis.Section
local trace = {
  name = "trace",
  summary = "Trace to replay.",
  options = {
    { name = "data", type = "path", flag = "--trace-data", doc = "The trace, for scripts." },
  },
}

---@type blis.Section
local sessions = {
  name = "sessions",
  summary = "Arrival of the turns of sessions in a trace.",
  options = {
    {
      name = "session_mode", type = "choice", choices = { "fixed", "closed-loop" },
      default = "fixed", flag = "--session-mode",
      doc = "fixed: every turn at its recorded time. closed-loop: after the response to the "
        .. "previous turn.",
    },
    {
      name = "think_time_ms", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "ms", flag = "--think-time-ms",
      doc = "closed-loop: delay between a response and the next turn. 0: recorded delays.",
    },
    {
      name = "think_time_dist", type = "string", flag = "--think-time-dist",
      metavar = "TYPE:KEY=VALUE,...",
      doc = "closed-loop: random delay, from a distribution: constant:value=500ms or "
        .. "lognormal:mu=1.2,sigma=0.8 (of the logarithm of seconds), optionally with min=T and "
        .. "max=T.",
    },
  },
}

--- Unsupported flags with their types, and values that have no effect: { flag, type, values, ... }.
local function refuse(feature, list, command)
  local refused = { command = command }
  for i, one in ipairs(list) do
    refused[i] = {
      flag = one[1], type = one[2], harmless = table.move(one, 3, #one, 1, {}), feature = feature,
    }
  end
  return refused
end

local refused_groups = {
  refuse("the catalogue takes its place; --catalogue FILE adds to it", {
    { "--defaults-filepath", "string", "defaults.yaml" }, { "--hardware-config", "string" },
  }),
  refuse("--kv-tiers and --kv-tier configure KV offloading", {
    { "--kv-offload-config", "string" },
  }),
  refuse("set weights with --routing-scorers prefix-affinity:3,queue-depth:2", {
    { "--routing-cache-weight", "number" }, { "--routing-load-weight", "number" },
  }),
}

--- Flags that BLIS in Go or its plans have, with the reason why they cannot be honoured.
---@param command string "run", "replay"
---@return blis.cli.Refused[]
local function refused(command)
  local list = {}
  for _, group in ipairs(refused_groups) do
    if not group.command or group.command == command then
      table.move(group, 1, #group, #list + 1, list)
    end
  end
  return list
end

---@type blis.Section
local ignored = {
  name = "ignored",
  summary = "Flags of BLIS in Go that have little or no effect here.",
  options = {
    {
      name = "log", type = "choice", flag = "--log",
      choices = { "trace", "debug", "info", "warn", "error", "fatal", "panic" },
      doc = "Accepted for compatibility; has no effect (use --quiet).",
    },
    {
      name = "lazy_generation", type = "boolean", flag = "--lazy-generation",
      doc = "Requests are always generated on demand. With --profile go-blis, later turns of "
        .. "sessions begin with the whole prefix of their group, as in BLIS (Go).",
    },
  },
}

return {
  answer = answer, quiet = quiet, catalogue = catalogue, description = description,
  ignored = ignored, listing = listing, policies = policies,
  refused = refused, results = results, sessions = sessions, synthesis = synthesis, trace = trace,
}
