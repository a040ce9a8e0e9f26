--- SLO targets of a run as lines of charts.
local targets = {}

---@class blis.charts.Limit
---@field axis "x"|"y"
---@field at number in the unit of the axis
---@field text string

-- More lines would hide the data.
local most_lines = 4

--- The targets of a run by class; empty without targets.
---@param r blis.Result
---@return blis.SloTarget[]
function targets.all(r)
  local list = {}
  for _, class in ipairs((rawget(r, "goodput") or {}).classes or {}) do
    if class.targets then list[#list + 1] = class.targets end
  end
  return list
end

--- Lines of one time; nil without such a target, and with too many classes.
---@param r blis.Result
---@param name "ttft_ms"|"itl_ms"|"e2e_ms"
---@param axis "x"|"y"
---@return blis.charts.Limit[]?
function targets.of(r, name, axis)
  local lines, all = {}, targets.all(r)
  for _, target in ipairs(all) do
    if target[name] then
      lines[#lines + 1] = { axis = axis, at = target[name],
        text = ("SLO%s %g ms"):format(#all > 1 and " of " .. target.slo_class or "",
          target[name]) }
    end
  end
  return #lines > 0 and #lines <= most_lines and lines or nil
end

return targets
