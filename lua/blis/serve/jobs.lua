--- Evaluations under way: each is a task per seed, done by a process that is forked for it, jailed,
--- and gone afterwards.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local json = require "blis.json"
local processes = require "blis.eval.processes"
local run = require "blis.eval.run"
local workload = require "blis.traffic.workload"
local jobs = {}

---@class blis.serve.Job
---@field read fun(): blis.serve.Evaluation raises what is wrong with it
---@field evaluation? blis.serve.Evaluation once it is its turn
---@field finish fun(result?: table|string, problem?: table) a string is JSON as it is
---@field progress? fun(done: number, interim: table)
---@field outcomes blis.eval.Outcome[]
---@field next_seed integer the first that has no task yet
---@field missing integer seeds without an outcome
---@field cpu_s number
---@field tasks table<integer, boolean> numbers of those that are handed out
---@field order integer
---@field bytes integer of the message that it came with
---@field is_over boolean

---@class blis.serve.Jobs
---@field workers userdata
---@field count integer how many run at a time
---@field tasks table<integer, { job: blis.serve.Job, index: integer, traffic: userdata }>
---@field started integer tasks that are handed out
---@field queue table<integer, blis.serve.Job> from first to last
---@field waiting integer jobs that are not over
---@field bytes integer of the messages of these
---@field message_bytes integer of the message that is being read
---@field next_task integer
---@field traffic table<string, userdata>
---@field traffic_keys string[]
---@field digests table<string, string> of results, by the key of the evaluation
---@field digest_keys string[]

-- Jobs that are open at most, those under way included, and bytes of their messages.
jobs.most_waiting, jobs.most_bytes = 10000, 128 << 20

-- Workloads that are kept, so that processes need not make them; larger ones they make.
local most_traffic, most_requests = 64, 20000

-- Results that are remembered, to be compared with those of equal requests.
local most_digests = 4096

local function limits_of(job) return job.evaluation.limits end

--- Puts a value into a table of at most so many, the oldest of which goes.
local function remember(known, keys, most, key, value)
  if #keys >= most then known[table.remove(keys, 1)] = nil end
  known[key], keys[#keys + 1] = value, key
end

--- The requests of a scenario under a seed; the same ones every time, made once.
local function traffic_of(self, scenario, seed)
  if scenario.requests > most_requests then return nil end
  local key = ("%s %d"):format(json.encode(scenario.workload), seed)
  local known = self.traffic[key]
  if known then return known end
  local values = { seed = seed }
  for name, value in pairs(scenario.workload) do values[name] = value end
  local ok, made = pcall(workload.new, values)
  if not ok then return nil end
  remember(self.traffic, self.traffic_keys, most_traffic, key, made)
  return made
end

--- In the process of a task.
local function work(self, number)
  local task = self.tasks[number]
  local evaluation, start = task.job.evaluation, os.clock()
  if evaluation.perform then return evaluation.perform() end
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
  run.warm()
  local self = { count = count, tasks = {}, started = 0, queue = {}, first = 1, last = 0,
    waiting = 0, bytes = 0, message_bytes = 0, next_task = 1, traffic = {}, traffic_keys = {},
    digests = {}, digest_keys = {} }
  self.workers = core.workers {
    jobs = count, is_fresh = true, work = function(number) return work(self, number) end,
  }
  return self
end

--- Puts an evaluation behind those that wait; nil when there are too many. What it is, is read when
--- its turn comes: thousands may wait, and each process begins as a copy of them all.
---@param self blis.serve.Jobs
---@param read fun(): blis.serve.Evaluation raises what is wrong with it
---@param finish fun(result?: table, problem?: table, job: blis.serve.Job)
---@param progress? fun(job: blis.serve.Job, done: number)
---@return blis.serve.Job?
function jobs.add(self, read, finish, progress)
  if self.waiting >= jobs.most_waiting or self.bytes > jobs.most_bytes then return nil end
  self.last = self.last + 1
  local job = { read = read, finish = finish, progress = progress, outcomes = {}, next_seed = 1,
    cpu_s = 0.0, tasks = {}, order = self.last, bytes = self.message_bytes, is_over = false }
  self.queue[self.last] = job
  self.waiting, self.bytes, self.message_bytes = self.waiting + 1, self.bytes + job.bytes, 0
  return job
end

--- A task is no longer handed out.
local function take_back(self, number)
  local task = self.tasks[number]
  self.tasks[number], task.job.tasks[number] = nil, nil
  self.started = self.started - 1
end

local function over(self, job, result, problem)
  if job.is_over then return end
  job.is_over = true
  self.waiting, self.bytes = self.waiting - 1, self.bytes - job.bytes
  for number in pairs(job.tasks) do
    self.workers:cancel(number)
    take_back(self, number)
  end
  job.finish(result, problem, job)
end

--- Reads what a job is; false when that is wrong, and the job over.
local function is_read(self, job)
  if job.evaluation then return true end
  local ok, evaluation = pcall(job.read)
  if not ok then
    over(self, job, nil, answer.of_problem(evaluation))
    return false
  end
  job.evaluation, job.missing, job.read = evaluation, #evaluation.seeds, nil
  return true
end

--- Hands out a task of a job.
local function start_task(self, job)
  run.warm()
  local number, index, evaluation = self.next_task, job.next_seed, job.evaluation
  self.next_task, job.next_seed = number + 1, index + 1
  self.tasks[number] = { job = job, index = index,
    traffic = evaluation.scenario
      and traffic_of(self, evaluation.scenario, evaluation.seeds[index]) }
  job.tasks[number], self.started = true, self.started + 1
  self.workers:submit(number, math.ceil(evaluation.limits.wall_s * 1e6))
end

--- Hands out tasks, in order of arrival, to whoever has nothing to do.
---@param self blis.serve.Jobs
function jobs.start(self)
  while self.started < self.count and self.first <= self.last do
    local job = self.queue[self.first]
    if not job.is_over and is_read(self, job) and job.next_seed <= #job.evaluation.seeds then
      start_task(self, job)
    else
      self.queue[self.first], self.first = nil, self.first + 1
    end
  end
end

--- Ends a job without a result.
---@param self blis.serve.Jobs
---@param job blis.serve.Job
function jobs.cancel(self, job)
  over(self, job, nil, answer.error("cancelled", "cancelled"))
end

--- What a task of another kind than evaluations said: "R" and its result as a text, or "F" and what
--- failed.
local function read_performed(text)
  if text:sub(1, 1) == "R" then return { result = text:sub(2) } end
  return { failure = json.decode(text:sub(2)) }
end

local function read_outcome(job, status, text, detail)
  local evaluation = job.evaluation
  if status == "done" and evaluation.perform then return read_performed(text) end
  if status == "done" then
    local ok, outcome = pcall(json.decode, text)
    if ok and type(outcome) == "table" then return outcome end
    status, text = "error", "its process said what cannot be read"
  end
  return { failure = processes.failure(evaluation.name or evaluation.candidate.name, status, text,
    detail, limits_of(job)) }
end

--- The result of a job, unless an equal one came to something else.
local function finish_job(self, job)
  if job.evaluation.perform then return over(self, job, job.outcomes[1].result) end
  local result, digest = answer.result(job.evaluation, job.outcomes, job.cpu_s)
  local key = job.evaluation.key
  local before = self.digests[key]
  if before and before ~= digest then
    return over(self, job, nil, answer.error("nondeterminism", ("an equal request gave "
      .. "digest %s before, now %s: what it does depends on more than the request"):format(
      before, digest)))
  end
  if not before then remember(self.digests, self.digest_keys, most_digests, key, digest) end
  over(self, job, result)
end

--- Takes what became of a task.
---@param self blis.serve.Jobs
---@param number integer
---@param status string
---@param text string
---@param detail integer
function jobs.accept(self, number, status, text, detail)
  local task = self.tasks[number]
  if not task then return end
  local job = task.job
  take_back(self, number)
  local outcome = read_outcome(job, status, text, detail)
  job.outcomes[task.index], job.missing = outcome, job.missing - 1
  job.cpu_s = job.cpu_s + (outcome.cpu_s or 0)
  if outcome.failure then return over(self, job, nil, answer.of_failure(outcome.failure)) end
  if job.missing == 0 then return finish_job(self, job) end
  if job.progress then job.progress(job, 1 - job.missing / #job.evaluation.seeds) end
end

return jobs
