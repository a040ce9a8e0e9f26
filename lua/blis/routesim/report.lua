--- Results as RouteSim's commands print and write them.
local core = require "blis.core"
local format = require "blis.format"
local sorted = require "blis.sorted"

local report = {}

local percentiles = { "p50", "p75", "p90", "p95", "p99", "min", "max", "mean" }
local times = { ttft = "ttft_ms", tbt = "itl_ms", end_to_end_latency = "e2e_ms",
  queue_wait = "scheduling_delay_ms" }

local function write_times(writer, figures)
  for _, name in ipairs(sorted.names(times)) do
    writer:object(name)
    for _, key in ipairs(percentiles) do writer:field(key, figures[times[name]][key]) end
    writer:done()
  end
end

--- The least and most requests that one instance got, as max / min.
local function queue_ratio(result)
  local least, most = math.maxinteger, 0
  for _, count in ipairs(result.requests_per_instance) do
    least, most = math.min(least, count), math.max(most, count)
  end
  return least > 0 and most / least or 0.0
end

--- An object with the figures that RouteSim has for a run; times and hits are without the warm-up,
--- with which the others are.
---@param writer blis.JsonWriter
---@param algorithm string
---@param result blis.Result
function report.write(writer, algorithm, result)
  local kept = rawget(result, "steady") or result
  writer:object():field("algorithm", algorithm):field("duration_ms", result.duration_us / 1000)
    :field("total_requests", kept.completed + result.rejected)
    :field("completed_requests", kept.completed):field("rejected_requests", result.rejected)
    :field("requests_per_sec", kept.requests_per_sec)
    :field("gen_tokens_per_sec", kept.tokens_per_sec)
    :field("global_cache_hit_rate", kept.request_hit_rate)
    :field("jains_fairness_index", result.balance):field("load_cv", result.balance_cv)
    :field("max_min_requests_ratio", queue_ratio(result))
    :field("gpu_seconds_per_request", result.cost.gpu_seconds_per_request or core.json_null)
    :field("estimated_cost_per_1k_tokens", result.cost.usd_per_thousand_tokens or core.json_null)
  write_times(writer, kept)
  writer:array("per_backend_requests")
  for _, count in ipairs(result.requests_per_instance) do writer:item(count) end
  writer:done():object("custom_metrics")
  local metrics = rawget(result, "custom_metrics") or {}
  for _, name in ipairs(sorted.names(metrics)) do writer:field(name, metrics[name]) end
  writer:done():field("hash", result.hash):done()
end

--- One result as JSON, or a list of several.
---@param list { algorithm: string, result: blis.Result }[]
---@param is_list boolean
---@return string
function report.json(list, is_list)
  local writer = core.json_writer(2)
  if is_list then writer:array() end
  for _, one in ipairs(list) do report.write(writer, one.algorithm, one.result) end
  if is_list then writer:done() end
  return writer:take() .. "\n"
end

local function row(name, result)
  local kept = rawget(result, "steady") or result
  local number = format.number
  return { name, number(kept.ttft_ms.p50), number(kept.ttft_ms.p99), number(kept.e2e_ms.p50),
    number(kept.e2e_ms.p99), number(kept.requests_per_sec), number(100 * kept.request_hit_rate, 1),
    number(result.balance, 4), format.count(result.rejected) }
end

local columns = { "Algorithm", "TTFT p50", "TTFT p99", "E2E p50", "E2E p99", "Req/s", "Cache%",
  "Jain's", "rejected" }

--- A table with a row per result; times are in milliseconds.
---@param title string of the first column
---@param list { algorithm: string, result: blis.Result }[]
---@return string
function report.table(title, list)
  local header, rows = { title, table.unpack(columns, 2) }, {}
  for i, one in ipairs(list) do rows[i] = row(one.algorithm, one.result) end
  return format.table(header, rows) .. "\n"
end

return report
