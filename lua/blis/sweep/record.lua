--- The outcome of a trial, as a line of a journal.
local canonical = require "blis.sweep.canonical"
local core = require "blis.core"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local sorted = require "blis.sorted"
local verdict = require "blis.results.verdict"

local record = {}

---@class blis.sweep.Record
---@field key string
---@field status "done"|"error"|"memory"|"exit"|"signal"|"time"|"retry"
---@field values? table<string, number> of a trial that is done
---@field hash? string of its result
---@field reason? string of one that failed
---@field notes? string
---@field verdict? blis.RunVerdict of a trial that returned a result
---@field wall_us? integer
---@field setup? blis.results.Asked[] the configuration, if requested, and of the first trial
---@field subject? blis.results.Subject what it is compared by, if requested
---@field outline? blis.charts.Outline what its charts need, if requested
---@field parameters? table<string, any> labels
---@field seed? integer
---@field tried? integer when, as Unix time, if its point was chosen from outside
---@field journal? string process that recorded it

-- Fields of results that are omitted, because the trial's parameters contain them or because they
-- are not metrics.
local skipped = { setup = true }

--- Names end up in tables, in files and in databases.
local function check_figure_name(name)
  if not utf8.len(name) or name:find("%c") or name == "" then
    error(("the trial returned a metric named %q, expected a name without control characters")
      :format(name), 0)
  end
end

--- Latencies of a run in which nothing completed are no numbers, though results have 0 for them.
local function is_of_nothing(given, name)
  return name:find("_ms$") ~= nil and rawget(given, "completed") == 0
end

--- All numbers of nested tables, by "outer.inner"; lists are omitted.
local function flatten(given, prefix, depth, visit)
  for _, name in ipairs(sorted.names(given)) do
    local value = rawget(given, name)
    local kind = type(value)
    if kind == "number" or kind == "boolean" then check_figure_name(name) end
    if kind == "number" then
      visit(prefix .. name, value)
    elseif kind == "boolean" then
      visit(prefix .. name, value and 1 or 0)
    elseif kind == "table" and depth < 3 and rawget(value, 1) == nil
      and not (depth == 0 and skipped[name]) then
      flatten(value, prefix .. name .. ".", depth + 1, is_of_nothing(given, name)
        and function(inner) visit(inner, 0 / 0) end or visit)
    end
  end
end

--- Writes the metrics; returns their names as a set and a list.
local function write_values(writer, outcome)
  local known, words = {}, {}
  writer:object("values")
  local function visit(name, value)
    if known[name] then error(("the trial returned two metrics '%s'"):format(name), 0) end
    writer:field(name, value)
    known[name] = true
    words[#words + 1] = name
  end
  if type(outcome) == "number" then
    visit("value", outcome)
  else
    flatten(outcome, "", 0, visit)
  end
  writer:done()
  return known, words
end

--- Returns whether a trial returned a result of blis.run.
---@param outcome any
---@return boolean
function record.is_result(outcome)
  return type(outcome) == "table" and rawget(outcome, "requests_per_instance") ~= nil
end

--- Whether a result may have a metric that this one lacks: of an optional feature, or of a policy.
local function may_be_missing(outcome, name)
  return record.is_result(outcome) and figures.find(name) ~= nil
end

local function check_report(report, known, words, outcome)
  for _, name in ipairs(report or {}) do
    if not known[name] and not may_be_missing(outcome, name) then
      error(("report: the trial returned no number '%s'%s"):format(name,
        errors.suggestion(name, words)), 0)
    end
  end
end

local function check_outcome(outcome)
  local kind = type(outcome)
  if kind ~= "number" and kind ~= "table" then
    error(("the trial returned %s, expected a result, a table of numbers or a number"):format(
      errors.show(outcome)), 0)
  end
end

-- Maximum length of stored messages.
local longest_text = 4000

--- A message of a script for the journal: control characters except newlines are escaped.
local function plain(text)
  if #text > longest_text then text = text:sub(1, longest_text) .. " ..." end
  return (text:gsub("[^\n\t\32-\126\128-\255]", function(c) return ("\\%03d"):format(c:byte()) end))
end

local function sum_of(text)
  return core.hash128(text):sub(1, 8)
end

--- The text of an object with the sum of what stands before it at its end.
local function seal(text)
  text = text:sub(1, -2)
  return ('%s,"sum":"%s"}'):format(text, sum_of(text))
end

local function begin(self, trial, status)
  local writer = core.json_writer():object():field("key", trial.key):field("status", status)
  canonical.write(writer, self.points[trial.point].labels, "parameters", "parameters")
  writer:field("seed", trial.seed):field("replication", trial.replication)
  if trial.tried then writer:field("tried", trial.tried) end
  return writer
end

local function write_setup(writer, rows)
  writer:array "setup"
  for _, row in ipairs(rows) do
    writer:object():field("name", plain(row.name)):field("text", plain(row.text)):done()
  end
  writer:done()
end

--- Writes the fields that are set.
local function write_fields(writer, given, names)
  for _, name in ipairs(names) do
    if given[name] ~= nil then writer:field(name, given[name]) end
  end
end

local function write_subject(writer, subject)
  writer:object "subject"
  write_fields(writer, subject, { "ttft_ms", "tpot_ms", "e2e_ms" })
  writer:object "error"
  write_fields(writer, subject.error, { "tpot_band", "ttft_band", "tpot_level", "ttft_level" })
  writer:done():array "step_times"
  for _, one in ipairs(subject.step_times) do
    writer:object():field("tp", one.tp):field("dp", one.dp):object "regime"
    for _, key in ipairs(sorted.names(one.regime)) do writer:field(key, one.regime[key]) end
    writer:done():done()
  end
  writer:done():done()
end

--- The line of a trial that returned something; raises when that is not what was to be returned.
---@param self blis.sweep.Plan
---@param trial blis.sweep.Trial
---@param outcome any
---@param facts { wall_us?: integer, notes: string, setup?: blis.results.Asked[],
--- subject?: blis.results.Subject, outline?: blis.charts.Outline }
---@return string
function record.of_outcome(self, trial, outcome, facts)
  check_outcome(outcome)
  local writer = begin(self, trial, "done")
  local known, words = write_values(writer, outcome)
  check_report(self.report, known, words, outcome)
  if self.metric then check_report({ self.metric }, known, words) end
  local hash = type(outcome) == "table" and rawget(outcome, "hash")
  if type(hash) == "string" then writer:field("hash", plain(hash)) end
  if record.is_result(outcome) then verdict.write(writer, outcome.verdict) end
  if facts.notes ~= "" then writer:field("notes", plain(facts.notes)) end
  if facts.wall_us then writer:field("wall_us", facts.wall_us) end
  if facts.setup then write_setup(writer, facts.setup) end
  if facts.subject then write_subject(writer, facts.subject) end
  if facts.outline then canonical.write(writer, facts.outline, "outline", "outline") end
  return seal(writer:done():take())
end

--- The line of a finished trial, from its journal entry.
---@param self blis.sweep.Plan
---@param trial blis.sweep.Trial
---@param one blis.sweep.Record
---@return string
function record.of_record(self, trial, one)
  local writer = begin(self, trial, "done")
  write_values(writer, one.values)
  for _, key in ipairs { "hash", "notes", "wall_us" } do
    if one[key] ~= nil then writer:field(key, one[key]) end
  end
  if one.verdict then verdict.write(writer, one.verdict) end
  return seal(writer:done():take())
end

--- The line of a trial that failed.
---@param self blis.sweep.Plan
---@param trial blis.sweep.Trial
---@param status string
---@param reason string
---@return string
function record.of_failure(self, trial, status, reason)
  return seal(begin(self, trial, status):field("reason", plain(reason)):done():take())
end

--- The line that asks for another try.
---@param key string
---@return string
function record.of_retry(key)
  return seal(core.json_writer():object():field("key", key):field("status", "retry"):done():take())
end

--- True when a line of a journal is as it was written.
---@param line string
---@return boolean
function record.is_whole(line)
  local text, sum = line:match('^(.*),"sum":"(%x+)"}\n?$')
  return text ~= nil and sum == sum_of(text)
end

--- Parses a line. Metrics that JSON cannot represent as numbers are missing.
---@param line string
---@param place string for messages, "file:line"
---@return blis.sweep.Record
function record.read(line, place)
  local given = core.json_read(line, place)
  if type(given) ~= "table" or type(given.key) ~= "string" or type(given.status) ~= "string" then
    errors.invalid("%s: not a record of a trial", place)
  end
  for name, value in pairs(given.values or {}) do
    if type(value) ~= "number" then given.values[name] = nil end
  end
  return given
end

local signals = {
  [4] = "SIGILL", [6] = "SIGABRT", [7] = "SIGBUS", [8] = "SIGFPE", [9] = "SIGKILL",
  [11] = "SIGSEGV", [13] = "SIGPIPE", [15] = "SIGTERM", [24] = "SIGXCPU", [25] = "SIGXFSZ",
}

--- Why a worker did not answer, in words.
---@param status string
---@param text string
---@param detail integer
---@param options table of the run
---@return string
function record.reason(status, text, detail, options)
  if status == "exit" then return ("it ended its process with exit status %d"):format(detail) end
  if status == "signal" then
    return ("its process was killed by signal %d%s"):format(detail,
      signals[detail] and " (" .. signals[detail] .. ")" or "")
  end
  if status == "time" then
    return ("it took longer than the time limit of %g s"):format(options.time_limit_us / 1e6)
  end
  if status == "memory" then
    local limit = options.memory_limit_mb
    return ("out of memory%s"):format(limit and (" (limit %d MB)"):format(limit) or "")
  end
  return text
end

--- The names of all metrics in trials, as a sorted list and as a set.
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@return string[] names
---@return table<string, boolean> seen
function record.metric_names(self, known)
  local names, seen = {}, {}
  for _, trial in ipairs(self.trials) do
    local one = known[trial.key]
    for name in pairs(one and one.values or {}) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  return names, seen
end

return record
