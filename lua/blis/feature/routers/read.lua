--- Router replicas as the core takes them.
local errors = require "blis.errors"
local options = require "blis.feature.routers.options"
local presets = require "blis.feature.routers.presets"
local schema = require "blis.config.schema"

local read = {}

-- Times beyond this are never reached; sums of two do not wrap.
local latest_us = math.maxinteger // 2

local shareable = { prefix = "shares_decisions", ["in-flight"] = "shares_in_flight" }

local function with_defaults(given, defaults)
  local all = {}
  for key, value in pairs(defaults) do all[key] = value end
  for key, value in pairs(given) do all[key] = value end
  return all
end

local function plain(given, path, expected)
  if type(given) ~= "table" or getmetatable(given) then
    schema.raise_value(path, given, expected)
  end
  return given
end

--- The table of sync, however it is written, with the values of a preset below.
local function sync_of(given, preset, path)
  if type(given) == "string" then given = { mode = given } end
  local values = plain(given or {}, path, "the options of sync, or a mode such as 'events'")
  return schema.read(options.sync, with_defaults(values, preset or {}), path)
end

local function set_shared(core, share, path)
  for i, name in ipairs(share) do
    local field = shareable[name]
    if not field then
      errors.invalid("%s[%d]: invalid value '%s': expected 'prefix' or 'in-flight'", path, i, name)
    end
    core[field] = true
  end
end

--- Sharing without a way to share, and the reverse, would do nothing.
local function check_sharing(values, sync, path)
  local shares = values.share and #values.share > 0
  if shares and sync.mode == "none" then
    errors.invalid("%s.share: has no effect with sync.mode = 'none'; expected 'events', "
      .. "'periodic', 'pull-push', or 'shared'", path)
  end
  if not shares and sync.mode ~= "none" and sync.mode ~= "shared" then
    errors.invalid("%s.sync: has no effect without share; expected share = { 'prefix' }, "
      .. "{ 'in-flight' }, or both", path)
  end
  if sync.own == "published" and sync.mode ~= "periodic" and sync.mode ~= "pull-push" then
    errors.invalid("%s.sync.own: 'published' requires mode periodic or pull-push", path)
  end
end

local function replica_number(value, count, path)
  local number = math.tointeger(value)
  if not number or number < 1 or number > count then
    schema.raise_value(path, value, ("a replica from 1 to %d"):format(count))
  end
  return number
end

local function fault_of(given, count, path)
  local values = schema.read(options.fault, given, path)
  local is_crash = values.kind == "crash"
  local wanted, other = "replica", "replicas"
  if not is_crash then wanted, other = other, wanted end
  if values[wanted] == nil then
    errors.invalid("%s.%s: missing; required for a fault of kind %s", path, wanted, values.kind)
  end
  if values[other] ~= nil then
    errors.invalid("%s.%s: has no effect on a fault of kind %s", path, other, values.kind)
  end
  local numbers = is_crash and { values.replica } or values.replicas
  for i, value in ipairs(numbers) do
    numbers[i] = replica_number(value, count, path .. "." .. wanted)
  end
  local until_us = values.recover_after and values.at + math.min(values.recover_after, latest_us)
  return { from_us = math.min(values.at, latest_us), until_us = until_us, is_crash = is_crash,
    replicas = numbers }
end

--- Crashes of one replica must not overlap.
local function check_overlaps(faults, path)
  local free_us = {}
  for _, fault in ipairs(faults) do
    local number = fault.is_crash and fault.replicas[1]
    if number then
      if free_us[number] and fault.from_us < free_us[number] then
        errors.invalid("%s: replica %d crashes at %d us, while it is down", path, number,
          fault.from_us)
      end
      free_us[number] = fault.until_us or math.maxinteger
    end
  end
end

local most_faults = 64

local function faults_of(given, count, path)
  if given == nil then return {} end
  schema.check_list(given, path, "a list of faults: { { kind = 'crash', replica = 1, "
    .. "at = blis.seconds(50) }, ... }")
  if #given > most_faults then
    errors.invalid("%s: %d faults are too many, expected at most %d", path, #given, most_faults)
  end
  local faults = {}
  for i, one in ipairs(given) do
    faults[i] = fault_of(one, count, ("%s[%d]"):format(path, i))
    faults[i].place = i
  end
  table.sort(faults, function(a, b)
    if a.from_us ~= b.from_us then return a.from_us < b.from_us end
    return a.place < b.place
  end)
  check_overlaps(faults, path)
  return faults
end

local function phases_of(sync, count, path)
  if not sync.phases_us then return nil end
  if #sync.phases_us ~= count then
    errors.invalid("%s.sync.phases_us: expected %s, one per replica, got %d", path,
      count == 1 and "1 value" or count .. " values", #sync.phases_us)
  end
  local phases = {}
  for i, value in ipairs(sync.phases_us) do
    local phase = math.tointeger(value)
    if not phase or phase < 0 or phase > 3600000000 then
      schema.raise_value(("%s.sync.phases_us[%d]"):format(path, i), value,
        "a whole number of microseconds from 0 to 3600000000")
    end
    phases[i] = phase
  end
  return phases
end

--- Returns the options of the core; nil for one replica without faults.
---@param given any the option `routers` of an experiment: a table, or a number of replicas
---@param path string
---@return table?
function read.read(given, path)
  if type(given) == "number" then given = { replicas = given } end
  plain(given, path, "the options of router replicas, or their number")
  local values = schema.read(options.all, given, path)
  local preset = presets[values.preset]
  values.replicas = values.replicas or (values.preset ~= "none" and 2 or 1)
  values.share = values.share or preset.share
  local sync = sync_of(values.sync, preset.sync, path .. ".sync")
  check_sharing(values, sync, path)
  local made = {
    count = values.replicas, balancer = values.balancer or "round-robin", hash_on = values.hash_on,
    vnodes = values.vnodes, shards_instances = values.shard == "instances",
    is_active_passive = values.mode == "active-passive", lease_us = values.lease_us,
    fail_open = values.fail_open or "random", mode = sync.mode, every_us = sync.every_us,
    jitter = sync.jitter, delay_us = sync.delay_us, loss = sync.loss, ttl_us = sync.ttl_us,
    own_is_published = sync.own == "published", bytes_per_entry = sync.bytes_per_entry,
    phases_us = phases_of(sync, values.replicas, path), share = values.share,
    faults = faults_of(values.faults, values.replicas, path .. ".faults"),
  }
  set_shared(made, values.share or {}, path .. ".share")
  return (made.count > 1 or #made.faults > 0) and made or nil
end

return read
