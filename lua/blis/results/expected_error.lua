--- The expected error of a run's TPOT and TTFT, from residuals of the step-time model by regime.
---
--- The residuals are errors of means on runs that took no part in the fit. On a GPU family whose
--- runs do not contain the format, they depend on the TP degree. TPOT is a mean over
--- steps, so its error is combined over the steps of the run: residuals of runs whose time goes
--- into decode steps, and of runs whose time goes into steps with prompt tokens, weigh as the run's
--- time does. Instances of several regimes weigh by the time that they compute.
---
--- TTFT has no bound where requests wait for KV blocks, or where it keeps rising: the wait depends
--- on the difference of two rates that are nearly equal.
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

---@class blis.results.Exposure
---@field regime table
---@field tp integer
---@field weight number busy time, us
---@field prefill_share number

--- The regimes of a result with the time that their instances compute; nil where step times of a
--- group have no residuals.
---@return blis.results.Exposure[]?
local function exposures_of(result)
  local setup, list = rawget(result, "setup"), {}
  local groups = setup and rawget(setup, "groups") or { setup }
  if #groups == 0 then return nil end
  for i, group in ipairs(groups) do
    local regime = rawget(group, "regime")
    if not regime then return nil end
    list[i] = { regime = regime, tp = rawget(group, "tp") or 1, weight = 0, prefill_us = 0 }
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

local function combined(exposures)
  local total, sum = 0, { 0, 0, 0, 0 }
  local has_ttft, level_names, texts = true, {}, {}
  for _, one in ipairs(exposures) do total = total + one.weight end
  for _, one in ipairs(exposures) do
    local row, level = residuals.of(one.regime)
    local weight = total > 0 and one.weight / total or 1 / #exposures
    local half, band = residuals.tpot(row, one.prefill_share, one.tp)
    local values = { half, band, row.ttft and row.ttft[1] or 0, row.ttft and row.ttft[2] or 0 }
    for i, value in ipairs(values) do sum[i] = sum[i] + weight * value end
    has_ttft = has_ttft and row.ttft ~= nil
    level_names[level] = true
    local name = residuals.name(one.regime)
    if not texts[name] then texts[#texts + 1], texts[name] = name, true end
  end
  return sum, has_ttft, level_names, table.concat(texts, "; ")
end

local levels = { "nothing", "family", "format", "model" }

local function ttft_reason_of(result, has_ttft)
  return waits_for_kv(result) and "requests queued for KV"
    or is_overloaded(result) and "overloaded, so it depends on the length of the run"
    or not has_ttft and "not measured in this regime" or nil
end

--- The expected error of a result, or nil where the latency model has no residuals.
---@param result blis.Result
---@return table?
function expected_error.of_result(result)
  local exposures = exposures_of(result)
  if not exposures then return nil end
  local sum, has_ttft, level_names, text = combined(exposures)
  local reason, level = ttft_reason_of(result, has_ttft), nil
  for _, name in ipairs(levels) do level = level or level_names[name] and name or nil end
  return {
    tpot = sum[1], tpot_band = sum[2],
    ttft = not reason and sum[3] or nil, ttft_band = not reason and sum[4] or nil,
    ttft_reason = reason, level = level, is_measured = level == "model" or level == "format",
    regime = text,
  }
end

local function percent(share) return ("%.0f%%"):format(share * 100) end

local notes = {
  model = "this model was measured on this GPU",
  format = "this format was measured with another model, or on another GPU of the family",
  family = "this format was not measured on this GPU family",
  nothing = "nothing comparable was measured",
}

local function figure(name, times, half, band)
  local value = times and times.count > 0 and ("%.1f ms "):format(times.mean) or ""
  return ("%s %s(expected error %s; 80%% of setups within %s)"):format(name, value, percent(half),
    percent(band))
end

--- The lines of a summary; none without an expected error.
---@param error? table of expected_error.of_result
---@param result? blis.Result whose means the lines contain
---@return string[]
function expected_error.lines(error, result)
  if not error then return {} end
  return {
    "accuracy    " .. figure("TPOT", result and result.itl_ms, error.tpot, error.tpot_band),
    "            " .. (error.ttft and figure("TTFT", result and result.ttft_ms, error.ttft,
      error.ttft_band) or "TTFT: no bound, " .. error.ttft_reason),
    ("            %s: %s"):format(notes[error.level], error.regime),
  }
end

return expected_error
