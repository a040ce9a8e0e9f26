--- Assigns the modules that draw results and sweep tables to blis.drawing. Each module is loaded on
--- its first use.
local deferred = require "blis.deferred"
local drawing = require "blis.drawing"

drawing.result_charts = deferred "blis.charts"
drawing.result_page = deferred "blis.page.result"
drawing.search_page = deferred "blis.page.search"
drawing.sweep_charts = deferred "blis.charts.sweep"
drawing.sweep_page = deferred "blis.page.sweep"
