--- Views of a sweep's table for charts: some of its points, or one view for each value of a
--- parameter.
local errors = require "blis.errors"
local plan = require "blis.sweep.plan"

local view = {}

local function check_parameter(self, option, name)
  for _, known in ipairs(self.parameters) do
    if known == name then return end
  end
  errors.invalid("plot: %s: unknown parameter %s%s", option, errors.show(name),
    errors.suggestion(tostring(name), self.parameters))
end

--- The same table with fewer points.
local function with_points(self, points)
  return setmetatable({ points = points }, { __index = self })
end

--- The points whose parameters have these values, written as in tables; raises if there is none.
---@param self blis.SweepTable
---@param wanted table<string, any>? nil = all points
---@return blis.SweepTable
function view.filtered(self, wanted)
  if wanted == nil then return self end
  if type(wanted) ~= "table" then
    errors.invalid("plot: where: %s: expected a table such as { rate = 40 }",
      errors.invalid_value(wanted))
  end
  local points = {}
  for name in pairs(wanted) do check_parameter(self, "where", name) end
  for _, point in ipairs(self.points) do
    local fits = true
    for name, value in pairs(wanted) do
      local own = plan.label_text(point.parameters[name])
      fits = fits and (point.parameters[name] == value or own == tostring(value))
    end
    if fits then points[#points + 1] = point end
  end
  if #points == 0 then errors.invalid("plot: where: no point has these values") end
  return with_points(self, points)
end

--- A view for each value of a parameter, with its title.
---@param self blis.SweepTable
---@param name string? nil = one view of all points
---@return { table: blis.SweepTable, title: string? }[]
function view.facets(self, name)
  if name == nil then return { { table = self } } end
  check_parameter(self, "facet", name)
  local list, by_value = {}, {}
  for _, point in ipairs(self.points) do
    local text = plan.label_text(point.parameters[name])
    if not by_value[text] then
      by_value[text] = { table = with_points(self, {}), title = ("%s=%s"):format(name, text) }
      list[#list + 1] = by_value[text]
    end
    table.insert(by_value[text].table.points, point)
  end
  local others = {}
  for _, other in ipairs(self.parameters) do
    if other ~= name then others[#others + 1] = other end
  end
  if #others == 0 then others = self.parameters end -- charts need an axis
  for _, one in ipairs(list) do one.table.parameters = others end
  return list
end

return view
