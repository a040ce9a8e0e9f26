--- What a capacity has to keep: figures with limits, and the share of requests that may be missed.
---
--- A request is missed that ends otherwise than completed, whatever the reason. Latencies of those
--- that were are latencies of survivors; so percentiles are taken over all requests that arrived,
--- with the missed ones as the slowest, and more than a few of them break every target.
local errors = require "blis.errors"
local figures = require "blis.results.figures"

local targets = {}

---@class blis.capacity.Target
---@field name string of the figure
---@field limit number
---@field is_least boolean the figure must not be below the limit; else not above
---@field latency? string of a request, when it is a percentile of latencies
---@field share? number of the percentile

local latencies = { ttft_ms = true, itl_ms = true, e2e_ms = true, scheduling_delay_ms = true }

local function new_target(name, limit)
  local figure = figures.find(name)
  local latency, percent = name:match "^([%l0-9_]+)%.p(%d+)$"
  local is_percentile = latencies[latency] and tonumber(percent) < 100
  return {
    name = name, limit = limit, is_least = figure ~= nil and figure.better == "more",
    latency = is_percentile and latency or nil,
    share = is_percentile and tonumber("0." .. percent) or nil,
  }
end

--- Reads { ["ttft_ms.p99"] = 500, ... }.
---@param given table
---@return blis.capacity.Target[] in the order of the names
function targets.read(given)
  local list = {}
  for name, limit in pairs(given) do
    if type(name) ~= "string" or type(limit) ~= "number" or limit ~= limit then
      errors.invalid("capacity.targets: expected figures with limits such as { [\"ttft_ms.p99\"] = "
        .. "500 }, got %s = %s", tostring(name), errors.show(limit))
    end
    list[#list + 1] = new_target(name, limit)
  end
  if #list == 0 then errors.invalid "capacity.targets: the table is empty" end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local of_record = {
  ttft_ms = function(record) return record.ttft_us / 1000 end,
  e2e_ms = function(record) return record.e2e_us / 1000 end,
  scheduling_delay_ms = function(record) return record.scheduling_delay_us / 1000 end,
  itl_ms = function(record)
    return record.itl_count > 0 and record.itl_sum_us / record.itl_count / 1000 or 0
  end,
}

--- The percentile of all that arrived, the missed ones without end; nil when it is one of those.
local function percentile(target, view)
  local list, of = {}, of_record[target.latency]
  for i, record in ipairs(view.kept) do list[i] = of(record) end
  table.sort(list)
  return list[math.max(1, math.ceil(target.share * view.arrived))]
end

--- A figure of a run; nil when there is none.
---@param target blis.capacity.Target
---@param view blis.capacity.View
---@return number?
function targets.value(target, view)
  if target.latency then return percentile(target, view) end
  local part, name = target.name:match "^([%l0-9_]+)%.(.*)$"
  if latencies[part] then
    local times = view.window[part]
    return times.count > 0 and times[name] or nil
  end
  local _, value = figures.find(target.name, view.result)
  return value
end

--- True when a figure is within its limit; one that is not there is not.
---@param target blis.capacity.Target
---@param value number?
---@return boolean
function targets.is_kept(target, value)
  if not value or value ~= value then return false end
  if target.is_least then return value >= target.limit end
  return value <= target.limit
end

--- How many requests it takes to know a figure: ten beyond a percentile.
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
