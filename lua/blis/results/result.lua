--- Results: the metrics of one run, and how they are printed.
local deferred = require "blis.deferred"
local core = require "blis.core"
local decisions = require "blis.results.decisions"
local drawing = require "blis.drawing"
local energy = require "blis.results.energy"
local errors = require "blis.errors"
local features = require "blis.feature"
local expected_error = deferred "blis.results.expected_error"
local figures = require "blis.results.figures"
local fitness = deferred "blis.results.fitness"
local format = require "blis.format"
local timeline = deferred "blis.timeline"
local renamed = deferred "blis.results.renamed"
local report = require "blis.results.report"
local phases = deferred "blis.results.phases"
local result_file = require "blis.results.file"
local saturation = deferred "blis.results.saturation"
local schema = require "blis.config.schema"
local series = require "blis.results.series"
local show = require "blis.show"
local signs = require "blis.results.signs"
local slo = require "blis.results.slo"
local trace_sections = require "blis.config.trace"
local warm_up = require "blis.results.warm_up"
local workload = require "blis.traffic.workload"

local result = {}

local list_meta = {
  __tostring = function(list)
    local parts = {}
    for i, count in ipairs(list) do parts[i] = format.count(count) end
    return table.concat(parts, " ")
  end,
}

local result_meta = { __name = "blis.result", __metatable = false, __tostring = report.summary }

---@class blis.Result
local methods = {}

--- Tables of metrics print as text.
local function printable(figure)
  return type(figure) == "table" and show.figures(figure) or figure
end

--- "; did you mean 'completed'?", of all there can be in a result.
local function suggestion(self, key)
  local names = {}
  for _, set in ipairs { self, methods, figures.of_result } do
    for name in next, set do
      if type(name) == "string" then names[#names + 1] = name end
    end
  end
  table.sort(names)
  return errors.suggestion(key, names, "pairs(result) lists them")
end

function result_meta.__index(self, key)
  if type(key) ~= "string" then return nil end
  if methods[key] then return methods[key] end
  local usual = figures.usual_name(key)
  if usual ~= key then return self[usual] end
  local figure = figures.of_result[key]
  if not figure and renamed.current(key) ~= key then
    errors.invalid("result.%s was renamed; expected result.%s", key, renamed.current(key))
  end
  figure = figure or {}
  if figure.from_records and not rawget(self, "requests") then
    errors.invalid("result.%s requires records, but this run kept none (keep_records = false)", key)
  elseif figure.of then
    self[key] = printable(figure.of(self))
    return rawget(self, key)
  elseif figure.asked then
    errors.invalid("result.%s requires %s in the experiment", key, figure.asked)
  end
  if figures.of_result[key] then
    errors.invalid("result.%s is missing in this result, which a script or another version of blis "
      .. "wrote", key)
  end
  error(("a result has no field '%s'%s"):format(key, suggestion(self, key)), 2)
end

--- pairs(result): every available metric, by name.
function result_meta.__pairs(self)
  local names, is_listed = {}, {}
  local function list(name)
    if not is_listed[name] then names[#names + 1] = name end
    is_listed[name] = true
  end
  for name in next, self do list(name) end
  for name, figure in pairs(rawget(self, "requests") and figures.of_result or {}) do
    -- Computing a metric can add another one, so metrics that exist already are also listed.
    if figure.of and self[name] ~= nil then list(name) end
  end
  table.sort(names)
  local position = 0
  return function()
    position = position + 1
    local name = names[position]
    if name then return name, self[name] end
  end
end

--- Metrics of the requests that arrived from from_us until before to_us (default: the end of the
--- run). Inter-token latencies are the means of requests.
---@param from_us integer
---@param to_us? integer
---@return blis.Window
function methods:window(from_us, to_us)
  from_us, to_us = math.tointeger(from_us), math.tointeger(to_us or self.duration_us + 1)
  if not from_us or not to_us or to_us <= from_us then
    errors.invalid("window: expected two times in microseconds, the first one earlier")
  end
  return self.requests:window(from_us, to_us)
end

--- Attainment of targets in the form of slo_targets.
---@param targets table<string, table>
---@return blis.Goodput
function methods:measure_goodput(targets)
  return slo.goodput(self.requests, slo.read(targets, "targets"), self.duration_us)
end

--- One number for the run: from weights ("p99_ttft:0.5,throughput:0.5", or { p99_ttft = 0.5 }) of
--- metrics scaled to 0..1, or from a function of the result.
---@param weights string|table<string, number>|fun(result: blis.Result): number
---@return number
function methods:fitness(weights)
  return fitness.score(self, weights)
end

--- Whether the cluster was overloaded: verdicts of detectors that look at arrivals and completions.
---@param options? blis.SaturationOptions
---@return blis.Saturation
function methods:saturation(options)
  return saturation.examine(self.requests, options)
end

--- Writes the metrics over time to a file, one row per interval: CSV in NAME.csv, JSON lines in
--- NAME.jsonl.
---@param path string
function methods:export_series(path)
  series.export(self.series, path)
end

--- Writes the result to a file, for blis.load_result and blis.diff; whole or not at all.
---@param path string
function methods:save(path)
  result_file.save(self, path)
end

--- Writes an HTML report: metrics with intervals, distributions, the run over time, its slowest
--- requests, decisions, and warnings. One file, without network access.
---@param path string
function methods:report(path)
  drawing.result_page.write(path, self)
end

--- A picture: which share of requests was within a time, or the run over time. As characters,
--- which are returned, or as a file: result:plot { show = "queue", path = "queue.svg" }.
---@param options? blis.ResultPlotOptions
---@return string? text without a path
function methods:plot(options)
  return drawing.result_charts.plot_result(self, options)
end

--- Writes a file for ui.perfetto.dev and chrome://tracing. Requests are on lanes of the gateway and
--- of instances, with their stages and the number of requests per stage. The file also contains KV
--- use (with series_interval_us), steps with their batches (with keep_steps), transfers on links,
--- faults, scaling, and arrows of dispatches, hand-offs, and sessions.
---
--- keep_timeline adds the instances of earlier attempts of each request, preemptions, states of
--- instances, loads of adapters, reads and writes of KV tiers, and joins of session graphs. Without
--- it, a request is drawn only on its last instance, without preemptions. A name that ends in .gz
--- compresses the file.
---@param path string
---@param options? blis.TimelineOptions
function methods:timeline(path, options)
  timeline.write(path, self, options)
end

--- Writes the records of all requests for other programs: CSV in NAME.csv, JSON lines in
--- NAME.jsonl.
---@param path string
function methods:export_requests(path)
  result_file.export_requests(self, path)
end

--- Writes the tasks of session graphs for other programs: CSV in NAME.csv, JSON lines in
--- NAME.jsonl. An error where the result was loaded from a file, which does not keep them.
---@param path string
function methods:export_tasks(path)
  result_file.export_tasks(self, path)
end

--- Writes the trace of decisions to a file: a JSON line for every decision.
---@param path string
function methods:save_decisions(path)
  decisions.save(self.decisions, path)
end

-- Totals of the trace of a run, by result.
local trace_headers = setmetatable({}, { __mode = "k" })

local function header_of(config)
  local traffic = config.workload
  local is_replay = core.is_workload(traffic) or core.is_trace_stream(traffic)
    or type(traffic) == "table" and traffic.trace ~= nil
  local seed = type(traffic) == "table" and traffic.seed
    or core.is_workload_spec(traffic) and traffic:totals().seed
  return {
    is_replay = is_replay, seed = not is_replay and math.tointeger(seed) or nil,
    targets = config.slo_targets or {},
  }
end

local function check_requests_are_kept(self)
  if not trace_headers[self] then
    errors.invalid("the trace of a run requires keep_requests = true in the experiment")
  end
end

--- The requests of the run as they arrived, follow-ups included, to be looked at and run again.
---@return blis.Workload
function methods:trace()
  check_requests_are_kept(self)
  return core.run_requests(self.requests)
end

--- Writes these requests and their outcomes as a trace in format tracev2: NAME.csv and NAME.yaml. A
--- replay with the same cluster has the same result hash, with two exceptions. A follow-up arrived
--- at the microsecond in which its instance ended a step, or the routing policy hashes prompts
--- (consistent-hash, cognitora.score, smg.prefix_hash, vllm-router.rendezvous_hash). Traces contain
--- which prompts are alike, but number their content differently, so such policies may choose other
--- instances. All replays choose the same instances.
---@param path string
---@param options? { format?: string }
function methods:write_trace(path, options)
  errors.check_path("write_trace", path)
  check_requests_are_kept(self)
  local values, header = schema.read(trace_sections.run, options, "write_trace"),
    trace_headers[self]
  errors.located(core.run_trace_write, self.requests, path, {
    format = values.format, is_replay = header.is_replay, seed = header.seed,
    targets = header.targets,
  })
end

--- GPUs of an instance of a group (of one of its ranks), and its price per hour; nil if the catalog
--- has none.
local function gpus_and_price(group, price_per_replica)
  local gpus, price = group.tp * group.dp, group.gpu_price_per_hour
  local own = price_per_replica and price_per_replica / (group.ranks or 1)
  return gpus, own or price > 0 and gpus * price or nil
end

--- GPU-hours and their cost, over all groups, from the instance-hours of each; with numbers of
--- instances, GPUs, and their hourly price.
local function spent_in(groups, hours_of_group, price_per_replica)
  local gpu_hours, usd = 0, 0
  for i, group in ipairs(groups) do
    local gpus, price = gpus_and_price(group, price_per_replica)
    gpu_hours = gpu_hours + gpus * hours_of_group[i]
    usd = usd and price and usd + price * hours_of_group[i] or nil
  end
  return gpu_hours, usd
end

--- The same, of instances that were paid for a part of a run, or whose machines have prices.
local function spent_on(groups, paid, price_per_replica)
  local gpu_hours, billed_hours, usd = 0, 0, 0
  for i, group in ipairs(groups) do
    local gpus, price = gpus_and_price(group, price_per_replica)
    local hours, other_usd = paid[i].billed_seconds / 3600, 0
    gpu_hours = gpu_hours + gpus * paid[i].seconds / 3600
    billed_hours = billed_hours + gpus * hours
    if not price_per_replica then
      hours = hours - (paid[i].node_seconds + paid[i].listed_seconds) / 3600
      other_usd = paid[i].node_usd + paid[i].listed_gpu_usd * gpus
    end
    if hours > 0 and not price then usd = nil end
    usd = usd and usd + (price or 0) * hours + other_usd
  end
  return gpu_hours, usd, billed_hours
end

--- The paid time without that of the first instances before the first request. Where pools of
--- machines or lists of prices decide what is paid, it stays as it is.
local function paid_after(paid, groups, unbilled_us)
  if unbilled_us == 0 then return paid end
  local list = {}
  for i, one in ipairs(paid) do
    local copy = {}
    for name, value in pairs(one) do copy[name] = value end
    if one.node_seconds == 0 and one.listed_seconds == 0 then
      local seconds = groups[i].instances * unbilled_us / 1e6
      copy.seconds = math.max(one.seconds - seconds, 0)
      copy.billed_seconds = math.max(one.billed_seconds - seconds, 0)
    end
    list[i] = copy
  end
  return list
end

--- Seconds of GPUs in which their instances computed.
local function busy_gpu_seconds(summary, groups)
  local seconds = 0
  for _, instance in ipairs(summary.instances) do
    local group = groups[instance.group]
    seconds = seconds + instance.busy_us / 1e6 * group.tp * group.dp
  end
  return seconds
end

--- GPU cost of a run; nil if the catalog has no price for a GPU.
---@param unbilled_us integer time from the start before the first request, which is not billed
local function cost_of(summary, price_per_replica, unbilled_us)
  local groups, instances = summary.setup.groups or { summary.setup }, {}
  for i, group in ipairs(groups) do instances[i] = group.instances end
  local gpus, usd_per_hour = spent_in(groups, instances, price_per_replica)
  unbilled_us = math.min(unbilled_us or 0, summary.duration_us)
  local hours = (summary.duration_us - unbilled_us) / 3.6e9
  local gpu_hours, usd, billed = gpus * hours, usd_per_hour and usd_per_hour * hours, nil
  if summary.paid then
    gpu_hours, usd, billed = spent_on(groups, paid_after(summary.paid, groups, unbilled_us),
      price_per_replica)
  end
  local tokens, busy = summary.output_tokens, busy_gpu_seconds(summary, groups)
  local all_tokens = summary.prompt_tokens + tokens
  return {
    busy_gpu_seconds = busy,
    gpu_seconds_per_request = summary.completed > 0 and busy / summary.completed or nil,
    usd_per_thousand_tokens = usd and all_tokens > 0 and usd / all_tokens * 1000 or nil,
    idle_share = gpu_hours > 0 and math.max(1 - busy / (gpu_hours * 3600), 0) or nil,
    gpus = gpus, gpu_hours = gpu_hours, billed_gpu_hours = billed or gpu_hours,
    usd_per_gpu_hour = usd_per_hour and usd_per_hour / gpus,
    usd = usd,
    usd_per_million_output_tokens = usd and tokens > 0 and usd / tokens * 1e6 or nil,
  }
end

--- The metrics of the steady state: without the warm-up, and without the cool-down.
local function steady_of(summary, warm_up_us, cool_down_us)
  local from_us, is_settled = warm_up_us, nil
  if warm_up_us == "auto" then from_us, is_settled = summary.requests:warm_up() end
  local steady = warm_up.window(summary.requests, from_us, cool_down_us)
  steady.is_settled = is_settled
  if is_settled == false then
    summary.setup.notes = summary.setup.notes .. warm_up.unsettled_note(from_us) .. "\n"
  end
  return steady
end

--- The metrics of requests completed after the first ones.
local function after_requests(summary, count)
  local steady = summary.requests:after_completed(count)
  steady.left_out = math.min(count, summary.completed)
  if steady.arrived == 0 then
    summary.setup.notes = summary.setup.notes .. ("warm_up_requests = %s: no request is left, "
      .. "because only %s completed\n"):format(format.count(count), format.count(summary.completed))
  end
  return steady
end

--- The metrics of the measurement window of session graphs.
local function measured_of(summary)
  local from_us, to_us = summary.requests:measured()
  local problem = "the warm-up of the graphs did not end: nothing was measured"
  local steady
  if from_us then
    steady = summary.requests:cohort(from_us, to_us)
    problem = steady.completed == 0 and "no request of the measurement was completed"
  end
  if problem then summary.setup.notes = summary.setup.notes .. problem .. "\n" end
  return steady
end

local function add_asked_for(summary, config)
  if config.slo_targets then
    summary.goodput = slo.goodput(summary.requests, config.slo_targets, summary.duration_us)
    local usd, good = summary.cost.usd, summary.goodput.good
    summary.cost.usd_per_good_request = usd and good > 0 and usd / good or nil
  end
  if config.phases then
    summary.phases = phases.of(summary, config.phases, config.slo_targets)
  end
  if config.warm_up_us then
    summary.steady = steady_of(summary, config.warm_up_us, config.cool_down_us)
  end
  if config.warm_up_requests then
    summary.steady = after_requests(summary, config.warm_up_requests)
  end
  if config.keep_records and workload.is_measured(config.workload) then
    summary.steady = measured_of(summary)
  end
  if summary.series then
    series.add_rates(summary.series)
    if config.slo_targets then
      series.add_goodput(summary.series, summary.requests, config.slo_targets)
    end
    if summary.scaling then series.add_replicas(summary.series, summary.scaling) end
  end
end

local function of_summary(summary)
  setmetatable(summary.requests_per_instance, list_meta)
  for _, figure in next, summary do printable(figure) end
  return setmetatable(summary, result_meta)
end

--- Returns the result of requests that were not simulated.
---@param summary table its figures, with `requests`
---@return blis.Result
function result.of_records(summary) return of_summary(summary) end

--- Reads a file that result:save wrote.
---@param path string
---@return blis.Result
function result.load(path)
  return of_summary(result_file.read(path))
end

--- Notes about the traffic are part of the result's notes.
local function add_traffic_notes(setup, traffic)
  for _, note in ipairs(workload.notes(traffic)) do setup.notes = setup.notes .. note .. "\n" end
end

local function name_of(scripted, named)
  if type(scripted) ~= "table" then return named end
  local name = scripted.label or scripted.name
  return name ~= "" and name or "function"
end

--- Returns whether requests of some instance pass an API server.
local function has_front_end(cluster)
  for _, group in ipairs(cluster.groups or { cluster }) do
    if group.front_end then return true end
  end
  return false
end

-- Options of an engine that change step times, or what TTFT contains, with their usual values.
local step_options = { kernel_tables = true, engine_scale = false, batching = "iteration",
  gpu_power_cap_watts = false, kv_cpu_blocks = 0, backend = "vllm" }

--- Notes what the expected error depends on: the version of the engines, and unusual options.
local function set_step_options(setup, config)
  local groups = config.cluster.groups or { config.cluster }
  for i, group in ipairs(rawget(setup, "groups") or { setup }) do
    if group.regime then
      group.regime.version = groups[i].backend_number
      for name, usual in next, step_options do
        local value = groups[i][name]
        if value ~= nil and value ~= usual then
          group.step_options = group.step_options or {}
          group.step_options[name] = value
        end
      end
    end
  end
end

--- Policies other than the routing policy.
local function set_policies(setup, config)
  local cluster = config.cluster
  if config.routing.scorers_label then
    setup.routing_name, setup.routing_scorers = config.routing.short_label,
      config.routing.scorers_label
  end
  setup.profile = config.go_blis and "go-blis" or nil
  setup.defaults = cluster.defaults
  setup.has_front_end = has_front_end(cluster) or nil
  setup.admission = name_of(config.admission, "always-admit")
  setup.scheduler = name_of(config.scheduler, cluster.scheduler)
  setup.preemption = name_of(config.preemption, cluster.preemption_policy)
  setup.priority = name_of(config.priority_policy, config.priority and "function" or "SLO class")
end

--- Makes a result of the summary that the core returns.
---@param summary table
---@param config table
---@return blis.Result
function result.new(summary, config)
  local counts = {}
  for i, instance in ipairs(summary.instances) do counts[i] = instance.requests end
  summary.requests_per_instance = counts
  summary.routing = config.routing.label
  features.complete(summary, config, name_of)
  summary.cost = cost_of(summary, config.replica_price_per_hour, config.unbilled_us)
  summary.energy = energy.of(summary, config.cluster)
  features.finish(summary, config)
  summary.paid, summary.drawn, summary.market = nil, nil, nil
  add_asked_for(summary, config)
  add_traffic_notes(summary.setup, config.workload)
  for _, sign in ipairs(signs.of_scores(summary.clamped)) do
    summary.setup.notes = summary.setup.notes .. sign .. "\n"
  end
  summary.clamped = nil
  set_policies(summary.setup, config)
  set_step_options(summary.setup, config)
  if config.keep_requests then trace_headers[summary] = header_of(config) end
  local made = warm_up.check_load(of_summary(summary))
  if config.cluster.strict_coverage then expected_error.require_measured(made) end
  return made
end

return result
