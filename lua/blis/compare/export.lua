--- Comparisons as JSON and CSV: what `blis compare --format` prints.
local core = require "blis.core"
local csv = require "blis.csv"
local result_json = require "blis.results.json"
local report = require "blis.results.report"
local statistics = require "blis.statistics"
local verdict = require "blis.results.verdict"

local export = {}

-- Metrics of a comparison of single runs, as columns of CSV.
local columns = { "ttft_ms.mean", "ttft_ms.p50", "ttft_ms.p99", "itl_ms.mean", "itl_ms.p99",
  "e2e_ms.mean", "e2e_ms.p99", "requests_per_sec", "tokens_per_sec", "cache_hit_rate_overall",
  "balance", "arrived", "completed", "goodput.requests_per_sec", "goodput.attainment" }

--- The value of a metric by its path; nil if the result has none.
local function value_of(result, path)
  local value = result
  for name in path:gmatch "[^.]+" do
    value = type(value) == "table" and rawget(value, name) or nil
  end
  return value
end

--- A row for each run. Metrics are of the steady state if the runs have a warm-up.
local function single_csv(found)
  local prefix = rawget(found[1], "steady") and "steady." or ""
  local header, paths = { found.labels and "variant" or "routing" }, {}
  for _, name in ipairs(columns) do
    local path = value_of(found[1], prefix .. name) ~= nil and prefix .. name or name
    if value_of(found[1], path) ~= nil then
      header[#header + 1], paths[#paths + 1] = path, path
    end
  end
  header[#header + 1] = "verdict"
  local lines, names = { table.concat(header, ",") }, report.names(found)
  for i, result in ipairs(found) do
    local cells = { csv.field(names[i]) }
    for _, path in ipairs(paths) do cells[#cells + 1] = csv.field(value_of(result, path)) end
    cells[#cells + 1] = csv.field(verdict.mark(result.verdict))
    lines[#lines + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

local function write_estimate(writer, name, point)
  local estimate = point.metrics[name]
  if not estimate then return end
  local has_interval = not (statistics.is_few(estimate) or verdict.is_invalid(point.verdict))
  writer:object(name):field("mean", estimate.mean)
  for _, key in ipairs { "low", "high" } do
    if has_interval and estimate[key] then writer:field(key, estimate[key]) end
  end
  writer:array "values"
  for _, value in ipairs(point.values[name]) do writer:item(value) end
  writer:done():done()
end

local function write_pair(writer, name, pair)
  if not pair then return end
  writer:object(name)
  for _, key in ipairs { "kind", "change", "low", "high", "p_value", "adjusted_p", "n",
    "withheld" } do
    local value = pair[key]
    if value ~= nil and value == value then writer:field(key, value) end
  end
  writer:done()
end

--- Policies over several seeds: means, values, and changes against the baseline.
local function write_replicated(writer, found)
  writer:field("baseline", found.policies[found.baseline])
    :field("replications", found.replications):field("level", found.level)
  if found.warm_up_us then writer:field("warm_up_us", found.warm_up_us) end
  writer:array "policies"
  for i, name in ipairs(found.policies) do
    local point = found.table.points[i]
    writer:object():field("name", name)
    if point.verdict then verdict.write(writer, point.verdict) end
    writer:object "figures"
    for _, metric in ipairs(found.table.shown) do write_estimate(writer, metric, point) end
    writer:done()
    if i ~= found.baseline then
      writer:object "against_baseline"
      for _, metric in ipairs(found.table.shown) do
        write_pair(writer, metric, found.against[i][metric])
      end
      writer:done()
    end
    writer:done()
  end
  writer:done()
end

local function write_single(writer, found)
  writer:array "policies"
  for i, name in ipairs(report.names(found)) do
    writer:object():field("name", name)
    result_json.write(writer, { result = found[i], leaves_out_series = true }, "result")
    writer:done()
  end
  writer:done()
end

--- A comparison as JSON. With replications, metrics have their mean, interval, and values by seed.
---@param found blis.Comparison|blis.ReplicatedComparison
---@return string
function export.json(found)
  local writer = core.json_writer(2):object():field("format", "blis-comparison-1")
  if found.verdict then verdict.write(writer, found.verdict) end
  if found.policies then write_replicated(writer, found) else write_single(writer, found) end
  return writer:done():take() .. "\n"
end

--- A comparison as CSV, a row for each policy.
---@param found blis.Comparison|blis.ReplicatedComparison
---@return string
function export.csv(found)
  return found.policies and found.table:csv() or single_csv(found)
end

return export
