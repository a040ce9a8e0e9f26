--- The options of generated traffic: the short form, the form with clients, and their parts.
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
      name = "arrival", type = "arrival", default = "poisson",
      profiles = { ["go-blis"] = "constant" }, flag = "--arrival",
      flag_doc = "How requests are spaced: poisson, constant, gamma:CV or weibull:CV.",
      doc = "How requests are spaced: 'poisson', 'constant', { 'gamma', cv = 3 } or { "
        .. "'weibull', cv = 2 }.",
    },
    {
      name = "prompt", type = "distribution",
      doc = "Lengths of prompts; left out, { 'gaussian', mean = 512, std_dev = 256, min = 2, "
        .. "max = 7000 }.",
    },
    {
      name = "output", type = "distribution",
      doc = "Lengths of outputs; left out, { 'gaussian', mean = 512, std_dev = 256, min = 2, "
        .. "max = 7000 }.",
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
      name = "lazy_tokens", type = "boolean", default = false,
      doc = "Do not draw token ids: other random numbers, for less time.",
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
local with_clients = {
  name = "workload",
  summary = "Traffic of several clients that share a rate.",
  options = {
    { name = "clients", type = "table", required = true, doc = "A list of clients." },
    {
      name = "aggregate_rate", type = "number", above = 0, max = 1e9, required = true,
      unit = "requests/s", aliases = { "rate" },
      doc = "Requests per second of all clients together.",
    },
    {
      name = "num_requests", type = "integer", min = 0, default = 0, unit = "requests",
      aliases = { "requests" },
      doc = "How many requests there will be, 0 = as many as fit before the horizon.",
    },
    {
      name = "seed", type = "integer",
      doc = "Seed of arrivals and lengths; left out, that of the experiment (42 outside of one).",
    },
    {
      name = "horizon_us", type = "time_us", min = 1, unit = "us", aliases = { "horizon" },
      doc = "No request arrives from here on; left out, the horizon of the experiment.",
    },
    {
      name = "lazy_tokens", type = "boolean", default = false,
      doc = "Do not draw token ids: other random numbers, for less time.",
    },
  },
}

---@type blis.Section
local client = {
  name = "client",
  summary = "One source of requests.",
  options = {
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
    {
      name = "rate_fraction", type = "number", above = 0, default = 1,
      doc = "Weight of its share of the rate.",
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
      name = "timeout", type = "time_us", min = 0, default = 0, unit = "us",
      aliases = { "timeout_us" },
      doc = "From arrival to deadline, 0 = no deadline.",
    },
  },
}

return { short = short, prefixes = prefixes, with_clients = with_clients, client = client }
