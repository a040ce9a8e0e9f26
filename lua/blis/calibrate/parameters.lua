--- What of the calibrated latency model is fitted to a deployment, and how far it may go from the
--- prior: src/latency/step/calibrated.h says what each coefficient is.
local parameters = {}

---@class blis.FitParameter
---@field name string
---@field list "alpha"|"beta"
---@field index integer place in the list
---@field low number
---@field high number
---@field width number standard deviation of its logarithm around the prior
---@field doc string

---@type blis.FitParameter[]
parameters.all = {
  { name = "step", list = "beta", index = 12, low = 1, high = 20000, width = 0.7,
    doc = "us per step" },
  { name = "layer", list = "beta", index = 7, low = 1, high = 1000, width = 0.4,
    doc = "us per layer" },
  { name = "request", list = "beta", index = 11, low = 0.1, high = 500, width = 0.7,
    doc = "us per request of a step" },
  { name = "weights", list = "beta", index = 1, low = 0.2, high = 1, width = 0.15,
    doc = "share of the bandwidth that reads weights" },
  { name = "compute", list = "beta", index = 2, low = 0.1, high = 1, width = 0.25,
    doc = "share of the peak in matrix products" },
  { name = "kv", list = "beta", index = 3, low = 0.1, high = 1, width = 0.25,
    doc = "share of the bandwidth that reads KV" },
  { name = "first_token", list = "alpha", index = 4, low = 1, high = 1e6, width = 0.7,
    doc = "us until a first token is out" },
  { name = "depth", list = "alpha", index = 5, low = 0.01, high = 4, width = 0.3,
    doc = "steps in flight that a first token waits for" },
}

---@class blis.CoefficientSet
---@field alpha number[]
---@field beta number[]

--- Parameters in a space where the prior is 0 and its standard deviation 1.
---@param prior blis.CoefficientSet
---@param names? string[] which; default all
function parameters.space(prior, names)
  local space, free = {}, {}
  for _, one in ipairs(parameters.all) do
    local is_wanted = not names
    for _, name in ipairs(names or {}) do is_wanted = is_wanted or name == one.name end
    if is_wanted then free[#free + 1] = one end
  end
  space.free = free

  local function prior_of(one)
    return math.max(one.low, math.min(one.high, prior[one.list][one.index]))
  end

  --- The coefficients at a place, within their bounds.
  ---@param place number[]
  ---@return blis.CoefficientSet
  function space.coefficients(place)
    local set = { alpha = table.move(prior.alpha, 1, #prior.alpha, 1, {}),
      beta = table.move(prior.beta, 1, #prior.beta, 1, {}) }
    for i, one in ipairs(free) do
      local value = prior_of(one) * math.exp(place[i] * one.width)
      set[one.list][one.index] = math.max(one.low, math.min(one.high, value))
    end
    return set
  end

  --- How far a place is from the prior, in squared standard deviations.
  function space.distance(place)
    local sum = 0.0
    for i in ipairs(free) do sum = sum + place[i] * place[i] end
    return sum
  end

  --- Names of parameters that are at a bound though the search would go on.
  function space.hits(place)
    local names_hit = {}
    for i, one in ipairs(free) do
      local value = prior_of(one) * math.exp(place[i] * one.width)
      if value < one.low or value > one.high then names_hit[#names_hit + 1] = one.name end
    end
    return names_hit
  end
  return space
end

return parameters
