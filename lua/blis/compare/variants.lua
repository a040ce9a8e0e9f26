--- What is compared: routing policies, or variants of an experiment that differ in any option but
--- the traffic.
local are_alike = require "blis.alike"
local errors = require "blis.errors"
local notices = require "blis.notices"
local policy = require "blis.policy"
local show = require "blis.show"
local staleness = require "blis.policy.staleness"
local told = require "blis.traffic.told"

local variants = {}

---@class blis.results.Variant
---@field label string
---@field changes table<string, any> options in place of those of the experiment

--- Raises unless it is a list; a single { "weighted", scorers = ... } is probably a mistake.
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

--- The variants that the options of blis.compare describe.
---@param spec table
---@return blis.results.Variant[]
function variants.read(spec)
  return spec.variants and of_list(spec.variants) or of_routing(spec.routing)
end

--- What each variant changes, as it was given.
---@param list blis.results.Variant[]
---@return string[]
function variants.changes(list)
  local texts = {}
  for i, one in ipairs(list) do
    texts[i] = next(one.changes) and told.options(one.changes) or "nothing"
  end
  return show.figures(texts)
end

local function is_in_all(list, name)
  for _, one in ipairs(list) do
    if not are_alike(one[name], list[1][name]) then return false end
  end
  return true
end

--- What all tables of a list have alike, and the rest of each.
local function split(list)
  local shared, rests = {}, {}
  for name, value in pairs(list[1]) do
    if is_in_all(list, name) then shared[name] = value end
  end
  for i, one in ipairs(list) do
    rests[i] = {}
    for name, value in pairs(one) do
      if shared[name] == nil then rests[i][name] = value end
    end
  end
  return shared, rests
end

--- Experiments as what all of them have alike, options of the cluster one by one, and what is left
--- of each: apply puts them together again.
---@param experiments table[]
---@return table shared
---@return table[] changes
function variants.split(experiments)
  local shared, rests = split(experiments)
  local clusters = {}
  for i, one in ipairs(experiments) do clusters[i] = one.cluster end
  local changes
  shared.cluster, changes = split(clusters)
  for i, rest in ipairs(rests) do rest.cluster = next(changes[i]) and changes[i] or nil end
  return shared, rests
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

local function is_set(value) return value ~= nil and value ~= 0 end

--- "signals delayed by snapshot_refresh_us (5s)", of the signals that a variant's router reads.
local function view_of(experiment, path)
  local cluster = type(experiment.cluster) == "table" and experiment.cluster or {}
  local ages = staleness.of(policy.read_router(experiment.routing or "round-robin", path))
  local parts = {}
  for _, name in ipairs(staleness.options) do
    if ages[name] and is_set(cluster[name]) then
      parts[#parts + 1] = ("%s (%s)"):format(name, tostring(cluster[name]))
    end
  end
  return #parts > 0 and "signals delayed by " .. table.concat(parts, " and ")
    or "current signals only"
end

--- Prints a note if the routers of some variants read signals that are older than those of others:
--- then a difference between them is also a difference in what they see.
---@param shared table
---@param list blis.results.Variant[]
function variants.note_staleness(shared, list)
  local views, labels = {}, {}
  for i, one in ipairs(list) do
    local view = view_of(variants.apply(shared, one.changes), ("routing[%d]"):format(i))
    if not labels[view] then
      views[#views + 1], labels[view] = view, {}
    end
    table.insert(labels[view], one.label)
  end
  if #views < 2 then return end
  local parts = {}
  for i, view in ipairs(views) do
    parts[i] = ("%s: %s"):format(table.concat(labels[view], ", "), view)
  end
  notices.tell("compare: the policies differ in the age of their signals. "
    .. table.concat(parts, "; "))
end

return variants
