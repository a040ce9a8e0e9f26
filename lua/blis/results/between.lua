--- Whether a difference between two setups is larger than the error of the step-time model between
--- them.
---
--- The judgment:
--- - Errors that two setups have in common cancel. What remains is the error of the quotient of
---   their TPOT or TTFT, which scripts/validate measures on pairs of left-out runs with equal loads
---   (docs/validation.md, "Errors between two setups").
--- - Variants of one setup (model, GPU, TP degree, format, scheduling) have the same step times.
---   Their differences come from policies and loads, and are not judged.
--- - If nothing was measured in the regime of a setup, its error has nothing in common with that of
---   the other setup: the expected errors of both add up as independent errors do.
--- - A difference is inside the error if it is smaller than the error that four fifths of the pairs
---   are within.
local residuals = require "blis.engine.residuals"

local between = {}

local function regime_of(result)
  local setup = rawget(result, "setup")
  if not setup or rawget(setup, "groups") then return nil end
  return rawget(setup, "regime")
end

local same_model = { "gpu", "layers", "hidden_size", "weights", "has_experts" }

local function are_equal(a, b, names)
  for _, name in ipairs(names) do
    if a[name] ~= b[name] then return false end
  end
  return true
end

--- "same": equal step times; "part": the same model and GPU; "model": other; nil without residuals.
---@param one blis.Result
---@param other blis.Result
---@return string?
function between.kind(one, other)
  local a, b = regime_of(one), regime_of(other)
  if not a or not b then return nil end
  if not are_equal(a, b, same_model) then return "model" end
  local is_same = a.is_async == b.is_async and one.setup.tp == other.setup.tp
    and rawget(one.setup, "dp") == rawget(other.setup, "dp")
  return is_same and "same" or "part"
end

local metrics = {
  { name = "TPOT", key = "tpot", of = function(r) return r.itl_ms end },
  { name = "TTFT", key = "ttft", of = function(r) return r.ttft_ms end },
}

--- The relative error of the quotient of a metric that four fifths of the setups are within; nil =
--- no bound.
local function error_between(kind, key, one, other)
  local a, b = one.expected_error, other.expected_error
  local band = key .. "_band"
  if not a[band] or not b[band] then return nil end
  local common = residuals.data().between[kind][key][2]
  if a.is_measured and b.is_measured then return common end
  return math.max(common, math.sqrt(a[band] ^ 2 + b[band] ^ 2))
end

---@class blis.results.Between
---@field metric string "TPOT" or "TTFT"
---@field difference number relative, of the second to the first
---@field error? number nil = no bound
---@field is_inside boolean

--- Judges the differences of two results; empty for equal setups and without residuals.
---@param one blis.Result
---@param other blis.Result
---@return blis.results.Between[]
function between.judge(one, other)
  local kind, list = between.kind(one, other), {}
  if not kind or kind == "same" then return list end
  for _, metric in ipairs(metrics) do
    local a, b = metric.of(one), metric.of(other)
    if a.count > 0 and b.count > 0 and a.mean > 0 then
      local difference = b.mean / a.mean - 1
      local limit = error_between(kind, metric.key, one, other)
      list[#list + 1] = { metric = metric.name, difference = difference, error = limit,
        is_inside = limit == nil or math.abs(difference) <= limit }
    end
  end
  return list
end

local function text_of(found, first, second)
  local difference = ("%s of %s against %s: %+.1f%%"):format(found.metric, second, first,
    100 * found.difference)
  if not found.error then
    return difference .. ". The model has no bound for this difference: TTFT depends on a queue."
  end
  return ("%s, inside the error of the model between these setups (%.0f%%)"):format(difference,
    100 * found.error)
end

--- Sentences about the differences that are inside the error of the model, of each result to the
--- first one.
---@param results blis.Result[]
---@param names string[]
---@return string[]
function between.lines(results, names)
  local lines = {}
  for i = 2, #results do
    for _, found in ipairs(between.judge(results[1], results[i])) do
      if found.is_inside then lines[#lines + 1] = text_of(found, names[1], names[i]) end
    end
  end
  return lines
end

return between
