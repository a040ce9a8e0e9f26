--- Tables in files, for other programs: as CSV, or as JSON lines when the name ends in .jsonl.
local core = require "blis.core"
local csv = require "blis.csv"
local errors = require "blis.errors"

local row_file = {}

-- Names of files that readers would take for something else.
local other_formats = { avro = true, xlsx = true, json = true, db = true, sqlite = true, gz = true,
  zst = true }

local function json_line(row, names)
  local writer = core.json_writer():object()
  for _, name in ipairs(names) do
    if row[name] ~= nil then writer:field(name, row[name]) end
  end
  return writer:done():take()
end

local function csv_line(row, names)
  local cells = {}
  for i, name in ipairs(names) do cells[i] = csv.field(row[name]) end
  return table.concat(cells, ",")
end

--- Writes a table; whole or not at all.
---@param path string
---@param names string[] of the columns
---@param count integer of rows
---@param row_at fun(index: integer): table with a value by the name of each column
function row_file.write(path, names, count, row_at)
  errors.check_path("export", path)
  local other = path:lower():match "%.(%w+)$"
  if other_formats[other] then
    errors.invalid("export: '%s' would not be a file of that kind; tables are written as CSV (any "
      .. "other name) or JSON lines (.jsonl)", path)
  end
  local line_of = path:match("%.jsonl$") and json_line or csv_line
  local output <close> = core.output(path)
  if line_of == csv_line then output:write(table.concat(names, ",")):write("\n") end
  for i = 1, count do output:write(line_of(row_at(i), names)):write("\n") end
  output:commit()
end

return row_file
