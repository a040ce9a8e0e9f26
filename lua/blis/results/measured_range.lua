--- The range of the measured runs: prompt lengths, context, batch sizes, and other properties of a
--- run that its expected error depends on.
---
--- scripts/validate stores the range of each regime in data/validation/residuals.yaml, for TPOT and
--- for TTFT. Lengths are means over tokens: long requests have most of the tokens, and take most of
--- the time. The prompt tokens that a request computes are a mean over requests, because TTFT is.
---
--- A value is inside the range if it is at most twice the largest measured value and at least half
--- of the smallest one. Measured loads are a factor of two apart, and measured prompt lengths a
--- factor of eight, so errors of values between them rest on the same assumption. The TP degree,
--- the size of KV elements, and a stated engine version have no such tolerance. A value more than a
--- tenth outside of the measured ones, and inside the tolerance, gives an error of neighbouring
--- setups.
local format = require "blis.format"

local ranges = {}

local near, beside = 2, 1.1

---@class blis.results.Quantity
---@field key string
---@field text string description with the value
---@field digits integer of stored values after the point
---@field tpot? boolean TPOT depends on it
---@field ttft? boolean TTFT depends on it
---@field has_least? boolean the smallest measured value is a limit
---@field is_exact? boolean no tolerance
---@field is_share? boolean shown as a percentage
---@field is_version? boolean of vLLM: 1000 * major + minor

---@type blis.results.Quantity[]
ranges.quantities = {
  { key = "prompt", text = "prompts of %s tokens", digits = 0, ttft = true },
  { key = "computed", text = "%s computed prompt tokens per request", digits = 0, ttft = true,
    has_least = true },
  { key = "context", text = "%s tokens of context at decode", digits = 0, tpot = true },
  { key = "output", text = "outputs of %s tokens", digits = 0, tpot = true },
  { key = "batch", text = "%s running requests per instance", digits = 1, tpot = true, ttft = true,
    has_least = true },
  { key = "prefill_share", text = "%s of the time in steps with prompt tokens", digits = 3,
    tpot = true, is_share = true },
  { key = "step_tokens", text = "max_num_batched_tokens of %s", digits = 0, tpot = true,
    ttft = true, has_least = true },
  { key = "tp", text = "tp %s", digits = 0, tpot = true, ttft = true, is_exact = true },
  { key = "kv_bits", text = "%s bits per KV element", digits = 1, tpot = true, ttft = true,
    has_least = true, is_exact = true },
  { key = "version", text = "vLLM %s", digits = 0, tpot = true, ttft = true, has_least = true,
    is_exact = true, is_version = true },
}

--- Mean number of requests that run while an instance computes; nil without completed requests.
local function batch_of(result)
  local e2e, delay, busy_us = rawget(result, "e2e_ms"), rawget(result, "scheduling_delay_ms"), 0
  for _, instance in ipairs(rawget(result, "instances") or {}) do
    busy_us = busy_us + (instance.busy_us or 0)
  end
  if not e2e or e2e.count == 0 or delay.count == 0 or busy_us == 0 then return nil end
  return math.max(0, e2e.mean - delay.mean) * e2e.count * 1000 / busy_us
end

--- Lengths as means over tokens; without records, as means over requests.
local function add_lengths(values, result)
  local arrived, completed = rawget(result, "arrived") or 0, rawget(result, "completed") or 0
  if completed == 0 then return end
  local prompt = result.prompt_tokens / arrived
  local output = result.output_tokens / completed
  values.prompt, values.output, values.context = prompt, output, prompt + output / 2
  values.computed = prompt * (1 - (rawget(result, "cache_hit_rate_overall") or 0))
  if rawget(result, "keeps_records") and #result.requests > 0 then
    local course = result.requests:course()
    values.prompt, values.output, values.context = course.prompt_of_token, course.output_of_token,
      course.context_of_token
  end
end

--- The values of a run, by the keys of the quantities.
---@param result blis.Result
---@return table<string, number>
function ranges.of_run(result)
  local values = { batch = batch_of(result) }
  add_lengths(values, result)
  return values
end

--- The values of a group of instances in a run.
---@param run table<string, number> of ranges.of_run
---@param group table of result.setup, with its regime
---@param prefill_share number
---@return table<string, number>
function ranges.of_group(run, group, prefill_share)
  local regime = group.regime
  local values = { prefill_share = prefill_share, tp = rawget(group, "tp"),
    kv_bits = regime.kv_bits, step_tokens = regime.step_tokens, version = regime.version }
  for key, value in pairs(run) do values[key] = value end
  return values
end

---@class blis.results.Beyond
---@field quantity blis.results.Quantity
---@field value number
---@field least number measured
---@field most number measured
---@field is_below boolean below the range, of a quantity with a tolerance
---@field tolerance number factor that values outside of the range may differ by; 1 = none

--- What is outside of a measured pair of values with a tolerance; nil if nothing is.
local function beyond_of(quantity, measured, value, tolerance)
  local factor = quantity.is_exact and 1 or tolerance
  local is_below = quantity.has_least and value < measured[1] / factor
  if not is_below and value <= measured[2] * factor then return nil end
  return { quantity = quantity, value = value, least = measured[1], most = measured[2],
    is_below = is_below and not quantity.is_exact, tolerance = factor }
end

--- The first quantity that is outside of a range, those that are below it last; nil if all are
--- inside.
---@param range? table<string, number[]> by the keys of the quantities
---@param metric "tpot"|"ttft"
---@param values table<string, number>
---@param tolerance? number nil = two
---@return blis.results.Beyond?
function ranges.beyond(range, metric, values, tolerance)
  local below
  for _, quantity in ipairs(range and ranges.quantities or {}) do
    local measured, value = range[quantity.key], values[quantity.key]
    local found = quantity[metric] and measured and value
      and beyond_of(quantity, measured, value, tolerance or near)
    if found and not found.is_below then return found end
    below = below or found or nil
  end
  return below
end

--- The first quantity that is more than a tenth outside of the measured values; nil if none is.
---@param range? table<string, number[]>
---@param metric "tpot"|"ttft"
---@param values table<string, number>
---@return blis.results.Beyond?
function ranges.outside(range, metric, values)
  return ranges.beyond(range, metric, values, beside)
end

local function shown(quantity, value)
  if quantity.is_version then return ("%d.%d"):format(value // 1000, value % 1000) end
  if quantity.is_share then return format.percent(value) end
  if quantity.digits == 0 or value >= 100 then return format.count(math.floor(value + 0.5)) end
  return format.number(value, 1)
end

--- "; accepted: up to 15,018": the limit with the tolerance; "" without one.
local function limit_text(beyond)
  if beyond.tolerance ~= near then return "" end
  local factor = beyond.tolerance
  return beyond.is_below and ("; accepted: from %s"):format(shown(beyond.quantity,
    beyond.least / factor)) or ("; accepted: up to %s"):format(shown(beyond.quantity,
    beyond.most * factor))
end

--- "prompts of 1,000,000 tokens (measured: 565 to 7,509; accepted: up to 15,018)"
---@param beyond blis.results.Beyond
---@return string
function ranges.text(beyond)
  local quantity = beyond.quantity
  local least, most = shown(quantity, beyond.least), shown(quantity, beyond.most)
  return ("%s (measured: %s%s)"):format(quantity.text:format(shown(quantity, beyond.value)),
    least == most and least or ("%s to %s"):format(least, most), limit_text(beyond))
end

return ranges
