--- The metrics of a run under the names of BLIS in Go, for JSON and CSV.
local core = require "blis.core"
local saturation = require "blis.results.saturation"

local metrics = {}

local flush_bytes = 1 << 16

local function add_times(list, name, d, has_all)
  if has_all then
    list[#list + 1] = { name .. "_mean_ms", d.mean }
    list[#list + 1] = { name .. "_p90_ms", d.p90 }
    list[#list + 1] = { name .. "_p95_ms", d.p95 }
  end
  list[#list + 1] = { name .. "_p99_ms", d.p99 }
end

--- A count by the end of a run over its length; 0 for nothing.
local function per_second(n, scope)
  local seconds = scope.duration_us / 1e6
  return scope.completed > 0 and seconds > 0 and n / seconds or 0.0
end

--- The ID of an instance in BLIS (Go), which numbers later instances separately.
---@param result blis.Result
---@param id string?
---@return string?
function metrics.id(result, id)
  local later = rawget(result.setup, "later")
  local number = later and id and math.tointeger(id:match "^instance_(%d+)$")
  if not number or number < later.first then return id end
  return ("autoscale-%s-%06d"):format(later.model:lower(), number - later.first + 1)
end

--- One instance of a result, with the fields that metrics.list reads.
---@param result blis.Result made with instance_times
---@param index integer
---@return table
function metrics.instance(result, index)
  local instance = result.instances[index]
  return setmetatable({ duration_us = instance.end_us, id = metrics.id(result, instance.id) },
    { __index = instance })
end

--- The metrics of a whole cluster or of one instance, in order: { { key, value }, ... }.
---@param scope table a result, or what metrics.instance returns
---@param options? { has_hit_rate?: boolean }
---@return { [1]: string, [2]: any }[]
function metrics.list(scope, options)
  local injected = scope.completed + scope.still_queued + scope.still_running + scope.unservable
    + scope.timed_out
  local list = {
    { "instance_id", rawget(scope, "routing") and "cluster" or scope.id },
    { "completed_requests", scope.completed },
    { "still_queued", scope.still_queued },
    { "still_running", scope.still_running },
    { "injected_requests", injected },
    { "total_input_tokens", scope.prompt_tokens },
    { "total_output_tokens", scope.output_tokens },
    { "vllm_estimated_duration_s", scope.duration_us / 1e6 },
    { "responses_per_sec", per_second(scope.completed, scope) },
    { "tokens_per_sec", per_second(scope.output_tokens, scope) },
  }
  add_times(list, "e2e", scope.e2e_ms, true)
  add_times(list, "ttft", scope.ttft_ms, true)
  add_times(list, "itl", scope.itl_ms, true)
  add_times(list, "scheduling_delay", scope.scheduling_delay_ms)
  if scope.kv_allocation_failures > 0 then
    list[#list + 1] = { "kv_allocation_failures", scope.kv_allocation_failures }
  end
  list[#list + 1] = { "preemption_count", scope.preemptions }
  if options and options.has_hit_rate then
    list[#list + 1] = { "cache_hit_rate", scope.cache_hit_rate }
  end
  list[#list + 1] = { "dropped_unservable", scope.unservable }
  list[#list + 1] = { "length_capped_requests", scope.length_capped }
  list[#list + 1] = { "timed_out_requests", scope.timed_out }
  return list
end

--- Writes a list as fields of the object that is open.
---@param writer userdata
---@param list { [1]: string, [2]: any }[]
function metrics.write(writer, list)
  for _, pair in ipairs(list) do writer:field(pair[1], pair[2]) end
end

local function class_name(record)
  return record.slo_class == "" and "default" or record.slo_class
end

--- Means of the requests' mean inter-token latencies by SLO class, summed up in order of arrival.
local function mean_itl_ms(records)
  local sums, counts = {}, {}
  for i = 1, #records do
    local record = records[i]
    if record.e2e_us then
      local class = class_name(record)
      sums[class] = (sums[class] or 0) + metrics.mean_itl_us(record)
      counts[class] = (counts[class] or 0) + 1
    end
  end
  for class, sum in pairs(sums) do sums[class] = sum / counts[class] / 1000 end
  return sums
end

--- TTFT p99 of completed requests by SLO class. BLIS (Go) prints it for classes with targets;
--- elsewhere it includes all requests with a first token.
local function ttft_p99_ms(records)
  local values = {}
  for i = 1, #records do
    local record = records[i]
    if record.e2e_us then
      local class = class_name(record)
      values[class] = values[class] or {}
      table.insert(values[class], record.ttft_us)
    end
  end
  for class, ttfts_us in pairs(values) do
    table.sort(ttfts_us)
    local rank = 99 / 100 * (#ttfts_us - 1)
    local low = math.floor(rank)
    local lower, upper = ttfts_us[low + 1], ttfts_us[math.min(low + 2, #ttfts_us)]
    values[class] = lower / 1000 + (upper - lower) * (rank - low) / 1000
  end
  return values
end

--- Latencies: e2e_p99_ms, itl_mean_ms, and ttft_p99_ms, if they exist.
local function write_class(writer, class, times)
  local function time(name)
    if (times[name] or 0) > 0 then writer:field(name, times[name]) end
  end
  writer:object(class.name):field("count", class.arrived)
  time "e2e_p99_ms"
  writer:field("goodput_rps", class.requests_per_sec)
  time "itl_mean_ms"
  writer:field("slo_attainment", class.attainment):object("slo_attainment_by_dim")
  for _, name in ipairs { "e2e", "itl", "ttft" } do
    if class.targets[name .. "_ms"] then
      local met = class[name .. "_met"]
      writer:field(name, class.completed > 0 and met / class.completed or 0.0)
    end
  end
  writer:done()
  time "ttft_p99_ms"
  writer:done()
end

--- Writes the verdicts of detectors and SLO attainment, if configured, as fields of the open
--- object.
---@param writer userdata
---@param run blis.cli.Run
function metrics.write_judgement(writer, run)
  local result = run.result
  local is_go_blis = rawget(result.setup, "profile") == "go-blis"
  if run.saturation and (result.completed > 0 or not is_go_blis) then
    saturation.write_final(writer, "saturation", run.saturation)
  end
  local goodput = rawget(result, "goodput")
  if not goodput then return end
  writer:field("goodput_rps", goodput.requests_per_sec)
  writer:field("slo_attainment", goodput.attainment):object("per_class")
  local itl_ms = mean_itl_ms(result.requests)
  local of_completed_ms = is_go_blis and ttft_p99_ms(result.requests)
  for _, class in ipairs(goodput.classes) do
    local name = class.name == "default" and "" or class.name
    local group = result.by_slo_class[name] or result.by_slo_class[class.name]
    local ttft_ms = group and group.ttft_ms.p99
    if of_completed_ms then ttft_ms = of_completed_ms[class.name] end
    write_class(writer, class, {
      e2e_p99_ms = group and group.e2e_ms.p99, itl_mean_ms = itl_ms[class.name],
      ttft_p99_ms = ttft_ms,
    })
  end
  writer:done()
end

--- Mean of the inter-token latencies of a completed request, in microseconds; 0 for others.
---@param record table
---@return number
function metrics.mean_itl_us(record)
  if record.state == "completed" then
    return record.output_tokens > 0 and record.itl_sum_us / math.max(record.output_tokens - 1, 1)
      or 0
  elseif record.state == "length_capped" then
    return record.itl_sum_us / math.max(record.itl_count - 1, 1)
  end
  return 0
end

--- Requests that reached an instance and were not turned away there.
---@param record table
---@return boolean
function metrics.is_registered(record)
  return record.instance ~= nil and record.state ~= "unservable"
end

--- Whether a request reports its time in the gateway queue. BLIS (Go) omits requests that did not
--- queue or that arrived at time 0.
local function tells_gateway_wait(record, result)
  local wait_us = record.gateway_wait_us
  local is_go_blis = rawget(result.setup, "profile") == "go-blis"
  return wait_us and (not is_go_blis or wait_us > 0 and record.arrival_us > 0)
end

local function write_request(writer, record, result)
  writer:object()
    :field("arrived_at", record.arrival_us / 1e6)
    :field("requestID", record.id)
    :field("num_prefill_tokens", record.prompt_tokens)
    :field("num_decode_tokens", record.output_tokens)
    :field("ttft_ms", (record.ttft_us or 0) / 1e3)
    :field("itl_ms", metrics.mean_itl_us(record) / 1e3)
    :field("e2e_ms", (record.e2e_us or 0) / 1e3)
    :field("scheduling_delay_ms", (record.scheduling_delay_us or 0) / 1e3)
  if record.slo_class ~= "" then writer:field("slo_class", record.slo_class) end
  if record.tenant ~= "" then writer:field("tenant_id", record.tenant) end
  writer:field("handled_by", metrics.id(result, record.instance))
  if record.model ~= "" then writer:field("model", record.model) end
  if record.state == "length_capped" then writer:field("length_capped", true) end
  if tells_gateway_wait(record, result) then
    writer:field("gateway_queue_delay_ms", record.gateway_wait_us / 1e3)
  end
  if record.session ~= "" then writer:field("session_id", record.session) end
  writer:field("round_index", record.round_index or 0):done()
end

--- The file of --metrics-path: the metrics of the cluster, and a row per request.
---@param path string
---@param run blis.cli.Run
function metrics.write_file(path, run)
  local result = run.result
  local output <close> = core.output(path)
  local writer = core.json_writer(2):object()
  metrics.write(writer, metrics.list(result, { has_hit_rate = true }))
  writer:array("requests")
  for i = 1, #result.requests do
    local record = result.requests[i]
    if metrics.is_registered(record) then write_request(writer, record, result) end
    if #writer > flush_bytes then output:write(writer:take()) end
  end
  writer:done()
  metrics.write_judgement(writer, run)
  output:write(writer:done():take()):write("\n")
  output:commit()
end

local function number_of(record)
  return math.tointeger(tonumber(record.id:match("^request_(%d+)$")))
end

local function write_result(writer, record, number)
  writer:object()
    :field("request_id", number)
    :field("ttft_us", record.ttft_us)
    :field("e2e_us", record.e2e_us)
    :field("input_tokens", record.prompt_tokens)
    :field("output_tokens", record.output_tokens)
  if record.slo_class ~= "" then writer:field("slo_class", record.slo_class) end
  if record.model ~= "" then writer:field("model", record.model) end
  local itl_us = metrics.mean_itl_us(record)
  if itl_us ~= 0 then writer:field("itl_mean_us", itl_us) end
  writer:done()
end

--- The file of --results-path: the latencies of every completed request, by number.
---@param path string
---@param result blis.Result
function metrics.write_results(path, result)
  local order, number = {}, {}
  for i = 1, #result.requests do
    local record = result.requests[i]
    number[i] = record.ttft_us and record.e2e_us and number_of(record)
    if number[i] then order[#order + 1] = i end
  end
  table.sort(order, function(a, b) return number[a] < number[b] end)
  local output <close> = core.output(path)
  local writer = core.json_writer(2):array()
  for _, i in ipairs(order) do
    write_result(writer, result.requests[i], number[i])
    if #writer > flush_bytes then output:write(writer:take()) end
  end
  writer:done()
  output:write(writer:take()):write("\n")
  output:commit()
end

return metrics
