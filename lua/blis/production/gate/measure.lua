--- Metrics of two policies on the same traffic, and the differences that are regressions.
---
--- Both meet the same seeds, so that a difference is taken seed by seed; p-values are raised for as
--- many comparisons as there are (Holm).
local experiment = require "blis.experiment"
local statistics = require "blis.statistics"
local subject = require "blis.production.subject"

local measure = {}

---@class blis.gate.Figure
---@field name string
---@field title string
---@field better "lower"|"higher"
---@field of fun(result: blis.Result): number?
---@field kind? "difference" for shares, which may be 0

-- Requests that did not complete, as a share of those that arrived.
local function lost(result)
  local arrived = result.completed + result.rejected + result.timed_out + result.unservable
    + result.failed
  return arrived > 0 and (arrived - result.completed) / arrived or 0
end

---@type blis.gate.Figure[]
measure.figures = {
  { name = "ttft_mean_ms", title = "TTFT mean", better = "lower",
    of = function(result) return result.ttft_ms.mean end },
  { name = "ttft_p90_ms", title = "TTFT p90", better = "lower",
    of = function(result) return result.ttft_ms.p90 end },
  { name = "e2e_mean_ms", title = "E2E mean", better = "lower",
    of = function(result) return result.e2e_ms.mean end },
  { name = "tokens_per_sec", title = "tokens/s", better = "higher",
    of = function(result) return result.tokens_per_sec end },
  { name = "lost", title = "requests lost", better = "lower", kind = "difference", of = lost },
}

---@class blis.gate.Comparison one metric in one scenario
---@field scenario string
---@field figure blis.gate.Figure
---@field pair blis.PairedEstimate
---@field adjusted_p number
---@field verdict "regression"|"improvement"|"none"

--- One run; its metrics and hash.
local function run(one, scenario, seed)
  local result = experiment.run(subject.experiment(one, scenario, seed))
  local values = { hash = tostring(result.hash), ttft_p99_ms = result.ttft_ms.p99 }
  for _, figure in ipairs(measure.figures) do values[figure.name] = figure.of(result) or 0 end
  return values
end

--- Runs both on a scenario, with every seed.
---@param base blis.production.Subject
---@param new blis.production.Subject
---@param scenario blis.gate.Scenario
---@param seeds integer[]
---@return { base: table[], new: table[] }
function measure.run(base, new, scenario, seeds)
  local runs = { base = {}, new = {} }
  for i, seed in ipairs(seeds) do
    runs.base[i], runs.new[i] = run(base, scenario, seed), run(new, scenario, seed)
  end
  return runs
end

local function column(list, name)
  local values = {}
  for i, one in ipairs(list) do values[i] = one[name] end
  return values
end

local function pair_of(runs, figure)
  local a, b = column(runs.base, figure.name), column(runs.new, figure.name)
  return statistics.paired(a, b, { kind = figure.kind })
end

--- Two-sided p-value of as many changes one way as there are, were each a toss of a coin.
local function sign_test(pair)
  local n, most = pair.lower + pair.higher, math.max(pair.lower, pair.higher)
  local ways, p = 1, 0.0
  for k = 0, n do -- ways: n over k
    if k >= most then p = p + ways end
    ways = ways * (n - k) / (k + 1)
  end
  return math.min(1, 2 * p / 2 ^ n)
end

--- Where few seeds go wrong, and these by much, their spread hides the change from a t-test; where
--- all of them change a little, one way, the signs do not. Either may speak, at half the level.
local function p_value_of(pair)
  if pair.lower + pair.higher == 0 then return 1 end
  return math.min(1, 2 * math.min(pair.p_value or 1, sign_test(pair)))
end

--- Chance does not explain it, and it is more than the tolerance.
local function verdict_of(comparison, tolerance)
  local sign = comparison.figure.better == "lower" and 1 or -1
  local worse = sign * comparison.pair.change
  if comparison.adjusted_p >= 0.05 or math.abs(worse) <= tolerance then return "none" end
  return worse > 0 and "regression" or "improvement"
end

--- All comparisons, with their verdicts.
---@param scenarios { id: string, runs: table }[]
---@param tolerance number changes up to this share are no regressions
---@return blis.gate.Comparison[]
function measure.compare(scenarios, tolerance)
  local list, p_values = {}, {}
  for _, one in ipairs(scenarios) do
    for _, figure in ipairs(measure.figures) do
      local made = { scenario = one.id, figure = figure, pair = pair_of(one.runs, figure) }
      list[#list + 1] = made
      p_values[#list] = p_value_of(made.pair)
    end
  end
  for i, p in ipairs(statistics.holm(p_values)) do
    list[i].adjusted_p = p
    list[i].verdict = verdict_of(list[i], tolerance)
  end
  return list
end

return measure
