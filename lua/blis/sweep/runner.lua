--- Runs the trials of a plan that are not known yet, in worker processes.
local core = require "blis.core"
local deferred = require "blis.deferred"
local incomplete = require "blis.incomplete"
local notices = require "blis.notices"
local order = require "blis.sweep.order"
local plan = require "blis.sweep.plan"
local progress = require "blis.sweep.progress"
local repeats = require "blis.policy.repeats"
local policy = require "blis.policy"
local record = require "blis.sweep.record"
local shard = require "blis.sweep.shard"
local sources = require "blis.sweep.sources"
local space = require "blis.sweep.space"
local setup = deferred "blis.results.setup"
local settings = require "blis.sweep.settings"
local stopping = require "blis.statistics.stopping"
local store = require "blis.sweep.store"

local runner = {}

--- What an error says, without the address of a table.
local function error_text(problem)
  if type(problem) == "table" and type(rawget(problem, "message")) == "string" then
    return rawget(problem, "message")
  end
  if type(problem) == "string" or type(problem) == "number" then return tostring(problem) end
  return ("(error object is a %s value)"):format(type(problem))
end

local function is_lack_of_memory(problem)
  return problem == "not enough memory"
    or type(problem) == "table" and rawget(problem, "code") == "nomem"
end

--- Whether a trial that is run again comes to another result. Asked of the first replication alone,
--- and only when functions of the script may have remembered something.
local function is_other_again(trial, trial_function, argument, outcome)
  local hash = type(outcome) == "table" and rawget(outcome, "hash")
  if trial.replication > 1 or type(hash) ~= "string" then return false end
  math.randomseed(trial.seed)
  local ok, again = pcall(trial_function, argument())
  return ok and type(again) == "table" and rawget(again, "hash") ~= hash
end

--- Reports modules that a trial loads and that its key does not cover.
local function report_late_modules(self)
  local late = self.sources and sources.late(self.sources) or {}
  if #late > 0 then
    notices.tell(("%s: trials load %s by a computed name. The store keeps their results when these "
      .. "modules change; require them before blis.sweep, or list their files in inputs"):format(
      self.name, table.concat(late, ", ")))
  end
end

--- What a worker does with the index of a trial: returns the line of the journal.
local function new_work(self, values, trial_function, pause, setup_of)
  return function(index)
    local trial, notes = self.trials[index], {}
    collectgarbage("setpause", pause)
    notices.collect(function(line) notes[#notes + 1] = line end)
    -- Else a trial would see how many others its worker did before.
    math.randomseed(trial.seed)
    local start, runs = core.clock_us(), repeats.runs
    local function argument()
      return space.argument(values[trial.point], self.names, trial.seed, trial.replication)
    end
    policy.omits_zero_weights = true
    local ok, outcome = pcall(trial_function, argument())
    if not ok then
      policy.omits_zero_weights = false
      error(is_lack_of_memory(outcome) and outcome or error_text(outcome), 0)
    end
    local wall_us = core.clock_us() - start
    if repeats.runs > runs and is_other_again(trial, trial_function, argument, outcome) then
      notices.tell(repeats.note)
    end
    policy.omits_zero_weights = false
    report_late_modules(self)
    local facts = { wall_us = wall_us, notes = table.concat(notes, "\n") }
    if setup_of then
      facts.setup, facts.subject, facts.outline = setup_of(outcome)
      if trial.replication > 1 then facts.setup = nil end
    elseif index == 1 and record.is_result(outcome) then
      facts.setup = setup.rows(outcome) -- describes the system of the sweep
    end
    return record.of_outcome(self, trial, outcome, facts)
  end
end

--- The values of the rule's metric for the first n replications of a point; nil while a value is
--- missing. Failed replications are omitted.
local function values_of(self, known, point, n)
  local list = {}
  for r = 1, n do
    local one = known[self.trials[plan.index(self, point, r)].key]
    if not one then return nil end
    list[#list + 1] = one.values and one.values[self.metric]
  end
  return list
end

--- How many replications a point needs, as far as is known.
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@param point integer
---@return integer
function runner.wanted(self, known, point)
  if not self.rule then return self.replications end
  for _, n in ipairs(stopping.looks(self.rule)) do
    local values = values_of(self, known, point, n)
    if not values or stopping.is_mean_known(self.rule, values) then return n end
  end
  return self.replications
end

--- What one run knows and does.
local function new_state(self, known, writer, options)
  return {
    plan = self, known = known, writer = writer, options = options, done = 0, total = 0,
    failed = 0, wanted = {}, told = 0, kills = {},
  }
end

local function is_mine(state, trial)
  local part = state.options.shard
  return not part or shard.has(part, trial.key)
end

--- Adds the trials that a point needs beyond those it was given; submit is called with each.
local function extend(state, point, submit)
  local self = state.plan
  local wanted = runner.wanted(self, state.known, point)
  for r = (state.wanted[point] or 0) + 1, wanted do
    local index = plan.index(self, point, r)
    local trial = self.trials[index]
    if is_mine(state, trial) then
      state.total = state.total + 1
      local one = state.known[trial.key]
      -- A signal comes from outside: the trial itself may be fine.
      if one and one.status ~= "signal" then
        state.done = state.done + 1
        if one.status ~= "done" then state.failed = state.failed + 1 end
      else
        submit(index)
      end
    end
  end
  local is_more = wanted > (state.wanted[point] or 0)
  state.wanted[point] = wanted
  -- If all added trials are finished already, the rule can be evaluated at once.
  if is_more and self.rule then return extend(state, point, submit) end
end

local function tell_notes(notes)
  if notes then notices.tell(notes) end
end

-- Beyond this number, failures are counted and not listed.
local told_failures = 20

local function tell_failure(state, trial, reason)
  state.failed = state.failed + 1
  state.told = state.told + 1
  if state.told <= told_failures then
    state.progress.say("%s: %s: %s", state.plan.name, plan.trial_name(state.plan, trial), reason)
  elseif state.told == told_failures + 1 then
    state.progress.say("%s: more trials failed; see the table or 'blis sweep export'",
      state.plan.name)
  end
end

-- Attempts at a trial whose process is killed by a signal, such as that of the kernel when the
-- machine is out of memory.
local max_attempts = 3

--- Whether a trial whose process was killed runs once more.
local function is_repeated(state, index, status)
  if status ~= "signal" then return false end
  state.kills[index] = (state.kills[index] or 0) + 1
  return state.kills[index] < max_attempts
end

--- Stores the outcome of a trial.
local function accept(state, index, status, text, detail)
  local self, trial = state.plan, state.plan.trials[index]
  local line = text
  if status ~= "done" then
    line = record.of_failure(self, trial, status,
      record.reason(status, text, detail, state.options))
  end
  local one = record.read(line, "a worker") -- before it is kept: what cannot be read is not
  if state.writer then state.writer.append(line) end
  state.known[trial.key] = one
  state.done = state.done + 1
  incomplete.set(self.name .. " " .. trial.key, status == "signal")
  if status ~= "done" then tell_failure(state, trial, one.reason) end
  tell_notes(one.notes)
end

local function start_workers(state, work)
  collectgarbage() -- garbage would be copied along
  local options = state.options
  return core.workers {
    jobs = options.jobs, work = work, time_limit_us = options.time_limit_us,
    memory_limit_bytes = options.memory_limit_mb and options.memory_limit_mb * 1000000,
  }
end

-- How often a run looks up when nothing ends.
local wait_us = 200000

--- Hands out all that is known to be needed from the start.
local function submit_first(state, values, workers)
  local indices = {}
  local function keep(index) indices[#indices + 1] = index end
  for point = 1, #state.plan.points do extend(state, point, keep) end
  order.longest_first(state.plan, indices, values, state.known, state.options.cost)
  for _, index in ipairs(indices) do workers:submit(index) end
end

local function drive(state, values, work)
  local workers <close> = start_workers(state, work)
  local function submit(index) workers:submit(index) end
  submit_first(state, values, workers)
  state.progress = progress.new(state.plan.name, state.done, state.total, state.options.quiet)
  if not state.options.quiet and not core.terminal_size() and workers:pending() > 0 then
    state.progress.say("%s: %d trials, %d of them complete; %d "
      .. "workers", state.plan.name, state.total,
      state.done, state.options.jobs)
  end
  while workers:pending() > 0 do
    local index, status, text, detail = workers:wait(wait_us)
    if index and is_repeated(state, index, status) then
      submit(index)
    elseif index then
      accept(state, index, status, text, detail)
      if state.plan.rule then extend(state, state.plan.trials[index].point, submit) end
    end
    state.progress.update(state.done, state.total, state.failed)
  end
end

--- Says what is kept when a run is interrupted.
local function tell_kept(state)
  local folder = state.options.store
  if folder then
    state.progress.say("%s: %d of %d trials are stored in %s; run the same command to complete the "
      .. "rest",
      state.plan.name, state.done, state.total, folder)
  end
end

--- Runs what is missing.
---@param self blis.sweep.Plan
---@param values table<string, any>[] of the points
---@param trial_function fun(p: table): any
---@param options table the values of the section of runs, and: shard, one of blis.sweep.shard.
--- known, the return value of an earlier call. cost, the script's function. setup_of, a function
--- that describes the experiment for the record of a point. joins, true for an external point,
--- whose store keeps its plan. writer, the writer of a store that the caller has opened
---@return table<string, blis.sweep.Record> known
function runner.run(self, values, trial_function, options)
  local open = options.joins and store.join or store.open
  local opened = options.store and open(options.store, self, options.other_versions)
  local own_writer = options.store and store.writer(options.store, self)
  local writer = own_writer or options.writer
  local state = new_state(self, opened and opened.known or options.known or {}, writer, options)
  state.progress = progress.new(self.name, 0, 0, true)
  -- Nearly all that is made here stays; looking for garbage would take longer than the work.
  local pause = collectgarbage("setpause", 1000)
  local ok, problem = pcall(drive, state, values, new_work(self, values, trial_function, pause,
    options.setup_of))
  collectgarbage("setpause", pause)
  state.progress.finish()
  if own_writer then own_writer.close() end
  settings.failed = settings.failed + state.failed
  if not ok then
    tell_kept(state)
    error(problem, 0)
  end
  return state.known
end

return runner
