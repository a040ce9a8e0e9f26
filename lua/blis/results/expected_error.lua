--- The expected error of a run's TPOT and TTFT, from residuals of the step-time model by regime.
local residuals = require "blis.results.residuals"

local expected_error = {}

-- What left-out groups of the fit show where no row of the regime was measured: a whole group left
-- out, a format of experts that no fit contains, and a GPU of an unknown family.
local unmeasured = { tpot = { 0.12, 0.25 }, ttft = { 0.20, 0.40 } }

local function contains(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

local function fits(residual, regime)
  return contains(residual.gpus, regime.gpu) and residual.weights == regime.weights
    and (residual.has_experts == nil or residual.has_experts == regime.has_experts)
    and (residual.is_async == nil or residual.is_async == regime.is_async)
end

local function residual_of(regime)
  if not regime.has_usual_attention then return nil end
  for _, residual in ipairs(residuals) do
    if fits(residual, regime) then return residual end
  end
  return nil
end

local function regime_text(regime)
  return ("%s, %s, %s, %s scheduling"):format(regime.gpu, regime.weights,
    regime.has_experts and "experts" or "dense", regime.is_async and "asynchronous"
      or "synchronous")
end

local function waits_for_kv(result)
  return (rawget(result, "preemptions") or 0) > 0
    or (rawget(result, "kv_allocation_failures") or 0) > 0
end

--- The expected error of a result, or nil where the latency model has no residuals, or where groups
--- of instances differ.
---@param result blis.Result
---@return table?
function expected_error.of_result(result)
  local setup = rawget(result, "setup")
  local regime = setup and rawget(setup, "regime")
  if not regime or rawget(setup, "groups") then return nil end
  local found = residual_of(regime)
  local errors = found or unmeasured
  local ttft = not waits_for_kv(result) and errors.ttft or nil
  return {
    tpot = errors.tpot[1], tpot_band = errors.tpot[2],
    ttft = ttft and ttft[1], ttft_band = ttft and ttft[2],
    is_measured = found ~= nil, regime = regime_text(regime),
    ttft_reason = not ttft and (waits_for_kv(result) and "requests waited for KV blocks"
      or "TTFT was not measured in this regime") or nil,
  }
end

local function percent(share) return ("%.0f%%"):format(share * 100) end

--- The line of a summary, or nil.
---@param error? table of expected_error.of_result
---@return string?
function expected_error.line(error)
  if not error then return nil end
  local ttft = error.ttft
    and ("TTFT %s (80%% of setups within %s)"):format(percent(error.ttft), percent(error.ttft_band))
    or ("TTFT without bound: %s"):format(error.ttft_reason)
  return ("expected error  TPOT %s (80%% of setups within %s), %s%s"):format(percent(error.tpot),
    percent(error.tpot_band), ttft, error.is_measured and "" or "; nothing was measured for "
      .. error.regime)
end

return expected_error
