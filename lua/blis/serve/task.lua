--- The work of one process of the server. The process reads a request, checks it, runs one seed,
--- and writes a line of JSON for the server. The server does not evaluate input of clients itself.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local json = require "blis.json"
local metrics = require "blis.serve.metrics"
local run = require "blis.eval.run"
local workload = require "blis.traffic.workload"

local task = {}

---@class blis.serve.Facts what the server keeps of an evaluation
---@field seeds integer[]
---@field limits blis.eval.Limits
---@field name string of the candidate, for messages
---@field key string equal for equal requests
---@field scenario { id: string }
---@field want table<string, boolean>
---@field objectives blis.serve.Metric[]
---@field constraints { metric: blis.serve.Metric, bound: string }[]

-- Workloads of more requests are generated while they run.
local max_prepared = 20000

-- Bytes of a result; the server has to hold it until the client reads it.
local max_answer = 64 << 20

-- Address space of a process beyond its limit of memory: the first megabytes of a program that
-- reads catalogs and models.
local spare_bytes = 1 << 30

--- The requests of a scenario, generated before the process gives up its files.
local function traffic_of(scenario, seed)
  if scenario.requests > max_prepared then return nil end
  local values = { seed = seed }
  for name, value in pairs(scenario.workload) do values[name] = value end
  local ok, made = pcall(workload.new, values)
  return ok and made or nil
end

--- The facts as JSON can hold them.
local function plain_facts(evaluation)
  local objectives, constraints, want = {}, {}, {}
  for i, metric in ipairs(evaluation.objectives) do objectives[i] = metric.name end
  for i, one in ipairs(evaluation.constraints) do
    constraints[i] = { metric = one.metric.name, bound = one.bound }
  end
  for name in pairs(evaluation.want) do want[name] = true end
  return {
    seeds = evaluation.seeds, name = evaluation.candidate.name, key = evaluation.key,
    limits = { wall_s = evaluation.limits.wall_s, cpu_s = evaluation.limits.cpu_s },
    scenario = evaluation.scenario.id, objectives = json.list(objectives),
    constraints = json.list(constraints), want = want,
  }
end

---@param plain table of plain_facts
---@return blis.serve.Facts
local function facts_of(plain)
  local facts = { seeds = plain.seeds, name = plain.name, key = plain.key, limits = plain.limits,
    scenario = { id = plain.scenario }, want = plain.want, objectives = {}, constraints = {} }
  for i, name in ipairs(plain.objectives) do facts.objectives[i] = metrics.by_name[name] end
  for i, one in ipairs(plain.constraints) do
    facts.constraints[i] = { metric = metrics.by_name[one.metric], bound = one.bound }
  end
  return facts
end

local function run_seed(evaluation, index)
  local start, seed = os.clock(), evaluation.seeds[index]
  local traffic = traffic_of(evaluation.scenario, seed)
  core.jail(math.max(1, math.ceil(evaluation.limits.cpu_s)))
  local outcome = run.one {
    suite = evaluation.suite, candidate = evaluation.candidate, scenario = evaluation.scenario,
    seed = seed, limits = evaluation.limits, parameters = evaluation.parameters,
    traffic = traffic, is_watched = index == 1 and evaluation.want.feedback or nil,
  }
  outcome.cpu_s = os.clock() - start
  return outcome
end

--- Does the work; to be called in the process of the task.
---@param read fun(): blis.serve.Evaluation raises what is wrong with the request
---@param index integer of the seed
---@param limits blis.eval.Limits as far as the server can tell
---@return string for task.read
function task.perform(read, index, limits)
  core.limit_memory(limits.memory_mb * 2000000 + spare_bytes)
  local ok, evaluation = pcall(read)
  if not ok then return json.encode { problem = answer.of_problem(evaluation) } end
  if not evaluation.perform then
    return json.encode { facts = index == 1 and plain_facts(evaluation) or nil,
      outcome = run_seed(evaluation, index) }
  end
  local text = evaluation.perform()
  if #text > max_answer then
    return json.encode { problem = answer.error("too_large", ("the result has %d bytes, expected "
      .. "at most %d"):format(#text, max_answer)) }
  end
  return text
end

---@class blis.serve.Report of a process
---@field problem? table the request is wrong
---@field facts? blis.serve.Facts of the first seed
---@field outcome? blis.eval.Outcome

--- Reads what a process wrote; nil when that is no report. "R" and "F" begin the results of
--- experiments.lua: a result as text, or a failure.
---@param text string
---@return blis.serve.Report?
function task.read(text)
  local kind = text:sub(1, 1)
  if kind == "R" then return { outcome = { result = text:sub(2) } } end
  local ok, report = pcall(json.decode, kind == "F" and text:sub(2) or text)
  if not ok or type(report) ~= "table" then return nil end
  if kind == "F" then return { outcome = { failure = report } } end
  if report.facts then report.facts = facts_of(report.facts) end
  return report
end

return task
