--- Episodes of a run: the times at which its latencies were far above their usual values, or its
--- requests missed their targets. They are found in the charts over time.
local format = require "blis.format"

local episodes = {}

-- An interval stands out if its p99 exceeds the median of all intervals by this factor. Single
-- intervals are noise unless they exceed it by the second factor.
local least_factor, lone_factor = 2.5, 5

-- Targets are missed where fewer requests than this share meet them.
-- A single interval counts only below the second share.
local fewest_good, far_below = 0.9, 0.5

---@class blis.page.Episode
---@field from number seconds
---@field to number seconds
---@field peak number highest value
---@field usual number median of all intervals

local function median_of(values)
  local list = {}
  for _, value in ipairs(values) do
    if value and value == value then list[#list + 1] = value end
  end
  table.sort(list)
  return list[#list // 2 + 1]
end

--- The spells of consecutive intervals that is_in(value); lists of the first and last places.
local function spells(values, is_in)
  local list, open = {}, nil
  for k = 1, #values + 1 do
    local value = values[k]
    local inside = value and value == value and is_in(value)
    if inside and not open then
      open = { first = k }
      list[#list + 1] = open
    elseif not inside and open and value ~= false then -- no requests: the spell goes on
      open.last, open = open.last or k - 1, nil
    end
    if inside then open.last = k end
  end
  return list
end

--- The spell with the highest value of a line; nil if no interval stands out.
---@param times number[] middles of the intervals in seconds
---@param values (number|false)[]
---@return blis.page.Episode?
function episodes.highest(times, values)
  local usual = median_of(values)
  if not usual or usual <= 0 or #times < 2 then return nil end
  local half, found = (times[2] - times[1]) / 2, nil
  for _, spell in ipairs(spells(values, function(x) return x >= least_factor * usual end)) do
    local peak = 0
    for k = spell.first, spell.last do peak = math.max(peak, values[k] or 0) end
    local is_long = spell.last > spell.first or peak >= lone_factor * usual
    if is_long and (not found or peak > found.peak) then
      found = { from = times[spell.first] - half, to = times[spell.last] + half, peak = peak,
        usual = usual }
    end
  end
  return found
end

--- "12.3 ms", or "12.3 s" from a limit of ms on.
---@param ms number
---@param limit? number
---@return string
function episodes.time(ms, limit)
  return ms >= (limit or 10000) and format.number(ms / 1000, 1) .. " s"
    or format.number(ms) .. " ms"
end

local function seconds(x) return format.number(x, x < 10 and 1 or 0) .. " s" end

local function latency_line(chart)
  local one = episodes.highest(chart.data[1], chart.data[3])
  if not one then return nil end
  local limit = one.peak >= 10000 and 1000 or nil -- one unit for both
  return ("from %s to %s, %s p99 rose to %s, %s times its usual %s"):format(seconds(one.from),
    seconds(one.to), chart.y.label, episodes.time(one.peak, limit),
    format.number(one.peak / one.usual, 1), episodes.time(one.usual, limit)), one
end

local function attainment_line(chart)
  local times, shares = chart.data[1], chart.data[2]
  if #times < 2 then return nil end
  local step, missed, least, first = times[2] - times[1], 0, 1, nil
  for k, share in ipairs(shares) do
    if share and share < fewest_good then
      missed, least = missed + 1, math.min(least, share)
      first = first or math.max(times[k] - step / 2, 0)
    end
  end
  if missed == 0 or missed == 1 and least >= far_below then return nil end
  return ("Fewer than %g%% of the requests were within their targets during %s of %s, first at %s; "
    .. "at worst %s."):format(fewest_good * 100, seconds(missed * step), seconds(#times * step),
    seconds(first), format.share(least))
end

--- What the charts over time show: a clause about the worst episode, nil without one, and lines.
---@param charts blis.plot.Chart[] of blis.charts.latency_course
---@return string? clause
---@return string[] lines
function episodes.told(charts)
  local clause, lines, worst = nil, {}, 0
  for _, chart in ipairs(charts) do
    if chart.name == "attainment" then
      lines[#lines + 1] = attainment_line(chart)
    elseif chart.name == "ttft_time" or chart.name == "e2e_time" then
      local text, one = latency_line(chart)
      if text then
        if one.peak / one.usual > worst then
          if clause then table.insert(lines, 1, episodes.sentence(clause)) end
          clause, worst = text, one.peak / one.usual
        else
          lines[#lines + 1] = episodes.sentence(text)
        end
      end
    end
  end
  return clause, lines
end

--- "From 10 s to 12 s, ...": a clause as a sentence.
---@param clause string
---@return string
function episodes.sentence(clause) return (clause:gsub("^%l", string.upper)) .. "." end

return episodes
