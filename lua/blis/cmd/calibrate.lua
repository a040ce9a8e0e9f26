--- blis calibrate: how close simulated latencies are to measured ones, and step times that are
--- closer.
local calibrate = require "blis.calibrate"
local calibration = require "blis.calibrate.trace_comparison"
local catalogue = require "blis.cli.catalogue"
local cluster_section = require "blis.config.cluster"
local command = require "blis.cli.command"
local core = require "blis.core"
local deferred = require "blis.deferred"
local library = require "blis.catalogue"
local observation = deferred "blis.cli.observation"
local descriptions = require "blis.catalogue.descriptions"
local errors = require "blis.errors"
local fit_progress = require "blis.cli.fit_progress"
local fit_section = require "blis.config.fit"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local kernels = require "blis.calibrate.kernels"
local outputs = require "blis.cli.outputs"
local report = require "blis.cli.calibration_report"
local schema = require "blis.config.schema"
local sections = require "blis.config.calibration"
local slo = require "blis.results.slo"
local targets = require "blis.cli.targets"
local yaml_file = require "blis.yaml_file"

local engine_options = { "model", "model_config", "hardware", "tp", "dp", "expert_parallel",
  "max_model_len", "max_num_seqs", "max_num_batched_tokens", "long_prefill_token_threshold",
  "kv_blocks", "block_size", "gpu_memory_utilization" }

local definition = {
  name = "calibrate",
  summary = "compare simulated with measured latencies, and fit step times to them",
  usage = "blis calibrate --fit OBSERVED --model NAME --hardware NAME [--coefficients FILE] "
    .. "[FLAGS]\n       blis calibrate --observe URL --model NAME --hardware NAME [FLAGS]"
    .. "\n       blis calibrate --kernels DIR --hardware NAME [--coefficients FILE] [FLAGS]"
    .. "\n       blis calibrate --trace-header FILE --trace-data FILE --sim-results FILE "
    .. "--report FILE [FLAGS]",
  description = "With --fit, replays measured requests of one engine and fits the step times of "
    .. "the calibrated latency model to half of them. Input: a CSV table, TraceV2, or a report of "
    .. "vllm bench serve, GuideLLM, or inference-perf; rows can also be means by rate. Prints the "
    .. "errors before and after the fit, on the fitted half and on the held-out half.\n\nWith "
    .. "--observe, first sends a workload to a real endpoint and measures the answers.\n\nWith "
    .. "--kernels, fits the closed form of kernels to times that share/profile measured; together "
    .. "with --fit, also the scales of the composed latency model to the requests.\n\nWithout "
    .. "both, pairs the requests of an observed trace (TraceV2) with the results of its replay "
    .. "(blis replay --results-path) and writes a report (JSON) with total and per-request errors "
    .. "of TTFT, E2E, and inter-token latency. Prints a summary to standard error. Ignores "
    .. "requests whose status is not ok.",
  groups = {
    { title = "Measurement", section = "observation", has_defaults = true,
      options = sections.observation.options },
    { title = "Fit", section = "fit", options = flags.pick(fit_section,
      { "observed", "kernels", "until_gap", "trials" }) },
    { title = "The engine that was measured, for --fit and --kernels", section = "cluster",
      options = flags.pick(cluster_section, engine_options) },
    { title = "Catalogue", section = "catalogue", options = flag_sections.catalogue.options },
    {
      title = "Files", section = "files", has_defaults = true, options = sections.files.options,
    },
    {
      title = "Comparison", section = "comparison", has_defaults = true,
      options = sections.comparison.options,
    },
    {
      title = "Service level objectives", section = "targets", options = targets.section.options,
    },
    { title = "Output", section = "output", has_defaults = true,
      options = sections.output.options },
  },
}

local function check_is_given(given, options, reason)
  for _, option in ipairs(options) do
    if not given[option.name] then
      flags.fail(definition, "%s is missing%s", option.flag, reason or "")
    end
  end
end

--- A JSON file; root_type is the type of its root.
local function read_json(path)
  local root = core.json_read(descriptions.read(path), path)
  if type(root) ~= "table" then errors.raise("parse", path .. ": expected an object or a list") end
  return root
end

--- A number of an object in a JSON file.
local function number_in(object, name, place)
  local value = type(object) == "table" and object[name]
  if type(value) ~= "number" then
    errors.raise("parse", ("%s: %s: %s: expected a number"):format(place, name,
      errors.invalid_value(value or nil)))
  end
  return value
end

local function read_simulated(path)
  local list, by_id = read_json(path), {}
  for i, one in ipairs(list) do
    local place = ("%s: [%d]"):format(path, i)
    for _, name in ipairs { "request_id", "ttft_us", "e2e_us", "input_tokens",
      "output_tokens" } do
      number_in(one, name, place)
    end
    if one.itl_mean_us then number_in(one, "itl_mean_us", place) end
    by_id[one.request_id] = one
  end
  if #list == 0 then errors.raise("parse", path .. ": no results") end
  return by_id
end

local function read_rows(path)
  local rows, lines = core.csv_read(path, sections.columns), {}
  if #rows == 0 then errors.raise("parse", path .. ": no requests") end
  for _, row in ipairs(rows) do
    local first = lines[row.request_id]
    if first then
      errors.raise("parse", ("%s:%d: duplicate request_id %d, first used in line %d"):format(path,
        row.line, row.request_id, first))
    end
    lines[row.request_id] = row.line
  end
  return rows
end

--- The times of the chunks of every request, in order.
local function read_chunks(path)
  local rows, by_id = core.csv_read(path, sections.itl_columns), {}
  table.sort(rows, function(a, b)
    if a.request_id ~= b.request_id then return a.request_id < b.request_id end
    if a.chunk_index ~= b.chunk_index then return a.chunk_index < b.chunk_index end
    return a.line < b.line
  end)
  for _, row in ipairs(rows) do
    by_id[row.request_id] = by_id[row.request_id] or {}
    table.insert(by_id[row.request_id], row.timestamp_us)
  end
  return by_id
end

local function read_header(path)
  local file = yaml_file.read(path)
  return yaml_file.located(file, "header", function()
    local values = schema.read(sections.header, file.root, "header")
    if values.goodput_slo_targets then
      values.targets = slo.read(values.goodput_slo_targets, "header.goodput_slo_targets")
    end
    return values
  end)
end

--- Targets of flags, with the targets of the header as defaults.
local function targets_of(parsed, header)
  local given = targets.of_flags(definition, parsed.values.targets)
  return slo.merge(given and slo.read(given, "targets") or {}, header.targets or {})
end

local function check_comparable(result, files)
  if result.info.matched == 0 then
    errors.raise("failed", ("no request of %s occurs in %s"):format(files.data, files.results))
  end
  if not result.metrics.ttft then
    errors.raise("failed", files.data .. ": every request has a negative time")
  end
end

local function compare(parsed)
  local files, given = parsed.values.files, parsed.values.comparison
  check_is_given(files, sections.required)
  local header = read_header(files.header)
  local rtt_ms = (header.network or {}).measured_rtt_ms or 0
  local result = calibration.of {
    rows = read_rows(files.data), simulated = read_simulated(files.results),
    chunks = files.itl and read_chunks(files.itl),
    warm_up = given.warm_up >= 0 and given.warm_up or header.warm_up_requests or 0,
    rtt_us = given.rtt_us >= 0 and given.rtt_us or math.floor(rtt_ms * 1000),
    mbps = given.mbps, targets = targets_of(parsed, header),
  }
  check_comparable(result, files)
  local hit_rate
  if files.metrics then
    local simulated = read_json(files.metrics).cache_hit_rate
    local observed = header.observed_kv_metrics
    if observed and type(simulated) == "number" then
      hit_rate = { real = observed.hit_rate or 0, simulated = simulated, source = observed.source }
    else
      command.talk(parsed, "hit rates are not compared: %s has none",
        observed and files.metrics or files.header)
    end
  end
  report.write(files.report, result, hit_rate, given)
  return report.summary(result, hit_rate, given)
end

--- Compares with a reference that supports adapters.
local function compare_adapters(parsed)
  local files, given = parsed.values.files, parsed.values.comparison
  check_is_given(files, { sections.by_name.metrics, sections.by_name.report },
    ", which --adapter-reference requires")
  local function figures(path)
    local metrics = read_json(path)
    local seconds = number_in(metrics, "vllm_estimated_duration_s", path)
    local tokens = number_in(metrics, "total_output_tokens", path)
    return {
      ttft = number_in(metrics, "ttft_mean_ms", path),
      throughput = seconds > 0 and tokens / seconds or 0.0,
    }
  end
  local function reference(object, name)
    local place = files.adapters .. ": " .. name
    return {
      ttft = number_in(object[name], "ttft", place),
      throughput = number_in(object[name], "output_throughput", place),
    }
  end
  local root = read_json(files.adapters)
  local aware, blind = reference(root, "adapter_aware"), nil
  local own, own_blind = figures(files.metrics), nil
  if files.metrics_blind then
    blind, own_blind = reference(root, "adapter_blind"), figures(files.metrics_blind)
  end
  return report.write_adapters(files.report, {
    model = type(root.model) == "string" and root.model or "",
    threshold = given.adapter_threshold, reference = aware, blind = blind, own = own,
    own_blind = own_blind,
  })
end

-- Options that require --fit, and options that exclude it.
local only_fit = { fit = true, cluster = true, ["--coefficients"] = true, ["--plot"] = true }
local only_comparison = { files = true, comparison = true, targets = true }

--- An option that is not read is a mistake.
local function check_are_read(parsed, unread, problem)
  for _, group in ipairs(definition.groups) do
    for _, option in ipairs(group.options) do
      if (unread[group.section] or unread[option.flag]) and parsed.given[option.flag] then
        flags.fail(definition, "%s " .. problem, option.flag)
      end
    end
  end
end

--- Fits step times; exit status 3 if the target of --until is not reached.
local function fit(parsed)
  local given, output = parsed.values.fit, parsed.values.output
  check_are_read(parsed, only_comparison, "has no effect with --fit")
  catalogue.add(parsed)
  local progress <close> = fit_progress.line(parsed)
  local fitted = calibrate.run {
    observed = given.observed, kernels = given.kernels, cluster = parsed.values.cluster,
    until_gap = given.until_gap, trials = given.trials, tell = progress.tell,
  }
  local print = outputs.take_standard_output(definition, parsed) and command.say or command.print
  print(tostring(fitted) .. "\n")
  if output.coefficients then fitted:save(output.coefficients) end
  if output.plot then fitted:plot(output.plot) end
  return fitted.is_within == false and 3 or 0
end

--- Measures an endpoint, and fits step times to the measurements.
local function observe_and_fit(parsed)
  if parsed.values.fit.observed then
    flags.fail(definition, "--observe cannot be combined with --fit")
  end
  local measured <close> = observation.measure(parsed.values.observation, function(line)
    command.talk(parsed, "%s", line)
  end)
  parsed.values.fit.observed = measured.path
  return fit(parsed)
end

--- Fits the closed form of kernels alone.
local function fit_kernels(parsed)
  local given, output = parsed.values.fit, parsed.values.output
  for _, flag in ipairs { "--until", "--fit-trials", "--plot" } do
    if parsed.given[flag] then flags.fail(definition, "%s needs --fit", flag) end
  end
  check_are_read(parsed, { files = true, comparison = true, targets = true },
    "has no effect with --kernels")
  if not parsed.values.cluster.hardware then
    flags.fail(definition, "--hardware is missing: expected the measured GPU")
  end
  catalogue.add(parsed)
  local fitted = kernels.fit(given.kernels, parsed.values.cluster.hardware, library.with {})
  local print = outputs.take_standard_output(definition, parsed) and command.say or command.print
  print(tostring(fitted) .. "\n")
  if output.coefficients then fitted:save(output.coefficients) end
  return 0
end

return command.define(definition, function(parsed)
  command.checked(definition, outputs.check, definition, parsed)
  if parsed.values.fit.kernels and not parsed.values.fit.observed then
    return command.checked(definition, fit_kernels, parsed)
  end
  if parsed.values.observation.target then
    return command.checked(definition, observe_and_fit, parsed)
  end
  check_are_read(parsed, { observation = true }, "needs --observe")
  if parsed.values.fit.observed then return command.checked(definition, fit, parsed) end
  check_are_read(parsed, only_fit, "needs --fit")
  local lines = command.checked(definition,
    parsed.values.files.adapters and compare_adapters or compare, parsed)
  if not parsed.values.output.quiet then
    for _, line in ipairs(lines) do command.say(line) end
  end
end)
