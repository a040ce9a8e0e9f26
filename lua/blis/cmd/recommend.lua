--- blis recommend: the best layouts of a budget of GPUs.
local canonical = require "blis.sweep.canonical"
local core = require "blis.core"
local json = require "blis.json"
local session_graphs = require "blis.cli.session_graphs"
local recommend = require "blis.recommend"
local scaling_section = require "blis.feature.scaling.options"
local search = require "blis.cli.search"
local simulate = require "blis.cli.simulate"
local sweep_sections = require "blis.config.sweep"
local traffic = require "blis.cli.traffic"
local verdict = require "blis.results.verdict"

local not_here = {
  ["--num-requests"] = "runs are as long as they need to be",
  ["--workload-spec"] = "the rate of its clients cannot be set",
}
for _, flag in ipairs { "--num-instances", "--tp", "--prefill-instances", "--decode-instances",
  "--prefill-decode-instances", "--architecture", "--prefill-tp", "--decode-tp" } do
  not_here[flag] = "layouts set it"
end
for _, flag in ipairs { "--encode-instances", "--encode-decider", "--encode-base-us",
  "--encode-us-per-token" } do
  not_here[flag] = "layouts have no encode instances"
end
local is_fixed = "layouts have a fixed number of instances"
for _, flag in ipairs { "--autoscaler", "--autoscaler-enabled", "--autoscaler-parameter",
  "--model-autoscaler-interval-us" } do
  not_here[flag] = is_fixed
end
for _, option in ipairs(scaling_section.options) do
  if option.flag then not_here[option.flag] = is_fixed end
end

for _, option in ipairs(session_graphs.of_plays()) do
  not_here[option.flag] = "recommend varies the rate, which graphs with --graph-play do not have"
end

local groups = search.groups(sweep_sections.recommend, { "gpus", "tp_degrees", "layouts",
  "hardware", "decode_hardware", "finalists", "exhaustive", "max_missed", "from", "tolerance",
  "max_requests", "replications", "store", "jobs" }, not_here)

local definition = {
  name = "recommend",
  summary = "find the best layouts of a budget of GPUs, with and without pools",
  usage = "blis recommend --gpus N --target METRIC=LIMIT [FLAGS]",
  description = "Tries all layouts of the model on the GPUs: equal instances, and every split into "
    .. "prefill and decode pools, at several tensor parallel degrees. Bounds each layout by short "
    .. "runs, screens candidates with three seeds, and confirms the best with all seeds. Prints "
    .. "the highest load that meets the targets, per GPU and per dollar, and why other layouts are "
    .. "infeasible. With --rate, also prints the number of copies of each layout that serve this "
    .. "rate.",
  groups = groups,
  not_here = not_here,
  notes = "Exit status: 3 if no layout is known to meet the targets. TIME is a number with "
    .. "a unit: 500us, 50ms, 30s, 5m, 1h.",
}

--- The experiment that the flags describe at a rate.
local function new_experiment(parsed)
  local values, given = parsed.values, parsed.given
  return function(p)
    values.output.quiet = true -- warnings about flags were already printed
    values.workload.rate, given["--rate"] = p.rate, true
    traffic.set_length(parsed, p.requests)
    local function talk() end
    values.cluster.architecture = "pd" -- flags of hand-offs count: there will be pools
    local spec = simulate.experiment(definition, parsed,
      traffic.of_flags(definition, parsed, talk), values.experiment.horizon_us)
    spec.cluster.architecture, values.cluster.architecture = nil, nil -- layouts set it
    return spec
  end
end

--- What stands for the experiment in a store: its flags, and the files that they name.
local function identity_of(parsed)
  local parts = {}
  for _, group in ipairs(groups) do
    for _, option in ipairs(group.options) do
      local value = parsed.values[group.section] and parsed.values[group.section][option.name]
      if parsed.given[option.flag] and group.section ~= "search" and group.section ~= "output" then
        parts[#parts + 1] = option.flag .. " " .. canonical.text(value, option.flag)
        local file <close> = type(value) == "string" and core.open_input(value) or nil
        parts[#parts + 1] = file and core.hash128(file:read "a" or "") or nil
      end
    end
  end
  return table.concat(parts, "\0")
end

local function spec_of(parsed)
  local spec = search.spec(definition, parsed)
  spec.identity = spec.store and "flags " .. identity_of(parsed)
  if parsed.given["--rate"] then spec.rate = parsed.values.workload.rate end
  simulate.prepare(parsed)
  spec.experiment = new_experiment(parsed)
  return spec
end

local layout_keys = { "name", "kind", "gpus", "usd_per_hour", "bound", "is_confirmed", "goodput",
  "low", "high", "expected_error", "error_basis", "error_reason", "range_low", "range_high",
  "per_gpu", "per_usd", "copies", "copies_low", "copies_high", "rate_gpus",
  "rate_usd_per_hour", "on_front" }

local function write_list(writer, name, list, keys)
  writer:array(name)
  for _, one in ipairs(list) do json.write_object(writer, nil, keys, one) end
  writer:done()
end

--- A row for each layout.
local function rows(found)
  local list = {}
  for i, layout in ipairs(found.layouts) do
    list[i] = {}
    for k, name in ipairs(layout_keys) do list[i][k] = layout[name] end
  end
  return layout_keys, list
end

local function write(writer, found)
  verdict.write(writer, found.verdict)
  writer:field("headline", found:headline()):field("gpus", found.gpus):field("seeds", found.seeds)
  json.write_list(writer, "targets", found.targets)
  write_list(writer, "layouts", found.layouts, layout_keys)
  write_list(writer, "infeasible", found.infeasible, { "name", "kind", "reason" })
  json.write_list(writer, "notes", found.notes)
end

return search.define(definition, function(parsed) return recommend.search(spec_of(parsed)) end,
  write, rows, function(found) return #found.layouts > 0 end)
