--- blis recommend: the best layouts of a budget of GPUs.
local command = require "blis.cli.command"
local core = require "blis.core"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local recommend = require "blis.recommend"
local simulate = require "blis.cli.simulate"
local sweep_sections = require "blis.config.sweep"
local target_flags = require "blis.cli.target_flags"
local traffic = require "blis.cli.traffic"

local search_options = flags.pick(sweep_sections.recommend, { "gpus", "degrees", "layouts",
  "hardware", "decode_hardware", "finalists", "exhaustive", "max_missed", "from", "tolerance",
  "max_requests", "replications", "jobs" })
table.insert(search_options, 1, target_flags.option)

-- What layouts say themselves, and a file whose rate cannot be set.
local taken = { ["--num-instances"] = true, ["--tp"] = true, ["--prefill-instances"] = true,
  ["--decode-instances"] = true, ["--prefill-decode-instances"] = true, ["--architecture"] = true,
  ["--prefill-tp"] = true, ["--decode-tp"] = true, ["--encode-instances"] = true,
  ["--encode-decider"] = true, ["--encode-base-us"] = true, ["--encode-us-per-token"] = true,
  ["--workload-spec"] = true }

local groups = simulate.experiment_groups(traffic.groups())
groups[#groups + 1] = { title = "Search", section = "search", options = search_options }
groups[#groups + 1] = {
  title = "Output", section = "output", has_defaults = true, options = flag_sections.answer.options,
}
for _, group in ipairs(groups) do
  local kept = {}
  for _, option in ipairs(group.options) do
    if not taken[option.flag] then kept[#kept + 1] = option end
  end
  group.options = kept
end

local definition = {
  name = "recommend",
  summary = "find the best layouts of a budget of GPUs, with and without pools",
  usage = "blis recommend --gpus N --target FIGURE=LIMIT [FLAGS]",
  description = "Tries all ways to put the model on the GPUs: equal instances, and pools for "
    .. "prefill and decode of any split, at several tensor parallel degrees. Bounds each by short "
    .. "runs, screens those that may lead with three seeds, confirms the best with all of them, "
    .. "and prints the load they take while the targets are kept, for each GPU and dollar, and "
    .. "why others are infeasible.",
  groups = groups,
  notes = "TIME is a number of microseconds, or one with a unit: 500us, 50ms, 30s, 5m, 1h.",
}

--- The experiment that the flags describe at a rate.
local function new_experiment(parsed)
  local values, given = parsed.values, parsed.given
  return function(p)
    values.output.quiet = true -- what there is to be said of flags has been said
    values.workload.rate, given["--rate"] = p.rate, true
    values.workload.requests, given["--num-requests"] = p.requests, true
    local function talk() end
    values.cluster.architecture = "pd" -- flags of hand-offs count: there will be pools
    local spec = simulate.experiment(definition, parsed,
      traffic.of_flags(definition, parsed, talk), values.experiment.horizon_us)
    spec.cluster.architecture, values.cluster.architecture = nil, nil -- layouts say it
    return spec
  end
end

local function spec_of(parsed)
  local spec = {}
  for name, value in pairs(parsed.values.search) do spec[name] = value end
  simulate.prepare(parsed)
  spec.targets = target_flags.read(definition, spec.targets)
  spec.quiet, spec.seed = parsed.values.output.quiet, parsed.values.experiment.seed
  spec.experiment = new_experiment(parsed)
  return spec
end

local layout_keys = { "name", "kind", "gpus", "usd_per_hour", "bound", "is_confirmed", "goodput",
  "low", "high", "per_gpu", "per_usd", "on_front" }

local function write_list(writer, name, list, keys)
  writer:array(name)
  for _, one in ipairs(list) do
    writer:object()
    for _, key in ipairs(keys) do
      if one[key] ~= nil then writer:field(key, one[key]) end
    end
    writer:done()
  end
  writer:done()
end

local function write_texts(writer, name, list)
  writer:array(name)
  for _, text in ipairs(list) do writer:item(text) end
  writer:done()
end

local function json(found)
  local writer = core.json_writer(2):object()
  writer:field("headline", found:headline()):field("gpus", found.gpus):field("seeds", found.seeds)
  write_texts(writer, "targets", found.targets)
  write_list(writer, "layouts", found.layouts, layout_keys)
  write_list(writer, "infeasible", found.infeasible, { "name", "kind", "reason" })
  write_texts(writer, "notes", found.notes)
  return writer:done():take() .. "\n"
end

return command.define(definition, function(parsed)
  local format = parsed.values.output.format
  local found = command.checked(definition, function() return recommend.search(spec_of(parsed)) end)
  command.print(format == "json" and json(found) or tostring(found) .. "\n")
end)
