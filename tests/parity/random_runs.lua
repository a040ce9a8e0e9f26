-- Random experiments, each in two spellings: the flags of `blis run` or `blis replay`, and the
-- table of blis.run. What an option is called in each of them is taken from its description.
local core = require "blis.core"

local random_runs = {}

local sections = {}
for name, module in pairs { cluster = "blis.config.cluster", experiment = "blis.config.experiment",
  disaggregation = "blis.feature.disaggregation.options", queue = "blis.feature.queue.options" } do
  sections[name] = require(module)
end

local function flag_of(section, name)
  for _, option in ipairs(sections[section].options) do
    if option.name == name then return option.flag end
  end
  error(("no option %s.%s"):format(section, name))
end

-- A case while it is made: random numbers, and both spellings.
local Case = {}
Case.__index = Case

function Case:chance(share) return self.rng:number() < share end

function Case:one_of(list) return list[self.rng:integer(#list)] end

function Case:between(low, high) return self.rng:integer(low, high) end

--- A number with two digits behind the point.
function Case:number(low, high)
  low, high = math.floor(low * 100), math.floor(high * 100)
  return self.rng:integer(low, high) / 100
end

local function text_of(value)
  if type(value) == "table" then return table.concat(value, ",") end
  return math.type(value) == "float" and ("%.17g"):format(value) or tostring(value)
end

function Case:flag(flag, value)
  self.args[#self.args + 1] = ("%s=%s"):format(flag, text_of(value))
end

--- Sets an option in both spellings. A duration has its unit on the command line.
function Case:set(section, name, value)
  local unit = type(value) == "number" and name:match "_([um]s)$"
  self:flag(flag_of(section, name), unit and text_of(value) .. unit or value)
  local spec = self.spec
  if section ~= "experiment" then
    spec[section] = spec[section] or {}
    spec = spec[section]
  end
  spec[name] = value
end

--- Sets one of some values, or leaves the default.
function Case:maybe(share, section, name, values)
  if self:chance(share) then self:set(section, name, self:one_of(values)) end
end

local models = {
  { "qwen/qwen3-14b", { 1, 2 } }, { "meta-llama/llama-3.1-8b-instruct", { 1, 2 } },
  { "meta-llama/llama-2-7b-hf", { 1 } }, { "mistralai/mistral-nemo-instruct-2407", { 1, 2 } },
}

local function add_cluster(case)
  local model = case:one_of(models)
  case:set("cluster", "model", model[1])
  case:set("cluster", "hardware", case:one_of { "H100", "A100-80" })
  case:set("cluster", "tp", case:one_of(model[2]))
  case:set("cluster", "instances", case:one_of { 1, 1, 2, 2, 3, 5, 11 })
  if case:chance(0.2) then
    case:set("cluster", "latency_model", "blackbox")
    case:set("cluster", "alpha_coeffs", { case:between(0, 3000), 0, case:between(0, 60) })
    case:set("cluster", "beta_coeffs",
      { case:between(1000, 40000), case:between(0, 40), case:between(1, 90) })
  else
    case:maybe(0.3, "cluster", "latency_model", { "roofline", "trained-physics" })
  end
  case.block_size = case:one_of { 16, 16, 16, 1, 8, 64 }
  case:set("cluster", "block_size", case.block_size)
  if case:chance(0.5) then
    case:set("cluster", "kv_blocks", case:between(60, 900) * 16 // case.block_size)
    if case:chance(0.4) then
      case:set("cluster", "kv_cpu_blocks", case:between(10, 400))
      case:set("cluster", "kv_transfer_bandwidth", case:number(1, 200))
      case:maybe(0.5, "cluster", "kv_transfer_base_latency_us", { 0, 300 })
    end
  end
  case:maybe(0.4, "cluster", "max_num_seqs", { 1, 2, 8, 64 })
  case:maybe(0.4, "cluster", "max_num_batched_tokens", { 64, 300, 2048 })
  case:maybe(0.2, "cluster", "long_prefill_token_threshold", { 32, 200 })
  case:maybe(0.2, "cluster", "max_model_len", { 300, 2000 })
  case:maybe(0.4, "cluster", "scheduler", { "priority-fcfs", "sjf", "reverse-priority" })
  case:maybe(0.3, "cluster", "preemption_policy", { "priority" })
  case:maybe(0.5, "cluster", "snapshot_refresh_us", { 0, 3000, 50000, 700000 })
  case:maybe(0.5, "cluster", "cache_signal_delay_us", { 0, 20000, 400000 })
  case:maybe(0.2, "cluster", "admission_latency_us", { 100, 70000 })
  case:maybe(0.2, "cluster", "routing_latency_us", { 100, 70000 })
end

local scorers = { "prefix-affinity", "precise-prefix-cache", "queue-depth", "kv-utilization",
  "load-balance", "no-hit-lru" }

local function some_scorers(case)
  local list = case.rng:shuffle(table.move(scorers, 1, #scorers, 1, {}))
  for i = case:between(1, #list) + 1, #list do list[i] = nil end
  for i, name in ipairs(list) do list[i] = ("%s:%d"):format(name, case:between(1, 4)) end
  return table.concat(list, ",")
end

local function add_policies(case)
  local routing = case:one_of { "round-robin", "least-loaded", "weighted", "weighted",
    "always-busiest" }
  case:flag("--routing-policy", routing)
  case.spec.routing = { routing }
  if routing == "weighted" and case:chance(0.7) then
    local list = some_scorers(case)
    case:flag("--routing-scorers", list)
    case.spec.routing.scorers = list
  end
  if case:chance(0.2) then
    local size, rate = case:between(300, 4000), case:between(200, 9000)
    case:flag("--admission-policy", "token-bucket")
    case:flag("--token-bucket-capacity", size)
    case:flag("--token-bucket-refill-rate", rate)
    case.spec.admission = { "token-bucket", bucket_size = size, refill_rate = rate }
  elseif case:chance(0.2) then
    case:set("experiment", "admission", "reject-all")
  end
end

local function add_queue(case)
  if not case:chance(0.2) then return end
  case:flag("--flow-control", "true")
  if case.spec.profile == "go-blis" then -- there, it takes the place of the policy
    case.spec.admission = { "always-admit" }
  end
  case.spec.queue = {}
  local detector = case:one_of { "concurrency", "utilization", "never" }
  case:set("queue", "saturation", detector)
  if detector == "concurrency" then case:set("queue", "max_concurrency", case:between(1, 6)) end
  if detector == "utilization" then
    case:set("queue", "queue_depth_threshold", case:between(1, 3))
  end
  case:maybe(0.4, "queue", "fairness", { "round-robin", "global-strict" })
  case:maybe(0.4, "queue", "order", { "fifo", "priority", "edf" })
  case:maybe(0.3, "queue", "max_requests", { 3, 10 })
  case:maybe(0.3, "queue", "ttl_us", { 300000, 2000000 })
  case:maybe(0.2, "queue", "eviction", { true })
end

local function add_pools(case)
  local instances = case.spec.cluster.instances
  if instances < 2 or case.spec.queue or not case:chance(0.15) then return end
  local prefill = case:between(1, instances - 1)
  case:set("cluster", "prefill_instances", prefill)
  case:set("cluster", "decode_instances", instances - prefill)
  case:set("disaggregation", "decider", case:one_of { "always", "never" })
  case:maybe(0.5, "disaggregation", "bandwidth_gb_s", { 0.5, 25.5 })
  case:maybe(0.3, "disaggregation", "contention", { true })
  -- The design shares links always: its flag changes nothing and says so, its option is refused.
  if case.spec.profile ~= "go-blis" then case.spec.disaggregation.contention = nil end
end

-- Traffic.

local function lengths(case, most)
  local kind = case:one_of { "constant", "gaussian", "exponential", "lognormal", "empirical" }
  local mean = case:between(5, most)
  local params = {
    constant = { value = mean },
    gaussian = { mean = mean, std_dev = case:number(1, 40), min = 1, max = 2 * mean },
    exponential = { mean = mean, min = 1, max = 4 * mean },
    lognormal = { mu = math.floor(math.log(mean) * 1000) / 1000, sigma = case:number(0.1, 0.9),
      min = 1, max = 4 * mean },
    empirical = { [tostring(mean)] = 2, [tostring(mean + 9)] = 1, ["3"] = 1 },
  }
  return { type = kind, params = params[kind] }
end

local function arrival(case)
  local process = case:one_of { "poisson", "constant", "gamma", "weibull" }
  local has_cv = process == "gamma" or process == "weibull"
  return { process = process, cv = has_cv and case:number(0.3, 3) or nil }
end

local function windows(case)
  local list, start_us = {}, case:one_of { 0, 0, 500000 }
  for i = 1, case:between(1, 3) do
    local end_us = start_us + case:between(200, 3000) * 1000
    list[i] = { start_us = start_us, end_us = end_us,
      trace_rate = case.has_window_rates and case:number(1, 20) or nil }
    start_us = end_us + case:between(0, 400) * 1000
  end
  return { windows = list }
end

local function client(case, index)
  local one = {
    id = "c" .. index, rate_fraction = case:number(0.1, 2), arrival = arrival(case),
    input_distribution = lengths(case, 200), output_distribution = lengths(case, 60),
    slo_class = case.has_classes and case:one_of { "critical", "standard", "sheddable", "batch" }
      or nil,
    tenant_id = case:chance(0.4) and case:one_of { "t1", "t2" } or nil,
  }
  if case:chance(0.5) then
    one.prefix_group = case:one_of { "g", "h" }
    if case:chance(0.6) then one.prefix_length = case:between(1, 300) end
  end
  if case.has_window_rates or case:chance(0.3) then one.lifecycle = windows(case) end
  if case:chance(0.2) then one.timeout = case:one_of { 0, 300000, 3000000 } end
  if case.has_turns and case:chance(0.6) then
    one.reasoning = { multi_turn = { max_rounds = case:between(1, 4),
      think_time_us = case:between(0, 300) * 1000,
      context_growth = case:chance(0.5) and "accumulate" or nil } }
    if case:chance(0.3) then one.closed_loop = false end
  end
  return one
end

local function inference_perf(case)
  local stages = {}
  for i = 1, case:between(1, 3) do
    stages[i] = { rate = case:between(4, 9) + 0.0, duration = case:between(2, 3) }
  end
  return { stages = stages, shared_prefix = {
    num_unique_system_prompts = case:between(1, 2),
    num_users_per_system_prompt = case:between(1, 2), system_prompt_len = case:between(1, 90),
    question_len = case:between(1, 60), output_len = case:between(1, 30),
    enable_multi_turn_chat = case:chance(0.3),
  } }
end

local function written_traffic(case)
  local file = { version = "2", seed = case:between(1, 9999), num_requests = case:between(5, 60),
    horizon = case:one_of { 1500000, 2500000, 6000000, 60000000 } }
  case.has_classes, case.has_turns = case:chance(0.5), case:chance(0.4)
  case.has_window_rates = case:chance(0.4)
  if case:chance(0.2) then
    file.inference_perf = inference_perf(case)
  else
    file.aggregate_rate, file.clients = case:number(2, 40), {}
    for i = 1, case:between(1, 3) do file.clients[i] = client(case, i) end
  end
  case.files["spec.yaml"] = file
  case.args[#case.args + 1] = "--workload-spec"
  case.args[#case.args + 1] = "spec.yaml"
  case.spec.workload = { file = "spec.yaml", seed = case.spec.seed } -- as --seed has it
  if case:chance(0.4) then
    local timeout_s = case:one_of { -1, 1, 1, 3 }
    case:flag("--timeout", timeout_s)
    case.spec.workload.timeout_us = math.max(timeout_s, 0) * 1000000
  end
  if case:chance(0.3) then
    case:flag("--lazy-generation", "true")
    case.spec.workload.lazy_generation = true
  end
end

local function gaussian_flags(case, kind, most)
  local mean = case:between(10, most)
  local std_dev, min, max = case:between(1, mean), 1, 3 * mean
  for part, value in pairs { [""] = mean, ["-stdev"] = std_dev, ["-min"] = min, ["-max"] = max } do
    case.drawn[#case.drawn + 1] = { ("--%s-tokens%s"):format(kind, part), value }
  end
  return { "gaussian", mean = mean, std_dev = std_dev, min = min, max = max }
end

local function drawn_traffic(case)
  local requests, rate = case:between(5, 60), case:number(1, 40)
  case.drawn = {}
  local traffic = { rate = rate, requests = requests, prompt = gaussian_flags(case, "prompt", 300),
    output = gaussian_flags(case, "output", 80), timeout_us = 300000000 }
  table.sort(case.drawn, function(a, b) return a[1] < b[1] end)
  for _, one in ipairs(case.drawn) do case:flag(one[1], one[2]) end
  case:flag("--rate", rate)
  case:flag("--num-requests", requests)
  if case:chance(0.4) then
    traffic.prefixes = { tokens = case:between(1, 400), groups = case:one_of { 1, 1, 3 } }
    case:flag("--prefix-tokens", traffic.prefixes.tokens)
    case:flag("--prefix-groups", traffic.prefixes.groups)
  end
  if case:chance(0.3) then
    local timeout_s = case:one_of { -1, 1, 2 }
    case:flag("--timeout", timeout_s)
    traffic.timeout_us = math.max(timeout_s, 0) * 1000000
  end
  case.spec.workload = traffic
end

local trace_columns = "request_id,client_id,tenant_id,slo_class,session_id,round_index,"
  .. "prefix_group,prefix_length,streaming,input_tokens,output_tokens,arrival_time_us,"
  .. "send_time_us\n"

local function trace_row(case, id, session, round, time_us)
  local class = case.has_classes and case:one_of { "critical", "standard" } or ""
  local group = case.has_groups and case:one_of { "g", "h" } or ""
  return ("%d,,,%s,%s,%d,%s,%d,false,%d,%d,%d,%d\n"):format(id, class, session, round, group,
    group == "" and 0 or case.prefix_tokens, case:between(1, 200), case:between(1, 40), time_us,
    time_us)
end

--- A trace whose rows are in any order.
local function recorded_traffic(case)
  local rows, id = {}, 0
  case.command, case.has_classes, case.has_groups = "replay", case:chance(0.4), case:chance(0.4)
  case.prefix_tokens = case:between(1, 200)
  local waits = case:chance(0.6)
  for session = 1, case:between(3, 12) do
    local time_us = case:between(1, 2000000)
    for round = 0, case:between(0, 3) do
      rows[#rows + 1] = trace_row(case, id, "s" .. session, round, time_us)
      id, time_us = id + 1, time_us + case:between(1, 900000)
    end
  end
  case.rng:shuffle(rows)
  case.files["t.csv"] = trace_columns .. table.concat(rows)
  case.files["t.yaml"] = "trace_version: 3\ntime_unit: microseconds\nmode: generated\n"
    .. "warm_up_requests: 0\n" .. (waits and case:chance(0.5)
      and "session_context_growth: accumulate\n" or "")
  for _, part in ipairs { "--trace-header", "t.yaml", "--trace-data", "t.csv" } do
    case.args[#case.args + 1] = part
  end
  case.spec.workload = { trace = "t.csv" }
  if waits then
    case:flag("--session-mode", "closed-loop")
    case.spec.workload.session_mode = "closed-loop"
    if case:chance(0.3) then
      case:flag("--think-time-ms", 250)
      case.spec.workload.think_time = 250000
    elseif case:chance(0.5) then
      case:flag("--think-time-dist", "lognormal:mu=-1,sigma=0.6,min=20ms,max=2s")
      case.spec.workload.think_time = { "lognormal", mu = -1 + math.log(1e6), sigma = 0.6,
        min = 20000, max = 2000000 }
    end
  end
  case:set("experiment", "horizon_us", 100000000)
end

--- The case of a number: { args = flags, spec = the table for blis.run, files = texts or tables by
--- name, command = "run" or "replay" }.
function random_runs.case(number, profile)
  local case = setmetatable({ rng = core.rng(number, "random-runs"), args = {}, files = {},
    spec = { profile = profile, cluster = {} }, command = "run" }, Case)
  case:flag("--profile", profile)
  case:set("experiment", "seed", case:between(1, 100000))
  add_cluster(case)
  add_policies(case)
  add_queue(case)
  add_pools(case)
  case:one_of { drawn_traffic, written_traffic, written_traffic, recorded_traffic }(case)
  return case
end

return random_runs
