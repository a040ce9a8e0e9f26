--- Workloads that have a name: lengths as in some application, and scenarios of several clients
--- (both of BLIS in Go).
local presets = {}

local function gaussian(mean, std_dev, min, max)
  return { "gaussian", mean = mean, std_dev = std_dev, min = min, max = max }
end

local function exponential(mean)
  return { "exponential", mean = mean }
end

--- Lengths of prompts and outputs, for the short form of a workload.
presets.lengths = {
  chatbot = { prompt = gaussian(256, 100, 2, 800), output = gaussian(256, 100, 1, 1024) },
  contentgen = { prompt = gaussian(1024, 150, 10, 2048), output = gaussian(1024, 200, 10, 2048) },
  summarization = {
    prompt = gaussian(4096, 500, 100, 8192), output = gaussian(512, 150, 10, 2048),
  },
  multidoc = {
    prompt = gaussian(10240, 1200, 500, 20480), output = gaussian(1536, 300, 50, 4096),
  },
}

--- Clients of the form with clients.
presets.scenarios = {
  bursty = {
    { id = "bursty", slo_class = "batch", arrival = { "gamma", cv = 3.5 },
      prompt = exponential(512), output = exponential(256) },
  },
  ["unfair-tenants"] = {
    { id = "heavy", tenant_id = "heavy", slo_class = "batch", rate_fraction = 0.9,
      prompt = exponential(1024), output = exponential(512) },
    { id = "light", tenant_id = "light", slo_class = "critical", rate_fraction = 0.1,
      streaming = true, prompt = gaussian(128, 50, 10, 2048), output = exponential(64) },
  },
  ["prefix-heavy"] = {
    { id = "with-prefix", slo_class = "batch", rate_fraction = 0.8,
      prefix_group = "system-prompt", prompt = exponential(256), output = exponential(128) },
    { id = "without-prefix", slo_class = "standard", rate_fraction = 0.2,
      prompt = exponential(512), output = exponential(256) },
  },
  ["mixed-slo"] = {
    { id = "realtime", slo_class = "critical", rate_fraction = 0.33,
      prompt = gaussian(64, 20, 10, 256), output = exponential(32) },
    { id = "interactive", slo_class = "standard", rate_fraction = 0.34,
      prompt = gaussian(256, 100, 32, 2048), output = exponential(128) },
    { id = "batch", slo_class = "batch", rate_fraction = 0.33,
      prompt = exponential(1024), output = exponential(512) },
  },
}

--- Presets whose rate changes with time, and their shapes.
presets.shapes = { diurnal = "diurnal", ramp = "ramp", surges = "surges",
  ["servegen-days"] = "servegen" }

for _, name in ipairs { "diurnal", "ramp", "surges" } do
  presets.lengths[name] = presets.lengths.chatbot
end
presets.lengths["servegen-days"] = {
  prompt = { "lognormal", mu = 5.85, sigma = 0.81 },
  output = { "lognormal", mu = 4.64, sigma = 0.93 },
}

--- Tasks of agents, which are session graphs: blis.traffic.agents makes them.
presets.agents = { "coding-agent", "rag", "deep-research" }

presets.is_agent = {}
for _, name in ipairs(presets.agents) do presets.is_agent[name] = true end

--- All preset names, in the order of help entries.
presets.names = { "chatbot", "summarization", "contentgen", "multidoc", "bursty",
  "unfair-tenants", "prefix-heavy", "mixed-slo", "diurnal", "ramp", "surges", "servegen-days" }

return presets
