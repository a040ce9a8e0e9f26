--- The single trials of a sweep, a row each, for other programs.
local core = require "blis.core"
local csv = require "blis.csv"
local plan = require "blis.sweep.plan"
local record = require "blis.sweep.record"
local runner = require "blis.sweep.runner"
local write = require "blis.sweep.write"

local export = {}

---@class blis.sweep.Rows
---@field columns string[]
---@field rows any[][] nil where there is nothing

local function row_of(self, trial, one, metrics)
  local row, n = {}, 0
  local function add(value)
    n = n + 1
    row[n] = value
  end
  for _, name in ipairs(self.names) do add(self.points[trial.point].labels[name]) end
  add(trial.replication)
  add(trial.seed)
  add(one.status)
  add(one.reason)
  add(one.hash)
  for _, name in ipairs(metrics) do add(one.values and one.values[name]) end
  return row
end

--- All trials that were run, in the order of the plan.
---@param self blis.sweep.Plan
---@param known table<string, blis.sweep.Record>
---@return blis.sweep.Rows
function export.rows(self, known)
  local metrics = record.metric_names(self, known)
  local columns = table.move(self.names, 1, #self.names, 1, {})
  for _, name in ipairs { "replication", "seed", "status", "reason", "hash" } do
    columns[#columns + 1] = name
  end
  table.move(metrics, 1, #metrics, #columns + 1, columns)
  local rows = {}
  for i = 1, #self.points do
    for r = 1, runner.wanted(self, known, i) do
      local trial = self.trials[plan.index(self, i, r)]
      local one = known[trial.key]
      if one then rows[#rows + 1] = row_of(self, trial, one, metrics) end
    end
  end
  return { columns = columns, rows = rows }
end

--- The rows as CSV.
---@param list blis.sweep.Rows
---@return string
function export.csv(list)
  local lines, cells = {}, {}
  for i, name in ipairs(list.columns) do cells[i] = csv.field(name) end
  lines[1] = table.concat(cells, ",")
  for r, row in ipairs(list.rows) do
    for i = 1, #list.columns do cells[i] = csv.field(row[i]) end
    lines[r + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The rows as a JSON array of objects.
---@param list blis.sweep.Rows
---@return string
function export.json(list)
  local writer = core.json_writer(1):array()
  for _, row in ipairs(list.rows) do
    writer:object()
    for i, name in ipairs(list.columns) do
      if row[i] ~= nil then writer:field(name, row[i]) end
    end
    writer:done()
  end
  return writer:done():take() .. "\n"
end

--- Writes the rows as the table "trials" of an SQLite database.
---@param list blis.sweep.Rows
---@param path string
function export.write_sqlite(list, path)
  core.sqlite_write(path, { { name = "trials", columns = list.columns, rows = list.rows } })
end

export.write_file = write.file

return export
