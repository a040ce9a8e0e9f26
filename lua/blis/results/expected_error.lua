--- The expected error of a run's TPOT and TTFT, from residuals of the step-time model by regime.
---
--- The residuals are errors of means on runs that took no part in the fit. On a GPU family whose
--- runs do not contain the format, they depend on the TP degree. TPOT is a mean over
--- steps, so its error is combined over the steps of the run: residuals of runs whose time goes
--- into decode steps, and of runs whose time goes into steps with prompt tokens, weigh as the run's
--- time does. Instances of several regimes weigh by the time that they compute.
---
--- If a run is outside the range of the runs that a regime's residuals are from, the residuals of
--- the next level apply: those of other models or formats, whose runs reached further. The error is
--- unknown if no residual is from such runs. It is also unknown for setups with properties that no
--- measured run had, such as hand-offs between pools.
---
--- Every error has a basis:
---
---   measured      runs of this model in this format on this GPU, in the range of this run
---
---   neighbouring  runs of this format on the GPU family with another model, on another GPU, or in
---                 another range of loads; for a range that these do not reach, of other formats
---
---   assumed       this format was not measured on the GPU family; the numbers are the errors of
---                 other families or formats and an assumption of the authors
---
---   none          the error is unknown
---
--- strict_coverage refuses runs with an error that is assumed or unknown.
---
--- TTFT has no bound where requests wait for KV blocks or sequence slots, or where it keeps rising:
--- the wait depends on the difference of two rates that are nearly equal.
local errors = require "blis.errors"
local features = require "blis.feature"
local measured_range = require "blis.results.measured_range"
local residuals = require "blis.engine.residuals"

local expected_error = {}

local function waits_for_kv(result)
  return (rawget(result, "preemptions") or 0) > 0
    or (rawget(result, "kv_allocation_failures") or 0) > 0
end

local function is_overloaded(result)
  for _, reason in ipairs(result.verdict.reasons) do
    if reason.code == "overload" then return true end
  end
  return false
end

-- Running requests per instance, of max_num_seqs, and waiting requests per running one, from which
-- on the wait for a slot dominates TTFT.
local full_slots, long_queue = 0.9, 0.1

--- True if requests waited because max_num_seqs requests ran on each instance.
local function waits_for_slots(result, run)
  local slots, delay = rawget(result.setup, "max_num_seqs"), result.scheduling_delay_ms
  if not slots or not run.batch or delay.count == 0 then return false end
  local e2e = result.e2e_ms
  return run.batch >= full_slots * slots
    and delay.mean >= long_queue * math.max(e2e.mean - delay.mean, 0)
end

---@class blis.results.Exposure
---@field group table of result.setup
---@field weight number busy time, us
---@field prefill_us number
---@field prefill_share number

--- The regimes of a result with the time that their instances compute; nil where step times of a
--- group have no residuals.
---@return blis.results.Exposure[]?
local function exposures_of(result)
  local setup, list = rawget(result, "setup"), {}
  local groups = setup and rawget(setup, "groups") or { setup }
  if #groups == 0 then return nil end
  for i, group in ipairs(groups) do
    if not rawget(group, "regime") then return nil end
    list[i] = { group = group, weight = 0, prefill_us = 0 }
  end
  for _, instance in ipairs(rawget(result, "instances") or {}) do
    local one = list[#list > 1 and rawget(instance, "group") or 1]
    if one then
      one.weight = one.weight + (rawget(instance, "busy_us") or 0)
      one.prefill_us = one.prefill_us + (rawget(instance, "prefill_us") or 0)
    end
  end
  for _, one in ipairs(list) do
    one.prefill_share = one.weight > 0 and one.prefill_us / one.weight or 0
  end
  return list
end

---@class blis.results.MetricError
---@field half? number nil = unknown
---@field band? number
---@field level? string of the residuals
---@field basis "measured"|"neighbouring"|"assumed"|"none"
---@field outside? blis.results.Beyond what is outside of the measured values, within the tolerance
---@field beyond? blis.results.Beyond what is outside of the regime's own range, or of all ranges

local bases = { none = 1, assumed = 2, neighbouring = 3, measured = 4 }

--- The basis of an error by the level of the regime and the level of the residuals.
local function basis_of(own_level, level, outside)
  if own_level == "family" or own_level == "nothing" or level == "nothing" then return "assumed" end
  return level == "model" and not outside and "measured" or "neighbouring"
end

--- The error of a metric in one regime: that of the first residuals whose runs are like this one,
--- and at least that of its own regime. If a run is below all ranges, the last residuals apply,
--- which are the largest: a smaller step consists of the same launches and reads of weights.
---@return blis.results.MetricError
local function error_of(group, metric, values)
  local level, own_beyond, last = residuals.level(group.regime), nil, nil
  local half, band = 0, 0
  local rows = residuals.candidates(group.regime, level)
  if not rows[1][metric] then return { basis = "none" } end
  for i, row in ipairs(rows) do
    if row[metric] then
      local beyond = measured_range.beyond(row[metric .. "_range"], metric, values)
      local row_half, row_band = residuals[metric](row, values)
      half, band = math.max(half, row_half), math.max(band, row_band)
      if not beyond or i == #rows and beyond.is_below then
        local outside = not beyond and not own_beyond
          and measured_range.outside(row[metric .. "_range"], metric, values) or nil
        local row_level = i == 1 and level or row.level
        return { half = half, band = band, level = row_level, beyond = own_beyond,
          outside = outside, basis = basis_of(level, row_level, outside or beyond) }
      end
      own_beyond, last = own_beyond or beyond, beyond
    end
  end
  return { beyond = last, basis = "none" }
end

local levels = { nothing = 1, family = 2, format = 3, model = 4 }

--- The lower of two levels, or of two bases.
local function lower(a, b, order)
  if not a or not b then return a or b end
  return order[a] < order[b] and a or b
end

--- The error of a metric over all regimes of a run, by the time that their instances compute.
---@return blis.results.MetricError
local function combined(exposures, metric, run)
  local total, sum = 0, { half = 0, band = 0 }
  for _, one in ipairs(exposures) do total = total + one.weight end
  for _, one in ipairs(exposures) do
    local weight = total > 0 and one.weight / total or 1 / #exposures
    local found = error_of(one.group, metric, measured_range.of_group(run, one.group,
      one.prefill_share))
    if not found.half then return found end
    sum.half, sum.band = sum.half + weight * found.half, sum.band + weight * found.band
    sum.level = lower(sum.level, found.level, levels)
    sum.basis = lower(sum.basis, found.basis, bases)
    sum.beyond, sum.outside = sum.beyond or found.beyond, sum.outside or found.outside
  end
  return sum
end

--- What the engines and the features of a run have that no measured run had, for a metric.
local function unmeasured_of(result, exposures, metric)
  local names, is_known = {}, {}
  local function add(list)
    for _, one in ipairs(list or {}) do
      if (metric == "ttft" or not one.ttft_only) and not is_known[one.text] then
        names[#names + 1], is_known[one.text] = one.text, true
      end
    end
  end
  for _, one in ipairs(exposures) do add(residuals.unmeasured(one.group)) end
  add(features.unmeasured(result))
  return #names > 0 and "not measured: " .. table.concat(names, ", ") or nil
end

local function range_reason(found)
  if found.half then return nil end
  return found.beyond and "beyond the measured runs: " .. measured_range.text(found.beyond)
    or "not measured in this regime"
end

local function wait_reason(result, run)
  return waits_for_kv(result) and "requests queued for KV"
    or is_overloaded(result) and "overloaded, so it depends on the length of the run"
    or waits_for_slots(result, run) and "requests queued for sequence slots" or nil
end

--- Why a metric has no value; nil if it has one.
local function missing_reason(result, name, token)
  local times = rawget(result, name)
  return times and times.count == 0 and ("no request has a %s token"):format(token) or nil
end

--- The names of the regimes.
local function regimes_text(exposures)
  local texts = {}
  for _, one in ipairs(exposures) do
    local name = residuals.name(one.group.regime)
    if not texts[name] then texts[#texts + 1], texts[name] = name, true end
  end
  return table.concat(texts, "; ")
end

--- Quantities of a run that are outside of all measured ranges, so that the error of a metric is
--- unknown: texts by metric. Reads no verdict.
---@param result blis.Result
---@return { metrics: string[], text: string }[]
function expected_error.extrapolations(result)
  local exposures, list, by_text = exposures_of(result), {}, {}
  if not exposures then return list end
  local run = measured_range.of_run(result)
  for _, metric in ipairs { "tpot", "ttft" } do
    local found = combined(exposures, metric, run)
    if not found.half and found.beyond then
      local text = measured_range.text(found.beyond)
      local one = by_text[text] or { metrics = {}, text = text }
      if not by_text[text] then list[#list + 1], by_text[text] = one, one end
      table.insert(one.metrics, metric:upper())
    end
  end
  return list
end

--- Why strict_coverage refuses a run in a metric; nil if the error is measured or neighbouring, or
--- if requests waited, which measured runs do, too.
local function refusal(result, exposures, metric, run)
  local found = combined(exposures, metric, run)
  local reason = not found.half and found.beyond and measured_range.text(found.beyond)
    or range_reason(found) or unmeasured_of(result, exposures, metric)
  if reason then return "unknown", reason end
  return found.basis == "assumed" and "assumed" or nil, regimes_text(exposures)
end

--- Raises an error for a run whose expected error is assumed or unknown, with strict_coverage.
---@param result blis.Result
function expected_error.require_measured(result)
  local exposures = exposures_of(result)
  local run = exposures and measured_range.of_run(result)
  for _, metric in ipairs(exposures and { "tpot", "ttft" } or {}) do
    local problem, reason = refusal(result, exposures, metric, run)
    if problem then
      errors.invalid("cluster.strict_coverage: the error of %s is %s: %s", metric:upper(), problem,
        reason)
    end
  end
end

--- The expected error of a result, or nil where the latency model has no residuals.
---@param result blis.Result
---@return table?
function expected_error.of_result(result)
  local exposures = exposures_of(result)
  if not exposures then return nil end
  local run = measured_range.of_run(result)
  local tpot, ttft = combined(exposures, "tpot", run), combined(exposures, "ttft", run)
  local tpot_reason = missing_reason(result, "itl_ms", "second") or range_reason(tpot)
    or unmeasured_of(result, exposures, "tpot")
  local ttft_reason = missing_reason(result, "ttft_ms", "first") or wait_reason(result, run)
    or range_reason(ttft) or unmeasured_of(result, exposures, "ttft")
  local level
  for _, one in ipairs(exposures) do
    level = lower(level, (residuals.level(one.group.regime)), levels)
  end
  local function known(found, reason, name) return not reason and found[name] or nil end
  local function note(found, reason)
    local what = found.beyond or found.outside
    return not reason and what and measured_range.text(what) or nil
  end
  return {
    tpot = known(tpot, tpot_reason, "half"), tpot_band = known(tpot, tpot_reason, "band"),
    tpot_level = known(tpot, tpot_reason, "level"), tpot_reason = tpot_reason,
    tpot_basis = tpot_reason and "none" or tpot.basis, tpot_note = note(tpot, tpot_reason),
    ttft = known(ttft, ttft_reason, "half"), ttft_band = known(ttft, ttft_reason, "band"),
    ttft_level = known(ttft, ttft_reason, "level"), ttft_reason = ttft_reason,
    ttft_basis = ttft_reason and "none" or ttft.basis, ttft_note = note(ttft, ttft_reason),
    level = level, is_measured = level == "model" or level == "format",
    regime = regimes_text(exposures),
  }
end

--- The error that four fifths of the setups are within for a step of an engine: of TPOT for a step
--- with decodes, of TTFT for a prompt. nil = unknown, or no residuals; then with the reason.
---@param facts table of core.engine_facts
---@param step { decodes?: integer, context?: integer, prompt?: integer }
---@return number?
---@return string? reason
---@return string? basis with a number
function expected_error.of_step(facts, step)
  if not rawget(facts, "regime") then return nil, "no residuals of this step-time model" end
  local metric = step.decodes and "tpot" or "ttft"
  local found = error_of(facts, metric, measured_range.of_group({ batch = step.decodes or 1,
    context = step.context, prompt = step.prompt, computed = step.prompt }, facts,
    step.decodes and not step.prompt and 0 or nil))
  local missing = residuals.unmeasured(facts)[1]
  if found.half and not missing then return found.band, nil, found.basis end
  return nil, range_reason(found) or "not measured: " .. missing.text
end

local function percent(share) return ("%.0f%%"):format(share * 100) end

local notes = {
  model = "this model was measured on this GPU",
  format = "neighbouring: this format was measured with another model, or on another GPU of the "
    .. "family",
  family = "assumed: this format was not measured on this GPU family",
  nothing = "assumed: nothing comparable was measured",
}

local words = {
  measured = "expected error %s; 80%% of setups within %s",
  neighbouring = "expected error %s, of neighbouring setups; 80%% of them within %s",
  assumed = "assumed error %s, not measured; 80%% of setups assumed within %s",
}

--- "expected error 8%; 80% of setups within 15%", by the basis of the error.
---@param basis string "measured", "neighbouring", or "assumed"
---@param half number
---@param band number
---@return string
function expected_error.text(basis, half, band)
  return words[basis]:format(percent(half), percent(band))
end

local band_words = { measured = "%s, measured", neighbouring = "%s, of neighbouring setups",
  assumed = "%s, assumed" }

--- "15%, of neighbouring setups": the error that four fifths of the setups are within.
---@param basis string
---@param band number
---@return string
function expected_error.band_text(basis, band)
  return band_words[basis]:format(percent(band))
end

local function figure(name, times, basis, half, band)
  local value = times and times.count > 0 and ("%.1f ms "):format(times.mean) or ""
  return ("%s %s(%s)"):format(name, value, expected_error.text(basis, half, band))
end

--- "TPOT 21.3 ms (expected error 8%; ...)", or why there is no bound.
local function metric_text(name, key, times, error)
  if not error[key] then return ("%s: no bound, %s"):format(name, error[key .. "_reason"]) end
  return figure(name, times, error[key .. "_basis"], error[key], error[key .. "_band"])
end

local others = { format = "another model or GPU", family = "other formats",
  nothing = "other GPU families" }

--- Where an error is from if the run is outside of the range of its own regime.
local function note_of(name, error, key)
  local note, source = error[key .. "_note"], others[error[key .. "_level"]]
  if not note then return nil end
  if error[key .. "_level"] == error.level then
    return ("%s: near the measured runs; %s"):format(name, note)
  end
  return ("%s: error of %s; %s"):format(name, source, note)
end

--- The lines of a summary; none without an expected error.
---@param error? table of expected_error.of_result
---@param result? blis.Result whose means the lines contain
---@return string[]
function expected_error.lines(error, result)
  if not error then return {} end
  local lines = {
    "accuracy    " .. metric_text("TPOT", "tpot", result and result.itl_ms, error),
    "            " .. metric_text("TTFT", "ttft", result and result.ttft_ms, error),
    ("            %s: %s"):format(notes[error.level], error.regime),
  }
  lines[#lines + 1] = note_of("            TPOT", error, "tpot")
  lines[#lines + 1] = note_of("            TTFT", error, "ttft")
  return lines
end

return expected_error
