--- Results as RouteSim's commands print and write them.
local core = require "blis.core"
local spread = require "blis.statistics.evenness"
local format = require "blis.format"
local sorted = require "blis.sorted"

local report = {}

local percentiles = { "p50", "p75", "p90", "p95", "p99", "min", "max", "mean" }
local times = { ttft = "ttft_ms", tbt = "itl_ms", end_to_end_latency = "e2e_ms",
  queue_wait = "scheduling_delay_ms" }

local function write_times(writer, kept)
  for _, name in ipairs(sorted.names(times)) do
    writer:object(name)
    for _, key in ipairs(percentiles) do writer:field(key, kept[times[name]][key]) end
    writer:done()
  end
end

--- The completed requests behind the warm-up.
local function kept_requests(result)
  local list = {}
  for _, request in ipairs(result.requests) do
    if request.state == "completed" then list[#list + 1] = request end
  end
  local steady = rawget(result, "steady")
  if not steady then return list end
  table.sort(list, function(a, b)
    if a.end_us ~= b.end_us then return a.end_us < b.end_us end
    return a.number < b.number
  end)
  return table.move(list, steady.left_out + 1, #list, 1, {})
end

--- Number of requests per backend; a disaggregated request counts on both of its backends.
local function served(result, requests)
  local counts, place = {}, {}
  for i, instance in ipairs(result.instances) do counts[i], place[instance.id] = 0, i end
  for _, request in ipairs(requests) do
    for _, id in pairs { request.instance, request.prefill_instance } do
      counts[place[id]] = counts[place[id]] + 1
    end
  end
  return counts
end

--- The least and most requests that a backend served, as max / min.
local function most_to_least(counts)
  local least, most = math.maxinteger, 0
  for _, count in ipairs(counts) do
    least, most = math.min(least, count), math.max(most, count)
  end
  return least > 0 and most / least or 0.0
end

---@class blis.RoutesimRun
---@field algorithm string
---@field result blis.Result
---@field prefill_backends integer number of prefill backends with disaggregation; otherwise 0

--- How evenly the requests behind the warm-up went to the backends; backends that prefill and those
--- that decode have other work, so each pool is even in itself, and the less even one counts.
local function evenness_of(run)
  local counts = served(run.result, kept_requests(run.result))
  local found = { counts = counts, cv = 0.0, jain = 1.0, ratio = 1.0 }
  local first = run.prefill_backends
  for _, pool in ipairs { { 1, first }, { first + 1, #counts } } do
    local part = table.move(counts, pool[1], pool[2], 1, {})
    if #part > 0 then
      local cv, jain = spread(part)
      found.cv, found.jain = math.max(found.cv, cv), math.min(found.jain, jain)
      local ratio = most_to_least(part)
      found.ratio = (ratio == 0 or found.ratio == 0) and 0.0 or math.max(found.ratio, ratio)
    end
  end
  return found
end

--- An object with RouteSim's metrics. With a warm-up, they cover later requests, except rejections
--- and GPU cost, which cover the whole run.
---@param writer blis.JsonWriter
---@param run blis.RoutesimRun
local function write_run(writer, run)
  local result = run.result
  local steady, evenness = rawget(result, "steady"), evenness_of(run)
  local kept = steady or result
  local duration_us = steady and steady.to_us - steady.from_us or result.duration_us
  writer:object():field("algorithm", run.algorithm):field("duration_ms", duration_us / 1000)
    :field("total_requests", kept.completed + result.rejected)
    :field("completed_requests", kept.completed):field("rejected_requests", result.rejected)
    :field("requests_per_sec", kept.requests_per_sec)
    :field("gen_tokens_per_sec", kept.tokens_per_sec)
    :field("global_cache_hit_rate", kept.request_hit_rate)
    :field("jains_fairness_index", evenness.jain):field("load_cv", evenness.cv)
    :field("max_min_requests_ratio", evenness.ratio)
    :field("gpu_seconds_per_request", result.cost.gpu_seconds_per_request or core.json_null)
    :field("estimated_cost_per_1k_tokens", result.cost.usd_per_thousand_tokens or core.json_null)
  write_times(writer, kept)
  writer:array("per_backend_requests")
  for _, count in ipairs(evenness.counts) do writer:item(count) end
  writer:done():object("custom_metrics")
  local metrics = rawget(result, "custom_metrics") or {}
  for _, name in ipairs(sorted.names(metrics)) do writer:field(name, metrics[name]) end
  writer:done():field("hash", result.hash):done()
end

--- One result as JSON, or a list of several.
---@param list blis.RoutesimRun[]
---@param is_list boolean
---@return string
function report.json(list, is_list)
  local writer = core.json_writer(2)
  if is_list then writer:array() end
  for _, one in ipairs(list) do write_run(writer, one) end
  if is_list then writer:done() end
  return writer:take() .. "\n"
end

local function row(run)
  local kept = rawget(run.result, "steady") or run.result
  local number = format.number
  return { run.algorithm, number(kept.ttft_ms.p50), number(kept.ttft_ms.p99),
    number(kept.e2e_ms.p50), number(kept.e2e_ms.p99), number(kept.requests_per_sec),
    number(100 * kept.request_hit_rate, 1), number(evenness_of(run).jain, 4),
    format.count(run.result.rejected) }
end

local columns = { "Algorithm", "TTFT p50", "TTFT p99", "E2E p50", "E2E p99", "Req/s", "Cache%",
  "Jain's", "rejected" }

--- A table with a row per result; times are in milliseconds.
---@param title string of the first column
---@param list blis.RoutesimRun[]
---@return string
function report.table(title, list)
  local header, rows = { title, table.unpack(columns, 2) }, {}
  for i, one in ipairs(list) do rows[i] = row(one) end
  return format.table(header, rows) .. "\n"
end

return report
