--- One run of a candidate, and what becomes of it when it fails.
local candidate = require "blis.eval.candidate"
local checked = require "blis.eval.checked"
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local measure = require "blis.eval.measure"
local notices = require "blis.notices"
local policy = require "blis.policy"

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
    if rawget(problem, "code") == "invariant" then code = "invariant" end
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

--- The experiment of a scenario under a seed, without policies.
---@param scenario blis.eval.Scenario
---@param seed integer
---@param traffic any the requests, if they are there
---@return table
function run.experiment(scenario, seed, traffic)
  return merged(scenario.options, {
    cluster = scenario.cluster, workload = traffic or scenario.workload, seed = seed,
    horizon_us = scenario.horizon_us, slo_targets = scenario.slo, oracle = scenario.oracle,
    live_signals = scenario.oracle,
  })
end

-- Requests of the run in which functions are watched.
local watched_requests = 40

--- A short run that shows whether a candidate writes where it must not; nothing else is judged.
local function watched_run(task, given)
  local scenario, seed, watch = task.scenario, task.seed, checked.new()
  local function wrap(value) return checked.wrap(value, watch) end
  local policies = candidate.load(task.candidate, task.suite, merged(given, { wrap = wrap }))
  local spec = run.experiment(scenario, seed)
  spec.workload = merged(scenario.workload, {
    [scenario.workload.num_requests and "num_requests" or "requests"] = watched_requests })
  local ok = pcall(experiment.run, merged(spec, wrap(policies)))
  if watch.violation then error(watch.violation, 0) end
  return ok and watch.reads or {}
end

local function sorted_keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

--- Built-in scorers that know what no router does are no way around that either.
local function check_scorers(policies, scenario, name)
  if scenario.oracle or policies.routing == nil then return end
  local router = policy.read_router(policies.routing, "routing")
  for _, item in ipairs(router.scorers or {}) do
    local one = item.scorer
    while one do
      if one.name:find "^oracle" and one.parameters then
        errors.invalid("%s: scorer '%s' knows what no router does; it is for bounds", name,
          one.name)
      end
      one = one.base
    end
  end
end

---@class blis.eval.Task
---@field suite blis.eval.Suite
---@field candidate blis.eval.Candidate
---@field scenario blis.eval.Scenario
---@field seed integer
---@field traffic any
---@field parameters? table
---@field is_watched? boolean a watched run comes first
---@field is_audited? boolean its figures are worked out twice
---@field limits blis.eval.Limits

-- With less memory than this, garbage has to be looked for often.
local little_memory_mb = 64

-- What is kept of what a candidate prints.
local printed_limit = 2000

--- Runs a task within its limits, in a process that is for nothing else: policies start from
--- nothing.
---@param task blis.eval.Task
---@return blis.eval.Outcome
function run.one(task)
  local printed, reads = "", nil
  local function keep(line)
    if #printed < printed_limit then printed = (printed .. line):sub(1, printed_limit) end
  end
  notices.collect(function() end)
  local limits, name = task.limits, task.candidate.name
  if limits.memory_mb < little_memory_mb then
    collectgarbage("setpause", 150)
    collectgarbage()
  end
  local spent, ok, kind_or_result, problem = core.sandbox_call({
    call_instructions = limits.call_instructions, all_instructions = limits.all_instructions,
    memory_bytes = limits.memory_mb * 1000000,
  }, function()
    local given = { seed = task.seed, write = keep, parameters = task.parameters }
    if task.is_watched then reads = watched_run(task, given) end
    local policies = candidate.load(task.candidate, task.suite, given)
    check_scorers(policies, task.scenario, name)
    return experiment.run(merged(run.experiment(task.scenario, task.seed, task.traffic), policies))
  end)
  local outcome = { instructions = spent, printed = printed ~= "" and printed or nil,
    reads = reads and sorted_keys(reads) }
  if not ok then
    outcome.failure = failure_of(name, kind_or_result, problem, limits)
    return outcome
  end
  local is_right, measures = pcall(measure.of, kind_or_result, task.scenario, task.is_audited)
  if is_right then
    outcome.measures, outcome.steps = measures, kind_or_result.steps
  else
    outcome.failure = failure_of(name, "error", measures, limits)
  end
  return outcome
end

return run
