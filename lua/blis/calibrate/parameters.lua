--- The coefficients that are fitted to a deployment, and how far they may go from the prior.
--- src/latency/step/calibrated.h describes the coefficients of calibrated, and
--- src/latency/composed/gpu_constants.h the constants of composed.
local parameters = {}

---@class blis.FitParameter
---@field name string
---@field list "alpha"|"beta"|"composed"
---@field index integer|string place in the list
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

--- The parameters of composed, with measured kernel times.
---@type blis.FitParameter[]
parameters.composed = {
  { name = "step", list = "composed", index = "step_us", low = 1, high = 20000, width = 0.5,
    doc = "us per step" },
  { name = "decode", list = "composed", index = "decode", low = 0.3, high = 3, width = 0.15,
    doc = "scale of the layers at 64 tokens or fewer" },
  { name = "prefill", list = "composed", index = "prefill", low = 0.3, high = 4, width = 0.25,
    doc = "scale of the layers at 2048 tokens or more" },
  { name = "kv", list = "composed", index = "kv", low = 0.05, high = 1, width = 0.25,
    doc = "share of the bandwidth that reads KV" },
  { name = "front_end", list = "composed", index = "front_us", low = 1, high = 1e6, width = 0.7,
    doc = "us per request in the front end" },
}

---@class blis.CoefficientSet
---@field alpha number[]
---@field beta number[]
---@field composed? table<string, number>

--- Parameters in a space where the prior is 0 and its standard deviation 1.
---@param prior blis.CoefficientSet
---@param names? string[] which; default all
---@param list? blis.FitParameter[] default: those of calibrated
function parameters.space(prior, names, list)
  local space, free = {}, {}
  for _, one in ipairs(list or parameters.all) do
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
    local set = {}
    for name, values in pairs(prior) do
      set[name] = {}
      for key, value in pairs(values) do set[name][key] = value end
    end
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

  --- Names of parameters that the search would move beyond their bounds.
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
