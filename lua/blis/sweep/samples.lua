--- Points of the unit cube: random, Latin hypercube, Sobol.
local core = require "blis.core"
local errors = require "blis.errors"

local samples = {}

--- Independent uniform points.
local function random(count, dimensions, seed)
  local stream, points = core.rng(seed, "random sample"), {}
  for i = 1, count do
    points[i] = {}
    for d = 1, dimensions do points[i][d] = stream:number() end
  end
  return points
end

--- In every dimension one point in each of count intervals (McKay, Beckman and Conover 1979).
local function latin_hypercube(count, dimensions, seed)
  local stream, points = core.rng(seed, "latin hypercube"), {}
  for i = 1, count do points[i] = {} end
  for d = 1, dimensions do
    local order = {}
    for i = 1, count do order[i] = i - 1 end
    stream:shuffle(order)
    for i = 1, count do points[i][d] = (order[i] + stream:number()) / count end
  end
  return points
end

-- Primitive polynomials (degree, coefficients) and first direction numbers of Joe and Kuo (2008),
-- dimensions 2 to 21.
local directions = {
  { 1, 0, 1 }, { 2, 1, 1, 3 }, { 3, 1, 1, 3, 1 }, { 3, 2, 1, 1, 1 }, { 4, 1, 1, 1, 3, 3 },
  { 4, 4, 1, 3, 5, 13 }, { 5, 2, 1, 1, 5, 5, 17 }, { 5, 4, 1, 1, 5, 5, 5 },
  { 5, 7, 1, 1, 7, 11, 19 }, { 5, 11, 1, 1, 5, 1, 1 }, { 5, 13, 1, 1, 1, 3, 11 },
  { 5, 14, 1, 3, 5, 5, 31 }, { 6, 1, 1, 3, 3, 9, 7, 49 }, { 6, 13, 1, 1, 1, 15, 21, 21 },
  { 6, 16, 1, 3, 1, 13, 27, 49 }, { 6, 19, 1, 1, 1, 15, 7, 5 }, { 6, 22, 1, 3, 1, 15, 13, 25 },
  { 6, 25, 1, 1, 5, 5, 19, 61 }, { 7, 1, 1, 3, 7, 11, 23, 15, 103 },
  { 7, 4, 1, 3, 7, 13, 13, 15, 69 },
}

local bits = 32

--- The direction numbers of a dimension as 32-bit integers.
local function direction_numbers(dimension)
  local v = {}
  if dimension == 1 then
    for k = 1, bits do v[k] = 1 << (bits - k) end
    return v
  end
  local row = directions[dimension - 1]
  local degree, coefficients = row[1], row[2]
  for k = 1, bits do
    if k <= degree then
      v[k] = row[2 + k] << (bits - k)
    else
      v[k] = v[k - degree] ~ (v[k - degree] >> degree)
      for j = 1, degree - 1 do
        if coefficients >> (degree - 1 - j) & 1 == 1 then v[k] = v[k] ~ v[k - j] end
      end
    end
  end
  return v
end

--- Sobol's sequence in the order of the Gray code (Antonov and Saleev 1979); the seed shifts its
--- digits, which keeps its evenness and moves the first point away from the corner.
local function sobol(count, dimensions, seed)
  if dimensions > #directions + 1 then
    errors.invalid("sampling: Sobol samples have at most %d parameters, not %d",
      #directions + 1, dimensions)
  end
  local stream, points = core.rng(seed, "sobol"), {}
  for i = 1, count do points[i] = {} end
  for d = 1, dimensions do
    local v = direction_numbers(d)
    local x = stream:integer(0, 65535) << 16 | stream:integer(0, 65535)
    for i = 1, count do
      points[i][d] = x / (1 << bits)
      local k, n = 1, i - 1
      while n & 1 == 1 do k, n = k + 1, n >> 1 end
      x = x ~ v[k]
    end
  end
  return points
end

local methods = { random = random, ["latin-hypercube"] = latin_hypercube, sobol = sobol }

--- Points with coordinates of at least 0 and below 1.
---@param method "random"|"latin-hypercube"|"sobol"
---@param count integer
---@param dimensions integer
---@param seed integer
---@return number[][]
function samples.new(method, count, dimensions, seed)
  return methods[method](count, dimensions, seed)
end

return samples
