--- One run of a candidate, and the handling of failures.
local blis = require "blis"
local candidate = require "blis.eval.candidate"
local checked = require "blis.eval.checked"
local core = require "blis.core"
local decides = require "blis.eval.decides"
local experiment = require "blis.experiment"
local hindsight = require "blis.eval.hindsight"
local json = require "blis.json"
local measure = require "blis.eval.measure"
local notices = require "blis.notices"
local sandbox = require "blis.sandbox"
local suites = require "blis.eval.suite"

local run = {}

---@class blis.eval.Failure
---@field code string "script_error", "timeout", "memory", "events", "invariant", "crashed", ...
---@field message string
---@field file? string
---@field line? integer

---@class blis.eval.Outcome of one run
---@field measures? blis.eval.Measures
---@field failure? blis.eval.Failure
---@field instructions integer
---@field printed? string
---@field reads? string[]
---@field regrets? blis.eval.Regret[]

--- The place in a candidate that a message or its traceback names.
local function place_of(name, ...)
  local pattern = name:gsub("%p", "%%%0") .. ":(%d+):"
  for _, text in ipairs { ... } do
    local line = type(text) == "string" and text:match(pattern)
    if line then return math.tointeger(tonumber(line)) end
  end
end

local function first_line(text) return (text:match "^[^\n]*") end

--- What went wrong, of what an error carries.
local function failure_of(name, kind, problem, limits)
  if kind == "instructions" then
    return { code = "timeout", message = ("%s: more than %d Lua instructions in a call, or %d in "
      .. "the run: a loop that does not end?"):format(name, limits.call_instructions,
      limits.all_instructions) }
  elseif kind == "memory" then
    return { code = "memory", message = ("%s: more than %d MB of memory"):format(name,
      limits.memory_mb) }
  end
  local message, traceback, code = problem, nil, "script_error"
  if type(problem) == "table" then
    message, traceback = rawget(problem, "message"), rawget(problem, "traceback")
    if rawget(problem, "code") == "nomem" then code = "memory" end
  end
  if type(message) ~= "string" then message = "the error is a " .. type(problem) .. " value" end
  local line = place_of(name, message, traceback)
  message = first_line(message)
  if line and not message:find(name .. ":", 1, true) then
    message = ("%s:%d: %s"):format(name, line, message)
  end
  return { code = code, message = message, file = line and name, line = line }
end

run.failure_of = failure_of

local function merged(...)
  local all = {}
  for _, one in ipairs { ... } do
    for key, value in pairs(one) do all[key] = value end
  end
  return all
end

--- A number that identifies a suite and a seed, and that cannot be guessed without the suite.
local function alias_of(suite, seed)
  local hash = core.hash128(("alias %s %d"):format(suite.hash or "", seed))
  return tonumber(hash:sub(1, 13), 16) | 1
end

--- The experiment of a task, with the policies of its candidate. What these see of ids and times is
--- not what it is, and differs from seed to seed.
---@param task blis.eval.Task
---@param policies table<string, any>
---@param traffic any the requests, if they exist already
---@return table
local function experiment_of(task, policies, traffic)
  local suite, scenario = task.suite, task.scenario
  return decides.experiment(merged(scenario.options, {
    cluster = scenario.cluster, workload = traffic or scenario.workload, seed = task.seed,
    horizon_us = scenario.horizon_us, slo_targets = scenario.slo, oracle = scenario.oracle,
    live_signals = scenario.oracle, hide_output_limits = not scenario.oracle,
    alias = alias_of(suite, task.seed),
  }), policies, suite, scenario)
end

-- Requests of the run in which functions are watched; of that before a candidate is accepted.
local watched_requests, most_watched = 40, 2000

--- A run that shows whether a candidate writes where it must not; nothing else is judged.
local function watched_run(task, given)
  local workload, watch = task.scenario.workload, checked.new()
  local function wrap(value) return checked.wrap(value, watch) end
  local policies = candidate.load(task.candidate, task.suite, merged(given, { wrap = wrap,
    guard = function(t) checked.guard(t, watch) end,
    readers = {
      reader = function(fn) return checked.reader(fn, watch) end,
      pairs = function(fn) return checked.pairs(fn, watch) end,
    } }))
  local few = merged(workload, {
    [workload.num_requests and "num_requests" or "requests"] =
      math.min(task.scenario.requests, task.is_audited and most_watched or watched_requests) })
  local ok = pcall(experiment.run, experiment_of(task, wrap(policies), few))
  if watch.violation then error(watch.violation, 0) end
  return ok and watch.reads or {}
end

local function sorted_keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

---@class blis.eval.Task
---@field suite blis.eval.Suite
---@field candidate blis.eval.Candidate
---@field scenario blis.eval.Scenario
---@field seed integer
---@field traffic any
---@field parameters? table
---@field is_watched? boolean run under observation, before the other runs
---@field wants_regrets? boolean decisions that lost most are looked for
---@field is_audited? boolean its metrics are computed twice
---@field limits blis.eval.Limits

--- Garbage is looked for when a part of the memory of a run is used up, and not before: who marks
--- what the parent has made writes to its pages, and gets a copy of each.
local function postpone_collection(memory_mb)
  collectgarbage("setpause", 150)
  collectgarbage("restart")
  collectgarbage("step", -memory_mb * 1000 // 4)
end

-- What is kept of what a candidate prints.
local printed_limit = 2000

-- Maximum number of reported decisions.
local most_regrets = 3

--- The decisions of a candidate that lost most; every run begins with policies of its own.
local function regrets_of(task, given)
  local function spec()
    local policies = candidate.load(task.candidate, task.suite, given)
    return merged(experiment_of(task, policies, task.traffic), { trace_level = "decisions" })
  end
  return hindsight.worst(experiment.run(spec()), function(request, instance)
    local sim <close> = experiment.simulation(spec())
    return sim:pin(request, instance):run()
  end, most_regrets)
end

-- Events of the clock between two progress reports of a run.
local events_per_look = 256

---@class blis.eval.EventLimit
---@field problem? table what it raised: a candidate may raise something that looks alike

--- Counts the events of a run: engine steps, and those of the clock.
---@return blis.eval.EventLimit
---@return fun(steps: integer, is_over?: boolean) called at progress checks, and once at the end
local function event_limit(most)
  local limit, looks = {}, 0
  return limit, function(steps, is_over)
    if not is_over then looks = looks + 1 end
    if steps + (looks - 1) * events_per_look > most then
      limit.problem = { code = "events", message = ("more than %d events"):format(most) }
      error(limit.problem, 0)
    end
  end
end

--- Runs a task within its limits, in a process that is for nothing else: policies start from
--- nothing.
---@param task blis.eval.Task
---@return blis.eval.Outcome
function run.one(task)
  local printed, reads, regrets = "", nil, nil
  local function keep(line)
    if #printed < printed_limit then printed = (printed .. line):sub(1, printed_limit) end
  end
  notices.collect(function() end)
  local limits, name = task.limits, task.candidate.name
  postpone_collection(limits.memory_mb)
  local event_limits, check_events = event_limit(limits.events)
  local function on_progress(_, _, _, steps) check_events(steps) end
  local spent, ok, kind_or_result, problem = core.sandbox_call({
    call_instructions = limits.call_instructions, all_instructions = limits.all_instructions,
    memory_bytes = limits.memory_mb * 1000000,
  }, function()
    local given = { seed = alias_of(task.suite, task.seed), write = keep,
      parameters = task.parameters }
    if task.is_watched then reads = watched_run(task, given) end
    local policies = candidate.load(task.candidate, task.suite, given)
    local result = experiment.run(merged(experiment_of(task, policies, task.traffic),
      { progress = on_progress, progress_interval_ms = 0 }))
    check_events(result.steps, true)
    if task.wants_regrets then regrets = regrets_of(task, given) end
    return result
  end)
  local outcome = { instructions = spent, printed = printed ~= "" and printed or nil,
    reads = reads and sorted_keys(reads), regrets = regrets }
  if not ok then
    local own = event_limits.problem
    outcome.failure = own or failure_of(name, kind_or_result, problem, limits)
    return outcome
  end
  local is_right, measures = pcall(measure.of, kind_or_result, task.scenario, task.is_audited)
  if is_right then
    outcome.measures = measures
  else
    outcome.failure = failure_of(name, "error", measures, limits)
    outcome.failure.code = "invariant" -- nothing of the candidate runs in there
  end
  return outcome
end

-- What is left after a collection, and how much more may lie about.
local kept_kb, most_garbage = nil, 0.1

--- Collects garbage if there is much of it: a process inherits garbage from its parent, and freeing
--- it during a run would count as memory that the candidate may use.
local function tidy()
  if kept_kb and collectgarbage "count" < kept_kb * (1 + most_garbage) then return end
  collectgarbage()
  kept_kb = collectgarbage "count"
end

local is_warm = false

--- Prepares for new processes: performs the one-time work of the first run (modules, catalogues),
--- so that processes inherit it, and leaves no garbage.
function run.warm()
  tidy()
  if is_warm then return end
  is_warm = true
  core.jail_prepare()
  local scenario = suites.read_scenario({ id = "warm", cluster = { instances = 2 },
    workload = { rate = 10, requests = 2, prompt_tokens = 100, output_tokens = 2 },
    slo = { default = { ttft_ms = 1000 } } }, "warm")
  local scorer = blis.scorer { name = "warm", score = function() return 1 end }
  local policies = candidate.options(scorer, "warm")
  sandbox.environment { is_policy = true }
  local task = { suite = { tie = "random" }, scenario = scenario, seed = 1 }
  local result = experiment.run(experiment_of(task, policies))
  json.encode(measure.of(result, scenario))
end

return run
