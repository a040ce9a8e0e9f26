--- Whether a difference between two setups is larger than the error of the step-time model between
--- them.
---
--- The judgment:
--- - Errors that two setups have in common cancel. What remains is the error of the quotient of
---   their TPOT or TTFT, which scripts/validate measures on pairs of held-out runs with equal loads
---   (docs/validation.md, "Errors between two setups").
--- - E2E is the sum of TTFT and of the times of all further tokens. Its error is the mean of both
---   errors, weighted by their shares of E2E. Throughput is judged as E2E, because clients that
---   wait for responses send as many requests as are answered.
--- - Variants of one setup (model, GPU, TP degree, format, scheduling) have the same step times.
---   Their differences come from policies and loads, and are not judged.
--- - If nothing was measured in the regime of a setup, its error has nothing in common with that of
---   the other setup: the expected errors of both add up as independent errors do.
--- - A difference is inside the error if it is smaller than the error that four fifths of the pairs
---   are within.
local residuals = require "blis.engine.residuals"

local between = {}

---@class blis.results.StepTimes
---@field regime table of setup.regime
---@field tp integer
---@field dp integer

---@class blis.results.Subject
---@field step_times blis.results.StepTimes[] of each group of instances
---@field error table of expected_error
---@field ttft_ms number? mean; nil = no request has one
---@field tpot_ms number?
---@field e2e_ms number?

--- The step times of a result's groups of instances; nil where those of a group have no residuals.
---@param result blis.Result
---@return blis.results.StepTimes[]?
function between.step_times(result)
  local setup, list = rawget(result, "setup"), {}
  for i, group in ipairs(setup and rawget(setup, "groups") or { setup }) do
    local regime = rawget(group, "regime")
    if not regime then return nil end
    list[i] = { regime = regime, tp = rawget(group, "tp") or 1, dp = rawget(group, "dp") or 1 }
  end
  return #list > 0 and list or nil
end

local function mean_of(times) return times and times.count > 0 and times.mean or nil end

--- What a result is compared by; nil where its step times have no residuals.
---@param result blis.Result
---@return blis.results.Subject?
function between.subject(result)
  local step_times = between.step_times(result)
  return step_times and result.expected_error and {
    step_times = step_times, error = result.expected_error, ttft_ms = mean_of(result.ttft_ms),
    tpot_ms = mean_of(result.itl_ms), e2e_ms = mean_of(result.e2e_ms),
  }
end

local model_keys = { "gpu", "layers", "hidden_size", "weights", "has_experts" }
local step_keys = { "tp", "dp" }

local function add_keys(parts, given, keys)
  for _, key in ipairs(keys) do parts[#parts + 1] = tostring(given[key]) end
end

--- The models and GPUs, and the step times, as sets of texts.
local function sets_of(subject)
  local models, steps = {}, {}
  for _, one in ipairs(subject.step_times) do
    local parts = {}
    add_keys(parts, one.regime, model_keys)
    models[table.concat(parts, " ")] = true
    parts[#parts + 1] = tostring(one.regime.is_async)
    add_keys(parts, one, step_keys)
    steps[table.concat(parts, " ")] = true
  end
  return models, steps
end

local function are_equal(a, b)
  for name in pairs(a) do
    if not b[name] then return false end
  end
  for name in pairs(b) do
    if not a[name] then return false end
  end
  return true
end

--- "same": equal step times; "part": the same models and GPUs; "model": other.
---@param a blis.results.Subject
---@param b blis.results.Subject
---@return string
function between.kind(a, b)
  local models, steps = sets_of(a)
  local other_models, other_steps = sets_of(b)
  if not are_equal(models, other_models) then return "model" end
  return are_equal(steps, other_steps) and "same" or "part"
end

--- True if the error of a metric is from runs of the format on the GPU family.
local function is_measured(error, key)
  local level = error[key .. "_level"]
  return level == "model" or level == "format"
end

--- The relative error of the quotient of TPOT or TTFT that four fifths of the setups are within;
--- nil = no bound.
local function error_between(kind, key, a, b)
  local band = key .. "_band"
  local one, other = a.error[band], b.error[band]
  if not one or not other then return nil end
  local common = residuals.data().between[kind][key][2]
  if is_measured(a.error, key) and is_measured(b.error, key) then return common end
  return math.max(common, math.sqrt(one ^ 2 + other ^ 2))
end

--- The mean share of TTFT in the E2E of two subjects.
local function share_of_ttft(a, b)
  local sum = 0
  for _, one in ipairs { a, b } do
    local share = one.ttft_ms and one.e2e_ms and one.e2e_ms > 0 and one.ttft_ms / one.e2e_ms or 1
    sum = sum + math.min(1, share)
  end
  return sum / 2
end

local function error_of_e2e(kind, a, b)
  local share = share_of_ttft(a, b)
  local ttft, tpot = error_between(kind, "ttft", a, b), error_between(kind, "tpot", a, b)
  return ttft and tpot and share * ttft + (1 - share) * tpot
end

local judged = {
  ttft_ms = function(kind, a, b) return error_between(kind, "ttft", a, b) end,
  itl_ms = function(kind, a, b) return error_between(kind, "tpot", a, b) end,
  e2e_ms = error_of_e2e, tokens_per_sec = error_of_e2e, requests_per_sec = error_of_e2e,
}

local keys_of = { ttft_ms = { "ttft" }, itl_ms = { "tpot" } }

--- The basis of such an error: "assumed" if an error of one subject is; nil otherwise.
local function basis_of(name, a, b)
  for _, key in ipairs(keys_of[name] or { "ttft", "tpot" }) do
    if a.error[key .. "_basis"] == "assumed" or b.error[key .. "_basis"] == "assumed" then
      return "assumed"
    end
  end
  return nil
end

--- The error of the step-time model between two subjects in a metric. Returns false if the metric
--- or the subjects are not judged, nil if there is no bound.
---@param metric string "ttft_ms.p99", also "steady.ttft_ms.p99"
---@param a? blis.results.Subject
---@param b? blis.results.Subject
---@return number|false|nil
---@return "assumed"? basis nil = measured or neighbouring
function between.error_of(metric, a, b)
  local name = metric:gsub("^steady%.", ""):match "^[%w_]+"
  local of = judged[name]
  local kind = of and a and b and between.kind(a, b)
  if not kind or kind == "same" then return false end
  return of(kind, a, b), basis_of(name, a, b)
end

local metrics = {
  { name = "TPOT", metric = "itl_ms", key = "tpot_ms" },
  { name = "TTFT", metric = "ttft_ms", key = "ttft_ms" },
}

---@class blis.results.Between
---@field metric string "TPOT" or "TTFT"
---@field difference number relative, of the second to the first
---@field error? number nil = no bound
---@field basis? "assumed" of the error; nil = measured or neighbouring
---@field is_inside boolean

--- Judges the differences of two subjects; empty for equal step times, and if one is nil.
---@param a? blis.results.Subject
---@param b? blis.results.Subject
---@return blis.results.Between[]
function between.judge(a, b)
  local list = {}
  for _, one in ipairs(metrics) do
    local limit, basis = between.error_of(one.metric, a, b)
    local base, other = a and a[one.key], b and b[one.key]
    if limit ~= false and base and other and base > 0 then
      local difference = other / base - 1
      list[#list + 1] = { metric = one.name, difference = difference, error = limit,
        basis = basis,
        is_inside = limit == nil or math.abs(difference) <= limit }
    end
  end
  return list
end

--- Why a difference cannot be relied on; "" if it is larger than the error.
---@param difference number relative
---@param limit number|false|nil of error_of
---@param basis? "assumed" of error_of
---@return string
function between.note(difference, limit, basis)
  if limit == false or limit and math.abs(difference) > limit then return "" end
  return limit and ("within the error of the model between these setups (%.0f%%%s)"):format(
    100 * limit, basis and ", " .. basis or "") or "the model has no bound for this difference"
end

--- Sentences about the differences that are inside the error of the model, of each result to the
--- first one.
---@param results blis.Result[]
---@param names string[]
---@return string[]
function between.lines(results, names)
  local lines, first = {}, between.subject(results[1])
  for i = 2, #results do
    for _, found in ipairs(between.judge(first, between.subject(results[i]))) do
      if found.is_inside then
        local note = between.note(found.difference, found.error, found.basis)
        lines[#lines + 1] = ("%s of %s against %s: %+.1f%%; %s"):format(found.metric, names[i],
          names[1], 100 * found.difference, note)
      end
    end
  end
  return lines
end

return between
