--- Runs tasks in separate sandboxed processes, and returns outcomes in the order of tasks.
local core = require "blis.core"
local json = require "blis.json"
local run = require "blis.eval.run"
local processes = {}

-- How often it is looked whether anybody still waits for the result.
local look_us = 200000

--- The process that waits for the results; nil = no check. Evaluations end with this process, so a
--- killed loop leaves no evaluations running.
---@type integer?
processes.parent = nil

--- What a process does and writes: lines of JSON.
local function work(task)
  core.jail(math.max(1, math.ceil(task.limits.cpu_s)))
  return json.encode(run.one(task))
end

local signal_names = { [4] = "SIGILL", [6] = "SIGABRT", [7] = "SIGBUS", [8] = "SIGFPE",
  [9] = "SIGKILL", [11] = "SIGSEGV", [24] = "SIGXCPU", [31] = "SIGSYS" }

--- The outcome of a process that did not report one.
---@param name string of the candidate
---@param status string
---@param text string
---@param detail integer
---@param limits blis.eval.Limits
---@return blis.eval.Failure
function processes.failure(name, status, text, detail, limits)
  if status == "time" then
    return { code = "timeout", message = ("%s: more than %s s by the clock"):format(name,
      limits.wall_s) }
  elseif status == "signal" and detail == 24 then
    return { code = "timeout", message = ("%s: more than %s s of processor time"):format(name,
      limits.cpu_s) }
  elseif status == "memory" then
    return { code = "memory", message = ("%s: not enough memory"):format(name) }
  elseif status == "signal" then
    return { code = "crashed", message = ("%s: it crashed its process (%s)"):format(name,
      signal_names[detail] or "signal " .. detail) }
  end
  return { code = "internal", message = ("%s: %s"):format(name, text) }
end

local function read_outcome(task, status, text, detail)
  if status == "done" then
    local ok, outcome = pcall(json.decode, text)
    if ok and type(outcome) == "table" then return outcome end
    status, text = "error", "its process wrote output that cannot be read"
  end
  return { instructions = 0, failure = processes.failure(task.candidate.name, status, text, detail,
    task.limits) }
end

--- Does all tasks; outcomes come back in their order, whatever the number of jobs.
---@param tasks blis.eval.Task[]
---@param jobs integer
---@return blis.eval.Outcome[]
function processes.run(tasks, jobs)
  if #tasks == 0 then return {} end
  run.warm()
  local outcomes = {}
  local workers <close> = core.workers {
    jobs = math.min(jobs, #tasks), is_fresh = true,
    work = function(index) return work(tasks[index]) end,
  }
  for index, task in ipairs(tasks) do
    workers:submit(index, math.ceil(task.limits.wall_s * 1e6))
  end
  while workers:pending() > 0 do
    local index, status, text, detail = workers:wait(look_us)
    if processes.parent and core.parent() ~= processes.parent then
      error({ code = "orphan", message = "the process that requested this has ended",
          traceback = false }, 0)
    end
    if index then outcomes[index] = read_outcome(tasks[index], status, text, detail) end
  end
  return outcomes
end

processes.work = work

return processes
