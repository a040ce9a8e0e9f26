--- The best points of a sweep. A load is not a choice: a parameter such as the request rate
--- describes the environment, and the best point is sought for each of its values.
local figures = require "blis.results.figures"
local format = require "blis.format"
local names = require "blis.results.metric_names"
local plan = require "blis.sweep.plan"

local best = {}

-- Names of parameters that describe the environment, not a choice.
local environments = { rate = true, rates = true, load = true, qps = true, rps = true,
  request_rate = true, arrival_rate = true, concurrency = true, users = true, clients = true,
  requests = true, prompt_tokens = true, output_tokens = true, trace = true, workload = true,
  scenario = true, day = true }

--- The parameters of a sweep that describe the environment; empty if no parameter is left to
--- choose.
---@param self blis.SweepTable
---@return string[]
function best.environments(self)
  local list = {}
  for _, name in ipairs(self.parameters) do
    if environments[name:lower()] then list[#list + 1] = name end
  end
  return #list < #self.parameters and list or {}
end

local function words_of(point, wanted)
  local words = {}
  for _, name in ipairs(wanted) do
    words[#words + 1] = ("%s=%s"):format(name, plan.label_text(point.parameters[name]))
  end
  return table.concat(words, " ")
end

--- The chosen part of a point: "weight=2".
---@param self blis.SweepTable
---@param point blis.sweep.PointResult
---@return string
function best.choice(self, point)
  local is_environment, chosen = {}, {}
  for _, name in ipairs(best.environments(self)) do is_environment[name] = true end
  for _, name in ipairs(self.parameters) do
    if not is_environment[name] then chosen[#chosen + 1] = name end
  end
  return #chosen > 0 and words_of(point, chosen) or point.name
end

--- The points by environment, in the order of the sweep; one group without a name if there is none.
---@param self blis.SweepTable
---@return { name: string, points: blis.sweep.PointResult[] }[]
function best.groups(self)
  local wanted, list, by_name = best.environments(self), {}, {}
  for _, point in ipairs(self.points) do
    local name = #wanted > 0 and words_of(point, wanted) or ""
    local group = by_name[name]
    if not group then
      group = { name = name, points = {} }
      by_name[name], list[#list + 1] = group, group
    end
    table.insert(group.points, point)
  end
  return list
end

local function mean_of(point, metric)
  local estimate = point.metrics[metric]
  return estimate and estimate.mean
end

local function is_invalid(point) return point.verdict and point.verdict.status == "invalid" end

--- The best valid point of a group; nil if no point is valid or has the metric.
---@param points blis.sweep.PointResult[]
---@param metric string
---@param sign number 1 if more is better, -1 if less is better
---@return blis.sweep.PointResult?
function best.of(points, metric, sign)
  local found
  for _, point in ipairs(points) do
    local value = not is_invalid(point) and mean_of(point, metric)
    if value and (not found or sign * value > sign * mean_of(found, metric)) then found = point end
  end
  return found
end

--- Whether the interval of another point overlaps that of the best one.
local function has_rival(points, found, metric)
  local own = found.metrics[metric]
  for _, point in ipairs(points) do
    local other = point.metrics[metric]
    if point ~= found and other and other.mean and not is_invalid(point) then
      local apart = own.low and other.low and (own.high < other.low or other.high < own.low)
      if not apart then return true end
    end
  end
  return false
end

local most_lines = 8

local cost = "cost.usd_per_million_output_tokens"

--- " (0.98 USD per million output tokens)", where trials report their cost.
local function cost_text(point)
  local usd = mean_of(point, cost)
  return usd and (" (%s USD per million output tokens)"):format(format.number(usd, 2)) or ""
end

local function sentence(self, group, metric, sign)
  local found = best.of(group.points, metric, sign)
  local at = group.name ~= "" and group.name .. ": " or ""
  if not found then return ("%sno valid point."):format(at) end
  local text = ("%s%s has the best %s, %s%s%s."):format(at, best.choice(self, found),
    names.title(metric), names.value(metric, mean_of(found, metric)), cost_text(found),
    has_rival(group.points, found, metric) and "; not significantly better than all others" or "")
  return text, best.choice(self, found), has_rival(group.points, found, metric)
end

--- The first shown metric with a better direction.
---@param self blis.SweepTable
---@return string?
function best.metric(self)
  for _, one in ipairs(self.shown) do
    if figures.direction(one) then return one end
  end
end

--- The answer in sentences: the first one is the headline. Empty if no metric has a better
--- direction.
---@param self blis.SweepTable
---@return string[]
function best.lines(self)
  local metric = best.metric(self)
  if not metric or #self.points == 0 then return {} end
  local sign, groups, lines = figures.direction(metric), best.groups(self), {}
  local choices, is_known = {}, {}
  local is_clear = false
  for i, group in ipairs(groups) do
    local text, choice, has_others = sentence(self, group, metric, sign)
    is_clear = is_clear or choice and not has_others
    if i <= most_lines then lines[i] = text end
    if choice and not is_known[choice] then
      choices[#choices + 1], is_known[choice] = choice, true
    end
  end
  if #groups > most_lines then
    lines[#lines + 1] = ("... and %d more loads in the table."):format(#groups - most_lines)
  end
  if #groups > 1 then
    table.insert(lines, 1, #choices == 0 and "No point is valid."
      or not is_clear and ("At no load is a point significantly better in %s than all others.")
        :format(names.title(metric))
      or #choices == 1
      and ("%s has the best %s at every load with a valid point."):format(choices[1],
        names.title(metric))
      or ("The best point for %s depends on the load: %s."):format(names.title(metric),
        table.concat(choices, ", ")))
  end
  return lines
end

return best
