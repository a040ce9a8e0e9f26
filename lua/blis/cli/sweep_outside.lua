--- blis sweep ask, tell, and try: sweeps for external programs, which run its trials (ask and tell)
--- or choose its points (try).
local asking = require "blis.sweep.asking"
local canonical = require "blis.sweep.canonical"
local command = require "blis.cli.command"
local core = require "blis.core"
local errors = require "blis.errors"
local flags = require "blis.cli.flags"
local outside = require "blis.sweep.outside"
local statistics = require "blis.statistics"
local settings = require "blis.sweep.settings"
local store = require "blis.sweep.store"
local table_of = require "blis.sweep.table"
local write = require "blis.sweep.write"

local commands = {}

local which = {
  name = "name", type = "string", flag = "--sweep", metavar = "NAME",
  doc = "Name of the sweep in the script. Default: its first sweep.",
}

local function store_option(doc)
  return { name = "store", type = "path", flag = "--store", metavar = "DIR", doc = doc }
end

--- blis sweep ask -------------------------------------------------------------------------------

local ask_definition = {
  name = "sweep ask",
  summary = "take trials to run elsewhere, as JSON",
  usage = "blis sweep ask (DIR | FILE --store DIR) [FLAGS]",
  description = "Prints trials without a result, one line of JSON each: id, parameters, seed, and "
    .. "the end of the reservation. Record the result of a trial with 'blis sweep tell'. Prints "
    .. "nothing if all trials have a result or are reserved. Any number of processes can call it "
    .. "concurrently.",
  positional = { name = "DIR or FILE", doc = "Folder of the sweep, or its script with --store. The "
    .. "script is not run." },
  groups = {
    {
      title = "Asking", section = "ask", has_defaults = true, options = {
        { name = "count", type = "integer", min = 1, max = 100000, default = 1, flag = "--count",
          doc = "Maximum number of trials to take." },
        { name = "lease_us", type = "time_us", min = 1000000, default = 3600000000, unit = "us",
          flag = "--lease", metavar = "TIME",
          doc = "Time after which an unfinished trial is offered again." },
        store_option "Folder for results, for a script. Default: the folder set in the script.",
        which,
      },
    },
  },
}

--- A folder contains the plan; only a script needs --sweep and --store.
local function check_folder_alone(values)
  for _, name in ipairs { "store", "name" } do
    if values[name] then
      flags.fail(ask_definition, "%s requires a script, not a sweep folder",
        name == "store" and "--store" or "--sweep")
    end
  end
end

--- The folder of a script's sweep, made if need be.
local function folder_of_script(definition, path, values)
  settings.overrides.store = values.store
  local object, run_values = command.checked(definition, outside.sweep_of, path, values.name)
  if not run_values.store then
    flags.fail(definition, "--store is missing: %s sets no folder for results", path)
  end
  command.checked(definition, store.open, run_values.store, object.plan, run_values.other_versions)
  return run_values.store
end

local function print_asked(self, list)
  for _, one in ipairs(list) do
    local writer = core.json_writer():object():field("id", one.id)
    canonical.write(writer, self.points[one.trial.point].labels, "parameters", "parameters")
    command.print(writer:field("seed", one.trial.seed):field("replication", one.trial.replication)
      :field("until", os.date("!%Y-%m-%dT%H:%M:%SZ", one.until_s)):done():take() .. "\n")
  end
end

local function ask(parsed)
  local path, values = parsed.positional, parsed.values.ask
  if not path then flags.fail(ask_definition, "DIR or FILE is missing") end
  local is_folder = store.has_plan(path)
  if is_folder then check_folder_alone(values) end
  local folder = is_folder and path or folder_of_script(ask_definition, path, values)
  local self = command.checked(ask_definition, store.plan, folder)
  local opened = command.checked(ask_definition, store.read, folder, self)
  local list, others = command.checked(ask_definition, asking.ask, folder, self, opened.known,
    values.count, values.lease_us // 1000000)
  print_asked(self, list)
  if #list == 0 then
    local why = others == 0 and "all trials have a result"
      or ("other processes are running the %d trials without a result"):format(others)
    command.say(("blis: sweep ask: %s: %s"):format(folder, why))
  end
end

--- blis sweep tell ------------------------------------------------------------------------------

local tell_definition = {
  name = "sweep tell",
  summary = "record the result of a trial run elsewhere",
  usage = "blis sweep tell DIR ID (NAME=VALUE... | --values FILE | --failed REASON | --release)",
  description = "Records the metrics of a trial from 'blis sweep ask' as if it had run here. Only "
    .. "the first result of a trial counts.",
  positional = { name = "DIR ID [NAME=VALUE...]", count = math.huge,
    doc = "The sweep's folder, the ID of the trial, and its metrics: ttft_ms.p99=412.5." },
  groups = {
    {
      title = "Telling", section = "tell", has_defaults = true, options = {
        { name = "values", type = "path", flag = "--values", metavar = "FILE",
          doc = "Metrics as JSON: a number, or an object whose nested names are joined by dots, "
            .. "such as the output of 'blis run --format json'. '-' is standard input." },
        { name = "reason", type = "string", flag = "--failed", metavar = "REASON",
          doc = "Record a failure with this reason." },
        { name = "release", type = "boolean", default = false, flag = "--release",
          doc = "Release the trial for other processes." },
      },
    },
  },
}

local function read_values(path)
  local file, problem = io.stdin, nil
  if path ~= "-" then file, problem = core.open_input(path) end
  if not file then errors.invalid("cannot read %s", problem) end
  local text, unread = file:read("a")
  if path ~= "-" then file:close() end
  if not text then errors.invalid("cannot read %s: %s", path, unread) end
  local ok, values = pcall(core.json_read, text, path == "-" and "standard input" or path)
  if not ok then errors.invalid("--values: %s", values.message or tostring(values)) end
  return values
end

local function pair_of(definition, text)
  local name, value = text:match "^([^=]+)=(.*)$"
  if not name then flags.fail(definition, "invalid value '%s': expected NAME=VALUE", text) end
  return name, value
end

--- The metrics among the arguments, or nil.
local function figures_of(parsed)
  local figures
  for i = 3, #parsed.positionals do
    local name, text = pair_of(tell_definition, parsed.positionals[i])
    local value = tonumber(text)
    if not value or value - value ~= 0 then
      flags.fail(tell_definition, "%s: invalid value '%s': expected a finite number", name, text)
    end
    figures = figures or {}
    if figures[name] then flags.fail(tell_definition, "%s appears twice", name) end
    figures[name] = value
  end
  return figures
end

--- The result to record; exactly one form is allowed.
local function told_of(parsed)
  local values, told = parsed.values.tell, {}
  local figures = figures_of(parsed)
  local ways = (figures and 1 or 0) + (values.values and 1 or 0) + (values.reason and 1 or 0)
    + (values.release and 1 or 0)
  if ways ~= 1 then
    flags.fail(tell_definition, "expected one of NAME=VALUE, --values, --failed and --release, "
      .. "got %s", ways == 0 and "none" or "several")
  end
  told.values = figures
    or values.values and command.checked(tell_definition, read_values, values.values)
  told.reason = values.reason
  return told
end

local function tell(parsed)
  local folder, id = parsed.positionals[1], parsed.positionals[2]
  if not id then flags.fail(tell_definition, "%s is missing", folder and "ID" or "DIR") end
  local told = told_of(parsed)
  local self = command.checked(tell_definition, store.plan, folder)
  local opened = command.checked(tell_definition, store.read, folder, self)
  local writer = store.writer(folder, self)
  local ok, what = pcall(asking.tell, folder, self, opened, writer, id, told)
  writer.close()
  if not ok then
    command.checked(tell_definition, function()
      if type(what) == "string" then errors.invalid("%s", what) end
      error(what, 0)
    end)
  end
  if what == "known" then
    command.say("blis: sweep tell: the trial already has a result, which is kept")
  end
end

--- blis sweep try -------------------------------------------------------------------------------

local try_definition = {
  name = "sweep try",
  summary = "run one trial at a point you choose, and print its metrics as JSON",
  usage = "blis sweep try FILE NAME=VALUE... [FLAGS]",
  description = "For optimizers that choose the points. The sweep of the script defines "
    .. "parameters, bounds, trials, and the number of seeds. Values must be in the range of their "
    .. "parameter; for a list of numbers, any number in its range is allowed. With a store, "
    .. "finished trials are reused. The exit status is 1 if a trial failed.",
  positional = { name = "FILE NAME=VALUE...", count = math.huge,
    doc = "The script, and a value for each of its parameters." },
  groups = {
    {
      title = "Trying", section = "try", has_defaults = true, options = {
        { name = "report", type = "string", is_list = true, flag = "--figure", metavar = "FIGURE",
          doc = "A metric to print, such as ttft_ms.p99. Default: the metrics of the sweep." },
        store_option("Folder for results, which any number of processes can share. Default: the "
          .. "script's folder, if set."),
        { name = "jobs", type = "jobs", default = 1, flag = "--jobs", metavar = "N",
          doc = "Seeds that run side by side, as worker processes." },
        which,
      },
    },
  },
}

--- A command-line value: a number, true, false, or a string.
local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  return tonumber(text) or text
end

local function point_of(parsed)
  local given = {}
  for i = 2, #parsed.positionals do
    local name, text = pair_of(try_definition, parsed.positionals[i])
    if given[name] ~= nil then flags.fail(try_definition, "%s appears twice", name) end
    given[name] = value_of(text)
  end
  return given
end

local function write_trial(writer, one, figures)
  writer:object():field("seed", one.seed):field("status", one.status)
  if one.reason then writer:field("reason", one.reason) end
  if one.hash then writer:field("hash", one.hash) end
  if one.values then
    writer:object("values")
    for _, name in ipairs(figures) do
      if one.values[name] then writer:field(name, one.values[name]) end
    end
    writer:done()
  end
  writer:done()
end

--- The metrics as JSON: means over the seeds, their intervals, and each trial.
local function text_of(tried, figures)
  local result = table_of.new(tried.plan, tried.known)
  for _, name in ipairs(figures or {}) do result:check_metric(name) end
  figures = figures or result.shown
  local point, writer = result.points[1], core.json_writer():object()
  canonical.write(writer, tried.plan.points[1].labels, "parameters", "parameters")
  local is_done = #result.failures == 0
  writer:field("status", is_done and "done" or "failed"):object("values")
  for _, name in ipairs(figures) do
    if point.metrics[name] then writer:field(name, point.metrics[name].mean) end
  end
  writer:done():object("intervals")
  for _, name in ipairs(figures) do
    local metric = point.metrics[name]
    if metric and metric.n >= statistics.fewest_for_interval then
      writer:array(name):item(metric.low):item(metric.high):done()
    end
  end
  writer:done()
  local notes = is_done and write.notes(result) or {}
  if #notes > 0 then
    writer:array "warnings"
    for _, note in ipairs(notes) do writer:item(note) end
    writer:done()
  end
  writer:array("trials")
  for _, trial in ipairs(tried.plan.trials) do
    local one = tried.known[trial.key]
    if one then write_trial(writer, one, figures) end
  end
  return writer:done():done():take() .. "\n", is_done
end

local function try(parsed)
  local path, values = parsed.positional, parsed.values.try
  if not path then flags.fail(try_definition, "FILE is missing") end
  local overrides = settings.overrides
  overrides.store, overrides.jobs, overrides.quiet = values.store, values.jobs, true
  local given = point_of(parsed)
  local object, run_values = command.checked(try_definition, outside.sweep_of, path, values.name)
  local tried = command.checked(try_definition, outside.try, object, run_values, given)
  local text, is_done = command.checked(try_definition, text_of, tried, values.report)
  command.print(text)
  return is_done and 0 or 1
end

commands.ask = command.define(ask_definition, ask)
commands.tell = command.define(tell_definition, tell)
commands.try = command.define(try_definition, try)

return commands
