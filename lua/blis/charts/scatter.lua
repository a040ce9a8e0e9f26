--- Predicted over observed times, a dot each; above the diagonal is predicted too slow.
local svg = require "blis.plot.svg"

local scatter = {}

---@class blis.charts.Scatter
---@field title string
---@field series { name: string, points: { [1]: number, [2]: number }[] }[] observed and predicted,
--- microseconds above 0

--- The ends of both axes, which are the same.
local function range_of(series)
  local low, high = math.huge, -math.huge
  for _, one in ipairs(series) do
    for _, point in ipairs(one.points) do
      low = math.min(low, point[1], point[2])
      high = math.max(high, point[1], point[2])
    end
  end
  if low > high then return { 1, 10 } end
  return { low / 1000 * 0.9, high / 1000 * 1.1 }
end

---@param given blis.charts.Scatter
---@return blis.plot.Chart
function scatter.chart(given)
  local range, x, list = range_of(given.series), {}, {}
  local data = { x }
  for i, one in ipairs(given.series) do list[i], data[i + 1] = { label = one.name }, {} end
  for i, one in ipairs(given.series) do
    for _, point in ipairs(one.points) do
      x[#x + 1] = point[1] / 1000
      for k in ipairs(given.series) do data[k + 1][#x] = k == i and point[2] / 1000 end
    end
  end
  return { title = given.title, marks = true, dots = true, diagonal = true, series = list,
    data = data, x = { label = "observed", unit = "ms", log = true, range = range },
    y = { label = "predicted", unit = "ms", log = true, range = range } }
end

--- A drawing with several charts side by side.
---@param panels blis.charts.Scatter[]
---@return string
function scatter.svg(panels)
  local list = {}
  for i, one in ipairs(panels) do list[i] = scatter.chart(one) end
  return svg.document(list, { width = 380, height = 400 })
end

return scatter
