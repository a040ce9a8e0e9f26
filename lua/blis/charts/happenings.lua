--- What happened during a run, as marks that all charts over time share: faults, and actions of an
--- autoscaler.
local format = require "blis.format"

local happenings = {}

---@class blis.charts.Happening
---@field at number seconds
---@field text string
---@field mark? string a letter; nil = one of many, without a letter

-- Faults have letters up to this number; more marks would hide the lines of a chart.
local most_marks, most_of_scaling = 26, 200

local fault_words = { reclaim = "reclaim notice for", slow = "slow-down of",
  partition = "partition of", stale = "stale signals of", ["lost-cache"] = "lost cache of" }

--- "1 min 5 s" would not match the axis, so all times are in seconds.
local function seconds(time_us) return format.number(time_us / 1e6, 1) .. " s" end

--- "slow-down of instance_3 at 700.0 s (5 times, for 60.0 s)"
local function fault_text(fault)
  local details = {}
  if fault.factor then details[1] = ("%.4g times"):format(fault.factor) end
  if fault.recover_us then details[#details + 1] = "for " .. seconds(fault.recover_us) end
  if fault.lost > 0 then
    details[#details + 1] = format.plural(fault.lost, "request") .. " lost"
  end
  return ("%s %s at %s%s"):format(fault_words[fault.kind] or fault.kind .. " of", fault.instance,
    seconds(fault.time_us), #details > 0 and (" (%s)"):format(table.concat(details, ", ")) or "")
end

local function add_faults(list, r)
  for _, fault in ipairs(rawget(r, "faults") or {}) do
    if not fault.is_missed and #list < most_marks then
      list[#list + 1] = { at = fault.time_us / 1e6, mark = ("%c"):format(97 + #list),
        text = fault_text(fault) }
    end
  end
end

local function add_scaling(list, r)
  local levels = (rawget(r, "scaling") or {}).levels or {}
  if #levels > most_of_scaling then return end
  for i = 2, #levels do
    local before, after = levels[i - 1].wanted, levels[i].wanted
    if before and after and before ~= after then
      list[#list + 1] = { at = levels[i].time_us / 1e6,
        text = ("%d to %d instances wanted at %s"):format(before, after,
          seconds(levels[i].time_us)) }
    end
  end
end

--- The marks of a run in chronological order; empty if nothing happened.
---@param r blis.Result
---@return blis.charts.Happening[]
function happenings.of_result(r)
  local list = {}
  add_faults(list, r)
  add_scaling(list, r)
  table.sort(list, function(a, b) return a.at < b.at end)
  return list
end

-- Longer lists are cut.
local most_told = 6

--- The marks in words, for the text above the charts; nil without marks.
---@param list blis.charts.Happening[]
---@return string?
function happenings.text(list)
  local words, scaled = {}, 0
  for _, one in ipairs(list) do
    if not one.mark then
      scaled = scaled + 1
    elseif #words < most_told then
      words[#words + 1] = ("%s: %s"):format(one.mark, one.text)
    end
  end
  local faults = #list - scaled
  if faults > #words then words[#words + 1] = ("and %d more"):format(faults - #words) end
  if scaled > 0 then
    words[#words + 1] = ("thin lines: %s of the autoscaler"):format(
      format.plural(scaled, "decision"))
  end
  return #words > 0 and ("Vertical lines mark events in all charts. %s."):format(
    table.concat(words, "; ")) or nil
end

return happenings
