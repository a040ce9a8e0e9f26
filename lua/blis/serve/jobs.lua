--- Evaluations in progress. Each evaluation has one task per seed. A process is forked for each
--- task; it reads the request, runs the seed, and ends.
local answer = require "blis.serve.answer"
local core = require "blis.core"
local processes = require "blis.eval.processes"
local run = require "blis.eval.run"
local task = require "blis.serve.task"
local jobs = {}

---@class blis.serve.Job
---@field read fun(): blis.serve.Evaluation raises what is wrong; called in processes only
---@field outline blis.serve.Outline what the server knows before a process has read the request
---@field evaluation? blis.serve.Facts once the process of the first seed has reported
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

---@class blis.serve.Outline
---@field name string of the candidate, for messages
---@field limits { wall_s: number, cpu_s: number, memory_mb: number }

---@class blis.serve.Jobs
---@field workers userdata
---@field count integer how many run at a time
---@field tasks table<integer, { job: blis.serve.Job, index: integer }>
---@field started integer tasks that are handed out
---@field queue table<integer, blis.serve.Job> from first to last
---@field waiting integer jobs that are not over
---@field bytes integer of the messages of these
---@field message_bytes integer of the message that is being read
---@field next_task integer
---@field digests table<string, string> of results, by the key of the evaluation
---@field digest_keys string[]

-- Jobs that are open at most, those under way included, and bytes of their messages.
jobs.most_waiting, jobs.most_bytes = 10000, 128 << 20

-- Results that are remembered, to be compared with those of equal requests.
local most_digests = 4096

--- Puts a value into a table of at most so many, the oldest of which goes.
local function remember(known, keys, most, key, value)
  if #keys >= most then known[table.remove(keys, 1)] = nil end
  known[key], keys[#keys + 1] = value, key
end

--- In the process of a task.
local function work(self, number)
  local one = self.tasks[number]
  return task.perform(one.job.read, one.index, one.job.outline.limits)
end

---@param count integer how many run at a time
---@return blis.serve.Jobs
function jobs.new(count)
  run.warm()
  local self = { count = count, tasks = {}, started = 0, queue = {}, first = 1, last = 0,
    waiting = 0, bytes = 0, message_bytes = 0, next_task = 1, digests = {},
    digest_keys = {} }
  self.workers = core.workers {
    jobs = count, is_fresh = true, work = function(number) return work(self, number) end,
  }
  return self
end

--- Puts an evaluation behind those that wait; nil when there are too many.
---@param self blis.serve.Jobs
---@param read fun(): blis.serve.Evaluation raises what is wrong with it
---@param outline blis.serve.Outline
---@param finish fun(result?: table, problem?: table, job: blis.serve.Job)
---@param progress? fun(job: blis.serve.Job, done: number)
---@return blis.serve.Job?
function jobs.add(self, read, outline, finish, progress)
  if self.waiting >= jobs.most_waiting or self.bytes > jobs.most_bytes then return nil end
  self.last = self.last + 1
  local job = { read = read, outline = outline, finish = finish, progress = progress,
    outcomes = {}, next_seed = 1, cpu_s = 0.0, tasks = {}, order = self.last,
    bytes = self.message_bytes, is_over = false }
  self.queue[self.last] = job
  self.waiting, self.bytes, self.message_bytes = self.waiting + 1, self.bytes + job.bytes, 0
  return job
end

--- A task is no longer handed out.
local function take_back(self, number)
  local job = self.tasks[number].job
  self.tasks[number], job.tasks[number] = nil, nil
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

--- Hands out a task of a job.
local function start_task(self, job)
  run.warm()
  local number, index = self.next_task, job.next_seed
  self.next_task, job.next_seed = number + 1, index + 1
  self.tasks[number] = { job = job, index = index }
  job.tasks[number], self.started = true, self.started + 1
  local limits = (job.evaluation or job.outline).limits
  self.workers:submit(number, math.ceil(limits.wall_s * 1e6))
end

--- Whether a job has a task to hand out: its first seed, and the other seeds once the process of
--- the first one has reported how many there are.
local function is_ready(job)
  if job.evaluation then return job.next_seed <= #job.evaluation.seeds end
  return job.next_seed == 1
end

local function is_done(job) return job.is_over or job.evaluation and not is_ready(job) end

--- Hands out tasks, in order of arrival, to processes that have nothing to do.
---@param self blis.serve.Jobs
function jobs.start(self)
  local at = self.first
  while self.started < self.count and at <= self.last do
    local job = self.queue[at]
    if job and not job.is_over and is_ready(job) then
      start_task(self, job)
    else
      if job and is_done(job) then self.queue[at] = nil end
      at = at + 1
    end
    while self.first <= self.last and not self.queue[self.first] do self.first = self.first + 1 end
  end
end

--- Ends a job without a result.
---@param self blis.serve.Jobs
---@param job blis.serve.Job
function jobs.cancel(self, job)
  over(self, job, nil, answer.error("cancelled", "cancelled"))
end

--- The report of a task, also of a process that did not write one.
local function report_of(job, status, text, detail)
  local report = status == "done" and task.read(text)
  if report then return report end
  if status == "done" then
    status, text = "error", "the report of its process cannot be read"
  end
  local known = job.evaluation or job.outline
  return { outcome = { failure = processes.failure(known.name, status, text, detail,
    known.limits) } }
end

--- The result of a job, unless an equal one came to something else.
local function finish_job(self, job)
  if job.outcomes[1].result then return over(self, job, job.outcomes[1].result) end
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
  local one = self.tasks[number]
  if not one then return end
  local job = one.job
  take_back(self, number)
  local report = report_of(job, status, text, detail)
  if report.problem then return over(self, job, nil, report.problem) end
  if one.index == 1 then
    job.evaluation = report.facts
    job.missing = report.facts and #report.facts.seeds or 1
  end
  local outcome = report.outcome
  job.outcomes[one.index], job.missing = outcome, job.missing - 1
  job.cpu_s = job.cpu_s + (outcome.cpu_s or 0)
  if outcome.failure then return over(self, job, nil, answer.of_failure(outcome.failure)) end
  if job.missing == 0 then return finish_job(self, job) end
  if job.progress then job.progress(job, 1 - job.missing / #job.evaluation.seeds) end
end

return jobs
