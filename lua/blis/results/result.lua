--- Results: the figures of one run, and how they are printed.
local anomalies = require "blis.results.anomalies"
local core = require "blis.core"
local decisions = require "blis.results.decisions"
local errors = require "blis.errors"
local fitness = require "blis.results.fitness"
local format = require "blis.format"
local report = require "blis.results.report"
local result_file = require "blis.results.file"
local saturation = require "blis.results.saturation"
local schema = require "blis.config.schema"
local series = require "blis.results.series"
local slo = require "blis.results.slo"
local trace_sections = require "blis.config.trace"
local warm_up = require "blis.results.warm_up"
local workload = require "blis.traffic.workload"

local result = {}

---@class blis.Percentiles in milliseconds
---@field count integer
---@field mean number
---@field min number
---@field max number
---@field p50 number
---@field p75 number
---@field p90 number
---@field p95 number
---@field p99 number

---@class blis.Counts requests by how they ended; arrived is the sum of all below but length_capped
---@field arrived integer
---@field completed integer
---@field length_capped integer part of completed: stopped at the longest sequence of the model
---@field rejected integer
---@field timed_out integer
---@field unservable integer
---@field failed integer lost with an instance
---@field still_running integer
---@field still_queued integer
---@field still_arriving integer

---@class blis.Group : blis.Counts one SLO class, tenant or model
---@field name string
---@field ttft_ms blis.Percentiles
---@field itl_ms blis.Percentiles
---@field e2e_ms blis.Percentiles
---@field scheduling_delay_ms blis.Percentiles
---@field prompt_tokens integer
---@field output_tokens integer

---@class blis.Window : blis.Group the requests that arrived in a part of a run
---@field from_us integer
---@field to_us integer this and later is outside
---@field requests_per_sec number completed in it, whenever they arrived
---@field tokens_per_sec number output tokens of these
---@field is_settled boolean? of steady with warm_up_us = "auto": false when the run is too short

---@class blis.Series columns with a row per interval; counts are since the start
---@field interval_us integer
---@field rows integer
---@field t_us integer[]
---@field arrived integer[]
---@field completed integer[]
---@field rejected integer[]
---@field timed_out integer[]
---@field prompt_tokens integer[] accepted by instances
---@field output_tokens integer[] of completed requests, and of every attempt of a cascade
---@field preemptions integer[]
---@field requests_per_sec number[] completed since the row before
---@field tokens_per_sec number[] output tokens of these
---@field instances { queue_depth: integer[], batch_size: integer[], kv_utilization: number[] }[]

---@class blis.Energy of all GPUs from the start to the end of a run; nil without gpu_watts
---@field gpu_watts number?
---@field kwh number?
---@field joules_per_output_token number?

---@class blis.Cost of all GPUs from the start to the end of a run
---@field gpus integer
---@field gpu_hours number
---@field usd_per_gpu_hour number? nil = not known, as for the two below
---@field usd number?
---@field usd_per_million_output_tokens number?

---@class blis.CascadeSums attempts with one model of a cascade, or with all of them
---@field attempts integer
---@field accepted integer answers that were good enough
---@field escalated integer attempts after which another model was asked
---@field accepted_last integer answers that were not, at the end of the chain
---@field failed integer last attempts that were rejected, lost, timed out or could not be served
---@field unfinished integer attempts at the end of the run
---@field prompt_tokens integer that instances took
---@field output_tokens integer that were sent
---@field dropped_output_tokens integer of answers that nobody got
---@field mean_logprob number mean over answers of their mean log-probabilities
---@field mean_attempt_ms number from start to end, over answers

---@class blis.CascadeModel : blis.CascadeSums
---@field model string

---@class blis.Cascade : blis.CascadeSums what a cascade did, over all models
---@field policy string
---@field requests integer that took part
---@field mean_steps number models asked per request
---@field steps integer[] requests by how many models were asked
---@field earlier_ms blis.Percentiles arrival to the last attempt, of requests with more than one
---@field models blis.CascadeModel[] in the order in which they were first done

---@class blis.CacheBelief what the routing policy took to be in the caches, and what was there
---@field decisions integer by policies that look at caches; 0 = the policy looks at none
---@field prompt_tokens integer of these requests
---@field believed_tokens integer leading prompt tokens believed to be cached at the chosen instance
---@field true_tokens integer leading prompt tokens that were cached there at the decision
---@field missing_tokens integer believed and not there
---@field unknown_tokens integer there and not believed
---@field believed_hit_rate number believed_tokens / prompt_tokens
---@field true_hit_rate number true_tokens / prompt_tokens

---@class blis.Result : blis.Counts
---@field routing string what the policy is called
---@field hash string 16 hexadecimal digits over all request records; equal runs have equal hashes
---@field duration_us integer
---@field ttft_ms blis.Percentiles time to first token
---@field itl_ms blis.Percentiles inter-token latency
---@field e2e_ms blis.Percentiles arrival to last token
---@field scheduling_delay_ms blis.Percentiles arrival to first admission to a batch
---@field requests_per_sec number completed
---@field tokens_per_sec number output tokens
---@field prompt_tokens integer
---@field output_tokens integer
---@field cache_hit_rate number 0 to 1, mean over the instances
---@field cache_hit_rate_overall number blocks found / blocks looked for
---@field cache_belief blis.CacheBelief what the router knew of the caches, against the caches
---@field preemptions integer
---@field balance number Jain's index of requests per instance, 1 = even
---@field balance_cv number coefficient of variation of requests per instance, 0 = even
---@field tenant_fairness number Jain's index of output tokens per tenant; 0 without tenants
---@field tenant_cv number their coefficient of variation
---@field cpu_reload_rate number blocks brought back from CPU memory per block looked for
---@field kv_thrashing_rate number blocks dropped from the CPU tier per block saved to it
---@field priority_inversions integer pairs at an instance, the first over twice as long
---@field blocked_instances integer with more than twice the mean wait queue: head-of-line blocking
---@field cost blis.Cost
---@field energy blis.Energy
---@field cascade blis.Cascade with cascade: requests have attempts, steps, model_used and verdict
---@field goodput blis.Goodput with slo_targets
---@field steady blis.Window with warm_up_us: from then on
---@field series blis.Series with series_interval_us
---@field decisions blis.Decisions with trace_level = "decisions"
---@field requests_per_instance integer[]
---@field instances table[] figures of every instance
---@field keeps_records boolean false: with keep_records = false, none of the next four are there
---@field by_slo_class table<string|integer, blis.Group>
---@field by_tenant table<string|integer, blis.Group>
---@field by_model table<string|integer, blis.Group>
---@field requests blis.Requests all requests and what became of them
---@field window fun(self: blis.Result, from_us: integer, to_us?: integer): blis.Window
---@field measure_goodput fun(self: blis.Result, targets: table): blis.Goodput
---@field saturation fun(self: blis.Result, options?: blis.SaturationOptions): blis.Saturation
---@field save fun(self: blis.Result, path: string)
---@field export_requests fun(self: blis.Result, path: string)
---@field export_series fun(self: blis.Result, path: string) with series_interval_us
---@field save_decisions fun(self: blis.Result, path: string)
---@field trace fun(self: blis.Result): blis.Workload
---@field write_trace fun(self: blis.Result, path: string, options?: { format?: string })
---@field fitness fun(self: blis.Result, weights: string|table|function): number
---@field setup table model, hardware, tp, kv_blocks, ... as they were worked out

local list_meta = {
  __tostring = function(list)
    local parts = {}
    for i, count in ipairs(list) do parts[i] = format.count(count) end
    return table.concat(parts, " ")
  end,
}

local result_meta = { __name = "blis.result", __metatable = false, __tostring = report.summary }

-- What only the records of the requests tell.
local of_records = { by_slo_class = true, by_tenant = true, by_model = true, requests = true,
  has_sessions = true }

-- What has to be asked for.
local on_request = { goodput = "slo_targets = ...", steady = "warm_up_us = ...",
  series = "series_interval_us = ...", cascade = "cascade = ...",
  decisions = 'trace_level = "decisions"' }

local methods = {}

--- Coefficient of variation, and Jain's index of some numbers.
local function evenness(values)
  local sum, squares, n = 0.0, 0.0, #values
  for _, value in ipairs(values) do sum, squares = sum + value, squares + value * value end
  if n == 0 then return 0.0, 0.0 end
  if squares == 0 then return 0.0, 1.0 end
  local mean = sum / n
  local variance = 0.0
  for _, value in ipairs(values) do variance = variance + (value - mean) * (value - mean) end
  return math.sqrt(variance / n) / mean, sum * sum / (n * squares)
end

local function tenant_tokens(self)
  local tokens = {}
  for _, tenant in ipairs(self.by_tenant) do
    if tenant.name ~= "" and tenant.completed > 0 then
      tokens[#tokens + 1] = tenant.output_tokens
    end
  end
  return tokens
end

-- Figures that are worked out when they are asked for first.
local lazy = {
  balance_cv = function(self) return (evenness(self.requests_per_instance)) end,
  tenant_cv = function(self) return (evenness(tenant_tokens(self))) end,
  tenant_fairness = function(self) return (select(2, evenness(tenant_tokens(self)))) end,
  cpu_reload_rate = function(self)
    local reloads, lookups = 0, 0
    for _, one in ipairs(self.instances) do
      reloads = reloads + (one.cpu_reloads or 0)
      lookups = lookups + one.cache_hits + one.cache_misses + one.cpu_misses
    end
    return lookups > 0 and reloads / lookups or 0.0
  end,
  kv_thrashing_rate = function(self) return anomalies.kv_thrashing_rate(self.instances) end,
  priority_inversions = function(self) return anomalies.priority_inversions(self.requests) end,
  blocked_instances = function(self) return anomalies.blocked_instances(self.instances) end,
}

--- "; did you mean 'completed'?", of all there can be in a result.
local function suggestion(self, key)
  local names = {}
  for _, set in ipairs { self, methods, lazy, of_records, on_request } do
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
  if lazy[key] then
    self[key] = lazy[key](self)
    return rawget(self, key)
  end
  if of_records[key] then
    errors.invalid("result.%s needs records, and this run kept none (keep_records = false)", key)
  end
  if on_request[key] then
    errors.invalid("result.%s is there when the experiment says %s", key, on_request[key])
  end
  error(("a result has no field '%s'%s"):format(key, suggestion(self, key)), 2)
end

--- pairs(result): every figure there is, by name.
function result_meta.__pairs(self)
  local names = {}
  for name in next, self do names[#names + 1] = name end
  for name in pairs(rawget(self, "requests") and lazy or {}) do
    if rawget(self, name) == nil then names[#names + 1] = name end
  end
  table.sort(names)
  local position = 0
  return function()
    position = position + 1
    local name = names[position]
    if name then return name, self[name] end
  end
end

--- Figures of the requests that arrived from from_us on and before to_us, which is the end of the
--- run when left out. Inter-token latencies are the requests' own means.
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

--- How often targets like those of slo_targets were kept.
---@param targets table<string, table>
---@return blis.Goodput
function methods:measure_goodput(targets)
  return slo.goodput(self.requests, slo.read(targets, "targets"), self.duration_us)
end

--- One number for the run: by weights ("p99_ttft:0.5,throughput:0.5", or { p99_ttft = 0.5 }) of
--- figures that are scaled to 0..1, or what a function makes of the result.
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

--- Writes the figures over time to a file, a row per interval: CSV, or JSON lines when the name
--- ends in .jsonl.
---@param path string
function methods:export_series(path)
  series.export(self.series, path)
end

--- Writes the result to a file, for blis.load_result and blis.diff; whole or not at all.
---@param path string
function methods:save(path)
  result_file.save(self, path)
end

--- Writes the records of all requests for other programs: as CSV, or as JSON lines when the name
--- ends in .jsonl.
---@param path string
function methods:export_requests(path)
  result_file.export_requests(self, path)
end

--- Writes the trace of decisions to a file: a JSON line for every decision.
---@param path string
function methods:save_decisions(path)
  decisions.save(self.decisions, path)
end

-- What the trace of a run says of the whole run, by result.
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
    errors.invalid("the trace of a run is there when the experiment says keep_requests = true")
  end
end

--- The requests of the run as they arrived, follow-ups included, to be looked at and run again.
---@return blis.Workload
function methods:trace()
  check_requests_are_kept(self)
  return core.run_requests(self.requests)
end

--- Writes these requests, and how they ended, as a trace: NAME.csv and NAME.yaml in format
--- tracev2. Replaying it under the same cluster gives a result with the same hash, unless a
--- follow-up arrived at the very microsecond at which its instance ended a step, or the routing
--- policy hashes prompts (consistent-hash, cognitora.score, smg.prefix_hash,
--- vllm-router.rendezvous_hash): a trace tells which prompts are alike and numbers their content
--- anew, so that they may go elsewhere; from the first replay on they stay where they are.
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

--- GPUs and their price per hour, over all groups of instances; no price when one has none.
local function gpus_of(setup)
  local gpus, usd_per_hour = 0, 0
  for _, group in ipairs(setup.groups or { setup }) do
    local n = group.instances * group.tp * group.dp
    local price = group.gpu_price_per_hour
    gpus = gpus + n
    usd_per_hour = usd_per_hour and price > 0 and usd_per_hour + n * price or nil
  end
  return gpus, usd_per_hour
end

--- What the GPUs of a run cost; prices are nil when the catalogue has none.
local function cost_of(summary)
  local gpus, usd_per_hour = gpus_of(summary.setup)
  local hours = summary.duration_us / 3.6e9
  local gpu_hours, usd = gpus * hours, usd_per_hour and usd_per_hour * hours
  local tokens = summary.output_tokens
  return {
    gpus = gpus, gpu_hours = gpu_hours, usd_per_gpu_hour = usd_per_hour and usd_per_hour / gpus,
    usd = usd,
    usd_per_million_output_tokens = usd and tokens > 0 and usd / tokens * 1e6 or nil,
  }
end

local function energy_of(summary, gpu_watts)
  if not gpu_watts then return {} end
  local kwh = gpu_watts * summary.cost.gpu_hours / 1000
  local tokens = summary.output_tokens
  return {
    gpu_watts = gpu_watts, kwh = kwh,
    joules_per_output_token = tokens > 0 and kwh * 3.6e6 / tokens or nil,
  }
end

--- The figures without the warm-up.
local function steady_of(summary, warm_up_us)
  local from_us, is_settled = warm_up_us, nil
  if warm_up_us == "auto" then from_us, is_settled = warm_up.detect(summary.requests) end
  local steady = summary.requests:window(from_us, math.max(summary.duration_us, from_us) + 1)
  steady.is_settled = is_settled
  if is_settled == false then
    summary.setup.notes = summary.setup.notes .. warm_up.unsettled_note(from_us) .. "\n"
  end
  return steady
end

local function add_asked_for(summary, config)
  if config.slo_targets then
    summary.goodput = slo.goodput(summary.requests, config.slo_targets, summary.duration_us)
  end
  if config.warm_up_us then summary.steady = steady_of(summary, config.warm_up_us) end
  if summary.series then series.add_rates(summary.series) end
end

local function of_figures(figures)
  setmetatable(figures.requests_per_instance, list_meta)
  return setmetatable(figures, result_meta)
end

--- Reads a file that result:save wrote.
---@param path string
---@return blis.Result
function result.load(path)
  return of_figures(result_file.read(path))
end

--- What there is to say of the traffic is told with the rest.
local function add_traffic_notes(setup, traffic)
  for _, note in ipairs(workload.notes(traffic)) do setup.notes = setup.notes .. note .. "\n" end
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
  summary.cost = cost_of(summary)
  summary.energy = energy_of(summary, config.cluster.gpu_watts)
  if summary.cascade then summary.cascade.policy = config.cascade.label end
  add_asked_for(summary, config)
  add_traffic_notes(summary.setup, config.workload)
  if config.keep_requests then trace_headers[summary] = header_of(config) end
  return of_figures(summary)
end

return result
