--- Regions as the core takes them.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.feature.regions.options"

local read = {}

local most_regions = 64
local rules = { "nearest", "least-cost", "weighted", "prefix" }

local function is_name(value) return type(value) == "string" and value ~= "" end

--- Returns the names of the regions, those with instances first, and the index of each.
local function names_of(groups, rtt_ms, path)
  local names, index = {}, {}
  local function add(name)
    if not index[name] then
      names[#names + 1] = name
      index[name] = #names
    end
  end
  for i, group in ipairs(groups) do
    if not group.region then
      errors.invalid("cluster.groups[%d].region: missing; required with %s", i, path)
    end
    add(group.region)
  end
  local hosts, others = #names, {}
  for from, row in pairs(rtt_ms) do
    if not is_name(from) or type(row) ~= "table" then
      schema.raise_value(path .. ".rtt_ms", rtt_ms,
        "round-trip times by region: { us = { eu = 90 }, ... }")
    end
    others[from] = true
    for to in pairs(row) do
      if not is_name(to) then
        errors.invalid("%s.rtt_ms.%s: %s: expected the name of a region", path, from,
          errors.invalid_value(to))
      end
      others[to] = true
    end
  end
  local sorted = {}
  for name in pairs(others) do sorted[#sorted + 1] = name end
  table.sort(sorted)
  for _, name in ipairs(sorted) do add(name) end
  if #names > most_regions then
    errors.invalid("%s: %d regions are too many, expected at most %d", path, #names, most_regions)
  end
  return names, index, hosts
end

local function rtt_us_of(value, path)
  if type(value) ~= "number" or not (value >= 0 and value <= 1e7) then
    schema.raise_value(path, value, "a number of milliseconds from 0 to 1e7")
  end
  return math.floor(value * 1000 + 0.5)
end

--- Returns the round-trip times of a region to all regions.
local function rtts_of(names, i, rtt_ms, path)
  local rtts = {}
  for k, other in ipairs(names) do
    local name = names[i]
    local there = rtt_ms[name] and rtt_ms[name][other]
    local back = rtt_ms[other] and rtt_ms[other][name]
    if i ~= k and there == nil and back == nil then
      errors.invalid("%s.rtt_ms: no round-trip time for %s and %s", path, name, other)
    end
    if i ~= k and there ~= nil and back ~= nil and there ~= back then
      errors.invalid("%s.rtt_ms: %s to %s and %s to %s differ; give each pair once", path, name,
        other, other, name)
    end
    local value = there == nil and back or there
    rtts[k] = value == nil and 0 or rtt_us_of(value, ("%s.rtt_ms.%s.%s"):format(path, name, other))
  end
  return rtts
end

local function check_known(name, index, path)
  if not index[name] then
    local known = {}
    for one in pairs(index) do known[#known + 1] = one end
    table.sort(known)
    errors.invalid("%s: unknown region '%s'%s", path, tostring(name),
      errors.suggestion(tostring(name), known, "expected one of " .. table.concat(known, ", ")))
  end
  return index[name]
end

--- Returns the set of regions that may serve requests of a region: bit i - 1 = region i.
local function residency_of(name, values, index, hosts, path)
  local all = hosts >= 64 and -1 or (1 << hosts) - 1
  local list = (values.residency or {})[name]
  if not list then return all end
  local set = 0
  for i, one in ipairs(list) do
    local number = check_known(one, index, ("%s.residency.%s[%d]"):format(path, name, i))
    set = set | 1 << number - 1
  end
  if set & all == 0 then
    errors.invalid("%s.residency.%s: none of these regions has instances", path, name)
  end
  return set & all
end

local function price_of(given, name, path)
  local value = type(given) == "table" and given[name] or given
  if value == nil or type(value) == "table" then return 0 end
  if type(value) ~= "number" or not (value >= 0 and value <= 1e9) then
    schema.raise_value(path .. ".egress_usd_per_gb", value,
      "a price of at least 0, or prices by region")
  end
  return value
end

local function check_names(values, index, path)
  for _, option in ipairs { "residency", "weights", "egress_usd_per_gb" } do
    local given = values[option]
    local sorted = {}
    for name in pairs(type(given) == "table" and given or {}) do sorted[#sorted + 1] = name end
    table.sort(sorted, function(a, b) return tostring(a) < tostring(b) end)
    for _, name in ipairs(sorted) do
      check_known(name, index, ("%s.%s"):format(path, option))
    end
  end
end

local function is_one_of(value, list)
  for _, one in ipairs(list) do
    if one == value then return true end
  end
  return false
end

--- Sets the rule and the origin, each a name or a function.
local function set_choices(made, values, path)
  if type(values.routing) == "function" then
    made.rule, made.choose = "function", values.routing
  elseif is_one_of(values.routing, rules) then
    made.rule = values.routing
  else
    schema.raise_value(path .. ".routing", values.routing,
      "'nearest', 'least-cost', 'weighted', 'prefix', or a function(request, regions)")
  end
  if type(values.origin) == "function" then
    made.origin = values.origin
  elseif values.origin == "tenant" or values.origin == "client" then
    made.origin_is_client = values.origin == "client"
  else
    schema.raise_value(path .. ".origin", values.origin,
      "'tenant', 'client', or a function(request)")
  end
  if values.weights and made.rule ~= "weighted" then
    errors.invalid("%s.weights: has no effect with routing = '%s'", path, made.rule)
  end
end

local function region_of(i, names, index, hosts, values, path)
  local name = names[i]
  local weight = (values.weights or {})[name] or 1
  return { name = name, weight = i <= hosts and weight or 0,
    egress_usd_per_gb = price_of(values.egress_usd_per_gb, name, path),
    may_serve_in = residency_of(name, values, index, hosts, path),
    rtt_us = rtts_of(names, i, values.rtt_ms, path) }
end

--- Returns numbers by name from a list of { name =, value = }.
local function by_name(list)
  local all = {}
  for _, one in ipairs(list) do all[one.name] = one.value end
  return all
end

local copied = { "spill_above", "max_hops", "handshakes", "bytes_per_prompt_token",
  "bytes_per_output_token", "health_interval_us", "unhealthy_after", "dns_ttl_us" }

--- Returns the regions for the core.
---@param given table option `regions` of an experiment
---@param groups table[]? groups of the cluster
---@param path string
---@return table
function read.read(given, groups, path)
  local values = schema.read(section, given, path)
  if not groups then
    errors.invalid("%s: requires cluster.groups, with the region of each group", path)
  end
  if type(values.rtt_ms) ~= "table" then
    schema.raise_value(path .. ".rtt_ms", values.rtt_ms,
      "round-trip times by region: { us = { eu = 90 }, ... }")
  end
  values.weights = values.weights and by_name(values.weights)
  local names, index, hosts = names_of(groups, values.rtt_ms, path)
  local made = { list = {}, of_group = {}, hosts = hosts }
  for _, name in ipairs(copied) do made[name] = values[name] end
  check_names(values, index, path)
  set_choices(made, values, path)
  for i in ipairs(names) do made.list[i] = region_of(i, names, index, hosts, values, path) end
  for g, group in ipairs(groups) do made.of_group[g] = index[group.region] - 1 end
  if values.default_origin then
    made.default_origin = check_known(values.default_origin, index, path .. ".default_origin") - 1
  end
  return made
end

return read
