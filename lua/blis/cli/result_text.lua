--- The result of a run as a summary, as JSON and as CSV.
local anomalies = require "blis.results.anomalies"
local core = require "blis.core"
local detectors = require "blis.cli.detectors"
local decisions = require "blis.results.decisions"
local listing = require "blis.listing"
local metrics = require "blis.cli.metrics"
local over_time = require "blis.results.series"

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
  for _, name in ipairs { "ttft_ms", "itl_ms", "e2e_ms", "scheduling_delay_ms" } do
    write_times(writer, name, scope[name])
  end
end

local states = { "arrived", "completed", "length_capped", "rejected", "timed_out", "unservable",
  "failed", "still_running", "still_queued", "still_arriving" }

--- Fields of a table in this order, without those that are not there.
local function write_fields(writer, names, values)
  for _, name in ipairs(names) do
    if values[name] ~= nil then writer:field(name, values[name]) end
  end
end

local function write_object(writer, key, names, values)
  writer:object(key)
  write_fields(writer, names, values)
  writer:done()
end

--- Counts, tokens and times of some of the requests.
local function write_part(writer, part)
  write_fields(writer, states, part)
  write_fields(writer, { "prompt_tokens", "output_tokens", "requests_per_sec", "tokens_per_sec" },
    part)
  write_all_times(writer, part)
end

local function write_groups(writer, name, groups)
  writer:array(name)
  for _, group in ipairs(groups) do
    writer:object():field("name", group.name)
    write_part(writer, group)
    writer:done()
  end
  writer:done()
end

local setup_fields = { "model", "hardware", "tp", "dp", "instances", "latency_model", "kv_blocks",
  "kv_blocks_computed", "block_size", "max_model_len" }

local function write_setup(writer, result)
  local setup = result.setup
  writer:object("setup")
  write_fields(writer, setup_fields, setup)
  writer:field("seed", setup.seed):field("routing", result.routing)
  local groups = rawget(setup, "groups")
  if groups then
    writer:array("groups")
    for _, group in ipairs(groups) do
      write_object(writer, nil, setup_fields, group)
    end
    writer:done()
  end
  writer:array("notes")
  for note in setup.notes:gmatch("[^\n]+") do writer:item(note) end
  writer:done():done()
end

--- How the caches did, how even the load was, and what went wrong.
local function write_health(writer, run)
  local result = run.result
  write_object(writer, "kv_cache", { "cache_hit_rate", "cache_hit_rate_overall", "cpu_reload_rate",
    "kv_thrashing_rate", "preemptions", "preemption_rate", "kv_allocation_failures" }, {
    cache_hit_rate = result.cache_hit_rate,
    cache_hit_rate_overall = result.cache_hit_rate_overall,
    cpu_reload_rate = result.cpu_reload_rate, kv_thrashing_rate = result.kv_thrashing_rate,
    preemptions = result.preemptions, preemption_rate = result.preemption_rate,
    kv_allocation_failures = result.kv_allocation_failures,
  })
  write_object(writer, "cache_belief", { "decisions", "prompt_tokens", "believed_tokens",
    "true_tokens", "missing_tokens", "unknown_tokens", "believed_hit_rate", "true_hit_rate" },
    result.cache_belief)
  writer:object("balance"):field("instances_jain", result.balance)
    :field("instances_cv", result.balance_cv):field("tenants_jain", result.tenant_fairness)
    :field("tenants_cv", result.tenant_cv):done()
  writer:object("anomalies")
    :field("priority_inversions", anomalies.inversions_of(result, run.scheduler))
    :field("blocked_instances", result.blocked_instances):done()
end

--- What only some runs are asked for.
local function write_asked_for(writer, run)
  local steady, series = rawget(run.result, "steady"), rawget(run.result, "series")
  if steady then
    writer:object("steady"):field("from_us", steady.from_us):field("to_us", steady.to_us)
    write_part(writer, steady)
    writer:done()
  end
  if run.decisions then
    local summary = run.decisions:summary()
    write_object(writer, "decisions", { "total", "admitted", "rejected", "routed",
      "unique_targets", "mean_regret", "max_regret" }, summary)
  end
  if series then
    writer:array("series")
    for i = 1, series.rows do
      write_object(writer, nil, over_time.columns(series), over_time.row(series, i))
    end
    writer:done()
  end
end

-- Sums over attempts of a cascade, with all models and with each.
local cascade_sums = { "attempts", "accepted", "escalated", "accepted_last", "failed", "unfinished",
  "prompt_tokens", "output_tokens", "dropped_output_tokens", "mean_logprob", "mean_attempt_ms" }

local function write_cascade(writer, cascade)
  writer:object("cascade"):field("policy", cascade.policy):field("requests", cascade.requests)
    :field("mean_steps", cascade.mean_steps)
  for _, key in ipairs(cascade_sums) do writer:field(key, cascade[key]) end
  writer:array("steps")
  for _, count in ipairs(cascade.steps) do writer:item(count) end
  writer:done()
  write_times(writer, "earlier_ms", cascade.earlier_ms)
  writer:array("models")
  for _, model in ipairs(cascade.models) do
    writer:object():field("model", model.model)
    for _, key in ipairs(cascade_sums) do writer:field(key, model[key]) end
    writer:done()
  end
  writer:done():done()
end

local function write_fitness(writer, fitness)
  writer:object("fitness"):field("score", fitness.score):object("components")
  for _, one in ipairs(fitness.components) do writer:field(one[1], one[2]) end
  writer:done():done()
end

local function write_instances(writer, result)
  writer:array("instances")
  for i, instance in ipairs(result.instances) do
    writer:object()
    metrics.write(writer, metrics.list(metrics.instance(result, i), { has_hit_rate = true }))
    write_fields(writer, { "requests", "steps", "cache_hits", "cache_misses", "cpu_reloads",
      "cpu_misses", "cpu_saved", "cpu_evictions" }, instance)
    write_all_times(writer, instance)
    writer:done()
  end
  writer:done()
end

--- One object: the figures of the cluster under the names of BLIS in Go, then counts (requests by
--- how they ended), all times with their percentiles in ms, the same by_slo_class, by_tenant and
--- by_model, kv_cache, cache_belief, balance, anomalies, setup, cost, a list of instances, and the
--- result_hash; energy, goodput, saturation, fitness, steady, decisions and series where they were
--- asked for.
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
  write_object(writer, "counts", states, result)
  write_all_times(writer, result)
  write_groups(writer, "by_slo_class", result.by_slo_class)
  write_groups(writer, "by_tenant", result.by_tenant)
  write_groups(writer, "by_model", result.by_model)
  write_health(writer, run)
  write_setup(writer, result)
  write_object(writer, "cost", { "gpus", "gpu_hours", "usd", "usd_per_million_output_tokens" },
    result.cost)
  if result.energy.kwh then
    write_object(writer, "energy", { "gpu_watts", "kwh", "joules_per_output_token" },
      result.energy)
  end
  if rawget(result, "cascade") then write_cascade(writer, result.cascade) end
  write_asked_for(writer, run)
  write_instances(writer, result)
  return writer:done():take() .. "\n"
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
