--- The basis of an answer: what the cluster is and costs at the answer, what limits it there, how
--- many requests meet the targets, and the verdict about the runs behind it.
local format = require "blis.format"
local load_checks = require "blis.results.checks.load"
local verdict = require "blis.results.verdict"

local expected_error = require "blis.results.expected_error"

local basis = {}

---@class blis.CapacityBasis
---@field value number at which it was measured: the last value that meets the targets
---@field gpus integer of all instances
---@field hardware string GPU; "" = not known
---@field usd_per_hour number? nil = the price is not known
---@field binding_constraint string what limits the cluster there: "step time", "KV cache",
--- "sequence slots"
---@field share_beyond number? share of the steps beyond the data that step times were fitted to
---@field expected_error number? of TPOT, which four fifths of the setups of this regime are within
---@field error_basis string? of this error: "measured", "neighbouring", "assumed", or "none"
---@field error_reason string? why this error is not known
---@field ttft_error number? of TTFT; nil = not known
---@field model_range blis.ModelRange? the answer over that error
---@field requests_per_sec number offered there
---@field goodput_per_sec number? requests/s that meet the latency targets of one request
---@field attainment number? share of the requests that do

-- The search omits the start of runs and sets their length.
local is_settled_by_search = { transient = true, short = true, outliers = true }

local times = { ttft = "ttft_ms", itl = "itl_ms", e2e = "e2e_ms" }

--- Returns the share of requests that meet every latency target; nil without such a target.
local function attainment_of(r, targets)
  local limits, list = {}, {}
  for _, target in ipairs(targets) do
    local name = target.latency and times[target.latency]
    if name then limits[name] = target.limit end
  end
  if next(limits) == nil then return nil end
  for i, class in ipairs(r.by_slo_class) do
    list[i] = { slo_class = class.name == "" and "default" or class.name,
      ttft_ms = limits.ttft_ms, itl_ms = limits.itl_ms, e2e_ms = limits.e2e_ms }
  end
  local good, arrived = 0, 0
  for _, class in ipairs(r.requests:goodput(list)) do
    good, arrived = good + class.good, arrived + class.arrived
  end
  return arrived > 0 and good / arrived or nil
end

local function hardware_of(setup)
  local names, is_known = {}, {}
  for _, group in ipairs(rawget(setup, "groups") or { setup }) do
    if not is_known[group.hardware] then
      names[#names + 1], is_known[group.hardware] = group.hardware, true
    end
  end
  return table.concat(names, ", ")
end

--- Returns the basis of a result, and the reasons of its verdict that concern an answer.
---@param r any what a trial returned
---@param value number
---@param targets blis.capacity.Target[]
---@return blis.CapacityBasis? nil if the trial returns numbers
---@return blis.results.Finding[] findings
function basis.of(r, value, targets)
  if type(r) ~= "table" or rawget(r, "requests_per_instance") == nil then return nil, {} end
  local cost, coverage = r.cost, rawget(r, "coverage")
  local course = r.requests:course()
  local seconds = (course.to_us - course.from_us) / 1e6
  local attainment = attainment_of(r, targets)
  local offered = seconds > 0 and (course.requests - 1) / seconds or 0
  local accuracy = r.expected_error
    or { tpot_basis = "none", tpot_reason = "no residuals of this step-time model" }
  local found = {
    value = value, gpus = cost.gpus, hardware = hardware_of(r.setup),
    usd_per_hour = cost.usd_per_gpu_hour and cost.usd_per_gpu_hour * cost.gpus,
    binding_constraint = load_checks.binding_constraint(r),
    share_beyond = coverage and coverage.share_beyond, requests_per_sec = offered,
    expected_error = accuracy.tpot_band, error_basis = accuracy.tpot_basis,
    error_reason = accuracy.tpot_reason, ttft_error = accuracy.ttft_band,
    attainment = attainment, goodput_per_sec = attainment and offered * attainment,
  }
  local findings = {}
  for _, reason in ipairs(r.verdict.reasons) do
    if not is_settled_by_search[reason.code] then findings[#findings + 1] = reason end
  end
  return found, findings
end

--- Returns the verdict about an answer.
---@param findings blis.results.Finding[] of its run
---@param problems blis.results.Finding[] of the search
---@return blis.RunVerdict
function basis.verdict(findings, problems)
  return verdict.new(table.move(findings, 1, #findings, #problems + 1, problems))
end

--- Returns the basis in words, "32 x H100, 112.00 USD/h; ...".
---@param one blis.CapacityBasis
---@return string
function basis.text(one)
  local parts = { ("%s %s%s"):format(format.count(one.gpus), one.hardware == "" and "GPUs"
    or "x " .. one.hardware, one.usd_per_hour
    and (", %s USD/h"):format(format.number(one.usd_per_hour, 2)) or ", price unknown") }
  if one.attainment then
    parts[2] = ("%s of %s requests/s (%s) meet the targets"):format(
      format.number(one.goodput_per_sec, 2), format.number(one.requests_per_sec, 2),
      format.percent(one.attainment))
  end
  parts[#parts + 1] = "limited by " .. one.binding_constraint
  if (one.share_beyond or 0) > 0 then
    parts[#parts + 1] = ("%s of the steps outside the calibrated range"):format(
      format.percent(one.share_beyond))
  end
  return table.concat(parts, "; ")
end

--- The range of an answer over the error of step times, "12 to 16 over the model's error (12%,
--- measured)", or why there is none.
---@param one blis.CapacityBasis
---@param parameter string that the search varied
---@return string
function basis.accuracy(one, parameter)
  if not one.expected_error then
    return ("no range over the model's error: the error of step times is unknown (%s)"):format(
      one.error_reason)
  end
  local error = expected_error.band_text(one.error_basis, one.expected_error)
  local range = one.model_range
  if not range then
    return ("no range over the model's error for %s; error of step times: %s"):format(parameter,
      error)
  end
  return ("%.4g to %.4g %s over the model's error (%s)"):format(range.low, range.high,
    parameter == "rate" and "requests/s" or "instances", error)
end

return basis
