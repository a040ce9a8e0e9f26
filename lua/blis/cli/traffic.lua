--- The workload of `blis run`, from its flags.
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local sections = require "blis.config.workload"
local workload_spec = require "blis.workload_spec"

local traffic = {}

-- Lengths of some applications (BLIS in Go, defaults.yaml).
local presets = {
  chatbot = { prompt = { 256, 100, 2, 800 }, output = { 256, 100, 1, 1024 } },
  contentgen = { prompt = { 1024, 150, 10, 2048 }, output = { 1024, 200, 10, 2048 } },
  summarization = { prompt = { 4096, 500, 100, 8192 }, output = { 512, 150, 10, 2048 } },
  multidoc = { prompt = { 10240, 1200, 500, 20480 }, output = { 1536, 300, 50, 4096 } },
}

local function gaussian(mean, stdev, min, max)
  return { "gaussian", mean = mean, std_dev = stdev, min = min, max = max }
end

--- The length flags of one kind, which have to go together.
local function lengths_of_flags(definition, values, kind)
  local mean, stdev = values[kind .. "_mean"], values[kind .. "_stdev"]
  local min, max = values[kind .. "_min"], values[kind .. "_max"]
  local flag = ("--%s-tokens"):format(kind)
  if min > max then
    flags.fail(definition, "%s-min: %d is above %s-max, %d", flag, min, flag, max)
  end
  if mean < min or mean > max then
    flags.fail(definition, "%s: %d is not between %s-min and %s-max, %d and %d", flag, mean, flag,
      flag, min, max)
  end
  if stdev ~= 0 and (stdev < min or stdev > max) then
    flags.fail(definition, "%s-stdev: %d is neither 0 nor between %s-min and %s-max, %d and %d",
      flag, stdev, flag, flag, min, max)
  end
  return gaussian(mean, stdev, min, max)
end

local function timeout_us(values)
  return values.timeout_s < 0 and 0 or values.timeout_s * 1000000
end

--- The lengths of prompts or outputs, as a preset or the flags have them.
local function lengths_of(definition, values, kind)
  local preset = presets[values.preset]
  return preset and gaussian(table.unpack(preset[kind]))
    or lengths_of_flags(definition, values, kind)
end

--- The prefix flags; nil without prefixes.
local function prefixes_of(definition, parsed)
  local prefixes = parsed.values.prefixes
  if (prefixes.tokens or 0) > 0 then return prefixes end
  if next(prefixes) ~= nil and prefixes.tokens == nil then
    flags.fail(definition, "--prefix-groups and --prefix-zipf need --prefix-tokens")
  end
end

--- Traffic of one client, in the short form of blis.run.
local function with_rate(definition, parsed)
  local values, short = parsed.values.synthesis, {}
  for name, value in pairs(parsed.values.workload) do short[name] = value end
  short.prompt = lengths_of(definition, values, "prompt")
  short.output = lengths_of(definition, values, "output")
  short.timeout_us = timeout_us(values)
  short.prefixes = prefixes_of(definition, parsed)
  return short
end

--- Traffic of users, each of whom waits for an answer before the next request.
local function with_users(definition, parsed)
  local values, given = parsed.values.synthesis, parsed.values.workload
  for _, flag in ipairs { "--rate", "--arrival", "--prefix-groups", "--prefix-zipf" } do
    if parsed.given[flag] then
      flags.fail(definition, "%s does not go with --concurrency", flag)
    end
  end
  local prefix_tokens = parsed.values.prefixes.tokens or 0
  return {
    num_requests = given.requests,
    clients = {
      {
        id = "distribution", tenant_id = given.tenant, slo_class = given.slo_class,
        concurrency = values.concurrency, think_time_us = values.think_time_ms * 1000,
        input_distribution = lengths_of(definition, values, "prompt"),
        output_distribution = lengths_of(definition, values, "output"),
        prefix_group = prefix_tokens > 0 and "shared" or nil, prefix_length = prefix_tokens,
        timeout = timeout_us(values),
      },
    },
  }
end

local synthesis_only = { "--think-time-ms", "--rate", "--arrival", "--tenant", "--slo-class",
  "--prefix-tokens", "--prefix-groups", "--prefix-zipf", "--prompt-tokens",
  "--prompt-tokens-stdev", "--prompt-tokens-min", "--prompt-tokens-max", "--output-tokens",
  "--output-tokens-stdev", "--output-tokens-min", "--output-tokens-max" }

--- Traffic of a file; flags that were given go before what it says.
local function from_file(definition, parsed, talk)
  local values = parsed.values.synthesis
  local spec, file = workload_spec.read(values.spec)
  for _, flag in ipairs(synthesis_only) do
    if parsed.given[flag] then talk("%s has no effect beside --workload-spec", flag) end
  end
  local given, experiment = parsed.given, parsed.values.experiment
  if given["--num-requests"] then spec.num_requests = parsed.values.workload.requests end
  if given["--seed"] then
    spec.seed = experiment.seed
  elseif experiment.profile == "go-blis" then
    spec.seed = spec.seed or 0
  end
  if given["--horizon"] then
    spec.horizon, spec.horizon_us = experiment.horizon_us, nil
  end
  if given["--timeout"] then
    if values.timeout_s == 0 then flags.fail(definition, "--timeout: 0 is not allowed") end
    for _, list in ipairs { spec.clients or {}, spec.cohorts or {} } do
      for _, one in ipairs(list) do one.timeout_us, one.timeout = nil, timeout_us(values) end
    end
  end
  return spec, spec.horizon or spec.horizon_us, file
end

--- The workload for blis.run, the horizon it asks for, and the file it is from.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param talk fun(format: string, ...)
---@return table workload
---@return integer? horizon_us
---@return blis.SpecFile? file
function traffic.of_flags(definition, parsed, talk)
  if parsed.values.synthesis.spec then
    if parsed.values.synthesis.concurrency > 0 then
      flags.fail(definition, "--concurrency does not go with --workload-spec")
    end
    return from_file(definition, parsed, talk)
  end
  if parsed.values.synthesis.timeout_s == 0 then
    flags.fail(definition, "--timeout: 0 is not allowed; below 0 means no deadline")
  end
  local horizon_us = parsed.values.experiment.horizon_us
  local requests = parsed.values.workload.requests
  if requests == 0 and not horizon_us then
    flags.fail(definition, "--num-requests: 0 means as many as fit, and needs a --horizon")
  end
  if parsed.values.synthesis.concurrency == 0 then
    return with_rate(definition, parsed), horizon_us
  end
  if not requests and not horizon_us then
    flags.fail(definition, "--concurrency needs --num-requests or --horizon")
  end
  return with_users(definition, parsed), horizon_us
end

--- On a command line 0 means that there are no prefixes.
local function prefix_options()
  local options = flags.pick(sections.prefixes, { "tokens", "groups", "zipf" })
  options[1] = setmetatable({ min = 0, required = false, default = 0 }, { __index = options[1] })
  return options
end

--- The groups of flags that of_flags reads.
---@return blis.cli.Group[]
function traffic.groups()
  return {
    {
      title = "Traffic", section = "workload",
      options = flags.pick(sections.short,
        { "rate", "requests", "arrival", "tenant", "slo_class" }),
    },
    {
      title = "Lengths", section = "synthesis", has_defaults = true,
      options = flag_sections.synthesis.options,
    },
    { title = "Shared prefixes", section = "prefixes", options = prefix_options() },
  }
end

return traffic
