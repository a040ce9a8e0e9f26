--- The page of one run.
local answer = require "blis.page.answer"
local cdf = require "blis.charts.cdf"
local charts = require "blis.page.charts"
local decisions = require "blis.page.decisions"
local document = require "blis.page.document"
local features = require "blis.page.features"
local figures = require "blis.results.figures"
local format = require "blis.format"
local happenings = require "blis.charts.happenings"
local groups = require "blis.results.groups"
local html = require "blis.page.html"
local json = require "blis.results.json"
local latency_course = require "blis.charts.latency_course"
local lives = require "blis.page.lives"
local origin = require "blis.page.origin"
local over_time = require "blis.charts.over_time"
local parts = require "blis.page.parts"
local report = require "blis.results.report"
local setup = require "blis.page.setup"
local tail = require "blis.page.tail"
local warnings = require "blis.page.warnings"
local windows = require "blis.results.windows"

local page = {}

local number, count, percent, ms = format.number, format.count, format.percent, parts.ms

-- Maximum number of requests for intervals, because each metric needs a pass over all requests in
-- Lua.
local most_for_intervals = 200000
local level = 0.95

--- The number of requests that E2E is of, if TTFT is of others.
local function other_requests(r)
  if r.e2e_ms.count == r.ttft_ms.count then return nil end
  return ("of %s, TTFT of %s"):format(count(r.e2e_ms.count), count(r.ttft_ms.count))
end

local function cards_of(r)
  local cost, goodput = r.cost, rawget(r, "goodput")
  local list = {
    { "completed", count(r.completed), ("of %s"):format(count(r.arrived)) },
    { "TTFT p50", ms(r.ttft_ms.count > 0 and r.ttft_ms.p50 or nil) },
    { "TTFT p99", ms(r.ttft_ms.count > 0 and r.ttft_ms.p99 or nil) },
    { "ITL mean", ms(r.itl_ms.count > 0 and r.itl_ms.mean or nil) },
    { "E2E p99", ms(r.e2e_ms.count > 0 and r.e2e_ms.p99 or nil), other_requests(r) },
    { "throughput", number(r.tokens_per_sec), "tokens/s" },
    { "prompt blocks in cache", percent(r.cache_hit_rate_overall) },
  }
  if goodput then list[#list + 1] = { "within targets", format.share(goodput.attainment) } end
  if cost.usd then list[#list + 1] = { "cost", number(cost.usd, 3), "USD" } end
  return parts.cards(list)
end

local statistics_shown = { "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max" }
local with_intervals = { mean = true, p50 = true, p99 = true }

--- A metric over all requests with its interval, if there are enough requests; and whether it has
--- one.
local function drawn_text(drawn, r, path, value)
  local draws = drawn:figures(r, path)
  local estimate = draws and drawn:estimate(value, draws, level)
  if not (estimate and estimate.low) then return number(value), false end
  return parts.estimate(estimate), true
end

local function latency_row(title, name, drawn, r)
  local d = r[name]
  local row, has_intervals = { title, count(d.count) }, false
  for i, statistic in ipairs(statistics_shown) do
    local value = d.count > 0 and d[statistic] or nil
    local text, is_interval = number(value), false
    if drawn and value and with_intervals[statistic] then
      text, is_interval = drawn_text(drawn, r, name .. "." .. statistic, value)
    end
    has_intervals = has_intervals or is_interval
    row[i + 2] = text
  end
  return row, has_intervals
end

local latencies_shown = { { "TTFT", "ttft_ms" }, { "ITL", "itl_ms" }, { "E2E", "e2e_ms" },
  { "scheduling delay", "scheduling_delay_ms" } }

local function latency_table(r)
  local drawn = r.keeps_records and #r.requests <= most_for_intervals
    and windows.new(#r.requests) or nil
  local rows, has_intervals = {}, false
  for i, one in ipairs(latencies_shown) do
    local row, has = latency_row(one[1], one[2], drawn, r)
    rows[i], has_intervals = row, has_intervals or has
  end
  local caption = "Times in ms" .. (has_intervals and ("; below them %g %% intervals for similar "
    .. "traffic, %s"):format(level * 100, tostring(drawn)) or "")
  return parts.table(caption, { "", "count", table.unpack(statistics_shown) }, rows)
end

local function latency_section(chart_list, r)
  local distributions = cdf.charts({ r }, { "requests" })
  return parts.section("latencies", "Latencies", latency_table(r), chart_list:row(distributions),
    chart_list:row(cdf.tails(distributions)))
end

local function group_table(one)
  local caption = parts.first_of(one.count, #one.rows, "All requests") .. "; times in ms"
  return { html.h3(("By %s"):format(one.title)), parts.table(caption, one.header, one.rows) }
end

local function requests_section(r)
  local rows = {}
  for _, ending in ipairs(figures.of "Counts") do
    local n = r[ending.name]
    if ending.name ~= "arrived" and n > 0 then
      rows[#rows + 1] = { (ending.name:gsub("_", " ")), count(n),
        format.share(n / math.max(r.arrived, 1)), parts.sentence(ending.doc) }
    end
  end
  local tables = {}
  for i, one in ipairs(groups.tables(r, true)) do tables[i] = group_table(one) end
  return parts.section("requests", "Requests by outcome", html.p(report.conservation(r)),
    parts.table("All requests", { "end", "requests", "share", "meaning" }, rows, { [4] = true }),
    tables)
end

local most_rows = 40

--- The attribute by which instances differ: a column title, and the field of their groups.
local kinds = { { "role", "role" }, { "model", "model" }, { "hardware", "hardware" } }

--- The attributes in which groups differ.
local function kinds_of(r)
  local list, all = {}, rawget(r.setup, "groups") or {}
  for _, kind in ipairs(kinds) do
    for _, group in ipairs(all) do
      if rawget(group, kind[2]) ~= rawget(all[1], kind[2]) then
        list[#list + 1] = kind
        break
      end
    end
  end
  return list, all
end

local function instance_section(r)
  local rows, header, told, all = {}, { "instance" }, kinds_of(r)
  for i, kind in ipairs(told) do header[i + 1] = kind[1] end
  for _, name in ipairs { "requests", "completed", "steps", "output tokens",
    "prompt blocks in cache", "preemptions" } do
    header[#header + 1] = name
  end
  for i = 1, math.min(#r.instances, most_rows) do
    local one = r.instances[i]
    rows[i] = { one.id }
    for k, kind in ipairs(told) do rows[i][k + 1] = rawget(all[one.group], kind[2]) or "-" end
    for _, text in ipairs { count(one.requests), count(one.completed), count(one.steps),
      count(one.output_tokens), percent(one.cache_hit_rate), count(one.preemptions) } do
      table.insert(rows[i], text)
    end
  end
  return parts.section("instances", "Instances",
    parts.table(parts.first_of(#r.instances, most_rows, "All instances"), header, rows))
end

local function series_note(r)
  if rawget(r, "series") or rawget(r, "scaling") then return {} end
  return html.p({ class = "soft" }, "With a series (", html.code "series_interval_us", " or ",
    html.code "--series-interval", "), this section also shows KV cache use.")
end

--- The charts of a run over time, which share their marks, cursor, and zoom.
local function time_section(chart_list, r, latencies)
  local marks, list = happenings.of_result(r), table.move(latencies, 1, #latencies, 1, {})
  local others = over_time.of_result(r)
  table.move(others, 1, #others, #list + 1, list)
  for _, chart in ipairs(list) do chart.happenings, chart.is_time = marks, true end
  local text = happenings.text(marks)
  return parts.section("time", "Over time", text and html.p(text) or {}, chart_list:row(list),
    series_note(r))
end

--- Writes the page of a run.
---@param path string
---@param r blis.Result
---@param run? blis.cli.Run other requested sections
function page.write(path, r, run)
  local chart_list, latencies = charts.new(), latency_course.of_result(r)
  local title = ("%s on %s%s"):format(report.policy(r), origin.cluster(r.setup),
    rawget(r, "scaling") and " initially, then autoscaled" or "")
  local sections = {
    setup.section(r), latency_section(chart_list, r),
    time_section(chart_list, r, latencies),
    requests_section(r), instance_section(r),
  }
  local own = features.sections(r)
  table.move(own, 1, #own, #sections + 1, sections)
  for _, section in ipairs { tail.section, lives.slowest, decisions.section,
    warnings.section } do
    sections[#sections + 1] = section(r)
  end
  sections[#sections + 1] = parts.figures("result", true)
  local shown = { result = r, leaves_out_series = true }
  for name, value in pairs(run or {}) do shown[name] = shown[name] or value end
  document.write(path, {
    title = title, styles = { "uplot.css", "report.css" }, scripts = { "uplot.js", "report.js" },
    body = { html.header(html.h1(title), html.p({ class = "soft" }, origin.line(r.hash)),
      parts.navigation(sections)), answer.of_run(r, latencies), cards_of(r), sections },
    data = { charts = chart_list:json(), result = json.text(shown) },
  })
end

return page
