--- Traffic: what blis.workload and the workload of an experiment may be, and how it is printed.
local core = require "blis.core"
local errors = require "blis.errors"
local format = require "blis.format"
local schema = require "blis.config.schema"
local sections = require "blis.config.workload"
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
    return "a number of tokens or { 'gaussian', mean =, std_dev =, min =, max = }, "
      .. "{ 'exponential', mean = }, { 'lognormal', mu =, sigma = }, { 'constant', value = }, ..."
  end,
  check = function(value, _, path)
    if type(value) == "number" then
      value = { "constant", value = value }
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

types.prefixes = {
  expected = function() return "a table such as { groups = 8, tokens = 1024, zipf = 1.1 }" end,
  check = function(value, _, path)
    return type(value) == "table" and schema.read(sections.prefixes, value, path) or nil
  end,
}

--- Either a length for all, or a distribution.
local function length_of(values, name, fixed_name, path)
  local fixed = values[fixed_name]
  if fixed and values[name] then
    errors.invalid("%s: '%s' and '%s' exclude each other", path, name, fixed_name)
  end
  return fixed and { type = "constant", params = { { "value", fixed } } } or values[name]
end

local function check_is_bounded(count, horizon_us, path, count_name)
  if count == 0 and horizon_us == 0 then
    errors.invalid("%s: the requests would never end; give %s above 0, or a horizon", path,
      count_name)
  end
end

local function read_short(given, path, defaults)
  local values = schema.read(sections.short, given, path, defaults.profile)
  local horizon_us = values.horizon_us or defaults.horizon_us or 0
  check_is_bounded(values.requests, horizon_us, path, "requests")
  return {
    rate = values.rate, requests = values.requests, horizon_us = horizon_us,
    seed = values.seed or defaults.seed,
    arrival = types.arrival.check(values.arrival, nil, path .. ".arrival"),
    prompt = length_of(values, "prompt", "prompt_tokens", path),
    output = length_of(values, "output", "output_tokens", path),
    prefixes = values.prefixes, tenant = values.tenant, slo_class = values.slo_class,
    timeout_us = values.timeout_us, lazy_tokens = values.lazy_tokens,
  }
end

local function read_windows(lifecycle, path)
  if not lifecycle then return nil end
  local windows = {}
  for i, one in ipairs(lifecycle.windows) do
    local place = ("%s.lifecycle.windows[%d]"):format(path, i)
    local values = schema.read(sections.window, one, place)
    windows[i] = {
      start_us = values.start_us, end_us = values.end_us, trace_rate = values.trace_rate,
      arrival = values.arrival, input = values.input_distribution,
      output = values.output_distribution,
    }
  end
  if #windows == 0 then errors.invalid("%s.lifecycle.windows: the list is empty", path) end
  return windows
end

local function modalities_of(values)
  if not values then return nil end
  return {
    text = values.text_distribution, image = values.image_distribution,
    image_count = values.image_count_distribution, audio = values.audio_distribution,
    audio_count = values.audio_count_distribution, video = values.video_distribution,
    video_count = values.video_count_distribution,
  }
end

local function turns_of(reasoning)
  local values = reasoning and reasoning.multi_turn
  if not values then return nil end
  return {
    max_rounds = values.max_rounds, think_time_us = values.think_time_us,
    context_growth = values.context_growth == "accumulate" and "accumulate" or nil,
    single_session = values.single_session,
  }
end

local function loop_of(closed_loop)
  if closed_loop == nil then return "default" end
  return closed_loop and "closed" or "open"
end

--- What the core takes of a client or a cohort.
local function client_of(values, path)
  local users = values.concurrency or 0
  return {
    id = values.id, tenant = values.tenant_id, slo_class = values.slo_class, model = values.model,
    rate_fraction = values.rate_fraction or (users > 0 and 0 or 1),
    concurrency = users, think_time_us = values.think_time_us or 0,
    arrival = types.arrival.check(values.arrival, nil, path .. ".arrival"),
    input = values.input_distribution, output = values.output_distribution,
    prefix_group = values.prefix_group, prefix_tokens = values.prefix_length,
    is_streaming = values.streaming, timeout_us = values.timeout or 0,
    has_no_timeout = values.timeout == 0, slo_target_us = values.slo_target_us,
    windows = read_windows(values.lifecycle, path), multimodal = modalities_of(values.multimodal),
    multi_turn = turns_of(values.reasoning),
    reason_ratio = values.reasoning and values.reasoning.reason_ratio_distribution,
    loop = loop_of(values.closed_loop),
  }
end

local function read_client(given, path)
  return client_of(schema.read(sections.client, given, path), path)
end

local function read_cohort(given, path)
  local values = schema.read(sections.cohort, given, path)
  local cohort = client_of(values, path)
  cohort.population, cohort.prefix_sharing = values.population, values.prefix_sharing
  cohort.diurnal = values.diurnal
  local spike, drain = values.spike, values.drain
  cohort.spike = spike and {
    start_us = spike.start_time_us, duration_us = spike.duration_us, trace_rate = spike.trace_rate,
  }
  cohort.drain = drain and { start_us = drain.start_time_us, ramp_us = drain.ramp_duration_us }
  return cohort
end

local function read_list(given, name, path, read_one)
  local list = {}
  for i, one in ipairs(given or {}) do
    list[i] = read_one(one, ("%s.%s[%d]"):format(path, name, i))
  end
  return list
end

local function read_with_clients(given, path, defaults)
  local values = schema.read(sections.with_clients, given, path)
  local horizon_us = values.horizon_us or defaults.horizon_us or 0
  local clients = read_list(values.clients, "clients", path, read_client)
  local cohorts = read_list(values.cohorts, "cohorts", path, read_cohort)
  if #clients + #cohorts == 0 then errors.invalid("%s.clients: the list is empty", path) end
  check_is_bounded(values.num_requests, horizon_us, path, "num_requests")
  return {
    clients = clients, cohorts = cohorts, aggregate_rate = values.aggregate_rate,
    num_requests = values.num_requests, seed = values.seed or defaults.seed,
    horizon_us = horizon_us, lazy_tokens = values.lazy_tokens,
    reproduce_go_blis_defects = defaults.profile == "go-blis",
  }
end

--- Whether requests of a checked specification follow on others, so that they cannot be listed
--- before a run.
---@param spec table
---@return boolean
function workload.has_follow_ups(spec)
  for _, list in ipairs { spec.clients or {}, spec.cohorts or {} } do
    for _, one in ipairs(list) do
      if one.concurrency > 0 or one.multi_turn and one.loop ~= "open" then return true end
    end
  end
  return false
end

--- The workload of an experiment: a list of requests as it is, or a checked specification.
---@param given any
---@param path string
---@param defaults { seed: integer, horizon_us?: integer, profile?: string }
---@return userdata|table
function workload.read(given, path, defaults)
  if core.is_workload(given) then return given end
  if given ~= nil and type(given) ~= "table" then
    schema.raise_value(path, given,
      "a table of options or what blis.workload or blis.trace.read returned")
  end
  if given and (given.clients or given.cohorts) then
    return read_with_clients(given, path, defaults)
  end
  return read_short(given or {}, path, defaults)
end

--- Generates requests and keeps them in memory, to be looked at and to be run several times:
--- `blis.workload { rate = 40, requests = 4000, prefixes = { groups = 8, tokens = 1024 } }`.
---@param spec? table
---@return blis.Workload
function workload.new(spec)
  local given = workload.read(spec, "workload", { seed = 42 })
  if type(given) == "userdata" then return given end
  if workload.has_follow_ups(given) then
    errors.invalid("workload: requests that wait for answers cannot be listed beforehand; give "
      .. "these options to blis.run itself")
  end
  return errors.located(core.workload, given)
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
    ("  reuse: %s of the prompt tokens are in full blocks of %d tokens seen before"):format(
      format.percent(s.reused_share), s.block_size),
  }
  for _, note in ipairs(list:notes()) do lines[#lines + 1] = "  note: " .. note end
  return table.concat(lines, "\n")
end

core.set_tostring("blis.workload", workload.describe)

return workload
