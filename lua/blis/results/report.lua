--- Summaries and comparisons as text.
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local features = require "blis.feature"
local figures = require "blis.results.figures"
local format = require "blis.format"
local between = deferred "blis.results.between"
local expected_error = deferred "blis.results.expected_error"
local groups = deferred "blis.results.groups"
local repeats = require "blis.policy.repeats"
local signs = require "blis.results.signs"
local phases = deferred "blis.results.phases"
local sorted = require "blis.sorted"
local verdict = require "blis.results.verdict"
local windows = require "blis.results.windows"
local words = require "blis.statistics.words"
local setup = require "blis.results.setup"

local report = {}

local count, number, percent, plural = format.count, format.number, format.percent, format.plural

--- A metric of times; nil if empty.
local function time_of(d, name)
  return d.count > 0 and d[name] or nil
end

--- No balance without requests.
local function balance_text(r)
  return r.completed > 0 and number(r.balance, 3) or "-"
end

--- No hit rate without lookups.
local function hits_text(r)
  for _, instance in ipairs(r.instances) do
    if instance.cache_hits + instance.cache_misses > 0 then
      return percent(r.cache_hit_rate_overall)
    end
  end
  return "-"
end

local function latency_row(name, d)
  if d.count == 0 then return { name, "-", "-", "-", "-", "-" } end
  return { name, number(d.mean), number(d.p50), number(d.p90), number(d.p99), number(d.max) }
end

local sketch_width = 16

--- The shape of the times of requests between the shortest one and p99, to the right of their row.
local function add_sketch(row, r, name, d)
  local from_us, to_us = math.floor(d.min * 1000), math.ceil(d.p99 * 1000)
  if not r.keeps_records or d.count < 2 or to_us <= from_us then return row end
  row[7] = format.bars(r.requests:spread(name, from_us, to_us, sketch_width))
  return row
end

-- Counts that do not add up to arrived.
local no_ending = { arrived = true, length_capped = true }

--- "4,000 arrived = 3,990 completed + 10 timed out"
function report.conservation(counts)
  local parts = {}
  for _, ending in ipairs(figures.of "Counts") do
    local n = not no_ending[ending.name] and counts[ending.name] or 0
    if n > 0 or ending.name == "completed" then
      parts[#parts + 1] = count(n) .. " " .. ending.name:gsub("_", " ")
    end
  end
  return ("%s arrived = %s"):format(count(counts.arrived), table.concat(parts, " + "))
end

--- A metric as text: see src/results/metrics/figures.h; nil if it is omitted.
local function fill(pattern, value)
  if value == 0 and pattern:find "{%d?%?}" then return nil end
  return (pattern:gsub("{(.-)%??}", function(form)
    if form == "%" then return percent(value) end
    if tonumber(form) then return number(value, tonumber(form)) end
    return form == "" and count(value) or plural(value, form)
  end))
end

--- The class of a summary line, to which `shown` of metrics refers. The class of a feature's line
--- is the class of its part of the result.
report.class_of_line = setmetatable({
  throughput = "Result", ["KV cache"] = "Result", ["CPU tier"] = "Result",
  router = "CacheBelief", cost = "Cost", energy = "Energy", coverage = "Coverage",
  goodput = "Goodput", tasks = "Tasks",
}, {
  __index = function(classes, line)
    local part = features.part_of_line(line)
    for _, figure in ipairs(part and figures.of "Result" or {}) do
      if figure.name == part then classes[line] = figure.class end
    end
    return rawget(classes, line)
  end,
})

--- The metrics of a summary line: "0.030 GPU-hours, 0.104 USD".
local function shown(line, values)
  local parts = {}
  for _, figure in ipairs(figures.of(report.class_of_line[line])) do
    local title, pattern = (figure.shown or ""):match "^(.-): (.*)$"
    local value = title == line and figures.value(values, figure)
    parts[#parts + 1] = value and fill(pattern, value) or nil
  end
  return table.concat(parts, ", ")
end

--- Fraction of the run outside the calibrated range of the step times.
local function coverage_lines(r)
  local coverage, known = rawget(r, "coverage"), rawget(r.setup, "coverage")
  if not coverage or coverage.steps_beyond == 0 then return {} end
  local lines = { "coverage    " .. shown("coverage", coverage) }
  if known and not rawget(r.setup, "groups") then
    lines[2] = ("            (%s)"):format(known.limits)
  end
  return lines
end

--- The same as one note, without the indents of the summary; none where all was covered.
---@param r blis.Result
---@return string[]
function report.coverage(r)
  local lines = coverage_lines(r)
  if #lines == 0 then return lines end
  return { (table.concat(lines, " "):gsub("%s+", " ")) }
end

--- What policies in Lua say of themselves, "most_cost = 3.25"; a line each.
local function metric_lines(r)
  local metrics, lines = rawget(r, "custom_metrics") or {}, {}
  for i, name in ipairs(sorted.names(metrics)) do
    lines[i] = ("%s = %.6g"):format(name, metrics[name])
  end
  return lines
end

-- A shorter drain changes throughput by less.
local least_drain = 0.05

--- "11.4 s of it after the last arrival; 10.3 requests/s arrived": throughput over the whole run is
--- then lower than the load. Nil for short drains, and without records.
local function drain_text(r)
  if not r.keeps_records or #r.requests < 2 then return nil end
  local course = r.requests:course()
  local drain, span = r.duration_us - course.to_us, course.to_us - course.from_us
  if drain < least_drain * r.duration_us or span <= 0 then return nil end
  return ("%s s of it after the last arrival; %s requests/s arrived"):format(
    number(drain / 1e6, 2), number((course.requests - 1) / span * 1e6, 2))
end

local function load_lines(r)
  local lines, belief, saved = {}, r.cache_prediction, 0
  local function add(title, text) lines[#lines + 1] = ("%-11s %s"):format(title, text) end
  add("requests", report.conservation(r))
  if r.length_capped > 0 then
    add("", plural(r.length_capped, "request") .. " stopped at the model's maximum sequence length")
  end
  add("throughput", ("%s over %s s"):format(shown("throughput", r),
    number(r.duration_us / 1e6, 2)))
  local drain = drain_text(r)
  if drain then add("", drain) end
  add("KV cache", shown("KV cache", r))
  for _, instance in ipairs(r.instances) do saved = saved + instance.cpu_saved end
  if saved > 0 then add("CPU tier", shown("CPU tier", r)) end
  if belief.missing_tokens + belief.unknown_tokens > 0 then
    add("router", shown("router", belief))
  end
  features.summarize(r, "work", shown, add)
  if not setup.endpoint(r.setup) then add("cost", shown("cost", r.cost)) end
  if r.energy.kwh then add("energy", shown("energy", r.energy)) end
  features.summarize(r, "cost", shown, add)
  if #r.instances > 1 then
    add("instances", ("%s requests (balance %s)"):format(
      report.instance_counts(r.requests_per_instance), balance_text(r)))
  end
  for i, line in ipairs(metric_lines(r)) do add(i == 1 and "policies" or "", line) end
  local named = rawget(r, "phases")
  for i, line in ipairs(named and phases.lines(named) or {}) do
    add(i == 1 and "phases" or "", line)
  end
  features.summarize(r, "events", shown, add)
  for i, sign in ipairs(signs.ordering(r)) do add(i == 1 and "look at" or "", sign) end
  return lines
end

local function task_lines(r)
  local tasks = rawget(r, "tasks")
  if not tasks then return {} end
  local lines = { "tasks       " .. shown("tasks", tasks) }
  if tasks.completed > 0 then
    lines[2] = ("            %s s mean, %s s p50, %s s p90, %s s p99"):format(
      number(tasks.task_ms.mean / 1000, 1), number(tasks.task_ms.p50 / 1000, 1),
      number(tasks.task_ms.p90 / 1000, 1), number(tasks.task_ms.p99 / 1000, 1))
    local whole, parts = tasks.task_ms.mean, {}
    for _, part in ipairs { "queue", "prefill", "decode", "tool", "delay" } do
      parts[#parts + 1] = ("%s %s"):format(part,
        percent(whole > 0 and tasks[part .. "_ms"].mean / whole or 0))
    end
    lines[3] = ("            critical path of %s requests: %s"):format(
      number(tasks.path_requests, 1), table.concat(parts, ", "))
  end
  return lines
end

local function goodput_lines(r)
  local goodput = rawget(r, "goodput")
  if not goodput then return {} end
  local lines = { "goodput     " .. shown("goodput", goodput) }
  for _, class in ipairs(#goodput.classes > 1 and goodput.classes or {}) do
    lines[#lines + 1] = ("            %s: %s of %s, %s requests/s"):format(class.name,
      percent(class.attainment), count(class.arrived), number(class.requests_per_sec, 2))
  end
  return lines
end

--- Rows of steady-state metrics, for the table of latencies.
local function steady_rows(r)
  local steady = rawget(r, "steady")
  if not steady then return {} end
  local after = steady.left_out and ("after %s: "):format(plural(steady.left_out, "request"))
    or ("after %s s: "):format(number(steady.from_us / 1e6, 1))
  if steady.ttft_ms.count == 0 then return { { after .. "none", "-", "-", "-", "-", "-" } } end
  return {
    latency_row(after .. "TTFT", steady.ttft_ms),
    latency_row("  ITL, means", steady.itl_ms), latency_row("  E2E", steady.e2e_ms),
    latency_row("  scheduling delay", steady.scheduling_delay_ms),
  }
end

--- Requests per instance, shortened when there are many.
function report.instance_counts(counts)
  if #counts <= 16 then return tostring(counts) end
  local least, most = math.maxinteger, 0
  for _, n in ipairs(counts) do least, most = math.min(least, n), math.max(most, n) end
  return ("%s to %s"):format(count(least), count(most))
end

--- Tables with a row per class, tenant and model; nothing where there is only one.
local function group_lines(r)
  local lines = {}
  for _, one in ipairs(groups.tables(r, false)) do
    one.header[#one.header] = one.header[#one.header] .. " (ms)"
    lines[#lines + 1] = ""
    lines[#lines + 1] = format.table(one.header, one.rows, "  ")
    if one.count > #one.rows then
      lines[#lines + 1] = ("  ... and %s more"):format(count(one.count - #one.rows))
    end
  end
  return lines
end

--- What print(result) shows.
---@param r blis.Result
---@return string
function report.summary(r)
  local rows = {
    add_sketch(latency_row("TTFT", r.ttft_ms), r, "ttft_us", r.ttft_ms),
    latency_row("ITL", r.itl_ms),
    add_sketch(latency_row("E2E", r.e2e_ms), r, "e2e_us", r.e2e_ms),
    add_sketch(latency_row("scheduling delay", r.scheduling_delay_ms), r, "scheduling_delay_us",
      r.scheduling_delay_ms),
  }
  local steady = steady_rows(r)
  table.move(steady, 1, #steady, #rows + 1, rows)
  local header = { "latency (ms)", "mean", "p50", "p90", "p99", "max", "min to p99" }
  local latencies = format.table(header, rows, "  ", { [7] = true })
  local lines = verdict.lines(r.verdict)
  if #lines > 0 then lines[#lines + 1] = "" end
  table.move(setup.lines(r), 1, #setup.lines(r), #lines + 1, lines)
  lines[#lines + 1] = ""
  for _, line in ipairs(load_lines(r)) do lines[#lines + 1] = "  " .. line end
  for _, line in ipairs(coverage_lines(r)) do lines[#lines + 1] = "  " .. line end
  for _, line in ipairs(expected_error.lines(r.expected_error, r)) do
    lines[#lines + 1] = "  " .. line
  end
  features.summarize(r, "below", shown, function(title, text)
    lines[#lines + 1] = ("  %-11s %s"):format(title, text)
  end)
  for _, line in ipairs(task_lines(r)) do lines[#lines + 1] = "  " .. line end
  for _, line in ipairs(goodput_lines(r)) do lines[#lines + 1] = "  " .. line end
  lines[#lines + 1] = ""
  lines[#lines + 1] = latencies
  if not r.keeps_records then
    lines[#lines + 1] = "  no records kept: percentiles except ITL may be up to 0.4 % low"
  end
  for _, line in ipairs(group_lines(r)) do lines[#lines + 1] = line end
  lines[#lines + 1] = ""
  lines[#lines + 1] = "result hash " .. r.hash
  return table.concat(lines, "\n")
end

--- Name of the policy without its scorers. Names are never parsed, because scripts choose them.
---@param r blis.Result
---@return string
function report.policy(r)
  return rawget(r.setup, "routing_name") or r.routing
end

--- Latencies and throughput exclude the warm-up, if set.
local function comparison_row(r)
  local name, part = report.policy(r), rawget(r, "steady") or r
  local ttft, e2e = part.ttft_ms, part.e2e_ms
  return { name, number(time_of(ttft, "mean")), number(time_of(ttft, "p99")),
    number(time_of(part.itl_ms, "mean"), 2), number(time_of(e2e, "mean")),
    number(time_of(e2e, "p99")), number(part.tokens_per_sec), hits_text(r),
    balance_text(r), count(r.arrived), count(r.completed) }
end

--- Whether the rows of a comparison have columns for latency targets.
local function has_targets(results)
  return results[1] ~= nil and rawget(results[1], "goodput") ~= nil
end

--- The cells of a run for its latency targets.
local function target_cells(r)
  local goodput = rawget(r, "goodput")
  return goodput and percent(goodput.attainment) or "-",
    goodput and number(goodput.requests_per_sec, 2) or "-"
end

--- Why some requests could not be served:
--- "too long for an instance, the shortest with a prompt of 40,000 tokens".
local function unservable_reason(r)
  local least = math.maxinteger
  if not r.keeps_records then return "too long for an instance" end
  for i = 1, #r.requests do
    local request = r.requests[i]
    if request.state:find "unservable" then least = math.min(least, request.prompt_tokens) end
  end
  return ("too long for an instance, the shortest with a prompt of %s tokens"):format(count(least))
end

--- The reasons of rejections, the most frequent ones first.
local function rejection_reasons(r)
  if not r.keeps_records then return "by a policy" end
  local counts, names = {}, {}
  for i = 1, #r.requests do
    local request = r.requests[i]
    if request.state == "rejected" then
      local reason = request.reason and request.reason ~= "" and request.reason or "unspecified "
        .. "reason"
      if not counts[reason] then names[#names + 1] = reason end
      counts[reason] = (counts[reason] or 0) + 1
    end
  end
  table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  return errors.escaped(table.concat(names, ", ", 1, math.min(#names, 3)))
    .. (#names > 3 and ", ..." or "")
end

--- Outcomes of requests that did not complete, or nil.
local function lost_line(r)
  if r.completed == r.arrived then return nil end
  local parts = {}
  for _, ending in ipairs(figures.of "Counts") do
    local name = ending.name
    local n = not no_ending[name] and name ~= "completed" and r[name] or 0
    if n > 0 then
      local reason = name == "unservable" and unservable_reason(r)
        or name == "rejected" and rejection_reasons(r)
      parts[#parts + 1] = ("%s %s%s"):format(count(n), name:gsub("_", " "),
        reason and " (" .. reason .. ")" or "")
    end
  end
  return ("  %s; %s"):format(table.concat(parts, ", "), r.completed == 0 and "nothing completed"
    or ("latencies cover the %s that completed"):format(count(r.completed)))
end

local compared = { { "ttft_ms", "p99", "TTFT p99" }, { "e2e_ms", "mean", "E2E mean" } }
local level = 0.95

--- The difference of two runs in a metric of `compared`; nil if a run does not have it.
local function difference(drawn, a, b, item, comparisons)
  local steady = rawget(a, "steady") and "steady." or ""
  local metric = ("%s%s.%s"):format(steady, item[1], item[2])
  local function side(r)
    local part = rawget(r, "steady") or r
    return { value = time_of(part[item[1]], item[2]), figures = drawn:figures(r, metric) }
  end
  local base, other = side(a), side(b)
  if not base.value or not other.value then return nil end
  return drawn:paired(base, other, { level = level, comparisons = comparisons })
end

--- "TTFT p99 -12.0 % (-14.1 % to -9.2 %)", or that there is no difference to be seen.
local function difference_text(drawn, a, b, item, comparisons)
  local pair = difference(drawn, a, b, item, comparisons)
  if not pair then return item[3] .. " -" end
  if not pair.low then return ("%s %s"):format(item[3], words.change(pair, pair.change)) end
  return ("%s %s (%s to %s%s)"):format(item[3],
    pair.is_shown and words.change(pair, pair.change) or "no difference seen",
    words.change(pair, pair.low), words.change(pair, pair.high), words.skew(pair))
end

--- Compares each run with the first one. Returns a list per metric with the pairs of the other runs
--- by their places; empty without records, and if a run is invalid or remembers something.
---@param results blis.Comparison
---@return { metric: string, pairs: table<integer, blis.PairedEstimate> }[]
function report.differences(results)
  local first, list = results[1], {}
  local drawn = #results > 1 and first.keeps_records and windows.new(#first.requests)
  for i, r in ipairs(results) do
    if not drawn or verdict.is_invalid(r.verdict) or (results.remembering or {})[i] then
      return {}
    end
  end
  for k, item in ipairs(compared) do
    list[k] = { metric = ("%s.%s"):format(item[1], item[2]), pairs = {} }
    for i = 2, #results do
      list[k].pairs[i] = difference(drawn, first, results[i], item, #results - 1)
    end
  end
  return list
end

--- Distinct names of policies: with their scorers if names are equal, and with numbers if all is
--- equal.
---@param results blis.Comparison
---@return string[]
function report.names(results)
  if results.labels then return results.labels end
  local names, met, seen = {}, {}, {}
  for i, r in ipairs(results) do
    names[i] = report.policy(r)
    met[names[i]] = (met[names[i]] or 0) + 1
  end
  for i, r in ipairs(results) do
    local full = met[names[i]] > 1 and r.routing or names[i]
    names[i] = seen[full] and ("%s #%d"):format(full, i) or full
    seen[full] = true
  end
  return names
end

--- Every policy against the first one.
local function add_differences(lines, results)
  local first = results[1]
  local drawn = #results > 1 and first.keeps_records and windows.new(#first.requests)
  if not drawn then return end
  local names = report.names(results)
  lines[#lines + 1] = ("\nagainst %s (%g %% intervals from one run: %s)"):format(names[1],
    level * 100, tostring(drawn))
  local remembering = results.remembering or {}
  for i = 2, #results do
    local parts = {}
    local invalid = verdict.is_invalid(first.verdict) and 1
      or verdict.is_invalid(results[i].verdict) and i
    for k, item in ipairs(invalid and {} or compared) do
      parts[k] = difference_text(drawn, first, results[i], item, #results - 1)
    end
    if invalid then
      parts = { ("no intervals and no winner: %s is %s"):format(names[invalid],
        verdict.mark(results[invalid].verdict)) }
    end
    if remembering[1] or remembering[i] then
      parts = { ("not compared, because %s keeps state"):format(
        names[remembering[i] and i or 1]) }
    end
    lines[#lines + 1] = ("  %s: %s"):format(names[i], table.concat(parts, "; "))
  end
end

local function add_warm_up_line(lines, results)
  local steady = results[1] and rawget(results[1], "steady")
  if not steady then return end
  lines[#lines + 1] = ("latencies and tokens/s are without the first %s"):format(
    steady.left_out and plural(steady.left_out, "request")
      or number(steady.from_us / 1e6, 1) .. " s")
end

--- The output of print(comparison): one row per policy, with scorers and outcomes of incomplete
--- requests below it, and differences from the baseline.
---@param results blis.Result[]
---@return string
function report.comparison(results)
  local rows, all = {}, rawget(results, "verdict")
  local shows_verdict = all and all.status ~= "ok"
  for i, r in ipairs(results) do
    rows[i] = comparison_row(r)
    if results.labels then rows[i][1] = results.labels[i] end
    if has_targets(results) then
      local attainment, goodput = target_cells(r)
      table.move({ attainment, goodput }, 1, 2, #rows[i] + 1, rows[i])
    end
    if shows_verdict then table.insert(rows[i], verdict.mark(r.verdict)) end
  end
  local header = { results.labels and "variant" or "routing", "TTFT mean", "p99", "ITL mean",
    "E2E mean", "p99 (ms)", "tokens/s", "cache hits", "balance", "arrived", "completed" }
  if has_targets(results) then
    table.move({ "in targets", "goodput/s" }, 1, 2, #header + 1, header)
  end
  local lines, i = {}, 0
  if shows_verdict then
    header[#header + 1] = "verdict"
    lines = verdict.lines(all, #results)
    lines[#lines + 1] = ""
  end
  for line in format.table(header, rows):gmatch("[^\n]+") do
    lines[#lines + 1] = line
    local scorers = i > 0 and not results.labels
      and rawget(results[i].setup, "routing_scorers")
    if scorers then lines[#lines + 1] = "  " .. scorers:gsub(",", ", ") end
    lines[#lines + 1] = i > 0 and lost_line(results[i]) or nil
    if results.remembering and results.remembering[i] then
      lines[#lines + 1] = "  " .. repeats.short_note
    end
    i = i + 1
  end
  add_warm_up_line(lines, results)
  add_differences(lines, results)
  for _, line in ipairs(between.lines(results, report.names(results))) do
    lines[#lines + 1] = "note: " .. line
  end
  return table.concat(lines, "\n")
end

return report
