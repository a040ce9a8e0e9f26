--- Policies compared over several seeds: blis.compare with replications.
---
--- Every policy meets the same seeds, so the difference of two policies is taken seed by seed,
--- where it is much clearer than between their means.
local between = require "blis.results.between"
local deferred = require "blis.deferred"
local charts = deferred "blis.charts"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local figures = require "blis.results.figures"
local format = require "blis.format"
local options = require "blis.config.sweep"
local outline = require "blis.charts.outline"
local one_run = require "blis.compare.one_run"
local page = deferred "blis.page.comparison"
local processors = deferred "blis.processors"
local plan = require "blis.sweep.plan"
local runner = require "blis.sweep.runner"
local schema = require "blis.config.schema"
local setup = require "blis.results.setup"
local statistics = require "blis.statistics"
local stopping = require "blis.statistics.stopping"
local show = require "blis.show"
local sweep = require "blis.sweep"
local table_of = require "blis.sweep.table"
local told = require "blis.traffic.told"
local variants = require "blis.compare.variants"
local words = require "blis.statistics.words"

local replicated = {}

---@class blis.ReplicatedComparison
---@field policies string[]
---@field baseline integer
---@field replications integer that were run
---@field looks integer number of evaluations of the stopping rule
---@field max_looks integer maximum number of these evaluations
---@field rule string
---@field warm_up_us integer? time that steady omits at the start
---@field is_one_run boolean? the traffic has no seed, and more runs would have been copies
---@field changes string[]? of variants: what they change, as it was given
---@field setup { traffic: string, traffic_file?: string, rows: blis.results.Asked[][] } what was
--- run, the rows of each policy
---@field verdict blis.RunVerdict? of all policies; `runs` of its reasons has their names
---@field outlines blis.charts.Outline[][] what charts need of the runs of each policy
---@field windows integer? number of windows of the run for the intervals; nil: the run is too short
---@field table blis.SweepTable means and intervals of each policy
---@field against table<integer, table<string, blis.PairedEstimate>> policy and metric, against the
--- baseline; adjusted_p is the p-value for the total number of comparisons (Holm)
local Comparison = {}
Comparison.__index = Comparison
Comparison.__name = "blis.replicated_comparison"

local fixed_names = {}
for _, option in ipairs(options.compare.options) do fixed_names[option.name] = true end

-- The default metrics of a comparison.
local usual_report = { "ttft_ms.p99", "e2e_ms.mean", "tokens_per_sec",
  "cache_hit_rate_overall" }
local usual_steady_report = { "steady.ttft_ms.p99", "steady.e2e_ms.mean", "steady.tokens_per_sec" }

-- With latency targets, what the policies are compared by as well.
local target_report = { "goodput.attainment", "goodput.requests_per_sec" }

--- The metrics of a comparison. With a warm-up, a metric that has a value for the steady state
--- stands for that value, so that all columns are of the same requests.
local function report_of(given, shared)
  local has_warm_up = shared.warm_up_us or shared.warm_up_requests
  local list = given or has_warm_up and usual_steady_report or usual_report
  if not given and shared.slo_targets then
    list = table.move(list, 1, #list, 1, {})
    table.move(target_report, 1, #target_report, #list + 1, list)
  end
  local names, is_known = {}, {}
  for _, name in ipairs(list) do
    local steady = "steady." .. name
    local resolved = has_warm_up and figures.find(steady) and steady or name
    if not is_known[resolved] then names[#names + 1] = resolved end
    is_known[resolved] = true
  end
  return names
end

--- Parts the options of comparing from those of the experiment.
local function split(spec)
  local ours, shared = {}, {}
  for key, value in pairs(spec) do
    if fixed_names[key] then ours[key] = value else shared[key] = value end
  end
  local values = schema.read(options.compare, ours, "compare")
  values.report = report_of(values.report, shared)
  return values, shared
end

local function read_rule(given, level)
  if type(given) == "number" then
    return { rule = "fixed", min = given, max = given, level = level }
  end
  local rule = schema.read(options.stopping, given == "auto" and {} or given, "replications")
  if rule.max < rule.min then
    errors.invalid("replications: max = %d is below min = %d", rule.max, rule.min)
  end
  rule.level = level
  return rule
end

local function labels_of(list)
  local labels = {}
  for i, one in ipairs(list) do labels[i] = one.label end
  return labels
end

--- A sweep over the policies with n seeds; the optional measure returns metrics of a result.
local function new_stage(values, shared, list, n, report, measure)
  local items = {}
  for i, one in ipairs(list) do items[i] = { label = one.label, value = i } end
  local name = values.variants and "variant" or "routing"
  return sweep.new {
    name = "compare", parameters = { { name, items } }, replications = n,
    seed = shared.seed or 42, report = report, level = values.level, identity = "compare",
    trial = function(p)
      local one = variants.apply(shared, list[p[name]].changes)
      one.seed = p.seed
      local result = experiment.run(one)
      return measure and measure(result) or result
    end,
  }
end

--- Runs the missing trials of a stage; the optional setup_of describes the experiment.
local function run_stage(values, stage, known, setup_of)
  runner.run(stage.plan, stage.values, stage.trial,
    { jobs = values.jobs == "auto" and processors.usable() or values.jobs, quiet = values.quiet,
      known = known, setup_of = setup_of })
  local result = table_of.new(stage.plan, known)
  local failure = result.failures[1]
  if failure then errors.invalid("%s: %s", failure.name, failure.reason) end
  return result
end

--- The time that all runs leave out: the longest warm-up that a policy needs with the first seed.
local function find_warm_up(values, shared, list)
  local stage = new_stage(values, shared, list, 1, { "from_us" }, function(result)
    return { from_us = result.steady.from_us }
  end)
  local from_us = 1
  for _, point in ipairs(run_stage(values, stage, {}).points) do
    from_us = math.max(from_us, point.values.from_us[1])
  end
  return math.tointeger(from_us)
end

--- Nil where a run of either has no number, as no latencies when nothing completed.
local function paired(result, baseline, i, metric, level)
  for _, point in ipairs { result.points[baseline], result.points[i] } do
    if #(point.values[metric] or {}) < point.n then return nil end
  end
  local pair = statistics.paired(
    table_of.values_of_pairs(result, result.points[baseline], metric),
    table_of.values_of_pairs(result, result.points[i], metric),
    { level = level, kind = statistics.kind_of(metric) })
  -- Runs that depend on what ran before are no replications.
  if result.points[baseline].remembers or result.points[i].remembers then
    table_of.leave_change_alone(pair)
  end
  table_of.withhold(pair, result.points[baseline], result.points[i])
  return pair
end

--- True if the first metric of every policy is decided.
local function is_enough(rule, look, result, baseline, metric)
  for i = 1, #result.points do
    if i ~= baseline then
      local pair = paired(result, baseline, i, metric, rule.level)
      local is_known = pair and not pair.withheld
      if not is_known or not stopping.is_decided(rule, look, pair) then return false end
    end
  end
  return true
end

--- All pairs with the baseline, p-values raised for their number.
local function all_pairs(result, baseline, level)
  local against = {}
  for i = 1, #result.points do
    if i ~= baseline then against[i] = {} end
  end
  for _, metric in ipairs(result.shown) do
    local order, p_values = {}, {}
    for i = 1, #result.points do
      if i ~= baseline then
        local pair = paired(result, baseline, i, metric, level)
        against[i][metric] = pair
        local p_value = pair and pair.p_value
        order[#order + 1] = p_value and i
        p_values[#p_values + 1] = p_value
      end
    end
    for k, p in ipairs(statistics.holm(p_values)) do against[order[k]][metric].adjusted_p = p end
  end
  return show.figures(against)
end

--- What the first run of each policy had.
local function setups_of(stage, known)
  local setups = {}
  for i = 1, #stage.plan.points do
    setups[i] = known[stage.plan.trials[plan.index(stage.plan, i, 1)].key].setup
  end
  return setups
end

--- What was run: the rows of each policy, with all the seeds instead of the first one.
local function setup_of(shared, setups, replications)
  local traffic, file = told.of(shared.workload)
  for _, rows in ipairs(replications > 1 and setups or {}) do
    for i, row in ipairs(rows) do
      local first = row.name == "seed" and math.tointeger(row.text)
      if first then
        rows[i] = { name = "seeds", text = ("%d to %d"):format(first, first + replications - 1) }
      end
    end
  end
  return show.figures { traffic = traffic, traffic_file = file, rows = setups }
end

--- The configuration of a result, what it is compared by, and what its charts need, for the record
--- of its trial.
local function facts_of(result)
  return setup.rows(result), between.subject(result), outline.of_result(result)
end

--- The outlines of the runs of each policy; a policy with a run without one has none.
local function outlines_of(stage, known)
  local all = {}
  for i = 1, #stage.plan.points do
    all[i] = {}
    for r = 1, stage.plan.replications do
      local one = known[stage.plan.trials[plan.index(stage.plan, i, r)].key].outline
      if not one then
        all[i] = {}
        break
      end
      all[i][r] = one
    end
  end
  return all
end

--- A mean over subjects; nil where one has no value.
local function mean_over(subjects, value_of)
  local sum = 0
  for _, one in ipairs(subjects) do
    local value = value_of(one)
    if not value then return nil end
    sum = sum + value
  end
  return sum / #subjects
end

--- What a policy is compared by over its replications; false where its step times have no
--- residuals.
local function subject_of(stage, known, i)
  local list = {}
  for r = 1, stage.plan.replications do
    list[r] = known[stage.plan.trials[plan.index(stage.plan, i, r)].key].subject
    if not list[r] then return false end
  end
  local function mean(name) return mean_over(list, function(one) return one[name] end) end
  local function band(name) return mean_over(list, function(one) return one.error[name] end) end
  return {
    step_times = list[1].step_times, ttft_ms = mean "ttft_ms", tpot_ms = mean "tpot_ms",
    e2e_ms = mean "e2e_ms", error = { tpot_band = band "tpot_band", ttft_band = band "ttft_band",
      tpot_level = list[1].error.tpot_level, ttft_level = list[1].error.ttft_level,
      tpot_basis = list[1].error.tpot_basis, ttft_basis = list[1].error.ttft_basis },
  }
end

local function subjects_of(stage, known)
  local list = {}
  for i = 1, #stage.plan.points do list[i] = subject_of(stage, known, i) end
  return list
end

--- Adds to each pair how much of its change can be an error of the step-time model.
local function add_model_errors(against, subjects, baseline)
  for i, pairs_of in pairs(against) do
    for metric, pair in pairs(pairs_of) do
      local limit, basis = false, nil
      if pair.kind ~= "difference" then
        limit, basis = between.error_of(metric, subjects[baseline] or nil, subjects[i] or nil)
      end
      if limit ~= false then
        pair.model_error, pair.model_error_basis = limit, basis
        pair.is_inside_model_error = limit == nil or math.abs(pair.change) <= limit
      end
    end
  end
end

--- Traffic that no seed changes: one run of each policy.
local function compare_once(values, shared, list)
  local stage = new_stage(values, shared, list, 1, values.report)
  local found, against, drawn, setups, results = one_run.compare(stage, values.baseline,
    values.level)
  local subjects, outlines = {}, {}
  for i, result in ipairs(results) do
    subjects[i], outlines[i] = between.subject(result) or false, { outline.of_result(result) }
  end
  add_model_errors(against, subjects, values.baseline)
  return setmetatable({
    policies = show.figures(labels_of(list)), baseline = values.baseline, replications = 1,
    looks = 1, max_looks = 1, rule = "fixed", warm_up_us = shared.warm_up_us, table = found,
    level = values.level, against = show.figures(against), is_one_run = true,
    verdict = found.verdict,
    outlines = show.figures(outlines),
    windows = drawn and drawn.count, setup = setup_of(shared, setups, 1),
    changes = values.variants and variants.changes(list) or nil,
  }, Comparison)
end

--- Compares variants over common seeds; where the traffic is the same under all seeds, one run of
--- each, with intervals from windows of it.
---@param spec table
---@param list blis.results.Variant[]
---@return blis.ReplicatedComparison
function replicated.compare(spec, list)
  local values, shared = split(spec)
  if values.baseline > #list then
    errors.invalid("compare.baseline: there are %d policies, not %d", #list, values.baseline)
  end
  local rule = read_rule(values.replications, values.level)
  if shared.warm_up_us == "auto" then
    shared.warm_up_us = find_warm_up(values, shared, list)
  end
  if one_run.is_fixed(shared.workload) then
    return compare_once(values, shared, list)
  end
  local known, stage, result, looks = {}, nil, nil, 0
  for look, n in ipairs(stopping.looks(rule)) do
    stage = new_stage(values, shared, list, n, values.report)
    result, looks = run_stage(values, stage, known, facts_of), look
    if one_run.is_copied(stage, known) then
      return compare_once(values, shared, list)
    end
    if rule.rule ~= "fixed"
      and is_enough(rule, look, result, values.baseline, values.report[1]) then
      break
    end
  end
  local replications = result.points[1].wanted
  local against = all_pairs(result, values.baseline, stopping.level_at(rule, looks))
  add_model_errors(against, subjects_of(stage, known), values.baseline)
  return setmetatable({
    policies = show.figures(labels_of(list)), baseline = values.baseline,
    replications = replications,
    looks = looks, rule = rule.rule, warm_up_us = shared.warm_up_us, table = result,
    level = values.level, verdict = result.verdict,
    max_looks = #stopping.looks(rule),
    setup = setup_of(shared, setups_of(stage, known), replications),
    changes = values.variants and variants.changes(list) or nil,
    against = against, outlines = show.figures(outlines_of(stage, known)),
  }, Comparison)
end

--- 1 if more is better, -1 if less is better, 0 if undefined.
local function direction_of(metric) return figures.direction(metric) or 0 end

--- True when the runs ended because a test was decided, after which a plain p-value says too much.
local function is_sequential(self)
  return self.rule == "obrien-fleming" or self.rule == "pocock"
end

--- True when chance is no good explanation of a difference: by the interval, and, where several
--- policies are compared, by the p-value that allows for that. A group-sequential test has its
--- boundaries in the interval.
local function is_shown(self, pair)
  if pair.windows then return pair.is_shown end
  if pair.low <= 0 and pair.high >= 0 then return false end
  return is_sequential(self) or (pair.adjusted_p or pair.p_value) <= 1 - self.level
end

--- "p = 0.01, effect 3.4"
local function evidence_text(self, pair)
  local parts = {}
  if not is_sequential(self) then parts[1] = words.p_value(pair.adjusted_p or pair.p_value) end
  if pair.effect then parts[#parts + 1] = ("effect %.2g"):format(math.abs(pair.effect)) end
  return #parts > 0 and ", " .. table.concat(parts, ", ") or ""
end

--- The conclusion without an interval.
local function few_pairs(pair, name, base, metric)
  local change = ("%s: %s against %s %s"):format(metric, name, base,
    words.change(pair, pair.change))
  if pair.n < 2 then return change .. " in one run, without an interval" end
  return ("%s (%s to %s in %d pairs, too few for an interval)"):format(change,
    words.change(pair, pair.least), words.change(pair, pair.most), pair.n)
end

--- True when one of the two came to another result when it was run again.
local function remembers(self, i)
  return self.table.points[i].remembers or self.table.points[self.baseline].remembers
end

local is_throughput = { requests_per_sec = true, tokens_per_sec = true }

--- The mean of a number over the outlines of a policy; nil without outlines.
local function mean_of_outlines(list, name)
  if #list == 0 then return nil end
  return mean_over(list, function(one) return one[name] end)
end

--- Why a difference has no winner although seeds agree on it; nil if nothing speaks against it. A
--- percentile of few requests is their maximum. Throughput over a whole run also depends on the
--- last requests, which run while no more arrive.
local function caveat(self, i, metric, pair)
  local a, b = self.outlines[self.baseline], self.outlines[i]
  local percent = tonumber(metric:match "%.p([%d.]+)$")
  local completed = percent and mean_of_outlines(a, "completed")
  if completed and percent < 100 then
    completed = math.min(completed, mean_of_outlines(b, "completed") or completed)
    local least = math.ceil(100 / (100 - percent) - 1e-6)
    return completed < least and ("the p%g of fewer than %d requests is close to their maximum; "
      .. "run more requests"):format(percent, least) or nil
  end
  local tail = is_throughput[metric] and mean_of_outlines(a, "drain_share")
  if not tail then return nil end
  tail = math.max(tail, mean_of_outlines(b, "drain_share") or 0)
  return math.abs(pair.change) <= tail and ("up to %s of the time is after the last arrival, and "
    .. "the last requests decide it; compare steady.%s (--warm-up)"):format(format.percent(tail),
    metric) or nil
end

-- A smaller change has no winner: it is real, and the model's error is larger.
local practical_difference = 0.01

--- What a policy changes against the baseline: "better", "worse", or "none" for a difference that
--- is not shown, too little to matter, or inside the model's error; nil if there is no interval, or
--- if no direction is better.
---@param i integer
---@param metric string
---@return "better"|"worse"|"none"|nil
function Comparison:effect(i, metric)
  local pair, direction = self.against[i][metric], direction_of(metric)
  if not pair or pair.withheld or remembers(self, i) or not pair.low or direction == 0
    or statistics.is_few(pair) and pair.ties ~= pair.n then
    return nil
  end
  local is_small = pair.kind == "ratio" and math.abs(pair.change) < practical_difference
  if pair.ties == pair.n or is_small or pair.is_inside_model_error
    or caveat(self, i, metric, pair) or pair.low ~= pair.high and not is_shown(self, pair) then
    return "none"
  end
  return (pair.change > 0) == (direction > 0) and "better" or "worse"
end

--- "B beats A on ttft_ms.p99 by 12.0 % (95 % CI 9.2 % to 14.8 %, 8 pairs, p < 0.0001, effect 3.4)".
local function sentence(self, i, metric)
  local pair = self.against[i][metric]
  local name, base = self.policies[i], self.policies[self.baseline]
  if not pair then
    return ("%s: no values to compare for %s and %s"):format(metric, name, base)
  end
  if pair.withheld then -- the reason is in a line of its own
    return ("%s: %s against %s %s"):format(metric, name, base, words.change(pair, pair.change))
  elseif remembers(self, i) then
    return ("%s: %s against %s %s; no interval and no p-value, because runs are not independent")
      :format(metric, name, base, words.change(pair, pair.change))
  elseif not pair.low or statistics.is_few(pair) then
    return few_pairs(pair, name, base, metric)
  end
  if pair.ties == pair.n then
    return ("%s: no difference between %s and %s in any of %d pairs"):format(metric, name,
      base, pair.n)
  elseif pair.low == pair.high then
    return ("%s: %s against %s %s in all of %d pairs"):format(metric, name, base,
      words.change(pair, pair.change), pair.n)
  end
  local direction = direction_of(metric)
  if not is_shown(self, pair) then
    local is_luck = pair.low > 0 or pair.high < 0 -- by chance, among this many comparisons
    local luck = is_luck and (" (%s among %d policies)"):format(words.p_value(pair.adjusted_p),
      #self.policies) or ""
    return ("%s: no significant difference between %s and %s%s; changes outside %s to %s are "
      .. "excluded"):format(
      metric, name, base, luck, words.change(pair, pair.low), words.change(pair, pair.high))
  end
  local verb = pair.change > 0 and "is higher than" or "is lower than"
  local is_small = pair.kind == "ratio" and math.abs(pair.change) < practical_difference
  local doubt = caveat(self, i, metric, pair)
  if direction ~= 0 and not is_small and not pair.is_inside_model_error and not doubt then
    verb = (pair.change > 0) == (direction > 0) and "beats" or "loses to"
  end
  local sign = pair.change > 0 and 1 or -1
  local low, high = sign * pair.low, sign * pair.high
  if low > high then low, high = high, low end
  return ("%s: %s %s %s by %s (%g %% %s %s to %s%s)"):format(metric, name, verb,
    base, words.change(pair, sign * pair.change), self.level * 100,
    pair.windows and "interval" or "CI", words.change(pair, low), words.change(pair, high),
    pair.windows and words.skew(pair) or (", %d pairs%s"):format(pair.n,
      evidence_text(self, pair)))
    .. (is_small and (", too little to matter (below %g %%)"):format(practical_difference * 100)
      or doubt and "; no winner: " .. doubt or "")
end

--- "; inside the error of the model between these setups (13%)", or "".
local function model_note(pair)
  if not pair or not pair.is_inside_model_error or pair.ties == pair.n then return "" end
  return "; " .. between.note(pair.change, pair.model_error, pair.model_error_basis)
end

--- Writes a page of differences and means with their intervals. One HTML file that needs no
--- network.
---@param path string
function Comparison:report(path)
  page.write_replicated(path, self)
end

--- Charts of the policies side by side, with intervals. Returns characters, or writes a file:
--- comparison:plot { show = "differences", path = "x.svg" }.
---@param how? blis.ComparisonPlotOptions
---@return string? text without a path
function Comparison:plot(how)
  return charts.plot_replicated(self, how)
end

--- Raises: the results of replications are not stored.
Comparison.timeline = function()
  errors.invalid("comparison:timeline: a timeline shows a single result, and results of "
    .. "replications are not kept; use blis.run to write the timeline of one of them")
end

--- Which requests the metrics are of; nil without a warm-up.
local function population_text(self)
  if not self.warm_up_us then return nil end
  local whole = {}
  for _, name in ipairs(self.table.shown) do
    if not name:find "^steady%." then whole[#whole + 1] = name end
  end
  return ("steady: without the requests of the first %s s%s"):format(
    format.number(self.warm_up_us / 1e6, 1),
    #whole > 0 and "; of all requests: " .. table.concat(whole, ", ") or "")
end

--- What print(comparison) shows: the table, and what it says of every policy.
function Comparison:__tostring()
  local lines = { tostring(self.table) }
  if self.rule ~= "fixed" then
    lines[2] = ("rule %s: %d runs each, analysis %d of at most %d"):format(self.rule,
      self.replications, self.looks, self.max_looks)
  end
  if self.is_one_run then
    lines[#lines + 1] = "All seeds give the same traffic, so replications would be copies: one run "
      .. "per policy."
    lines[#lines + 1] = self.windows
      and "Intervals are for similar traffic, not for other seeds."
      or "The run is too short for intervals from windows."
  end
  lines[#lines + 1] = population_text(self)
  for i = 1, #self.policies do
    if i ~= self.baseline then
      lines[#lines + 1] = ""
      local withheld
      for _, metric in ipairs(self.table.shown) do
        local pair = self.against[i][metric]
        lines[#lines + 1] = sentence(self, i, metric) .. model_note(pair)
        withheld = withheld or pair and pair.withheld
      end
      lines[#lines + 1] = withheld
        and ("no intervals, p-values, or winners: %s"):format(withheld) or nil
    end
  end
  return table.concat(lines, "\n")
end

return replicated
