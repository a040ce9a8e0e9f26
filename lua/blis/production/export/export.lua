--- Policies as configurations of routers that run in production, with what was measured of them.
local core = require "blis.core"
local errors = require "blis.errors"
local fitness = require "blis.results.fitness"
local flags = require "blis.production.export.flags"
local import = require "blis.production.import"
local llmd = require "blis.production.export.llmd"
local measure = require "blis.production.gate.measure"
local statistics = require "blis.statistics"
local suite = require "blis.production.gate.suite"
local workload = require "blis.production.conformance_workload"
local words = require "blis.statistics.words"

local export = {}

export.systems = { "llm-d", "dynamo", "smg" }

---@class blis.export.Exported
---@field system string
---@field config string without comments
---@field findings blis.production.Findings
---@field equal integer decisions on the conformance workload that its import takes as well
---@field decisions integer
---@field hash string of that run, of the policy as it was
---@field measured? table

--- The configuration, before anything is measured.
local function configuration(system, one)
  if system == "llm-d" then return llmd.of(one.points, one.name) end
  return flags.of(system, one.points, one.name)
end

--- The policies that a configuration says, read as anybody would.
local function imported(system, text, labels)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local ok, found = pcall(import.read, path, { from = system, allow_missing = true,
    labels = labels })
  os.remove(path)
  if not ok then error(found, 0) end
  return load(found.lua, "=import", "t")("policy")
end

local function points_of(experiment)
  return { routing = experiment.routing, admission = experiment.admission,
    queue = experiment.queue, disaggregation = experiment.disaggregation }
end

--- A routing policy that breaks ties as another one does: llm-d draws among equal scores.
local function with_ties_of(routing, original)
  local is_drawn = type(routing) == "table" and routing[1] == "weighted"
    and routing.picker == "llm-d.max-score-picker"
  local has_own = type(original) == "table" and getmetatable(original) == nil and original.picker
  if not is_drawn or has_own then return routing, false end
  local copy = {}
  for key, value in pairs(routing) do copy[key] = value end
  copy.picker, copy.tie = nil, type(original) == "table" and original.tie or nil
  return copy, true
end

--- How the policy that the text says decides, against the one that it is made of.
local function check_round_trip(made, one)
  local has_pools = one.points.disaggregation ~= nil
  local before = workload.run(one.points, has_pools)
  local read = points_of(imported(made.system, made.config, made.labels))
  read.routing, made.up_to_ties = with_ties_of(read.routing, one.points.routing)
  local after = workload.run(read, has_pools)
  made.equal, made.decisions = workload.agreement(before, after)
  made.hash, made.rounded_hash = tostring(before.hash), tostring(after.hash)
end

--- Metrics relative to a baseline, over the scenarios of the gate.
local function measured(one, baseline, seeds)
  local lists, list = { base = {}, new = {} }, {}
  local scenarios = suite.read().scenarios
  for i = 1, seeds do list[i] = i end
  for _, scenario in ipairs(scenarios) do
    local runs = measure.run(baseline, one, scenario, list)
    for side, values in pairs(runs) do
      table.move(values, 1, #values, #lists[side] + 1, lists[side])
    end
  end
  local found = { baseline = baseline.name, seeds = seeds, scenarios = #scenarios, figures = {},
    p99_ttft_ms = 0 }
  for _, values in ipairs(lists.new) do
    found.p99_ttft_ms = found.p99_ttft_ms + values.ttft_p99_ms / #lists.new
  end
  for i, figure in ipairs(measure.figures) do
    local a, b = {}, {}
    for k = 1, #lists.base do
      a[k], b[k] = lists.base[k][figure.name], lists.new[k][figure.name]
    end
    found.figures[i] = { name = figure.name, title = figure.title,
      pair = statistics.paired(a, b, { kind = figure.kind }) }
  end
  return found
end

local function check_mapped(made, allow_missing)
  local missing = made.findings:of "unmapped"
  if allow_missing or #missing == 0 then return end
  local lines = {}
  for i, one in ipairs(missing) do
    lines[i] = ("%s: %s: %s"):format(made.findings.source, one.part, one.text)
  end
  lines[#lines + 1] = ("This has no counterpart in %s; --allow-missing omits it"):format(
    made.system)
  errors.raise("parse", table.concat(lines, "\n"))
end

--- Exports a policy.
---@param system string
---@param one blis.production.Subject
---@param options { allow_missing?: boolean, baseline?: blis.production.Subject, seeds?: integer }
---@return blis.export.Exported
function export.of(system, one, options)
  local found = configuration(system, one)
  local made = { system = system, config = found.text, findings = found.findings,
    labels = found.labels, label = one.label, signals = one.signals }
  check_mapped(made, options.allow_missing)
  if #made.findings:of "unmapped" == 0 then check_round_trip(made, one) end
  if options.baseline then
    made.measured = measured(one, options.baseline, options.seeds or 4)
  end
  return made
end

local function signals_text(made)
  local refresh = made.signals.snapshot_refresh_us
  return refresh and ("scraped every %g ms"):format(refresh / 1000) or "as the scenarios have them"
end

--- The lines of a comment, each behind "# ".
local function comment_lines(made)
  local lines = { ("%s, exported by blis %s (%s)"):format(made.label, core._VERSION,
    core.source_id or "") }
  lines[1] = lines[1]:gsub(" %(%)$", "")
  if made.equal then
    local text = "when imported again, it makes %d of %d decisions of the conformance workload "
      .. "alike%s"
    lines[#lines + 1] = text:format(made.equal, made.decisions,
      made.up_to_ties and ", up to ties" or "")
    lines[#lines + 1] = "result hash " .. made.hash
  end
  lines[#lines + 1] = "signals: " .. signals_text(made)
  local gain = made.measured
  if gain then
    lines[#lines + 1] = ("against %s, %d stock scenarios x %d seeds, 95 %% intervals:"):format(
      gain.baseline, gain.scenarios, gain.seeds)
    for _, one in ipairs(gain.figures) do
      local pair = one.pair
      lines[#lines + 1] = ("  %s %s (%s to %s)"):format(one.title, words.change(pair, pair.change),
        words.change(pair, pair.low or pair.change), words.change(pair, pair.high or pair.change))
    end
  end
  for _, kind in ipairs { "unmapped", "note" } do
    for _, one in ipairs(made.findings:of(kind)) do
      lines[#lines + 1] = ("%s: %s%s"):format(one.part, kind == "unmapped" and "omitted: " or "",
        one.text)
    end
  end
  return lines
end

--- The configuration with comments about it.
---@param made blis.export.Exported
---@return string
function export.text(made)
  return "# " .. table.concat(comment_lines(made), "\n# ") .. "\n" .. made.config
end

--- The configuration as an object: the resource of llm-d, or the command of a router with flags.
local function deployment_of(made)
  if made.system ~= "llm-d" then return { command = made.config:match "^(.-)%s*$" } end
  return (core.yaml_parse(made.config, made.label))
end

--- What a loop that evolves policies hands to a deployment. Values of sim_fitness are from 0 to 1,
--- scaled as by --fitness-weights; sim_metrics has the values themselves.
---@param made blis.export.Exported
---@return string
function export.json(made)
  local json = require "blis.json"
  local result = made.measured and made.measured.figures or {}
  local metrics = {}
  for _, one in ipairs(result) do metrics[one.name] = one.pair.mean_b end
  local p99_ttft_ms = made.measured and made.measured.p99_ttft_ms
  metrics.p99_ttft_ms = p99_ttft_ms
  return json.encode(json.object("policy_id", core.hash128(made.config):sub(1, 16), "sim_fitness",
    json.object("throughput", fitness.scaled("tokens_per_sec", metrics.tokens_per_sec),
      "p99_ttft", fitness.scaled("p99_ttft", p99_ttft_ms)),
    "sim_metrics", metrics, "config_for_deployment", deployment_of(made),
    "config_text", export.text(made))) .. "\n"
end

return export
