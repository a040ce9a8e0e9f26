--- Carbon intensity over time: emissions per kWh from each time.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local types = require "blis.config.types"

local carbon = {}

local row_text = "{ time_us, g_per_kwh }"

local function is_intensity(value)
  return type(value) == "number" and value >= 0 and value <= 1e6
end

--- Checks that steps begin at 0 and are in order of time.
local function check_order(steps, where)
  for i, step in ipairs(steps) do
    if i == 1 and step.from_us ~= 0 then
      errors.invalid("%s: %d us is not 0; the first step must start at 0",
        where(i), step.from_us)
    elseif i > 1 and step.from_us <= steps[i - 1].from_us then
      errors.invalid("%s: %d us is not after %d us, the previous step", where(i), step.from_us,
        steps[i - 1].from_us)
    end
  end
end

local function read_list(list, path)
  schema.check_list(list, path, "a list of " .. row_text)
  if #list == 0 then errors.invalid("%s: expected at least one step", path) end
  local steps = {}
  local function where(i) return ("%s[%d]"):format(path, i) end
  for i, row in ipairs(list) do
    if type(row) ~= "table" or #row ~= 2 then schema.raise_value(where(i), row, row_text) end
    local at = type(row[1]) == "number" and math.tointeger(row[1])
    if not at or at < 0 then
      schema.raise_value(where(i) .. "[1]", row[1], "a whole number of microseconds, of at least 0")
    elseif not is_intensity(row[2]) then
      schema.raise_value(where(i) .. "[2]", row[2], "a number of g per kWh from 0 to 1000000")
    end
    steps[i] = { from_us = at, g_per_kwh = row[2] }
  end
  check_order(steps, where)
  return steps
end

local columns = { { name = "time_s", is_text = true }, { name = "g_per_kwh", is_text = true } }

local function read_file(path)
  local steps, lines = {}, {}
  for i, row in ipairs(errors.located(core.csv_read, path, columns)) do
    local time_s, g = tonumber(row.time_s), tonumber(row.g_per_kwh)
    if not (time_s and time_s >= 0 and time_s < 1e12) then
      errors.invalid("%s:%d: time_s: invalid value '%s': expected a number of at least 0", path,
        row.line, row.time_s)
    elseif not is_intensity(g) then
      errors.invalid("%s:%d: g_per_kwh: invalid value '%s': expected a number from 0 to 1000000",
        path, row.line, row.g_per_kwh)
    end
    steps[i] = { from_us = math.floor(time_s * 1e6 + 0.5), g_per_kwh = g }
    lines[i] = row.line
  end
  if #steps == 0 then errors.invalid("%s: expected at least one row", path) end
  check_order(steps, function(i) return ("%s:%d: time_s"):format(path, lines[i]) end)
  return steps
end

types.carbon = {
  expected = function(option)
    return types.number.expected(option) .. ", the name of a CSV file, or a list of " .. row_text
  end,
  check = function(value, option)
    local number = type(value) == "string" and tonumber(value) or value
    if type(number) == "number" then return types.number.check(number, option) end
    return (type(value) == "string" or type(value) == "table") and value or nil
  end,
}

--- The steps of an option, for the core; nil if it is a constant or not set.
---@param given? number|string|table
---@param path string
---@return { from_us: integer, g_per_kwh: number }[]?
function carbon.steps(given, path)
  if type(given) == "string" then return read_file(given) end
  return type(given) == "table" and read_list(given, path) or nil
end

--- How the core computes emissions of requests: with constant intensity as pg per nJ; with steps,
--- engines add up the emissions of each step. The facility uses more energy than the GPUs.
---@param values table options of a cluster, with carbon_steps
---@return { pg_per_nj: number, factor: number }?
function carbon.of_requests(values)
  if values.carbon_g_per_kwh == nil then return nil end
  local pue = values.pue or 1
  if values.carbon_steps then return { pg_per_nj = 0, factor = pue } end
  return { pg_per_nj = tonumber(values.carbon_g_per_kwh) * pue / 3600, factor = 0 }
end

--- What a kWh emits on average from the start up to a time in seconds.
---@param steps { from_us: integer, g_per_kwh: number }[]
---@param until_s number
---@return number
function carbon.mean(steps, until_s)
  local sum = 0
  for i, step in ipairs(steps) do
    local from_s = step.from_us / 1e6
    local to_s = steps[i + 1] and math.min(steps[i + 1].from_us / 1e6, until_s) or until_s
    sum = sum + step.g_per_kwh * math.max(to_s - from_s, 0)
  end
  return until_s > 0 and sum / until_s or steps[1].g_per_kwh
end

return carbon
