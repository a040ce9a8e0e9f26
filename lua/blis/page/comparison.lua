--- Pages of several runs: policies under the same traffic, once each or over seeds.
local cdf = require "blis.page.cdf"
local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local format = require "blis.format"
local html = require "blis.page.html"
local json = require "blis.results.json"
local origin = require "blis.page.origin"
local over_time = require "blis.page.over_time"
local parts = require "blis.page.parts"
local report = require "blis.results.report"
local sweep = require "blis.page.sweep"

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
      number(at(part.e2e_ms, "p99")), number(part.tokens_per_sec), percent(r.cache_hit_rate),
      number(r.balance, 3), ("%s of %s"):format(count(r.completed), count(r.arrived)) }
  end
  local caption = "Times in ms, the same requests for all; in cache: blocks of prompts that were "
    .. "found"
  return parts.table(caption, { "", "TTFT mean", "TTFT p99", "ITL mean", "E2E mean", "E2E p99",
    "tokens/s", "in cache", "balance", "completed" }, rows)
end

local function hashes_of(results, labels)
  local words = {}
  for i, r in ipairs(results) do words[i] = ("%s %s"):format(labels[i], r.hash) end
  return "result hashes: " .. table.concat(words, ", ")
end

--- The figures of all runs: [{ "label": ..., "result": { ... } }, ...].
local function json_of(results, labels)
  local writer = core.json_writer(2):array()
  for i, r in ipairs(results) do
    writer:object():field("label", labels[i])
    json.write(writer, { result = r, leaves_out_series = true }, "result")
    writer:done()
  end
  return writer:done():take()
end

local function notes_of(results, labels)
  local notes = {}
  for i, r in ipairs(results) do
    for note in r.setup.notes:gmatch "[^\n]+" do
      notes[#notes + 1] = ("%s: %s"):format(labels[i], note)
    end
  end
  return parts.section("notes", "Coverage and warnings",
    #notes > 0 and parts.notes(notes) or html.p "Nothing to warn of.")
end

local function write(path, title, line, chart_list, sections, figures)
  sections[#sections + 1] = parts.figures "figures-json"
  document.write(path, {
    title = title, styles = styles, scripts = scripts,
    body = { html.header(html.h1(title), html.p({ class = "soft" }, line),
      parts.navigation(sections)), sections },
    data = { charts = chart_list:json(), ["figures-json"] = figures },
  })
end

--- Writes the page of results of blis.compare.
---@param path string
---@param results blis.Comparison
function page.write(path, results)
  local chart_list, labels = charts.new(), report.names(results)
  write(path, ("%s compared"):format(table.concat(labels, ", ")), origin.line(), chart_list, {
    parts.section("setup", "What was run", html.pre(report.setup(results[1])), origin.element()),
    parts.section("compared", "Compared", table_of(results, labels),
      html.p "The same as text, with the differences from the first:",
      html.pre(tostring(results)), html.p({ class = "soft" }, hashes_of(results, labels))),
    parts.section("latencies", "Latencies", cdf.row(chart_list, results, labels)),
    parts.section("time", "Over time", over_time.of_results(chart_list, results, labels)),
    notes_of(results, labels),
  }, json_of(results, labels))
end

local row_height, left, width = 26, 190, 640

--- Where a change lies on the axis from low to high.
local function place(x, low, high)
  return ("%.1f"):format(left + (x - low) / (high - low) * (width - left - 20))
end

--- Differences from the first policy as ranges around zero.
local function ranges(self, metric)
  local list, low, high = {}, 0, 0
  for i, name in ipairs(self.policies) do
    local pair = self.against[i] and self.against[i][metric]
    if pair and pair.low and pair.change then
      list[#list + 1] = { name = name, pair = pair }
      low, high = math.min(low, pair.low), math.max(high, pair.high)
    end
  end
  if #list == 0 then return {} end
  if low == high then low, high = -1, 1 end
  local bottom, shapes = #list * row_height + 8, {}
  local zero = place(0, low, high)
  shapes[1] = html.line { x1 = zero, x2 = zero, y1 = 0, y2 = bottom, class = "zero" }
  for i, one in ipairs(list) do
    local y = i * row_height - 10
    shapes[#shapes + 1] = { html.text({ x = 0, y = y + 4 }, one.name),
      html.line { x1 = place(one.pair.low, low, high), x2 = place(one.pair.high, low, high), y1 = y,
        y2 = y, class = "range" },
      html.circle { cx = place(one.pair.change, low, high), cy = y, r = 4, class = "mean" } }
  end
  local unit = list[1].pair.kind == "ratio" and 100 or 1
  local function label(x, anchor, value)
    return html.text({ x = x, y = bottom + 14, ["text-anchor"] = anchor },
      ("%.3g%s"):format(value * unit, unit == 100 and " %" or ""))
  end
  return html.figure(html.h3(metric),
    html.svg({ class = "ranges", width = width, height = bottom + 20, role = "img",
      ["aria-label"] = ("%s: change against %s, with intervals"):format(metric,
        self.policies[self.baseline]) }, shapes, label(left, "start", low),
      label(width - 20, "end", high)),
    html.figcaption(("Change against %s; lines are %g %% intervals."):format(
      self.policies[self.baseline], self.level * 100)))
end

--- Writes the page of a comparison over seeds.
---@param path string
---@param self blis.ReplicatedComparison
function page.write_replicated(path, self)
  local chart_list, figures = charts.new(), {}
  for _, metric in ipairs(self.table.shown) do figures[#figures + 1] = ranges(self, metric) end
  local title = ("%s compared"):format(table.concat(self.policies, ", "))
  write(path, title, origin.line(), chart_list, {
    parts.section("compared", "Compared", html.pre(tostring(self)), origin.element()),
    parts.section("differences", "Differences", figures),
    parts.section("means", "Means and intervals", sweep.table(self.table)),
  }, sweep.json(self.table))
end

return page
