--- The options of generated traffic: the short form, that of a file, and what a specification has.
--- Specifications, of files and of tables, are read by the core, which describes their keys, too.
local core = require "blis.core"
local presets = require "blis.config.presets"

local slo_classes = { "critical", "realtime", "standard", "sheddable", "batch", "background" }

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
      doc = "Number of requests, 0 = as many as fit before the horizon.",
    },
    {
      name = "arrival", type = "gaps", default = "poisson",
      profiles = { ["go-blis"] = "constant" }, flag = "--arrival",
      flag_doc = "How requests are spaced: poisson, constant, gamma:CV or weibull:CV.",
      doc = "How requests are spaced: 'poisson', 'constant', { 'gamma', cv = 3 }, { 'weibull', cv "
        .. "= 2 }, or a function(rng) that draws the microseconds until the next one.",
    },
    {
      name = "shape", type = "shape",
      flag = "--shape",
      flag_doc = "How the rate changes with time, which it is multiplied by: diurnal, ramp, surges "
        .. "or servegen (the hours of 14 days), with options such as "
        .. "diurnal:period=2h,peak_to_trough=4,speed=10. Without --num-requests and --horizon, "
        .. "requests come for as long as the shape lasts.",
      doc = "How the rate changes with time, which it is multiplied by: 'diurnal', 'ramp', "
        .. "'surges', 'servegen' (the hours of 14 days), or { 'diurnal', period_us =, "
        .. "peak_to_trough =, speed = } and so on, see shape. Without requests and horizon, "
        .. "requests come for as long as the shape lasts.",
    },
    {
      name = "preset", type = "choice", choices = presets.names,
      doc = "Lengths typical of an application (chatbot, summarization, contentgen, multidoc), a "
        .. "scenario of several clients with its own lengths and arrivals, or traffic with a shape "
        .. "(diurnal, ramp and surges with the lengths of chatbot, servegen-days with its own). "
        .. "coding-agent, rag and deep-research are session graphs, with their options.",
    },
    {
      name = "prompt", type = "lengths",
      doc = "Lengths of prompts, or a function(rng) that draws one; default: { 'gaussian', mean = "
        .. "512, std_dev = 256, min = 2, max = 7000 }.",
    },
    {
      name = "output", type = "lengths",
      doc = "Lengths of outputs, or a function(rng) that draws one; default: { 'gaussian', mean = "
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
      doc = "Shared prompt prefixes: { groups = 8, tokens = 1024, zipf = 1.1 }. Requests are "
        .. "spaced as arrival says; the group of each request (or conversation) is drawn by "
        .. "weight. Under profile go-blis, each group has its own arrival process.",
    },
    {
      name = "sessions", type = "sessions",
      doc = "Conversations: { max_rounds = 5, think_time_us = 1000000 }. rate then counts first "
        .. "rounds, and requests all rounds: conversations stop after the last of them. One that "
        .. "waits for an answer ends where there is none, and fewer arrive.",
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
      doc = "Seed of arrivals and lengths; default: the experiment's (42 outside of one).",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "No request arrives from this time on; default: the experiment's horizon.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" }, default = "drawn",
      flag = "--tokens",
      doc = "drawn: token ids are drawn, as in the reference; lazy: they are not, and arrivals and "
        .. "lengths have their own random streams: different requests, generated faster.",
    },
  },
}

---@type blis.Section
local prefixes = {
  name = "prefixes",
  summary = "Prefixes shared by prompts, as when applications with long system prompts share a "
    .. "cluster.",
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
  summary = "Conversations of several rounds.",
  options = {
    {
      name = "max_rounds", type = "integer", min = 1, max = 1000000, required = true,
      doc = "Number of rounds in a conversation.",
    },
    {
      name = "think_time_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "Delay between an answer and the next round.",
    },
    {
      name = "grows", type = "boolean", default = true,
      doc = "Whether a round's prompt begins with the previous rounds and their answers.",
    },
    {
      name = "closed_loop", type = "boolean", default = true,
      doc = "Whether a round waits for the answer to the previous one, or arrives at a planned "
        .. "time.",
    },
  },
}

---@type blis.Section
local file = {
  name = "workload",
  summary = "Traffic as a YAML file describes it (workload specification, version 2). Options "
    .. "given here take precedence over the file.",
  options = {
    { name = "file", type = "path", required = true, doc = "Path of the file." },
    {
      name = "shape", type = "shape",
      doc = "How the rate changes with time: requests are moved to where it has them, see shape.",
    },
    { name = "seed", type = "integer", doc = "Seed of arrivals and lengths." },
    {
      name = "num_requests", type = "integer", min = 0, unit = "requests",
      aliases = { "requests" }, doc = "Number of requests.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us", aliases = { "horizon" },
      doc = "No request arrives from this time on; the run ends then, unless the experiment has a "
        .. "horizon.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, unit = "us",
      doc = "Deadline after arrival for all clients, 0 = none.",
    },
    {
      name = "lazy_generation", type = "boolean", default = false,
      doc = "Of profile go-blis: later rounds of sessions begin with the whole prefix of their "
        .. "group, not with as much of it as their client asks for. Elsewhere they always do.",
    },
    {
      name = "tokens", type = "choice", choices = { "drawn", "lazy" },
      doc = "drawn: token ids are drawn, as in the reference; lazy: they are not, and arrivals and "
        .. "lengths have their own random streams: different requests, generated faster.",
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
      expected = "a path, or what blis.trace.read or blis.trace.stream returned",
      doc = "What blis.trace.read or blis.trace.stream returned, or the path of a trace.",
    },
    {
      name = "shape", type = "shape",
      doc = "How the rate changes with time: requests are moved to where it has them, see shape.",
    },
    {
      name = "stream", type = "choice", choices = { "auto", "always", "never" }, default = "auto",
      doc = "For a path, whether the trace stays in its file, to be read as the simulation "
        .. "proceeds, or is read into memory; the results are the same. auto: in its file beyond "
        .. "64 MB (8 MB packed), where that is possible.",
    },
    {
      name = "session_mode", type = "choice", choices = { "fixed", "closed-loop" },
      default = "fixed",
      doc = "fixed: every round of a session at its recorded time; closed-loop: after the answer "
        .. "to the previous one.",
    },
    {
      name = "think_time", type = "distribution", unit = "us",
      doc = "closed-loop: delay between an answer and the next round; default: as recorded.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of think times; default: the experiment's.",
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
      doc = "How the rate changes with time: requests are moved to where it has them, see shape.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 0, unit = "requests",
      aliases = { "num_requests" },
      doc = "Maximum number of requests, 0 = as many as the function returns.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "No request arrives from this time on; default: the experiment's horizon.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of the random stream; default: the experiment's (42 outside of one).",
    },
  },
}

local graph_formats = {}
for i, format in ipairs(core.graph_formats()) do graph_formats[i] = format.name end

local graph_group = "Session graphs"

--- How session graphs are read from a file; part of graphs, and of blis.session_graphs.
---@type blis.Section
local graph_file = {
  name = "graphs",
  summary = "How session graphs are read from a file.",
  options = {
    {
      name = "format", type = "choice", choices = graph_formats,
      flag = "--graph-format", group = graph_group,
      doc = "Of a file, its format; default: recognised by its beginning.",
    },
    {
      name = "limit", type = "integer", min = 0, default = 0, unit = "graphs",
      flag = "--graph-limit", group = graph_group,
      doc = "Of a file, at most this many graphs from its start, 0 = all.",
    },
    {
      name = "reading", type = "choice", default = "design",
      flag = "--graph-reading", group = graph_group,
      choices = { "design", "aiperf", "inference-perf", "guidellm", "go-blis", "llm-d-router",
        "aisimulate" },
      doc = "Of a weka corpus: which tool's reading of subagents, content and delays; "
        .. "docs/agents.md has them.",
    },
    {
      name = "delays", type = "choice", default = "usual",
      flag = "--graph-delays", group = graph_group,
      choices = { "usual", "completion", "starts", "think-time", "none" },
      doc = "Of a weka corpus, what is waited before a request: from the recorded end of what it "
        .. "waits for to its start; from the start of the request before; its think_time; or "
        .. "nothing. usual: that of the reading.",
    },
    {
      name = "nested", type = "choice", default = "auto",
      flag = "--graph-nested", group = graph_group,
      choices = { "auto", "relative", "absolute" },
      doc = "Of a weka corpus, what times of subagents' requests count from: their marker or the "
        .. "conversation. auto: the marker if any of the corpus is before its own.",
    },
    {
      name = "delay_cap_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--graph-delay-cap", group = graph_group,
      doc = "Of a file: no delay is longer; 0 = as they are.",
    },
    {
      name = "idle_gap_cap_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--graph-idle-gap-cap", group = graph_group,
      doc = "Of a weka corpus: gaps between starts in a conversation are at most this; 0 = as "
        .. "they are.",
    },
    {
      name = "hash_block_tokens", type = "integer", min = 0, max = 1048576, default = 0,
      flag = "--graph-hash-block-tokens", group = graph_group,
      unit = "tokens",
      doc = "Of a file, tokens that each hash id stands for; 0 = as it says, or as is usual.",
    },
    {
      name = "models", type = "served_models", flag = "--graph-models", group = graph_group,
      metavar = "MODEL,...|NAME=MODEL,...",
      doc = "Of a corpus that tells models (weka, spans), what serves them here: models in the "
        .. "order in which recorded names appear, again from the first one where there are more; "
        .. "or one for each name. Default: recorded names are not used, any instance serves any "
        .. "request.",
    },
    {
      name = "bytes_per_token", type = "number", above = 0, max = 1000, default = 4,
      flag = "--graph-bytes-per-token", group = graph_group,
      doc = "Of a file with texts and no counts of tokens (sharegpt).",
    },
  },
}

---@type blis.Section
local graphs = {
  name = "workload",
  summary = "Tasks of agents: requests that wait for the answers to others, as session graphs say.",
  options = {
    {
      name = "graphs", type = "any",
      flag = "--graphs", group = graph_group, metavar = "FILE",
      flag_doc = "File of session graphs, or folder of weka conversations: tasks of agents, whose "
        .. "requests wait for the answers to others. --rate, --arrival and --concurrency count "
        .. "graphs then.",
      doc = "A list of graphs, the path of a file or of a folder of weka conversations, what "
        .. "blis.session_graphs returned, or a function(rng, number) that returns the next one, or "
        .. "nil at the end. A graph is a list "
        .. "of requests, each behind those it waits for: { { id = 'plan', "
        .. "prompt_tokens = 3000, output_tokens = 200 }, { after = 'plan', tool_us = 800000, "
        .. "prompt_tokens = 900, output_tokens = 60 } }; see docs/agents.md.",
    },
    {
      name = "preset", type = "choice", choices = presets.agents,
      doc = "In place of graphs: tasks of a kind of agent, made up from the seed.",
    },
    {
      name = "rate", type = "number", above = 0, max = 1e9, unit = "graphs/s",
      doc = "Graphs that start per second; default: each at its start_us, or at 0. Graphs of a "
        .. "script have no start_us then; the starts of a file are not used.",
    },
    {
      name = "arrival", type = "arrival", default = "poisson",
      doc = "With rate, how starts are spaced: 'poisson', 'constant', { 'gamma', cv = 3 } or "
        .. "{ 'weibull', cv = 2 }.",
    },
    {
      name = "concurrency", type = "integer", min = 1, max = 10000000, unit = "graphs",
      doc = "In place of rate: so many graphs at a time; the next one starts when all requests of "
        .. "one that are not in the background have ended.",
    },
    {
      name = "count", type = "integer", min = 1, unit = "graphs",
      flag = "--num-graphs", group = graph_group,
      flag_doc = "Number of graphs; default: each of a file once, 100 of a preset without "
        .. "--horizon, and without end with --graph-duration. A file with fewer is played again, "
        .. "with content and sessions of its own.",
      doc = "Number of graphs; default: each of a list once, or as many as the function returns. A "
        .. "list with fewer is played again, with content and sessions of its own. With "
        .. "duration_us: without end.",
    },
    {
      name = "play", type = "choice", choices = { "agentx" },
      flag = "--graph-play", group = graph_group,
      flag_doc = "Graphs are played as a benchmark plays a corpus: agentx sets --graph-primers, "
        .. "--graph-warm-up-requests 10, --graph-duration 3600s, --graph-response-grace 30s, "
        .. "--graph-tree-idle-cap 300s and --graph-idle-cap 10s, which may be given, too. "
        .. "--concurrency is the number of lanes.",
      doc = "Graphs are played as a benchmark plays a corpus: agentx sets primers, "
        .. "warm_up_requests = 10, duration_us = 3600 s, response_grace_us = 30 s, "
        .. "tree_idle_cap_us = 300 s and idle_cap_us = 10 s, which may be given, too. "
        .. "concurrency is the number of lanes.",
    },
    {
      name = "duration_us", type = "time_us", min = 1, unit = "us",
      flag = "--graph-duration", group = graph_group,
      flag_doc = "With --concurrency: measure for so long, playing the graphs again and again "
        .. "until --num-graphs. 'steady' of the results has the requests that arrived in it and "
        .. "were completed.",
      doc = "With concurrency: measure for so long, playing the graphs again and again until "
        .. "count. result.steady has the requests that arrived in it and were completed.",
    },
    {
      name = "response_grace_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-response-grace", group = graph_group,
      flag_doc = "With --graph-duration: requests that have not ended so long after it are given "
        .. "up; default: they may take their time.",
      doc = "With duration_us: requests that have not ended so long after it are given up; "
        .. "default: they may take their time.",
    },
    {
      name = "warm_up_requests", type = "integer", min = 0, max = 1000000, unit = "requests",
      flag = "--graph-warm-up-requests", group = graph_group,
      doc = "With concurrency: so many requests of each graph that is played at first, with one "
        .. "token of output and without delays, before the measurement begins: when the last one "
        .. "of these has ended.",
    },
    {
      name = "primers", type = "boolean",
      flag = "--graph-primers", group = graph_group,
      doc = "With concurrency: the first graphs begin at a request that is drawn. The one in front "
        .. "of it is sent in the warm-up; those before that count as played.",
    },
    {
      name = "tree_idle_cap_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-tree-idle-cap", group = graph_group,
      doc = "With concurrency: while no request of a graph is on its way, the next one comes after "
        .. "so long at the latest, and those behind it as much earlier; 0 = delays as they are.",
    },
    {
      name = "idle_cap_us", type = "time_us", min = 0, unit = "us",
      flag = "--graph-idle-cap", group = graph_group,
      doc = "With concurrency: the same of all graphs, while no request at all is on its way.",
    },
    {
      name = "on_failure", type = "choice", choices = { "break", "continue" }, default = "break",
      flag = "--graph-on-failure", group = graph_group,
      doc = "What becomes of requests that wait for one that was rejected, timed out or failed: "
        .. "break: they are never sent, and the task is broken; continue: they are sent as if it "
        .. "had been answered.",
    },
    {
      name = "timeout_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      doc = "Deadline of each request after its arrival, unless it has its own; 0 = none.",
    },
    {
      name = "speed", type = "number", above = 0, max = 1e9, default = 1,
      flag = "--graph-speed", group = graph_group,
      doc = "Divides recorded starts, and all delays and times of tools.",
    },
    {
      name = "hints", type = "boolean", default = false,
      flag = "--graph-hints", group = graph_group,
      doc = "Whether policies see what programs know of their future: request.program has "
        .. "requests_left and reused_after_us.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of starts and of the function's rng; default: the experiment's.",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us",
      doc = "No request arrives after it; default: the experiment's horizon.",
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
