--- What a person should look at before believing the figures of a run: a sentence each.
local format = require "blis.format"

local signs = {}

local count, percent = format.count, format.percent

--- Scores that a pipeline has clamped, so that its instances look alike.
---@param clamped? table[] as the core lists them
---@return string[]
function signs.of_scores(clamped)
  local lines = {}
  for i, one in ipairs(clamped or {}) do
    lines[i] = ("scorer %s: %s of %s scores were outside 0 to 1 (%.4g to %.4g) and count as 0 or "
      .. "1, so that instances look alike; scale them, as in 1 / (1 + instance.queue_depth)")
      :format(
      one.name, count(one.outside), count(one.scores), one.least, one.most)
  end
  return lines
end

-- Requests per instance from which on chance leaves no instance without one.
local enough_requests = 10

-- Instances that took requests for less than this share of a run may have had none to take.
local most_of_a_run = 0.9

local function was_there(r, instance)
  return not instance.active_seconds -- a result of an older version
    or instance.active_seconds >= most_of_a_run * r.duration_us / 1e6
end

local function idle_instances(r)
  if rawget(r, "handoffs") then return nil end -- those that prefill are nobody's last instance
  local idle, routed, all = 0, 0, 0
  for _, instance in ipairs(r.instances) do
    if was_there(r, instance) then
      routed, all = routed + instance.requests, all + 1
      idle = idle + (instance.requests == 0 and 1 or 0)
    end
  end
  if idle == 0 or routed < enough_requests * all then return nil end
  return ("%s of %s instances never got a request; look at the routing policy, whose scores may "
    .. "tie"):format(count(idle), count(all))
end

-- Shares of completed requests: of a starved class, and of the others.
local starved_share, fed_share = 0.5, 0.9

local function starved_classes(r)
  local lines, arrived, completed = {}, 0, 0
  local first = rawget(r, "queue") and "the gateway's queue, " or ""
  for _, class in ipairs(r.by_slo_class) do
    arrived, completed = arrived + class.arrived, completed + class.completed
  end
  for _, class in ipairs(r.by_slo_class) do
    local others = arrived - class.arrived
    local share = (completed - class.completed) / math.max(1, others)
    if class.arrived >= enough_requests and others >= enough_requests and share > fed_share
      and class.completed < starved_share * class.arrived then
      lines[#lines + 1] = ("class %s starves: %s of its requests completed, and %s of the others; "
        .. "look at %sscheduler, priority and admission"):format(
        class.name == "" and "(none)" or class.name, percent(class.completed / class.arrived),
        percent(share), first)
    end
  end
  return lines
end

-- From one third of a run to the next, TTFT that grows so is that of a queue that grows.
local growth, long_ms, fewest = 1.5, 1000, 150

--- Is TTFT longer from third to third of a run? Nil where it is not.
---@param r blis.Result with records
---@return string?
function signs.overload(r)
  if r.arrived < fewest then return nil end
  local last_us = r.requests[#r.requests].arrival_us
  local means = {}
  for i = 1, 3 do
    local part = r.requests:window((i - 1) * last_us // 3, i * last_us // 3 + 1)
    means[i] = part.ttft_ms.mean
  end
  if means[2] < growth * means[1] or means[3] < growth * means[2] or means[3] < long_ms then
    return nil
  end
  return ("overload: TTFT rises from third to third of the run (%s, %s, %s ms), so more arrives "
    .. "than is served, and figures depend on how long the run is; look at rate and instances")
    :format(
    format.number(means[1]), format.number(means[2]), format.number(means[3]))
end

-- Of so many requests per instance in a row, this share at one instance is a herd. What is looked
-- at is no more than a part of a long run.
local in_a_row, herd, even, most_records = 4, 0.75, 0.9, 20000

--- The instances of requests that got to one, in order of arrival, and how many there are of them.
--- Where prefill and decode are apart these are those that decode.
local function served_by(r)
  local names, is_known, known = {}, {}, 0
  for i = 1, math.min(#r.requests, most_records) do
    local name = r.requests[i].instance
    if name then
      names[#names + 1] = name
      known = known + (is_known[name] and 0 or 1)
      is_known[name] = true
    end
  end
  return names, known
end

local function oscillation(r)
  for _, instance in ipairs(r.instances) do
    if not was_there(r, instance) then return nil end -- the others take what it cannot
  end
  local names, instances = served_by(r)
  local size = in_a_row * instances
  if instances < 2 or #names < 5 * size or r.balance < even then return nil end
  local sum, parts = 0, 0
  for from = 1, #names - size + 1, size do
    local seen, most = {}, 0
    for i = from, from + size - 1 do
      seen[names[i]] = (seen[names[i]] or 0) + 1
      most = math.max(most, seen[names[i]])
    end
    sum, parts = sum + most / size, parts + 1
  end
  if sum / parts < herd then return nil end
  return ("oscillation: of %d requests in a row, %s go to one instance, and then to another; look "
    .. "at how old the signals of the routing policy are (snapshot_refresh_us)"):format(size,
    percent(sum / parts))
end

local function preempting(r)
  if r.preemption_rate < 1 then return nil end
  return ("KV caches are too small: %s preemptions of %s completed requests; look at kv_blocks, "
    .. "max_num_seqs and the rate"):format(count(r.preemptions), count(r.completed))
end

local function ordering(r)
  local lines = {}
  if r.priority_inversions > 0 then
    lines[1] = ("%s priority inversions: pairs of which the less urgent request was scheduled "
      .. "while the other one waited; look at scheduler"):format(count(r.priority_inversions))
  end
  if r.hol_blocking_events > 0 then
    lines[#lines + 1] = ("%s requests waited on while less urgent ones of their queue completed "
      .. "(head-of-line blocking); look at scheduler and preemption"):format(
      count(r.hol_blocking_events))
  end
  return lines
end

--- The signs of a result, but of clamped scores, which are among the notes of its setup.
---@param r blis.Result
---@param leaves_out_overload? boolean for callers that report overload themselves
---@return string[]
function signs.of_result(r, leaves_out_overload)
  local lines = { idle_instances(r) }
  local function add(more) table.move(more, 1, #more, #lines + 1, lines) end
  add { preempting(r) }
  if r.keeps_records and #r.requests > 0 then
    if not leaves_out_overload then add { signs.overload(r) } end
    add { oscillation(r) }
    add(starved_classes(r))
    add(ordering(r))
  end
  return lines
end

return signs
