--- Small square matrices, as lists of rows.
local matrix = {}

---@param n integer
---@return number[][]
function matrix.identity(n)
  local result = {}
  for i = 1, n do
    result[i] = {}
    for j = 1, n do result[i][j] = i == j and 1.0 or 0.0 end
  end
  return result
end

---@param a number[][]
---@param vector number[]
---@return number[]
function matrix.times(a, vector)
  local result = {}
  for i, row in ipairs(a) do
    local sum = 0.0
    for j, x in ipairs(vector) do sum = sum + row[j] * x end
    result[i] = sum
  end
  return result
end

---@param a number[][]
---@param vector number[]
---@return number[]
function matrix.transposed_times(a, vector)
  local result = {}
  for j = 1, #a do
    local sum = 0.0
    for i, x in ipairs(vector) do sum = sum + a[i][j] * x end
    result[j] = sum
  end
  return result
end

--- Turns rows and columns p and q so that a[p][q] becomes 0.
local function rotate(a, axes, p, q)
  local theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
  local t = 1 / (math.abs(theta) + math.sqrt(theta * theta + 1))
  if theta < 0 then t = -t end
  local c = 1 / math.sqrt(t * t + 1)
  local s = t * c
  for k = 1, #a do
    local x, y = a[k][p], a[k][q]
    a[k][p], a[k][q] = c * x - s * y, s * x + c * y
  end
  for k = 1, #a do
    local x, y = a[p][k], a[q][k]
    a[p][k], a[q][k] = c * x - s * y, s * x + c * y
  end
  for k = 1, #a do
    local x, y = axes[k][p], axes[k][q]
    axes[k][p], axes[k][q] = c * x - s * y, s * x + c * y
  end
end

-- Convergence is quadratic: 50 sweeps are far more than are ever needed.
local most_sweeps = 50

--- Eigenvalues of a symmetric matrix, in no order, and its eigenvectors as columns: the method of
--- Jacobi (Golub and Van Loan, Matrix Computations, 8.5).
---@param given number[][]
---@return number[] values
---@return number[][] axes
function matrix.eigen(given)
  local n, a, scale = #given, {}, 0.0
  for i, row in ipairs(given) do
    a[i] = table.move(row, 1, n, 1, {})
    scale = math.max(scale, math.abs(row[i]))
  end
  local axes = matrix.identity(n)
  for _ = 1, most_sweeps do
    local largest = 0.0
    for p = 1, n - 1 do
      for q = p + 1, n do
        local size = math.abs(a[p][q])
        largest = math.max(largest, size)
        if size > 1e-18 * scale then rotate(a, axes, p, q) end
      end
    end
    if largest <= 1e-16 * scale then break end
  end
  local values = {}
  for i = 1, n do values[i] = a[i][i] end
  return values, axes
end

return matrix
