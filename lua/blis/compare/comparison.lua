--- Several policies, or variants of an experiment, under the same traffic.
local deferred = require "blis.deferred"
local charts = deferred "blis.charts"
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local options = require "blis.config.sweep"
local page = deferred "blis.page.comparison"
local replicated = deferred "blis.compare.replicated"
local repeats = require "blis.policy.repeats"
local report = require "blis.results.report"
local show = require "blis.show"
local variants = require "blis.compare.variants"
local warm_up = require "blis.results.warm_up"
local told = require "blis.traffic.told"
local verdict = require "blis.results.verdict"
local workload = require "blis.traffic.workload"

local comparison = {}

--- The results in the order of the policies; printed as a table.
---@class blis.Comparison
---@field report fun(self: blis.Comparison, path: string) writes a page, one HTML file
---@field plot fun(self: blis.Comparison, options?: blis.ResultPlotOptions): string? charts of all
--- policies: distributions, and metrics with intervals side by side
---@field [integer] blis.Result
---@field labels string[]? of variants
---@field verdict blis.RunVerdict of all policies; `runs` of its reasons has their names
---@field changes string[]? of variants: what they change, as it was given
---@field remembering table<integer, boolean> those that came to another result when run again

--- Which result is meant?
local function fail_timeline()
  errors.invalid("comparison:timeline: a timeline shows a single result; use "
    .. "comparison[i]:timeline(path) for policy i")
end

local comparison_meta = { __name = "blis.comparison", __tostring = report.comparison,
  __index = { report = function(self, path) page.write(path, self) end,
    plot = function(self, how) return charts.plot_comparison(self, how) end,
    timeline = fail_timeline } }

--- The experiment of a list of policies that run once each; raises for options that have no effect
--- in this case.
local function read_single(spec)
  local shared = {}
  for key, value in pairs(spec) do shared[key] = value end
  for _, option in ipairs(options.compare.options) do
    if option.name ~= "variants" and shared[option.name] then
      errors.invalid("%s: requires replications = ..., whose comparison it configures", option.name)
    end
    shared[option.name] = nil -- quiet = false asks for nothing
  end
  return shared
end

-- A run of this length shows at little cost whether a policy keeps state between runs.
local repeated_requests = 500

local function is_told(result)
  return result.setup.notes:find(repeats.note, 1, true) ~= nil
end

--- The policies that leave something behind for the next run: those of the script are run twice
--- more, where there is a list of requests its beginning.
---@return table<integer, boolean> by place in the list
local function find_remembering(spec, list, results)
  local short, found = {}, {}
  for key, value in pairs(spec) do short[key] = value end
  for _, name in ipairs { "warm_up_us", "warm_up_requests", "cool_down_us",
    "series_interval_us" } do
    short[name] = nil
  end
  if core.is_workload(spec.workload) then
    short.workload = spec.workload:slice(1, math.min(#spec.workload, repeated_requests))
  end
  for i, one in ipairs(list) do
    local changed = variants.apply(short, one.changes)
    if experiment.wants_repeat(changed) then
      local is_other = experiment.run(changed).hash ~= experiment.run(changed).hash
      local key = changed.routing or one
      found[key] = found[key] or is_other or is_told(results[i])
    end
  end
  local places = {}
  for i, one in ipairs(list) do
    places[i] = found[variants.apply(short, one.changes).routing or one] or nil
  end
  return places
end

--- Runs the same experiment with every policy of the list in routing, all with the same requests,
--- or with the changes of every entry of variants: { { scheduler = "fcfs" }, { scheduler = "sjf"
--- } }. The result is a list of results, and prints as a table with a row per policy.
--- With replications = 5 or "auto", every policy runs with several common seeds, and the
--- differences get intervals: see blis.CompareOptions and blis.ReplicatedComparison.
--- With warm_up_us, the metrics exclude the warm-up; "auto" determines one time for all policies.
---@param spec blis.Experiment|blis.CompareOptions routing is a list of policies
---@return blis.Comparison|blis.ReplicatedComparison
function comparison.compare(spec)
  if type(spec) ~= "table" then
    errors.invalid("blis.compare: %s: expected a table", errors.invalid_value(spec))
  end
  if spec.seeds ~= nil then
    errors.invalid("compare: unknown option 'seeds'; did you mean 'replications'?")
  end
  local list = variants.read(spec)
  variants.note_staleness(spec, list)
  if spec.replications ~= nil then return replicated.compare(spec, list) end
  local shared = read_single(spec)
  if not core.is_workload(spec.workload) then
    local given, horizon_us = workload.read(spec.workload, "workload",
      { seed = spec.seed or 42, horizon_us = spec.horizon_us, profile = spec.profile })
    shared.horizon_us = spec.horizon_us or horizon_us
    if type(given) == "userdata" then
      shared.workload = given
    elseif not workload.has_follow_ups(given) then
      shared.workload = told.remember_options(workload.collect(given), spec.workload)
    end
  end
  local results = {}
  for i, one in ipairs(list) do results[i] = experiment.run(variants.apply(shared, one.changes)) end
  results.remembering = show.figures(find_remembering(shared, list, results))
  if spec.variants then
    results.labels, results.changes = {}, variants.changes(list)
    for i, one in ipairs(list) do results.labels[i] = one.label end
    show.figures(results.labels)
  end
  if spec.warm_up_us == "auto" then warm_up.align(results, spec.cool_down_us) end
  local verdicts = {}
  for i, one in ipairs(results) do verdicts[i] = one.verdict end
  results.verdict = show.figures(verdict.join(verdicts, report.names(results)))
  return setmetatable(results, comparison_meta)
end

return comparison
