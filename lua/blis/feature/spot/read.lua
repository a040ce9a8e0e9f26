--- Spot capacity: from a trace of how many instances may run at which price to the reclaims and
--- prices of a run.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local config = require "blis.feature.spot.options"

local spot = {}

local columns = {
  { name = "time_s", is_text = true }, { name = "available", is_optional = true },
  { name = "gpu_price_per_hour", is_text = true, is_optional = true },
}

local function check_columns(path)
  local file <close>, problem = core.open_input(path)
  if not file then errors.invalid("%s", problem) end
  local known = {}
  local line = (file:read("l") or ""):gsub("^\xEF\xBB\xBF", "") -- as spreadsheets write it
  for name in line:gmatch "[^,\r]+" do known[name:match '^"?(.-)"?$'] = true end
  errors.check_names(known, { "time_s", "available", "gpu_price_per_hour" }, path, "column")
end

local function number_of(row, name, path)
  local text = row[name]
  if text == nil or text == "" then return nil end
  local number = tonumber(text)
  if not number or not (number >= 0 and number < 1e12) then
    errors.invalid("%s:%d: %s: invalid value '%s': expected a number of at least 0", path,
      row.line, name, text)
  end
  return number
end

--- The rows of a trace as steps.
local function read_trace(path)
  check_columns(path)
  local steps = {}
  for i, row in ipairs(errors.located(core.csv_read, path, columns)) do
    local time_s = number_of(row, "time_s", path)
      or errors.invalid("%s:%d: time_s is missing", path, row.line)
    steps[i] = { at = math.floor(time_s * 1e6 + 0.5), available = row.available,
      gpu_price_per_hour = number_of(row, "gpu_price_per_hour", path) }
  end
  return steps
end

--- Checked steps; each step inherits the values that it does not set.
local function read_steps(given, path, instances, first_price)
  local steps = {}
  schema.check_list(given, path, "a list of { at =, available =, gpu_price_per_hour = }")
  local before = { at = -1, available = instances, gpu_price_per_hour = first_price }
  for i, one in ipairs(given) do
    local where = ("%s[%d]"):format(path, i)
    local values = schema.read(config.step, one, where)
    if values.available == nil and values.gpu_price_per_hour == nil then
      errors.invalid("%s: expected 'available' or 'gpu_price_per_hour'", where)
    end
    if values.at <= before.at then
      errors.invalid("%s: at = %d us is not after %d us, the previous step", where, values.at,
        before.at)
    end
    before = { at = values.at, available = values.available or before.available,
      gpu_price_per_hour = values.gpu_price_per_hour or before.gpu_price_per_hour }
    steps[i] = before
  end
  if #steps == 0 then errors.invalid("%s: expected at least one step", path) end
  return steps
end

--- What comes and goes as one: instances, or groups of data-parallel ranks, and how many targets
--- each of these is.
local function units_of(group)
  local ranks = group.ranks and group.ranks.count or 1
  return group.instances // ranks, ranks
end

--- When the k-th instance of a group, from 1, may not run: { from_us =, until_us = }; the last one
--- may have no end. Where it would have to go again before it serves, it does not come.
local function gaps_of(k, steps, values)
  local gaps, from_us = {}, nil
  for _, step in ipairs(steps) do
    if step.available < k then
      local last = gaps[#gaps]
      local is_too_soon = not from_us and last
        and last.until_us + values.restart_time >= step.at - values.notice
      if is_too_soon then
        from_us, gaps[#gaps] = last.from_us, nil
      end
      from_us = from_us or step.at
    elseif from_us then
      gaps[#gaps + 1], from_us = { from_us = from_us, until_us = step.at }, nil
    end
  end
  if from_us then gaps[#gaps + 1] = { from_us = from_us } end
  return gaps
end

--- The reclaim that creates a gap; a gap from the start reclaims nothing.
local function reclaim_of(gap, values, instance)
  local at_us = math.max(gap.from_us - values.notice, 0)
  return {
    kind = "reclaim", at_us = at_us, instance = instance, notice_us = gap.from_us - at_us,
    recover_us = gap.until_us and gap.until_us - gap.from_us + values.restart_time,
    recovering_us = gap.until_us and values.restart_time or 0, gives_back = true,
    requests = values.requests, retry_us = values.retry_after, is_absence = gap.from_us == 0,
  }
end

local function add_reclaims(list, group, first, steps, values)
  local units, ranks = units_of(group)
  for k = 1, units do
    for _, gap in ipairs(gaps_of(k, steps, values)) do
      list[#list + 1] = reclaim_of(gap, values, first + (k - 1) * ranks)
    end
  end
end

--- Prices from time 0, in the form of the core; nil if the trace has no prices.
local function prices_of(number, steps)
  local list = { group = number }
  for _, step in ipairs(steps) do
    local price = step.gpu_price_per_hour
    if price and (#list == 0 or list[#list].per_hour ~= price) then
      list[#list + 1] = { from_us = #list == 0 and 0 or step.at, per_hour = price }
    end
  end
  return #list > 0 and list or nil
end

--- A trace without a price at first has that of its group, as far as that was given.
local function read_group(group, path, cluster)
  local values = schema.read(config.section, group.spot, path)
  if (values.trace == nil) == (values.steps == nil) then
    errors.invalid("%s: expected one of trace and steps", path)
  end
  local steps = read_steps(values.steps or read_trace(values.trace),
    values.trace and path .. ".trace" or path .. ".steps", units_of(group),
    group.gpu_price_per_hour or cluster.gpu_price_per_hour)
  return values, steps
end

--- The capacity of the market, in the form of results.
local function add_offers(list, group, steps)
  for _, step in ipairs(steps) do
    list[#list + 1] = { time_us = step.at, group = group, available = step.available,
      gpu_price_per_hour = step.gpu_price_per_hour }
  end
end

--- The requested capacity, in the form of reports.
local function plan_of(number, group, values, steps)
  local units, ranks = units_of(group)
  return { group = number, instances = units, ranks = ranks, trace = values.trace, steps = #steps,
    notice_us = values.notice, restart_us = values.restart_time, requests = values.requests }
end

--- The reclaims and prices of a cluster with spot groups, the capacity of the market, the requested
--- capacity, and the numbers of these groups, from 0.
---@param cluster table its options as they were read
---@param has_autoscaler boolean
---@return { reclaims: table[], prices: table[], offers: blis.SpotOffer[], plans: table[],
---  markets: integer[] }
function spot.read(cluster, has_autoscaler)
  local made, first = { reclaims = {}, prices = {}, offers = {}, plans = {}, markets = {} }, 0
  for i, group in ipairs(cluster.groups or { cluster }) do
    if group.spot then
      local path = cluster.groups and ("cluster.groups[%d].spot"):format(i) or "cluster.spot"
      if has_autoscaler then
        errors.invalid("%s: spot capacity cannot be combined with an autoscaler; use faults of "
          .. "kind reclaim", path)
      end
      local values, steps = read_group(group, path, cluster)
      add_reclaims(made.reclaims, group, first, steps, values)
      add_offers(made.offers, i, steps)
      table.insert(made.markets, i - 1)
      table.insert(made.plans, plan_of(cluster.groups and i, group, values, steps))
      made.prices[#made.prices + 1] = prices_of(i - 1, steps)
    end
    first = first + group.instances
  end
  return made
end

--- Faults that an experiment declares, with the reclaims among them.
---@param read? table what faults.read returned
---@param made { reclaims: table[], markets: integer[] }
---@return table
function spot.add_to_faults(read, made)
  read = read or { declared = {}, random = {} }
  read.markets = made.markets
  for _, reclaim in ipairs(made.reclaims) do
    reclaim.place = #read.declared
    table.insert(read.declared, reclaim)
  end
  table.sort(read.declared, function(a, b)
    if a.at_us ~= b.at_us then return a.at_us < b.at_us end
    return a.place < b.place
  end)
  return read
end

return spot
