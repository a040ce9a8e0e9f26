--- Options of generated traffic: the short form, a file, and the keys of a specification. The core
--- reads specifications and describes their keys.
local core = require "blis.core"
local presets = require "blis.config.presets"

local slo_classes = { "critical", "realtime", "standard", "sheddable", "batch", "background" }

---@type blis.Section
local short = {
  name = "workload",
  summary = "Generated traffic.",
  options = {
    {
      name = "rate", type = "number", above = 0, max = 1e9, default = 1, unit = "requests/s",
      flag = "--rate",
      doc = "Requests per second.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 100, unit = "requests",
      flag = "--num-requests", aliases = { "num_requests" },
      doc = "Number of requests, 0 = as many as fit before the horizon.",
    },
    {
      name = "arrival", type = "gaps", default = "poisson",
      profiles = { ["go-blis"] = "constant" }, flag = "--arrival",
      flag_doc = "Arrival process: poisson, constant, gamma:CV, or weibull:CV.",
      doc = "Arrival process: 'poisson', 'constant', { 'gamma', cv = 3 }, { 'weibull', cv = 2 }, "
        .. "or a function(rng) that returns the microseconds until the next arrival.",
    },
    {
      name = "shape", type = "shape",
      flag = "--shape",
      flag_doc = "Shape of the rate over time: diurnal, ramp, surges, or servegen (the hours of 14 "
        .. "days), with options such as diurnal:period=2h,peak_to_trough=4,speed=10. Without "
        .. "--num-requests and --horizon, requests arrive until the end of the shape.",
      doc = "Shape of the rate over time: 'diurnal', 'ramp', 'surges', 'servegen' (the hours of 14 "
        .. "days), or a table such as { 'diurnal', period_us =, peak_to_trough =, speed = }. See "
        .. "shape. Without requests and horizon, requests arrive until the end of the shape.",
    },
    {
      name = "preset", type = "choice", choices = presets.names,
      doc = "Workload preset. chatbot, summarization, contentgen, multidoc: lengths of an "
        .. "application. Scenarios: several clients with separate lengths and arrivals. diurnal, "
        .. "ramp, surges: a shape with chatbot lengths. servegen-days: a shape with recorded "
        .. "lengths. coding-agent, rag, deep-research: session graphs, with their options.",
    },
    {
      name = "prompt", type = "lengths",
      doc = "Lengths of prompts, or a function(rng) that returns a length. Default: { 'gaussian', "
        .. "mean = 512, std_dev = 256, min = 2, max = 7000 }.",
    },
    {
      name = "output", type = "lengths",
      doc = "Lengths of outputs, or a function(rng) that returns a length. Default: { 'gaussian', "
        .. "mean = 512, std_dev = 256, min = 2, max = 7000 }.",
    },
    {
      name = "prompt_tokens", type = "integer", min = 1, max = 1000000000, unit = "tokens",
      doc = "Length of all prompts, instead of prompt.",
    },
    {
      name = "output_tokens", type = "integer", min = 1, max = 1000000000, unit = "tokens",
      doc = "Length of all outputs, instead of output.",
    },
    {
      name = "prefixes", type = "prefixes",
      doc = "Shared prompt prefixes: { groups = 8, tokens = 1024, zipf = 1.1 }. arrival sets the "
        .. "arrival process; the group of each request (or conversation) is random, by weight. "
        .. "Under profile go-blis, each group has its own arrival process.",
    },
    {
      name = "sessions", type = "sessions",
      doc = "Multi-turn conversations: { max_rounds = 5, think_time_us = 1000000 }. rate then "
        .. "counts first turns, and requests counts all turns; no further turn is sent. A "
        .. "conversation ends early if a response fails, so fewer requests arrive.",
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
      doc = "Deadline after arrival, 0 = none.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of arrivals and lengths. Default: the experiment's seed (42 outside of an "
        .. "experiment).",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "End of arrivals. Default: the experiment's horizon.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" }, default = "drawn",
      flag = "--tokens",
      doc = "How token IDs are generated. drawn: random IDs, as in BLIS (Go). lazy: no IDs, which "
        .. "is faster. Arrivals and lengths then use separate random streams, so requests differ.",
    },
  },
}

---@type blis.Section
local prefixes = {
  name = "prefixes",
  summary = "Shared prompt prefixes, such as the system prompts of several applications.",
  options = {
    {
      name = "groups", type = "integer", min = 1, max = 100000, default = 1,
      flag = "--prefix-groups",
      doc = "Number of different prefixes.",
    },
    {
      name = "tokens", type = "integer", min = 1, max = 1000000000, required = true,
      unit = "tokens", flag = "--prefix-tokens",
      doc = "Length of each prefix, which precedes the prompt's own tokens.",
    },
    {
      name = "zipf", type = "number", min = 0, max = 100, default = 0, flag = "--prefix-zipf",
      doc = "Group k has weight 1 / k^zipf; 0 = all equal.",
    },
  },
}

---@type blis.Section
local sessions = {
  name = "sessions",
  summary = "Multi-turn conversations.",
  options = {
    {
      name = "max_rounds", type = "integer", min = 1, max = 1000000, required = true,
      doc = "Turns per conversation.",
    },
    {
      name = "think_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "Delay between a response and the next turn.",
    },
    {
      name = "grows", type = "boolean", default = true,
      doc = "Begin the prompt of a turn with the previous turns and their responses.",
    },
    {
      name = "closed_loop", type = "boolean", default = true,
      doc = "Send a turn after the response to the previous turn. false: send it at a planned "
        .. "time.",
    },
  },
}

---@type blis.Section
local file = {
  name = "workload",
  summary = "Traffic of a YAML file (workload specification, version 2). Options that are set here "
    .. "override the file.",
  options = {
    { name = "file", type = "path", required = true, doc = "Path of the file." },
    {
      name = "shape", type = "shape",
      doc = "Shape of the rate over time, which moves the arrival times of requests. See shape.",
    },
    { name = "seed", type = "integer", doc = "Seed of arrivals and lengths." },
    {
      name = "num_requests", type = "integer", min = 0, unit = "requests",
      aliases = { "requests" }, doc = "Number of requests.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us", aliases = { "horizon" },
      doc = "End of arrivals. The run also ends at this time, unless the experiment sets a "
        .. "horizon.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, unit = "us",
      doc = "Deadline after arrival for all clients, 0 = none.",
    },
    {
      name = "lazy_generation", type = "boolean", default = false,
      doc = "Only profile go-blis: later turns of sessions use the whole prefix of their group "
        .. "instead of the client's prefix length. Other profiles always do.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" },
      doc = "How token IDs are generated. drawn: random IDs, as in BLIS (Go). lazy: no IDs, which "
        .. "is faster. Arrivals and lengths then use separate random streams, so requests differ.",
    },
  },
}

---@type blis.Section
local replay = {
  name = "workload",
  summary = "Replays the requests of a trace.",
  options = {
    {
      name = "trace", type = "any", required = true,
      expected = "a path, or a result of blis.trace.read or blis.trace.stream",
      doc = "A result of blis.trace.read or blis.trace.stream, or the path of a trace.",
    },
    {
      name = "shape", type = "shape",
      doc = "Shape of the rate over time, which moves the arrival times of requests. See shape.",
    },
    {
      name = "stream", type = "choice", choices = { "auto", "always", "never" }, default = "auto",
      doc = "Whether to stream the file of a trace during the simulation or to read it into "
        .. "memory. The results are the same. auto: stream files above 64 MB (8 MB compressed) if "
        .. "possible.",
    },
    {
      name = "columns", type = "columns",
      doc = "For a path: meaning of columns, as in blis.trace.read.",
    },
    {
      name = "time_unit", type = "choice", choices = { "s", "ms", "us", "ns" },
      doc = "For a path: unit of timestamps, as in blis.trace.read.",
    },
    {
      name = "session_mode", type = "choice", choices = { "fixed", "closed-loop" },
      default = "fixed",
      doc = "fixed: every turn at its recorded time. closed-loop: after the response to the "
        .. "previous turn.",
    },
    {
      name = "think_time", type = "distribution", unit = "us",
      doc = "closed-loop: delay between a response and the next turn. Default: recorded delays.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of think times. Default: the experiment's seed.",
    },
  },
}

---@type blis.Section
local generator = {
  name = "workload",
  summary = "Traffic generated by a function.",
  options = {
    {
      name = "generator", type = "any", required = true, expected = "a function(rng)",
      doc = "A function(rng) that returns the next request, { arrival_us =, prompt_tokens =, "
        .. "output_tokens =, ... }, or nil at the end.",
    },
    {
      name = "shape", type = "shape",
      doc = "Shape of the rate over time, which moves the arrival times of requests. See shape.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 0, unit = "requests",
      aliases = { "num_requests" },
      doc = "Maximum number of requests, 0 = as many as the function returns.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "End of arrivals. Default: the experiment's horizon.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of the random stream. Default: the experiment's seed (42 outside of an "
        .. "experiment).",
    },
  },
}

local graph_formats = {}
for i, format in ipairs(core.graph_formats()) do graph_formats[i] = format.name end
-- In Lua: importers of blis.config.trace.
table.move({ "mooncake-delta", "aiperf-turns" }, 1, 2, #graph_formats + 1, graph_formats)

local graph_group = "Session graphs"

--- How session graphs are read from a file; part of graphs, and of blis.session_graphs.
---@type blis.Section
local graph_file = {
  name = "graphs",
  summary = "Options to read session graphs from a file.",
  options = {
    {
      name = "format", type = "choice", choices = graph_formats,
      flag = "--graph-format", group = graph_group,
      doc = "File format. Default: detected from the first lines.",
    },
    {
      name = "limit", type = "integer", min = 0, default = 0, unit = "graphs",
      flag = "--graph-limit", group = graph_group,
      doc = "Maximum number of graphs to read from the file. 0: no limit.",
    },
    {
      name = "reading", type = "choice", default = "design",
      flag = "--graph-reading", group = graph_group,
      choices = { "design", "aiperf", "inference-perf", "guidellm", "go-blis", "llm-d-router",
        "aisimulate" },
      doc = "For a weka corpus: the tool whose interpretation of subagents, content, and delays to "
        .. "use. See docs/agents.md.",
    },
    {
      name = "delays", type = "choice", default = "usual",
      flag = "--graph-delays", group = graph_group,
      choices = { "usual", "completion", "starts", "think-time", "none" },
      doc = "For a weka corpus: delay before a request. completion: from the recorded end of its "
        .. "dependencies to its start. starts: from the start of the previous request. think-time: "
        .. "its think_time. none: no delay. usual: the default of the reading.",
    },
    {
      name = "nested", type = "choice", default = "auto",
      flag = "--graph-nested", group = graph_group,
      choices = { "auto", "relative", "absolute" },
      doc = "For a weka corpus: origin of times in subagents' requests. relative: their marker. "
        .. "absolute: the conversation. auto: relative if any time of the corpus is before its "
        .. "marker.",
    },
    {
      name = "delay_cap_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--graph-delay-cap", group = graph_group,
      doc = "Upper limit of the file's delays. 0: no limit.",
    },
    {
      name = "idle_gap_cap_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--graph-idle-gap-cap", group = graph_group,
      doc = "For a weka corpus: upper limit of gaps between starts in a conversation. 0: no limit.",
    },
    {
      name = "hash_block_tokens", type = "integer", min = 0, max = 1048576, default = 0,
      flag = "--graph-hash-block-tokens", group = graph_group,
      unit = "tokens",
      doc = "Tokens per hash ID of the file. 0: the value in the file, or the default of its "
        .. "format.",
    },
    {
      name = "models", type = "served_models", flag = "--graph-models", group = graph_group,
      metavar = "MODEL,...|NAME=MODEL,...",
      doc = "Maps recorded model names (weka, spans) to models of the cluster, in order of "
        .. "appearance (repeated if there are more names) or as NAME=MODEL. Default: ignore "
        .. "recorded names; any instance serves any request.",
    },
    {
      name = "bytes_per_token", type = "number", above = 0, max = 1000, default = 4,
      flag = "--graph-bytes-per-token", group = graph_group,
      doc = "Bytes per token, for files that contain text but no token counts (sharegpt).",
    },
  },
}

---@type blis.Section
local graphs = {
  name = "workload",
  summary = "Tasks of agents as session graphs: requests that depend on the responses to earlier "
    .. "requests.",
  options = {
    {
      name = "graphs", type = "any",
      flag = "--graphs", group = graph_group, metavar = "FILE",
      flag_doc = "File of session graphs, or folder of weka conversations: tasks of agents, whose "
        .. "requests depend on earlier responses. With it, --rate, --arrival, and --concurrency "
        .. "count graphs.",
      doc = "Session graphs: a list, the path of a file or of a folder of weka conversations, a "
        .. "result of blis.session_graphs, or a function(rng, number) that returns the next graph, "
        .. "or nil at the end. A graph is a list of requests in order of their dependencies: { { "
        .. "id = 'plan', prompt_tokens = 3000, output_tokens = 200 }, { after = 'plan', tool_us = "
        .. "800000, prompt_tokens = 900, output_tokens = 60 } }. See docs/agents.md.",
    },
    {
      name = "preset", type = "choice", choices = presets.agents,
      doc = "Instead of graphs: generated tasks of one kind of agent.",
    },
    {
      name = "rate", type = "number", above = 0, max = 1e9, unit = "graphs/s",
      doc = "Graphs that start per second. Default: each at its start_us, or at 0. With a rate, "
        .. "graphs of a script must not set start_us, and recorded starts are ignored.",
    },
    {
      name = "arrival", type = "arrival", default = "poisson",
      doc = "With rate: process of the starts, 'poisson', 'constant', { 'gamma', cv = 3 } or { "
        .. "'weibull', cv = 2 }.",
    },
    {
      name = "concurrency", type = "integer", min = 1, max = 10000000, unit = "graphs",
      doc = "Number of concurrent graphs, instead of rate. The next graph starts when all "
        .. "foreground requests of a graph have ended.",
    },
    {
      name = "count", type = "integer", min = 1, unit = "graphs",
      flag = "--num-graphs", group = graph_group,
      flag_doc = "Number of graphs. Default: each graph of a file once, 100 of a preset without "
        .. "--horizon, unlimited with --graph-duration. A file with fewer graphs repeats, with new "
        .. "content and sessions.",
      doc = "Number of graphs. Default: each graph of a list once, or as many as the function "
        .. "returns; unlimited with duration_us. A list with fewer graphs repeats, with new "
        .. "content and sessions.",
    },
    {
      name = "play", type = "choice", choices = { "agentx" },
      flag = "--graph-play", group = graph_group,
      flag_doc = "Benchmark preset. agentx: --graph-primers, --graph-warm-up-requests 10, "
        .. "--graph-duration 3600s, --graph-response-grace 30s, --graph-tree-idle-cap 300s, and "
        .. "--graph-idle-cap 10s. Each of these can also be set. --concurrency is the number of "
        .. "concurrent graphs.",
      doc = "Benchmark preset. agentx: primers, warm_up_requests = 10, duration_us = 3600 s, "
        .. "response_grace_us = 30 s, tree_idle_cap_us = 300 s, and idle_cap_us = 10 s. Each of "
        .. "these can also be set. concurrency is the number of concurrent graphs.",
    },
    {
      name = "duration_us", type = "time_us", min = 1, unit = "us",
      flag = "--graph-duration", group = graph_group,
      flag_doc = "Length of the measurement window. Requires --concurrency. Graphs repeat until "
        .. "--num-graphs is reached. 'steady' in results covers the requests that arrived in the "
        .. "window and were completed.",
      doc = "Length of the measurement window. Requires concurrency. Graphs repeat until count is "
        .. "reached. result.steady covers the requests that arrived in the window and were "
        .. "completed.",
    },
    {
      name = "response_grace_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-response-grace", group = graph_group,
      flag_doc = "Cancel requests still unfinished this long after --graph-duration. Default: no "
        .. "limit.",
      doc = "Cancel requests still unfinished this long after duration_us. Default: no limit.",
    },
    {
      name = "warm_up_requests", type = "integer", min = 0, max = 1000000, unit = "requests",
      flag = "--graph-warm-up-requests", group = graph_group,
      doc = "Number of warm-up requests per initial graph, each with one output token and no "
        .. "delays. The measurement begins when all of them have ended. Requires concurrency.",
    },
    {
      name = "primers", type = "boolean",
      flag = "--graph-primers", group = graph_group,
      doc = "Start the first graphs at a random request. The warm-up sends the request before it; "
        .. "earlier requests count as done. Requires concurrency.",
    },
    {
      name = "tree_idle_cap_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-tree-idle-cap", group = graph_group,
      doc = "Upper limit of idle time in a graph, while none of its requests is in flight. Later "
        .. "requests of the graph shift earlier by the same amount. 0: no limit. Requires "
        .. "concurrency.",
    },
    {
      name = "idle_cap_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-idle-cap", group = graph_group,
      doc = "Upper limit of idle time of all graphs, while no request is in flight. Requires "
        .. "concurrency.",
    },
    {
      name = "on_failure", type = "choice", choices = { "break", "continue" }, default = "break",
      flag = "--graph-on-failure", group = graph_group,
      doc = "How a failed request affects its dependents. break: skip them and mark the task as "
        .. "broken. continue: send them as if the request had succeeded.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      doc = "Deadline of each request after its arrival, unless the request sets one. 0: none.",
    },
    {
      name = "speed", type = "number", above = 0, max = 1e9, default = 1,
      flag = "--graph-speed", group = graph_group,
      doc = "Factor that divides recorded starts, delays, and tool times.",
    },
    {
      name = "hints", type = "boolean", default = false,
      flag = "--graph-hints", group = graph_group,
      doc = "Let policies see the announced future of a program: request.program includes "
        .. "requests_left and reused_after_us.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of starts and of the function's rng. Default: the experiment's seed.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "End of arrivals. Default: the experiment's horizon.",
    },
  },
}

table.move(graph_file.options, 1, #graph_file.options, #graphs.options + 1, graphs.options)

--- What specifications have, as the core describes it: { client = section, cohort = section, ... }.
---@return table<string, blis.Section>
local function described()
  local sections, names = {}, {}
  for _, section in ipairs(core.workload_keys()) do
    names[section.name] = section
    -- "lifecycle window" is a window, "diurnal block" diurnal.
    section.name = section.name:gsub(" block$", ""):match "[%w_]+$"
    sections[section.name] = section
  end
  for _, section in pairs(sections) do
    for _, option in ipairs(section.options) do option.section = names[option.section] end
  end
  return sections
end

local written = described()

return {
  short = short, prefixes = prefixes, sessions = sessions, file = file, generator = generator,
  replay = replay, graphs = graphs, graph_file = graph_file,
  with_clients = written.workload, client = written.client, cohort = written.cohort,
  window = written.window, lifecycle = written.lifecycle, multi_turn = written.multi_turn,
  reasoning = written.reasoning, multimodal = written.multimodal, diurnal = written.diurnal,
  spike = written.spike, drain = written.drain,
}
