--- Targets of a capacity search: metrics with limits, and the fraction of requests that may be
--- missed.
---
--- A request is missed that ends otherwise than completed, whatever the reason. Latencies of those
--- that were are latencies of survivors; so percentiles are taken over all requests that arrived,
--- with the missed ones as the slowest, and more than a few of them break every target.
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local renamed = require "blis.results.renamed"
local units = require "blis.units"

local targets = {}

---@class blis.capacity.Target
---@field name string of the metric
---@field limit number
---@field is_least boolean lower limit if true; otherwise upper limit
---@field latency? string of a request, when it is a percentile or the mean of latencies
---@field share? number of the percentile

local latencies = {
  ttft_ms = "ttft", itl_ms = "itl", e2e_ms = "e2e", scheduling_delay_ms = "scheduling_delay",
}

local function new_target(name, limit)
  local figure = figures.find(name)
  local part, statistic = name:match "^([%l0-9_]+)%.([%l0-9.]+)$"
  local percent = tonumber(statistic and statistic:match "^p([%d.]+)$")
  local is_batched = latencies[part] and (statistic == "mean" or percent and percent < 100)
  return {
    name = name, limit = limit, is_least = figure ~= nil and figure.better == "more",
    latency = is_batched and latencies[part] or nil,
    share = is_batched and percent and percent / 100 or nil,
  }
end

--- The unit of time of a metric: "ms" of ttft_ms.p99, "us" of duration_us; nil for others.
local function time_unit(name)
  local figure = figures.find(name)
  if figure and units.scale(figure.unit) then return figure.unit end
  return units.of_name(name:match "^[^.]*")
end

--- A limit in the unit of its metric: 500, and "500ms" or "0.5s" for a metric that is a time.
--- Returns nil and the expected form for other values. In text, a fraction of a millisecond
--- needs its unit, because such numbers are mostly seconds.
---@param name string of the metric
---@param limit number|string
---@return number?
---@return string?
function targets.limit(name, limit)
  local unit = time_unit(name)
  local us, fault, number
  if type(limit) == "number" and limit == limit then return limit end
  if type(limit) == "string" then us, fault, number = units.parse(limit) end
  if us and unit then return us / units.scale(unit) end
  if fault == "no unit" and unit == "ms" and number > 0 and number < 1 then
    return nil, ("a duration with its unit, %.6gms or %.6gs"):format(number, number)
  elseif fault == "no unit" then
    return number
  end
  return nil, unit and ("a number of %s, or a duration such as 500ms"):format(unit) or "a number"
end

--- Reads { ["ttft_ms.p99"] = 500, ... }.
---@param given table
---@return blis.capacity.Target[] in the order of the names
function targets.read(given)
  local list = {}
  for name, limit in pairs(given) do
    local value, expected
    if type(name) == "string" then value, expected = targets.limit(name, limit) end
    if not value then
      errors.invalid("capacity.targets: expected metrics with limits such as { [\"ttft_ms.p99\"] = "
        .. "\"500ms\" }, got %s = %s%s", tostring(name), errors.show(limit),
        tonumber(limit) and expected and "; expected " .. expected or "")
    end
    name, limit = renamed.accept(figures.usual_name(name)), value
    local problem = figures.why_no_number(name)
    if problem then errors.invalid("capacity.targets: %s", problem) end
    list[#list + 1] = new_target(name, limit)
  end
  if #list == 0 then errors.invalid "capacity.targets: the table is empty" end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

--- A metric of a run, from its steady state if available; nil if it does not exist.
---@param target blis.capacity.Target
---@param view blis.capacity.View
---@param batched blis.BatchFigures of the target
---@return number?
function targets.value(target, view, batched)
  if target.share then return batched.value_ms end
  local part, name = target.name:match "^([%l0-9_]+)%.(.*)$"
  if latencies[part] then
    local times = view.window[part]
    return times.count > 0 and times[name] or nil
  end
  local _, value = figures.find(target.name, view.is_steady and view.window, "Window")
  if value == nil then _, value = figures.find(target.name, view.result) end
  return value
end

--- Distance of a metric from its limit, in its unit; a missing metric counts as far beyond.
---@param target blis.capacity.Target
---@param value number?
---@return number
function targets.margin(target, value)
  if not value or value ~= value then return math.huge end
  return target.is_least and target.limit - value or value - target.limit
end

-- Shares are no decimal fractions; a share at its limit is within it.
local rounding = 1e-9

--- The same, of batches: of a percentile, shares beyond what it allows.
---@param target blis.capacity.Target
---@param batches number[]
---@return number[]
function targets.margins(target, batches)
  local margins, limit = {}, target.share and 1 - target.share + rounding or target.limit
  for i, value in ipairs(batches) do margins[i] = value - limit end
  return margins
end

--- Number of requests needed for a metric: ten beyond a percentile.
---@param target blis.capacity.Target
---@return integer
function targets.least_requests(target)
  return target.share and math.ceil(10 / (1 - target.share) - 1e-6) or 100
end

--- "ttft_ms.p99 <= 500"
---@param target blis.capacity.Target
---@return string
function targets.text(target)
  return ("%s %s %.6g"):format(target.name, target.is_least and ">=" or "<=", target.limit)
end

return targets
