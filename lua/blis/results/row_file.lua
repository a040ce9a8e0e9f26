--- Tables in files, for other programs: CSV in NAME.csv, JSON lines in NAME.jsonl.
local core = require "blis.core"
local csv = require "blis.csv"
local endings = require "blis.endings"

local row_file = {}

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

local function header_line(names)
  local cells = {}
  for i, name in ipairs(names) do cells[i] = csv.field(name) end
  return table.concat(cells, ",")
end

--- Writes a table; whole or not at all.
---@param path string
---@param names string[] of the columns
---@param count integer of rows
---@param row_at fun(index: integer): table with a value by the name of each column
function row_file.write(path, names, count, row_at)
  endings.check("export", path, endings.rows)
  local line_of = path:lower():match "%.jsonl$" and json_line or csv_line
  local output <close> = core.output(path)
  if line_of == csv_line then output:write(header_line(names)):write("\n") end
  for i = 1, count do output:write(line_of(row_at(i), names)):write("\n") end
  output:commit()
end

return row_file
