--- The outcome of a sweep: mean and interval of every metric at every point.
local drawing = require "blis.drawing"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"
local repeats = require "blis.policy.repeats"
local runner = require "blis.sweep.runner"
local show = require "blis.show"
local sorted = require "blis.sorted"
local statistics = require "blis.statistics"
local verdict = require "blis.results.verdict"
local write = require "blis.sweep.write"

local table_of = {}

---@class blis.sweep.PointResult
---@field parameters table<string, any>
---@field shown string[] metrics to print
---@field name string "prefix_weight=2 rate=40"
---@field n integer replications that are done
---@field wanted integer planned replications
---@field metrics table<string, blis.Estimate>
---@field values table<string, number[]> a metric of each finished replication
---@field remembers boolean? it came to another result when it was run again
---@field verdict blis.RunVerdict? of its runs together; nil if the trial returns no results
---@field is_copied boolean? all its replications came to the same: no seed changes anything, and
--- they count as one

---@class blis.sweep.Failure
---@field name string "prefix_weight=2 rate=40 seed=43"
---@field status string
---@field reason string

---@class blis.SweepTable
---@field name string
---@field parameters string[] names
---@field shown string[] shown metrics
---@field metrics string[] all available metrics
---@field points blis.sweep.PointResult[]
---@field verdict blis.RunVerdict? of all points; `runs` of its reasons has their names
---@field failures blis.sweep.Failure[]
---@field missing integer trials that were not run
---@field level number
---@field first_seed integer
---@field replications integer of each point; the most, with a rule
---@field has_rule boolean
---@field program string what computed it
---@field script string hash of the script and its inputs
---@field setup? { rows: blis.results.Asked[] } configuration of the first trial, of results
---@field store? string folder with the results
---@field is_read? boolean from there, by a command that runs nothing
---@field csv fun(self: blis.SweepTable): string parameters, runs, mean and ends of the interval
---@field markdown fun(self: blis.SweepTable): string
---@field plot fun(self: blis.SweepTable, options?: blis.sweep.PlotOptions): string of characters
---@field write_csv fun(self: blis.SweepTable, path: string)
---@field write_markdown fun(self: blis.SweepTable, path: string)
---@field write_svg fun(self: blis.SweepTable, path: string, options?: blis.sweep.PlotOptions)
---@field write_gnuplot fun(self: blis.SweepTable, stem: string, options?: blis.sweep.PlotOptions)
local Table = {}
Table.__index = Table
Table.__name = "blis.sweep_table"

-- Default metrics for results of blis.run; values of the steady state if runs have one.
local usual_report = { "ttft_ms.mean", "ttft_ms.p99", "itl_ms.mean", "e2e_ms.mean", "e2e_ms.p99",
  "tokens_per_sec", "cache_hit_rate_overall" }

local function shown_of(self, names, seen)
  if self.report then return self.report end
  local list = {}
  for _, name in ipairs(usual_report) do
    local steady = "steady." .. name
    if seen[steady] then
      list[#list + 1] = steady
    elseif seen[name] then
      list[#list + 1] = name
    end
  end
  return #list > 0 and list or names
end

local function collect_values(values, one, metrics)
  for _, name in ipairs(metrics) do
    local value = one.values[name]
    if value then
      values[name] = values[name] or {}
      table.insert(values[name], value)
    end
  end
end

local function copy(given)
  local result = {}
  for key, value in pairs(given) do result[key] = value end
  return result
end

--- Estimates are computed on demand, because most metrics are never read. Copies of one run count
--- once.
local function new_metrics(values, is_copied, options)
  return setmetatable({}, { __index = function(metrics, name)
    local list = values[name]
    if not list then return nil end
    local estimate = statistics.estimate(is_copied and { list[1] } or list, options)
    metrics[name] = estimate
    return estimate
  end, __tostring = function(metrics)
    local lines = {}
    for i, name in ipairs(sorted.names(values)) do
      lines[i] = ("%s %s"):format(name, tostring(metrics[name]))
    end
    return table.concat(lines, "\n")
  end })
end

-- "prefix_weight=2 rate=40, 3 of 3 runs", and a line for each metric of the report.
local point_meta = {
  __name = "blis.sweep_point",
  __tostring = function(point)
    local lines = { ("%s, %d of %d runs"):format(point.name, point.n, point.wanted) }
    for _, name in ipairs(point.shown) do
      lines[#lines + 1] = ("  %s %s"):format(name, tostring(point.metrics[name] or "-"))
    end
    return table.concat(lines, "\n")
  end,
}

local function is_told(one)
  return one.notes and one.notes:find(repeats.note, 1, true) ~= nil
end

--- True when several trials that are done came to the same in all they tell.
local function is_copied(done)
  local first = done[1]
  for i = 2, #done do
    local one = done[i]
    if one.hash ~= first.hash then return false end
    for name, value in next, first.values do
      if one.values[name] ~= value then return false end
    end
    for name in next, one.values do
      if first.values[name] == nil then return false end
    end
  end
  return #done > 1
end

local function point_result(self, known, i, result)
  local values, done, wanted, remembers = {}, {}, runner.wanted(self, known, i), nil
  local verdicts = {}
  for r = 1, wanted do
    local trial = self.trials[plan.index(self, i, r)]
    local one = known[trial.key]
    if not one then
      result.missing = result.missing + 1
    elseif one.status == "done" then
      done[#done + 1] = one
      remembers = remembers or is_told(one) or nil
      verdicts[#verdicts + 1] = one.verdict
      collect_values(values, one, result.metrics)
    else
      table.insert(result.failures, { name = plan.trial_name(self, trial), status = one.status,
        reason = one.reason, key = trial.key })
    end
  end
  local copied = is_copied(done) or nil
  return setmetatable({
    shown = result.shown, parameters = show.figures(copy(self.points[i].labels)),
    name = plan.point_name(self, i), n = #done, wanted = wanted, values = show.figures(values),
    remembers = remembers, is_copied = copied, verdict = verdict.pool(verdicts),
    metrics = new_metrics(values, copied, { level = self.level, method = self.interval }),
  }, point_meta)
end

--- Returns the verdict of all points, each reason with the names of its points; nil if the trials
--- return no results.
local function verdict_of(points)
  local verdicts, names = {}, {}
  for _, point in ipairs(points) do
    if point.verdict then
      verdicts[#verdicts + 1], names[#names + 1] = point.verdict, point.name
    end
  end
  return #verdicts > 0 and verdict.join(verdicts, names) or nil
end

--- The table of a plan and its stored trials.
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@return blis.SweepTable
function table_of.new(self, known)
  local names, seen = record.metric_names(self, known)
  local result = {
    name = self.name, parameters = self.names, metrics = names, failures = {}, missing = 0,
    points = {}, level = self.level, interval = self.interval, first_seed = self.seed,
    replications = self.replications, has_rule = self.rule ~= nil, program = self.program,
    script = self.script, shown = shown_of(self, names, seen),
  }
  for i = 1, #self.points do result.points[i] = point_result(self, known, i, result) end
  result.verdict = verdict_of(result.points)
  local first = self.trials[1] and known[self.trials[1].key]
  result.setup = first and first.setup
    and show.figures { rows = table.move(first.setup, 1, #first.setup, 1, {}) }
  for _, name in ipairs { "points", "failures", "metrics", "parameters", "shown" } do
    show.figures(result[name])
  end
  return setmetatable(result, Table)
end

--- Raises unless it was measured.
local function check_metric(self, name)
  for _, known in ipairs(self.metrics) do
    if known == name then return end
  end
  errors.invalid("%s: unknown metric '%s'%s", self.name, tostring(name),
    figures.suggestion(tostring(name), self.metrics))
end

local function matches(point, wanted)
  for name, value in pairs(wanted) do
    if point.parameters[name] ~= value then return false end
  end
  return true
end

--- The first point with these parameters: table_:point { rate = 40, prefix_weight = 2 }.
---@param wanted table<string, any>
---@return blis.sweep.PointResult?
function Table:point(wanted)
  for _, point in ipairs(self.points) do
    if matches(point, wanted) then return point end
  end
end

--- The point with the smallest (or "max": the largest) mean of a metric.
---@param metric string
---@param direction? "min"|"max"
---@return blis.sweep.PointResult?
function Table:best(metric, direction)
  check_metric(self, metric)
  local best
  for _, point in ipairs(self.points) do
    local estimate = point.metrics[metric]
    local mean = estimate and estimate.mean
    local known = best and best.metrics[metric].mean
    local is_better = mean and (not known or direction == "max" and mean > known
      or direction ~= "max" and mean < known)
    if is_better then best = point end
  end
  return best
end

--- A metric of a point for every replication; raises if one is missing, because pairs of points
--- would no longer match.
---@param self blis.SweepTable
---@param point blis.sweep.PointResult
---@param metric string
---@return number[]
function table_of.values_of_pairs(self, point, metric)
  if point.n < point.wanted then
    errors.invalid("%s: %s has %d of %d replications, so pairs are incomplete", self.name,
      point.name, point.n, point.wanted)
  end
  local values = point.values[metric] or {}
  if #values < point.n then
    errors.invalid("%s: %s of %s is a number in only %d of %d replications, so pairs are "
      .. "incomplete",
      self.name, metric, point.name, #values, point.n)
  end
  return values
end

--- Takes from a pair what only independent replications tell: interval, p-value, effect.
---@param pair blis.PairedEstimate
function table_of.leave_change_alone(pair)
  pair.low, pair.high, pair.half_width, pair.p_value, pair.effect = nil, nil, nil, nil, nil
end

--- Withholds interval and p-value of a pair if the runs of one side are invalid.
---@param pair blis.PairedEstimate
---@param ... blis.sweep.PointResult
function table_of.withhold(pair, ...)
  for _, point in ipairs { ... } do
    if verdict.is_invalid(point.verdict) then
      table_of.leave_change_alone(pair)
      pair.withheld = ("%s is %s"):format(point.name, verdict.mark(point.verdict))
      return
    end
  end
end

--- Point b against point a with the same seeds; without an interval where no seed changes either.
---@param a table<string, any> parameters
---@param b table<string, any> parameters
---@param metric string
---@return blis.PairedEstimate
function Table:paired(a, b, metric)
  check_metric(self, metric)
  local lists, copied = {}, 0
  for i, wanted in ipairs { a, b } do
    local point = self:point(wanted)
    if not point then errors.invalid("%s: no such point", self.name) end
    lists[i] = table_of.values_of_pairs(self, point, metric)
    copied = copied + (point.is_copied and 1 or 0)
  end
  local pair = statistics.paired(lists[1], lists[2],
    { level = self.level, kind = statistics.kind_of(metric) })
  if copied == 2 then table_of.leave_change_alone(pair) end
  table_of.withhold(pair, self:point(a), self:point(b))
  return pair
end

--- Writes an HTML report: curves over parameters, and the Pareto front. One file, without network
--- access.
---@param path string
function Table:report(path)
  drawing.sweep_page.write(path, self)
end

Table.__tostring = write.text
Table.csv = write.csv
Table.markdown = write.markdown
Table.plot = write.plot
Table.write_csv = write.write_csv
Table.write_markdown = write.write_markdown
Table.write_gnuplot = write.write_gnuplot
Table.write_svg = write.write_svg
Table.check_metric = check_metric

return table_of
