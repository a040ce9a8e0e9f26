--- CMA-ES: searches the place with the smallest value of a function that is known by trying only.
---
--- Places are drawn from a normal distribution whose mean, width and shape follow the better half
--- of each generation. After Hansen, The CMA Evolution Strategy: A Tutorial (arXiv:1604.00772),
--- with its default parameters and positive weights.
local core = require "blis.core"
local errors = require "blis.errors"
local matrix = require "blis.statistics.matrix"
local options = require "blis.config.sweep"
local schema = require "blis.config.schema"
local show = require "blis.show"

local cma_es = {}

---@class blis.CmaEs
---@field generation integer generations whose values were given
---@field best number[]? the best place so far
---@field best_value number?
---@field step number the width of the distribution now
---@field mean number[] its middle
---@field is_settled boolean the search has converged: restart it elsewhere, or accept the result
local Search = {}
Search.__index = Search
Search.__name = "blis.cma_es"

function Search:__tostring()
  local what = ("CMA-ES in %d dimensions, generation %d, step %g"):format(self.size,
    self.generation, self.step)
  if not self.best then return what end
  return ("%s: best value %g at %s"):format(what, self.best_value, show.text(self.best))
end

-- For a function without a lower bound, the search does not end, but its points remain finite.
local largest_step = 1e100

--- Weights of the better half: logarithmic, with sum 1; and 1 / sum of their squares.
local function recombination(population)
  local weights, sum, squares = {}, 0.0, 0.0
  for i = 1, population // 2 do
    weights[i] = math.log((population + 1) / 2) - math.log(i)
    sum = sum + weights[i]
  end
  for i, weight in ipairs(weights) do
    weights[i] = weight / sum
    squares = squares + weights[i] * weights[i]
  end
  return weights, 1 / squares
end

--- The parameters of the strategy for n dimensions (table 1 of the tutorial).
local function parameters_of(n, population)
  local weights, mu = recombination(population)
  local step_rate = (mu + 2) / (n + mu + 5)
  local rank_one = 2 / ((n + 1.3) ^ 2 + mu)
  return {
    weights = weights, mu = mu, step_rate = step_rate,
    damping = 1 + 2 * math.max(0, math.sqrt((mu - 1) / (n + 1)) - 1) + step_rate,
    path_rate = (4 + mu / n) / (n + 4 + 2 * mu / n), rank_one = rank_one,
    rank_mu = math.min(1 - rank_one, 2 * (mu - 2 + 1 / mu) / ((n + 2) ^ 2 + mu)),
    -- The mean length of a vector of n standard normal numbers.
    length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n)),
  }
end

local function zeros(n)
  local list = {}
  for i = 1, n do list[i] = 0.0 end
  return list
end

--- Raises unless there is a limit for every coordinate, and the start lies between them.
local function check_limits(values)
  for _, name in ipairs { "low", "high" } do
    local limits = values[name]
    if limits and #limits ~= #values.start then
      errors.invalid("cma_es.%s: expected %d numbers, as in start, got %d", name,
        #values.start, #limits)
    end
  end
  for i, x in ipairs(values.start) do
    local low = values.low and values.low[i] or -math.huge
    local high = values.high and values.high[i] or math.huge
    if low >= high then
      errors.invalid("cma_es: low[%d] = %g is not below high[%d] = %g", i, low, i, high)
    end
    if x < low or x > high then
      errors.invalid("cma_es.start[%d]: %g is not between low and high, %g to %g", i, x, low, high)
    end
  end
end

--- Finds the axes of the distribution and its widths along them.
local function decompose(self)
  local squares
  squares, self.axes = matrix.eigen(self.covariance)
  for i, square in ipairs(squares) do self.widths[i] = math.sqrt(math.max(square, 1e-300)) end
  return self
end

--- Creates a search: `blis.cma_es { start = { 0, 0 }, step = 1 }`. Ask for the points of a
--- generation and report their values, until a value is good enough or the search has converged:
---
---     repeat
---       local places = search:ask()
---       search:tell(values_of(places))
---     until search.generation == 20 or search.is_settled
---     print(search.best_value, table.unpack(search.best))
---
---@param spec blis.CmaEsOptions
---@return blis.CmaEs
function cma_es.new(spec)
  local values = schema.read(options.cma_es, spec, "cma_es")
  check_limits(values)
  local n = #values.start
  local population = values.population or 4 + math.floor(3 * math.log(n))
  return decompose(setmetatable({
    generation = 0, is_settled = false, bests = {}, mean = show.figures(values.start),
    step = values.step,
    size = n, population = population,
    low = values.low, high = values.high, stream = core.rng(values.seed, "cma-es"),
    parameters = parameters_of(n, population), covariance = matrix.identity(n),
    axes = matrix.identity(n), widths = zeros(n), step_path = zeros(n), path = zeros(n),
  }, Search))
end

--- A number mirrored at the limits until it lies between them.
local function fold(x, low, high)
  if low and high then
    local width = high - low
    local t = (x - low) % (2 * width)
    return low + (t <= width and t or 2 * width - t)
  elseif low and x < low then
    return 2 * low - x
  elseif high and x > high then
    return 2 * high - x
  end
  return x
end

local function folded(self, place)
  local result = {}
  for i, x in ipairs(place) do
    result[i] = fold(x, self.low and self.low[i], self.high and self.high[i])
  end
  return result
end

--- A vector of the distribution before it is moved to the mean and widened by the step.
local function draw(self)
  local scaled = {}
  for i = 1, self.size do scaled[i] = self.widths[i] * self.stream:normal() end
  return matrix.times(self.axes, scaled)
end

--- The points of the next generation, lists of numbers; unchanged until tell() reports values.
---@return number[][]
function Search:ask()
  if not self.places then
    self.drawn, self.places = {}, {}
    for k = 1, self.population do
      local vector, place = draw(self), {}
      for i = 1, self.size do place[i] = self.mean[i] + self.step * vector[i] end
      self.drawn[k], self.places[k] = vector, folded(self, place)
    end
  end
  return show.figures(self.places)
end

local function check_values(self, values)
  if not self.places then errors.invalid("tell() called before ask()") end
  if type(values) ~= "table" or #values ~= self.population then
    errors.invalid("tell: expected a list of %d numbers, one per point; use math.huge for a "
      .. "point that failed", self.population)
  end
  for k, value in ipairs(values) do
    if type(value) ~= "number" then
      errors.invalid("tell: value %d: %s: expected a number; use math.huge for a point "
        .. "that failed", k, errors.invalid_value(value))
    end
  end
end

--- Places from the best to the worst; what is no number is as bad as can be.
local function ranks(values)
  local order, worth = {}, {}
  for k, value in ipairs(values) do
    order[k] = k
    worth[k] = value == value and value or math.huge
  end
  table.sort(order, function(a, b)
    if worth[a] ~= worth[b] then return worth[a] < worth[b] end
    return a < b
  end)
  return order
end

--- The weighted mean of the better half of the vectors.
local function mean_step(self, order)
  local sum = zeros(self.size)
  for rank, weight in ipairs(self.parameters.weights) do
    local vector = self.drawn[order[rank]]
    for i = 1, self.size do sum[i] = sum[i] + weight * vector[i] end
  end
  return sum
end

--- vector without the shape of the distribution: C^(-1/2) vector.
local function whitened(self, vector)
  local along = matrix.transposed_times(self.axes, vector)
  for i = 1, self.size do along[i] = along[i] / self.widths[i] end
  return matrix.times(self.axes, along)
end

--- Adds a step to a path of which a share is forgotten.
local function follow(path, rate, mu, vector)
  local factor = math.sqrt(rate * (2 - rate) * mu)
  for i, x in ipairs(vector) do path[i] = (1 - rate) * path[i] + factor * x end
end

local function squared_length(vector)
  local sum = 0.0
  for _, x in ipairs(vector) do sum = sum + x * x end
  return sum
end

--- Follows both paths; true when the step is not about to grow in one leap.
local function follow_paths(self, step)
  local p, n = self.parameters, self.size
  follow(self.step_path, p.step_rate, p.mu, whitened(self, step))
  local forgotten = 1 - (1 - p.step_rate) ^ (2 * (self.generation + 1))
  local is_calm = squared_length(self.step_path) / forgotten / n < (1.4 + 2 / (n + 1)) ^ 2
  follow(self.path, p.path_rate, p.mu, is_calm and step or zeros(n))
  return is_calm
end

local function adapt_shape(self, order, is_calm)
  local p, covariance = self.parameters, self.covariance
  -- Weight of the rank-one update that the path omits while it stands still.
  local kept = 1 - p.rank_one - p.rank_mu
    + (is_calm and 0 or p.rank_one * p.path_rate * (2 - p.path_rate))
  for i = 1, self.size do
    for j = 1, i do
      local sum = kept * covariance[i][j] + p.rank_one * self.path[i] * self.path[j]
      for rank, weight in ipairs(p.weights) do
        local vector = self.drawn[order[rank]]
        sum = sum + p.rank_mu * weight * vector[i] * vector[j]
      end
      covariance[i][j], covariance[j][i] = sum, sum
    end
  end
end

-- Relative differences below this value count as equal.
local same_value = 1e-12

--- True when the values of a generation and the best ones of many before it are all the same.
local function is_flat(self, values, order)
  local bests, count = self.bests, 10 + math.ceil(30 * self.size / self.population)
  bests[#bests + 1] = values[order[1]]
  if #bests > count then table.remove(bests, 1) end
  if #bests < count then return false end
  local low, high = values[order[1]], values[order[#order]]
  for _, value in ipairs(bests) do low, high = math.min(low, value), math.max(high, value) end
  return high - low <= same_value * math.max(math.abs(low), math.abs(high))
end

local function remember_best(self, values, order)
  local value = values[order[1]]
  if value == value and value < (self.best_value or math.huge) then
    self.best_value = value
    self.best = show.figures(table.move(self.places[order[1]], 1, self.size, 1, {}))
  end
end

--- Reports the values of the points of ask(), in their order; lower is better. A point without a
--- value gets math.huge.
---@param values number[]
function Search:tell(values)
  check_values(self, values)
  local order = ranks(values)
  remember_best(self, values, order)
  self.is_settled = is_flat(self, values, order)
  local step = mean_step(self, order)
  local mean = {}
  for i = 1, self.size do mean[i] = self.mean[i] + self.step * step[i] end
  local is_calm = follow_paths(self, step)
  adapt_shape(self, order, is_calm)
  local p = self.parameters
  local growth = math.sqrt(squared_length(self.step_path)) / p.length - 1
  self.step = math.min(largest_step, self.step * math.exp(p.step_rate / p.damping * growth))
  self.mean = show.figures(folded(self, mean))
  self.generation, self.places, self.drawn = self.generation + 1, nil, nil
  decompose(self)
end

return cma_es
