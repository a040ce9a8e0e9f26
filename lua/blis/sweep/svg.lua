--- Figures over a parameter as an SVG file: what plot.text draws with characters.
local svg = {}

local width, height = 720, 440
local left, right, top, bottom = 70, 20, 30, 60
-- Told apart also by those who see few colours (Okabe and Ito), and by their marks.
local colours = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000" }
local marks = {
  '<circle cx="%.1f" cy="%.1f" r="4"/>',
  '<path d="M%.1f %.1fm-4 -4h8v8h-8z"/>',
  '<path d="M%.1f %.1fm0 -5l5 9h-10z"/>',
  '<path d="M%.1f %.1fm0 -5l5 5l-5 5l-5 -5z"/>',
}

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escape(text)
  return (text:gsub('[&<>"]', entities):gsub("[%z\1-\8\11\12\14-\31]", "?"))
end

local function text_at(x, y, anchor, text)
  return ('<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>'):format(x, y, anchor, escape(text))
end

---@class blis.sweep.Axis
---@field low number
---@field high number
---@field is_log boolean

--- From the values to be shown, with a little room; on a logarithmic axis none is 0 or less.
local function axis_of(picture, key)
  local low, high = math.huge, -math.huge
  local function see(value)
    if value then low, high = math.min(low, value), math.max(high, value) end
  end
  local is_log = picture.log:find(key, 1, true) ~= nil
  for _, series in ipairs(picture.series) do
    for _, point in ipairs(series.points) do
      see(point[key])
      if key == "y" and not (is_log and (point.low or 1) <= 0) then
        see(point.low)
        see(point.high)
      end
    end
  end
  if low > high then low, high = is_log and 1 or 0, is_log and 10 or 1 end
  if low == high then
    if is_log then low, high = low / 2, high * 2 else low, high = low - 0.5, high + 0.5 end
  end
  return { low = low, high = high, is_log = is_log }
end

local function share(axis, value)
  if axis.is_log then
    return math.log(math.max(value, axis.low) / axis.low) / math.log(axis.high / axis.low)
  end
  return (value - axis.low) / (axis.high - axis.low)
end

--- Numbers to be written at an axis: 1, 2 and 5 times powers of ten.
local function ticks_of(axis)
  local list = {}
  if axis.is_log then
    for power = math.floor(math.log(axis.low, 10)), math.ceil(math.log(axis.high, 10)) do
      for _, digit in ipairs { 1, 2, 5 } do list[#list + 1] = digit * 10.0 ^ power end
    end
  else
    local rough = (axis.high - axis.low) / 6
    local power = 10.0 ^ math.floor(math.log(rough, 10))
    local step = rough / power > 5 and 10 * power or rough / power > 2 and 5 * power
      or rough / power > 1 and 2 * power or power
    for i = math.ceil(axis.low / step), math.floor(axis.high / step) do
      list[#list + 1] = i * step
    end
  end
  local inside = {}
  for _, value in ipairs(list) do
    if value >= axis.low and value <= axis.high then inside[#inside + 1] = value end
  end
  return inside
end

local function x_at(axis, value) return left + share(axis, value) * (width - left - right) end
local function y_at(axis, value)
  return height - bottom - share(axis, value) * (height - top - bottom)
end

local function add_axes(parts, x, y)
  for _, value in ipairs(ticks_of(x)) do
    parts[#parts + 1] = ('<path class="grid" d="M%.1f %dV%d"/>'):format(x_at(x, value), top,
      height - bottom)
    parts[#parts + 1] = text_at(x_at(x, value), height - bottom + 16, "middle",
      ("%.4g"):format(value))
  end
  for _, value in ipairs(ticks_of(y)) do
    parts[#parts + 1] = ('<path class="grid" d="M%d %.1fH%d"/>'):format(left, y_at(y, value),
      width - right)
    parts[#parts + 1] = text_at(left - 6, y_at(y, value) + 4, "end", ("%.4g"):format(value))
  end
end

local function add_series(parts, series, i, x, y)
  local colour, mark = colours[(i - 1) % #colours + 1], marks[(i - 1) % #marks + 1]
  parts[#parts + 1] = ('<g fill="%s" stroke="%s"><title>%s</title>'):format(colour, colour,
    escape(series.name))
  local path = {}
  for k, point in ipairs(series.points) do
    local px, py = x_at(x, point.x), y_at(y, point.y)
    path[k] = ("%s%.1f %.1f"):format(k == 1 and "M" or "L", px, py)
    if point.low and point.high then
      parts[#parts + 1] = ('<path d="M%.1f %.1fV%.1f"/>'):format(px, y_at(y, point.low),
        y_at(y, point.high))
    end
    parts[#parts + 1] = mark:format(px, py)
  end
  parts[#parts + 1] = ('<path fill="none" d="%s"/></g>'):format(table.concat(path))
end

local function add_legend(parts, picture)
  for i, series in ipairs(picture.series) do
    if series.name ~= "" then
      local row = height + (i - 1) * 18
      parts[#parts + 1] = ('<g fill="%s">%s</g>'):format(colours[(i - 1) % #colours + 1],
        marks[(i - 1) % #marks + 1]:format(left, row))
      parts[#parts + 1] = text_at(left + 12, row + 4, "start", series.name)
    end
  end
end

--- A whole file: axes, a line with marks and intervals for each series, and a legend.
---@param picture blis.sweep.Plot
---@return string
function svg.text(picture)
  local x, y = axis_of(picture, "x"), axis_of(picture, "y")
  local function title(key, axis) return picture[key] .. (axis.is_log and " (log)" or "") end
  local whole = height + #picture.series * 18
  local parts = {
    ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
      .. 'font-size="12" role="img">'):format(width, whole),
    ("<title>%s</title>"):format(escape(title("y", y) .. " over " .. title("x", x))),
    "<style>.grid{stroke:#ccc;fill:none}</style>",
    ('<rect width="%d" height="%d" fill="#fff"/>'):format(width, whole),
    text_at(left, top - 12, "start", title("y", y)),
    text_at((left + width - right) / 2, height - bottom + 36, "middle", title("x", x)),
  }
  add_axes(parts, x, y)
  for i, series in ipairs(picture.series) do add_series(parts, series, i, x, y) end
  add_legend(parts, picture)
  parts[#parts + 1] = "</svg>\n"
  return table.concat(parts, "\n")
end

return svg
