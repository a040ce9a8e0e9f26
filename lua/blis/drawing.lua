--- The modules that draw results and sweep tables. Results and sweeps call a drawing module through
--- this table, because the drawing modules are above them in the order of the modules.
--- blis.drawing_modules assigns every entry when the program or a script starts.

---@class blis.Drawing
---@field result_charts table blis.charts
---@field result_page table blis.page.result
---@field search_page table blis.page.search
---@field sweep_charts table blis.charts.sweep
---@field sweep_page table blis.page.sweep
local drawing = {}

return setmetatable(drawing, {
  __index = function(_, name)
    error(("blis.drawing: '%s' is not set; require blis.drawing_modules first"):format(name), 2)
  end,
})
