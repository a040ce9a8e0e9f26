--- blis capacity: the highest load, or the fewest instances, that meets the targets.
local capacity = require "blis.capacity"
local command = require "blis.cli.command"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local flags = require "blis.cli.flags"
local json = require "blis.json"
local search = require "blis.cli.search"
local setting = require "blis.capacity.setting"
local simulate = require "blis.cli.simulate"
local sweep_sections = require "blis.config.sweep"
local traffic = require "blis.cli.traffic"
local verdict = require "blis.results.verdict"

local groups = search.groups(sweep_sections.capacity, { "parameter", "objective", "from", "to",
  "tolerance", "max_missed", "max_requests", "replications", "jobs" })

local definition = {
  name = "capacity",
  summary = "find the highest load, or the fewest instances, that meets latency targets",
  usage = "blis capacity --target METRIC=LIMIT [FLAGS]",
  description = "Runs the cluster that the flags describe under generated traffic with different "
    .. "rates (or other numbers), for as long as it takes to reach steady state, and prints the "
    .. "answer with its interval and the values tried. A surge at the answer shows whether the "
    .. "cluster recovers from an overload.",
  groups = groups,
  notes = "Exit status: 3 if no value is known to meet the targets. TIME is a number with "
    .. "a unit: 500us, 50ms, 30s, 5m, 1h.",
}

--- The option that --vary names, and its section.
local function find_varied(name)
  local words = {}
  for _, group in ipairs(groups) do
    for _, option in ipairs(group.options) do
      local is_number = option.type == "integer" or option.type == "number"
      if is_number and group.section ~= "search" then
        if option.flag == "--" .. name then return option, group.section end
        words[#words + 1] = option.flag:sub(3)
      end
    end
  end
  flags.fail(definition, "--vary: unknown numeric flag '--%s'%s", name,
    errors.suggestion(name, words, ""))
end

local function experiment_of(parsed)
  local function talk(format, ...) command.talk(parsed, format, ...) end
  return simulate.experiment(definition, parsed, traffic.of_flags(definition, parsed, talk),
    parsed.values.experiment.horizon_us)
end

--- Parses the flags with one flag changed, for a trial; with a shape of the rate for a surge.
local function new_trial(parsed, option, section)
  local values, given = parsed.values, parsed.given
  return function(p, shape)
    values.output.quiet = true -- warnings about flags were already printed
    values[section][option.name], given[option.flag] = p[option.name], true
    values.experiment.seed, given["--seed"] = p.seed, true
    traffic.set_length(parsed, p.requests)
    local spec = experiment_of(parsed)
    if shape then spec.workload = setting.with_shape(spec.workload, shape) end
    return experiment.run(spec)
  end
end

--- Fails if the command line also sets the value that the search varies.
local function check_not_set(parsed, option)
  if not parsed.given[option.flag] then return end
  flags.fail(definition, "%s cannot be combined with a search that varies it; --from and --to set "
    .. "the range%s", option.flag, option.flag == "--rate"
    and ". To find the fewest instances for a rate, add --vary num-instances" or "")
end

local function spec_of(parsed)
  local spec = search.spec(definition, parsed)
  local option, section = find_varied(spec.parameter or "rate")
  check_not_set(parsed, option)
  if option.flag == "--rate" then -- the traffic has a rate, which the search sets
    parsed.values[section][option.name], parsed.given[option.flag] = spec.from or 1, true
  end
  simulate.prepare(parsed)
  traffic.check_varied(definition, parsed, option.flag)
  local one = experiment_of(parsed)
  experiment.read(one)
  spec.parameter = option.name
  spec.integer = option.type == "integer"
  spec.trial = new_trial(parsed, option, section)
  spec.requests = parsed.values.workload.requests or parsed.values.graphs.count
  return spec, setting.takes_shape(one.workload) and spec.trial or nil
end

local function write_point(writer, point, names)
  writer:object():field("value", point.value)
  for _, key in ipairs { "met", "missed", "overloaded", "unsettled", "requests",
    "missed_share" } do
    writer:field(key, point[key])
  end
  writer:object("figures")
  for _, name in ipairs(names) do
    if point.figures[name] then writer:field(name, point.figures[name]) end
  end
  writer:done():done()
end

-- Columns of a point, in addition to its value and its metrics.
local point_columns = { "verdict", "met", "missed", "overloaded", "unsettled", "requests",
  "missed_share" }

-- Columns after the metrics, in the row of the value that the basis describes: the range of the
-- answer over the error of step times.
local range_columns = { "range_low", "range_high", "expected_error", "error_basis",
  "error_reason" }

--- The cells of these columns.
local function range_cells(found)
  local one = found.basis
  local range = one.model_range or {}
  return { range.low, range.high, one.expected_error, one.error_basis, one.error_reason }
end

--- A row for each value that was tried.
local function rows(found)
  local columns, list = { found.parameter, table.unpack(point_columns) }, {}
  table.move(found.figures, 1, #found.figures, #columns + 1, columns)
  local before = #columns
  table.move(range_columns, 1, #range_columns, before + 1, columns)
  for i, point in ipairs(found.curve) do
    local row = { point.value }
    for k, name in ipairs(point_columns) do row[k + 1] = point[name] end
    for k, name in ipairs(found.figures) do row[#point_columns + 1 + k] = point.figures[name] end
    if found.basis and found.basis.value == point.value then
      local cells = range_cells(found)
      for k = 1, #range_columns do row[before + k] = cells[k] end
    end
    list[i] = row
  end
  return columns, list
end

local function write(writer, found)
  verdict.write(writer, found.verdict)
  json.write_fields(writer, { "parameter", "objective", "value", "low", "high", "interval" }, found)
  for _, key in ipairs { "targets", "notes" } do json.write_list(writer, key, found[key]) end
  if found.basis then
    json.write_object(writer, "basis", { "value", "gpus", "hardware", "usd_per_hour",
      "binding_constraint", "share_beyond", "expected_error", "error_basis",
      "error_reason", "ttft_error",
      "requests_per_sec", "goodput_per_sec", "attainment" }, found.basis)
    if found.basis.model_range then
      json.write_object(writer, "model_range", { "error", "low", "high" }, found.basis.model_range)
    end
  end
  if found.surge then
    json.write_object(writer, "surge", { "value", "recovers", "surge_requests", "requests",
      "ttft_ms", "calm_ttft_ms", "recovers_at" }, found.surge)
  end
  writer:array("curve")
  for _, point in ipairs(found.curve) do write_point(writer, point, found.figures) end
  writer:done()
end

return search.define(definition, function(parsed)
    return capacity.search_surged(spec_of(parsed))
  end,
  write, rows, function(found)
    if found.surge then return true end
    if found.objective == "max" then return found.low ~= nil end
    return found.high ~= nil
  end)
