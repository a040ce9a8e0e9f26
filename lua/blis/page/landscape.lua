--- Pictures of sweeps with several parameters: a heat map for two, parallel coordinates for more.
local best = require "blis.page.best"
local format = require "blis.format"
local html = require "blis.page.html"
local names = require "blis.results.metric_names"
local plan = require "blis.sweep.plan"
local results = require "blis.results.figures"
local verdict = require "blis.results.verdict"

local landscape = {}

-- Larger heat maps have unreadable cells, and more lines hide each other.
local most_cells, most_lines = 14, 400

--- The distinct values of a parameter in the order of the sweep, and the place of each label.
local function values_of(self, name)
  local list, place = {}, {}
  for _, point in ipairs(self.points) do
    local text = plan.label_text(point.parameters[name])
    if not place[text] then
      list[#list + 1] = text
      place[text] = #list
    end
  end
  return list, place
end

--- The parameters with more than one value.
local function varied(self)
  local list = {}
  for _, name in ipairs(self.parameters) do
    local values, place = values_of(self, name)
    if #values > 1 then list[#list + 1] = { name = name, values = values, place = place } end
  end
  return list
end

local function mean_of(point, metric)
  local estimate = point.metrics[metric]
  return estimate and estimate.mean
end

local function short(value, metric)
  if names.is_share(metric) then return format.share(value) end
  local size = math.abs(value)
  return format.number(value, size >= 100 and 0 or size >= 10 and 1 or 2)
end

local cell_width, cell_height, strongest = 72, 26, 0.5

local function text_at(x, y, anchor, text, class)
  return html.text({ x = ("%.1f"):format(x), y = ("%.1f"):format(y), ["text-anchor"] = anchor,
    class = class }, text)
end

--- The lowest and the highest mean of a metric.
local function ends_of(self, metric)
  local low, high = math.huge, -math.huge
  for _, point in ipairs(self.points) do
    local mean = mean_of(point, metric)
    if mean then low, high = math.min(low, mean), math.max(high, mean) end
  end
  return low, high
end

local function cell(point, metric, x, y, share, is_best)
  local mean = mean_of(point, metric)
  local label = (mean and short(mean, metric) or "-")
    .. (verdict.is_invalid(point.verdict) and " ✕" or "")
  return { html.rect { x = x + 1, y = y + 1, width = cell_width - 2, height = cell_height - 2,
      class = is_best and "cell chosen" or "cell", ["fill-opacity"] = ("%.3f"):format(
        mean and strongest * share or 0) },
    text_at(x + cell_width / 2, y + cell_height / 2 + 4, "middle", label) }
end

--- The best valid points for a metric: of the sweep, or of each load.
local function chosen(self, metric)
  local set, sign = {}, results.direction(metric)
  if not sign then return set end
  for _, group in ipairs(best.groups(self)) do
    local point = best.of(group.points, metric, sign)
    if point then set[point] = true end
  end
  return set
end

--- Where the rows of a heat map begin: behind the longest label of a row.
local function left_of(values)
  local longest = 0
  for _, text in ipairs(values) do longest = math.max(longest, utf8.len(text) or #text) end
  return 12 + 7 * math.min(longest, 24)
end

local function heat_map(self, rows, columns, metric)
  local low, high = ends_of(self, metric)
  if low > high then return nil end
  local left, top, parts, is_chosen = left_of(rows.values), 22, {}, chosen(self, metric)
  for i, text in ipairs(columns.values) do
    parts[#parts + 1] = text_at(left + (i - 0.5) * cell_width, top - 6, "middle", text, "soft")
  end
  for i, text in ipairs(rows.values) do
    parts[#parts + 1] = text_at(left - 6, top + (i - 0.5) * cell_height + 4, "end", text, "soft")
  end
  for _, point in ipairs(self.points) do
    local i = rows.place[plan.label_text(point.parameters[rows.name])]
    local k = columns.place[plan.label_text(point.parameters[columns.name])]
    local mean = mean_of(point, metric)
    local share = mean and high > low and (mean - low) / (high - low) or 0
    parts[#parts + 1] = cell(point, metric, left + (k - 1) * cell_width,
      top + (i - 1) * cell_height, share, is_chosen[point])
  end
  local width, height = left + #columns.values * cell_width, top + #rows.values * cell_height
  local title = names.head(metric)
  return html.figure(html.h3(title), html.div({ class = "wide" },
    html.svg({ class = "landscape", width = width, height = height, role = "img",
      ["aria-label"] = ("%s by %s and %s"):format(title, rows.name, columns.name) }, parts)))
end

local function heat_maps(self, rows, columns)
  local figures = {}
  for _, metric in ipairs(self.shown) do
    figures[#figures + 1] = heat_map(self, rows, columns, metric)
  end
  if #figures == 0 then return nil end
  return { html.p({ class = "soft" }, ("Rows: %s. Columns: %s. Darker cells have higher values; a "
    .. "frame marks the best valid point%s, and ✕ a point that is not valid."):format(rows.name,
    columns.name, #best.environments(self) > 0 and " of each load" or "")),
    html.div({ class = "charts" }, figures) }
end

local axis_top, axis_bottom, axis_gap, axis_left = 34, 250, 150, 60

--- An axis: at(point) is the share of its length, nil without a value; texts by share.
local function parameter_axis(one)
  local texts, last = {}, math.max(#one.values - 1, 1)
  local step = math.ceil(#one.values / 12)
  for i = 1, #one.values, step do texts[#texts + 1] = { (i - 1) / last, one.values[i] } end
  return { title = one.name, texts = texts, at = function(point)
    return (one.place[plan.label_text(point.parameters[one.name])] - 1) / last
  end }
end

local function metric_axis(self, metric)
  local low, high = ends_of(self, metric)
  if low > high then return nil end
  return { title = names.head(metric), texts = { { 0, short(low, metric) },
    { 1, short(high, metric) } }, at = function(point)
    local mean = mean_of(point, metric)
    return mean and (high > low and (mean - low) / (high - low) or 0)
  end }
end

local function y_at(share) return axis_bottom - share * (axis_bottom - axis_top) end

local function axis_parts(axis, x)
  local parts = { text_at(x, axis_top - 16, "middle", axis.title),
    html.path { d = ("M%.1f %dV%d"):format(x, axis_top, axis_bottom), class = "axis" } }
  for _, one in ipairs(axis.texts) do
    parts[#parts + 1] = text_at(x - 5, y_at(one[1]) + 4, "end", one[2], "soft")
  end
  return parts
end

local function line_of(point, axes, class)
  local steps = {}
  for i, axis in ipairs(axes) do
    local share = axis.at(point)
    if not share then return nil end
    steps[i] = ("%s%.1f %.1f"):format(i == 1 and "M" or "L", axis_left + (i - 1) * axis_gap,
      y_at(share))
  end
  return html.path { d = table.concat(steps), class = class }
end

local function parallel(self, parameters)
  local axes = {}
  for i, one in ipairs(parameters) do axes[i] = parameter_axis(one) end
  for _, metric in ipairs(self.shown) do axes[#axes + 1] = metric_axis(self, metric) end
  local metric = best.metric(self)
  local is_chosen, lines, front = metric and chosen(self, metric) or {}, {}, {}
  for i = 1, math.min(#self.points, most_lines) do
    local point = self.points[i]
    local list = is_chosen[point] and front or lines
    list[#list + 1] = line_of(point, axes, is_chosen[point] and "way chosen" or "way")
  end
  local parts = { lines, front }
  for i, axis in ipairs(axes) do
    parts[#parts + 1] = axis_parts(axis, axis_left + (i - 1) * axis_gap)
  end
  local width = axis_left + (#axes - 1) * axis_gap + 60
  return { html.p({ class = "soft" }, ("A line for each point, from its parameters to its metrics. "
      .. "Strong lines are the best valid points%s%s."):format(metric and " for "
      .. names.title(metric) or "", #best.environments(self) > 0 and " at each load" or "")),
    html.div({ class = "wide" }, html.svg({ class = "landscape ways", width = width,
      height = axis_bottom + 14, role = "img",
      ["aria-label"] = "Parallel coordinates of the points" }, parts)) }
end

--- The picture of all points; nil with one parameter, and where it would not be readable.
---@param self blis.SweepTable
---@return any
function landscape.element(self)
  local list = varied(self)
  if #list == 2 and #list[1].values <= 3 * most_cells and #list[2].values <= most_cells then
    return heat_maps(self, list[1], list[2])
  end
  return #list > 2 and #self.points <= most_lines and parallel(self, list) or nil
end

return landscape
