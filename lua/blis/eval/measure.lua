--- What a run came to, as evaluations see it: every request that was to come counts, and one that
--- was not served well is a miss.
---
--- The core works them out. Where a candidate is accepted (stages full and test) they are worked
--- out once more, here, of the records of the requests, one by one; both have to agree exactly, or
--- the run does not count.
local statistics = require "blis.statistics"

local measure = {}

---@class blis.eval.Measures of one run
---@field offered integer requests that were to come
---@field good integer served within their targets
---@field completed integer
---@field rejected integer
---@field lost integer of the rest
---@field miss_frac number (misses + 1/2) / (offered + 1), so that it is never 0
---@field reject_frac number
---@field ttft_p99_ms number over all that were to come
---@field ttft_mean_ms number
---@field e2e_mean_ms number
---@field e2e_p99_ms number
---@field itl_mean_ms number
---@field goodput_rps number
---@field joules_per_token? number nil without power values; also the next field
---@field carbon_g? number
---@field classes { name: string, offered: integer, good: integer }[] by class and by tenant
---@field hash string

--- As goodput has it: "default" is for requests without a class.
local function target_of(targets, class)
  for _, one in ipairs(targets) do
    if one.slo_class == (class == "" and "default" or class) then return one end
  end
end

local function is_within(limit_ms, us) return not limit_ms or us / 1000 <= limit_ms end

local function is_good(request, target)
  if not target then return false end
  local itl_us = request.itl_count > 0 and request.itl_sum_us / request.itl_count or 0
  return is_within(target.ttft_ms, request.ttft_us) and is_within(target.e2e_ms, request.e2e_us)
    and is_within(target.itl_ms, itl_us)
end

local function count(list, index, name, is_served_well)
  local one = index[name]
  if not one then
    one = { name = name, offered = 0, good = 0 }
    index[name], list[#list + 1] = one, one
  end
  one.offered = one.offered + 1
  if is_served_well then one.good = one.good + 1 end
end

--- Raises when something that always holds does not.
local function check(holds, text, ...)
  if not holds then error({ code = "invariant", message = text:format(...) }, 0) end
end

local function is_completed(request)
  return request.state == "completed" or request.state == "length_capped"
end

local function check_request(request, duration_us, instances)
  if not is_completed(request) then return end
  check(request.arrival_us <= request.end_us and request.end_us <= duration_us,
    "%s ends at a time that is not in the run", request.id)
  check(request.ttft_us >= 0 and request.ttft_us <= request.e2e_us,
    "%s: first token after the last one", request.id)
  local place = math.tointeger(tonumber((request.instance or ""):match "%d+$"))
  check(place and place < instances, "%s: served by %s", request.id, tostring(request.instance))
end

local function sum_of(list)
  local sum = 0.0
  for _, value in ipairs(list) do sum = sum + value end
  return sum
end

local function mean_of(list) return #list > 0 and sum_of(list) / #list or 0.0 end

--- What is gathered of each request.
local function gather(result, scenario)
  local seen = { offered = 0, good = 0, completed = 0, rejected = 0, ttft = {}, e2e = {}, itl = {},
    classes = {}, index = {} }
  local patience_us, end_us = scenario.patience_us, result.duration_us
  for _, request in ipairs(result.requests) do
    check_request(request, end_us, #result.instances)
    local n = seen.offered + 1
    seen.offered = n
    local is_served, served_well = is_completed(request), false
    if is_served then
      seen.completed = seen.completed + 1
      served_well = is_good(request, target_of(scenario.targets, request.slo_class))
      if request.itl_count > 0 then
        seen.itl[#seen.itl + 1] = request.itl_sum_us / request.itl_count / 1000
      end
    end
    local waited_us = math.max(patience_us, end_us - request.arrival_us)
    seen.ttft[n] = (is_served and request.ttft_us or waited_us) / 1000
    seen.e2e[n] = (is_served and request.e2e_us or waited_us) / 1000
    if served_well then seen.good = seen.good + 1 end
    if request.state == "rejected" then seen.rejected = seen.rejected + 1 end
    if request.slo_class ~= "" then
      count(seen.classes, seen.index, "class " .. request.slo_class, served_well)
    end
    if request.tenant ~= "" then
      count(seen.classes, seen.index, "tenant " .. request.tenant, served_well)
    end
  end
  return seen
end

--- A request, for reports of problems.
local function described(request)
  return request and { id = request.id, at_s = request.arrival_us / 1e6, state = request.state,
    instance = request.instance, reason = request.reason,
    ttft_ms = request.ttft_us and request.ttft_us / 1000 }
end

--- Rounds of conversations that ended early never came, and are misses like others.
local function add_missing(seen, scenario)
  for n = seen.offered + 1, scenario.requests do
    seen.ttft[n], seen.e2e[n] = scenario.patience_us / 1000, scenario.patience_us / 1000
  end
  seen.offered = math.max(seen.offered, scenario.requests)
end

--- Compares the metrics of the core with those of the records.
local function check_figures(result, figures, seen)
  local again = {
    offered = seen.offered, completed = seen.completed, rejected = seen.rejected,
    ttft_p99_ms = statistics.quantile(seen.ttft, 0.99), ttft_mean_ms = mean_of(seen.ttft),
    e2e_p99_ms = statistics.quantile(seen.e2e, 0.99), e2e_mean_ms = mean_of(seen.e2e),
    itl_mean_ms = mean_of(seen.itl), good = seen.good,
  }
  figures.good = result.goodput.good
  for name, value in pairs(again) do
    check(figures[name] == value, "%s is %s, and %s by the records", name, tostring(figures[name]),
      tostring(value))
  end
end

--- Classes without going through the records; tenants need them.
local function classes_of(result)
  local list = {}
  for _, class in ipairs(result.goodput.classes) do
    if class.arrived > 0 and class.name ~= "default" then
      list[#list + 1] = { name = "class " .. class.name, offered = class.arrived,
        good = class.good }
    end
  end
  return list
end

local function has_tenants(result)
  for _, tenant in ipairs(result.by_tenant) do
    if tenant.name ~= "" then return true end
  end
  return false
end

--- The measures of a run.
---@param result blis.Result with goodput by the scenario's targets
---@param scenario blis.eval.Scenario
---@param is_audited? boolean whether they are worked out twice
---@return blis.eval.Measures
function measure.of(result, scenario, is_audited)
  local figures = result.requests:outcomes(scenario.patience_us, result.duration_us,
    scenario.requests)
  local classes
  check(result.arrived == #result.requests and result.completed == figures.completed,
    "%d arrived, %d completed, and the records say otherwise", result.arrived, result.completed)
  if is_audited or has_tenants(result) then
    local seen = gather(result, scenario)
    add_missing(seen, scenario)
    check_figures(result, figures, seen)
    classes = seen.classes
  else
    classes = classes_of(result)
  end
  table.sort(classes, function(a, b) return a.name < b.name end)
  local seconds, good = result.duration_us / 1e6, result.goodput.good
  local offered = figures.offered
  return {
    offered = offered, good = good, completed = figures.completed,
    rejected = figures.rejected, lost = offered - figures.completed - figures.rejected,
    miss_frac = (offered - good + 0.5) / (offered + 1),
    reject_frac = figures.rejected / math.max(1, offered),
    ttft_p99_ms = figures.ttft_p99_ms, ttft_mean_ms = figures.ttft_mean_ms,
    e2e_p99_ms = figures.e2e_p99_ms, e2e_mean_ms = figures.e2e_mean_ms,
    itl_mean_ms = figures.itl_mean_ms,
    goodput_rps = seconds > 0 and good / seconds or 0.0,
    duration_s = seconds,
    classes = classes,
    cache_hit_rate = result.cache_hit_rate, balance_cv = result.balance_cv,
    preemptions_per_request = result.preemptions / math.max(1, offered),
    queue_ms = result.scheduling_delay_ms.mean or 0.0,
    cost_usd = result.cost.usd,
    joules_per_token = result.energy.joules_per_output_token, carbon_g = result.energy.carbon_g,
    tokens_per_s = result.tokens_per_sec,
    worst = described(figures.worst and result.requests[figures.worst]),
    hash = result.hash,
  }
end

return measure
