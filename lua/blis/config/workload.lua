--- The options of generated traffic: the short form, that of a file, and what a specification has.
--- Specifications, of files and of tables, are read by the core; what their sections say here is
--- for people and editors, and a spec compares their names with those of the core.
local presets = require "blis.traffic.presets"

local slo_classes = { "critical", "standard", "sheddable", "batch", "background" }

---@type blis.Section
local short = {
  name = "workload",
  summary = "Traffic in a few numbers.",
  options = {
    {
      name = "rate", type = "number", above = 0, max = 1e9, default = 1, unit = "requests/s",
      flag = "--rate",
      doc = "Requests per second.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 100, unit = "requests",
      flag = "--num-requests", aliases = { "num_requests" },
      doc = "How many requests there will be, 0 = as many as fit before the horizon.",
    },
    {
      name = "arrival", type = "gaps", default = "poisson",
      profiles = { ["go-blis"] = "constant" }, flag = "--arrival",
      flag_doc = "How requests are spaced: poisson, constant, gamma:CV or weibull:CV.",
      doc = "How requests are spaced: 'poisson', 'constant', { 'gamma', cv = 3 }, { 'weibull', cv "
        .. "= 2 }, or a function(rng) that draws the microseconds to the next.",
    },
    {
      name = "preset", type = "choice", choices = presets.names,
      doc = "Lengths as in some application (chatbot, summarization, contentgen, multidoc), or a "
        .. "scenario of several clients with lengths and arrivals of its own.",
    },
    {
      name = "prompt", type = "lengths",
      doc = "Lengths of prompts, or a function(rng) that draws one; left out, { 'gaussian', mean = "
        .. "512, std_dev = 256, min = 2, max = 7000 }.",
    },
    {
      name = "output", type = "lengths",
      doc = "Lengths of outputs, or a function(rng) that draws one; left out, { 'gaussian', mean = "
        .. "512, std_dev = 256, min = 2, max = 7000 }.",
    },
    {
      name = "prompt_tokens", type = "integer", min = 1, max = 1000000000, unit = "tokens",
      doc = "The same length for all prompts, instead of prompt.",
    },
    {
      name = "output_tokens", type = "integer", min = 1, max = 1000000000, unit = "tokens",
      doc = "The same length for all outputs, instead of output.",
    },
    {
      name = "prefixes", type = "prefixes",
      doc = "Shared prompt prefixes: { groups = 8, tokens = 1024, zipf = 1.1 }.",
    },
    {
      name = "sessions", type = "sessions",
      doc = "Conversations: { max_rounds = 5, think_time_us = 1000000 }. Then rate counts their "
        .. "first rounds, requests all rounds that are planned.",
    },
    {
      name = "tenant", type = "string", aliases = { "tenant_id" }, flag = "--tenant",
      doc = "Tenant of every request.",
    },
    {
      name = "slo_class", type = "choice", choices = slo_classes, flag = "--slo-class",
      doc = "Service class of every request.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      doc = "From arrival to deadline, 0 = no deadline.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of arrivals and lengths; left out, that of the experiment (42 outside of one).",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "No request arrives from here on; left out, the horizon of the experiment.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" }, default = "drawn",
      flag = "--tokens",
      doc = "drawn: token ids are drawn, as the reference does; lazy: they are not, and arrivals "
        .. "and lengths have random streams of their own: other requests, in less time.",
    },
  },
}

---@type blis.Section
local prefixes = {
  name = "prefixes",
  summary = "Prefixes that prompts share, as when applications with long system prompts share a "
    .. "cluster.",
  options = {
    {
      name = "groups", type = "integer", min = 1, max = 100000, default = 1,
      flag = "--prefix-groups",
      doc = "How many different prefixes there are.",
    },
    {
      name = "tokens", type = "integer", min = 1, max = 1000000000, required = true,
      unit = "tokens", flag = "--prefix-tokens",
      doc = "Length of each prefix, in front of the prompt's own tokens.",
    },
    {
      name = "zipf", type = "number", min = 0, max = 100, default = 0, flag = "--prefix-zipf",
      doc = "Weight of group k is 1 / k^zipf; 0 = all alike.",
    },
  },
}

---@type blis.Section
local sessions = {
  name = "sessions",
  summary = "Conversations of several rounds.",
  options = {
    {
      name = "max_rounds", type = "integer", min = 1, max = 1000000, required = true,
      doc = "Rounds of a conversation.",
    },
    {
      name = "think_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "From an answer to the next round.",
    },
    {
      name = "grows", type = "boolean", default = true,
      doc = "Whether a round's prompt begins with the rounds before it and their answers.",
    },
    {
      name = "closed_loop", type = "boolean", default = true,
      doc = "Whether a round waits for the answer to the one before, or comes at a planned time.",
    },
  },
}

---@type blis.Section
local file = {
  name = "workload",
  summary = "Traffic as a YAML file describes it (workload specification, version 2). What is "
    .. "given here goes before what the file says.",
  options = {
    { name = "file", type = "path", required = true, doc = "Path of the file." },
    { name = "seed", type = "integer", doc = "Seed of arrivals and lengths." },
    {
      name = "num_requests", type = "integer", min = 0, unit = "requests",
      aliases = { "requests" }, doc = "How many requests there will be.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us", aliases = { "horizon" },
      doc = "No request arrives from here on; the run ends, unless the experiment has a horizon.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, unit = "us",
      doc = "From arrival to deadline for all clients, 0 = no deadline.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" },
      doc = "drawn: token ids are drawn, as the reference does; lazy: they are not, and arrivals "
        .. "and lengths have random streams of their own: other requests, in less time.",
    },
  },
}

---@type blis.Section
local replay = {
  name = "workload",
  summary = "The requests of a trace once more.",
  options = {
    {
      name = "trace", type = "any", required = true,
      doc = "What blis.trace.read or blis.trace.stream returned, or the path of a trace.",
    },
    {
      name = "stream", type = "choice", choices = { "auto", "always", "never" }, default = "auto",
      doc = "For a path, whether the trace stays in its file, to be read while the simulation goes "
        .. "on, or is read into memory; the results are the same. auto: in its file beyond 64 MB "
        .. "(8 MB packed), where that is possible.",
    },
    {
      name = "session_mode", type = "choice", choices = { "fixed", "closed-loop" },
      default = "fixed",
      doc = "fixed: every round of a session when it was recorded; closed-loop: after the answer "
        .. "to the one before.",
    },
    {
      name = "think_time", type = "distribution", unit = "us",
      doc = "closed-loop: from an answer to the next round; left out, as it was recorded.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of think times; left out, that of the experiment.",
    },
  },
}

---@type blis.Section
local generator = {
  name = "workload",
  summary = "Traffic of a function.",
  options = {
    {
      name = "generator", type = "any", required = true,
      doc = "A function(rng) that returns the next request, { arrival_us =, prompt_tokens =, "
        .. "output_tokens =, ... }, or nil at the end.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 0, unit = "requests",
      aliases = { "num_requests" },
      doc = "How many requests there will be at most, 0 = as many as the function returns.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "No request arrives from here on; left out, the horizon of the experiment.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of the random stream; left out, that of the experiment (42 outside of one).",
    },
  },
}

---@type blis.Section
local with_clients = {
  name = "workload",
  summary = "Traffic of several clients that share a rate (workload specification, version 2).",
  options = {
    {
      name = "version", type = "string",
      doc = "Version of the specification: '2', or '1' with the older names of SLO classes.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of arrivals and lengths; left out, that of the experiment (42 outside of one).",
    },
    {
      name = "category", type = "choice", choices = { "language", "multimodal", "reasoning" },
      doc = "A label.",
    },
    { name = "clients", type = "table", doc = "A list of clients." },
    {
      name = "cohorts", type = "table",
      doc = "A list of cohorts: numbers of clients that are alike. They come behind the clients.",
    },
    {
      name = "aggregate_rate", type = "number", min = 0, default = 0, unit = "requests/s",
      aliases = { "rate" },
      doc = "Requests per second of all clients together; 0 with users in place of rates, or when "
        .. "every window has a trace_rate.",
    },
    {
      name = "horizon", type = "time_us", min = 0, unit = "us", aliases = { "horizon_us" },
      doc = "No request arrives from here on; left out, the horizon of the experiment.",
    },
    {
      name = "num_requests", type = "integer", min = 0, default = 0, unit = "requests",
      aliases = { "requests" },
      doc = "How many requests there will be, 0 = as many as fit before the horizon.",
    },
    {
      name = "servegen_data", type = "table",
      doc = "In place of clients: { path = } of a folder of ServeGen data.",
    },
    {
      name = "inference_perf", type = "table",
      doc = "In place of clients: { stages =, shared_prefix = } of inference-perf.",
    },
    {
      name = "goodput_slo_targets", type = "table",
      doc = "What is good enough, by SLO class: { critical = { ttft_ms = 200 } }.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" }, default = "drawn",
      doc = "drawn: token ids are drawn, as the reference does; lazy: they are not, and arrivals "
        .. "and lengths have random streams of their own: other requests, in less time.",
    },
  },
}

---@type blis.Section
local window = {
  name = "window",
  summary = "A time in which a client is active, and what it does otherwise in it.",
  options = {
    {
      name = "start_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "The client is active from here on.",
    },
    {
      name = "end_us", type = "time_us", min = 1, required = true, unit = "us",
      doc = "The client is not active from here on.",
    },
    {
      name = "trace_rate", type = "number", min = 0,
      doc = "Weight in place of rate_fraction, or requests/s when there is no aggregate_rate.",
    },
    { name = "arrival", type = "arrival", doc = "Spacing in place of the client's." },
    {
      name = "input_distribution", type = "distribution", aliases = { "prompt" },
      doc = "Lengths of prompts in place of the client's.",
    },
    {
      name = "output_distribution", type = "distribution", aliases = { "output" },
      doc = "Lengths of outputs in place of the client's.",
    },
  },
}

---@type blis.Section
local lifecycle = {
  name = "lifecycle",
  summary = "When a client is active.",
  options = {
    { name = "windows", type = "table", required = true, doc = "A list of windows." },
  },
}

---@type blis.Section
local multi_turn = {
  name = "multi_turn",
  summary = "Conversations of several rounds.",
  options = {
    {
      name = "max_rounds", type = "integer", min = 1, max = 1000000000, required = true,
      doc = "Rounds of a conversation.",
    },
    {
      name = "think_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "From an answer to the next round.",
    },
    {
      name = "context_growth", type = "choice", choices = { "accumulate" },
      doc = "accumulate: a round's prompt begins with the rounds before it and their answers.",
    },
    {
      name = "single_session", type = "boolean", default = false,
      doc = "One conversation in place of many that overlap.",
    },
  },
}

---@type blis.Section
local reasoning = {
  name = "reasoning",
  summary = "Conversations, and how much of the answers is reasoning.",
  options = {
    {
      name = "multi_turn", type = "section", section = multi_turn,
      doc = "Conversations of several rounds; without them the rest has no effect.",
    },
    {
      name = "reason_ratio_distribution", type = "distribution", unit = "percent",
      doc = "Share of the output that is reasoning.",
    },
  },
}

--- The two distributions of one kind of content.
local function modality(kind)
  return {
    name = kind .. "_distribution", type = "distribution", unit = "tokens",
    doc = ("Tokens of each %s."):format(kind == "audio" and "sound" or kind),
  }, {
    name = kind .. "_count_distribution", type = "distribution",
    doc = "How many there are in a prompt.",
  }
end

local image, image_count = modality "image"
local audio, audio_count = modality "audio"
local video, video_count = modality "video"

---@type blis.Section
local multimodal = {
  name = "multimodal",
  summary = "Prompts of text, images, sound and video, in place of input_distribution.",
  options = {
    {
      name = "text_distribution", type = "distribution", unit = "tokens",
      doc = "Tokens of text in a prompt.",
    },
    image, image_count, audio, audio_count, video, video_count,
  },
}

-- What clients and cohorts have in common.
local client_options = {
  { name = "id", type = "string", doc = "Name of the client." },
  {
    name = "tenant_id", type = "string", aliases = { "tenant" },
    doc = "Tenant of its requests.",
  },
  {
    name = "slo_class", type = "choice", choices = slo_classes,
    doc = "Service class of its requests.",
  },
  {
    name = "model", type = "string",
    doc = "Model its requests ask for; left out, the cluster's.",
  },
  { name = "adapter", type = "string", doc = "LoRA adapter; there are none so far." },
  {
    name = "rate_fraction", type = "number", min = 0,
    doc = "Weight of its share of the rate; left out, 1 (0 for users).",
  },
  {
    name = "arrival", type = "arrival", default = "poisson",
    doc = "How its requests are spaced: 'poisson', { process = 'gamma', cv = 3 }, ...",
  },
  {
    name = "input_distribution", type = "distribution", required = true, aliases = { "prompt" },
    doc = "Lengths of prompts, without a shared prefix.",
  },
  {
    name = "output_distribution", type = "distribution", required = true, aliases = { "output" },
    doc = "Lengths of outputs.",
  },
  { name = "prefix_group", type = "string", doc = "Clients of a group share a prompt prefix." },
  {
    name = "prefix_length", type = "integer", min = 0, max = 1000000000, default = 0,
    unit = "tokens",
    doc = "Length of the group's prefix; the first client of a group decides, 0 = 50.",
  },
  {
    name = "timeout", type = "time_us", min = 0, unit = "us", aliases = { "timeout_us" },
    doc = "From arrival to deadline, 0 = no deadline; left out, 300 s when requests wait for "
      .. "answers, else none.",
  },
  {
    name = "slo_target_us", type = "time_us", min = 0, default = 0, unit = "us",
    doc = "Wanted time to first token, 0 = none.",
  },
  {
    name = "reasoning", type = "section", section = reasoning,
    doc = "Conversations: { multi_turn = { max_rounds = 5, think_time_us = 1000000 } }.",
  },
  {
    name = "closed_loop", type = "boolean",
    doc = "A round arrives after the one before was answered; left out, true for conversations.",
  },
  {
    name = "network", type = "table",
    doc = "{ rtt_ms =, bandwidth_mbps = }: taken, without effect on a simulation.",
  },
  {
    name = "multimodal", type = "section", section = multimodal,
    doc = "Prompts of text, images, sound and video.",
  },
  {
    name = "streaming", type = "boolean", default = false,
    doc = "A label of its requests.",
  },
}

local function with_common(options)
  return table.move(options, 1, #options, #client_options + 1,
    table.move(client_options, 1, #client_options, 1, {}))
end

---@type blis.Section
local client = {
  name = "client",
  summary = "One source of requests.",
  options = with_common {
    {
      name = "concurrency", type = "integer", min = 0, max = 1000000, default = 0,
      unit = "users",
      doc = "That many users with one request at a time each, in place of a rate.",
    },
    {
      name = "think_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "From the end of a user's request to the next.",
    },
    {
      name = "lifecycle", type = "section", section = lifecycle,
      doc = "When it is active: { windows = { { start_us = 0, end_us = 60000000 } } }.",
    },
  },
}

---@type blis.Section
local diurnal = {
  name = "diurnal",
  summary = "On and off within each hour of the day.",
  options = {
    {
      name = "peak_hour", type = "integer", min = 0, max = 23, required = true,
      doc = "The hour that is active throughout.",
    },
    {
      name = "peak_to_trough_ratio", type = "number", min = 1, required = true,
      doc = "How much longer that is than the least active hour.",
    },
  },
}

---@type blis.Section
local spike = {
  name = "spike",
  summary = "A time of activity.",
  options = {
    {
      name = "start_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "Its begin.",
    },
    {
      name = "duration_us", type = "time_us", min = 1, required = true, unit = "us",
      doc = "Its length.",
    },
    {
      name = "trace_rate", type = "number", above = 0,
      doc = "Weight in place of rate_fraction, or requests/s when there is no aggregate_rate.",
    },
  },
}

---@type blis.Section
local drain = {
  name = "drain",
  summary = "Ten steps from always active to never.",
  options = {
    {
      name = "start_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "The begin of the first step.",
    },
    {
      name = "ramp_duration_us", type = "time_us", min = 1, required = true, unit = "us",
      doc = "The length of all.",
    },
  },
}

---@type blis.Section
local cohort = {
  name = "cohort",
  summary = "A number of clients that are alike and share one weight.",
  options = with_common {
    {
      name = "population", type = "integer", min = 1, max = 100000, required = true,
      unit = "clients", doc = "How many.",
    },
    {
      name = "prefix_sharing", type = "choice", choices = { "shared", "per_member" },
      doc = "Whether each of them has a prefix group of its own; left out, they share one.",
    },
    { name = "diurnal", type = "section", section = diurnal, doc = "A rhythm of the day." },
    { name = "spike", type = "section", section = spike, doc = "Active for some time only." },
    { name = "drain", type = "section", section = drain, doc = "Less and less active." },
  },
}

return {
  short = short, prefixes = prefixes, sessions = sessions, file = file, generator = generator,
  replay = replay,
  with_clients = with_clients, client = client, cohort = cohort, window = window,
  lifecycle = lifecycle, multi_turn = multi_turn, reasoning = reasoning, multimodal = multimodal,
  diurnal = diurnal, spike = spike, drain = drain,
}
