--- The result of a run as a summary, as JSON and as CSV.
local core = require "blis.core"
local detectors = require "blis.cli.detectors"
local decisions = require "blis.results.decisions"
local figures = require "blis.results.figures"
local listing = require "blis.listing"
local over_time = require "blis.results.series"
local saturation = require "blis.results.saturation"
local sorted = require "blis.sorted"

local result_text = {}

--- Fields of a table in this order, without those that are not there.
local function write_fields(writer, names, values)
  for _, name in ipairs(names) do
    if values[name] ~= nil then writer:field(name, values[name]) end
  end
end

local function write_object(writer, key, names, values)
  writer:object(key)
  write_fields(writer, names, values)
  writer:done()
end

local function write_list(writer, name, list, write)
  writer:array(name)
  for _, item in ipairs(list) do write(item) end
  writer:done()
end

--- A number, a text, or a table of such and of tables: a list, or fields in the order of names.
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

local setup_fields = { "model", "hardware", "tp", "dp", "instances", "latency_model", "kv_blocks",
  "kv_blocks_computed", "block_size", "max_model_len" }

local function write_setup(writer, result)
  local setup = result.setup
  writer:object("setup")
  write_fields(writer, setup_fields, setup)
  writer:field("seed", setup.seed)
  local groups = rawget(setup, "groups")
  if groups then
    writer:array("groups")
    for _, group in ipairs(groups) do
      write_object(writer, nil, setup_fields, group)
    end
    writer:done()
  end
  local coverage = rawget(setup, "coverage")
  if coverage then
    write_object(writer, "coverage", { "fitted_on", "limits", "extrapolated" }, coverage)
  end
  writer:array("notes")
  for note in setup.notes:gmatch("[^\n]+") do writer:item(note) end
  writer:done():done()
end

local function write_series(writer, series)
  writer:array("series")
  for i = 1, series.rows do
    write_object(writer, nil, over_time.columns(series), over_time.row(series, i))
  end
  writer:done()
end

-- How figures are written that are neither scalars nor of a class of figures, by their types.
local special = {
  table = function(writer, _, run) write_setup(writer, run.result) end,
  ["blis.Series"] = write_series,
  ["blis.Decisions"] = function(writer, _, run)
    if not run.decisions then return end
    write_object(writer, "decisions", { "total", "admitted", "rejected", "routed",
      "unique_targets", "mean_regret", "max_regret" }, run.decisions:summary())
  end,
  ["blis.Requests"] = function() end, -- a file of their own
  ["blis.SloTarget"] = function(writer, targets)
    write_object(writer, "targets", { "ttft_ms", "itl_ms", "e2e_ms" }, targets)
  end,
}

local write_figures

local function write_figure(writer, figure, value, run)
  local name = figure.name
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

--- Writes the figures that there are as fields of the object that is open.
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

--- One object with the figures of blis.Result under their names there; series as a list of rows,
--- decisions summed up, and fitness and saturation where they were asked for.
---@param run blis.cli.Run
---@return string
function result_text.json(run)
  local writer = core.json_writer(2):object()
  write_figures(writer, "Result", run.result, run)
  if run.fitness then write_fitness(writer, run.fitness) end
  if run.saturation then saturation.write_final(writer, "saturation", run.saturation) end
  return writer:done():take() .. "\n"
end

--- The numbers of a table by their paths; its columns are added to those there are.
local function csv_row(columns, class, values)
  local row = {}
  for _, path in ipairs(figures.paths(class)) do
    local figure, value = figures.find(path, values, class)
    if path == figure.name then value = figures.value(values, figure) end
    if value and not columns[path] then
      columns[#columns + 1] = { key = path }
      columns[path] = true
    end
    row[path] = value
  end
  return row
end

--- A line for the cluster and one for every instance, with a column per number of blis.Result:
--- completed, ttft_ms.p99, goodput.attainment, ...
---@param run blis.cli.Run
---@return string
function result_text.csv(run)
  local columns = { { key = "id" } }
  local rows = { csv_row(columns, "Result", run.result) }
  rows[1].id = "cluster"
  for i, instance in ipairs(run.result.instances) do
    rows[i + 1] = csv_row(columns, "InstanceFigures", instance)
    rows[i + 1].id = instance.id
  end
  return listing.text({ columns = columns, rows = rows }, "csv")
end

--- The summary that people read.
---@param run blis.cli.Run
---@return string
function result_text.table(run)
  local parts = { tostring(run.result) .. "\n" }
  if run.fitness then
    local components = {}
    for i, one in ipairs(run.fitness.components) do
      components[i] = ("%s %.6f"):format(one[1], one[2])
    end
    parts[#parts + 1] = ("fitness %.6f (%s)\n"):format(run.fitness.score,
      table.concat(components, ", "))
  end
  if run.saturation then
    parts[#parts + 1] = ("saturation %s\n"):format(detectors.text(run.saturation))
  end
  if run.decisions then parts[#parts + 1] = "\n" .. decisions.text(run.decisions) .. "\n" end
  return table.concat(parts)
end

return result_text
