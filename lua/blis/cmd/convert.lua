--- blis convert: presets, ServeGen data and inference-perf loads as workload specifications.
local command = require "blis.cli.command"
local core = require "blis.core"
local errors = require "blis.errors"
local flags = require "blis.cli.flags"
local inference_perf = require "blis.traffic.inference_perf"
local presets = require "blis.config.presets"
local sections = require "blis.config.conversion"
local shape = require "blis.traffic.shape"

--- A command with the flags of a section.
local function define(name, what, section, convert)
  local definition = {
    name = "convert " .. name,
    summary = what,
    usage = ("blis convert %s [FLAGS]"):format(name),
    description = "Prints a workload specification (YAML, version 2) for --workload-spec.",
    groups = {
      { title = "Input", section = "input", has_defaults = true, options = section.options },
    },
  }
  return command.define(definition, function(parsed)
    local values = parsed.values.input
    local required = section.options[1]
    if not values[required.name] then flags.fail(definition, "%s is missing", required.flag) end
    local spec, notes = command.checked(definition, convert, values, parsed.given)
    for _, note in ipairs(notes or spec:notes()) do command.talk(parsed, "%s", note) end
    command.print(spec:yaml())
  end)
end

--- Traffic with a shape, in windows with separate rates.
local function of_shaped(values, given)
  local lengths = presets.lengths[values.name]
  local found = shape.read(presets.shapes[values.name], "shape")
  return core.workload_spec({ category = "language",
    num_requests = given["--num-requests"] and values.requests or 0, horizon = found.length_us,
    clients = { { id = "preset-" .. values.name, rate_fraction = 1, arrival = "poisson",
      prompt = lengths.prompt, output = lengths.output,
      lifecycle = { windows = shape.windows(found, values.rate) } } } }, "preset", { seed = 0 })
end

local function of_preset(values, given)
  if presets.shapes[values.name] then return of_shaped(values, given) end
  local lengths = presets.lengths[values.name]
  local clients = lengths and { { id = "preset-" .. values.name, arrival = "constant",
    prompt = lengths.prompt, output = lengths.output } } or presets.scenarios[values.name]
  return core.workload_spec({ category = "language", aggregate_rate = values.rate,
    num_requests = values.requests, clients = clients }, "preset", { seed = 0 })
end

local function of_servegen(values)
  return core.workload_spec({ servegen_data = { path = values.path,
    window_duration_secs = values.window_s, drain_timeout_secs = values.drain_s } }, "servegen",
    { seed = 42, cohort_prefix = values.time and values.time .. "-" })
end

local function of_inference_perf(values)
  local settings = { seed = 0, is_only_read = true }
  local ok, spec = pcall(errors.located, core.workload_spec, values.spec, "spec", settings)
  local assumed = {}
  if not ok then
    if not inference_perf.is_meant(spec) then error(spec, 0) end
    local given
    given, assumed = inference_perf.read(values.spec, values.stage)
    if given.graphs then
      errors.raise("usage", ("convert inference-perf: %s: its conversations or stages are session "
        .. "graphs, which a specification cannot have; 'blis run --workload-spec %s' runs them")
        :format(values.spec, values.spec))
    end
    spec = core.workload_spec(given, "spec", settings)
  elseif values.stage then
    errors.raise("usage", "convert inference-perf: --stage needs a configuration of inference-perf "
      .. "with load.stages")
  end
  local notes = table.move(spec:notes(), 1, #spec:notes(), #assumed + 1, assumed)
  if spec:is_spread() then
    notes[#notes + 1] = "the number of requests per user is lost: arrivals are Poisson and "
      .. "unlimited; set --num-requests or --horizon of blis run"
  end
  return spec, notes
end

local commands = {
  preset = define("preset", "a preset or scenario of blis run --workload", sections.preset,
    of_preset),
  servegen = define("servegen", "a folder of ServeGen data", sections.servegen, of_servegen),
  ["inference-perf"] = define("inference-perf",
    "a configuration of inference-perf, or a specification with an inference_perf block",
    sections.inference_perf, of_inference_perf),
}

return command.group({
  name = "convert",
  summary = "write presets and other loads as workload specifications",
  usage = "blis convert COMMAND [FLAGS]",
}, { "preset", "servegen", "inference-perf" }, commands)
