--- Lists of things as a table, as JSON or as CSV.
local core = require "blis.core"
local csv = require "blis.csv"
local format = require "blis.format"

local listing = {}

---@class blis.Column
---@field key string
---@field title string
---@field show? fun(value: any, row: table): string how people read it
---@field is_text? boolean to the left
---@field write? fun(writer: userdata, value: any) a value that is no scalar and no list, for JSON
---@field is_hidden? boolean not for tables

---@class blis.Listing
---@field columns blis.Column[]
---@field rows table[]

--- A value as people read it.
function listing.show(value)
  if value == nil then return "-" end
  if math.type(value) == "integer" then return format.count(value) end
  if type(value) == "number" then return ("%.14g"):format(value) end
  if type(value) == "boolean" then return value and "yes" or "no" end
  if type(value) == "table" then
    return #value == 0 and "-" or table.concat(value, ", ")
  end
  return tostring(value)
end

local function shown(columns)
  local some = {}
  for _, column in ipairs(columns) do
    if not column.is_hidden then some[#some + 1] = column end
  end
  return some
end

local function as_table(list)
  local header, rows, is_left = {}, {}, {}
  local columns = shown(list.columns)
  for i, column in ipairs(columns) do
    header[i] = column.title
    is_left[i] = column.is_text
  end
  for r, row in ipairs(list.rows) do
    rows[r] = {}
    for i, column in ipairs(columns) do
      rows[r][i] = (column.show or listing.show)(row[column.key], row)
    end
  end
  return format.table(header, rows, nil, is_left) .. "\n"
end

local function write_value(writer, column, value)
  if type(value) ~= "table" then
    writer:field(column.key, value)
    return
  end
  writer:array(column.key)
  if column.write then
    column.write(writer, value)
    writer:done()
    return
  end
  for _, item in ipairs(value) do writer:item(item) end
  writer:done()
end

local function as_json(list)
  local writer = core.json_writer(2):array()
  for _, row in ipairs(list.rows) do
    writer:object()
    for _, column in ipairs(list.columns) do
      if row[column.key] ~= nil then write_value(writer, column, row[column.key]) end
    end
    writer:done()
  end
  return writer:done():take() .. "\n"
end

local function as_csv(list)
  local lines, cells = {}, {}
  for i, column in ipairs(list.columns) do cells[i] = csv.field(column.key) end
  lines[1] = table.concat(cells, ",")
  for r, row in ipairs(list.rows) do
    for i, column in ipairs(list.columns) do cells[i] = csv.field(row[column.key]) end
    lines[r + 1] = table.concat(cells, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

local formats = { table = as_table, json = as_json, csv = as_csv }

--- The text of a list.
---@param list blis.Listing
---@param name "table"|"json"|"csv"
---@return string
function listing.text(list, name)
  return formats[name](list)
end

return listing
