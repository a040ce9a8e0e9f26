--- Faults that an experiment declares, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.config.faults"
local sorted = require "blis.sorted"

local faults = {}

--- The number of an instance from 0.
local function instance_of(given, path)
  local number = type(given) == "string" and math.tointeger(given:match "^instance_(%d+)$")
    or math.type(given) == "integer" and given - 1
  if not number or number < 0 or number > 999999 then
    schema.raise_value(path .. ".instance", given,
      "an id such as 'instance_2', or a place in sim.instances from 1")
  end
  return number
end

local function effect_of(values, kind)
  return {
    kind = kind or values.kind, recover_us = values.recover_after,
    recovering_us = values.restart_time, factor = values.factor, notice_us = values.notice,
    re_route = values.requests == "rerouted", period_us = values.every,
  }
end

local function add(list, values, kind, at_us, instance)
  local fault = effect_of(values, kind)
  fault.at_us, fault.instance, fault.place = at_us, instance, #list
  list[#list + 1] = fault
end

local function needs(values, name, path)
  if values[name] == nil then
    errors.invalid("%s: %s is missing, for a fault of kind %s", path, name, values.kind)
  end
end

-- Options that are for some kinds only.
local kinds_of = {
  factor = { "slow" },
  times = { "flap" },
  every = { "flap", "rolling-restart", "stale" },
  notice = { "reclaim", "rolling-restart" },
}

--- One that would do nothing is a mistake.
local function check_options(given, kind, path)
  for _, name in ipairs(sorted.names(kinds_of)) do
    local kinds = table.concat(kinds_of[name], ", ")
    if given[name] ~= nil and not (", " .. kinds .. ","):find(", " .. kind .. ",", 1, true) then
      errors.invalid("%s: %s is of no use to a fault of kind %s; it is for %s", path, name, kind,
        kinds)
    end
  end
end

--- Faults that stand for several.
local several = {
  flap = function(list, values, path)
    needs(values, "recover_after", path)
    if values.recover_after >= values.every then
      errors.invalid("%s: recover_after is %d us, and the next crash comes after %d us (every)",
        path, values.recover_after, values.every)
    end
    for k = 0, values.times - 1 do
      add(list, values, "crash", values.at + k * values.every, instance_of(values.instance, path))
    end
  end,
  ["rolling-restart"] = function(list, values, path, instances)
    needs(values, "recover_after", path)
    if instances > 1 and values.notice + values.recover_after > values.every then
      errors.invalid("%s: an instance may be gone for %d us (notice and recover_after), and the "
        .. "next one goes after %d us (every)", path, values.notice + values.recover_after,
        values.every)
    end
    for k = 0, instances - 1 do
      add(list, values, "reclaim", values.at + k * values.every, k)
    end
  end,
}

local function random_of(values, path)
  if several[values.kind] then
    errors.invalid("%s: a fault of kind %s has a time, at, and no mtbf", path, values.kind)
  end
  if values.at ~= nil then
    errors.invalid("%s: at is for faults without mtbf", path)
  end
  local effect = effect_of(values)
  effect.mtbf_us, effect.seed = values.mtbf, values.seed
  effect.instance = values.instance ~= nil and instance_of(values.instance, path) or nil
  return effect
end

local function check_is_there(number, path, instances, may_grow)
  if number and number >= instances and not may_grow then
    errors.invalid("%s: there is no instance_%d; there are %d instances", path, number, instances)
  end
end

local function read_one(read, given, path, instances)
  local values = schema.read(section, given, path)
  check_options(given, values.kind, path)
  if values.mtbf then
    read.random[#read.random + 1] = random_of(values, path)
    return
  end
  if values.seed then errors.invalid("%s: seed is for faults with mtbf", path) end
  needs(values, "at", path)
  if several[values.kind] then
    several[values.kind](read.declared, values, path, instances)
  else
    add(read.declared, values, nil, values.at, instance_of(values.instance, path))
  end
end

--- What the core takes as faults; nil when there are none.
---@param given any a list of tables
---@param instances integer at first
---@param may_grow boolean there may be more later
---@return table?
function faults.read(given, instances, may_grow)
  if given == nil then return nil end
  if type(given) ~= "table" or (#given == 0 and next(given) ~= nil) then
    schema.raise_value("faults", given, "a list of faults: { { at = blis.seconds(60), "
      .. "instance = 2, kind = \"crash\", recover_after = blis.seconds(30) }, ... }")
  end
  local read = { declared = {}, random = {} }
  for i, one in ipairs(given) do
    local path = ("faults[%d]"):format(i)
    read_one(read, one, path, instances)
    for _, fault in ipairs(read.declared) do
      check_is_there(fault.instance, path, instances, may_grow)
    end
    for _, fault in ipairs(read.random) do
      check_is_there(fault.instance, path, instances, may_grow)
    end
  end
  table.sort(read.declared, function(a, b)
    if a.at_us ~= b.at_us then return a.at_us < b.at_us end
    return a.place < b.place
  end)
  return read
end

return faults
