--- Fits the free parameters of the composed model to measured runs: Gauss-Newton steps on the
--- logarithms of simulated over measured times, with bounded influence of single rows (Huber), and
--- with the soft rules of parameters.lua.
local constants = require "constants"
local measured = require "measured"
local parameters = require "parameters"

local fit = {}

-- A row counts less from this error on. TTFT varies more from run to run than TPOT.
local huber = 0.08
local ttft_weight, rule_weight = 0.5, 1
local step, most_change = 0.04, 0.3
local slope_rounds = 4 -- slopes need fewer requests than means

--- Errors with the given values of the parameters.
---@param runs validation.Run[]
---@param has_tables boolean of kernel times
---@param values number[]
---@param rounds? integer requests of closed loops, relative to their concurrency; default: 10
---@return validation.Error[]
function fit.errors(runs, has_tables, values, rounds)
  local entries = constants.read()
  parameters.write(entries, values, has_tables)
  local path = constants.write(entries)
  local ok, errors = pcall(measured.errors, runs, { latency_model = "composed",
    kernel_tables = has_tables, catalogue = { path }, rounds = rounds })
  os.remove(path)
  if not ok then error(errors, 0) end
  return errors
end

local figures = { { "tpot", 1 }, { "ttft", ttft_weight } }

--- Log ratios and weights, two for each row; 0 where the source does not state TTFT.
local function residuals_of(errors)
  local list = {}
  for _, one in ipairs(errors) do
    for _, figure in ipairs(figures) do
      local name, weight = figure[1], figure[2]
      local value = one[name] and math.log(1 + one[name]) or 0
      list[#list + 1] = { value = value, weight = one[name]
        and weight * math.min(1, huber / math.max(math.abs(value), 1e-9)) or 0 }
    end
  end
  return list
end

--- Runs that a parameter affects, as a set, from the errors of all runs.
local function affected(errors, parameter)
  local some, list = {}, {}
  for _, one in ipairs(errors) do
    if not some[one.run] and parameter.affects(one.regime) then
      some[one.run], list[#list + 1] = true, one.run
    end
  end
  return some, list
end

--- The change of each residual with the logarithm of a parameter.
local function column_of(errors, has_tables, values, index, offset)
  local some, runs = affected(errors, parameters.list[index])
  local changed = table.move(values, 1, #values, 1, {})
  changed[index] = values[index] * math.exp(step)
  local moved = fit.errors(runs, has_tables, changed, slope_rounds)
  local after, column, at = residuals_of(moved), {}, 0
  for i, one in ipairs(errors) do
    for k = 1, #figures do
      local place = (i - 1) * #figures + k
      if some[one.run] then
        at = at + 1
        column[place] = (after[at].value - offset[place].value) / step
      else
        column[place] = 0
      end
    end
  end
  return column
end

--- The changes of all residuals with all parameters.
---@param runs validation.Run[]
---@param has_tables boolean
---@param values number[]
---@param tell fun(text: string)
---@return number[][] columns
function fit.slopes(runs, has_tables, values, tell)
  local errors = fit.errors(runs, has_tables, values, slope_rounds)
  local columns, offset = {}, residuals_of(errors)
  for i, one in ipairs(parameters.list) do
    columns[i] = column_of(errors, has_tables, values, i, offset)
    tell(("slope %d of %d: %s"):format(i, #parameters.list, one.name))
  end
  return columns
end

local function place_of(name)
  for i, one in ipairs(parameters.list) do
    if one.name == name then return i end
  end
  error("no parameter " .. name)
end

--- Adds a soft rule: the sum of factor * logarithm of a parameter should be `target`.
local function add_rule(matrix, right, logs, factors, target, spread)
  local off, weight = target, rule_weight * (huber / spread) ^ 2
  for i, factor in pairs(factors) do off = off - factor * logs[i] end
  for i, factor in pairs(factors) do
    right[i] = right[i] + weight * factor * off
    for k, other in pairs(factors) do matrix[i][k] = matrix[i][k] + weight * factor * other end
  end
end

local function add_rules(matrix, right, logs)
  for i, one in ipairs(parameters.list) do
    add_rule(matrix, right, logs, { [i] = 1 }, math.log(one.assumed), one.spread)
  end
  for _, tie in ipairs(parameters.ties) do
    add_rule(matrix, right, logs, { [place_of(tie[1])] = 1, [place_of(tie[2])] = -1 }, 0,
      tie.spread)
  end
end

--- Solves a symmetric positive definite system (Cholesky).
local function solve(matrix, right)
  local n, lower, x = #right, {}, {}
  for i = 1, n do
    lower[i] = {}
    for k = 1, i do
      local sum = matrix[i][k]
      for j = 1, k - 1 do sum = sum - lower[i][j] * lower[k][j] end
      lower[i][k] = i == k and math.sqrt(sum) or sum / lower[k][k]
    end
  end
  for i = 1, n do
    local sum = right[i]
    for k = 1, i - 1 do sum = sum - lower[i][k] * x[k] end
    x[i] = sum / lower[i][i]
  end
  for i = n, 1, -1 do
    local sum = x[i]
    for k = i + 1, n do sum = sum - lower[k][i] * x[k] end
    x[i] = sum / lower[i][i]
  end
  return x
end

--- One Gauss-Newton step from `values`, with slopes that may belong to values nearby.
---@param errors validation.Error[] at the values
---@param columns number[][]
---@param values number[]
---@param is_out fun(one: validation.Error): boolean rows that take no part
---@return number[]
function fit.step(errors, columns, values, is_out)
  local n, matrix, right, logs = #values, {}, {}, {}
  for i = 1, n do
    matrix[i], right[i], logs[i] = {}, 0, math.log(values[i])
    for k = 1, n do matrix[i][k] = 0 end
  end
  for place, one in ipairs(residuals_of(errors)) do
    if one.weight > 0 and not is_out(errors[(place - 1) // #figures + 1]) then
      for i = 1, n do
        local slope = columns[i][place]
        if slope ~= 0 then
          right[i] = right[i] - one.weight * slope * one.value
          for k = 1, n do
            matrix[i][k] = matrix[i][k] + one.weight * slope * columns[k][place]
          end
        end
      end
    end
  end
  add_rules(matrix, right, logs)
  local change, next_values = solve(matrix, right), {}
  for i = 1, n do
    next_values[i] = math.exp(logs[i] + math.max(-most_change, math.min(most_change, change[i])))
  end
  return next_values
end

local function none() return false end

--- The fit to all runs: Gauss-Newton steps from the shipped constants, which are close to it.
---@param runs validation.Run[]
---@param has_tables boolean of kernel times
---@param tell fun(text: string)
---@param count? integer steps, each with slopes of its own; default: 1
---@return validation.Fit
function fit.all(runs, has_tables, tell, count)
  local values = parameters.read(constants.read(), has_tables)
  local slopes
  for _ = 1, count or 1 do
    slopes = fit.slopes(runs, has_tables, values, tell)
    values = fit.step(fit.errors(runs, has_tables, values), slopes, values, none)
  end
  return { errors = fit.errors(runs, has_tables, values), slopes = slopes, values = values,
    has_tables = has_tables }
end

return fit
