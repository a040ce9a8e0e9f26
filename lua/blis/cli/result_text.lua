--- The result of a run as a summary, as JSON and as CSV.
local detectors = require "blis.cli.detectors"
local decisions = require "blis.results.decisions"
local figures = require "blis.results.figures"
local json = require "blis.results.json"
local listing = require "blis.listing"

local result_text = { json = json.text }

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
