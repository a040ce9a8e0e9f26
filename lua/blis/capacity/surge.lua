--- Whether a cluster leaves an overload again: a surge is put at the start of a run.
---
--- Some clusters have two states under one load. With warm prefix caches a cluster keeps up. With
--- cold caches it does not, the queue keeps the caches cold, and the overload stays. Few runs of a
--- search enter the second state by chance, so the noise between seeds does not show it. A surge
--- shows it: a cluster with one state recovers, and a cluster with two states stays overloaded.
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local format = deferred "blis.format"

local surge = {}

-- The rate during the surge, over the usual rate.
surge.factor = 5

-- Requests of the surge, over the mean number of requests in the system.
local of_system, fewest_requests = 5, 50

-- The run is longer than the surge by this factor, and is repeated with twice the length up to
-- another factor: a backlog drains slowly close to saturation. The run is split into parts, the
-- last of which shows whether the cluster has recovered.
local lengths, most_lengths, parts = 8, 64, 4

-- The cluster has recovered if the mean TTFT is at most this multiple of that without a surge. It
-- stays overloaded if the mean TTFT rises from part to part by this factor in all, or if it is
-- still this share of its peak in the longest run.
local recovered, rising, least_fallen = 2, 1.5, 0.8

-- Lower loads that are tried in turn after an overload that stays.
local step, most_steps = 0.9, 8

---@class blis.SurgeTest whether a cluster recovers from a surge
---@field value number at which the surge was tried
---@field recovers boolean with all seeds
---@field surge_requests integer
---@field requests integer of the first run
---@field ttft_ms number? mean over the end of a run that did not recover
---@field calm_ttft_ms number? the same without a surge
---@field recovers_at number? the nearest value that was tried from which the cluster recovers

---@class blis.capacity.SurgeQuestion
---@field run fun(value: number, seed: integer, requests: integer, shape?: table): blis.Result
---@field targets blis.capacity.Target[]
---@field max_missed number
---@field seeds integer[]
---@field requests integer of the first run
---@field max_requests integer

local function window_of(result, k)
  local requests = result.requests
  local first, last = (k - 1) * #requests // parts + 1, k * #requests // parts
  return result:window(requests[first].arrival_us, requests[last].arrival_us + 1)
end

local function missed_share(window)
  return window.arrived > 0 and 1 - window.completed / window.arrived or 0
end

--- True if the requests of a window meet the targets for latencies.
local function meets(question, window)
  if missed_share(window) > question.max_missed then return false end
  for _, target in ipairs(question.targets) do
    local part, name = target.name:match "^([%l0-9_]+)%.(.*)$"
    local times = target.latency and window[part]
    if times and not (times.count > 0 and times[name] <= target.limit) then return false end
  end
  return true
end

local function mean_ttft(window) return window.ttft_ms.count > 0 and window.ttft_ms.mean or 0 end

--- Returns true if the mean TTFT of a run does not fall after the surge.
local function stays_high(result, is_longest)
  local means, peak = {}, 0
  for k = 1, parts do
    means[k] = mean_ttft(window_of(result, k))
    peak = math.max(peak, means[k])
  end
  local last, is_rising = means[parts], means[parts] >= rising * means[2]
  for k = 3, parts do is_rising = is_rising and means[k] > means[k - 1] end
  return is_rising or is_longest and last >= least_fallen * peak
end

--- Runs a surge with one seed, in longer runs while the backlog drains. Returns true if the cluster
--- recovers; otherwise false, and the mean TTFT at the end with a surge and without.
local function recovers_with(question, value, seed, shape, requests, most)
  while true do
    local result = question.run(value, seed, requests, shape)
    local last = window_of(result, parts)
    if meets(question, last) then return true end
    local calm = window_of(question.run(value, seed, requests), parts)
    local ttft, calm_ttft = mean_ttft(last), mean_ttft(calm)
    local is_served = missed_share(last) <= math.max(question.max_missed, missed_share(calm))
    if is_served and ttft <= recovered * calm_ttft then return true end
    if stays_high(result, requests >= most) then return false, ttft, calm_ttft end
    if requests >= most then return true end
    requests = math.min(2 * requests, most)
  end
end

--- Tries a surge at a value with each seed; see recovers_with.
local function try(question, value, surge_requests, requests, rate)
  local most = math.max(question.max_requests, most_lengths * surge_requests)
  local start_us = math.max(1, math.floor(surge_requests / (surge.factor * rate) * 1e6))
  local shape = { "ramp", from = surge.factor, to = 1, start_us = start_us, duration_us = 1000 }
  for _, seed in ipairs(question.seeds) do
    local recovers, ttft, calm = recovers_with(question, value, seed, shape, requests, most)
    if not recovers then return false, ttft, calm end
  end
  return true
end

--- Tries a surge at a value, and lower loads if the cluster stays overloaded.
---@param question blis.capacity.SurgeQuestion
---@param value number
---@param calm blis.Result without a surge, at this value
---@param next_value? fun(value: number, factor: number): number a lower load, by a factor
---@return blis.SurgeTest
function surge.test(question, value, calm, next_value)
  local course = calm.requests:course()
  local seconds = (course.to_us - course.from_us) / 1e6
  local rate = (course.requests - 1) / math.max(seconds, 1e-6)
  local in_system = rate * calm.e2e_ms.mean / 1000
  local most = question.max_requests // lengths
  local surge_requests = math.max(math.min(math.ceil(of_system * in_system), most),
    math.min(fewest_requests, most), 1)
  local requests = math.min(math.max(question.requests, lengths * surge_requests),
    question.max_requests)
  local found = { value = value, surge_requests = surge_requests, requests = requests }
  found.recovers, found.ttft_ms, found.calm_ttft_ms =
    try(question, value, surge_requests, requests, rate)
  local k = 0
  while not found.recovers and not found.recovers_at and next_value and k < most_steps do
    k = k + 1
    local lower = next_value(value, step ^ k)
    if try(question, lower, surge_requests, requests, rate) then found.recovers_at = lower end
  end
  return found
end

--- Tries a surge as surge.test does. Returns nil for traffic that cannot have a shape, such as
--- requests that wait for answers.
---@param question blis.capacity.SurgeQuestion
---@param value number
---@param calm blis.Result
---@param next_value? fun(value: number, factor: number): number
---@return blis.SurgeTest?
function surge.attempt(question, value, calm, next_value)
  local ok, found = pcall(surge.test, question, value, calm, next_value)
  if ok then return found end
  if errors.code(found) ~= "invalid" then error(found, 0) end
  return nil
end

--- Describes a cluster that stays overloaded.
---@param found blis.SurgeTest
---@param name fun(value: number): string
---@return blis.results.Finding
function surge.finding(found, name)
  local text = ("at %s, the cluster does not recover from a surge. After %s requests at %d times "
    .. "the rate, mean TTFT is %s ms at the end of the run, and %s ms without the surge. So the "
    .. "cluster has two states, or this is its limit. The noise between few seeds gives no "
    .. "interval then."):format(name(found.value), format.count(found.surge_requests),
    surge.factor, format.number(found.ttft_ms, 1), format.number(found.calm_ttft_ms, 1))
  if found.recovers_at then
    text = ("%s It recovers at %s."):format(text, name(found.recovers_at))
  end
  return { code = "surge", status = "warning", text = text }
end

return surge
