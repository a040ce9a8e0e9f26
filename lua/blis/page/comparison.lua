--- Pages of several runs: policies under the same traffic, once each or over seeds.
local answer = require "blis.page.answer"
local between = require "blis.results.between"
local cdf = require "blis.charts.cdf"
local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local features = require "blis.page.features"
local known = require "blis.results.figures"
local format = require "blis.format"
local html = require "blis.page.html"
local json = require "blis.results.json"
local latency_course = require "blis.charts.latency_course"
local names = require "blis.results.metric_names"
local origin = require "blis.page.origin"
local over_time = require "blis.charts.over_time"
local parts = require "blis.page.parts"
local ranges = require "blis.charts.ranges"
local report = require "blis.results.report"
local seeds = require "blis.charts.seeds"
local setup = require "blis.page.setup"
local svg = require "blis.plot.svg"
local sweep = require "blis.page.sweep"
local verdict = require "blis.results.verdict"
local warnings = require "blis.page.warnings"

local page = {}

local number, count, percent = format.number, format.count, format.percent

local styles, scripts = { "uplot.css", "report.css" }, { "uplot.js", "report.js" }

--- Nil where no request has such a time.
local function at(d, statistic)
  return d.count > 0 and d[statistic] or nil
end

local function table_of(results, labels)
  local rows = {}
  for i, r in ipairs(results) do
    local part = rawget(r, "steady") or r
    rows[i] = { labels[i], number(at(part.ttft_ms, "mean")), number(at(part.ttft_ms, "p99")),
      number(at(part.itl_ms, "mean"), 2), number(at(part.e2e_ms, "mean")),
      number(at(part.e2e_ms, "p99")), number(part.tokens_per_sec),
      percent(r.cache_hit_rate_overall), number(r.balance, 3),
      ("%s of %s"):format(count(r.completed), count(r.arrived)) }
    local goodput = rawget(r, "goodput")
    if goodput then
      table.move({ percent(goodput.attainment), number(goodput.requests_per_sec, 2) }, 1, 2,
        #rows[i] + 1, rows[i])
    end
  end
  local caption = "Times in ms. All variants get the same requests. In cache: fraction of prompt "
    .. "blocks, all instances"
  local header = { "", "TTFT mean", "TTFT p99", "ITL mean", "E2E mean", "E2E p99", "tokens/s",
    "in cache", "balance", "completed" }
  if results[1] and rawget(results[1], "goodput") then
    table.move({ "in targets", "goodput/s" }, 1, 2, #header + 1, header)
  end
  return parts.table(caption, header, rows)
end

local function hashes_of(results, labels)
  local words = {}
  for i, r in ipairs(results) do words[i] = ("%s %s"):format(labels[i], r.hash) end
  return "result hashes: " .. table.concat(words, ", ")
end

--- The metrics of all runs: [{ "label": ..., "result": { ... } }, ...].
local function json_of(results, labels)
  local writer = core.json_writer(2):array()
  for i, r in ipairs(results) do
    writer:object():field("label", labels[i])
    json.write(writer, { result = r, leaves_out_series = true }, "result")
    writer:done()
  end
  return writer:done():take()
end

local function write(path, title, line, chart_list, sections, figures, block)
  sections[#sections + 1] = parts.figures "figures-json"
  document.write(path, {
    title = title, styles = styles, scripts = scripts,
    body = { html.header(html.h1(title), html.p({ class = "soft" }, line),
      parts.navigation(sections)), block, sections },
    data = { charts = chart_list:json(), ["figures-json"] = figures },
  })
end

-- A longer title is no title.
local longest_title = 100

local function title_of(labels)
  local title = ("%s compared"):format(table.concat(labels, ", "))
  return #title <= longest_title and title
    or ("%s and %s more compared"):format(labels[1], count(#labels - 1))
end

-- A smaller relative difference does not matter.
local practical_difference = 0.01

--- What a pair of two runs shows; less is better in all of these metrics.
local function effect_of(pair, model_error)
  if not pair or not pair.low then return nil end
  local is_inside = model_error == nil or model_error and math.abs(pair.change) <= model_error
  if not pair.is_shown or is_inside
    or pair.kind == "ratio" and math.abs(pair.change) < practical_difference then
    return "none"
  end
  return pair.change < 0 and "better" or "worse"
end

local function finding(name, pair, effect, level, metric)
  return { name = name, effect = effect, gain = pair and pair.change and math.abs(pair.change) or 0,
    text = pair and pair.low and answer.change_text(pair, level, metric) or "" }
end

--- "Cost: round-robin 1.2 USD, weighted 1.1 USD": of(i) returns the USD of a policy.
local function cost_line(labels, title, of)
  local words = {}
  for i, label in ipairs(labels) do
    local usd = of(i)
    if not usd then return nil end
    words[i] = ("%s %s USD"):format(label, number(usd, 3))
  end
  return ("%s: %s."):format(title, table.concat(words, ", "))
end

local function attainment_line(labels, of)
  local words = {}
  for i, label in ipairs(labels) do
    local share = of(i)
    if not share then return nil end
    words[i] = ("%s %s"):format(label, format.share(share))
  end
  return ("SLO attainment: %s."):format(table.concat(words, ", "))
end

--- Attainment and cost of each policy; value_of(i, path) returns a metric of a policy.
local function facts_of(labels, value_of)
  local list = {}
  list[1] = attainment_line(labels, function(i) return value_of(i, "goodput.attainment") end)
  list[#list + 1] = cost_line(labels, "Cost per million output tokens", function(i)
    return value_of(i, "cost.usd_per_million_output_tokens")
  end)
  return list
end

--- The answer of single runs of each policy.
local function answer_of(results, labels)
  local metrics, all, first = {}, {}, between.subject(results[1])
  for k, one in ipairs(report.differences(results)) do
    metrics[k], all[k] = one.metric, {}
    for i = 2, #results do
      local pair = one.pairs[i]
      local limit = between.error_of(one.metric, first, between.subject(results[i]))
      all[k][i - 1] = finding(labels[i], pair, effect_of(pair, limit), pair and pair.level,
        one.metric)
    end
  end
  local verdicts = {}
  for i, r in ipairs(results) do verdicts[i] = r.verdict end
  return answer.of_comparison { metrics = metrics, policies = labels, base = labels[1],
    findings = all, verdict = results.verdict, verdicts = verdicts,
    more = facts_of(labels, function(i, path)
      local _, value = known.find(path, results[i])
      return type(value) == "number" and value or nil
    end) }
end

--- The answer of a comparison over seeds.
local function answer_of_replicated(self)
  local all = {}
  for k, metric in ipairs(self.table.shown) do
    all[k] = {}
    for i, name in ipairs(self.policies) do
      if i ~= self.baseline then
        table.insert(all[k], finding(name, self.against[i][metric], self:effect(i, metric),
          self.level, metric))
      end
    end
  end
  local verdicts = {}
  for i, point in ipairs(self.table.points) do verdicts[i] = point.verdict or false end
  return answer.of_comparison { metrics = self.table.shown, policies = self.policies,
    base = self.policies[self.baseline], findings = all, verdict = self.verdict,
    verdicts = verdicts, more = facts_of(self.policies, function(i, path)
      local estimate = self.table.points[i].metrics[path]
      return estimate and estimate.mean
    end) }
end

--- The charts of runs over time, which share cursor and zoom.
local function time_charts(results, labels)
  local list = latency_course.of_results(results, labels)
  local others = over_time.of_results(results, labels)
  table.move(others, 1, #others, #list + 1, list)
  for _, chart in ipairs(list) do chart.is_time = true end
  return list
end

--- Writes the page of results of blis.compare.
---@param path string
---@param results blis.Comparison
function page.write(path, results)
  local chart_list, labels = charts.new(), report.names(results)
  local distributions = cdf.charts(results, labels)
  local sections = {
    setup.compared(results, labels),
    parts.section("compared", "Compared", table_of(results, labels),
      html.p "As text, with the differences from the first:",
      html.pre(tostring(results)), html.p({ class = "soft" }, hashes_of(results, labels))),
    parts.section("latencies", "Latencies", chart_list:row(distributions),
      chart_list:row(cdf.tails(distributions))),
    parts.section("time", "Over time", chart_list:row(time_charts(results, labels))),
  }
  sections[#sections + 1] = features.compared(results, labels)
  sections[#sections + 1] = warnings.compared(results, labels)
  write(path, title_of(labels), origin.line(), chart_list,
    sections, json_of(results, labels), answer_of(results, labels))
end

-- Pixels: a column of the page, and not much more than a telephone has. Longer names of policies
-- need more, for they could not be told apart where they are cut.
local narrow, longest_name = 450, 13

local function are_short(names_of_policies)
  for _, name in ipairs(names_of_policies) do
    if #name > longest_name then return false end
  end
  return true
end

--- Differences from the baseline as ranges around zero.
local function differences(self, metric, width)
  local chart = ranges.differences(self, metric)
  if not chart then return {} end
  chart.title = names.title(metric)
  chart.x.label = "change of " .. chart.title
  return html.figure(html.raw(svg.element(chart, { width = width })))
end

--- How charts over seeds are to be read.
local function seeds_note(self)
  if self.replications < 2 then return {} end
  return html.p({ class = "soft" }, ("Lines are means over %d seeds, and bands are %s. All runs "
    .. "are drawn as long as their mean."):format(self.replications, self.replications < 4
    and "the ranges of the runs" or ("%g %% intervals"):format(self.level * 100)))
end

-- Outcomes of requests, of which a page shows those that occur.
local outcomes = {}
for _, one in ipairs(known.of "Counts") do outcomes[#outcomes + 1] = one.name end

--- Mean numbers of requests by outcome, a row for each policy.
local function outcome_table(self)
  local header, rows = { "" }, {}
  for i, label in ipairs(self.policies) do rows[i] = { label } end
  for _, name in ipairs(outcomes) do
    local values, has_any = {}, false
    for i in ipairs(self.policies) do
      local estimate = self.table.points[i].metrics[name]
      values[i] = estimate and estimate.mean or 0
      has_any = has_any or values[i] > 0
    end
    if has_any then
      header[#header + 1] = (name:gsub("_", " "))
      for i, value in ipairs(values) do
        rows[i][#header] = value == math.floor(value) and count(math.tointeger(value))
          or number(value)
      end
    end
  end
  return parts.table(self.replications > 1 and "Mean numbers of requests over the seeds"
    or "Numbers of requests", header, rows)
end

local statistics_shown = { "mean", "p50", "p90", "p99", "max" }

--- Statistics of each latency, a row for each policy and latency.
local function latency_table(self)
  local rows = {}
  for _, one in ipairs { { "TTFT", "ttft_ms" }, { "ITL", "itl_ms" }, { "E2E", "e2e_ms" } } do
    for i, label in ipairs(self.policies) do
      local row = { ("%s, %s"):format(one[1], label) }
      for k, statistic in ipairs(statistics_shown) do
        local estimate = self.table.points[i].metrics[one[2] .. "." .. statistic]
        row[k + 1] = estimate and estimate.mean and number(estimate.mean) or "-"
      end
      rows[#rows + 1] = row
    end
  end
  return parts.table(self.replications > 1 and "Times in ms, means over the seeds" or "Times in ms",
    { "", table.unpack(statistics_shown) }, rows)
end

local function latency_section(chart_list, self)
  local charts_of_all, tails = seeds.distributions(self.policies, self.outlines, self.level)
  return parts.section("latencies", "Latencies", latency_table(self),
    #charts_of_all > 0 and seeds_note(self) or {}, chart_list:row(charts_of_all),
    chart_list:row(tails))
end

local function time_section(chart_list, self)
  local list = seeds.courses(self.policies, self.outlines, self.level)
  if #list == 0 then return nil end
  return parts.section("time", "Over time", seeds_note(self), chart_list:row(list))
end

-- Metrics that other sections show, and the most rows of a table of all others.
local shown_elsewhere = { "^ttft_ms%.", "^itl_ms%.", "^e2e_ms%.", "^steady%.", "^by_" }
local most_metrics = 250

local function is_shown_elsewhere(metric)
  for _, pattern in ipairs(shown_elsewhere) do
    if metric:find(pattern) then return true end
  end
  return false
end

local function value_text(value)
  local size = math.abs(value)
  if value == math.floor(value) and size < 2 ^ 53 then return count(math.tointeger(value)) end
  return size >= 100 and number(value) or ("%.4g"):format(value)
end

--- The means of all other metrics, such as those of features, where a policy has one that is not 0.
local function metrics_section(self)
  local rows = {}
  for _, metric in ipairs(self.table.metrics) do
    local row, has_any = { names.head(metric) }, false
    for i in ipairs(self.policies) do
      local estimate = self.table.points[i].metrics[metric]
      local mean = estimate and estimate.mean
      has_any = has_any or mean ~= nil and mean ~= 0
      local value = mean and (names.is_share(metric) and 100 * mean or mean)
      row[i + 1] = value and value_text(value) or "-"
    end
    if has_any and not is_shown_elsewhere(metric) and #rows < most_metrics then
      rows[#rows + 1] = row
    end
  end
  return parts.section("metrics", "All metrics", html.details(html.summary(
    ("%s, means over the seeds"):format(format.plural(#rows, "metric"))),
    parts.table("Metrics of the runs and of features", { "", table.unpack(self.policies) }, rows,
      nil, true)))
end

--- Writes the page of a comparison over seeds.
---@param path string
---@param self blis.ReplicatedComparison
function page.write_replicated(path, self)
  local chart_list, figures, is_narrow = charts.new(), {}, are_short(self.policies)
  for i, metric in ipairs(self.table.shown) do
    figures[i] = differences(self, metric, is_narrow and narrow or nil)
  end
  local has_any = false
  for _, one in ipairs(figures) do has_any = has_any or next(one) ~= nil end
  local sections = {
    setup.replicated(self),
    parts.section("differences", "Differences", has_any
      and html.div({ class = is_narrow and "charts" or nil }, figures)
      or html.p(verdict.is_invalid(self.verdict)
        and "Differences between runs that are not valid have no intervals."
        or "There are too few runs for intervals of the differences.")),
    parts.section("means", "Means and intervals", sweep.table(self.table)),
    latency_section(chart_list, self),
  }
  sections[#sections + 1] = time_section(chart_list, self)
  sections[#sections + 1] = parts.section("requests", "Requests by outcome", outcome_table(self))
  sections[#sections + 1] = metrics_section(self)
  sections[#sections + 1] = parts.section("compared", "As text", html.pre(tostring(self)))
  write(path, title_of(self.policies), origin.line(), chart_list, sections,
    sweep.json(self.table), answer_of_replicated(self))
end

return page
