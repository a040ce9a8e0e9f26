--- A result of requests that a real endpoint has answered.
local core = require "blis.core"
local result = require "blis.results.result"

local observed_result = {}

-- Figures that the records of all requests give.
local figures = { "arrived", "completed", "failed", "rejected", "timed_out", "unservable",
  "length_capped", "still_arriving", "still_queued", "still_running", "prompt_tokens",
  "output_tokens", "ttft_ms", "e2e_ms", "itl_ms", "scheduling_delay_ms", "requests_per_sec",
  "tokens_per_sec", "request_hit_rate" }

--- Returns the number of a request, as traces have it.
---@param request table
---@param place integer in its list, from 1
---@return integer
function observed_result.number_of(request, place)
  return math.tointeger(request.id:match "^request_(%d+)$") or place - 1
end

--- Returns the record of a request that was sent.
local function record_of(request, seen, i)
  local is_done = seen.problem[i] == false
  local has_first = seen.first_us[i] >= 0
  local count = math.max(seen.output_tokens[i] - 1, 0)
  return {
    number = observed_result.number_of(request, i), state = is_done and "completed" or "failed",
    reason = not is_done and (seen.status[i] ~= 0 and ("status %d"):format(seen.status[i])
      or "no answer") or nil,
    arrival_us = seen.sent_us[i],
    ttft_us = has_first and seen.first_us[i] - seen.sent_us[i] or nil,
    e2e_us = is_done and seen.last_us[i] - seen.sent_us[i] or nil,
    end_us = has_first and seen.last_us[i] or seen.sent_us[i],
    itl_sum_us = has_first and seen.last_us[i] - seen.first_us[i] or 0,
    itl_count = has_first and count or 0,
    prompt_tokens = seen.prompt_tokens[i] > 0 and seen.prompt_tokens[i] or request.prompt_tokens,
    output_tokens = seen.output_tokens[i],
    tenant = request.tenant, slo_class = request.slo_class, model = request.model,
    session = request.session, round_index = request.round_index, was_counted = true,
    had_hit = seen.cached_tokens[i] > 0,
  }
end

local function records_of(list, seen)
  local records = core.records()
  for i, request in list:requests() do
    if seen.sent_us[i] >= 0 then records:add(record_of(request, seen, i)) end
  end
  return records
end

--- Returns the distribution of the times between the events of requests that were answered.
local function itl_of(seen)
  local times, sum = {}, 0
  for i, events in ipairs(seen.event_us) do
    for k = 2, seen.problem[i] and 0 or #events do
      times[#times + 1] = (events[k] - events[k - 1]) / 1000
      sum = sum + times[#times]
    end
  end
  if not times[1] then return { count = 0 } end
  table.sort(times)
  local values = { count = #times, mean = sum / #times, min = times[1], max = times[#times] }
  for name, share in pairs { p50 = 0.5, p75 = 0.75, p90 = 0.9, p95 = 0.95, p99 = 0.99,
    ["p99.9"] = 0.999 } do
    local rank = share * (#times - 1)
    local below = math.floor(rank)
    local low, high = times[below + 1], times[math.min(below + 2, #times)]
    values[name] = low + (high - low) * (rank - below)
  end
  return values
end

--- Returns the result of an observation.
---@param list blis.Workload
---@param seen table what core.observe returned
---@param about { target: string, traffic: string }
---@return blis.Result
function observed_result.of(list, seen, about)
  local records = records_of(list, seen)
  local duration_us = 1
  local cached, prompt = 0, 0
  for i = 1, #seen.sent_us do
    duration_us = math.max(duration_us, seen.last_us[i], seen.sent_us[i])
    cached = cached + seen.cached_tokens[i]
    prompt = prompt + seen.prompt_tokens[i]
  end
  local whole = records:window(0, duration_us + 1)
  local summary = {
    requests = records, keeps_records = true, hash = records:hash(), duration_us = duration_us,
    routing = "requests", requests_per_instance = {}, instances = {}, balance = 0,
    cache_hit_rate = prompt > 0 and cached / prompt or 0, preemptions = 0, steps = 0,
    cache_prediction = { decisions = 0, missing_tokens = 0, predicted_hit_rate = 0,
      predicted_tokens = 0, prompt_tokens = 0, true_hit_rate = 0, true_tokens = 0,
      unknown_tokens = 0 },
    kv_allocation_failures = 0, preemption_rate = 0, has_sessions = false, energy = {}, cost = {},
    setup = { notes = "", traffic = about.traffic, endpoint = about.target },
  }
  for _, name in ipairs(figures) do summary[name] = whole[name] end
  summary.itl_ms = itl_of(seen)
  summary.cache_hit_rate_overall = summary.cache_hit_rate
  for group, key in pairs { by_slo_class = "slo_class", by_tenant = "tenant",
    by_model = "model" } do
    summary[group] = records:groups(key)
  end
  return result.of_records(summary)
end

return observed_result
