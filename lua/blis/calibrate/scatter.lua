--- Predicted against observed, as a picture (SVG) with logarithmic axes.
local scatter = {}

local size, margin = 320, 48
local colours = { "#1b6ca8", "#c8553d", "#3c8d5a", "#7a5195" }

--- 30000 as "30 ms".
local function time_text(us)
  if us >= 1e6 then return ("%g s"):format(us / 1e6) end
  if us >= 1e3 then return ("%g ms"):format(us / 1e3) end
  return ("%g us"):format(us)
end

local function escaped(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
    ['"'] = "&quot;" }))
end

local function range_of(series)
  local low, high = math.huge, -math.huge
  for _, one in ipairs(series) do
    for _, point in ipairs(one.points) do
      low = math.min(low, point[1], point[2])
      high = math.max(high, point[1], point[2])
    end
  end
  if low > high then return 1, 10 end
  return low * 0.9, high * 1.1
end

--- 1, 2 and 5 times the powers of ten between low and high.
local function ticks_of(low, high)
  local ticks, wide = {}, high / low > 100
  for power = math.floor(math.log(low, 10)), math.ceil(math.log(high, 10)) do
    for _, digit in ipairs(wide and { 1 } or { 1, 2, 5 }) do
      local tick = digit * 10.0 ^ power
      if tick >= low and tick <= high then ticks[#ticks + 1] = tick end
    end
  end
  return ticks
end

--- One square with a diagonal; points above it are predicted too slow.
---@param title string
---@param series { name: string, points: { [1]: number, [2]: number }[] }[] observed and predicted,
--- microseconds above 0
---@param left number where it stands
local function panel(lines, title, series, left)
  local low, high = range_of(series)
  local span = math.log(high / low)
  local function at(us) return math.log(us / low) / span * size end
  local function x(us) return left + margin + at(us) end
  local function y(us) return margin + size - at(us) end
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  add('<rect x="%g" y="%g" width="%g" height="%g" class="frame"/>', left + margin, margin, size,
    size)
  add('<text x="%g" y="%g" class="title">%s</text>', left + margin, margin - 12, escaped(title))
  for _, tick in ipairs(ticks_of(low, high)) do
    add('<line x1="%.1f" y1="%g" x2="%.1f" y2="%g" class="grid"/>', x(tick), margin, x(tick),
      margin + size)
    add('<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" class="grid"/>', left + margin, y(tick),
      left + margin + size, y(tick))
    add('<text x="%.1f" y="%g" text-anchor="middle">%s</text>', x(tick), margin + size + 14,
      time_text(tick))
    add('<text x="%g" y="%.1f" text-anchor="end">%s</text>', left + margin - 4, y(tick) + 4,
      time_text(tick))
  end
  add('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="equal"/>', x(low), y(low), x(high),
    y(high))
  for i, one in ipairs(series) do
    for _, point in ipairs(one.points) do
      add('<circle cx="%.1f" cy="%.1f" r="2" fill="%s"/>', x(point[1]), y(point[2]),
        colours[(i - 1) % #colours + 1])
    end
    add('<text x="%g" y="%g" fill="%s">%s</text>', left + margin + 8, margin + 4 + 14 * i,
      colours[(i - 1) % #colours + 1], escaped(one.name))
  end
  add('<text x="%g" y="%g" text-anchor="middle">observed</text>', left + margin + size / 2,
    margin + size + 32)
end

--- A picture of several figures side by side.
---@param panels { title: string, series: table[] }[]
---@return string
function scatter.svg(panels)
  local width, height = #panels * (size + margin + 16) + 16, size + 2 * margin
  local lines = {
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g">')
      :format(width, height, width, height),
    "<style>text{font:11px sans-serif}.title{font-weight:bold}.frame{fill:#fff;stroke:#888}"
      .. ".grid{stroke:#eee}.equal{stroke:#888;stroke-dasharray:4}</style>",
    '<title>Predicted over observed: above the diagonal is predicted too slow</title>',
    ('<rect width="%g" height="%g" fill="#fff"/>'):format(width, height),
  }
  for i, one in ipairs(panels) do
    panel(lines, one.title, one.series, (i - 1) * (size + margin + 16))
  end
  lines[#lines + 1] = "</svg>\n"
  return table.concat(lines, "\n")
end

return scatter
