--- Faults of instances that an experiment declares.
local deferred = require "blis.deferred"
local format = require "blis.format"
local options = require "blis.feature.fates"
local read = deferred "blis.feature.faults.read"

local count, number, plural = format.count, format.number, format.plural

---@type blis.Feature
local faults = { asked_at = 9 }

--- How many instances there are at first.
local function instances_of(cluster)
  local instances = 0
  for _, group in ipairs(cluster.groups or { cluster }) do
    instances = instances + group.instances
  end
  return instances
end

--- Instances that fail and recover together with others: first ranks of groups; without ranks, all.
local function firsts_of(cluster)
  local firsts, behind = {}, 0
  for _, group in ipairs(cluster.groups or { cluster }) do
    local first = behind
    behind = behind + group.instances
    for i = first, behind - 1, group.ranks and group.ranks.count or 1 do firsts[#firsts + 1] = i end
  end
  return firsts
end

function faults.read(values, config)
  config.faults = read.read(values.faults, instances_of(config.cluster),
    values.autoscaler ~= nil, firsts_of(config.cluster))
end

local most_lines = 3 -- of a summary
local most_rows = 40 -- of a page

--- What happened to instances, "crash of instance_1 at 10.0 s (12 lost)", the first few by name.
local function fault_lines(list, r)
  local lines = {}
  for i = 1, math.min(#list, most_lines) do
    local fault, ends = list[i], {}
    if fault.is_missed then ends[1] = "missed: the instance was not in service" end
    if fault.lost > 0 then ends[#ends + 1] = count(fault.lost) .. " lost" end
    if fault.rerouted > 0 then ends[#ends + 1] = count(fault.rerouted) .. " rerouted" end
    if fault.retried > 0 then ends[#ends + 1] = count(fault.retried) .. " to be retried" end
    lines[i] = ("%s of %s at %s s%s"):format(fault.kind, fault.instance,
      number(fault.time_us / 1e6, 1), #ends > 0 and " (" .. table.concat(ends, ", ") .. ")" or "")
  end
  if #list > most_lines then
    lines[most_lines + 1] = ("... and %s"):format(plural(#list - most_lines, "more fault"))
  end
  if #list > 1 and r.rerouted + r.retried > 0 then
    lines[#lines + 1] = ("in total %s rerouted, %s to be retried"):format(
      plural(r.rerouted, "request"), count(r.retried))
  end
  return lines
end

faults.summary = { slot = "events", title = "faults", lines = fault_lines }

local function fault_section(r, parts)
  local list = rawget(r, "faults")
  if not list or #list == 0 then return nil end
  local rows = {}
  for i = 1, math.min(#list, most_rows) do
    local fault = list[i]
    rows[i] = { number(fault.time_us / 1e6, 1), fault.kind, fault.instance,
      fault.factor and options.number(fault.factor) .. " times" or "-",
      fault.recover_us and number(fault.recover_us / 1e6, 1) or "-", count(fault.lost),
      count(fault.rerouted), count(fault.retried), fault.is_missed and "not in service" or "" }
  end
  return parts.section("faults", "Faults", parts.table(
    parts.first_of(#list, most_rows, "All faults"), { "time (s)", "kind", "instance",
      "step times", "duration (s)", "requests lost", "rerouted", "retried", "" }, rows,
    { [2] = true, [3] = true }))
end

faults.page = { title = "Faults", at = 21, section = fault_section }

-- More faults than this are counted.
local most_faults = 4

--- The format of instance ids, with leading zeros as in results.
local function id_format(config)
  local most = config.scaling and config.scaling.max_starts or instances_of(config.cluster)
  local digits = config.go_blis and 1 or #tostring(math.max(most - 1, 0))
  return ("instance_%%0%dd"):format(digits)
end

local function fault_text(fault, ids)
  local whom = fault.instance and ids:format(fault.instance) or "any instance"
  local when = fault.mtbf_us and "every " .. options.seconds(fault.mtbf_us) .. " on average"
    or "at " .. options.seconds(fault.at_us)
  local fate = options.fates[fault.requests]
  return ("%s%s of %s %s%s%s"):format(fault.kind,
    fault.kind == "slow" and (" (%s times as long)"):format(options.number(fault.factor)) or "",
    whom, when,
    fault.recover_us and ", for " .. options.seconds(fault.recover_us) or "",
    fate and ", its requests " .. fate or "")
end

local function faults_text(given, plans, ids)
  local words, others = {}, 0
  for _, list in ipairs { given.declared, given.random } do
    for _, one in ipairs(list) do
      local is_told = not (plans and one.gives_back)
      if is_told and #words < most_faults then
        words[#words + 1] = fault_text(one, ids)
      elseif is_told then
        others = others + 1
      end
    end
  end
  if others > 0 then words[#words + 1] = ("and %s more"):format(format.count(others)) end
  return #words > 0 and table.concat(words, "; ") or nil
end

function faults.asked(config, add)
  if not config.faults then return end
  add("faults", faults_text(config.faults, config.spot_plans, id_format(config)))
end

return faults
