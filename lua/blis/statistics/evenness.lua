--- How evenly something is spread.

--- Returns the coefficient of variation, and Jain's index, of some numbers.
---@param values number[]
---@return number
---@return number
return function(values)
  local sum, squares, n = 0.0, 0.0, #values
  for _, value in ipairs(values) do sum, squares = sum + value, squares + value * value end
  if n == 0 then return 0.0, 0.0 end
  if squares == 0 then return 0.0, 1.0 end
  local mean = sum / n
  local variance = 0.0
  for _, value in ipairs(values) do variance = variance + (value - mean) * (value - mean) end
  return math.sqrt(variance / n) / mean, sum * sum / (n * squares)
end
