--- The metrics of a run as JSON, for --format json and pages.
local core = require "blis.core"
local figures = require "blis.results.figures"
local parts = require "blis.json"
local over_time = require "blis.results.series"
local saturation = require "blis.results.saturation"
local sorted = require "blis.sorted"
local verdict = require "blis.results.verdict"

--- Format identifier: share/schema/blis-result-1.json.
local json = { format = "blis-result-1" }

local function write_list(writer, name, list, write)
  writer:array(name)
  for _, item in ipairs(list) do write(item) end
  writer:done()
end

--- A number, a string, or a table of these: a list, or fields in the order of names.
local function write_any(writer, key, value)
  if type(value) ~= "table" then
    if key then writer:field(key, value) else writer:item(value) end
  elseif #value > 0 or next(value) == nil then
    write_list(writer, key, value, function(item) write_any(writer, nil, item) end)
  else
    writer:object(key)
    for _, name in ipairs(sorted.names(value)) do write_any(writer, name, value[name]) end
    writer:done()
  end
end

local setup_fields = { "model", "hardware", "tp", "dp", "ranks", "instances", "latency_model",
  "kv_blocks", "kv_blocks_computed", "block_size", "max_model_len" }

local function write_setup(writer, result)
  local setup = result.setup
  writer:object("setup")
  parts.write_fields(writer, setup_fields, setup)
  writer:field("seed", setup.seed)
  parts.write_fields(writer, { "defaults" }, setup)
  local groups = rawget(setup, "groups")
  if groups then
    writer:array("groups")
    for _, group in ipairs(groups) do
      parts.write_object(writer, nil, setup_fields, group)
    end
    writer:done()
  end
  local coverage = rawget(setup, "coverage")
  if coverage then
    parts.write_object(writer, "coverage", { "fitted_on", "limits", "extrapolated" }, coverage)
  end
  writer:array("notes")
  for note in setup.notes:gmatch("[^\n]+") do writer:item(note) end
  writer:done():done()
end

local function write_series(writer, series)
  writer:array("series")
  for i = 1, series.rows do
    parts.write_object(writer, nil, over_time.columns(series), over_time.row(series, i))
  end
  writer:done()
end

-- Writers for metrics that are neither scalars nor classes, by type.
local special = {
  table = function(writer, _, run) write_setup(writer, run.result) end,
  ["blis.Series"] = function(writer, series, run)
    if not run.leaves_out_series then write_series(writer, series) end
  end,
  ["blis.Decisions"] = function(writer, _, run)
    if not run.decisions then return end
    parts.write_object(writer, "decisions", { "total", "admitted", "rejected", "routed",
      "unique_targets", "mean_regret", "max_regret" }, run.decisions:summary())
  end,
  ["blis.Requests"] = function() end, -- a separate file
  ["blis.StepLog"] = function() end, -- for timelines
  ["blis.TimelineLog"] = function() end,
  ["blis.SloTarget"] = function(writer, targets)
    parts.write_object(writer, "targets", { "ttft_ms", "itl_ms", "e2e_ms" }, targets)
  end,
}

local write_figures

local function write_figure(writer, figure, value, run)
  local name = figure.name
  if figure.class == "RunVerdict" then return end -- it is the first object
  local function write_part(key, part)
    writer:object(key)
    write_figures(writer, figure.class, part, run)
    writer:done()
  end
  if special[figure.type] then
    special[figure.type](writer, value, run)
  elseif figure.is_list or figure.is_named then
    write_list(writer, name, value, function(item) write_part(nil, item) end)
  elseif figure.class then
    if next(value) ~= nil then write_part(name, value) end
  else
    write_any(writer, name, value)
  end
end

--- Writes the available metrics as fields of the open object.
function write_figures(writer, class, values, run)
  for _, figure in ipairs(figures.of(class)) do
    local value = figures.value(values, figure)
    if value ~= nil then write_figure(writer, figure, value, run) end
  end
end

local function write_fitness(writer, fitness)
  writer:object("fitness"):field("score", fitness.score):object("components")
  for _, one in ipairs(fitness.components) do writer:field(one[1], one[2]) end
  writer:done():done()
end

--- Writes one object with the metrics of blis.Result; series as a list of rows, a summary of
--- decisions, and fitness and saturation if requested.
---@param writer table
---@param run blis.cli.Run
---@param key? string of the object
function json.write(writer, run, key)
  writer:object(key):field("format", json.format)
  verdict.write(writer, run.result.verdict)
  write_figures(writer, "Result", run.result, run)
  if run.fitness then write_fitness(writer, run.fitness) end
  if run.saturation then saturation.write_final(writer, "saturation", run.saturation) end
  writer:done()
end

--- The same JSON as a string.
---@param run blis.cli.Run
---@return string
function json.text(run)
  local writer = core.json_writer(2)
  json.write(writer, run)
  return writer:take() .. "\n"
end

return json
