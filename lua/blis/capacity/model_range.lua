--- The range of an answer over the expected error of the step-time model.
---
--- If all step times are longer by a factor f, a cluster at a rate r does what it did at the rate
--- r * f, and all latencies are longer by f. So it meets a latency target L at the rate
--- c(L / f) / f, where c(L) is the highest rate that meets L. A TTFT target has the factor of the
--- error of TTFT, if this is larger. c is read from the values that the search has tried, linear
--- between them. The factors are 1 + e and 1 / (1 + e), with the error e that four fifths of the
--- setups of the regime are within. The least number of instances grows with f in the same way; its
--- latency targets are not tightened.
local model_range = {}

---@class blis.ModelRange
---@field error number e, relative
---@field low number the answer with the step times of one end
---@field high number and of the other end

--- The highest value at which a metric is at most a limit, by the points of a curve up to `last`.
local function value_at(points, name, limit)
  local best
  for i, point in ipairs(points) do
    local figure, before = point.figures[name], points[i - 1]
    if figure and figure <= limit then
      best = point.value
    elseif figure and before and before.figures[name] and before.figures[name] <= limit then
      local from = before.figures[name]
      return before.value + (point.value - before.value) * (limit - from) / (figure - from)
    end
  end
  return best
end

--- The factor of a latency: TTFT has an error of its own, where it is known and larger.
local function latency_factor(target, factor, ttft_band)
  if target.latency ~= "ttft" or not ttft_band then return factor end
  local own = 1 + ttft_band
  return factor > 1 and math.max(factor, own) or math.min(factor, 1 / own)
end

local function rate_at(found, value, targets, factor, ttft_band)
  local best = factor > 1 and value or math.huge
  for _, target in ipairs(targets) do
    if target.latency then
      local at = value_at(found.curve, target.name, target.limit
        / latency_factor(target, factor, ttft_band))
      if factor > 1 then
        best = math.min(best, at or found.from)
      else
        best = math.min(best, math.max(value, at or value))
      end
    end
  end
  return (best < math.huge and best or value) / factor
end

--- The range of a rate whose curve is not known.
---@param rate number
---@param band? number
---@return blis.ModelRange?
function model_range.of_rate(rate, band)
  return band and { error = band, low = rate / (1 + band), high = rate * (1 + band) }
end

--- The range of an answer; nil without an expected error, and for parameters other than the rate
--- and the number of instances.
---@param found blis.Capacity with its curve
---@param value number the answer
---@param targets blis.capacity.Target[]
---@param band? number of TPOT
---@param ttft_band? number of TTFT; nil = not known, or as band
---@return blis.ModelRange?
function model_range.of(found, value, targets, band, ttft_band)
  if not band then return nil end
  local factor = 1 + band
  if found.objective == "max" and found.parameter == "rate" then
    return { error = band, low = rate_at(found, value, targets, factor, ttft_band),
      high = rate_at(found, value, targets, 1 / factor, ttft_band) }
  elseif found.objective == "min" and found.parameter:match "[%w_]+$" == "instances" then
    return { error = band, low = math.max(1, math.ceil(value / factor - 1e-9)),
      high = math.ceil(value * factor - 1e-9) }
  end
  return nil
end

return model_range
