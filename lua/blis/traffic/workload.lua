--- Traffic: what blis.workload and the workload of an experiment may be, and how it is printed.
local core = require "blis.core"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local inference_perf = deferred "blis.traffic.inference_perf"
local notices = deferred "blis.notices"
local format = require "blis.format"
local graphs = deferred "blis.traffic.graphs"
local presets = require "blis.config.presets"
local schema = require "blis.config.schema"
local sections = require "blis.config.workload"
local shape = deferred "blis.traffic.shape"
local told = require "blis.traffic.told"
local trace = require "blis.traffic.trace"
local types = require "blis.config.types"

local workload = {}

--- { {"mean", 512}, ... } of the named numbers of a table, in a fixed order.
local function number_pairs(given, path)
  local pairs_ = {}
  for key, value in pairs(given) do
    if type(value) ~= "number" then
      schema.raise_value(("%s.%s"):format(path, tostring(key)), value, "a number")
    end
    pairs_[#pairs_ + 1] = { tostring(key), value }
  end
  table.sort(pairs_, function(a, b) return a[1] < b[1] end)
  return pairs_
end

--- The named fields of { "gaussian", mean = 512 }, or the params of { type = , params = }.
local function split(given, kind_key, path)
  local kind = given[1] or given[kind_key]
  if type(kind) ~= "string" then
    schema.raise_value(path .. "[1]", kind, "a word such as in { 'gaussian', mean = 512, ... }")
  end
  local named = {}
  for key, value in pairs(given) do
    if key ~= 1 and key ~= kind_key then named[key] = value end
  end
  return kind, named
end

types.distribution = {
  expected = function()
    return "a whole number or { 'gaussian', mean =, std_dev =, min =, max = }, "
      .. "{ 'exponential', mean = }, { 'lognormal', mu =, sigma = }, { 'constant', value = }, ..."
  end,
  check = function(value, _, path)
    if type(value) == "number" then
      local length = math.tointeger(value)
      if not length or length < 0 then return nil end
      value = { "constant", value = length }
    elseif type(value) ~= "table" then
      return nil
    end
    local kind, named = split(value, "type", path)
    if type(named.params) == "table" then named = named.params end
    local spec = { type = kind, params = number_pairs(named, path) }
    errors.located(core.check_distribution, spec, path)
    return spec
  end,
}

types.arrival = {
  expected = function()
    return "'poisson', 'constant', { 'gamma', cv = 3 } or { 'weibull', cv = 2 }"
  end,
  check = function(value, _, path)
    if type(value) == "string" then value = { value } end
    if type(value) ~= "table" then return nil end
    local kind, named = split(value, "process", path)
    local spec = { process = kind }
    for _, pair in ipairs(number_pairs(named, path)) do
      local key = pair[1]
      if key ~= "cv" and key ~= "shape" and key ~= "scale" then
        errors.invalid("%s: unknown parameter '%s'%s", path, key,
          errors.suggestion(key, { "cv", "shape", "scale" }))
      end
      spec[key] = pair[2]
    end
    errors.located(core.check_arrival, spec, path)
    return spec
  end,
}

-- A distribution or an arrival, or a function that draws values of it.
for name, kind in pairs { lengths = "distribution", gaps = "arrival" } do
  types[name] = {
    expected = function(option) return types[kind].expected(option) .. ", or a function(rng)" end,
    check = function(value, option, path)
      return type(value) == "function" and value or types[kind].check(value, option, path)
    end,
  }
end

--- A type for a table of options within another one.
local function add_section_type(name, example)
  types[name] = {
    expected = function() return "a table such as " .. example end,
    check = function(value, _, path)
      return type(value) == "table" and schema.read(sections[name], value, path) or nil
    end,
  }
end

add_section_type("prefixes", "{ groups = 8, tokens = 1024, zipf = 1.1 }")
add_section_type("sessions", "{ max_rounds = 5, think_time_us = 1000000 }")

---@class blis.WorkloadDefaults what workloads take from the experiment around them
---@field seed integer
---@field horizon_us? integer
---@field profile? string
---@field refuses_adapters? boolean there are none that a specification could name

--- What the core makes of a specification, which is the path of a file or a table.
---@return userdata
local function written(given, path, settings)
  return errors.located(core.workload_spec, given, path, settings)
end

--- Either a length for all, or a distribution.
local function length_of(values, name, fixed_name, path)
  local fixed = values[fixed_name]
  if fixed and values[name] then
    errors.invalid("%s: '%s' cannot be combined with '%s'", path, name, fixed_name)
  end
  if fixed then return { type = "constant", params = { { "value", fixed } } } end
  if values[name] == nil and values.preset then
    return types.distribution.check(presets.lengths[values.preset][name], nil, path)
  end
  return values[name]
end

-- What a scenario leaves to those who run it.
local scenario_options = { preset = true, rate = true, requests = true, num_requests = true,
  seed = true, horizon_us = true, timeout_us = true, tokens = true }

local function read_scenario(given, values, path, settings)
  for _, option in ipairs(sections.short.options) do
    if given[option.name] ~= nil and not scenario_options[option.name] then
      errors.invalid("%s: preset '%s' cannot be combined with "
        .. "'%s'", path, values.preset, option.name)
    end
  end
  settings.num_requests, settings.timeout_us = values.requests, values.timeout_us
  return written({ aggregate_rate = values.rate, clients = presets.scenarios[values.preset] },
    path, settings)
end

--- Notes about valid but unusual traffic.
---@param traffic userdata|table what workload.read returned
---@return string[]
function workload.notes(traffic)
  if type(traffic) ~= "table" then return traffic:notes() end
  if traffic.trace then return traffic.trace:notes() end
  if traffic.graphs then return graphs.notes(traffic) end
  return { traffic.arrival and core.check_arrival(traffic.arrival, "arrival") }
end

--- Generates everything that a specification without follow-ups asks for.
---@param spec userdata|table what workload.read returned
---@return blis.Workload
function workload.collect(spec)
  return errors.located(core.workload, spec, workload.notes(spec))
end

-- What functions of a script draw.
local sample_units = { arrival = "microseconds", prompt = "tokens", output = "tokens" }

--- Calls a function of a script; raises when what it returns is no sample, without the place in
--- the script: who calls this from the core adds it.
local function draw(name, fn, rng, number, path)
  local value = fn(rng)
  local whole = math.type(value) and math.tointeger(value)
  if whole and whole >= 0 then return whole end
  error(core.error_object("invalid", ("%s.%s: the function returned %s for request %d, expected a "
    .. "whole number of %s of at least 0%s"):format(path, name, errors.show(value), number,
    sample_units[name], math.type(value) == "float" and " (math.floor makes one)" or "")), 0)
end

--- Draws with the functions of a script what they are for; the rest is as it is without them.
local function sampled(spec, functions, seed, horizon_us, path)
  local list = workload.collect(spec)
  local time_us, number = 0, 0
  local rngs = {}
  for name in pairs(functions) do rngs[name] = core.rng(seed, "workload-" .. name) end
  local function sample(name)
    return draw(name, functions[name], rngs[name], number, path)
  end
  return errors.located(core.call_seeded, seed, list.map, list, function(request)
    local changes = {}
    number = number + 1
    if functions.arrival then
      time_us = time_us + sample "arrival"
      if horizon_us > 0 and time_us >= horizon_us then return nil end
      changes.arrival_us = time_us
    end
    if functions.prompt then
      changes.prompt_tokens = request.shared_tokens + sample "prompt"
    end
    if functions.output then changes.output_tokens = sample "output" end
    return changes
  end)
end

--- Takes the functions out of a specification of the short form.
local function take_functions(spec)
  local functions, placeholder = {}, { type = "constant", params = { { "value", 1 } } }
  for _, name in ipairs { "prompt", "output" } do
    if type(spec[name]) == "function" then
      functions[name], spec[name] = spec[name], placeholder
    end
  end
  if type(spec.arrival) == "function" then
    functions.arrival, spec.arrival = spec.arrival, { process = "constant" }
  end
  return functions
end

local function read_short(given, path, defaults)
  local values = schema.read(sections.short, given, path, defaults.profile)
  local horizon_us = values.horizon_us or defaults.horizon_us or 0
  if values.requests == 0 and horizon_us == 0 then
    errors.invalid("%s: the requests would never end; set requests above 0, or horizon_us", path)
  end
  local seed = values.seed or defaults.seed
  if presets.scenarios[values.preset] then
    return read_scenario(given, values, path, { seed = seed, horizon_us = horizon_us,
      has_lazy_tokens = values.tokens == "lazy", go_blis = defaults.profile == "go-blis" })
  end
  local spec = {
    rate = values.rate, requests = values.requests, horizon_us = horizon_us, seed = seed,
    arrival = types.gaps.check(values.arrival, nil, path .. ".arrival"),
    prompt = length_of(values, "prompt", "prompt_tokens", path),
    output = length_of(values, "output", "output_tokens", path),
    prefixes = values.prefixes, sessions = values.sessions, tenant = values.tenant,
    slo_class = values.slo_class, timeout_us = values.timeout_us,
    has_lazy_tokens = values.tokens == "lazy", go_blis = defaults.profile == "go-blis",
  }
  local functions = take_functions(spec)
  if next(functions) == nil then return spec end
  if values.sessions then
    errors.invalid("%s: sessions require distributions, not functions", path)
  end
  if functions.arrival then
    if values.requests == 0 then
      errors.invalid("%s: with a function as arrival, requests must be above 0", path)
    end
    spec.horizon_us = 0
  end
  return sampled(spec, functions, seed, horizon_us, path)
end

--- The specification in a file, which may also be a configuration of inference-perf.
local function written_in_file(file, path, settings)
  local ok, result = pcall(written, file, path, settings)
  if ok then return result end
  if settings.go_blis or not inference_perf.is_meant(result) then error(result, 0) end
  local spec, notes = inference_perf.read(file, nil, settings.num_requests)
  for _, note in ipairs(notes) do notices.tell(("%s: %s"):format(file, note)) end
  return spec.graphs and spec or written(spec, path, settings)
end

--- A specification in a file. Under go-blis one without a seed has the seed 0.
local function read_file(given, path, defaults)
  local values = schema.read(sections.file, given, path)
  local is_go_blis = defaults.profile == "go-blis"
  local horizon_us = values.horizon_us or defaults.horizon_us
  local spec = written_in_file(values.file, path, {
    refuses_adapters = defaults.refuses_adapters,
    seed = values.seed or is_go_blis and 0 or defaults.seed,
    replaces_seed = values.seed ~= nil,
    num_requests = values.num_requests,
    horizon_us = horizon_us, replaces_horizon = horizon_us ~= nil,
    timeout_us = values.timeout_us, go_blis = is_go_blis,
    has_lazy_tokens = values.tokens and values.tokens == "lazy",
    keeps_group_prefixes = values.lazy_generation,
  })
  if type(spec) == "table" then return graphs.read(spec, path, defaults) end
  local own_horizon_us = spec:totals().horizon_us
  return spec, own_horizon_us > 0 and own_horizon_us or nil
end

--- The requests of a trace, with sessions that may wait for answers.
local function read_replay(given, path, defaults)
  local values = schema.read(sections.replay, given, path)
  local list, is_fixed = values.trace, values.session_mode == "fixed"
  if is_fixed and values.think_time then
    errors.invalid("%s: think_time requires session_mode = 'closed-loop'", path)
  end
  if not is_fixed and values.stream == "always" then
    errors.invalid("%s: stream = 'always' cannot be combined with session_mode = 'closed-loop', "
      .. "which needs all rounds of a session together", path)
  end
  if type(list) == "string" then
    list = trace.open(list, { columns = values.columns, time_unit = values.time_unit },
      is_fixed and values.stream or "never")
  end
  if core.is_trace_stream(list) then
    if is_fixed then return list end
    list = list:list()
  end
  if not core.is_workload(list) then
    schema.raise_value(path .. ".trace", list,
      "what blis.trace.read or blis.trace.stream returned, or a path")
  end
  if is_fixed then return list end
  return {
    trace = list, think_time = values.think_time, seed = values.seed or defaults.seed,
    horizon_us = defaults.horizon_us or 0, go_blis = defaults.profile == "go-blis",
  }
end

--- The requests that a function returns, in order.
local function read_generator(given, path, defaults)
  local values = schema.read(sections.generator, given, path)
  local fn = values.generator
  if type(fn) ~= "function" then
    schema.raise_value(path .. ".generator", fn, "a function(rng)")
  end
  local seed = values.seed or defaults.seed
  local rng = core.rng(seed, "workload-generator")
  return errors.located(core.call_seeded, seed, core.workload_of_function,
    function() return fn(rng) end, path, values.requests,
    values.horizon_us or defaults.horizon_us or 0, errors.function_name(fn))
end

-- A table with one of these is a specification.
local specification_keys = { "clients", "cohorts", "inference_perf", "servegen_data", "version" }

local function is_specification(given)
  for _, key in ipairs(specification_keys) do
    if given[key] ~= nil then return true end
  end
  return false
end

--- Whether requests follow on others, so that they cannot be listed before a run.
---@param spec userdata|table what workload.read returned
---@return boolean
function workload.has_follow_ups(spec)
  if core.is_workload(spec) or core.is_trace_stream(spec) then return false end
  if type(spec) == "table" then
    if spec.trace or spec.graphs then return true end
    return spec.sessions ~= nil and spec.sessions.closed_loop
  end
  return spec:has_follow_ups()
end

-- A stream has not been read to its end; files that are not read into memory are long.
local stream_us = 14 * 24 * 3600 * 1000000

--- Does it say which part of a run is measured, as session graphs may?
---@param spec userdata|table what workload.read returned
---@return boolean
function workload.is_measured(spec)
  local has_graphs = type(spec) == "table" and spec.graphs ~= nil
  return has_graphs and graphs.is_measured(spec) or false
end

--- Lets check(place, model) see the models that requests of session graphs want.
---@param spec userdata|table what workload.read returned
---@param check fun(place: string, model: string) raises for an unknown model
function workload.check_models(spec, check)
  if type(spec) == "table" and spec.graphs ~= nil then spec.check_models(check) end
end

--- About how long requests come, as far as that is known before they do.
---@param spec userdata|table what workload.read returned
---@return integer us 0: unknown
function workload.length_us(spec)
  if core.is_trace_stream(spec) then return stream_us end
  if core.is_workload(spec) then return spec:last_arrival_us() end
  if core.is_workload_spec(spec) then return spec:totals().horizon_us end
  if spec.trace then return spec.trace:last_arrival_us() end
  if spec.graphs then return graphs.length_us(spec) end
  if spec.horizon_us > 0 then return spec.horizon_us end
  return math.tointeger((spec.requests / spec.rate * 1e6) // 1) or 0
end

--- The number of requests, if it can be determined before the run; otherwise nil.
---@param spec userdata|table what workload.read returned
---@return integer?
function workload.request_count(spec)
  local count
  if core.is_workload(spec) then
    count = #spec
  elseif core.is_workload_spec(spec) then
    count = spec:totals().num_requests
  elseif type(spec) == "table" then
    count = spec.trace and #spec.trace or spec.requests
  end
  return count and count > 0 and count or nil
end

--- Raises for a string, which could be the name of several things.
local function raise_text(text, path)
  local shown = errors.show(text)
  local is_preset = presets.lengths[text] or presets.scenarios[text]
  errors.invalid("%s: invalid value %s; %s", path, shown, is_preset
    and ("for the preset, use { preset = %s }"):format(shown)
    or ("for a specification in a file, use { file = %s }; for a trace, "
      .. "blis.trace.read(%s)"):format(shown, shown))
end

local function read_any(given, path, defaults)
  if core.is_workload(given) or core.is_workload_spec(given) or core.is_trace_stream(given) then
    return given
  end
  if type(given) == "function" then given = { generator = given } end
  if type(given) == "string" then raise_text(given, path) end
  if given ~= nil and type(given) ~= "table" then
    schema.raise_value(path, given, "a table of options, a function that returns requests, or "
      .. "what blis.workload or blis.trace.read returned")
  end
  given = given or {}
  if given.file ~= nil then return read_file(given, path, defaults) end
  if given.trace ~= nil then return read_replay(given, path, defaults) end
  if given.graphs ~= nil or presets.is_agent[given.preset] then
    return graphs.read(given, path, defaults)
  end
  if given.generator ~= nil then return read_generator(given, path, defaults) end
  if is_specification(given) then
    return written(given, path, { seed = defaults.seed, horizon_us = defaults.horizon_us,
      go_blis = defaults.profile == "go-blis", refuses_adapters = defaults.refuses_adapters })
  end
  return read_short(given, path, defaults)
end

--- The shape that is given, or that of a preset.
local function shape_of(given, path)
  local wanted = given.shape or presets.shapes[given.preset]
  return wanted and shape.read(wanted, path .. ".shape")
end

--- The options without the shape, for as long as a constant rate takes for the same requests.
local function even_options(given, found, defaults)
  local options = {}
  for key, value in pairs(given) do options[key] = value end
  options.shape = nil
  if given.trace ~= nil or given.generator ~= nil then return options end
  local is_short = given.file == nil and not is_specification(given)
  local horizon_key = is_specification(given) and "horizon" or "horizon_us"
  local horizon_us = given[horizon_key] or defaults.horizon_us
  if is_short and (given.requests or given.num_requests or 0) == 0 then
    options.requests, options.num_requests = 0, nil
    horizon_us = horizon_us or found.length_us
  end
  if math.type(horizon_us) == "integer" then
    options[horizon_key] = shape.even_us(found, horizon_us)
  end
  return options
end

--- Moves the requests of a constant rate to where a shape has them.
local function shaped(given, found, path, defaults)
  local spec = read_any(even_options(given, found, defaults), path,
    { seed = defaults.seed, profile = defaults.profile })
  if core.is_trace_stream(spec) then spec = spec:list() end
  if not core.is_workload(spec) then
    if workload.has_follow_ups(spec) then
      errors.invalid("%s: with a shape, requests cannot wait for responses; set closed_loop = "
        .. "false for sessions", path)
    end
    spec = workload.collect(spec)
  end
  return spec:warp(shape.points(found, spec:last_arrival_us(), path .. ".shape"))
end

--- The workload of an experiment: a list of requests, a specification, or a checked short form; and
--- its horizon, if it has one.
---@param given any
---@param path string
---@param defaults blis.WorkloadDefaults
---@return userdata|table
---@return integer? horizon_us
function workload.read(given, path, defaults)
  local found = type(given) == "table" and shape_of(given, path)
  if found then return shaped(given, found, path, defaults) end
  return read_any(given, path, defaults)
end

--- Generates requests and keeps them in memory, to be looked at and to be run several times:
--- `blis.workload { rate = 40, requests = 4000, prefixes = { groups = 8, tokens = 1024 } }`.
---@param spec? table|fun(rng: blis.Rng): table?
---@return blis.Workload
function workload.new(spec)
  local given = workload.read(spec, "workload", { seed = 42 })
  if core.is_trace_stream(given) then return given:list() end
  if core.is_workload(given) then return given end
  if workload.has_follow_ups(given) then
    errors.invalid("workload: requests that wait for responses cannot be listed beforehand; pass "
      .. "these options to blis.run")
  end
  return told.remember_options(workload.collect(given), spec)
end

local function length_row(name, lengths)
  local row = { name, format.count(lengths.sum), format.number(lengths.mean, 1) }
  for _, key in ipairs { "min", "p50", "p90", "p99", "max" } do
    row[#row + 1] = format.count(lengths[key])
  end
  return row
end

--- What print(workload) shows.
---@param list blis.Workload
---@return string
function workload.describe(list)
  local s = list:statistics()
  local span_s = (s.last_arrival_us - s.first_arrival_us) / 1e6
  local lines = {
    list:description(),
    ("  %s requests over %s s (%s requests/s)"):format(format.count(s.requests),
      format.number(span_s, 1), format.number(s.requests_per_sec, 2)),
    format.table({ "tokens", "sum", "mean", "min", "p50", "p90", "p99", "max" },
      { length_row("prompt", s.prompt_tokens), length_row("output", s.output_tokens) }, "  "),
    ("  reuse: %s of the prompt tokens are in full blocks of %d tokens that occurred "
      .. "before"):format(
      format.percent(s.reused_share), s.block_size),
  }
  for _, note in ipairs(list:notes()) do lines[#lines + 1] = "  note: " .. note end
  return table.concat(lines, "\n")
end

core.set_tostring("blis.workload", workload.describe)
core.set_tostring("blis.trace_stream", workload.describe)

return workload
