--- The page of a sweep: its table, metrics over parameters, and the Pareto front.
local answer = require "blis.page.answer"
local best = require "blis.page.best"
local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local endings = require "blis.endings"
local format = require "blis.format"
local html = require "blis.page.html"
local landscape = require "blis.page.landscape"
local links = require "blis.page.links"
local names = require "blis.results.metric_names"
local origin = require "blis.page.origin"
local parts = require "blis.page.parts"
local setup = require "blis.page.setup"
local sweep = require "blis.charts.sweep"
local plan = require "blis.sweep.plan"
local plot = require "blis.sweep.plot"
local verdict = require "blis.results.verdict"
local write = require "blis.sweep.write"

local page = {}

-- Maximum number of values to list. More values are shown as a count, numbers also as a range.
local most_values = 12

--- "20, 40, 60", or "50 values from 0.1 to 8": the values of a parameter.
local function values_text(points, name)
  local list, is_known, are_numbers = {}, {}, true
  local low, high = math.huge, -math.huge
  for _, point in ipairs(points) do
    local value = point.parameters[name]
    local text = plan.label_text(value)
    if not is_known[text] then list[#list + 1], is_known[text] = text, true end
    are_numbers = are_numbers and type(value) == "number"
    if are_numbers then low, high = math.min(low, value), math.max(high, value) end
  end
  if #list <= most_values then return table.concat(list, ", ") end
  local text = format.plural(#list, "value")
  return are_numbers and ("%s from %s to %s"):format(text, plan.label_text(low),
    plan.label_text(high)) or text
end

--- Points of a comparison have one parameter, the policy, which is their name.
local function is_by_parameter(self)
  local first = self.points[1]
  return #self.parameters > 0 and first ~= nil and first.parameters ~= nil
    and self.name ~= "compare"
end

--- "; 4 instances of qwen/qwen3-14b on H100, tp 1": the system of the first point.
local function system_text(self)
  local first = self.setup and self.setup.rows[1]
  return first and "; " .. first.text or ""
end

--- The configuration of the first point; all others follow from the parameters.
local function system_table(self)
  if not self.setup then return {} end
  local rows = {}
  for i, row in ipairs(self.setup.rows) do rows[i] = { row.name, row.text } end
  return parts.table(("The first point (%s), as resolved"):format(self.points[1].name), { "", "" },
    rows, { [2] = true })
end

--- The sweep's parameters, program version, and result folder.
local function setup_section(self)
  local rows = {}
  local function add(name, text) rows[#rows + 1] = { name, text } end
  for _, name in ipairs(self.parameters) do
    add("parameter " .. name, values_text(self.points, name))
  end
  add("replications", (self.has_rule and "at most %d of each point" or "%d of each point")
    :format(self.replications))
  add("seeds", self.replications > 1 and ("%d to %d"):format(self.first_seed,
    self.first_seed + self.replications - 1) or ("%d"):format(self.first_seed))
  add("script and its inputs", "XXH128 " .. self.script)
  add("computed by", "blis " .. self.program)
  if self.store then add("results in", self.store) end
  return setup.folded(("%s over %s%s"):format(format.plural(#self.points, "point"),
      table.concat(self.parameters, ", "), system_text(self)),
    parts.table("As resolved", { "", "" }, rows, { [2] = true }), system_table(self),
    self.is_read and origin.of_folder(self.store) or origin.element())
end

--- A metric of a point, with its interval or, with few runs, their range below; also returns
--- whether it is a range.
local function estimate_of(point, metric, decimals)
  local estimate = point.metrics[metric]
  if not estimate or not estimate.mean then return "-" end
  local factor = names.is_share(metric) and 100 or 1
  if estimate.n < 2 and not estimate.windows then
    return parts.estimate({ mean = factor * estimate.mean }, decimals)
  end
  local low, high, is_range = plot.ends_of(estimate, point.values[metric])
  return parts.estimate({ mean = factor * estimate.mean, low = low and factor * low,
    high = high and factor * high }, decimals), is_range
end

--- The values of a point's parameters, or its name if it has none, as in comparisons.
local function parameters_of(self, point)
  if not is_by_parameter(self) then return { (point.name:gsub("^routing=", "")) } end
  local cells = {}
  for i, name in ipairs(self.parameters) do cells[i] = plan.label_text(point.parameters[name]) end
  return cells
end

--- Means and intervals of all points.
---@param self blis.SweepTable
---@return blis.page.Element
function page.table(self)
  local rows, has_below, has_ranges = {}, false, false
  for i, point in ipairs(self.points) do
    local row = parameters_of(self, point)
    for _, metric in ipairs(self.shown) do
      local estimate = point.metrics[metric]
      local decimals = names.is_share(metric) and 2
        or estimate and estimate.mean and math.abs(estimate.mean) < 10 and 4 or 1
      local text, is_range = estimate_of(point, metric, decimals)
      has_below = has_below or is_range ~= nil
      has_ranges = has_ranges or is_range
      row[#row + 1] = text
    end
    row[#row + 1] = ("%d of %d"):format(point.n, point.wanted)
    if self.verdict then row[#row + 1] = verdict.mark(point.verdict) end
    rows[i] = row
  end
  local below = has_ranges and "the range of the runs below them"
    or ("%g %% intervals below them"):format(self.level * 100)
  local heads = is_by_parameter(self) and table.move(self.parameters, 1, #self.parameters, 1, {})
    or { self.parameters[1] == "routing" and "policy" or "point" }
  table.move(names.heads(self.shown), 1, #self.shown, #heads + 1, heads)
  heads[#heads + 1] = "runs"
  if self.verdict then heads[#heads + 1] = "verdict" end
  return parts.table(has_below and "Means, with " .. below or "Means", heads, rows, nil, true)
end

--- All points as JSON: parameters, runs, and every metric with its interval.
---@param self blis.SweepTable
---@return string
function page.json(self)
  local writer = core.json_writer(2):array()
  for _, point in ipairs(self.points) do
    writer:object():field("name", point.name):field("runs", point.n)
    if point.is_copied then writer:field("is_copied", true) end
    writer:object("metrics")
    for _, metric in ipairs(self.metrics) do
      local estimate = point.metrics[metric]
      if estimate and estimate.mean then
        writer:object(metric):field("mean", estimate.mean)
        if estimate.low then writer:field("low", estimate.low):field("high", estimate.high) end
        writer:done()
      end
    end
    writer:done():done()
  end
  return writer:done():take()
end

--- Each metric over the last numeric parameter; nothing without such a parameter.
local function curves(chart_list, self)
  local row = {}
  for i, metric in ipairs(self.shown) do
    local ok, chart = pcall(sweep.curve, self, { y = metric })
    if not ok then return {} end
    chart.title = names.title(metric)
    row[i] = chart
  end
  return chart_list:row(row)
end

local function front_section(chart_list, self)
  local a, b = sweep.judged_pair(self)
  if not b or #best.environments(self) > 0 then return nil end
  local all, front = sweep.front_of(self, a, b)
  if #all < 2 then return nil end
  local rows = {}
  for i, point in ipairs(front) do
    rows[i] = { point.name, (estimate_of(point, a, 2)), (estimate_of(point, b, 2)) }
  end
  local chart = sweep.front(all, front, a, b)
  return parts.section("front", "Pareto front", chart_list:add(chart),
    parts.table("Pareto-optimal points (by mean)",
      { "point", names.head(a), names.head(b) }, rows))
end

local function failures_section(self)
  if #self.failures == 0 and self.missing == 0 then return nil end
  local rows = {}
  for i, failure in ipairs(self.failures) do
    rows[i] = { failure.name, failure.status, failure.reason or "" }
  end
  return parts.section("failures", "Failed and missing",
    html.p(("%d trials are missing."):format(self.missing)),
    #rows > 0 and parts.table("Failed trials", { "trial", "how", "why" }, rows,
      { [2] = true, [3] = true }) or {})
end

--- The verdict of a page: a sweep with some valid points is not invalid as a whole, and a sweep
--- without any result is.
local function verdict_of(self)
  local valid = 0
  for _, point in ipairs(self.points) do
    if point.n > 0 and not verdict.is_invalid(point.verdict) then valid = valid + 1 end
  end
  local given = self.verdict or { status = "ok", reasons = {} }
  if valid == 0 then return { status = "invalid", reasons = given.reasons } end
  if given.status ~= "invalid" then return given end
  return { status = "warning", reasons = given.reasons }
end

--- The best point, or the best point per load and the loads at which it changes.
local function answer_of(self)
  local lines, invalid = best.lines(self), 0
  local first = table.remove(lines, 1)
  if not first then first = "The sweep has no metric with a better direction to judge by." end
  for _, point in ipairs(self.points) do
    invalid = invalid + (verdict.is_invalid(point.verdict) and 1 or 0)
  end
  if invalid > 0 then
    lines[#lines + 1] = ("%d of %s are not valid, and are not compared."):format(invalid,
      format.plural(#self.points, "point"))
  end
  if #self.failures > 0 then
    lines[#lines + 1] = ("%s failed, the first because of: %s"):format(
      format.plural(#self.failures, "trial"), self.failures[1].reason or self.failures[1].status)
  end
  return { headline = first, lines = lines, verdict = verdict_of(self) }
end

-- The fronts of more loads cannot be told apart.
local most_fronts = 8

--- A table per load with the points that no other point of the load beats in two metrics.
local function fronts_by_load(chart_list, self)
  local a, b = sweep.judged_pair(self)
  if not b or #best.environments(self) == 0 then return nil end
  local rows, fronts = {}, {}
  for i, group in ipairs(best.groups(self)) do
    local _, front = sweep.front_of({ points = group.points }, a, b)
    fronts[i] = { name = group.name, points = front }
    for _, point in ipairs(front) do
      rows[#rows + 1] = { group.name, best.choice(self, point), (estimate_of(point, a, 2)),
        (estimate_of(point, b, 2)) }
    end
  end
  local chart = #fronts <= most_fronts and sweep.fronts(fronts, a, b) or nil
  if chart then chart.title = chart.title .. ", per load" end
  return parts.section("front", "Pareto front", chart and chart_list:add(chart) or {},
    parts.table("Per load: the points that no other point of the same load beats in both metrics "
      .. "(by mean)", { "load", "point", names.head(a), names.head(b) }, rows, nil, true))
end

--- Writes the page of a sweep.
---@param path string
---@param self blis.SweepTable
function page.write(path, self)
  endings.check("report", path, endings.page)
  local chart_list, title = charts.new(), ("Sweep %s"):format(self.name)
  local sections = {
    setup_section(self),
    parts.section("points", "Points", page.table(self), parts.notes(write.notes(self))),
    parts.section("curves", "Over parameters", curves(chart_list, self)),
  }
  local picture = is_by_parameter(self) and landscape.element(self)
  if picture then
    sections[#sections + 1] = parts.section("landscape", "All points at a glance", picture)
  end
  sections[#sections + 1] = fronts_by_load(chart_list, self) or front_section(chart_list, self)
  sections[#sections + 1] = failures_section(self)
  sections[#sections + 1] = parts.figures "points-json"
  document.write(path, {
    title = title, styles = { "uplot.css", "report.css" }, scripts = { "uplot.js", "report.js" },
    body = { html.header(html.h1(title), html.p({ class = "soft" }, origin.line()),
      parts.navigation(sections)), answer.block(answer_of(self)),
      links.element(path, self), sections },
    data = { charts = chart_list:json(), ["points-json"] = page.json(self) },
  })
end

return page
