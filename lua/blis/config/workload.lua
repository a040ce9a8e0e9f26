--- The options of generated traffic: the short form, that of a file, and what a specification has.
--- Specifications, of files and of tables, are read by the core, which describes their keys, too.
local core = require "blis.core"
local presets = require "blis.traffic.presets"

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
      doc = "Shared prompt prefixes: { groups = 8, tokens = 1024, zipf = 1.1 }. Requests are "
        .. "spaced as arrival says, whatever the groups: that of a request (of a conversation) "
        .. "is drawn by weight. profile go-blis: each group has an arrival process of its own.",
    },
    {
      name = "sessions", type = "sessions",
      doc = "Conversations: { max_rounds = 5, think_time_us = 1000000 }. Then rate counts their "
        .. "first rounds, and requests all rounds: behind the last of them conversations stop.",
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
  replay = replay,
  with_clients = written.workload, client = written.client, cohort = written.cohort,
  window = written.window, lifecycle = written.lifecycle, multi_turn = written.multi_turn,
  reasoning = written.reasoning, multimodal = written.multimodal, diurnal = written.diurnal,
  spike = written.spike, drain = written.drain,
}
