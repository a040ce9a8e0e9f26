--- The block at the top of a page: the answer in one sentence, whether it can be relied on, and the
--- expected error.
local deferred = require "blis.deferred"
local episodes = require "blis.page.episodes"
local expected_error = deferred "blis.results.expected_error"
local features = require "blis.page.features"
local figures = require "blis.results.figures"
local format = require "blis.format"
local happenings = require "blis.charts.happenings"
local html = require "blis.page.html"
local names = require "blis.results.metric_names"
local change_words = require "blis.statistics.words"

local answer = {}

local number, count = format.number, format.count
local join = format.listed
local time = episodes.time

---@class blis.page.Answer
---@field headline string one sentence
---@field lines? string[] further facts
---@field verdict? blis.RunVerdict
---@field expected? string[] sentences about the expected error

-- Words and signs accompany the colors.
local states = {
  ok = { word = "OK", sign = "✓", class = "ok" },
  warning = { word = "Check", sign = "▲", class = "warning" },
  invalid = { word = "Not valid", sign = "✕", class = "invalid" },
}

-- More runs of a reason are counted.
local most_runs = 4

local function runs_of(list)
  return #list <= most_runs and table.concat(list, ", ")
    or ("%d of the runs, such as %s"):format(#list, list[1])
end

local function reasons_of(verdict)
  local lines = {}
  for i, reason in ipairs(verdict and verdict.reasons or {}) do
    local runs = reason.runs and (" (%s)"):format(runs_of(reason.runs)) or ""
    lines[i] = html.li(html.strong(("%s%s: "):format(reason.code, runs)), reason.text)
  end
  return #lines > 0 and html.ul(lines) or {}
end

--- The block of a page.
---@param one blis.page.Answer
---@return blis.page.Element
function answer.block(one)
  local state = states[one.verdict and one.verdict.status or "ok"]
  local lines = {}
  for i, line in ipairs(one.lines or {}) do lines[i] = html.li(line) end
  local expected = {}
  for i, line in ipairs(one.expected or {}) do expected[i] = html.p({ class = "soft" }, line) end
  return html.div({ class = "answer " .. state.class, role = "region", ["aria-label"] = "Answer" },
    html.p({ class = "headline" },
      html.span({ class = "state" }, html.span({ ["aria-hidden"] = "true" }, state.sign .. " "),
        state.word), " ", one.headline),
    #lines > 0 and html.ul(lines) or {}, reasons_of(one.verdict), expected)
end

local function latency_words(r)
  local words = {}
  for _, one in ipairs { { "TTFT", "ttft_ms" }, { "E2E", "e2e_ms" } } do
    local d = r[one[2]]
    if d.count > 0 then
      words[#words + 1] = ("%s p50 %s, p99 %s"):format(one[1], time(d.p50), time(d.p99))
    end
  end
  return table.concat(words, "; ")
end

--- What a reader must know first, by the code of the gravest reason of a verdict.
local headlines = {
  overload = "The cluster is overloaded: more requests arrive than it completes.",
  ["nothing-served"] = "No request was served.",
  ["time-outs"] = "Many requests time out.",
  ["not-judged"] = "The run cannot be judged.",
  ["identical-lengths"] = "All requests have the same lengths.",
  short = "The run is too short for its percentiles.",
  transient = "The start of the run distorts the metrics.",
  imbalance = "Few instances receive most of the requests.",
  herding = "The policy sends requests in bursts to the same instance.",
  saturated = "A component of the cluster is saturated.",
  extrapolation = "The step times are extrapolated.",
  autoscaler = "The autoscaler does not do its work.",
  losses = "Requests were lost.",
  starvation = "Some requests wait far longer than others.",
  outliers = "Few requests are far slower than all others.",
  populations = "The latencies are of different requests.",
  ["kv-thrashing"] = "KV blocks are loaded again soon after their eviction.",
  ["unmatched-target"] = "A target applies to no request.",
}

local function headline_of(r, clause)
  local first = r.verdict.reasons[1]
  local served = ("%s of %s requests completed, %s requests/s"):format(count(r.completed),
    count(r.arrived), number(r.requests_per_sec, 2))
  local latencies = latency_words(r)
  local facts = latencies ~= "" and ("%s; %s."):format(served, latencies) or served .. "."
  if not first and clause then
    return ("The run is healthy, with one exception: %s. %s"):format(clause, facts)
  elseif not first then
    return "The run is healthy. " .. facts
  end
  local words = headlines[first.code]
  return words and ("%s %s"):format(words, facts) or facts
end

local function expected_of(r)
  local expected = r.expected_error
  if not expected then return { "Expected error: unknown for this step-time model." } end
  local function text(name, key)
    if not expected[key] then
      return ("%s: no bound (%s)"):format(name, expected[key .. "_reason"] or "unknown")
    end
    return ("%s: %s"):format(name, expected_error.text(expected[key .. "_basis"], expected[key],
      expected[key .. "_band"]))
  end
  return { text("TPOT", "tpot") .. ".", text("TTFT", "ttft") .. "." }
end

-- Faults that the block names; the charts mark all of them.
local most_faults = 3

--- "crash of instance_1 at 300.0 s (for 60.0 s, 15 requests lost)", for the first faults.
local function faults_line(r)
  local words = {}
  for _, one in ipairs(happenings.of_result(r)) do
    if one.mark then words[#words + 1] = one.text end
  end
  if #words == 0 then return nil end
  local text = table.concat(words, "; ", 1, math.min(#words, most_faults))
  if #words > most_faults then text = ("%s; and %d more"):format(text, #words - most_faults) end
  return ("Faults: %s."):format(text)
end

--- "Cost: 1.175 USD for 0.336 GPU-hours, 3.50 USD per GPU-hour."
local function cost_line(cost)
  if not cost.usd then return nil end
  local words = { ("%s USD for %s GPU-hours"):format(number(cost.usd, 3),
    number(cost.gpu_hours, 3)) }
  if cost.usd_per_gpu_hour then
    words[#words + 1] = ("%s USD per GPU-hour"):format(number(cost.usd_per_gpu_hour, 2))
  end
  if cost.usd_per_million_output_tokens then
    words[#words + 1] = ("%s USD per million output tokens"):format(
      number(cost.usd_per_million_output_tokens, 2))
  end
  return ("Cost: %s."):format(table.concat(words, ", "))
end

local function lines_of(r)
  local lines, goodput = {}, rawget(r, "goodput")
  lines[1] = faults_line(r)
  if goodput then
    lines[#lines + 1] = ("SLO attainment: %s of the requests are within their targets, %s "
      .. "requests/s."):format(format.share(goodput.attainment),
      number(goodput.requests_per_sec, 2))
  end
  lines[#lines + 1] = cost_line(r.cost)
  local more = features.answers(r)
  return table.move(more, 1, #more, #lines + 1, lines)
end

--- The answer of a run.
---@param r blis.Result
---@param charts blis.plot.Chart[] latencies and attainment over time
---@return blis.page.Element
function answer.of_run(r, charts)
  local clause, lines = episodes.told(charts)
  local is_headline = clause and #r.verdict.reasons == 0
  if clause and not is_headline then table.insert(lines, 1, episodes.sentence(clause)) end
  local facts = lines_of(r)
  table.move(facts, 1, #facts, #lines + 1, lines)
  return answer.block { headline = headline_of(r, clause), lines = lines, verdict = r.verdict,
    expected = expected_of(r) }
end

---@class blis.page.Finding
---@field name string of a policy
---@field effect "better"|"worse"|"none" nil = not judged
---@field text string "21.1 % lower (16.2 % to 26.3 %)"
---@field gain number? how much better, for the order

--- "21.1 % lower (95 % interval 16.2 % to 26.3 %)"; a change of a share is in percentage points.
---@param pair blis.PairedEstimate
---@param level number
---@param metric? string
---@return string
function answer.change_text(pair, level, metric)
  local sign = pair.change < 0 and -1 or 1
  local low, high = sign * pair.low, sign * pair.high
  if low > high then low, high = high, low end
  local figure = metric and figures.find(metric)
  local is_share = figure and figure.unit == "0 to 1" and pair.kind == "difference"
  local function text(x)
    return is_share and ("%.2f"):format(100 * x) or change_words.change(pair, x)
  end
  return ("%s%s %s (%g %% interval %s to %s)"):format(text(sign * pair.change),
    is_share and " percentage points" or "", sign < 0 and "lower" or "higher", level * 100,
    text(low), text(high))
end

--- The winner of a metric, in a sentence. Without a difference, the sentence says so.
---@param metric string
---@param base string name of the baseline
---@param findings blis.page.Finding[] of the other policies, in any order
---@return string
---@return boolean is_none no significant difference
function answer.winner(metric, base, findings)
  local title, best, worse, is_judged = names.title(metric), nil, {}, true
  if #findings == 0 then return ("%s: nothing to compare."):format(title), false end
  for _, one in ipairs(findings) do
    is_judged = is_judged and one.effect ~= nil
    if one.effect == "better" and (not best or one.gain > best.gain) then best = one end
    if one.effect == "worse" then worse[#worse + 1] = ("%s is %s"):format(one.name, one.text) end
  end
  local text
  if best then
    text = ("%s has the best %s, compared with %s: %s."):format(best.name, title, base, best.text)
  elseif #worse == #findings then
    text = ("%s has the best %s: %s."):format(base, title, table.concat(worse, "; "))
  elseif #worse > 0 then
    text = ("No policy has a better %s than %s; %s."):format(title, base, table.concat(worse, "; "))
  elseif not is_judged then
    text = ("%s: not judged, since there are too few runs for intervals."):format(title)
  end
  return text or ("No significant difference in %s."):format(title), text == nil
end

--- The policies whose runs are valid and not valid, and whether the latter are overloaded.
local function parted(policies, verdicts)
  local valid, invalid, are_overloaded = {}, {}, true
  for i, name in ipairs(policies) do
    local one = verdicts[i]
    if one and one.status == "invalid" then
      invalid[#invalid + 1] = name
      are_overloaded = are_overloaded and one.reasons[1].code == "overload"
    else
      valid[#valid + 1] = name
    end
  end
  return valid, invalid, are_overloaded
end

--- A sentence about invalid runs of some policies; nil if all are valid.
local function parted_text(policies, verdicts)
  local valid, invalid, are_overloaded = parted(policies, verdicts)
  if #invalid == 0 then return nil end
  local bad = ("%s %s %s"):format(join(invalid, "and"), #invalid == 1 and "is" or "are",
    are_overloaded and "overloaded" or "not valid")
  if #valid == 0 then
    return are_overloaded and "There is no winner: all policies are overloaded."
      or "There is no winner, because the runs are not valid."
  end
  local good = are_overloaded and (#valid == 1 and "keeps up with the load"
    or "keep up with the load") or #valid == 1 and "is valid" or "are valid"
  return ("%s%s %s: %s."):format(#valid == 1 and "Only " or "", join(valid, "and"), good, bad)
end

---@class blis.page.Compared
---@field metrics string[]
---@field policies string[]
---@field base string name of the baseline
---@field findings blis.page.Finding[][] of the other policies, per metric
---@field verdict? blis.RunVerdict
---@field verdicts (blis.RunVerdict|false)[] of each policy
---@field more string[] further facts

--- Sentences about the metrics: the first one with a winner, and one for all without a difference.
local function metric_lines(given)
  local lines, equal = {}, {}
  for k, metric in ipairs(given.metrics) do
    local text, is_none = answer.winner(metric, given.base, given.findings[k])
    if is_none then equal[#equal + 1] = names.title(metric) else lines[#lines + 1] = text end
  end
  if #equal > 0 then
    local is_first = names.title(given.metrics[1]) == equal[1]
    table.insert(lines, is_first and 1 or #lines + 1,
      ("No significant difference in %s."):format(join(equal, "or")))
  end
  return lines
end

--- The answer of a comparison.
---@param given blis.page.Compared
---@return blis.page.Element
function answer.of_comparison(given)
  local parted_line = parted_text(given.policies, given.verdicts)
  local lines = parted_line and { parted_line } or metric_lines(given)
  local first, verdict = table.remove(lines, 1), given.verdict
  if verdict and verdict.status == "invalid" and #parted(given.policies, given.verdicts) > 0 then
    verdict = { status = "warning", reasons = verdict.reasons }
  end
  table.move(given.more, 1, #given.more, #lines + 1, lines)
  return answer.block { headline = first or "There is nothing to compare.", lines = lines,
    verdict = verdict }
end

return answer
