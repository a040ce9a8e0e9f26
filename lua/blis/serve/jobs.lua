--- Evaluations in progress. Each evaluation has one task per seed. A process is forked for each
--- task; it reads the request, runs the seed, and ends.
---
--- Tasks start in order of arrival. If all of them have run for a while and others wait, the job
--- that came last gets a short time in an additional process, once for each seed. A task that does
--- not end in that time is stopped, and runs again when its turn comes. Short evaluations therefore
--- need not wait for long ones, and no evaluation loses its place.
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
---@field again integer[] seeds whose short time was over
---@field had_short table<integer, boolean> seeds that had their short time
---@field bytes integer of the message that it came with
---@field is_over boolean

---@class blis.serve.Outline
---@field name string of the candidate, for messages
---@field limits { wall_s: number, cpu_s: number, memory_mb: number }

---@class blis.serve.Jobs
---@field workers userdata
---@field count integer how many run at a time
---@field tasks table<integer, { job: blis.serve.Job, index: integer, start_us: integer,
--- is_short: boolean }>
---@field started integer tasks that are handed out, without the short ones
---@field short integer short tasks that are handed out
---@field hopeful blis.serve.Job[] jobs that may get a short time, the last one at the end
---@field queue table<integer, blis.serve.Job> from first to last
---@field waiting integer jobs that are not over
---@field bytes integer of the messages of these
---@field message_bytes integer of the message that is being read
---@field next_task integer
---@field digests table<string, string> of results, by the key of the evaluation
---@field digest_keys string[]

-- Jobs that are open at most, those under way included, and bytes of their messages.
jobs.most_waiting, jobs.most_bytes = 10000, 128 << 20

-- Processes for short tasks, their time, and the time after which other tasks count as long.
local most_short, short_us, long_us = 4, 400000, 150000

-- Results that are remembered, to be compared with those of equal requests.
local most_digests = 4096

--- Adds a value to a table of limited size, and removes the oldest value if necessary.
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
  local self = { count = count, tasks = {}, started = 0, short = 0, hopeful = {},
    queue = {}, first = 1, last = 0,
    waiting = 0, bytes = 0, message_bytes = 0, next_task = 1, digests = {},
    digest_keys = {} }
  self.workers = core.workers {
    jobs = count + most_short, is_fresh = true,
    work = function(number) return work(self, number) end,
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
    outcomes = {}, again = {}, had_short = {}, next_seed = 1, cpu_s = 0.0, tasks = {},
    order = self.last, bytes = self.message_bytes, is_over = false }
  self.queue[self.last] = job
  table.insert(self.hopeful, job)
  self.waiting, self.bytes, self.message_bytes = self.waiting + 1, self.bytes + job.bytes, 0
  return job
end

--- A task is no longer handed out.
local function take_back(self, number)
  local one = self.tasks[number]
  local name = one.is_short and "short" or "started"
  self.tasks[number], one.job.tasks[number] = nil, nil
  self[name] = self[name] - 1
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

--- The next seed of a job, and its place among those that run again.
local function next_of(job, is_short)
  for place, index in ipairs(job.again) do
    if not (is_short and job.had_short[index]) then return index, place end
  end
  local count = job.evaluation and #job.evaluation.seeds or 1
  return job.next_seed <= count and job.next_seed or nil
end

--- Hands out a task of a job.
local function start_task(self, job, is_short)
  run.warm()
  local index, place = next_of(job, is_short)
  if place then table.remove(job.again, place) else job.next_seed = index + 1 end
  local number, limits = self.next_task, (job.evaluation or job.outline).limits
  local limit_us = math.ceil(limits.wall_s * 1e6)
  self.next_task = number + 1
  self.tasks[number] = { job = job, index = index, start_us = core.clock_us(),
    is_short = is_short, is_cut = is_short and limit_us > short_us }
  job.tasks[number] = true
  local name = is_short and "short" or "started"
  self[name], job.had_short[index] = self[name] + 1, is_short or job.had_short[index]
  self.workers:submit(number, is_short and math.min(limit_us, short_us) or limit_us)
end

--- Whether a job has a task to hand out: its first seed, and the other seeds once the process of
--- the first one has reported how many there are.
local function is_ready(job) return next_of(job) ~= nil end

local function is_done(job) return job.is_over or job.evaluation and not is_ready(job) end

--- Whether every task has run for a while.
local function are_all_long(self)
  local before_us = core.clock_us() - long_us
  for _, one in pairs(self.tasks) do
    if not one.is_short and one.start_us > before_us then return false end
  end
  return true
end

--- Hands out short tasks of jobs that wait behind long ones, the last one first.
local function start_short(self)
  if self.started < self.count or self.short >= most_short or not are_all_long(self) then return end
  local hopeful = self.hopeful
  while #hopeful > 0 and self.short < most_short do
    local job = hopeful[#hopeful]
    if job.is_over or not next_of(job, true) then
      hopeful[#hopeful] = nil
    else
      start_task(self, job, true)
    end
  end
end

--- Hands out tasks, in order of arrival, to processes that have nothing to do.
---@param self blis.serve.Jobs
function jobs.start(self)
  local at = self.first
  while self.started < self.count and at <= self.last do
    local job = self.queue[at]
    if job and not job.is_over and is_ready(job) then
      start_task(self, job, false)
    else
      if job and is_done(job) then self.queue[at] = nil end
      at = at + 1
    end
    while self.first <= self.last and not self.queue[self.first] do self.first = self.first + 1 end
  end
  start_short(self)
end

--- Ends a job without a result.
---@param self blis.serve.Jobs
---@param job blis.serve.Job
function jobs.cancel(self, job)
  over(self, job, nil, answer.error("cancelled", "cancelled"))
end

--- The report of a task, including a process that did not write one.
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
    return over(self, job, nil, answer.error("nondeterminism", ("an equal request gave digest %s "
      .. "before, now %s: the result depends on more than the request"):format(
      before, digest)))
  end
  if not before then remember(self.digests, self.digest_keys, most_digests, key, digest) end
  over(self, job, result)
end

--- Takes the outcome of a task.
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
  if status == "time" and one.is_cut then
    table.insert(job.again, one.index)
    self.queue[job.order], self.first = job, math.min(self.first, job.order)
    return
  end
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
  table.insert(self.hopeful, job)
  if job.progress then job.progress(job, 1 - job.missing / #job.evaluation.seeds) end
end

return jobs
