--- Kernels in closed form, fitted to measured times:
--- t0 + ((memory / em)^q + (compute / ec)^q)^(1/q).
--- src/latency/composed/kernels.h describes the formulas.
local nelder_mead = require "blis.statistics.nelder_mead"

local closed_form = {}

-- Bytes per weight and per element that is read, and the factor on the 16-bit peak without a
-- factor in the constants. Formats of weights alone compute in 16 bits.
local formats = {
  bf16 = { weight = 2, input = 2 }, fp8 = { weight = 1, input = 1 },
  fp8_block = { weight = 1, input = 1 }, int8 = { weight = 1, input = 1 },
  mxfp8 = { weight = 1, input = 1 }, nvfp4 = { weight = 0.5625, input = 2 },
  mxfp4 = { weight = 0.53125, input = 0.53125 }, int4 = { weight = 0.53125, input = 0.53125 },
}

---@class blis.KernelRates
---@field bandwidth number bytes per us
---@field peak number FLOPs per us in the format

--- Memory and compute time of a product at m tokens, us.
local function product_times(format, rates, key, m)
  local n, k = key.n, key.k
  local bytes = format.weight * n * k + format.input * m * k + 2 * m * n
  return bytes / rates.bandwidth, 2 * m * n * k / rates.peak
end

--- Number of these tokens for the experts on one GPU, whose choices are random.
local function expert_times(format, rates, key, tokens)
  local share = key["local"] / key.experts
  local touched = key.experts * (1 - (1 - key.chosen / key.experts) ^ tokens)
  local rows, active = tokens * key.chosen * share, math.max(1, share * touched)
  local each = math.max(1, rows / active)
  local tile = 16
  while tile < 128 and tile < each do tile = tile * 2 end
  local bytes = 3 * key.hidden * key.width * format.weight * active
    + rows * (4 * key.hidden + 6 * key.width)
  return bytes / rates.bandwidth,
    6 * key.hidden * key.width * active * (each + tile / 2) / rates.peak
end

local function kernel_us(kernel, memory_us, compute_us)
  local memory, compute = memory_us / kernel[2], compute_us / kernel[3]
  local more, less = math.max(memory, compute), math.min(memory, compute)
  return kernel[1] + more * (1 + (less / more) ^ kernel[4]) ^ (1 / kernel[4])
end

--- Points of rows: { memory =, compute =, us = }.
local function points_of(rows, rates, times, format)
  local points = {}
  for _, row in ipairs(rows) do
    for _, one in ipairs(row.times) do
      local memory, compute = times(format, rates, row.key, one.size)
      points[#points + 1] = { memory = memory, compute = compute, us = one.us }
    end
  end
  return points
end

--- The mean of |ln(closed form / measured)|, to a power.
local function error_of(kernel, points, power)
  local sum = 0.0
  for _, point in ipairs(points) do
    local us = kernel_us(kernel, point.memory, point.compute)
    sum = sum + math.abs(math.log(us / point.us)) ^ power
  end
  return sum / #points
end

local function within(value, low, high) return math.max(low, math.min(high, value)) end

--- The kernel at a place of the search, around the prior.
local function kernel_at(prior, place)
  return {
    within(prior[1] * math.exp(place[1]), 0.05, 1000),
    within(prior[2] * math.exp(place[2]), 0.02, 1), within(prior[3] * math.exp(place[3]), 0.02, 1),
    within(prior[4] * math.exp(place[4]), 1, 20),
  }
end

--- Fits a kernel to rows { key =, times = { { size =, us = }, ... } }.
---@param rows table[]
---@param dtype string
---@param rates blis.KernelRates
---@param prior number[] launch us, share of the bandwidth, share of the peak, sharpness
---@param is_experts boolean
---@return number[] kernel
---@return number error the mean of |ln ratio|
function closed_form.fit(rows, dtype, rates, prior, is_experts)
  local points = points_of(rows, rates, is_experts and expert_times or product_times,
    formats[dtype])
  local place, steps = { 0, 0, 0, 0 }, { 0.3, 0.15, 0.15, 0.4 }
  -- Squares are smooth near their minimum; outliers count for less in the second search.
  for _, power in ipairs { 2, 1 } do
    local value = math.huge
    repeat
      local before = value
      local best = nelder_mead.search(function(at)
        return error_of(kernel_at(prior, at), points, power)
      end, { start = place, steps = steps, trials = 600, tolerance = 1e-9 })
      place, value = best.place, best.value
    until before - value < 1e-3 * value + 1e-9
  end
  local kernel = kernel_at(prior, place)
  return kernel, error_of(kernel, points, 1)
end

--- Formats that a table may name.
---@param dtype string
---@return boolean
function closed_form.knows(dtype) return formats[dtype] ~= nil end

return closed_form
