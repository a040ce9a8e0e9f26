--- The shared part of commands that simulate: makes an experiment from flags, runs it, and prints
--- and writes its result.
local catalogue = require "blis.cli.catalogue"
local cluster_section = require "blis.config.cluster"
local command = require "blis.cli.command"
local core = require "blis.core"
local deferred = require "blis.deferred"
local bundle = deferred "blis.cli.bundle"
local detectors = require "blis.cli.detectors"
local experiment = require "blis.experiment"
local experiment_section = require "blis.config.experiment"
local features = require "blis.feature"
local fitness = require "blis.results.fitness"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local go_blis = require "blis.cli.go_blis"
local metrics = require "blis.cli.metrics"
local origin = deferred "blis.page.origin"
local outputs = require "blis.cli.outputs"
local page = deferred "blis.page.result"
local parameters = require "blis.cli.parameters"
local progress = require "blis.cli.progress"
local result_text = require "blis.cli.result_text"
local saturation = require "blis.results.saturation"
local targets = require "blis.cli.targets"
local terminal = require "blis.terminal"

local simulate = {}

--- Returns the group of flags of a section with one title.
local function group(title, section)
  return { title = title, section = section.name, options = flags.of_group(section, title) }
end

--- Returns the groups of flags of a cluster and its policies, by ascending positions.
local function cluster_groups()
  local groups = features.flag_groups()
  local function add(at, one)
    one.at = at
    groups[#groups + 1] = one
  end
  add(10, group("Model and hardware", cluster_section))
  add(20, { title = "Catalogue", section = "catalogue", options = flag_sections.catalogue.options })
  add(30, group("KV cache", cluster_section))
  add(40, group("Cost and energy", cluster_section))
  add(50, group("Serving engine", cluster_section))
  add(60, group("Admission and routing", experiment_section))
  add(70, { title = "Parameters of policies", section = "policies",
    options = features.with_policy_flags(flag_sections.policies.options) })
  add(80, group("Signals and delays", cluster_section))
  table.sort(groups, function(a, b) return a.at < b.at end)
  return groups
end

--- Returns the groups of flags of an experiment; `traffic` contains the groups of its requests.
---@param traffic blis.cli.Group[]
---@return blis.cli.Group[]
function simulate.experiment_groups(traffic)
  local groups = table.move(traffic, 1, #traffic, 1, {})
  local rest = cluster_groups()
  table.move(rest, 1, #rest, #groups + 1, groups)
  groups[#groups + 1] = group("Run", experiment_section)
  groups[#groups + 1] = {
    title = "Service level objectives", section = "targets", options = targets.section.options,
  }
  return groups
end

--- Returns the groups of flags of a command that simulates once.
---@param traffic blis.cli.Group[]
---@return blis.cli.Group[]
function simulate.groups(traffic)
  local groups = simulate.experiment_groups(traffic)
  groups[#groups + 1] = {
    title = "Overload", section = "detectors", options = detectors.section.options,
  }
  groups[#groups + 1] = {
    title = "Results", section = "output", has_defaults = true,
    options = flag_sections.results.options,
  }
  groups[#groups + 1] = {
    title = "For compatibility", section = "ignored", options = flag_sections.ignored.options,
  }
  return groups
end

--- Returns what features use of a command line.
---@return blis.feature.Flags
local function cli_of(definition, parsed)
  return {
    command = definition.name, values = parsed.values, given = parsed.given,
    fail = function(...) return flags.fail(definition, ...) end,
    talk = function(...) command.talk(parsed, ...) end,
    add_parameters = function(...) parameters.add(definition, ...) end,
  }
end

simulate.cli_of = cli_of

--- Returns the routing policy as blis.run takes it.
local function routing_of(definition, parsed)
  local name = parsed.values.experiment.routing
  local given = parsed.values.policies
  if parsed.given["--routing-scorers"] and not given.scorers
    and parsed.values.experiment.profile ~= "go-blis" then -- there, an empty text is the default
    flags.fail(definition, "--routing-scorers: the list is empty, expected NAME:WEIGHT,... such as "
      .. "prefix-affinity:3,queue-depth:2")
  end
  local of_bundle = (given.of_routing or {})[name]
  local scorers = features.flag_scorers(given.scorers, name, cli_of(definition, parsed))
  if not scorers and not given.parameters and not of_bundle then return name end
  local routing = { name or "round-robin" }
  for key, value in pairs(of_bundle or {}) do routing[key] = value end
  if scorers then
    if routing[1] == "weighted" then
      routing.scorers = scorers
    else
      command.talk(parsed, "%s: no effect with routing policy %s",
        given.scorers_of or "--routing-scorers", routing[1])
    end
  end
  parameters.add(definition, routing, "--routing-parameter", given.parameters)
  return routing
end

--- Returns the admission policy as blis.run takes it: parameters of a bundle, then of flags.
local function admission_of(definition, parsed)
  local name = parsed.values.experiment.admission
  local given = parsed.values.policies
  local admission = { name or "always-admit" }
  for key, value in pairs((given.of_admission or {})[admission[1]] or {}) do
    admission[key] = value
  end
  if name == "token-bucket" then
    admission.bucket_size = given.bucket_size or admission.bucket_size
    admission.refill_rate = given.refill_rate or admission.refill_rate
  elseif given.bucket_size or given.refill_rate then
    command.talk(parsed, "--token-bucket-capacity and --token-bucket-refill-rate have no effect "
      .. "with admission policy %s", admission[1])
  end
  parameters.add(definition, admission, "--admission-parameter", given.admission_parameters)
  return admission
end

--- Returns phases in the form of blis.run, from a string such as "night=0,morning=6h" or from the
--- table of a bundle.
local function phases_of(definition, given, profile)
  if type(given) ~= "string" then return given end
  local list, bare = {}, {}
  for part in (given .. ","):gmatch("([^,]*),") do
    local name, text = part:match("^%s*([^=]-)%s*=%s*(%S+)%s*$")
    local from_us = text and flags.duration(text, bare, "--phases", name)
    if not from_us or name == "" then
      flags.fail(definition, "--phases: invalid value '%s': expected NAME=TIME such as "
        .. "morning=6h", part)
    end
    list[#list + 1] = { name = name, from_us = from_us }
  end
  if bare[1] and profile ~= "go-blis" then flags.fail(definition, "%s", bare[1]) end
  return list
end

-- Priority policies of BLIS (Go): there, a request keeps the priority of its SLO class.
local go_blis_priorities = { constant = true, ["slo-based"] = true }

--- Returns the priority policy as blis.run takes it.
local function priority_of(parsed)
  local given = parsed.values.experiment
  local name = type(given.priority) == "table" and given.priority[1] or given.priority
  if given.profile == "go-blis" and go_blis_priorities[name] then return nil end
  return given.priority
end

--- Sets the values of flags that are not set from a policy bundle.
local function add_bundle(parsed)
  local path = parsed.values.policies.bundle
  if not path then return end
  bundle.add(path, parsed.values, function(...) command.talk(parsed, ...) end)
end

--- Reads the files that flags name: the catalog and the policy bundle.
---@param parsed blis.cli.Parsed
function simulate.prepare(parsed)
  catalogue.add(parsed)
  add_bundle(parsed)
end

--- Returns the experiment of the flags, with `traffic`.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param workload any
---@param horizon_us? integer
---@return blis.Experiment
function simulate.experiment(definition, parsed, workload, horizon_us)
  local given = parsed.values.experiment
  local cluster = {}
  for key, value in pairs(parsed.values.cluster) do cluster[key] = value end
  local keeps_records = not parsed.values.output.no_records
  local spec = {
    cluster = cluster, workload = workload, routing = routing_of(definition, parsed),
    admission = admission_of(definition, parsed), priority = priority_of(parsed),
    phases = phases_of(definition, given.phases, given.profile),
    seed = given.seed, horizon_us = horizon_us,
    profile = given.profile, trace_level = given.trace_level,
    counterfactual_k = given.counterfactual_k, instance_times = keeps_records,
    keep_records = keeps_records,
    warm_up_us = given.warm_up_us, cool_down_us = given.cool_down_us,
    warm_up_requests = given.warm_up_requests,
    series_interval_us = given.series_interval_us,
    slo_targets = targets.of_flags(definition, parsed.values.targets),
    keep_requests = parsed.values.output.trace_output ~= nil,
  }
  features.apply_flags(spec, cli_of(definition, parsed))
  return spec
end

local function prints_summary(values)
  local format = values.output.format
  return format == "table" or format == nil and values.experiment.profile ~= "go-blis"
end

-- Outputs that need the records of requests: section, option, and flag.
local made_of_records = {
  { "output", "metrics_path", "--metrics-path" },
  { "output", "results_path", "--results-path" },
  { "output", "requests_path", "--requests-path" },
  { "output", "trace_output", "--trace-output" },
  { "output", "timeline", "--timeline" },
  { "experiment", "phases", "--phases" },
  { "experiment", "warm_up_us", "--warm-up" },
  { "experiment", "cool_down_us", "--cool-down" },
  { "experiment", "warm_up_requests", "--warm-up-requests" },
  { "detectors", "names", "--detectors" },
}

--- Raises an error for an output that needs records, if the run keeps none.
local function check_records(definition, parsed)
  local values = parsed.values
  if not values.output.no_records then return end
  for _, entry in ipairs(made_of_records) do
    if values[entry[1]][entry[2]] ~= nil then
      flags.fail(definition, "%s cannot be combined with --no-records", entry[3])
    end
  end
  if targets.of_flags(definition, values.targets) then
    flags.fail(definition, "goodput (--slo-ttft, --slo-itl, --slo-e2e) cannot be combined with "
      .. "--no-records")
  end
  if not prints_summary(values) then
    flags.fail(definition, "--no-records leaves only the summary: it requires --format table")
  end
end

local function check_watch(definition, output)
  if output.watch and output.quiet then
    flags.fail(definition, "--watch cannot be combined with --quiet")
  end
end

--- Raises an error, or prints a line, for an output whose source is not set.
local function check_results(definition, parsed)
  if parsed.values.output.series_path and not parsed.values.experiment.series_interval_us then
    flags.fail(definition, "--series-path requires --series-interval")
  end
  local output = parsed.values.output
  for name, option in pairs { from = "from_us", to = "to_us", every = "every", steps = "steps" } do
    if not output.timeline and output["timeline_" .. option] then
      flags.fail(definition, "--timeline-" .. name .. " needs --timeline")
    end
  end
  local from_us, to_us = output.timeline_from_us, output.timeline_to_us
  if from_us and to_us and to_us < from_us then
    flags.fail(definition, "--timeline-to is before --timeline-from")
  end
  local is_traced = parsed.values.experiment.trace_level == "decisions"
  local shows = output.decisions_path or output.summarize_trace or output.report or output.save
  if is_traced and not shows then
    command.talk(parsed, "--trace-level decisions records decisions, but no output shows them; add "
      .. "--summarize-trace, --decisions-path FILE, or --report FILE.html")
  end
  if is_traced then return end
  if output.decisions_path then
    flags.fail(definition, "--decisions-path requires --trace-level decisions")
  elseif output.summarize_trace then
    command.talk(parsed, "--summarize-trace has no effect without --trace-level decisions")
  end
end

-- Number of rows of a series in a report: more than a chart can show.
local report_rows = 240

--- Nothing that matters happens faster than a step.
local least_interval_us = 10000

--- Returns the interval of the series that a report draws if no interval is set: the length of the
--- traffic divided by report_rows. Returns nil if the length is unknown.
local function report_interval(parsed, setting)
  local traffic, given = setting.workload, parsed.values.workload or {}
  local length_us
  if core.is_workload(traffic) then
    length_us = traffic:last_arrival_us()
  elseif setting.horizon_us and setting.horizon_us < math.maxinteger then
    length_us = setting.horizon_us
  elseif given.requests and given.rate then
    length_us = given.requests / given.rate * 1e6
  end
  return length_us and math.max(least_interval_us, math.floor(length_us / report_rows)) or nil
end

--- Writes the page, with the command line that made it.
local function write_report(definition, parsed, path, run)
  origin.set_command { definition.name, table.unpack(parsed.args) }
  page.write(path, run.result, run)
end

local function write_files(definition, parsed, run)
  local output, result = parsed.values.output, run.result
  local report = parsed.values.detectors.report
  if report then saturation.save(run.saturation, report) end
  if output.metrics_path then metrics.write_file(output.metrics_path, run) end
  if output.results_path then metrics.write_results(output.results_path, result) end
  if output.requests_path then result:export_requests(output.requests_path) end
  if output.series_path then result:export_series(output.series_path) end
  if output.decisions_path then result:save_decisions(output.decisions_path) end
  if output.save then result:save(output.save) end
  if output.report then write_report(definition, parsed, output.report, run) end
  if output.timeline then
    result:timeline(output.timeline, { from_us = output.timeline_from_us,
      to_us = output.timeline_to_us, every = output.timeline_every })
  end
  if output.trace_output then result:write_trace(output.trace_output, { format = "tracev2" }) end
end

--- Returns the text to print, in the requested format.
local function text_of(run, format, profile)
  if format == nil and profile == "go-blis" then return go_blis.text(run) end
  local text = result_text[format or "table"](run)
  return (format or "table") == "table" and terminal.fitted(text) or text
end

local function run_to_the_end(sim, line)
  local _ <close> = line -- is removed at the end, also after an error
  local result = sim:run()
  sim:close()
  return result
end

--- Returns the weights of the fitness of a run, nil without any.
local function weights_of(definition, parsed)
  local text = parsed.values.output.fitness_weights
  local weights = text and fitness.parse(text)
  if weights and definition.name == "replay" and parsed.values.experiment.profile == "go-blis" then
    command.talk(parsed, "--fitness-weights has no effect in a replay of profile go-blis")
    return nil
  end
  return weights
end

---@class blis.cli.Setting
---@field workload any
---@field horizon_us? integer
---@field open? fun(spec: blis.Experiment): blis.Simulation in place of experiment.simulation
---@field drive? fun(sim: blis.Simulation) before the simulation runs to its end

--- Simulates, writes the requested files, and prints the result.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param make_setting fun(): blis.cli.Setting
function simulate.run(definition, parsed, make_setting)
  local output = parsed.values.output
  local profile = parsed.values.experiment.profile
  local setting, weights, looks, sim
  local line = progress.line(parsed, (parsed.values.workload or {}).requests)
  command.checked(definition, function()
    weights = weights_of(definition, parsed)
    looks = detectors.of_flags(definition, parsed.values.detectors,
      function(...) command.talk(parsed, ...) end)
    check_results(definition, parsed)
    check_records(definition, parsed)
    check_watch(definition, output)
    outputs.check(definition, parsed)
    simulate.prepare(parsed)
    setting = make_setting()
    local spec = simulate.experiment(definition, parsed, setting.workload, setting.horizon_us)
    if parsed.values.output.report and not spec.series_interval_us then
      spec.series_interval_us = report_interval(parsed, setting)
    end
    spec.keep_timeline = output.timeline and true or nil
    if output.timeline_steps then
      spec.keep_steps, spec.keep_steps_from_us, spec.keep_steps_to_us = true,
        output.timeline_from_us, output.timeline_to_us
    end
    spec.watch = output.watch
    if not output.watch and not setting.open then spec.progress = line.tell end
    sim = (setting.open or experiment.simulation)(spec)
    if setting.drive then setting.drive(sim) end
  end)
  local result = run_to_the_end(sim, line)
  local run = {
    result = result, fitness = weights and fitness.of(result, weights),
    scheduler = parsed.values.cluster.scheduler,
    flags = parsed.values,
    saturation = looks and result:saturation(looks),
    decisions = output.summarize_trace and rawget(result, "decisions"),
  }
  write_files(definition, parsed, run)
  for note in (prints_summary(parsed.values) and "" or result.setup.notes):gmatch("[^\n]+") do
    command.talk(parsed, "%s", note)
  end
  if not outputs.take_standard_output(definition, parsed) then
    command.print(text_of(run, output.format, profile))
  end
end

return simulate
