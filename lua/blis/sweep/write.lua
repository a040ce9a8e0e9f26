--- Tables of sweeps as text, CSV, Markdown, plots.
local deferred = require "blis.deferred"
local core = require "blis.core"
local drawing = require "blis.drawing"
local endings = require "blis.endings"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local format = require "blis.format"
local csv = require "blis.csv"
local pictures = deferred "blis.plot"
local plan = require "blis.sweep.plan"
local plot = require "blis.sweep.plot"
local svg = deferred "blis.plot.svg"
local repeats = require "blis.policy.repeats"
local statistics = require "blis.statistics"
local verdict = require "blis.results.verdict"
local view = require "blis.sweep.view"

local write = {}

--- Decimals that show two digits of an uncertainty, or four of a value without one.
local function decimals_for(mean, half_width)
  local scale, digits = half_width, 2
  if not half_width or half_width == 0 then scale, digits = math.abs(mean), 4 end
  if scale == 0 then return 0 end
  return math.max(0, math.min(9, digits - 1 - math.floor(math.log(scale, 10))))
end

--- Decimals that suit all points: those of the widest interval.
local function column_decimals(self, name)
  local widest, largest = 0, 0
  for _, point in ipairs(self.points) do
    local estimate = point.metrics[name]
    if estimate then
      widest = math.max(widest, estimate.half_width or 0)
      largest = math.max(largest, math.abs(estimate.mean))
    end
  end
  return decimals_for(largest, widest)
end

--- A number with the same number of decimals as its column; very long numbers use an exponent.
local function number_text(x, decimals)
  if math.abs(x) >= 1e15 or x ~= 0 and math.abs(x) < 1e-7 then return ("%.4g"):format(x) end
  return format.number(x, decimals)
end

--- "123.4 ± 5.6", or of few replications "123.4 (118.9 to 127.2)".
local function estimate_text(point, name, decimals)
  local estimate = point.metrics[name]
  if not estimate or not estimate.mean then return "-" end
  local text = number_text(estimate.mean, decimals)
  if statistics.is_few(estimate) and estimate.n > 1 then
    local values = point.values[name]
    return ("%s (%s to %s)"):format(text, number_text(math.min(table.unpack(values)), decimals),
      number_text(math.max(table.unpack(values)), decimals))
  end
  local half = estimate.half_width
  if not half or half == 0 or verdict.is_invalid(point.verdict) then return text end
  return ("%s ± %s"):format(text, number_text(half, decimals))
end

local function count_text(n, word)
  return ("%s %s%s"):format(format.count(n), word, n == 1 and "" or "s")
end

--- "3 replications", "5 to 12 replications"
local function replications_text(self)
  local least, most = math.maxinteger, 0
  for _, point in ipairs(self.points) do
    least, most = math.min(least, point.wanted), math.max(most, point.wanted)
  end
  if least == most then return count_text(most, "replication") end
  return ("%d to %d replications"):format(least, most), true
end

--- How many points have replications that are copies of one run.
local function copied_points(self)
  local count = 0
  for _, point in ipairs(self.points) do count = count + (point.is_copied and 1 or 0) end
  return count
end

--- An ineffective seed is reported once for all points.
local function copied_line(self)
  local count, most = copied_points(self), 0
  if count == 0 then return nil end
  for _, point in ipairs(self.points) do
    most = point.is_copied and math.max(most, point.n) or most
  end
  if count == #self.points then
    return ("%s replications are equal: the seed has no effect here, so they count as one run, "
      .. "without intervals (a trial sets seed = p.seed)"):format(
      most == 2 and "both" or ("all %d"):format(most))
  end
  return ("all replications of %s are equal: the seed has no effect there, so they count as one "
    .. "run, without intervals"):format(count == 1 and "one point" or count_text(count, "point"))
end

--- What the table is, in one line.
local function title(self)
  local replications, is_varied = replications_text(self)
  local parts = { ("%s: %s, %s"):format(self.name, count_text(#self.points, "point"),
    replications) }
  if self.windows then
    parts[2] = ("value ± half of the %g %% interval (%s)"):format(self.level * 100,
      tostring(self.windows))
  elseif copied_points(self) == #self.points then
    parts[2] = nil
  elseif not is_varied and self.points[1].wanted > 1
    and self.points[1].wanted < statistics.fewest_for_interval then
    parts[2] = "mean and range, because this is too few for intervals"
  elseif is_varied or self.points[1].wanted > 1 then
    parts[2] = ("mean ± half of the %g %% confidence interval (%s)"):format(self.level * 100,
      self.interval == "bootstrap" and "bootstrap" or "Student's t")
  end
  return table.concat(parts, "; ")
end

--- Whether the points differ in how many replications are done.
local function shows_count(self)
  for _, point in ipairs(self.points) do
    if point.n ~= self.points[1].n or point.n ~= point.wanted then return true end
  end
  return false
end

-- Maximum width of readable tables; files contain all metrics.
local shown_figures = 12

local function shown_report(self)
  if #self.shown <= shown_figures then return self.shown end
  return table.move(self.shown, 1, shown_figures, 1, {})
end

--- Returns whether the runs of a point have a verdict that is not ok.
local function shows_verdict(self)
  for _, point in ipairs(self.points) do
    if point.verdict and point.verdict.status ~= "ok" then return true end
  end
  return false
end

--- Header and rows of strings.
local function grid(self)
  local report = shown_report(self)
  local header = table.move(self.parameters, 1, #self.parameters, 1, {})
  local with_count = shows_count(self)
  if with_count then header[#header + 1] = "runs" end
  table.move(report, 1, #report, #header + 1, header)
  local with_verdict = shows_verdict(self)
  if with_verdict then header[#header + 1] = "verdict" end
  local rows, decimals = {}, {}
  for k, name in ipairs(report) do decimals[k] = column_decimals(self, name) end
  for i, point in ipairs(self.points) do
    local row = {}
    for _, name in ipairs(self.parameters) do
      row[#row + 1] = plan.label_text(point.parameters[name])
    end
    if with_count then
      row[#row + 1] = point.n == point.wanted and ("%d"):format(point.n)
        or ("%d of %d"):format(point.n, point.wanted)
    end
    for k, name in ipairs(report) do
      row[#row + 1] = estimate_text(point, name, decimals[k])
    end
    if with_verdict then row[#row + 1] = verdict.mark(point.verdict) end
    rows[i] = row
  end
  return header, rows
end

-- More reasons than this are not listed.
local listed_failures = 10

--- Failures by their reasons' first lines, in the order of the trials.
local function failure_groups(failures)
  local groups, by_reason = {}, {}
  for _, failure in ipairs(failures) do
    local reason = failure.reason:match("^[^\n]*"):sub(1, 300)
    local group = by_reason[reason]
    if group then
      group.count = group.count + 1
    else
      group = { name = failure.name, reason = reason, count = 1 }
      by_reason[reason] = group
      groups[#groups + 1] = group
    end
  end
  return groups
end

--- Finished trials of points that return no number for a metric, such as 0 / 0.
local function missing_values(self, name)
  local missing, of = 0, 0
  for _, point in ipairs(self.points) do
    local values = point.values[name]
    if values then missing, of = missing + point.n - #values, of + point.n end
  end
  return missing, of
end

-- A p99 of fewer requests is the time of a handful of them.
local requests_of_p99 = 1000

--- The minimum number of requests behind a p99 metric, if it is too small; otherwise nil.
local function too_few_requests(self, name)
  local prefix = name:match("^([%w_.]-)[%w_]+%.p99$")
  if not prefix then return nil end
  local least = math.huge
  for _, point in ipairs(self.points) do
    for _, completed in ipairs(point.values[prefix .. "completed"] or {}) do
      if completed > 0 then least = math.min(least, completed) end
    end
  end
  return least < requests_of_p99 and least or nil
end

local function sum(values)
  local total = 0
  for _, value in ipairs(values or {}) do total = total + value end
  return math.tointeger(total) or 0
end

-- Fields that do not describe lost requests.
local not_lost = { arrived = true, completed = true, length_capped = true }

--- Outcomes of a point's incomplete requests, over all its runs, or nil.
local function lost_line(point)
  local values = point.values
  if not values.arrived or not values.completed then return nil end
  local arrived, completed = sum(values.arrived), sum(values.completed)
  if arrived == completed then return nil end
  local parts = {}
  for _, ending in ipairs(figures.of "Counts") do
    local n = not not_lost[ending.name] and sum(values[ending.name]) or 0
    if n > 0 then
      parts[#parts + 1] = ("%s %s"):format(format.count(n), ending.name:gsub("_", " "))
    end
  end
  if #parts == 0 then return nil end
  return ("%s: of %s requests %s; %s"):format(point.name, format.count(arrived),
    table.concat(parts, ", "), completed == 0 and "nothing completed"
    or ("latencies cover the %s that completed"):format(format.count(completed)))
end

-- More points than this are counted.
local listed_points = 12

--- The points that lost requests.
local function add_lost_lines(lines, points)
  local lost = {}
  for _, point in ipairs(points) do lost[#lost + 1] = lost_line(point) end
  table.move(lost, 1, math.min(#lost, listed_points), #lines + 1, lines)
  if #lost > listed_points then
    lines[#lines + 1] = ("%s more lost requests"):format(count_text(#lost - listed_points, "point"))
  end
end

--- How many replications would do, when there are too few for intervals.
local function power_line(self)
  local wanted, name = self.points[1].wanted, self.shown[1]
  if self.windows or wanted < 2 or wanted >= statistics.fewest_for_interval or not name
    or copied_points(self) == #self.points then
    return
  end
  local most
  for _, point in ipairs(self.points) do
    local power = statistics.power(point.values[name] or {})
    if power.std_dev and (not most or power.std_dev > most.std_dev) then most = power end
  end
  return most and ("intervals require at least %d replications; detecting a change of 5 %% in %s "
    .. "takes about %d, of 10 %% about %d (blis.statistics.power)"):format(
    statistics.fewest_for_interval, name, most.needed[0.05], most.needed[0.1])
end

--- Notes about the metrics.
---@param self blis.SweepTable
---@return string[]
function write.notes(self)
  local lines = { copied_line(self) }
  lines[#lines + 1] = power_line(self)
  for _, name in ipairs(shown_report(self)) do
    local missing, of = missing_values(self, name)
    if missing > 0 then
      lines[#lines + 1] = ("%s is not a number in %d of %s; means are over the others"):format(name,
        missing, count_text(of, "trial"))
    end
  end
  for _, name in ipairs(shown_report(self)) do
    local least = too_few_requests(self, name)
    if least then
      lines[#lines + 1] = ("%s is based on at most %s requests in some runs; a p99 requires "
        .. "%s"):format(
        name, format.count(math.tointeger(least) or 0), format.count(requests_of_p99))
      break
    end
  end
  add_lost_lines(lines, self.points)
  for _, point in ipairs(self.points) do
    if point.remembers then
      lines[#lines + 1] = ("%s: %s"):format(point.name, repeats.short_note)
    end
  end
  return lines
end

--- Notes, missing trials, and reasons.
local function footer(self)
  local lines, hidden = write.notes(self), #self.shown - shown_figures
  if hidden > 0 then
    lines[#lines + 1] = ("%s more: select with report = { ... }; CSV has all"):format(
      count_text(hidden, "figure"))
  end
  if self.missing > 0 then
    lines[#lines + 1] = ("%s not run yet"):format(count_text(self.missing, "trial"))
  end
  if #self.failures > 0 then
    lines[#lines + 1] = ("%s failed:"):format(count_text(#self.failures, "trial"))
  end
  for i, group in ipairs(failure_groups(self.failures)) do
    if i > listed_failures then
      lines[#lines + 1] = "  and others for other reasons"
      break
    end
    lines[#lines + 1] = ("  %s%s: %s"):format(group.name,
      group.count > 1 and (" and %d more"):format(group.count - 1) or "", group.reason)
  end
  return lines
end

--- What print(table) shows.
---@param self blis.SweepTable
---@return string
function write.text(self)
  local lines = {}
  if shows_verdict(self) then
    lines = verdict.lines(self.verdict, #self.points)
    lines[#lines + 1] = ""
  end
  table.move({ title(self), "", format.table(grid(self)) }, 1, 3, #lines + 1, lines)
  local rest = footer(self)
  if #rest > 0 then lines[#lines + 1] = "" end
  table.move(rest, 1, #rest, #lines + 1, lines)
  return table.concat(lines, "\n")
end

--- The table in Markdown.
---@param self blis.SweepTable
---@return string
function write.markdown(self)
  local header, rows = grid(self)
  local marks = {}
  for i = 1, #header do marks[i] = "---:" end
  local lines = {}
  for _, row in ipairs { header, marks, table.unpack(rows) } do
    local cells = {}
    for i, text in ipairs(row) do cells[i] = text:gsub("|", "\\|") end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = title(self)
  local rest = footer(self)
  table.move(rest, 1, #rest, #lines + 1, lines)
  return table.concat(lines, "\n") .. "\n"
end

--- The table as CSV: parameters, finished runs, and mean and interval ends of every metric, which
--- are empty with fewer than four replications or an invalid verdict; then the verdict, if trials
--- return results.
---@param self blis.SweepTable
---@return string
function write.csv(self)
  local header = table.move(self.parameters, 1, #self.parameters, 1, {})
  header[#header + 1] = "runs"
  for _, name in ipairs(self.shown) do
    for _, ending in ipairs { "", ".low", ".high" } do header[#header + 1] = name .. ending end
  end
  local is_judged = self.verdict ~= nil
  if is_judged then header[#header + 1] = "verdict" end
  local lines = { table.concat(header, ",") }
  for i, point in ipairs(self.points) do
    local cells = {}
    for _, name in ipairs(self.parameters) do
      cells[#cells + 1] = csv.field(point.parameters[name])
    end
    cells[#cells + 1] = ("%d"):format(point.n)
    for _, name in ipairs(self.shown) do
      local estimate = point.metrics[name] or { n = 0 }
      local has_interval = not (statistics.is_few(estimate) or verdict.is_invalid(point.verdict))
      cells[#cells + 1] = csv.field(estimate.mean)
      for _, key in ipairs { "low", "high" } do
        cells[#cells + 1] = csv.field(has_interval and estimate[key] or nil)
      end
    end
    if is_judged then cells[#cells + 1] = csv.field(verdict.mark(point.verdict)) end
    lines[i + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Writes a file whole or not at all.
---@param path string
---@param text string
function write.file(path, text)
  local output <close> = errors.located(core.output, path)
  errors.located(output.write, output, text)
  errors.located(output.commit, output)
end

function write.write_csv(self, path)
  endings.check("write_csv", path, endings.csv)
  write.file(path, write.csv(self))
end

function write.write_markdown(self, path)
  endings.check("write_markdown", path, endings.markdown)
  write.file(path, write.markdown(self))
end

---@class blis.sweep.PlotOptions: blis.PlotOptions
---@field show? "curve"|"front" a metric over a parameter (default), or two metrics against each
--- other with the points that nothing else beats
---@field x? string parameter, default the last parameter with only numbers; for a front a
--- metric, on the y axis
---@field y? string metric; default: the first metric of the report
---@field where? table<string, any> only the points with these values of parameters: { rate = 40 }
---@field facet? string a chart for each value of this parameter
---@field target? number of the metric on the y axis, drawn as a line

-- Options of charts of sweeps.
local chart_options = { "x", "y", "show", "where", "facet", "target" }

--- The charts that the options ask for.
local function charts_of(self, options, make)
  local list = {}
  if options.target ~= nil and type(options.target) ~= "number" then
    errors.invalid("plot: target: %s: expected a number", errors.invalid_value(options.target))
  end
  for i, one in ipairs(view.facets(view.filtered(self, options.where), options.facet)) do
    local chart = drawing.sweep_charts[make](one.table, options)
    if one.title then chart.title = ("%s, %s"):format(chart.title, one.title) end
    if options.target then
      chart.limits = { { axis = "y", at = options.target,
        text = ("target %g%s"):format(options.target, chart.y.unit and " " .. chart.y.unit
          or "") } }
    end
    list[i] = chart
  end
  return list
end

local shown = { curve = "curve", front = "asked_front" }

--- A metric over a parameter, with one mark per combination of the other parameters; or a front. As
--- text, which is returned, or as a file: { path = "x.svg" }.
---@param self blis.SweepTable
---@param options? blis.sweep.PlotOptions
---@return string? text without a path
function write.plot(self, options)
  options = pictures.check_options(options, chart_options)
  local make = shown[options.show or "curve"]
  if not make then
    errors.invalid("plot: show: %s: expected 'curve' or 'front'",
      errors.invalid_value(options.show))
  end
  return pictures.draw(charts_of(self, options, make), options)
end

--- Writes the same as an SVG file, with intervals: { log = "xy" } and so on.
---@param self blis.SweepTable
---@param path string
---@param options? blis.sweep.PlotOptions
function write.write_svg(self, path, options)
  endings.check("write_svg", path, endings.svg)
  options = pictures.check_options(options, chart_options)
  write.file(path, svg.document(charts_of(self, options, "curve"), options))
end

--- Writes stem.dat, with a block per line of the plot, and stem.gp, which plots it: `gnuplot -p
--- stem.gp`.
---@param self blis.SweepTable
---@param stem string
---@param options? blis.sweep.PlotOptions
function write.write_gnuplot(self, stem, options)
  options = pictures.check_options(options, { "x", "y" })
  local data, script = plot.gnuplot(plot.series(self, options), stem, self.level)
  write.file(stem .. ".dat", data)
  write.file(stem .. ".gp", script)
end

return write
