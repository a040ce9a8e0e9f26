--- Charts as SVG: a separate file, or an element of a page that has the styles.
---
--- Each chart is a panel: its title, the title of the y axis, the axes with the shapes between
--- them, the title of the x axis, and a legend if the chart has several series.
local axis = require "blis.plot.axis"
local chart = require "blis.plot.chart"
local markup = require "blis.markup"
local shapes = require "blis.plot.shapes"

local svg = {}

local top, right, below, row_height = 52, 18, 46, 24

---@class blis.plot.Frame where a panel draws
---@field parts string[]
---@field left number
---@field right number
---@field top number
---@field bottom number
---@field x blis.plot.Scale
---@field y? blis.plot.Scale
local Frame = {}
Frame.__index = Frame

function Frame:add(text) self.parts[#self.parts + 1] = text end

function Frame:x_at(value) return self.left + self.x:share(value) * (self.right - self.left) end

function Frame:y_at(value) return self.bottom - self.y:share(value) * (self.bottom - self.top) end

local function widest(texts)
  local width = 0
  for _, text in ipairs(texts) do width = math.max(width, shapes.text_width(text)) end
  return width
end

local function draw_x_axis(frame, has_grid)
  local last = -math.huge
  for i, value in ipairs(frame.x.ticks) do
    local x, text = frame:x_at(value), frame.x.texts[i]
    frame:add(shapes.path("grid", ("M%.1f %.1fV%.1f"):format(x, has_grid and frame.top
      or frame.bottom + 4, frame.bottom)))
    local half = shapes.text_width(text) / 2
    if x - half > last + 6 then
      frame:add(shapes.text(x, frame.bottom + 16, text, "soft", "middle"))
      last = x + half
    end
  end
  frame:add(shapes.text((frame.left + frame.right) / 2, frame.bottom + 34, frame.x.title, "soft",
    "middle"))
end

local function draw_y_axis(frame)
  for i, value in ipairs(frame.y.ticks) do
    local y = frame:y_at(value)
    frame:add(shapes.path("grid", ("M%.1f %.1fH%.1f"):format(frame.left, y, frame.right)))
    frame:add(shapes.text(frame.left - 7, y + 4, frame.y.texts[i], "soft", "end"))
  end
end

-- Longer lines have marks only at some points.
local most_marks = 40

local function interval(frame, i, x, low, high)
  frame:add(shapes.path("line " .. shapes.colour(i), ("M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6")
    :format(x, frame:y_at(low), frame:y_at(high), x - 3, frame:y_at(low), x - 3,
      frame:y_at(high))))
end

--- The points of a series that have a value.
local function points_of(frame, given, i)
  local list, one = {}, given.series[i]
  for k, value in ipairs(given.data[i + 1]) do
    local x = given.data[1][k]
    if value and value == value and (not frame.y.is_log or value > 0)
      and (not frame.x.is_log or x > 0) then
      list[#list + 1] = { x = frame:x_at(x), y = frame:y_at(value), low = one.low and one.low[k],
        high = one.high and one.high[k] }
    end
  end
  return list
end

local function has_line(given, i) return not (given.marks or given.series[i].is_points) end

local function is_dense(given, i, list) return has_line(given, i) and #list > most_marks end

local function key_of(point) return ("%.1f %.1f"):format(point.x, point.y) end

--- Selects the series whose mark is drawn where marks of several series coincide. Series
--- alternate from position to position.
local function owners_of(given, points)
  local series_at, order, owners, turn = {}, {}, {}, 0
  for i, list in ipairs(given.dots and {} or points) do
    for _, point in ipairs(is_dense(given, i, list) and {} or list) do
      local key = key_of(point)
      if not series_at[key] then
        series_at[key] = {}
        order[#order + 1] = key
      end
      table.insert(series_at[key], i)
    end
  end
  for _, key in ipairs(order) do
    local all = series_at[key]
    owners[key] = all[turn % #all + 1]
    turn = turn + (#all > 1 and 1 or 0)
  end
  return owners
end

--- Draws the marks of a series; a dense line has only some of them.
local function draw_marks(frame, given, i, list, owners)
  if is_dense(given, i, list) then
    local every = math.ceil(#list / 8)
    local first = 1 + every * i // (#given.series + 1)
    for k = first, #given.series > 1 and #list or 0, every do
      frame:add(shapes.mark(i, list[k].x, list[k].y))
    end
    return
  end
  for _, point in ipairs(list) do
    if given.dots then
      frame:add(shapes.dot(i, point.x, point.y))
    elseif owners[key_of(point)] == i then
      frame:add(shapes.mark(i, point.x, point.y))
    end
  end
end

--- The area between the ends of the intervals of a line.
local function draw_band(frame, i, list)
  local there, back = {}, {}
  for _, point in ipairs(list) do
    if point.low and point.high then
      there[#there + 1] = ("%.1f %.1f"):format(point.x, frame:y_at(point.high))
      table.insert(back, 1, ("%.1f %.1f"):format(point.x, frame:y_at(point.low)))
    end
  end
  if #there < 2 then return end
  frame:add(shapes.path(shapes.colour(i), ("M%sL%sz"):format(table.concat(there, "L"),
    table.concat(back, "L")), ' fill-opacity="0.18" stroke="none"'))
end

local function draw_line(frame, given, i, list, owners)
  local path, one = {}, given.series[i]
  frame:add(("<g><title>%s</title>"):format(markup.escape(one.label)))
  for k, point in ipairs(list) do
    path[k] = k == 1 and ("M%.1f %.1f"):format(point.x, point.y)
      or given.steps and ("H%.1fV%.1f"):format(point.x, point.y)
      or ("L%.1f %.1f"):format(point.x, point.y)
  end
  if has_line(given, i) then draw_band(frame, i, list) end
  if #list > 1 and has_line(given, i) then frame:add(shapes.line(i, table.concat(path))) end
  draw_marks(frame, given, i, list, owners)
  for _, point in ipairs(list) do
    if point.low and point.high then interval(frame, i, point.x, point.low, point.high) end
  end
  frame:add("</g>")
end

--- Targets as lines across an axis, and events as vertical lines with their letters.
local function draw_limits(frame, given)
  for _, one in ipairs(given.limits or {}) do
    local scale = one.axis == "x" and frame.x or frame.y
    if one.at >= scale.low and one.at <= scale.high and one.axis == "x" then
      local x = frame:x_at(one.at)
      frame:add(shapes.path("limit", ("M%.1f %.1fV%.1f"):format(x, frame.top, frame.bottom)))
      frame:add(shapes.text(x - 4, frame.top + 12, one.text, "limit-text", "end"))
    elseif one.at >= scale.low and one.at <= scale.high then
      local y = frame:y_at(one.at)
      frame:add(shapes.path("limit", ("M%.1f %.1fH%.1f"):format(frame.left, y, frame.right)))
      frame:add(shapes.text(frame.right - 2, y - 4, one.text, "limit-text", "end"))
    end
  end
  for _, one in ipairs(given.happenings or {}) do
    if one.mark and one.at >= frame.x.low and one.at <= frame.x.high then
      local x = frame:x_at(one.at)
      frame:add(("<g><title>%s</title>"):format(markup.escape(one.text)))
      frame:add(shapes.path("limit", ("M%.1f %.1fV%.1f"):format(x, frame.top, frame.bottom)))
      frame:add(shapes.text(x + 3, frame.top + 12, one.mark, "limit-text"))
      frame:add("</g>")
    end
  end
end

local function draw_lines(frame, given)
  draw_x_axis(frame, true)
  draw_y_axis(frame)
  if given.diagonal then
    local low, high = math.max(frame.x.low, frame.y.low), math.min(frame.x.high, frame.y.high)
    if low < high then
      frame:add(shapes.path("zero", ("M%.1f %.1fL%.1f %.1f"):format(frame:x_at(low),
        frame:y_at(low), frame:x_at(high), frame:y_at(high))))
    end
  end
  local points = {}
  for i in ipairs(given.series) do points[i] = points_of(frame, given, i) end
  local owners = owners_of(given, points)
  for i, list in ipairs(points) do draw_line(frame, given, i, list, owners) end
  draw_limits(frame, given)
end

local heat_levels = 12

--- Cells by how strong they are; neighbours of a row that are alike are one.
local function draw_heat(frame, given)
  local most, by_level = 0, {}
  for _, row in ipairs(given.data) do
    for _, value in ipairs(row) do most = math.max(most, value or 0) end
  end
  local columns, height = #given.data[1], (frame.bottom - frame.top) / #given.data
  local width = (frame.right - frame.left) / math.max(columns, 1)
  for r, row in ipairs(given.data) do
    local from, level = 1, nil
    for k = 1, columns + 1 do
      local value = row[k]
      local now = value and most > 0 and math.ceil(value / most * heat_levels) or 0
      if k > columns then now = nil end
      if now ~= level then
        if level and level > 0 then
          by_level[level] = by_level[level] or {}
          local left = ("%.1f"):format(frame.left + (from - 1) * width)
          table.insert(by_level[level], ("M%s %.1fH%.1fV%.1fH%sz"):format(left,
            frame.top + (r - 1) * height, frame.left + (k - 1) * width, frame.top + r * height,
            left))
        end
        from, level = k, now
      end
    end
  end
  for level = 1, heat_levels do
    if by_level[level] then
      frame:add(shapes.path("heat", table.concat(by_level[level]),
        (' fill-opacity="%.2f" shape-rendering="crispEdges"'):format(level / heat_levels)))
    end
  end
  draw_x_axis(frame, false)
  local every = math.ceil(#given.rows * 14 / (frame.bottom - frame.top))
  for r = 1, #given.rows, every do
    local text = shapes.fitted(given.rows[r], frame.left - 12)
    frame:add(shapes.text(frame.left - 7, frame.top + (r - 0.5) * height + 4, text, "soft", "end"))
  end
  return most
end

local function draw_ranges(frame, given)
  draw_x_axis(frame, true)
  if given.zero then
    frame:add(shapes.path("zero", ("M%.1f %.1fV%.1f"):format(frame:x_at(0), frame.top,
      frame.bottom)))
  end
  local one = given.series[1]
  for i, name in ipairs(given.rows) do
    local y, mean = frame.top + (i - 0.5) * row_height, given.data[1][i]
    local low, high = one.low and one.low[i], one.high and one.high[i]
    frame:add(shapes.text(frame.left - 10, y + 4, shapes.fitted(name, frame.left - 14), nil, "end"))
    if low and high then
      local from, to = frame:x_at(low), frame:x_at(high)
      frame:add(shapes.path("line " .. shapes.colour(i),
        ("M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8"):format(from, y, to, from, y - 4, to, y - 4)))
    end
    if mean then frame:add(shapes.mark(i, frame:x_at(mean), y)) end
  end
end

--- A sample of the line and mark of a series for the legend.
local function draw_sample(frame, given, i, x, y, length)
  if has_line(given, i) then frame:add(shapes.line(i, ("M%.1f %.1fh%d"):format(x, y, length))) end
  frame:add((given.dots and shapes.dot or shapes.mark)(i, x + length / 2, y))
end

--- Names, lines and marks in rows that fit; returns their height.
local function draw_legend(frame, given, x, y, width)
  if given.kind or #given.series == 1 and (given.series[1].label == ""
    or given.series[1].label == given.y.label) then
    return 0
  end
  local at, row = x, y
  for i, one in ipairs(given.series) do
    local length = has_line(given, i) and 38 or 12
    local text = shapes.fitted(one.label, width - length - 18)
    local wide = length + 18 + shapes.text_width(text)
    if at > x and at + wide > x + width then at, row = x, row + 18 end
    draw_sample(frame, given, i, at, row, length)
    frame:add(shapes.text(at + length + 4, row + 4, text))
    at = at + wide
  end
  return row - y + 24
end

--- Width and height of a chart without its legend; options take precedence over the defaults.
local function size_of(given, options)
  local height = options.height or 400
  if given.kind == "ranges" then height = top + below + #given.rows * row_height end
  return options.width or 720, height
end

local function left_of(given, y, width)
  if y then return math.max(40, widest(y.texts) + 14) end
  return math.min(width * 0.4, widest(given.rows) + 18)
end

--- Draws one chart; returns the SVG of it and its height.
local function panel(given, options)
  local width, height = size_of(given, options)
  local frame = setmetatable({ parts = {}, top = top, right = width - right,
    bottom = height - below }, Frame)
  local is_lines = not given.kind or given.kind == "lines"
  frame.y = is_lines and axis.new(given, "y", { most = math.max(2, (height - 100) // 45),
    room = 0.03, is_rounded = not given.y.log }) or nil
  frame.left = left_of(given, frame.y, width)
  local shown = given
  if given.kind == "heat" then
    shown = { x = given.x, y = given.y, data = { given.times } }
  end
  frame.x = axis.new(shown, "x", { most = math.max(2, (frame.right - frame.left) // 75),
    room = (given.marks or given.kind == "ranges") and 0.04
      or is_lines and #given.data[1] <= most_marks and 0.015 or 0 })
  frame:add(shapes.text(8, 20, shapes.fitted(given.title, width - 16, 15), "title"))
  local label = is_lines and frame.y.title or given.caption or ""
  local draw = given.kind == "heat" and draw_heat or given.kind == "ranges" and draw_ranges
    or draw_lines
  local most = draw(frame, given)
  if given.kind == "heat" then
    label = ("%s: nothing is 0, the strongest is %s"):format(chart.axis_title(given.y),
      axis.number(given.y.percent and most * 100 or most) .. (given.y.percent and " %" or ""))
  end
  frame:add(shapes.text(8, 40, shapes.fitted(label, width - 16), "soft"))
  height = height + (is_lines and draw_legend(frame, given, frame.left, height + 6, width
    - frame.left - 8) or 0)
  return table.concat(frame.parts, "\n"), height
end

---@class blis.plot.Size
---@field width? integer of a chart, pixels; default 720, of several 460
---@field height? integer of a chart, pixels; default 400, of several 300
---@field columns? integer charts per row; default: up to 3

--- All charts; returns the shapes, and how wide and high they are together.
local function panels(list, options)
  local columns = options.columns or math.min(3, #list)
  local size = #list > 1 and { width = options.width or 460, height = options.height or 300 }
    or options
  local parts, widest_row, y = {}, 0, 0
  for first = 1, #list, columns do
    local x, highest = 0, 0
    for i = first, math.min(first + columns - 1, #list) do
      local shapes_text, height = panel(list[i], size)
      parts[#parts + 1] = ('<g transform="translate(%d %d)">'):format(x, y)
      parts[#parts + 1] = shapes_text
      parts[#parts + 1] = "</g>"
      x, highest = x + (size.width or 720), math.max(highest, height)
    end
    widest_row, y = math.max(widest_row, x), y + highest + (#list > columns and 12 or 0)
  end
  return table.concat(parts, "\n"), widest_row, math.ceil(y)
end

--- Description of the charts for screen readers.
local function told(list)
  local words = {}
  for i, given in ipairs(list) do
    local over = given.kind == "ranges" and "" or " over " .. chart.axis_title(given.x)
    words[i] = ("%s: %s%s"):format(given.title, chart.axis_title(given.y), over)
  end
  return markup.escape(table.concat(words, "; "))
end

--- An element for a page whose styles have the classes (data/page/report.css).
---@param given blis.plot.Chart
---@param options? blis.plot.Size
---@return string
function svg.element(given, options)
  local drawn, width, height = panels({ given }, options or {})
  return ('<svg class="plot" viewBox="0 0 %d %d" width="%d" height="%d" role="img" '
    .. 'aria-label="%s">\n%s\n</svg>'):format(width, height, width, height, told { given }, drawn)
end

--- A whole file.
---@param list blis.plot.Chart[]
---@param options? blis.plot.Size
---@return string
function svg.document(list, options)
  local drawn, width, height = panels(list, options or {})
  return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
    .. 'role="img">\n<title>%s</title>\n%s<rect class="paper" width="%d" height="%d"/>\n%s\n'
    .. "</svg>\n"):format(width, height, width, height, told(list), shapes.styles, width, height,
    drawn)
end

return svg
