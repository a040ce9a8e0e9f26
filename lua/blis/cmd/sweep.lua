--- blis sweep: runs a script's sweep, and looks into the folder that keeps its results.
local asking = require "blis.sweep.asking"
local chunks = require "blis.chunk"
local command = require "blis.cli.command"
local core = require "blis.core"
local deferred = require "blis.deferred"
local endings = require "blis.endings"
local export = require "blis.sweep.export"
local flags = require "blis.cli.flags"
local format = require "blis.format"
local from_outside = require "blis.cli.sweep_outside"
local options = require "blis.config.sweep"
local origin = deferred "blis.page.origin"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"
local runner = require "blis.sweep.runner"
local settings = require "blis.sweep.settings"
local store = require "blis.sweep.store"
local submit = require "blis.sweep.submit"
local table_of = require "blis.sweep.table"

local folder = { name = "DIR", doc = "The sweep's folder (its store = ...)." }

-- For folders with results of several versions, until it is decided what to do with them.
local versions = {
  title = "Versions", section = "versions", has_defaults = true, options = {
    {
      name = "other", type = "choice", choices = { "refuse", "keep", "ignore" },
      default = "refuse", flag = "--other-versions",
      doc = "Treatment of results of other versions of blis than the latest version in the folder.",
    },
  },
}

local function open(definition, parsed)
  local path = parsed.positional
  if not path then flags.fail(definition, "DIR is missing") end
  local self = command.checked(definition, store.plan, path)
  local opened = command.checked(definition, store.read, path, self, parsed.values.versions.other)
  plan.adopt(self, opened.known)
  return self, opened
end

--- blis sweep run -------------------------------------------------------------------------------

local run_definition = {
  name = "sweep run",
  summary = "run a script; flags take precedence over its sweeps' options",
  usage = "blis sweep run FILE [FLAGS] [-- ARGUMENTS]",
  description = "Runs a script as 'blis FILE' does; these flags override the options of its "
    .. "sweeps.",
  positional = { name = "FILE", doc = "The script, and its arguments.", count = math.huge },
  groups = { { title = "Sweeps", section = "run", options = options.run.options } },
}

local function run_script(parsed)
  local path = parsed.positional
  if not path then flags.fail(run_definition, "FILE is missing") end
  local chunk, problem = chunks.load_file(path)
  if not chunk then flags.fail(run_definition, "%s", problem) end
  for name, value in pairs(parsed.values.run) do settings.overrides[name] = value end
  _G.arg = table.move(parsed.positionals, 1, #parsed.positionals, 0, {})
  settings.failed, settings.runs = 0, 0
  chunk(table.unpack(_G.arg))
  if settings.runs == 0 then
    flags.fail(run_definition, "%s ran no sweep; call :run() on what blis.sweep returns", path)
  end
  if settings.failed == 0 then return nil end
  command.say(("blis: sweep run: %s failed; 'blis sweep retry DIR' lets failed trials run again")
    :format(format.plural(settings.failed, "trial")))
  return 1
end

--- blis sweep status ----------------------------------------------------------------------------

local output = {
  title = "Output", section = "output", has_defaults = true, options = {
    {
      name = "format", type = "choice", choices = { "text", "json" }, default = "text",
      flag = "--format", doc = "Output format.",
    },
  },
}

local status_definition = {
  name = "sweep status",
  summary = "count finished, failed, and missing trials",
  usage = "blis sweep status DIR [FLAGS]",
  positional = folder,
  groups = { output, versions },
}

--- Counts of trials, by status.
local function count(self, opened)
  local counts = { trials = 0, done = 0, failed = 0, missing = 0, by_reason = {}, wall_us = 0 }
  counts.asked, counts.overdue = asking.count(opened.folder, self, opened.known)
  for i = 1, #self.points do
    for r = 1, runner.wanted(self, opened.known, i) do
      local one = opened.known[self.trials[plan.index(self, i, r)].key]
      local kind = not one and "missing" or one.status == "done" and "done" or "failed"
      counts.trials = counts.trials + 1
      counts[kind] = counts[kind] + 1
      if kind == "failed" then
        counts.by_reason[one.status] = (counts.by_reason[one.status] or 0) + 1
      elseif kind == "done" then
        counts.wall_us = counts.wall_us + (one.wall_us or 0)
      end
    end
  end
  return counts
end

local failure_kinds = { "error", "memory", "exit", "signal", "time" }

--- The versions other than the plan's that have left results.
local function sorted_versions(self)
  local list = {}
  for version in pairs(self.versions) do
    if version ~= self.program then list[#list + 1] = version end
  end
  table.sort(list)
  return list
end

--- Trials that are run elsewhere.
local function asked_text(counts)
  local text = ""
  if counts.asked > 0 then text = (", %d reserved"):format(counts.asked) end
  if counts.overdue > 0 then text = text .. (", %d overdue"):format(counts.overdue) end
  return text
end

local function status_text(self, opened, counts)
  local lines = {
    ("%s: %s points, %s trials by blis %s"):format(self.name, format.count(#self.points),
      format.count(counts.trials), self.program),
    ("done     %s"):format(format.count(counts.done)),
    ("failed   %s"):format(format.count(counts.failed)),
    ("missing  %s%s"):format(format.count(counts.missing), asked_text(counts)),
    ("journals %s"):format(format.count(opened.journals)),
  }
  for _, kind in ipairs(failure_kinds) do
    if counts.by_reason[kind] then
      lines[3] = lines[3] .. (", %d by %s"):format(counts.by_reason[kind], kind)
    end
  end
  for _, version in ipairs(sorted_versions(self)) do
    lines[#lines + 1] = ("results of blis %s are %s"):format(version,
      self.versions[version] == "keep" and "counted too" or "omitted")
  end
  if counts.done > 0 then
    lines[2] = lines[2] .. (", %s s each"):format(format.number(
      counts.wall_us / counts.done / 1e6, 3))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function status_json(self, opened, counts)
  local writer = core.json_writer(2):object():field("name", self.name)
    :field("program", self.program):field("points", #self.points)
  for _, key in ipairs { "trials", "done", "failed", "missing", "asked", "overdue" } do
    writer:field(key, counts[key])
  end
  writer:field("journals", opened.journals):object("failures")
  for _, kind in ipairs(failure_kinds) do
    if counts.by_reason[kind] then writer:field(kind, counts.by_reason[kind]) end
  end
  writer:done():object("other_versions")
  for _, version in ipairs(sorted_versions(self)) do
    writer:field(version, self.versions[version])
  end
  return writer:done():done():take() .. "\n"
end

local function print_status(parsed)
  local self, opened = open(status_definition, parsed)
  local counts = count(self, opened)
  local is_json = parsed.values.output.format == "json"
  command.print((is_json and status_json or status_text)(self, opened, counts))
end

--- blis sweep table -----------------------------------------------------------------------------

local table_definition = {
  name = "sweep table",
  summary = "print means and intervals, a row for each point",
  usage = "blis sweep table DIR [FLAGS]",
  positional = folder,
  groups = {
    {
      title = "Output", section = "output", has_defaults = true, options = {
        {
          name = "format", type = "choice", choices = { "text", "csv", "markdown", "plot" },
          default = "text", flag = "--format", doc = "Output format.",
        },
        {
          name = "report", type = "string", is_list = true, flag = "--figure", metavar = "FIGURE",
          doc = "A metric to show, such as ttft_ms.p99, instead of the script's metrics.",
        },
        {
          name = "x", type = "string", flag = "--x", metavar = "PARAMETER",
          doc = "Parameter on the x axis of a plot.",
        },
        {
          name = "page", type = "path", is_output = true, flag = "--report", metavar = "FILE.html",
          endings = endings.page,
          doc = "Write an HTML report instead: curves over parameters, and the Pareto front.",
        },
      },
    },
    versions,
  },
}

local function print_table(parsed)
  local self, opened = open(table_definition, parsed)
  local values = parsed.values.output
  local result = table_of.new(self, opened.known)
  for _, name in ipairs(values.report or {}) do
    command.checked(table_definition, result.check_metric, result, name)
  end
  result.shown = values.report or result.shown
  if values.page then
    origin.set_command { "sweep", "table", table.unpack(parsed.args) }
    result.store, result.is_read = opened.folder, true
    return command.checked(table_definition, result.report, result, values.page)
  end
  local texts = {
    text = function() return tostring(result) .. "\n" end,
    csv = function() return result:csv() end,
    markdown = function() return result:markdown() end,
    plot = function() return result:plot { x = values.x } .. "\n" end,
  }
  command.print(command.checked(table_definition, texts[values.format]))
end

--- blis sweep export ----------------------------------------------------------------------------

local export_definition = {
  name = "sweep export",
  summary = "write all trials as CSV, JSON or SQLite, a row for each",
  usage = "blis sweep export DIR [FLAGS]",
  positional = folder,
  groups = {
    {
      title = "Output", section = "output", has_defaults = true, options = {
        {
          name = "format", type = "choice", choices = { "csv", "json", "sqlite" }, default = "csv",
          flag = "--format", doc = "Output format.",
        },
        {
          name = "path", type = "path", flag = "--output", metavar = "FILE",
          doc = "Output file (default: standard output; required for sqlite).",
        },
      },
    },
    versions,
  },
}

local function export_trials(parsed)
  local self, opened = open(export_definition, parsed)
  local values = parsed.values.output
  local list = export.rows(self, opened.known)
  if values.format == "sqlite" then
    if not values.path then flags.fail(export_definition, "--format sqlite requires --output "
      .. "FILE") end
    command.checked(export_definition, core.output_probe, values.path)
    export.write_sqlite(list, values.path)
  elseif values.path then
    export.write_file(values.path, export[values.format](list))
  else
    command.print(export[values.format](list))
  end
end

--- blis sweep merge -----------------------------------------------------------------------------

local merge_definition = {
  name = "sweep merge",
  summary = "copy the results of other folders into one",
  usage = "blis sweep merge DIR FROM...",
  description = "Copies results of trials of DIR from other folders into a new journal in DIR. The "
    .. "folders must contain the same sweep. If DIR does not exist, it is created with the sweep "
    .. "of the first folder.",
  positional = { name = "DIR FROM...", doc = "Target folder, and source "
    .. "folders.", count = math.huge },
  groups = { versions },
}

--- The record of a journal as a line again.
local function line_of(self, trial, one)
  if one.status ~= "done" then
    return record.of_failure(self, trial, one.status, one.reason or "")
  end
  return record.of_record(self, trial, one)
end

local function copy_missing(self, from, into, writer)
  local copied = 0
  for _, trial in ipairs(self.trials) do
    local one, known = from.known[trial.key], into.known[trial.key]
    if one and (not known or known.status ~= "done" and one.status == "done") then
      writer.append(line_of(self, trial, one))
      into.known[trial.key] = one
      copied = copied + 1
    end
  end
  return copied
end

--- The plan of the target folder, or of the first source folder; raises unless all folders contain
--- the same sweep.
local function common_plan(paths)
  local first = store.has_plan(paths[1]) and 1 or 2
  local self = command.checked(merge_definition, store.plan, paths[first])
  for i = first + 1, #paths do
    local other = command.checked(merge_definition, store.plan, paths[i])
    if other.script ~= self.script then
      flags.fail(merge_definition, "%s and %s are sweeps of different scripts", paths[first],
        paths[i])
    end
  end
  return self
end

local function merge(parsed)
  local paths, other_versions = parsed.positionals, parsed.values.versions.other
  if #paths < 2 then flags.fail(merge_definition, "FROM is missing") end
  local self = common_plan(paths)
  local into = command.checked(merge_definition, store.open, paths[1], self, other_versions)
  local writer = store.writer(paths[1], self)
  for i = 2, #paths do
    local from = command.checked(merge_definition, store.read, paths[i], self, other_versions)
    plan.adopt(self, from.known)
    command.say(("%s: %d results copied"):format(paths[i], copy_missing(self, from, into, writer)))
  end
  writer.close()
end

--- blis sweep retry -----------------------------------------------------------------------------

local retry_definition = {
  name = "sweep retry",
  summary = "mark failed trials to be run again",
  usage = "blis sweep retry DIR [FLAGS]",
  description = "Marks failed trials so that the next run of the script repeats them. Otherwise "
    .. "they stay failed, because deterministic trials fail again.",
  positional = folder,
  groups = {
    {
      title = "Trials", section = "retry", options = {
        {
          name = "only", type = "choice", choices = failure_kinds, flag = "--only",
          doc = "Mark only trials that failed in this way.",
        },
      },
    },
    versions,
  },
}

local function retry(parsed)
  local self, opened = open(retry_definition, parsed)
  local writer = store.writer(parsed.positional, self)
  local marked = 0
  for _, trial in ipairs(self.trials) do
    local one = opened.known[trial.key]
    local is_wanted = one and one.status ~= "done"
      and (not parsed.values.retry.only or parsed.values.retry.only == one.status)
    if is_wanted then
      writer.append(record.of_retry(trial.key))
      marked = marked + 1
    end
  end
  writer.close()
  command.say(("%d trials will be run again"):format(marked))
end

--- blis sweep submit ----------------------------------------------------------------------------

local engine_flags = {
  { name = "slurm", type = "boolean", default = false, flag = "--slurm",
    doc = "Write a Slurm job array." },
  { name = "k8s", type = "boolean", default = false, flag = "--k8s",
    doc = "Write an indexed Kubernetes Job." },
  { name = "parallel", type = "boolean", default = false, flag = "--parallel",
    doc = "Write a GNU parallel job, for the machines in the file BLIS_HOSTS or this machine." },
  { name = "condor", type = "boolean", default = false, flag = "--condor", doc = "Write an "
    .. "HTCondor job." },
}

local submit_definition = {
  name = "sweep submit",
  summary = "write the job that runs a sweep on many machines",
  usage = "blis sweep submit FILE (--slurm | --k8s | --parallel | --condor) [FLAGS]",
  description = "Prints the job for a scheduler or, with --now, submits it. All parts share a "
    .. "store; a repeated part runs only missing trials.",
  positional = { name = "FILE", doc = "The script with the sweep." },
  groups = {
    { title = "Engine", section = "engine", has_defaults = true, options = engine_flags },
    {
      title = "Job", section = "job", has_defaults = true, options = {
        { name = "shards", type = "integer", min = 1, max = 1000000, default = 32,
          flag = "--shards", doc = "Number of parts of the sweep: four to eight per machine." },
        { name = "cpus", type = "integer", min = 1, max = 100000, default = 1, flag = "--cpus",
          doc = "Processors per part." },
        { name = "store", type = "path", default = "my.sweep", flag = "--store", metavar = "DIR",
          doc = "Folder for results, shared by all machines." },
        { name = "only", type = "string", flag = "--only", metavar = "PARTS",
          doc = "Parts to run again, such as 3,17 or 0-5." },
        { name = "image", type = "string", default = "registry.example/blis", flag = "--image",
          doc = "Container image, for --k8s." },
        { name = "now", type = "boolean", default = false, flag = "--now",
          doc = "Submit the job with sbatch, kubectl, sh, or condor_submit." },
      },
    },
  },
}

--- The engine that was named; one and no more.
local function engine_of(parsed)
  local found
  for _, option in ipairs(engine_flags) do
    if parsed.values.engine[option.name] then
      if found then flags.fail(submit_definition, "--%s cannot be combined with --%s", found,
        option.name) end
      found = option.name
    end
  end
  return submit.engines[found]
    or flags.fail(submit_definition, "expected one of --slurm, --k8s, --parallel, and --condor")
end

local function print_job(parsed)
  if not parsed.positional then flags.fail(submit_definition, "FILE is missing") end
  local engine, job = engine_of(parsed), parsed.values.job
  job.script = parsed.positional
  if job.only then
    job.only = command.checked(submit_definition, submit.parts, job.only, job.shards)
  end
  local text = command.checked(submit_definition, engine.write, job)
  if not job.now then return command.print(text) end
  local pipe <close> = assert(io.popen(engine.command, "w"))
  pipe:write(text)
  local ok = pipe:close()
  if not ok then
    command.say(("blis: sweep submit: '%s' failed"):format(engine.command))
    return 1
  end
end

--- blis sweep watch -----------------------------------------------------------------------------

local watch_definition = {
  name = "sweep watch",
  summary = "show how far all parts are, and what failed where",
  usage = "blis sweep watch DIR [FLAGS]",
  description = "Prints a line periodically until no trial is missing, and each new failure with "
    .. "its journal (host and process).",
  positional = folder,
  groups = {
    {
      title = "Watching", section = "watch", has_defaults = true, options = {
        { name = "interval_us", type = "time_us", min = 100000, default = 5000000, unit = "us",
          flag = "--interval", metavar = "TIME", doc = "Time between checks." },
        { name = "once", type = "boolean", default = false, flag = "--once",
          doc = "Check once, and exit." },
      },
    },
    versions,
  },
}

--- Prints the failures that were not printed before.
local function tell_failures(self, opened, told)
  for _, trial in ipairs(self.trials) do
    local one = opened.known[trial.key]
    if one and one.status ~= "done" and not told[trial.key] then
      told[trial.key] = true
      command.print(("failed: %s: %s: %s (%s)\n"):format(plan.trial_name(self, trial), one.status,
        one.reason or "", one.journal))
    end
  end
end

local function watch(parsed)
  local values, told = parsed.values.watch, {}
  while true do
    local self, opened = open(watch_definition, parsed)
    local counts = count(self, opened)
    tell_failures(self, opened, told)
    command.print(("%s: %d of %d trials, %d failed; %d journals\n"):format(self.name,
      counts.done + counts.failed, counts.trials, counts.failed, opened.journals))
    if counts.missing == 0 or values.once then return 0 end
    io.stdout:flush()
    local _, how = os.execute(("sleep %.1f"):format(values.interval_us / 1e6))
    if how == "signal" then return 130 end
  end
end

--- blis sweep -----------------------------------------------------------------------------------

local commands = {
  run = command.define(run_definition, run_script),
  status = command.define(status_definition, print_status),
  table = command.define(table_definition, print_table),
  export = command.define(export_definition, export_trials),
  merge = command.define(merge_definition, merge),
  retry = command.define(retry_definition, retry),
  submit = command.define(submit_definition, print_job),
  watch = command.define(watch_definition, watch),
  ask = from_outside.ask, tell = from_outside.tell, try = from_outside.try,
}

return command.group({
  name = "sweep", summary = "run sweeps, and inspect their results",
  usage = "blis sweep COMMAND ...",
  description = "Scripts describe sweeps (blis.sweep); folders store their results.",
}, { "run", "status", "table", "export", "merge", "retry", "submit", "watch", "ask", "tell",
  "try" }, commands)
