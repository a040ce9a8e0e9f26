--- One number for a run: a weighted sum of its metrics, each scaled to 0..1.
local errors = require "blis.errors"
local figures = require "blis.results.figures"

local fitness = {}

-- Metric names of BLIS in Go for weights, in the order of messages.
local keys = { "throughput", "tokens_per_sec", "p99_ttft", "p50_ttft", "mean_ttft", "p99_e2e",
  "p50_e2e", "mean_e2e" }

-- For times, energy, and money, 0 maps to 1.
local function falling(x) return 1 / (1 + x) end

-- Scaling of metrics by unit. Metrics without an entry cannot be weighted.
local scales = {
  ["requests/s"] = function(x) return x / (x + 100) end,
  ["tokens/s"] = function(x) return x / (x + 10000) end,
  ms = falling, J = falling, kWh = falling, g = falling, USD = falling,
  ["0 to 1"] = function(x, is_less_better) return is_less_better and 1 - x or x end,
}

-- Metrics by key: "ttft_ms.p99" for "p99_ttft".
local paths = { throughput = "requests_per_sec" }
for _, key in ipairs(keys) do
  local percentile, time = key:match "^(%w+)_(%w+)$"
  if time then paths[key] = ("%s_ms.%s"):format(time, percentile) end
end

--- The metric of a key and its value in a result; nil if it cannot be weighted.
local function find(key, result)
  local figure, value = figures.find(paths[key] or key, result)
  local is_weighed = figure and not figure.class and scales[figure.unit]
    and (figure.better == "more" or figure.better == "less")
  if is_weighed then return figure, value end
end

--- Weights from "throughput:0.5,p99_ttft:0.5"; for a duplicate key the last one counts.
---@param text string
---@return table<string, number>
function fitness.parse(text)
  local weights = {}
  for item in (text .. ","):gmatch("([^,]*),") do
    local key, value = item:match("^%s*([^:]-)%s*:%s*(.-)%s*$")
    if not key then
      errors.invalid("fitness_weights: invalid value '%s': expected KEY:WEIGHT", item)
    end
    local weight = tonumber(value)
    if not weight or weight - weight ~= 0 or weight < 0 then
      errors.invalid("fitness_weights: weight of %s: invalid value '%s': expected a number of "
        .. "at least 0", key, value)
    end
    if not find(key) then
      errors.invalid("fitness_weights: unknown key '%s'%s", key, errors.suggestion(key, keys))
    end
    weights[key] = weight
  end
  return weights
end

--- A metric from 0 to 1, as the fitness scales it; nil for nil.
---@param key string
---@param value? number
---@return number?
function fitness.scaled(key, value)
  local figure = figures.find(paths[key] or key, {})
  return value and scales[figure.unit](value, figure.better == "less")
end

---@class blis.Fitness
---@field score number
---@field components { [1]: string, [2]: number }[] by name

--- The fitness of a result.
---@param result blis.Result
---@param weights table<string, number>
---@return blis.Fitness
function fitness.of(result, weights)
  local names, list, score = {}, {}, 0.0
  for name in pairs(weights) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    local figure, given = find(name, result)
    if not given then errors.invalid("fitness: this result does not contain %s", name) end
    local value = scales[figure.unit](given, figure.better == "less")
    list[i] = { name, value }
    score = score + weights[name] * value
  end
  return { score = score, components = list }
end

local function check_weights(weights)
  for key, weight in pairs(weights) do
    if type(key) ~= "string" or not find(key) then
      errors.invalid("fitness: unknown key '%s'%s", tostring(key),
        errors.suggestion(tostring(key), keys))
    end
    if type(weight) ~= "number" or weight - weight ~= 0 or weight < 0 then
      errors.invalid("fitness: weight of %s: %s: expected a number of at least 0", key,
        errors.invalid_value(weight))
    end
  end
  return weights
end

--- One number: from weights as a string or a table, or from a function of the result.
---@param result blis.Result
---@param weights string|table<string, number>|fun(result: blis.Result): number
---@return number
function fitness.score(result, weights)
  if type(weights) == "function" then
    local score = weights(result)
    if type(score) ~= "number" or score ~= score then
      errors.invalid("fitness: the function returned %s, expected a number", errors.show(score))
    end
    return score
  end
  if type(weights) == "string" then
    weights = fitness.parse(weights)
  elseif type(weights) ~= "table" then
    errors.invalid("fitness: %s: expected weights or a function",
      errors.invalid_value(weights))
  end
  return fitness.of(result, check_weights(weights)).score
end

return fitness
