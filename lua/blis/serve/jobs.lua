--- Evaluations under way: each is a task per seed, done by a process that is forked for it, jailed,
--- and gone afterwards.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local json = require "blis.eval.json"
local processes = require "blis.eval.processes"
local run = require "blis.eval.run"
local workload = require "blis.traffic.workload"
-- Loaded before processes are made: inside of them there are no files.
require "blis"

local jobs = {}

---@class blis.serve.Job
---@field evaluation blis.serve.Evaluation
---@field finish fun(result?: table, problem?: table)
---@field progress? fun(done: number, interim: table)
---@field outcomes blis.eval.Outcome[]
---@field missing integer
---@field cpu_s number
---@field tasks integer[]
---@field started_us? integer when the first of its tasks was handed out
---@field is_over boolean

---@class blis.serve.Jobs
---@field workers userdata
---@field tasks table<integer, { job: blis.serve.Job, index: integer }>
---@field waiting integer jobs
---@field next_task integer
---@field traffic table<string, userdata>
---@field traffic_keys string[]

-- Workloads that are kept, so that processes need not make them.
local most_traffic = 64

local function limits_of(job) return job.evaluation.limits end

--- The requests of a scenario under a seed; the same ones every time, made once.
local function traffic_of(self, scenario, seed)
  local key = ("%s %d"):format(json.encode(scenario.workload), seed)
  local known = self.traffic[key]
  if known then return known end
  local values = { seed = seed }
  for name, value in pairs(scenario.workload) do values[name] = value end
  local ok, made = pcall(workload.new, values)
  if not ok then return nil end
  if #self.traffic_keys >= most_traffic then
    self.traffic[table.remove(self.traffic_keys, 1)] = nil
  end
  self.traffic[key], self.traffic_keys[#self.traffic_keys + 1] = made, key
  return made
end

--- In the process of a task.
local function work(self, number)
  local task = self.tasks[number]
  local evaluation, start = task.job.evaluation, os.clock()
  core.jail(math.max(1, math.ceil(evaluation.limits.cpu_s)))
  local outcome = run.one {
    suite = evaluation.suite, candidate = evaluation.candidate, scenario = evaluation.scenario,
    seed = evaluation.seeds[task.index], limits = evaluation.limits,
    parameters = evaluation.parameters, traffic = task.traffic,
    is_watched = task.index == 1 and evaluation.want.feedback or nil,
  }
  outcome.cpu_s = os.clock() - start
  return json.encode(outcome)
end

---@param count integer how many run at a time
---@return blis.serve.Jobs
function jobs.new(count)
  local self = { tasks = {}, waiting = 0, next_task = 1, traffic = {}, traffic_keys = {} }
  self.workers = core.workers {
    jobs = count, is_fresh = true, work = function(number) return work(self, number) end,
  }
  return self
end

--- Puts an evaluation behind those that wait.
---@param self blis.serve.Jobs
---@param evaluation blis.serve.Evaluation
---@param finish fun(result?: table, problem?: table)
---@param progress? fun(done: number, interim: table)
---@return blis.serve.Job
function jobs.add(self, evaluation, finish, progress)
  local job = { evaluation = evaluation, finish = finish, progress = progress, outcomes = {},
    missing = #evaluation.seeds, cpu_s = 0.0, tasks = {}, is_over = false }
  local time_us = math.ceil(evaluation.limits.wall_s * 1e6)
  for i, seed in ipairs(evaluation.seeds) do
    local number = self.next_task
    self.next_task = number + 1
    self.tasks[number] = { job = job, index = i,
      traffic = traffic_of(self, evaluation.scenario, seed) }
    job.tasks[i] = number
    self.workers:submit(number, time_us)
  end
  self.waiting = self.waiting + 1
  return job
end

local function over(self, job, result, problem)
  if job.is_over then return end
  job.is_over = true
  self.waiting = self.waiting - 1
  for _, number in ipairs(job.tasks) do
    if self.tasks[number] then
      self.workers:cancel(number)
      self.tasks[number] = nil
    end
  end
  job.finish(result, problem)
end

--- Ends a job without a result.
---@param self blis.serve.Jobs
---@param job blis.serve.Job
function jobs.cancel(self, job)
  over(self, job, nil, answer.error("cancelled", "cancelled"))
end

local function read_outcome(job, status, text, detail)
  local evaluation = job.evaluation
  if status == "done" then
    local ok, outcome = pcall(json.decode, text)
    if ok and type(outcome) == "table" then return outcome end
    status, text = "error", "its process said what cannot be read"
  end
  return { failure = processes.failure(evaluation.candidate.name, status, text, detail,
    limits_of(job)) }
end

local function tell_progress(job)
  local done = 1 - job.missing / #job.evaluation.seeds
  local interim = {}
  for index, outcome in pairs(job.outcomes) do
    interim[#interim + 1] = { seed = job.evaluation.seeds[index], measures = outcome.measures }
  end
  job.progress(done, interim)
end

--- Takes what became of a task.
---@param self blis.serve.Jobs
---@param number integer
---@param status string
---@param text string
---@param detail integer
function jobs.accept(self, number, status, text, detail)
  local task = self.tasks[number]
  self.tasks[number] = nil
  if not task then return end
  local job = task.job
  local outcome = read_outcome(job, status, text, detail)
  job.outcomes[task.index], job.missing = outcome, job.missing - 1
  job.cpu_s = job.cpu_s + (outcome.cpu_s or 0)
  if outcome.failure then return over(self, job, nil, answer.of_failure(outcome.failure)) end
  if outcome.steps and outcome.steps > limits_of(job).events then
    return over(self, job, nil, answer.error("events",
      ("more than %d engine steps"):format(limits_of(job).events)))
  end
  if job.missing == 0 then
    over(self, job, answer.result(job.evaluation, job.outcomes, job.cpu_s))
  elseif job.progress then
    tell_progress(job)
  end
end

return jobs
