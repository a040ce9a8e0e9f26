--- What is compared: routing policies, or variants of an experiment that differ in any option but
--- the traffic.
local errors = require "blis.errors"
local policy = require "blis.policy"

local variants = {}

---@class blis.results.Variant
---@field label string
---@field changes table<string, any> options in place of those of the experiment

--- Raises unless it is a list; a single { "weighted", scorers = ... } is taken for a slip.
local function check_list(given, path, what, hint)
  if type(given) ~= "table" then
    errors.invalid("%s: expected a list of %s to compare, got %s", path, what, errors.show(given))
  elseif next(given) == nil then
    errors.invalid("%s: the list is empty, expected %s to compare", path, what)
  end
  for key in pairs(given) do
    if math.type(key) ~= "integer" then
      errors.invalid("%s: expected a list of %s to compare, got one with '%s'; write %s", path,
        what, tostring(key), hint)
    end
  end
end

--- A label that is given twice gets its number.
local function add(list, seen, label, changes)
  local i = #list + 1
  list[i] = { label = seen[label] and ("%s #%d"):format(label, i) or label, changes = changes }
  seen[label] = true
end

local function of_routing(given)
  check_list(given, "routing", "policies", "{ { ... } }")
  local list, seen = {}, {}
  for i, one in ipairs(given) do
    local label = policy.read_router(one, ("routing[%d]"):format(i)).label
    add(list, seen, label, { routing = one })
  end
  return list
end

--- An option as it is written: "scheduler=sjf".
local function option_text(name, value)
  if type(value) == "table" then value = value.label or value.name or value[1] or "{...}" end
  return ("%s=%s"):format(name, tostring(value))
end

local function label_of(given)
  local parts = {}
  for name, value in pairs(given) do
    if name == "cluster" and type(value) == "table" then
      for key, one in pairs(value) do parts[#parts + 1] = option_text(key, one) end
    else
      parts[#parts + 1] = option_text(name, value)
    end
  end
  table.sort(parts)
  return #parts > 0 and table.concat(parts, " ") or "as given"
end

local function of_list(given)
  check_list(given, "variants", "variants", "{ { ... } }")
  local list, seen = {}, {}
  for i, one in ipairs(given) do
    if type(one) ~= "table" then
      errors.invalid("variants[%d]: expected a table of options, got %s", i, errors.show(one))
    elseif one.workload ~= nil then
      errors.invalid("variants[%d].workload: all variants get the same traffic; blis.sweep and "
        .. "blis.capacity vary it", i)
    elseif one.seed ~= nil then
      errors.invalid("variants[%d].seed: all variants get the same traffic; replications vary the "
        .. "seed", i)
    end
    local changes = {}
    for name, value in pairs(one) do changes[name] = value end
    changes.name = nil
    add(list, seen, one.name or label_of(changes), changes)
  end
  return list
end

--- The variants that blis.compare is asked for.
---@param spec table
---@return blis.results.Variant[]
function variants.read(spec)
  return spec.variants and of_list(spec.variants) or of_routing(spec.routing)
end

--- The experiment with what a variant changes; options of the cluster change one by one.
---@param shared table
---@param changes table<string, any>
---@return table
function variants.apply(shared, changes)
  local copy = {}
  for name, value in pairs(shared) do copy[name] = value end
  for name, value in pairs(changes) do
    if name == "cluster" and type(shared.cluster) == "table" and type(value) == "table" then
      local cluster = {}
      for key, one in pairs(shared.cluster) do cluster[key] = one end
      for key, one in pairs(value) do cluster[key] = one end
      value = cluster
    end
    copy[name] = value
  end
  return copy
end

return variants
