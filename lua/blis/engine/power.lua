--- What GPUs draw, and how much slower power caps make them.
---
--- A user who sets the power of one state must set all: blis assumes no power values and no effects
--- of caps.
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local power = {}

local row_text = "{ watts, prefill_factor, decode_factor }"

--- A function supplies the power of steps, instead of constants.
local function check_function(values, path)
  local draw = values.gpu_step_watts
  if draw == nil then return end
  if type(draw) ~= "function" then
    schema.raise_value(path .. ".gpu_step_watts", draw, "a function(step) that returns W")
  end
  for _, name in ipairs { "gpu_prefill_watts", "gpu_decode_watts" } do
    if values[name] then
      errors.invalid("%s: gpu_step_watts cannot be combined with %s", path, name)
    end
  end
  if not (values.gpu_idle_watts or values.gpu_watts) then
    errors.invalid("%s.gpu_step_watts: the power of an idle GPU is unknown; set gpu_idle_watts as "
      .. "well", path)
  end
end

local function check_watts(values, path)
  check_function(values, path)
  local given = values.gpu_prefill_watts and "gpu_prefill_watts"
    or values.gpu_decode_watts and "gpu_decode_watts"
  if not given then return end
  local function need(name, default, when)
    if values[name] or default then return end
    errors.invalid("%s.%s is %s, but the power of a GPU %s is unknown; set %s as well", path,
      given, errors.show(values[given]), when, name)
  end
  need("gpu_prefill_watts", values.gpu_watts, "in steps with prompt tokens")
  need("gpu_decode_watts", values.gpu_watts, "in steps without prompt tokens")
  need("gpu_idle_watts", nil, "without requests")
end

--- Power in W of a GPU in steps with prompt tokens and in other steps, without a cap; nil if not
--- set. gpu_watts without others is the mean over all time. Steps with both use the larger value,
--- unless mixed_step_power is linear.
local function figures_of(options)
  local decode = options.gpu_decode_watts or options.gpu_watts
  if not decode then return nil end
  local prefill = options.gpu_prefill_watts or options.gpu_watts
  if options.mixed_step_power ~= "linear" then prefill = math.max(prefill, decode) end
  return prefill, decode
end

--- W of a GPU that computes nothing, as far as it is known what the others draw.
---@param options table of a cluster or a group, as apply has left them
---@return number?
function power.idle_watts(options)
  if not options.power then return nil end
  local watts = options.gpu_idle_watts or options.gpu_watts
  return math.min(watts, options.gpu_power_cap_watts or watts)
end

--- Step data that the core must supply; nil if no power is set.
local function power_of(values)
  local prefill, decode = figures_of(values)
  if not (prefill or values.gpu_step_watts) then return nil end
  return { prefill_watts = prefill or 0, decode_watts = decode or 0,
    cap_watts = values.gpu_power_cap_watts or 1e6, mixes = values.mixed_step_power == "linear" }
end

local function is_number_from(least, value)
  return type(value) == "number" and value >= least and value <= 1e6
end

local function check_row(row, where)
  if type(row) ~= "table" or #row ~= 3 then
    schema.raise_value(where, row, row_text)
  elseif not is_number_from(0, row[1]) or row[1] == 0 then
    schema.raise_value(where .. "[1]", row[1], "W above 0 and up to 1000000")
  end
  for k = 2, 3 do
    if not is_number_from(1, row[k]) then
      schema.raise_value(("%s[%d]"):format(where, k), row[k], "a factor from 1 to 1000000: the "
        .. "slowdown of steps (a cap cannot make steps faster)")
    end
  end
end

local function check_table(list, path)
  schema.check_list(list, path, "a list of " .. row_text)
  for i, row in ipairs(list) do
    local where = ("%s[%d]"):format(path, i)
    check_row(row, where)
    if i > 1 and row[1] <= list[i - 1][1] then
      errors.invalid("%s: %s W is not above %s W, the previous row", where, errors.show(row[1]),
        errors.show(list[i - 1][1]))
    end
  end
  if #list == 0 then errors.invalid("%s: expected at least one row", path) end
end

--- On the lines between the rows of a table; above the last one, as there.
local function factors_between(list, cap, path)
  if cap < list[1][1] then
    errors.invalid("%s: the effect of a cap of %s W is unknown; the lowest row has %s W", path,
      errors.show(cap), errors.show(list[1][1]))
  end
  for i = 2, #list do
    local low, high = list[i - 1], list[i]
    if cap <= high[1] then
      local share = (cap - low[1]) / (high[1] - low[1])
      return low[2] + share * (high[2] - low[2]), low[3] + share * (high[3] - low[3])
    end
  end
  return list[#list][2], list[#list][3]
end

--- Slowdown by the law (power / cap)^exponent, for steps above the cap.
local function factors_by_law(values, cap, path)
  local prefill, decode = figures_of(values)
  if not prefill or values.gpu_step_watts then
    errors.invalid("%s.gpu_power_cap_watts is %s, but the power of a GPU without it is unknown; "
      .. "set gpu_watts or power_cap_slowdown", path, errors.show(cap))
  end
  local function factor(watts)
    if watts <= cap then return 1 end
    if not values.power_cap_exponent then
      errors.invalid("%s.gpu_power_cap_watts is %s, below the %s W of some steps, but their "
        .. "slowdown is unknown; set power_cap_exponent or power_cap_slowdown", path,
        errors.show(cap), errors.show(watts))
    end
    return (watts / cap) ^ values.power_cap_exponent
  end
  return factor(prefill), factor(decode)
end

--- Checks the power options of the instances at path, and adds the core's values: power (nil if not
--- set), and the slowdowns of a cap, prefill_slowdown and decode_slowdown (nil without a cap).
---@param values table their options
---@param path string
function power.apply(values, path)
  check_watts(values, path)
  local list, cap = values.power_cap_slowdown, values.gpu_power_cap_watts
  if list then check_table(list, path .. ".power_cap_slowdown") end
  if list and values.power_cap_exponent then
    errors.invalid("%s: power_cap_exponent cannot be combined with power_cap_slowdown", path)
  end
  values.power = power_of(values)
  if not cap then return end
  if list then
    values.prefill_slowdown, values.decode_slowdown =
      factors_between(list, cap, path .. ".power_cap_slowdown")
  else
    values.prefill_slowdown, values.decode_slowdown = factors_by_law(values, cap, path)
  end
end

--- What caps do is for nothing where no GPU has one.
---@param groups table[] options as apply has left them
---@param path string
function power.check_caps(groups, path)
  for _, group in ipairs(groups) do
    if group.gpu_power_cap_watts then return end
  end
  local name = groups[1].power_cap_exponent and "power_cap_exponent"
    or groups[1].power_cap_slowdown and "power_cap_slowdown"
  if name then
    errors.invalid("%s.%s: has no effect without gpu_power_cap_watts", path, name)
  end
end

return power
