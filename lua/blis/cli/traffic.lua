--- The workload of `blis run`, from its flags.
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local session_graphs = require "blis.cli.session_graphs"
local presets = require "blis.config.presets"
local sections = require "blis.config.workload"
local units = require "blis.units"

local traffic = {}

local function gaussian(mean, stdev, min, max)
  return { "gaussian", mean = mean, std_dev = stdev, min = min, max = max }
end

--- Length flags of one kind, which depend on each other. A length without a deviation is exact; in
--- BLIS (Go) it is always a mean.
local function lengths_of_flags(definition, parsed, kind)
  local values, given = parsed.values.synthesis, parsed.given
  local mean, stdev = values[kind .. "_mean"], values[kind .. "_stdev"]
  local min, max = values[kind .. "_min"], values[kind .. "_max"]
  local flag = ("--%s-tokens"):format(kind)
  local is_exact = parsed.values.experiment.profile ~= "go-blis" and given[flag]
    and not given[flag .. "-stdev"]
  if is_exact and not given[flag .. "-min"] and not given[flag .. "-max"] then
    return { "constant", value = mean }
  end
  if min > max then
    flags.fail(definition, "%s-min: %d is above %s-max, %d", flag, min, flag, max)
  end
  if mean < min or mean > max then
    flags.fail(definition, "%s: %d is not between %s-min and %s-max, %d and %d", flag, mean, flag,
      flag, min, max)
  end
  if is_exact then return { "constant", value = mean } end
  if stdev ~= 0 and (stdev < min or stdev > max) then
    flags.fail(definition, "%s-stdev: %d is neither 0 nor between %s-min and %s-max, %d and %d",
      flag, stdev, flag, flag, min, max)
  end
  return gaussian(mean, stdev, min, max)
end

local function timeout_us(values)
  return values.timeout_s < 0 and 0 or units.whole(values.timeout_s * 1000000)
end

--- The lengths of prompts or outputs, as a preset or the flags have them.
local function lengths_of(definition, parsed, kind)
  local preset = presets.lengths[parsed.values.synthesis.preset]
  return preset and preset[kind] or lengths_of_flags(definition, parsed, kind)
end

local prefix_flags = { "--prefix-tokens", "--prefix-groups", "--prefix-zipf" }

--- Warns about flags that another flag disables.
local function say_without_effect(parsed, names, beside, talk)
  for _, flag in ipairs(names) do
    if parsed.given[flag] then talk("%s has no effect with %s", flag, beside) end
  end
end

--- The prefix flags; nil without prefixes. Presets of BLIS (Go) have none.
local function prefixes_of(definition, parsed, talk)
  local prefixes, preset = parsed.values.prefixes, parsed.values.synthesis.preset
  if parsed.values.experiment.profile == "go-blis" and presets.lengths[preset] then
    say_without_effect(parsed, prefix_flags,
      ("--workload %s in profile go-blis"):format(preset), talk)
    return nil
  end
  if (prefixes.tokens or 0) > 0 then return prefixes end
  if next(prefixes) ~= nil and prefixes.tokens == nil then
    flags.fail(definition, "--prefix-groups and --prefix-zipf require --prefix-tokens")
  end
end

local length_flags = { "--prompt-tokens", "--prompt-tokens-stdev", "--prompt-tokens-min",
  "--prompt-tokens-max", "--output-tokens", "--output-tokens-stdev", "--output-tokens-min",
  "--output-tokens-max" }

--- Traffic of one client, in the short form of blis.run.
local function with_rate(definition, parsed, talk)
  local values, short = parsed.values.synthesis, {}
  for name, value in pairs(parsed.values.workload) do short[name] = value end
  if presets.scenarios[values.preset] then
    local beside = "--workload " .. values.preset
    say_without_effect(parsed, { "--arrival", "--tenant", "--slo-class", "--prefix-tokens",
      "--prefix-groups", "--prefix-zipf" }, beside, talk)
    return { preset = values.preset, rate = short.rate, requests = short.requests,
      shape = short.shape,
      tokens = short.tokens, timeout_us = timeout_us(values) }
  end
  short.shape = short.shape or presets.shapes[values.preset]
  short.prompt = lengths_of(definition, parsed, "prompt")
  short.output = lengths_of(definition, parsed, "output")
  short.timeout_us = timeout_us(values)
  short.prefixes = prefixes_of(definition, parsed, talk)
  return short
end

--- Traffic of users, each of whom waits for an answer before the next request.
local function with_users(definition, parsed, talk)
  local values, given = parsed.values.synthesis, parsed.values.workload
  for _, flag in ipairs { "--rate", "--arrival", "--prefix-groups", "--prefix-zipf" } do
    if parsed.given[flag] then
      flags.fail(definition, "%s cannot be combined with --concurrency", flag)
    end
  end
  if given.shape then -- including flags of a policy bundle
    flags.fail(definition, "a shape (--shape) cannot be combined with --concurrency: users send "
      .. "their next request when they receive a response")
  end
  if presets.scenarios[values.preset] then
    flags.fail(definition, "--workload %s cannot be combined with --concurrency", values.preset)
  end
  local prefix_tokens = (prefixes_of(definition, parsed, talk) or {}).tokens or 0
  return {
    num_requests = given.requests, tokens = given.tokens,
    clients = {
      {
        id = "distribution", tenant_id = given.tenant, slo_class = given.slo_class,
        concurrency = values.concurrency, think_time_us = values.think_time_ms * 1000,
        input_distribution = lengths_of(definition, parsed, "prompt"),
        output_distribution = lengths_of(definition, parsed, "output"),
        prefix_group = prefix_tokens > 0 and "shared" or nil, prefix_length = prefix_tokens,
        timeout = timeout_us(values),
      },
    },
  }
end

local synthesis_only = { "--workload", "--think-time-ms", "--rate", "--arrival", "--tenant",
  "--slo-class", "--prefix-tokens", "--prefix-groups", "--prefix-zipf" }

--- Fails if a variant changes a flag that --workload-spec disables.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param flag string
function traffic.check_varied(definition, parsed, flag)
  if not parsed.values.synthesis.spec then return end
  for _, names in ipairs { synthesis_only, length_flags } do
    for _, name in ipairs(names) do
      if name == flag then
        flags.fail(definition, "--workload-spec: %s cannot vary because the file sets it. Describe "
          .. "the traffic by flags, or pass a function to blis.%s", flag,
          definition.name)
      end
    end
  end
end

--- Traffic of a file. Flags on the command line override it.
local function from_file(definition, parsed, talk)
  local values, given = parsed.values.synthesis, parsed.given
  say_without_effect(parsed, synthesis_only, "--workload-spec", talk)
  say_without_effect(parsed, length_flags, "--workload-spec", talk)
  if given["--timeout"] and values.timeout_s == 0 then
    flags.fail(definition, "--timeout: invalid value 0: expected above 0, or below 0 for none")
  end
  return {
    file = values.spec, shape = parsed.values.workload.shape,
    seed = given["--seed"] and parsed.values.experiment.seed or nil,
    num_requests = given["--num-requests"] and parsed.values.workload.requests or nil,
    timeout_us = given["--timeout"] and timeout_us(values) or nil,
    tokens = parsed.values.workload.tokens,
    lazy_generation = (parsed.values.ignored or {}).lazy_generation,
  }
end

--- The number of requests, or graphs, for a search.
---@param parsed blis.cli.Parsed
---@param count integer
function traffic.set_length(parsed, count)
  local values, given = parsed.values, parsed.given
  if session_graphs.are_given(parsed) then
    values.graphs.count, given["--num-graphs"] = count, true
  else
    values.workload.requests, given["--num-requests"] = count, true
  end
end

--- The workload for blis.run.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param talk fun(format: string, ...)
---@return table workload
function traffic.of_flags(definition, parsed, talk)
  local values = parsed.values.synthesis
  if session_graphs.are_meant(definition, parsed) then
    say_without_effect(parsed, length_flags, "session graphs", talk)
    return session_graphs.of(definition, parsed, timeout_us(values))
  end
  if values.spec then
    if values.concurrency > 0 then
      flags.fail(definition, "--concurrency cannot be combined with --workload-spec")
    end
    return from_file(definition, parsed, talk)
  end
  if values.timeout_s == 0 then
    flags.fail(definition, "--timeout: invalid value 0: expected above 0, or below 0 for none")
  end
  if values.preset ~= "distribution" then
    say_without_effect(parsed, length_flags, "--workload " .. values.preset, talk)
  end
  if parsed.given["--think-time-ms"] and values.concurrency == 0 then
    talk("--think-time-ms has no effect without --concurrency")
  end
  local horizon_us = parsed.values.experiment.horizon_us
  local requests = parsed.values.workload.requests
  if requests == 0 and not horizon_us then
    flags.fail(definition, "--num-requests: 0 means no limit, and requires --horizon")
  end
  if values.concurrency == 0 then return with_rate(definition, parsed, talk) end
  if not requests and not horizon_us then
    flags.fail(definition, "--concurrency requires --num-requests or --horizon")
  end
  return with_users(definition, parsed, talk)
end

--- On a command line 0 means that there are no prefixes.
local function prefix_options()
  local options = flags.pick(sections.prefixes, { "tokens", "groups", "zipf" })
  options[1] = setmetatable({ min = 0, required = false, default = 0 }, { __index = options[1] })
  return options
end

--- Functions are for scripts.
local function rate_options()
  local options = flags.pick(sections.short,
    { "rate", "requests", "shape", "arrival", "tenant", "slo_class", "tokens" })
  options[4] = setmetatable({ type = "arrival" }, { __index = options[4] })
  return options
end

--- The groups of flags that of_flags reads.
---@return blis.cli.Group[]
function traffic.groups()
  return {
    {
      title = "Traffic", section = "workload", options = rate_options(),
    },
    {
      title = "Lengths", section = "synthesis", has_defaults = true,
      options = flag_sections.synthesis.options,
    },
    { title = "Shared prefixes", section = "prefixes", options = prefix_options() },
    session_graphs.group(),
  }
end

return traffic
