--- Checks of the load of a run: overload, saturated components, the start-up transient, and runs
--- that are too short.
local format = require "blis.format"

local checks = {}

local count, number, percent = format.count, format.number, format.percent

-- A queue grows if it gains this share of the arrivals over the run, and more than chance explains:
-- the difference of arrivals and completions has a standard deviation of about the square root of
-- their number.
local least_growth, growth_in_roots = 0.02, 4

-- Requests in the system grow at the start of every run, and in its second half only by those that
-- take longer than the first half. Growth beyond that counts, as a share of the arrivals. A half
-- that is shorter than this share of the mean E2E shows nothing.
local least_second_growth, least_halves = 0.05, 0.75

-- A run is long if its duration is a multiple of the E2E of its requests, as in capacity searches.
local spans_of_a_request = 5

-- With fewer completed requests, the 99th percentile is the longest of them.
local fewest_requests = 100

-- Shares of requests that timed out. They waited in queues if the mean scheduling delay is a part
-- of the mean E2E; otherwise their deadlines are too short for them.
local many_lost, most_lost, queued_part = 0.05, 0.2, 0.2

--- Returns the slope of a list of numbers, least squares, times its length.
local function rise_of(list, from, to)
  local n, sum, weighted = to - from + 1, 0, 0
  for i = from, to do sum = sum + list[i] end
  local mean, middle, squares = sum / n, (from + to) / 2, 0
  for i = from, to do
    weighted = weighted + (i - middle) * (list[i] - mean)
    squares = squares + (i - middle) ^ 2
  end
  return squares > 0 and weighted / squares * n or 0
end

local function mean_of(list, from, to)
  local sum = 0
  for i = from, to do sum = sum + list[i] end
  return sum / (to - from + 1)
end

local function rises_by_thirds(list, from, to)
  local third = (to - from + 1) // 3
  local first = mean_of(list, from, from + third - 1)
  local second = mean_of(list, from + third, to - third)
  local last = mean_of(list, to - third + 1, to)
  return first < second and second < last
end

--- Returns by how many requests the queue grew from the first arrival to the last, nil if it did
--- not grow beyond chance.
local function queue_growth(course)
  local parts = #course.waiting
  local growth = rise_of(course.waiting, 1, parts)
  local least = math.max(least_growth * course.requests, growth_in_roots * course.requests ^ 0.5)
  if growth >= least and rises_by_thirds(course.waiting, 1, parts) then return growth end
end

--- As above, for all requests in the system over the second half. An engine with many slots has no
--- queue until its batch is full, but its steps get longer and longer.
local function system_growth(course, e2e_us)
  local parts, half = #course.in_system, #course.in_system // 2
  local lengths = (course.to_us - course.from_us) / 2 / math.max(e2e_us, 1)
  if lengths < least_halves then return nil end
  -- Fractions of the arrivals during which a half of this number of mean E2E still fills up: for
  -- exponential E2E, and for constant E2E.
  local filling, arrived = math.max(math.exp(-lengths), 1 / lengths - 1), 0
  for k = half + 1, parts do arrived = arrived + course.arrived[k] end
  local growth = rise_of(course.in_system, half + 1, parts)
  local least = filling * arrived
    + math.max(least_second_growth * arrived, growth_in_roots * arrived ^ 0.5)
  if growth >= least and rises_by_thirds(course.in_system, half + 1, parts) then
    return growth, arrived
  end
end

-- Without records: delays of a queue that grows are spread evenly from 0 to their maximum.
local even_p50, even_p90, long_delay_ms = { 0.3, 0.7 }, 0.75, 1000

local function delays_grow(r)
  local delay, e2e = r.scheduling_delay_ms, r.e2e_ms
  if delay.count < fewest_requests or delay.max < long_delay_ms then return false end
  local middle = delay.p50 / delay.max
  return middle >= even_p50[1] and middle <= even_p50[2] and delay.p90 >= even_p90 * delay.max
    and e2e.count > 0 and delay.mean >= 0.5 * (e2e.mean - math.min(delay.mean, e2e.mean))
end

local function lost_share(r)
  return (r.timed_out + r.still_queued) / math.max(1, r.arrived)
end

--- Returns what shows that the run was overloaded, nil if nothing does.
local function overload_of(self)
  local r, course = self.result, self.course
  local waited = r.scheduling_delay_ms.count > 0 and r.scheduling_delay_ms.mean or 0
  if r.timed_out > 0 and r.timed_out >= many_lost * r.arrived
    and waited >= queued_part * r.e2e_ms.mean then
    return ("%s of %s requests (%s) timed out"):format(count(r.timed_out), count(r.arrived),
      percent(r.timed_out / r.arrived))
  end
  if not course then
    return delays_grow(r) and ("scheduling delays are spread evenly from 0 to %s ms, as in a "
      .. "queue that grows"):format(number(r.scheduling_delay_ms.max)) or nil
  end
  local growth = queue_growth(course)
  if growth then
    return ("the queue grew by %s requests while %s arrived, so the capacity was too low for %s of "
      .. "the load")
      :format(count(growth // 1 | 0), count(course.requests),
        percent(math.min(1, growth / course.requests)))
  end
  local more, arrived = system_growth(course, r.e2e_ms.count > 0 and r.e2e_ms.mean * 1000 or 0)
  if more then
    return ("the requests in the system grew by %s while %s arrived in the second half of the run")
      :format(count(more // 1 | 0), count(arrived))
  end
end

--- Reports requests that timed out although they did not wait in queues.
local function check_deadlines(self)
  local r = self.result
  local share = r.timed_out / r.arrived
  if share < many_lost then return end
  self:add(share >= most_lost and "invalid" or "warning", "time-outs", "%s of %s requests (%s) "
    .. "timed out, although queues were short: their deadlines are shorter than their computation. "
    .. "E2E and ITL exclude them.", count(r.timed_out), count(r.arrived), percent(share))
end

local function check_overload(self)
  local evidence = overload_of(self)
  if not evidence then
    check_deadlines(self)
    return
  end
  self.is_overloaded = true
  local causes = {}
  for i, one in ipairs(self.bottlenecks) do causes[i] = one.text end
  self:add("invalid", "overload", "%s. Latencies and throughput depend on the length of the run%s. "
    .. "%sLower the rate or add instances.", evidence,
    self.result.timed_out > 0 and " and on the time-out" or "",
    #causes > 0 and ("Bottleneck: %s. "):format(table.concat(causes, "; ")) or "")
end

-- Minimum utilization of a saturated component.
local full_slots, kv_steps, kv_preemptions = 0.9, 0.25, 0.1

--- Returns the sum of a field over the instances.
local function sum_of(r, field)
  local sum = 0
  for _, instance in ipairs(r.instances) do sum = sum + instance[field] end
  return sum
end

--- Returns the mean number of running requests, over the cluster.
local function mean_running(self)
  if self.course then return self.course.running end
  local r = self.result
  local e2e, delay = r.e2e_ms, r.scheduling_delay_ms
  if e2e.count == 0 or r.duration_us == 0 then return 0 end
  return math.max(0, e2e.mean - delay.mean) * r.completed * 1000 / r.duration_us
end

--- Adds the components of the engines that were saturated.
---@param self blis.results.Judgment
function checks.find_bottlenecks(self)
  local r = self.result
  local slots = rawget(r.setup, "max_num_seqs")
  local all = slots and slots * #r.instances
  local running = mean_running(self)
  if all and not rawget(r.setup, "groups") and running >= full_slots * all then
    self:add_bottleneck("slots", "%s of the %s sequence slots (max_num_seqs) ran on average",
      percent(running / all), count(all))
  end
  local steps, failures = sum_of(r, "steps"), sum_of(r, "kv_allocation_failures")
  if r.preemptions >= kv_preemptions * r.completed and r.preemptions > 0 then
    self:add_bottleneck("kv", "the KV cache was full: %s preemptions of %s completed requests",
      count(r.preemptions), count(r.completed))
  elseif steps > 0 and failures >= kv_steps * steps then
    self:add_bottleneck("kv", "the KV cache was full: no block was free for a request in %s of "
      .. "the steps", percent(math.min(1, failures / steps)))
  end
end

local remedies = {
  slots = "Set max_num_seqs higher, lower the rate, or add instances.",
  kv = "Use more KV blocks (kv_blocks, tp, kv_cache_dtype), lower the rate, or add instances.",
}

local function check_saturation(self)
  if self.is_overloaded then return end
  for _, one in ipairs(self.bottlenecks) do
    self:add("warning", "saturated", "%s. %s", one.text, remedies[one.code]
      or "It limits the cluster, and latencies include waits for it.")
  end
end

local function check_length(self)
  local r, course = self.result, self.course
  if r.completed < fewest_requests then
    self:add("warning", "short", "only %s requests completed. With fewer than %s requests, the p99 "
      .. "is close to the maximum. Run more requests.", count(r.completed), count(fewest_requests))
    return
  end
  local e2e_us = r.e2e_ms.mean * 1000
  local span_us = course and course.to_us - course.from_us or r.duration_us
  if not self.is_overloaded and span_us < spans_of_a_request * e2e_us then
    self:add("warning", "short", "requests arrived for %s s, and a request took %s s on average. "
      .. "Batches fill and drain for much of the run, so there is no steady state. Run at least %s "
      .. "times as many requests.", number(span_us / 1e6, 1), number(e2e_us / 1e6, 1),
      count(math.ceil(spans_of_a_request * e2e_us / math.max(span_us, 1))))
  end
end

-- The start changes the mean TTFT by this share, while the halves of the rest differ by less.
local transient_effect, steady_difference, transient_requests = 0.1, 0.15, 240

--- Returns the mean TTFT of the arrivals of some parts, in ms; nil without any.
local function mean_ttft(course, from, to)
  local sum, tokens = 0, 0
  for k = from, to do
    local n = course.first_tokens[k]
    if n > 0 then sum, tokens = sum + course.ttft_ms[k] * n, tokens + n end
  end
  return tokens > 0 and sum / tokens or nil
end

--- Returns the number of leading parts that differ from a steady rest, with the mean TTFT of the
--- whole run and of the rest.
local function transient_of(course)
  local parts = #course.arrived
  local whole = mean_ttft(course, 1, parts)
  for k = 1, parts // 2 do
    local middle = (k + parts) // 2
    local rest = mean_ttft(course, k + 1, parts)
    local early, late = mean_ttft(course, k + 1, middle), mean_ttft(course, middle + 1, parts)
    if not (early and late) then return nil end
    if math.abs(early - late) < steady_difference * rest then
      if math.abs(whole - rest) < transient_effect * rest then return nil end
      return k, whole, rest
    end
  end
end

local function check_transient(self)
  local r, course = self.result, self.course
  if self.is_overloaded or not course or rawget(r, "steady")
    or course.requests < transient_requests then
    return
  end
  local parts, whole, rest = transient_of(course)
  if not parts then return end
  local seconds = (course.to_us - course.from_us) / 1e6 * parts / #course.arrived
  self:add("warning", "transient", "the start of the run differs from the rest: mean TTFT is %s ms "
    .. "over the whole run, %s ms without the first %s s. Set warm_up_us (--warm-up auto).",
    number(whole), number(rest), number(seconds, 1))
end

--- Adds overload first, then what else the load of the run shows.
---@param self blis.results.Judgment
function checks.check(self)
  check_overload(self)
  check_saturation(self)
  check_length(self)
  check_transient(self)
end

--- Returns whether requests were lost: 1% or more timed out, or still waited at the end.
---@param r blis.Result
---@return boolean
function checks.loses_requests(r) return lost_share(r) >= 0.01 end

--- Returns the component that limits a run: the most saturated one, else the computation of steps.
---@param r blis.Result
---@return string
function checks.binding_constraint(r)
  local self = { result = r, bottlenecks = {},
    course = r.keeps_records and #r.requests > 0 and r.requests:course() or nil,
    add_bottleneck = function(self, code) table.insert(self.bottlenecks, code) end }
  checks.find_bottlenecks(self)
  return ({ slots = "sequence slots", kv = "KV cache" })[self.bottlenecks[1]] or "step time"
end

return checks
