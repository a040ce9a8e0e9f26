--- Faults that an experiment declares, for the core.
local errors = require "blis.errors"
local notices = require "blis.notices"
local schema = require "blis.config.schema"
local section = require "blis.feature.faults.options"
local sorted = require "blis.sorted"

local faults = {}

-- Times beyond this are never reached; sums of two do not wrap.
local latest_us = math.maxinteger // 2

--- The number of an instance from 0.
local function instance_of(given, path)
  local place = type(given) == "number" and math.tointeger(given)
  local number = type(given) == "string" and math.tointeger(given:match "^instance_(%d+)$")
    or place and place - 1
  if not number or number < 0 or number > 999999 then
    schema.raise_value(path .. ".instance", given,
      "an id such as 'instance_2', or an index of sim.instances, from 1")
  end
  return number
end

--- Notes, once for a list of faults, a place that is also the number of another instance's id.
local function note_place(read, place, path, instances)
  if read.is_noted or math.type(place) ~= "integer" or place >= instances then return end
  read.is_noted = true
  notices.tell(("%s.instance = %d is index %d of sim.instances, which has the id instance_%d (ids "
    .. "start at 0)"):format(path, place, place, place - 1))
end

local function effect_of(values, kind)
  return {
    kind = kind or values.kind, recover_us = values.recover_after,
    recovering_us = values.restart_time, factor = values.factor, notice_us = values.notice,
    requests = values.requests or "usual", retry_us = values.retry_after,
    period_us = values.every, gives_back = values.kind == "reclaim",
  }
end

local function add(list, values, kind, at_us, instance)
  local fault = effect_of(values, kind)
  fault.at_us, fault.instance, fault.place = at_us, instance, #list
  list[#list + 1] = fault
end

local function needs(values, name, path)
  if values[name] == nil then
    errors.invalid("%s: %s is missing; required for a fault of kind %s", path, name, values.kind)
  end
end

-- Kinds that end what an instance is at, some of them only where it comes back.
local ending = { "crash", "hang", "flap", "reclaim", "rolling-restart" }

-- Options that are for some kinds only.
local kinds_of = {
  factor = { "slow" },
  times = { "flap" },
  every = { "flap", "rolling-restart", "stale" },
  notice = { "reclaim", "rolling-restart" },
  requests = ending,
  restart_time = ending,
  recover_after = { "crash", "hang", "slow", "flap", "partition", "stale", "reclaim",
    "rolling-restart" },
  instance = { "crash", "hang", "slow", "flap", "partition", "stale", "lost-cache", "reclaim" },
}

--- What would do nothing for want of a time.
local function check_recovery(given, values, path)
  local recover_us = values.recover_after
  if given.restart_time ~= nil and not recover_us then
    errors.invalid("%s: restart_time requires recover_after", path)
  end
  if given.restart_time ~= nil and values.kind ~= "hang" and values.restart_time > recover_us then
    errors.invalid("%s: restart_time is %d us, but must be at most recover_after, %d us, because "
      .. "recover_after includes it", path, values.restart_time, recover_us)
  end
  if given.retry_after ~= nil and values.requests ~= "retried" then
    errors.invalid("%s: retry_after requires requests = 'retried'", path)
  end
  if given.requests ~= nil and values.kind == "hang" and not recover_us then
    errors.invalid("%s: requests has no effect on a hang without recover_after, which ends the "
      .. "instance", path)
  end
end

--- An option that would do nothing is a mistake.
local function check_options(given, values, path)
  local kind = values.kind
  for _, name in ipairs(sorted.names(kinds_of)) do
    local kinds = table.concat(kinds_of[name], ", ")
    if given[name] ~= nil and not (", " .. kinds .. ","):find(", " .. kind .. ",", 1, true) then
      errors.invalid("%s: %s has no effect on a fault of kind %s; it applies to %s", path, name,
        kind, kinds)
    end
  end
  check_recovery(given, values, path)
end

--- The times of several, of which the last must be one.
local function check_last(values, count, path)
  if values.every > (latest_us - values.at) // count then
    errors.invalid("%s: %d faults every %d us from %d us exceed the maximum simulated time",
      path, count, values.every, values.at)
  end
end

--- Faults that stand for several.
local several = {
  flap = function(list, values, path)
    needs(values, "recover_after", path)
    if values.recover_after >= values.every then
      errors.invalid("%s: recover_after is %d us, but the next crash occurs after %d us (every)",
        path, values.recover_after, values.every)
    end
    check_last(values, values.times, path)
    for k = 0, values.times - 1 do
      add(list, values, "crash", values.at + k * values.every, instance_of(values.instance, path))
    end
  end,
  ["rolling-restart"] = function(list, values, path, firsts)
    needs(values, "recover_after", path)
    if #firsts > 1 and values.notice > values.every - values.recover_after then
      errors.invalid("%s: an instance can be unavailable for %d us (notice) and %d us "
        .. "(recover_after), but the next one stops after %d us (every)", path, values.notice,
        values.recover_after, values.every)
    end
    check_last(values, #firsts, path)
    for k, instance in ipairs(firsts) do
      add(list, values, "reclaim", values.at + (k - 1) * values.every, instance)
    end
  end,
}

local function random_of(values, path)
  if several[values.kind] then
    errors.invalid("%s: a fault of kind %s requires a time (at); mtbf does not "
      .. "apply", path, values.kind)
  end
  if values.at ~= nil then
    errors.invalid("%s: at cannot be combined with mtbf", path)
  end
  local effect = effect_of(values)
  effect.mtbf_us, effect.seed = values.mtbf, values.seed
  effect.instance = values.instance ~= nil and instance_of(values.instance, path) or nil
  return effect
end

local function check_is_there(number, path, instances, may_grow)
  if number >= instances and not may_grow then
    errors.invalid("%s: unknown instance_%d; the cluster has %d instances", path, number, instances)
  end
end

local function read_one(read, given, path, instances, may_grow, firsts)
  local values = schema.read(section, given, path)
  check_options(given, values, path)
  if values.instance ~= nil then
    check_is_there(instance_of(values.instance, path), path, instances, may_grow)
    note_place(read, values.instance, path, instances)
  end
  if values.mtbf then
    read.random[#read.random + 1] = random_of(values, path)
    return
  end
  if values.seed then errors.invalid("%s: seed requires mtbf", path) end
  needs(values, "at", path)
  if several[values.kind] then
    several[values.kind](read.declared, values, path, firsts)
  else
    add(read.declared, values, nil, values.at, instance_of(values.instance, path))
  end
end

--- What the core takes as faults.
---@param given any a list of tables
---@param instances integer at first
---@param may_grow boolean there may be more later
---@param firsts integer[] the first ones, from 0, of those that come and go as one: each, or of
--- each group of ranks
---@return table
function faults.read(given, instances, may_grow, firsts)
  schema.check_list(given, "faults", "a list of faults: { { at = blis.seconds(60), instance = 2, "
    .. "kind = \"crash\", recover_after = blis.seconds(30) }, ... }")
  local read = { declared = {}, random = {} }
  for i, one in ipairs(given) do
    local path = ("faults[%d]"):format(i)
    read_one(read, one, path, instances, may_grow, firsts)
  end
  table.sort(read.declared, function(a, b)
    if a.at_us ~= b.at_us then return a.at_us < b.at_us end
    return a.place < b.place
  end)
  return read
end

--- About how many faults there are in a run, each of which may take an instance away.
---@param read? table what faults.read returned
---@param traffic_us integer how long requests come
---@param instances integer that there are at most at one time
---@return number
function faults.expected(read, traffic_us, instances)
  if not read then return 0 end
  local count = #read.declared
  for _, fault in ipairs(read.random) do
    count = count + traffic_us / fault.mtbf_us * (fault.instance and 1 or instances)
  end
  return count
end

return faults
