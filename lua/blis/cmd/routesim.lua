--- blis routesim: the commands of RouteSim, with its configurations and traces.
local command = require "blis.cli.command"
local config = require "blis.routesim.config"
local core = require "blis.core"
local experiment = require "blis.experiment"
local flags = require "blis.cli.flags"
local report = require "blis.routesim.report"
local traces = require "blis.traffic.trace"
local traffic = require "blis.routesim.traffic"

local commands = {}

local function path_flag(name, flag, short, doc)
  return { name = name, type = "path", flag = flag, flag_aliases = short and { short }, doc = doc }
end

local config_flag = path_flag("config", "--config", "-c", "The configuration, a TOML file.")
local output_flag = path_flag("output", "--output", "-o", "Write here.")
local trace_flag = path_flag("trace", "--trace", "-t",
  "The requests; default: [trace] of the configuration.")
local algorithm_flag = { name = "algorithm", type = "string", default = "round_robin",
  flag = "--algorithm", flag_aliases = { "-a" }, doc = "Algorithm to run; see list-algorithms." }

local function group(...)
  return { title = "Flags", section = "routesim", has_defaults = true, options = { ... } }
end

local function define(name, definition, body)
  definition.name = "routesim " .. name
  definition.usage = ("blis routesim %s [FLAGS]"):format(name)
  commands[name] = command.define(definition, function(parsed)
    return command.checked(definition, body, parsed.values.routesim, parsed, definition)
  end)
end

--- Writes a file whole or not at all, or to standard output.
local function write(path, text)
  if not path then return command.print(text) end
  local output <close> = core.output(path)
  output:write(text)
  output:commit()
end

local function needs(given, name, definition)
  if not given[name] then flags.fail(definition, "--%s is missing", name) end
  return given[name]
end

local function run_one(read, requests, algorithm)
  local spec = config.experiment(read)
  spec.workload, spec.routing = requests, config.algorithm(algorithm)
  local pools = read.tables.disaggregated
  return {
    algorithm = algorithm, result = experiment.run(spec),
    prefill_backends = pools.enabled and pools.prefill_backends or 0,
  }
end

--- Prints a row for each run, and optionally writes the metrics.
local function tell(title, list, output)
  command.print(report.table(title, list))
  if output then write(output, report.json(list, true)) end
end

define("run", {
  summary = "run one algorithm",
  description = "Runs an algorithm on the trace of the configuration, or of --trace, and prints "
    .. "the summary. --output writes the metrics as JSON.",
  groups = { group(config_flag, trace_flag, algorithm_flag, output_flag) },
}, function(given, _, definition)
  local read = config.read(needs(given, "config", definition))
  local one = run_one(read, config.requests(read, given.trace), given.algorithm)
  command.print(tostring(one.result) .. "\n")
  if given.output then write(given.output, report.json({ one }, false)) end
end)

define("compare", {
  summary = "run several algorithms on the same requests",
  description = "Runs algorithms on the same requests and prints a row for each. --output writes "
    .. "the metrics as a JSON list.",
  groups = { group(config_flag, trace_flag,
    { name = "algorithms", type = "string", flag = "--algorithms", flag_aliases = { "-A" },
      metavar = "NAME,...", doc = "Algorithms to run. Default: every algorithm." }, output_flag) },
}, function(given, _, definition)
  local read = config.read(needs(given, "config", definition))
  local requests, list = config.requests(read, given.trace), {}
  local names = config.algorithms()
  if given.algorithms then
    names = {}
    for name in given.algorithms:gmatch "[^,%s]+" do names[#names + 1] = name end
    if #names == 0 then flags.fail(definition, "--algorithms: the list is empty") end
  end
  for _, name in ipairs(names) do config.algorithm(name) end
  for i, name in ipairs(names) do list[i] = run_one(read, requests, name) end
  tell("Algorithm", list, given.output)
end)

define("gen-trace", {
  summary = "generate requests",
  description = "Writes requests at equal intervals in RouteSim's compact format. Lengths are "
    .. "uniform within a deviation of their means, and prompts start with one of several prefixes.",
  groups = { group(output_flag,
    { name = "seed", type = "integer", default = 42, flag = "--seed", doc = "Relative deviation of "
      .. "lengths." },
    table.unpack(traffic.section.options, 2)) },
}, function(given)
  traffic.check(given, "--duration")
  write(given.output, traffic.lines(given, given.seed))
end)

define("convert", {
  summary = "write a trace in RouteSim's compact format",
  description = "Reads a trace of any supported format, including Mooncake and OpenTelemetry, and "
    .. "writes it in RouteSim's compact format.",
  groups = { group(path_flag("input", "--input", "-i", "The trace."), output_flag,
    { name = "block_size", type = "integer", min = 1, max = 1048576, flag = "--block-size",
      unit = "tokens", doc = "Block size of the hash IDs of a Mooncake trace. Default: 512." }) },
}, function(given, _, definition)
  local path, output = needs(given, "input", definition), needs(given, "output", definition)
  local options = given.block_size and { hash_block_tokens = given.block_size } or nil
  traces.read(path, options):write(output, { format = "routesim" })
end)

--- Prompts of 500 to 699 tokens, including a 256-token prefix out of ten prefixes, and outputs of
--- 150 to 199.
local function sweep_traffic(rate, duration)
  return { rate = rate, duration_sec = duration, prompt_tokens_mean = 600, prompt_tokens_std = 100,
    gen_tokens_mean = 175, gen_tokens_std = 25, num_prefixes = 10, prefix_len_mean = 256 }
end

define("sweep", {
  summary = "run an algorithm at several rates",
  description = "Generates requests at each rate and prints a row for each. Prompts have 500 to "
    .. "699 tokens, including a 256-token prefix out of ten prefixes; outputs have 150 to 199.",
  groups = { group(config_flag, algorithm_flag,
    { name = "rates", type = "numbers", flag = "--rates", unit = "requests/s",
      doc = "The rates, a list such as 50,100,200." },
    { name = "duration", type = "number", above = 0, max = 1e7, default = 60, unit = "s",
      bare_unit = "s", flag = "--duration",
      doc = "Duration of the arrivals. A number without unit is in seconds." }, output_flag) },
}, function(given, _, definition)
  local read = config.read(needs(given, "config", definition))
  local loads, list = {}, {}
  for i, rate in ipairs(needs(given, "rates", definition)) do
    if rate <= 0 then flags.fail(definition, "--rates: %s is not above 0", rate) end
    loads[i] = sweep_traffic(rate, given.duration)
    traffic.check(loads[i], "--rates")
  end
  for i, load in ipairs(loads) do
    list[i] = run_one(read, traffic.requests(load, read.tables.simulation.seed), given.algorithm)
    list[i].algorithm = ("%g requests/s"):format(load.rate)
  end
  tell("Rate", list, given.output)
end)

define("list-algorithms", {
  summary = "list the algorithms",
  description = "Lists the routing algorithms of RouteSim. 'blis policies routesim.NAME' describes "
    .. "one.",
  groups = {},
}, function()
  for _, entry in ipairs(core.policies().routers) do
    local name = entry.name:match "^routesim%.(.*)$"
    if name then command.print(("%-20s %s\n"):format(name, entry.summary)) end
  end
end)

return command.group({
  name = "routesim",
  summary = "run configurations and traces of RouteSim",
  usage = "blis routesim COMMAND [FLAGS]",
}, { "run", "compare", "gen-trace", "convert", "sweep", "list-algorithms" }, commands)
