--- Results in files: saved results of blis run, and tables of their requests for other programs.
---
--- A file is text, a JSON value per line. The first line is an object:
---
---     { "blis_result": 1, "columns": [names], "figures": { ... } }
---
--- figures has every field of the result, in the same units and under the same names, except
--- requests, the groups that are computed from requests (by_slo_class, by_tenant, by_model), and
--- the verdict.
--- Each further line is an array, the record of one request in order of arrival, with a value per
--- column. A value that is not set is null. Numbers are written as short as they read back equal.
--- A result that kept no records ends with its first line.
---
--- The columns are the fields of src/cluster/lists/record_fields.h, in the order of that table.
local core = require "blis.core"
local errors = require "blis.errors"
local renamed = require("blis.deferred") "blis.results.renamed"
local row_file = require "blis.results.row_file"
local sorted = require "blis.sorted"

local result_file = {}

local version = 1

local header_names = { "blis_result", "columns", "figures" }

local group_keys = { by_slo_class = "slo_class", by_tenant = "tenant", by_model = "model",
  by_adapter = "adapter" }

---@class blis.RecordField a field of blis.RequestRecord
---@field name string
---@field type string of Lua: "integer?"
---@field when string condition on a result for the column to exist; "" = always
---@field saved boolean files of blis.save have it
---@field exported boolean export_requests writes it
---@field doc string

---@type blis.RecordField[]
local fields = core.record_fields()

local saved_columns = {}
for _, field in ipairs(fields) do
  if field.saved then saved_columns[#saved_columns + 1] = field.name end
end

--- Whether a result meets a condition such as "energy.kwh" (it has that part) or
--- "handoffs.encoded > 0".
local function meets(r, condition)
  local value
  for name in condition:match "^[%w_.]*":gmatch "[^.]+" do
    local key = math.tointeger(name) or name
    if value == nil then value = rawget(r, key) else value = value[key] end
    if not value then return false end
  end
  return value ~= 0 or not condition:find(" > 0", 1, true)
end

local write_value

--- A list, without the names that its items may have in addition to their positions.
local function write_list(writer, key, list)
  writer:array(key)
  for _, item in ipairs(list) do write_value(writer, nil, item) end
  writer:done()
end

local function write_object(writer, key, values)
  writer:object(key)
  for _, name in ipairs(sorted.names(values)) do write_value(writer, name, values[name]) end
  writer:done()
end

function write_value(writer, key, value)
  if type(value) == "table" then
    local write = value[1] ~= nil and write_list or write_object
    write(writer, key, value)
  elseif key then
    writer:field(key, value)
  else
    writer:item(value)
  end
end

--- The fields of a result that are written.
local function figures_of(r)
  local figures = {}
  for name, value in next, r do
    local is_derived = group_keys[name] or name == "verdict" or name == "expected_error"
    if type(value) ~= "userdata" and not is_derived then figures[name] = value end
  end
  return figures
end

local function write_records(output, records, names)
  for i = 1, #records do
    local record, writer = records[i], core.json_writer():array()
    for _, column in ipairs(names) do
      local value = record[column]
      if type(value) == "table" then write_list(writer, nil, value) else writer:item(value) end
    end
    output:write(writer:done():take()):write("\n")
  end
end

--- Names of the columns of a result: fields that a surface has, "saved" or "exported".
local function columns_of(r, surface)
  local names = {}
  for _, field in ipairs(fields) do
    if field[surface] and meets(r, field.when) then names[#names + 1] = field.name end
  end
  return names
end

--- Columns of the records of a run in a saved result.
---@param r blis.Result
---@return string[]
function result_file.columns(r) return columns_of(r, "saved") end

--- Writes a result to a file, whole or not at all.
---@param result blis.Result
---@param path string
function result_file.save(result, path)
  errors.check_path("save", path)
  local output <close> = core.output(path)
  local writer = core.json_writer():object():field("blis_result", version)
  local names = result_file.columns(result)
  write_list(writer, "columns", names)
  write_object(writer, "figures", figures_of(result))
  output:write(writer:done():take()):write("\n")
  if result.keeps_records then write_records(output, result.requests, names) end
  output:commit()
end

local function read_line(path, number, line, kind)
  local ok, value = pcall(core.json_read, line, "line")
  if not ok then
    errors.invalid("%s:%d: not a result of blis: %s", path, number,
      (tostring(value):gsub("^line:1: ", "")))
  end
  if type(value) ~= "table" then
    errors.invalid("%s:%d: expected %s", path, number, kind)
  end
  return value
end

local function check_header(path, line)
  local header = read_line(path, 1, line, "an object")
  if type(header.figures) ~= "table" or type(header.columns) ~= "table" then
    errors.invalid("%s:1: not a result of blis", path)
  end
  if header.blis_result ~= version then
    errors.invalid("%s:1: blis_result is %s, this program reads version %d; read it with the "
      .. "version of blis that wrote it", path, tostring(header.blis_result), version)
  end
  errors.check_names(header, header_names, path .. ":1")
  local named = {}
  for _, name in ipairs(header.columns) do named[name] = true end
  errors.check_names(named, saved_columns, path .. ":1", "column")
  return header
end

--- JSON has null where Lua has nothing.
local function without_nulls(value)
  if type(value) ~= "table" then return value end
  for key, item in pairs(value) do
    value[key] = item ~= core.json_null and without_nulls(item) or nil
    if item == false then value[key] = false end
  end
  return value
end

local function add_record(records, header, path, number, line)
  local row = read_line(path, number, line, "an array")
  local record = {}
  for i, column in ipairs(header.columns) do
    if row[i] ~= core.json_null then record[column] = without_nulls(row[i]) end
  end
  local ok, problem = pcall(records.add, records, record)
  if not ok then
    errors.invalid("%s:%d: %s", path, number, tostring(problem))
  end
end

local function read_records(next_line, header, path)
  local records, number = core.records(), 1
  for line in next_line do
    number = number + 1
    add_record(records, header, path, number, line)
  end
  if records:hash() ~= header.figures.hash then
    errors.invalid("%s: its requests have the result hash %s, but the file states %s; it was "
      .. "truncated or changed", path, records:hash(), tostring(header.figures.hash))
  end
  return records
end

--- Gives the classes of goodput their names as keys, as results have them.
local function name_classes(goodput, path)
  if goodput == nil then return end
  local list = type(goodput) == "table" and goodput.classes
  if type(list) ~= "table" then
    errors.invalid("%s:1: figures.goodput.classes is %s, expected a list", path, errors.show(list))
  end
  for i, item in ipairs(list) do
    if type(item) ~= "table" or type(item.name) ~= "string" then
      errors.invalid("%s:1: figures.goodput.classes[%d] has no name", path, i)
    end
    list[item.name] = item
  end
end

-- The first bytes of gzip and of zstd.
local packed_starts = { ["\x1f"] = true, ["\x28"] = true }

--- What gives the lines of a file one by one, and the first of them.
---@param start string its first byte
---@return fun(): string?
---@return string
local function lines_of(file, start, path)
  if packed_starts[start] then
    local next_line = core.unpacked(path):gmatch "[^\n]+"
    return next_line, next_line() or ""
  elseif start ~= "{" then -- a line of something else may have no end
    errors.invalid("%s:1: not a result of blis", path)
  end
  return file:lines(), start .. (file:read("l") or "")
end

-- What scripts have of files, and did not run.
local are_read = setmetatable({}, { __mode = "k" })

--- Reads a result that save wrote, with its requests if the file contains them.
---@param path string
---@return table
function result_file.read(path)
  errors.check_path("load", path)
  local file <close>, problem = core.open_input(path, "data")
  if not file then errors.invalid("cannot read %s", problem) end
  local start, why = file:read(1)
  if not start then
    errors.invalid("cannot read %s: %s", path, why or "the file is empty; expected a result of "
      .. "blis")
  end
  local next_line, head = lines_of(file, start, path)
  local header = check_header(path, head)
  local figures = without_nulls(header.figures)
  if figures.keeps_records then
    figures.requests = read_records(next_line, header, path)
    for name, key in pairs(group_keys) do
      local is_there = key ~= "adapter" or figures.lora ~= nil
      figures[name] = is_there and figures.requests:groups(key) or nil
    end
  end
  renamed.update(figures)
  name_classes(figures.goodput, path)
  are_read[figures] = true
  return figures
end

--- Whether a result is of a file, and not of a run of this script.
---@param r blis.Result
---@return boolean
function result_file.was_read(r) return are_read[r] == true end

-- Fields of a task.
local task_columns = { "program", "play", "state", "requests", "submitted", "completed",
  "path_requests", "start_us", "end_us", "queue_us", "prefill_us", "decode_us", "tool_us",
  "delay_us", "request_us", "waited_us", "prompt_tokens", "output_tokens",
  "cached_tokens", "cached_share" }

--- Writes the tasks of session graphs for other programs, as export_requests does requests.
---@param result blis.Result
---@param path string
function result_file.export_tasks(result, path)
  local tasks = result.requests:tasks()
  row_file.write(path, task_columns, #tasks, function(index) return tasks[index] end)
end

--- Writes the records of all requests for other programs: CSV in NAME.csv, JSON lines in
--- NAME.jsonl. Each KV tier has a column of its own for its tier_tokens: "tier_cpu_tokens".
---@param result blis.Result
---@param path string
function result_file.export_requests(result, path)
  local records, names, tier_names = result.requests, {}, {}
  for _, name in ipairs(columns_of(result, "exported")) do
    if name == "tier_tokens" then
      for i, tier in ipairs(rawget(result, "kv_tiers").tiers) do
        tier_names[i] = "tier_" .. tier.name .. "_tokens"
        names[#names + 1] = tier_names[i]
      end
    else
      names[#names + 1] = name
    end
  end
  row_file.write(path, names, #records, function(index)
    local record = records[index]
    for i, tokens in ipairs(record.tier_tokens or {}) do record[tier_names[i]] = tokens end
    return record
  end)
end

return result_file
