--- Output of BLIS in Go after a run: a JSON object per instance and for the cluster, then sections
--- of text.
local anomalies = require("blis.results.anomalies").go_blis
local core = require "blis.core"
local decisions = require "blis.results.decisions"
local metrics = require "blis.cli.metrics"

local go_blis = {}

local function object_text(scope, run)
  local writer = core.json_writer(2):object()
  metrics.write(writer, metrics.list(scope))
  if run then metrics.write_judgement(writer, run) end
  return "=== Simulation Metrics ===\n" .. writer:done():take() .. "\n"
end

--- Mean, percentile and count of a list of numbers, which is sorted.
local function distribution(values)
  table.sort(values)
  local d = { n = #values, mean = 0.0 }
  local sum = 0.0
  for _, value in ipairs(values) do sum = sum + value end
  if d.n > 0 then d.mean = sum / d.n end
  function d.at(percent)
    if d.n == 0 then return 0.0 end
    local rank = percent / 100 * (d.n - 1)
    local low = math.floor(rank)
    local first, second = values[low + 1], values[math.min(low + 2, d.n)]
    return first + (rank - low) * (second - first)
  end
  return d
end

--- Groups the records of a run by key_of; returns the lists and the keys in order.
local function group(records, key_of)
  local groups, names = {}, {}
  for _, record in ipairs(records) do
    local key = key_of(record)
    if key then
      if not groups[key] then
        groups[key] = {}
        names[#names + 1] = key
      end
      table.insert(groups[key], record)
    end
  end
  table.sort(names)
  return groups, names
end

local function values_of(records, value_of)
  local values = {}
  for _, record in ipairs(records) do
    local value = value_of(record)
    if value then values[#values + 1] = value end
  end
  return values
end

--- Returns whether any group of a result is named.
local function has_names(groups)
  for _, one in ipairs(groups) do
    if one.name ~= "" then return true end
  end
  return false
end

local function class_of(record)
  return record.slo_class == "" and "default" or record.slo_class
end

local function named(field)
  return function(record) return record[field] ~= "" and record[field] or nil end
end

local function is_completed(record)
  return record.state == "completed" or record.state == "length_capped"
end

local function priority_inversions(run)
  return anomalies.priority_inversions(run.all(), run.scheduler)
end

-- Requests rejected because the gateway queue was full: not counted as shed.
local gateway_reasons = {
  ["rejected-saturated"] = true, ["rejected-no-endpoints"] = true,
}
-- Why routing refuses a request that was admitted.
local routing_reasons = {
  ["no-candidate"] = true, ["no-instance"] = true, ["turn-cap"] = true,
}

--- Lines about refused requests: by admission, by class (an empty class counts as standard;
--- includes requests that the queue shed, lost, or evicted), and by routing.
local function rejection_lines(run)
  local queue = rawget(run.result, "queue")
  local evicted = queue and queue.evicted or 0
  local refused = run.result.rejected + evicted == 0 and {}
    or values_of(run.all(), function(record)
      local is_shed = record.state == "rejected" and not gateway_reasons[record.reason]
        or record.reason == "gateway-evicted"
      return is_shed and record or nil
    end)
  local groups, names = group(refused, function(record)
    if routing_reasons[record.reason] then return nil end
    return record.slo_class == "" and "standard" or record.slo_class
  end)
  local lines, counted = { "" }, 0
  for i, name in ipairs(names) do
    counted = counted + #groups[name]
    lines[i + 1] = ("  Shed (%s): %d"):format(name, #groups[name])
  end
  local by_queue = queue and queue.shed + queue.expired + evicted or 0
  lines[1] = ("Rejected Requests (Admission): %d"):format(counted - by_queue)
  lines[#lines + 1] = ("Rejected Requests (Routing): %d"):format(#refused - counted)
  return lines
end

-- Counters of the gateway queue that are printed if they are not 0.
local queue_lines = {
  { "Gateway Queue Depth (horizon)", "waiting" }, { "Gateway Queue Shed", "shed" },
  { "Gateway Queue Rejected", "rejected" }, { "Gateway Expired (TTL)", "expired" },
  { "Gateway Evicted (in-flight)", "evicted" },
}

local function add_queue_lines(lines, queue)
  for _, one in ipairs(queue and queue_lines or {}) do
    if queue[one[2]] > 0 then
      lines[#lines + 1] = ("%s: %d"):format(one[1], queue[one[2]])
    end
  end
end

local sections = {}

function sections.fitness(run)
  if not run.fitness then return nil end
  local lines = { "=== Fitness Evaluation ===", ("Score: %.6f"):format(run.fitness.score) }
  for _, one in ipairs(run.fitness.components) do
    lines[#lines + 1] = ("  %s: %.6f"):format(one[1], one[2])
  end
  return lines
end

function sections.anomalies(run)
  local result = run.result
  local inversions = priority_inversions(run)
  local blocked = anomalies.hol_blocking_events(result.instances)
  local queue = rawget(result, "queue")
  local at_queue = queue and queue.waiting + queue.evicted or 0
  if inversions + blocked + at_queue + result.rejected + result.unservable + result.timed_out
    + result.length_capped == 0 then
    return nil
  end
  local lines = {
    "=== Anomaly Counters ===",
    ("Priority Inversions: %d"):format(inversions),
    ("HOL Blocking Events: %d"):format(blocked),
  }
  local rejections = rejection_lines(run)
  table.move(rejections, 1, #rejections, #lines + 1, lines)
  lines[#lines + 1] = ("Dropped Unservable: %d"):format(result.unservable)
  lines[#lines + 1] = ("Timed Out Requests: %d"):format(result.timed_out)
  lines[#lines + 1] = ("Length-Capped Requests: %d"):format(result.length_capped)
  add_queue_lines(lines, queue)
  return lines
end

function sections.kv_cache(run)
  local result = run.result
  local thrashing = anomalies.kv_thrashing_rate(result.instances)
  if result.preemption_rate == 0 and result.cache_hit_rate == 0 and thrashing == 0 then
    return nil
  end
  return {
    "=== KV Cache Metrics ===",
    ("Preemption Rate: %.4f"):format(result.preemption_rate),
    ("Cache Hit Rate: %.4f"):format(result.cache_hit_rate),
    ("KV Thrashing Rate: %.4f"):format(thrashing),
  }
end

local function class_line(name, values)
  local d = distribution(values)
  return ("    %-5s mean=%.2f p99=%.2f (n=%d)"):format(name, d.mean, d.at(99), d.n)
end

local function has_time(record) return record.ttft_us or record.e2e_us end

--- Classes with at least one first token.
function sections.slo_classes(run)
  local least = rawget(run.result, "goodput") and 1 or 2
  if #run.result.by_slo_class < least then return nil end
  local groups, names = group(run.registered(), function(record)
    return has_time(record) and class_of(record) or nil
  end)
  if #names < least then return nil end
  local lines = { "=== Per-SLO Metrics ===" }
  for _, name in ipairs(names) do
    local own = groups[name]
    lines[#lines + 1] = ("  %s:"):format(name)
    lines[#lines + 1] = class_line("TTFT:",
      values_of(own, function(record) return record.ttft_us end))
    lines[#lines + 1] = class_line("ITL:", values_of(own, function(record)
      return is_completed(record) and metrics.mean_itl_us(record) or nil
    end))
    lines[#lines + 1] = class_line("E2E:",
      values_of(own, function(record) return record.e2e_us end))
  end
  return lines
end

local function model_line(name, values)
  local d = distribution(values)
  return ("    %-5s p50=%.2f p99=%.2f (n=%d)"):format(name, d.at(50), d.at(99), d.n)
end

local function output_tokens(records)
  local sum = 0
  for _, record in ipairs(records) do sum = sum + record.output_tokens end
  return sum
end

function sections.models(run)
  if not has_names(run.result.by_model) then return nil end
  local groups, names = group(run.registered(), named "model")
  if #names == 0 then return nil end
  local seconds = run.result.duration_us / 1e6
  local lines = { "=== Per-Model Metrics ===" }
  for _, name in ipairs(names) do
    local own = values_of(groups[name], function(record)
      return is_completed(record) and record or nil
    end)
    lines[#lines + 1] = ("  %s:"):format(name)
    lines[#lines + 1] = model_line("TTFT:",
      values_of(groups[name], function(record) return record.ttft_us end))
    lines[#lines + 1] = model_line("E2E:",
      values_of(own, function(record) return record.e2e_us end))
    lines[#lines + 1] = ("    Throughput: %.2f req/s, %.2f tok/s"):format(
      seconds > 0 and #own / seconds or 0, seconds > 0 and output_tokens(own) / seconds or 0)
  end
  return lines
end

--- With pools, requests count that timed out while they decoded, with the output they wanted.
local function tenants_of(run)
  if not rawget(run.result, "handoffs") then return run.result.by_tenant end
  local groups, names = group(run.all(), named "tenant")
  local list = {}
  for i, name in ipairs(names) do
    local one = { name = name, completed = 0, output_tokens = 0 }
    for _, record in ipairs(groups[name]) do
      if record.e2e_us then
        one.completed = one.completed + 1
        one.output_tokens = one.output_tokens + record.output_tokens
      end
    end
    list[i] = one
  end
  return list
end

function sections.tenants(run)
  local lines, count, sum, squares = { "=== Per-Tenant Metrics ===" }, 0, 0.0, 0.0
  for _, tenant in ipairs(tenants_of(run)) do
    if tenant.name ~= "" and tenant.completed > 0 then
      local tokens = tenant.output_tokens
      count, sum, squares = count + 1, sum + tokens, squares + tokens * tokens
      lines[#lines + 1] = ("  %s: requests=%d, tokens=%d"):format(tenant.name, tenant.completed,
        tokens)
    end
  end
  if count == 0 then return nil end
  local fairness = squares == 0 and 1.0 or sum * sum / (count * squares)
  lines[#lines + 1] = ("  Jain Fairness Index: %.4f"):format(fairness)
  return lines
end

local function session_line(lines, name, values)
  local d = distribution(values)
  if d.n == 0 then return end
  lines[#lines + 1] = ("  %s mean=%.2f p50=%.2f p95=%.2f p99=%.2f ms (n=%d)"):format(name, d.mean,
    d.at(50), d.at(95), d.at(99), d.n)
end

--- From the first round's arrival to the last completion, in ms. Each is in ms before they are
--- subtracted, which rounds otherwise than their difference in us would.
local function session_duration(records)
  local start, stop = nil, 0
  for _, record in ipairs(records) do
    if record.round_index == 0 then start = record.arrival_us end
    if record.e2e_us then stop = math.max(stop, record.arrival_us + record.e2e_us) end
  end
  return start and stop > start and stop / 1000 - start / 1000 or nil
end

function sections.sessions(run)
  if not run.result.has_sessions then return nil end
  local groups, names = group(run.registered(), named "session")
  if #names == 0 then return nil end
  local function ttft_of(is_cold)
    return function(record)
      local is_wanted = record.session ~= "" and (record.round_index == 0) == is_cold
      return is_wanted and record.ttft_us and record.ttft_us / 1000 or nil
    end
  end
  local lines = { "=== Session Metrics ===", ("  Sessions: %d"):format(#names) }
  session_line(lines, "TTFT cold (round 0):", values_of(run.registered(), ttft_of(true)))
  session_line(lines, "TTFT warm (round≥1):", values_of(run.registered(), ttft_of(false)))
  session_line(lines, "Session duration:   ", values_of(names, function(name)
    return session_duration(groups[name])
  end))
  return lines
end

--- Roles of the instances, by id.
local function roles_of(result)
  local roles, first = {}, 0
  for _, equal in ipairs(result.setup.groups or {}) do
    for i = first, first + equal.instances - 1 do roles["instance_" .. i] = equal.role end
    first = first + equal.instances
  end
  return roles
end

--- How many requests, and prefills of requests, instances with a role have completed.
local function completed_by(records, roles, role)
  local sum = 0
  for _, record in ipairs(records) do
    local prefilled, decoded = roles[record.prefill_instance or ""], roles[record.instance or ""]
    if record.prefill_end_us and (prefilled == role or prefilled == "both") then sum = sum + 1 end
    if is_completed(record) and (decoded == role or decoded == "both") then sum = sum + 1 end
  end
  return sum
end

local function imbalance(a, b)
  if a == b then return "1.0000" end
  if a == 0 or b == 0 then return "inf (one pool idle)" end
  return ("%.4f"):format(math.max(a, b) / math.min(a, b))
end

local function us_line(title, values)
  local d = distribution(values)
  return ("%s (us): mean=%.1f p50=%.1f p95=%.1f p99=%.1f"):format(title, d.mean, d.at(50), d.at(95),
    d.at(99))
end

function sections.pools(run)
  local result = run.result
  local handoffs = rawget(result, "handoffs")
  if not handoffs or handoffs.started == 0 then return nil end
  local parents = values_of(run.all(), function(record)
    return record.prefill_instance and record or nil
  end)
  local moved = values_of(parents, function(record) return record.transfer_end_us end)
  local seconds = result.duration_us / 1e6
  local roles = roles_of(result)
  local prefill = completed_by(run.all(), roles, "prefill") / seconds
  local decode = completed_by(run.all(), roles, "decode") / seconds
  local lines = {
    "=== PD Metrics ===",
    ("Disaggregated Requests: %d"):format(#moved),
    "Dropped at Decode KV: 0",
    ("Prefill Throughput: %.4f sub-req/s"):format(prefill),
    ("Decode Throughput: %.4f sub-req/s"):format(decode),
    "Load Imbalance Ratio: " .. imbalance(prefill, decode),
    us_line("Parent TTFT", values_of(parents, function(record) return record.ttft_us end)),
    -- BLIS (Go) takes a start at time 0 for a transfer that has not started.
    us_line("KV Transfer Duration", values_of(parents, function(record)
      local has_start = record.transfer_end_us and record.transfer_start_us > 0
      return has_start and record.transfer_end_us - record.transfer_start_us or nil
    end)),
  }
  if run.flags and run.flags.disaggregation.contention then
    lines[#lines + 1] = ("Peak Concurrent Transfers: %d"):format(handoffs.peak)
    lines[#lines + 1] = ("Mean Transfer Queue Depth: %.4f"):format(handoffs.mean_depth)
  end
  return lines
end

function sections.decisions(run)
  if not run.decisions then return nil end
  local lines = { "=== Trace Summary ===" }
  local function id_of(id) return metrics.id(run.result, id) end
  for line in decisions.text(run.decisions, id_of):gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
  return lines
end

local order = { "fitness", "anomalies", "kv_cache", "slo_classes", "models", "tenants", "sessions",
  "pools", "decisions" }

---@class blis.cli.Run
---@field result blis.Result made with instance_times
---@field fitness? blis.Fitness
---@field saturation? blis.Saturation
---@field scheduler? string
---@field flags? table<string, table> values of flags, by section
---@field decisions? blis.Decisions to be summed up
---@field leaves_out_series? boolean of its metrics as JSON

--- Lists of records, built when a section needs them.
local function lists_of(result)
  local all, registered
  local lists = {}
  function lists.all()
    if not all then
      all = {}
      for i = 1, #result.requests do all[i] = result.requests[i] end
    end
    return all
  end
  function lists.registered()
    if not registered then
      registered = {}
      for _, record in ipairs(lists.all()) do
        if metrics.is_registered(record) then registered[#registered + 1] = record end
      end
    end
    return registered
  end
  return lists
end

--- The sections of text, in order: lists of lines, each starting with its title.
---@param run blis.cli.Run
---@return string[][]
function go_blis.sections(run)
  local list = {}
  local with_lists = setmetatable(lists_of(run.result), { __index = run })
  for _, name in ipairs(order) do list[#list + 1] = sections[name](with_lists) end
  return list
end

--- Everything that is printed.
---@param run blis.cli.Run
---@return string
function go_blis.text(run)
  local parts, result = {}, run.result
  local later = rawget(result.setup, "later")
  if (later and later.first or #result.instances) > 1 then
    for i in ipairs(result.instances) do parts[i] = object_text(metrics.instance(result, i)) end
  end
  parts[#parts + 1] = object_text(result, run)
  for _, lines in ipairs(go_blis.sections(run)) do
    parts[#parts + 1] = table.concat(lines, "\n") .. "\n"
  end
  return table.concat(parts)
end

return go_blis
