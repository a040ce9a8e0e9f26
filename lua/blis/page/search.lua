--- Pages of searches: how much capacity meets the targets, and which layout of GPUs is best.
local answer = require "blis.page.answer"
local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local format = require "blis.format"
local html = require "blis.page.html"
local names = require "blis.results.metric_names"
local origin = require "blis.page.origin"
local parts = require "blis.page.parts"

local page = {}

local number, count = format.number, format.count

--- "3 x H100, 10.50 USD per hour".
local function size_text(gpus, hardware, usd_per_hour)
  return ("%s x %s, %s"):format(count(gpus), hardware == "" and "GPU" or hardware, usd_per_hour
    and number(usd_per_hour, 2) .. " USD per hour" or "price unknown")
end

local function write(path, title, chart_list, block, sections, data)
  sections[#sections + 1] = parts.figures "figures-json"
  document.write(path, {
    title = title, styles = { "uplot.css", "report.css" }, scripts = { "uplot.js", "report.js" },
    body = { html.header(html.h1(title), html.p({ class = "soft" }, origin.line()),
      parts.navigation(sections)), block, sections },
    data = { charts = chart_list:json(), ["figures-json"] = data },
  })
end

--- Adds what the answer rests on.
local function add_basis(lines, one)
  if one.attainment then
    lines[#lines + 1] = ("%s of the requests meet the targets (%s of %s requests/s)."):format(
      format.share(one.attainment), number(one.goodput_per_sec, 2),
      number(one.requests_per_sec, 2))
  end
  lines[#lines + 1] = ("Limited by: %s."):format(one.binding_constraint)
  if one.usd_per_hour and (one.goodput_per_sec or 0) > 0 then
    lines[#lines + 1] = ("Cost per million requests that meet the targets: %s USD."):format(
      number(one.usd_per_hour / 3600 / one.goodput_per_sec * 1e6, 2))
  end
end

local function expected_of(one, parameter, accuracy)
  return one and { accuracy(one, parameter):gsub("^%l", string.upper) .. "." } or {}
end

local function surge_line(surge)
  if not surge then return nil end
  return surge.recovers and "After a surge, the cluster recovers."
    or "After a surge, the cluster does not recover."
end

local function capacity_block(found, accuracy)
  local one, lines = found.basis, {}
  local headline = found:headline() .. "."
  if one then
    headline = ("%s: %s"):format(size_text(one.gpus, one.hardware, one.usd_per_hour), headline)
    add_basis(lines, one)
  end
  table.insert(lines, 1, ("Targets: %s."):format(table.concat(found.targets, ", ")))
  lines[#lines + 1] = surge_line(found.surge)
  return answer.block { headline = headline, lines = lines, verdict = found.verdict,
    expected = expected_of(one, found.parameter, accuracy) }
end

--- The limit of a metric in the list of targets, "ttft_ms.p99 <= 300".
local function limit_of(found, metric)
  for _, text in ipairs(found.targets) do
    local name, limit = text:match "^(%S+) [<>]= ([%d.e+-]+)"
    if name == metric then return tonumber(limit) end
  end
end

local function are_whole(xs)
  for _, x in ipairs(xs) do
    if not math.tointeger(x) then return false end
  end
  return true
end

local function curve(found, metric)
  local xs, ys = {}, {}
  for i, point in ipairs(found.curve) do
    xs[i], ys[i] = point.value, point.figures[metric] or false
  end
  local chart = { title = names.title(metric), marks = true,
    x = { label = found.parameter, whole = are_whole(xs),
      unit = found.parameter == "rate" and "requests/s" or nil },
    y = { label = metric, log = true }, series = { { label = "mean of the runs" } },
    data = { xs, ys } }
  names.put_on(chart.y, metric)
  local limit = limit_of(found, metric)
  if limit then
    chart.limits = { { axis = "y", at = limit, text = ("target %g%s"):format(limit,
      chart.y.unit and " " .. chart.y.unit or "") } }
  end
  for _, y in ipairs(ys) do -- a logarithmic axis has no 0
    if y and y <= 0 then chart.y.log = false end
  end
  return chart
end

local function tried_table(found)
  local header, rows = { found.parameter, "verdict", "runs that meet the targets", "requests" }, {}
  for _, metric in ipairs(found.figures) do header[#header + 1] = names.head(metric) end
  for i, point in ipairs(found.curve) do
    rows[i] = { ("%.6g"):format(point.value), point.verdict, ("%d of %d"):format(point.met,
      point.met + point.missed + point.unsettled), point.requests and count(point.requests) or "-" }
    for _, metric in ipairs(found.figures) do
      local value = point.figures[metric]
      table.insert(rows[i], value and number(names.is_share(metric) and 100 * value or value, 2)
        or "-")
    end
  end
  return parts.table("All values that were tried", header, rows, nil, true)
end

local function capacity_json(found)
  local writer = core.json_writer(2):array()
  for _, point in ipairs(found.curve) do
    writer:object():field("value", point.value):field("verdict", point.verdict)
      :field("met", point.met):field("missed", point.missed)
    for _, metric in ipairs(found.figures) do
      if point.figures[metric] then writer:field(metric, point.figures[metric]) end
    end
    writer:done()
  end
  return writer:done():take()
end

--- Writes the page of a search for capacity.
---@param path string
---@param found blis.Capacity
---@param accuracy fun(one: blis.CapacityBasis, parameter: string): string the answer over the error
--- of step times
function page.write_capacity(path, found, accuracy)
  local chart_list, list = charts.new(), {}
  for i, metric in ipairs(found.figures) do list[i] = curve(found, metric) end
  local block = capacity_block(found, accuracy)
  write(path, ("Capacity: %s"):format(found.parameter), chart_list, block, {
    parts.section("curve", "Metrics over " .. found.parameter, chart_list:row(list),
      tried_table(found)),
    parts.section("text", "As text", html.pre(tostring(found))),
  }, capacity_json(found))
end

local function rate_text(rate) return rate and ("%.4g"):format(rate) or "-" end

local function layout_table(found)
  local rows = {}
  for i, one in ipairs(found.layouts) do
    rows[i] = { one.name, one.kind, count(one.gpus), rate_text(one.goodput),
      one.low and one.high and ("%s to %s"):format(rate_text(one.low), rate_text(one.high)) or "-",
      number(one.per_gpu, 3), number(one.usd_per_hour, 2), one.on_front and "yes" or "no",
      one.basis and one.basis.binding_constraint or "-" }
  end
  return parts.table("Requests/s that meet the targets, with intervals", { "layout", "kind", "GPUs",
    "requests/s", "interval", "per GPU", "USD per hour", "Pareto-optimal", "limited by" }, rows,
    nil, true)
end

local function copies_line(found)
  local one = found.layouts[1]
  if not (one and one.copies and found.rate) then return nil end
  return ("%s takes %.6g requests/s with %s: %s GPUs%s."):format(one.name, found.rate,
    format.plural(one.copies, "copy"):gsub("copys", "copies"), count(one.rate_gpus),
    one.rate_usd_per_hour and (", %s USD per hour"):format(number(one.rate_usd_per_hour, 2)) or "")
end

local function recommendation_block(found, accuracy)
  local one, lines = found.layouts[1], {}
  local headline = "No layout meets the targets."
  if one then
    local hardware = one.basis and one.basis.hardware or ""
    headline = ("%s on %s takes %s%s requests/s."):format(one.name, size_text(one.gpus, hardware,
      one.usd_per_hour), one.goodput and "" or "at least ", rate_text(one.goodput or one.low))
    lines[1] = found:headline() .. "."
    if one.basis then add_basis(lines, one.basis) end
  end
  table.insert(lines, 1, ("Targets: %s."):format(table.concat(found.targets, ", ")))
  lines[#lines + 1] = copies_line(found)
  return answer.block { headline = headline, lines = lines, verdict = found.verdict,
    expected = expected_of(one and one.basis, "rate", accuracy) }
end

local function infeasible_section(found)
  if #found.infeasible == 0 then return nil end
  local rows = {}
  for i, one in ipairs(found.infeasible) do rows[i] = { one.name, one.kind, one.reason } end
  return parts.section("infeasible", "Infeasible layouts",
    parts.table("Layouts that cannot serve the load", { "layout", "kind", "reason" }, rows,
      { [3] = true }))
end

local function recommendation_json(found)
  local writer = core.json_writer(2):array()
  for _, one in ipairs(found.layouts) do
    writer:object():field("name", one.name):field("kind", one.kind):field("gpus", one.gpus)
    for _, key in ipairs { "goodput", "low", "high", "per_gpu", "usd_per_hour", "copies",
      "expected_error", "error_basis", "range_low", "range_high" } do
      if one[key] then writer:field(key, one[key]) end
    end
    writer:done()
  end
  return writer:done():take()
end

--- Writes the page of a recommendation.
---@param path string
---@param found blis.Recommendation
---@param accuracy fun(one: blis.CapacityBasis, parameter: string): string the answer over the error
--- of step times
function page.write_recommendation(path, found, accuracy)
  local sections = { parts.section("layouts", "Layouts", layout_table(found)) }
  sections[#sections + 1] = infeasible_section(found)
  sections[#sections + 1] = parts.section("text", "As text", html.pre(tostring(found)))
  write(path, ("Layouts of %s GPUs"):format(count(found.gpus)), charts.new(),
    recommendation_block(found, accuracy), sections, recommendation_json(found))
end

return page
