--- The result of a run as a summary, as JSON and as CSV.
local core = require "blis.core"
local detectors = require "blis.cli.detectors"
local decisions = require "blis.decisions"
local listing = require "blis.cli.listing"
local metrics = require "blis.cli.metrics"

local result_text = {}

local percentiles = { "mean", "min", "p50", "p75", "p90", "p95", "p99", "p99.9", "max" }

local function write_times(writer, name, d)
  writer:object(name):field("count", d.count)
  for _, key in ipairs(percentiles) do
    if d[key] then writer:field(key, d[key]) end
  end
  writer:done()
end

local function write_all_times(writer, scope)
  write_times(writer, "ttft_ms", scope.ttft_ms)
  write_times(writer, "itl_ms", scope.itl_ms)
  write_times(writer, "e2e_ms", scope.e2e_ms)
end

local states = { "arrived", "completed", "length_capped", "rejected", "timed_out", "unservable",
  "still_running", "still_queued", "still_arriving" }

local function write_groups(writer, name, groups)
  writer:array(name)
  for _, group in ipairs(groups) do
    writer:object():field("name", group.name)
    for _, state in ipairs(states) do writer:field(state, group[state]) end
    writer:field("prompt_tokens", group.prompt_tokens)
    writer:field("output_tokens", group.output_tokens)
    write_all_times(writer, group)
    writer:done()
  end
  writer:done()
end

local function write_setup(writer, result)
  local setup = result.setup
  writer:object("setup")
  for _, key in ipairs { "model", "hardware", "tp", "instances", "latency_model", "kv_blocks",
    "kv_blocks_computed", "block_size", "max_model_len", "seed" } do
    writer:field(key, setup[key])
  end
  writer:field("routing", result.routing):done()
end

local function write_cost(writer, cost)
  writer:object("cost")
  for _, key in ipairs { "gpus", "gpu_hours", "usd", "usd_per_million_output_tokens" } do
    if cost[key] then writer:field(key, cost[key]) end
  end
  writer:done()
end

local function write_fitness(writer, fitness)
  writer:object("fitness"):field("score", fitness.score):object("components")
  for _, one in ipairs(fitness.components) do writer:field(one[1], one[2]) end
  writer:done():done()
end

--- One object: the figures of the cluster, what they consist of, the run's hash.
---@param run blis.cli.Run
---@return string
function result_text.json(run)
  local result = run.result
  local writer = core.json_writer(2):object()
  metrics.write(writer, metrics.list(result, { has_hit_rate = true }))
  writer:field("rejected_requests", result.rejected)
  writer:field("result_hash", result.hash)
  metrics.write_judgement(writer, run)
  if run.fitness then write_fitness(writer, run.fitness) end
  write_all_times(writer, result)
  write_times(writer, "scheduling_delay_ms", result.scheduling_delay_ms)
  write_groups(writer, "by_slo_class", result.by_slo_class)
  write_groups(writer, "by_tenant", result.by_tenant)
  write_groups(writer, "by_model", result.by_model)
  write_setup(writer, result)
  write_cost(writer, result.cost)
  writer:array("instances")
  for i in ipairs(result.instances) do
    writer:object()
    metrics.write(writer, metrics.list(metrics.instance(result, i), { has_hit_rate = true }))
    writer:done()
  end
  return writer:done():done():take() .. "\n"
end

local function row_of(list)
  local row = { kv_allocation_failures = 0 }
  for _, pair in ipairs(list) do row[pair[1]] = pair[2] end
  return row
end

--- A line for the cluster and one for every instance.
---@param run blis.cli.Run
---@return string
function result_text.csv(run)
  local options = { has_hit_rate = true }
  local whole = metrics.list(run.result, options)
  local columns, rows = {}, { row_of(whole) }
  for _, pair in ipairs(whole) do
    if pair[1] ~= "kv_allocation_failures" then columns[#columns + 1] = { key = pair[1] } end
  end
  columns[#columns + 1] = { key = "kv_allocation_failures" }
  for i in ipairs(run.result.instances) do
    rows[i + 1] = row_of(metrics.list(metrics.instance(run.result, i), options))
  end
  return listing.text({ columns = columns, rows = rows }, "csv")
end

--- The summary that people read.
---@param run blis.cli.Run
---@return string
function result_text.table(run)
  local parts = { tostring(run.result) .. "\n" }
  if run.fitness then
    local components = {}
    for i, one in ipairs(run.fitness.components) do
      components[i] = ("%s %.6f"):format(one[1], one[2])
    end
    parts[#parts + 1] = ("fitness %.6f (%s)\n"):format(run.fitness.score,
      table.concat(components, ", "))
  end
  if run.saturation then
    parts[#parts + 1] = ("saturation %s\n"):format(detectors.text(run.saturation))
  end
  if run.decisions then parts[#parts + 1] = "\n" .. decisions.text(run.decisions) .. "\n" end
  return table.concat(parts)
end

return result_text
