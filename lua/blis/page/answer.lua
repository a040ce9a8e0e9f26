--- The block at the top of a page: the answer in one sentence, whether it can be relied on, and the
--- expected error.
local format = require "blis.format"
local html = require "blis.page.html"
local names = require "blis.page.names"
local change_words = require "blis.statistics.words"

local answer = {}

local number, count, percent = format.number, format.count, format.percent

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

local function reasons_of(verdict)
  local lines = {}
  for i, reason in ipairs(verdict and verdict.reasons or {}) do
    local runs = reason.runs and (" (%s)"):format(table.concat(reason.runs, ", ")) or ""
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

--- "12.3 ms" or "1.23 s"
local function time(ms)
  return ms >= 10000 and number(ms / 1000, 1) .. " s" or number(ms) .. " ms"
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
  short = "The run is too short for its percentiles.",
  transient = "The start of the run distorts the metrics.",
  imbalance = "Few instances receive most of the requests.",
  herding = "The policy sends requests in bursts to the same instance.",
  saturated = "A component of the cluster is saturated.",
  extrapolation = "The step times are extrapolated.",
  autoscaler = "The autoscaler does not do its work.",
}

local function headline_of(r)
  local first = r.verdict.reasons[1]
  local served = ("%s of %s requests completed, %s requests/s"):format(count(r.completed),
    count(r.arrived), number(r.requests_per_sec, 2))
  local latencies = latency_words(r)
  local facts = latencies ~= "" and ("%s; %s."):format(served, latencies) or served .. "."
  if not first then return "The run is healthy. " .. facts end
  local words = headlines[first.code]
  return words and ("%s %s"):format(words, facts) or facts
end

local function expected_of(r)
  local expected = r.expected_error
  if not expected then return { "Expected error: unknown for this step-time model." } end
  local function text(name, half, band, reason)
    if not half then return ("%s no bound (%s)"):format(name, reason or "unknown") end
    return ("%s %s (80%% of the measured setups within %.0f%%)"):format(name, percent(half),
      100 * band)
  end
  return { ("Expected error of the step times: %s; %s."):format(
    text("TPOT", expected.tpot, expected.tpot_band, expected.tpot_reason),
    text("TTFT", expected.ttft, expected.ttft_band, expected.ttft_reason)) }
end

local function lines_of(r)
  local lines, goodput, cost = {}, rawget(r, "goodput"), r.cost
  if goodput then
    lines[#lines + 1] = ("SLO attainment: %s of the requests are within their targets, %s "
      .. "requests/s."):format(percent(goodput.attainment), number(goodput.requests_per_sec, 2))
  end
  if cost.usd then
    lines[#lines + 1] = ("Cost: %s USD for %s GPU-hours."):format(number(cost.usd, 3),
      number(cost.gpu_hours, 3))
  end
  return lines
end

--- The answer of a run.
---@param r blis.Result
---@return blis.page.Element
function answer.of_run(r)
  return answer.block { headline = headline_of(r), lines = lines_of(r), verdict = r.verdict,
    expected = expected_of(r) }
end

---@class blis.page.Finding
---@field name string of a policy
---@field effect "better"|"worse"|"none" nil = not judged
---@field text string "21.1 % lower (16.2 % to 26.3 %)"
---@field gain number? how much better, for the order

--- "21.1 % lower (95 % interval 16.2 % to 26.3 %)"
---@param pair blis.PairedEstimate
---@param level number
---@return string
function answer.change_text(pair, level)
  local sign = pair.change < 0 and -1 or 1
  local low, high = sign * pair.low, sign * pair.high
  if low > high then low, high = high, low end
  return ("%s %s (%g %% interval %s to %s)"):format(change_words.change(pair, sign * pair.change),
    sign < 0 and "lower" or "higher", level * 100, change_words.change(pair, low),
    change_words.change(pair, high))
end

--- The winner of a metric, in a sentence. Without a difference, the sentence says so.
---@param metric string
---@param base string name of the baseline
---@param findings blis.page.Finding[] of the other policies, in any order
---@return string
function answer.winner(metric, base, findings)
  local title, best, worse, is_judged = names.title(metric), nil, {}, true
  if #findings == 0 then return ("%s: nothing to compare."):format(title) end
  for _, one in ipairs(findings) do
    is_judged = is_judged and one.effect ~= nil
    if one.effect == "better" and (not best or one.gain > best.gain) then best = one end
    if one.effect == "worse" then worse[#worse + 1] = ("%s is %s"):format(one.name, one.text) end
  end
  if best then
    return ("%s has the best %s, compared with %s: %s."):format(best.name, title, base, best.text)
  elseif #worse == #findings and #worse > 0 then
    return ("%s has the best %s: %s."):format(base, title, table.concat(worse, "; "))
  elseif #worse > 0 then
    return ("No policy has a better %s than %s; %s."):format(title, base, table.concat(worse, "; "))
  elseif not is_judged then
    return ("%s: not judged, since there are too few runs for intervals."):format(title)
  end
  return ("No significant difference in %s."):format(title)
end

--- The answer of a comparison: the first metric is the headline, the others follow.
---@param sentences string[] of answer.winner, per metric
---@param verdict? blis.RunVerdict
---@return blis.page.Element
function answer.of_comparison(sentences, verdict)
  local first = table.remove(sentences, 1)
  if verdict and verdict.status == "invalid" then
    first, sentences = "There is no winner, because the runs are not valid.", {}
  end
  return answer.block { headline = first or "There is nothing to compare.", lines = sentences,
    verdict = verdict }
end

return answer
