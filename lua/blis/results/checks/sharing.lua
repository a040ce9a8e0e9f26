--- Checks of how requests are shared: among instances, over time, and among SLO classes.
local format = require "blis.format"

local checks = {}

local count, percent = format.count, format.percent

-- With at least this number of requests per instance, chance leaves no instance without requests,
-- and no instance gets twice the mean.
local enough_requests, enough_to_compare = 10, 20

-- An instance that took requests for less than this share of a run may have had none to take.
local most_of_a_run = 0.9

local function was_there(r, instance)
  return not instance.active_seconds -- a result of an older version
    or instance.active_seconds >= most_of_a_run * r.duration_us / 1e6
end

--- Lists the numbers of requests of equivalent instances, by group.
local function alike(r)
  local groups, order = {}, {}
  for _, instance in ipairs(r.instances) do
    if was_there(r, instance) then
      local key = instance.group or 1
      if not groups[key] then
        groups[key] = { routed = 0 }
        order[#order + 1] = groups[key]
      end
      local group = groups[key]
      group[#group + 1] = { id = instance.id, requests = instance.requests }
      group.routed = group.routed + instance.requests
    end
  end
  return order
end

-- Most requests, few instances, and the load of one that is far above the mean.
local most_requests, few_instances, far_above = 0.8, 0.5, 2

--- Returns how many of the busiest instances received most requests, and their share.
local function busiest(group)
  local sum = 0
  for k, one in ipairs(group) do
    sum = sum + one.requests
    if sum >= most_requests * group.routed then return k, sum / group.routed end
  end
end

local function check_group(self, group)
  table.sort(group, function(a, b)
    if a.requests ~= b.requests then return a.requests > b.requests end
    return a.id < b.id
  end)
  local n, idle = #group, 0
  if n < 2 or group.routed < enough_requests * n then return end
  for _, one in ipairs(group) do idle = idle + (one.requests == 0 and 1 or 0) end
  local few, share = busiest(group)
  if idle > 0 then
    self:add("warning", "imbalance", "%s of %s instances received no request, and %s of the "
      .. "requests went to %s of them. Check the routing policy, whose scores may tie.",
      count(idle), count(n), percent(share), count(few))
  elseif few <= few_instances * n and group.routed >= enough_to_compare * n then
    self:add("warning", "imbalance", "%s of the requests went to %s of %s instances. The cluster "
      .. "serves less load than its instances could. Check the routing policy.", percent(share),
      count(few), count(n))
  elseif group[1].requests > far_above * group.routed / n
    and group.routed >= enough_to_compare * n then
    self:add("warning", "imbalance", "%s received %s requests, %s times the mean of %s instances. "
      .. "Check the routing policy.", group[1].id, count(group[1].requests),
      format.number(group[1].requests * n / group.routed), count(n))
  end
end

local function check_balance(self)
  if rawget(self.result, "handoffs") then return end -- prefill-only instances end no request
  for _, group in ipairs(alike(self.result)) do check_group(self, group) end
end

-- Herding: within a row of this number of requests per instance, one instance gets at least this
-- fraction. Only the start of a long run is read.
local in_a_row, herd, even, most_records = 4, 0.75, 0.9, 20000

--- Returns the instances of requests in order of arrival, and the number of distinct ones. With
--- hand-offs, these are the instances that decode.
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

local function check_herding(self)
  local r = self.result
  for _, instance in ipairs(r.instances) do
    if not was_there(r, instance) then return end -- the others take its requests
  end
  if #r.instances < 2 or r.balance < even then return end
  local names, instances = served_by(r)
  local size = in_a_row * instances
  if instances < 2 or #names < 5 * size then return end
  local sum, parts = 0, 0
  for from = 1, #names - size + 1, size do
    local seen, most = {}, 0
    for i = from, from + size - 1 do
      seen[names[i]] = (seen[names[i]] or 0) + 1
      most = math.max(most, seen[names[i]])
    end
    sum, parts = sum + most / size, parts + 1
  end
  if sum / parts < herd then return end
  self:add("warning", "herding", "of %d consecutive requests, %s go to one instance, and the next "
    .. "to another (oscillation). Check the age of the signals of the routing policy "
    .. "(snapshot_refresh_us).", size, percent(sum / parts))
end

-- Shares of completed requests: of a starved class, and of the others.
local starved_share, fed_share = 0.5, 0.9

local function check_classes(self)
  local r = self.result
  local arrived, completed = 0, 0
  local first = rawget(r, "queue") and "the gateway's queue, " or ""
  for _, class in ipairs(r.by_slo_class) do
    arrived, completed = arrived + class.arrived, completed + class.completed
  end
  for _, class in ipairs(r.by_slo_class) do
    local others = arrived - class.arrived
    local share = (completed - class.completed) / math.max(1, others)
    if class.arrived >= enough_requests and others >= enough_requests and share > fed_share
      and class.completed < starved_share * class.arrived then
      self:add("warning", "starvation", "class %s starves: %s of its requests completed, compared "
        .. "with %s of the others; check %sscheduler, priority, and admission.",
        class.name == "" and "(none)" or class.name, percent(class.completed / class.arrived),
        percent(share), first)
    end
  end
end

--- Adds what the distribution of requests shows.
---@param self blis.results.Judgment
function checks.check(self)
  check_balance(self)
  if not self.course then return end
  check_herding(self)
  check_classes(self)
end

return checks
