--- The normal distribution and Student's t: probabilities and quantiles.
---
--- The regularised incomplete beta function is the continued fraction of Lentz, as in Press et al.,
--- Numerical Recipes, 6.4; the gamma function is Lanczos' approximation with g = 7 and 9 terms.
--- Both are good to about 14 digits.
local distribution = {}

local lanczos = {
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
}

--- ln of the gamma function, x > 0.
local function log_gamma(x)
  if x < 0.5 then return math.log(math.pi / math.sin(math.pi * x)) - log_gamma(1 - x) end
  x = x - 1
  local sum = lanczos[1]
  for i = 2, #lanczos do sum = sum + lanczos[i] / (x + i - 1) end
  local t = x + 7.5
  return 0.5 * math.log(2 * math.pi) + (x + 0.5) * math.log(t) - t + math.log(sum)
end

local tiny = 1e-300

local function away_from_zero(x)
  return math.abs(x) < tiny and tiny or x
end

local function beta_fraction(a, b, x)
  local c, d = 1.0, 1 / away_from_zero(1 - (a + b) * x / (a + 1))
  local h = d
  for m = 1, 500 do
    local even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / away_from_zero(1 + even * d)
    c = away_from_zero(1 + even / c)
    h = h * d * c
    local odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / away_from_zero(1 + odd * d)
    c = away_from_zero(1 + odd / c)
    h = h * d * c
    if math.abs(d * c - 1) < 1e-15 then break end
  end
  return h
end

--- The regularised incomplete beta function I_x(a, b), 0 <= x <= 1.
---@return number
function distribution.beta(x, a, b)
  if x <= 0 then return 0.0 end
  if x >= 1 then return 1.0 end
  local front = math.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * math.log(x)
    + b * math.log(1 - x))
  if x < (a + 1) / (a + b + 2) then return front * beta_fraction(a, b, x) / a end
  return 1 - front * beta_fraction(b, a, 1 - x) / b
end

--- P(T <= t) of Student's t with df degrees of freedom.
---@param t number
---@param df number
---@return number
function distribution.t_probability(t, df)
  local tail = 0.5 * distribution.beta(df / (df + t * t), df / 2, 0.5)
  return t > 0 and 1 - tail or tail
end

--- The x at which a growing function reaches p.
local function invert(fn, p)
  local low, high = -1.0, 1.0
  while fn(low) > p do low = low * 2 end
  while fn(high) < p do high = high * 2 end
  for _ = 1, 200 do
    local middle = (low + high) / 2
    if middle == low or middle == high then break end
    if fn(middle) < p then low = middle else high = middle end
  end
  return (low + high) / 2
end

local known_t = {}

--- The p-quantile of Student's t, 0 < p < 1.
---@param p number
---@param df number
---@return number
function distribution.t_quantile(p, df)
  local key = ("%.17g %.17g"):format(p, df)
  if not known_t[key] then
    known_t[key] = invert(function(t) return distribution.t_probability(t, df) end, p)
  end
  return known_t[key]
end

--- P(Z <= z) of the standard normal distribution: a continued fraction of Mills' ratio in the
--- tails, the series of the error function in between (Abramowitz and Stegun 26.2.10, 26.2.14).
---@param z number
---@return number
function distribution.normal_probability(z)
  local density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
  local x = math.abs(z)
  local upper
  if x < 4 then
    local term, sum = x, x
    for n = 1, 200 do
      term = term * x * x / (2 * n + 1)
      sum = sum + term
      if term < sum * 1e-17 then break end
    end
    upper = 0.5 - density * sum
  else
    local fraction = x
    for n = 60, 1, -1 do fraction = x + n / fraction end
    upper = density / fraction
  end
  return z > 0 and 1 - upper or upper
end

--- The p-quantile of the standard normal distribution, 0 < p < 1.
---@param p number
---@return number
function distribution.normal_quantile(p)
  return invert(distribution.normal_probability, p)
end

return distribution
