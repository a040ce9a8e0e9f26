--- Data-parallel ranks, for the core.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.feature.ranks.options"

local ranks = {}

local function is_load(value)
  return type(value) == "number" and value >= 0 and value < math.huge
end

--- Maximum over mean of the loads; a number is this ratio.
local function read_imbalance(given, path, count)
  local expected = ("a number of at least 1, or a list of %d loads, one per rank"):format(count)
  if type(given) ~= "table" then
    if not is_load(given) or given < 1 then schema.raise_value(path, given, expected) end
    return given
  end
  schema.check_list(given, path, expected)
  if #given ~= count then
    errors.invalid("%s: invalid list of length %d: expected %s", path, #given, expected)
  end
  local most, sum = 0, 0
  for i, load in ipairs(given) do
    if not is_load(load) then
      schema.raise_value(("%s[%d]"):format(path, i), load, "a number of 0 or more")
    end
    most, sum = math.max(most, load), sum + load
  end
  if sum == 0 then errors.invalid("%s: all loads are 0, expected at least one above 0", path) end
  return most / (sum / #given)
end

--- How much longer a step takes than with equal loads.
local function factor_of(values, path)
  if values.expert_imbalance == nil then
    if values.expert_share then
      errors.invalid("%s.expert_share: has no effect without expert_imbalance", path)
    end
    return 1.0
  end
  local imbalance = read_imbalance(values.expert_imbalance, path .. ".expert_imbalance",
    values.count)
  if not values.expert_share then
    errors.invalid("%s: expert_imbalance requires expert_share, the fraction of step time spent in "
      .. "expert layers", path)
  end
  return 1 + values.expert_share * (imbalance - 1)
end

local internal_only = { "clients", "publish_us" }

local function check_balance(values, path)
  for _, name in ipairs(internal_only) do
    if values[name] and values.balance ~= "internal" then
      errors.invalid("%s.%s: has no effect without balance = \"internal\"", path, name)
    end
  end
end

--- The options as the core takes them; nil for none.
---@param given? integer|table
---@param path string
---@param profile? string
---@return table?
function ranks.read(given, path, profile)
  if given == nil then return nil end
  if math.type(given) == "integer" then given = { count = given } end
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a number of ranks, or a table such as { count = 4 }")
  end
  local values = schema.read(section, given, path, profile)
  check_balance(values, path)
  return {
    count = values.count, barrier = values.barrier, dummy_us = values.dummy_us,
    sync_every = values.sync_every, prefill_interval = values.prefill_interval,
    expert_factor = factor_of(values, path), is_internal = values.balance == "internal",
    clients = values.clients or 1, publish_us = values.publish_us or 100000,
  }
end

--- Instances become targets: the ranks of each.
---@param values table options of a cluster, or of a group of instances
---@param path string
---@param most integer targets at most
function ranks.expand(values, path, most)
  if values.dp > 1 then
    errors.invalid("%s: dp is %d and ranks %d; dp replicas share a batch, and ranks have separate "
      .. "batches; set only one of them", path, values.dp, values.ranks.count)
  end
  local count = values.instances * values.ranks.count
  if count > most then
    errors.invalid("%s: %d instances of %d ranks are %d targets, expected at most %d", path,
      values.instances, values.ranks.count, count, most)
  end
  values.instances = count
end

return ranks
