--- Results in files: what blis run computed, for later and for others.
---
--- A file is text, a JSON value per line. The first line is an object:
---
---     { "blis_result": 1, "columns": [names], "figures": { ... } }
---
--- figures has every field of the result, in the same units and under the same names, but requests
--- and what is worked out of them again (by_slo_class, by_tenant, by_model). Each further line is
--- an array, the record of one request in order of arrival, with a value per column; times that
--- never came are null. After a cascade the last column is attempts, a list of objects. Numbers are
--- written as short as they read back equal. A result that kept no records ends with its first
--- line.
local core = require "blis.core"
local errors = require "blis.errors"
local row_file = require "blis.results.row_file"
local sorted = require "blis.sorted"

local result_file = {}

local version = 1

local header_names = { "blis_result", "columns", "figures" }

-- What a record is made of; id follows from number, session and round.
local columns = { "number", "state", "instance", "arrival_us", "ttft_us", "scheduling_delay_us",
  "e2e_us", "end_us", "itl_sum_us", "itl_count", "prompt_tokens", "output_tokens", "tenant",
  "slo_class", "model", "session", "round_index", "was_counted", "reason",
  "had_hit" }

local group_keys = { by_slo_class = "slo_class", by_tenant = "tenant", by_model = "model",
  by_adapter = "adapter" }

-- With those that are there where there is something to say.
local known_columns = { "gateway_wait_us", "adapter", "adapter_wait_us", "drafted_tokens",
  "accepted_tokens", "energy_j", "carbon_g", "priority", "attempts", "program",
  table.unpack(columns) }

local of_adapters = { "adapter", "adapter_wait_us" }
local of_drafts = { "drafted_tokens", "accepted_tokens" }
local of_encodes = { "encode_instance", "encode_start_us", "encode_end_us" }
local of_handoffs = { "prefill_instance", "prefill_admitted_us", "prefill_end_us",
  "transfer_start_us", "transfer_end_us", "moved_bytes", "prefill_e2e_us", "decode_e2e_us" }
local of_tiers = { "cached_tokens", "tier_tokens" }

local function append(names, more) table.move(more, 1, #more, #names + 1, names) end

append(known_columns, of_encodes)
append(known_columns, of_handoffs)
append(known_columns, of_tiers)

--- Records have them where requests are not equally urgent.
local function has_priorities(r)
  local first = rawget(r, "requests") and r.requests[1]
  return first and first.priority
end

local write_value

--- A list, without the names that its items may have beside their places.
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
    if type(value) ~= "userdata" and not group_keys[name] then figures[name] = value end
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

--- Records have them where somebody says what GPUs draw, and what a kWh emits.
local function append_energy(names, r)
  local given = rawget(r, "energy") or {}
  if given.kwh then names[#names + 1] = "energy_j" end
  if given.carbon_g then names[#names + 1] = "carbon_g" end
end

--- Columns of the records of a run; those of a cascade have one more.
---@param r blis.Result
---@return string[]
function result_file.columns(r)
  local names = table.move(columns, 1, #columns, 1, {})
  if rawget(r, "queue") then names[#names + 1] = "gateway_wait_us" end
  if rawget(r, "lora") then append(names, of_adapters) end
  if rawget(r, "speculation") then append(names, of_drafts) end
  local handoffs = rawget(r, "handoffs")
  if handoffs then append(names, of_handoffs) end
  if handoffs and handoffs.encoded > 0 then append(names, of_encodes) end
  if rawget(r, "kv_tiers") then append(names, of_tiers) end
  append_energy(names, r)
  if has_priorities(r) then names[#names + 1] = "priority" end
  if rawget(r, "cascade") then names[#names + 1] = "attempts" end
  if rawget(r, "tasks") then names[#names + 1] = "program" end
  return names
end

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
  errors.check_names(named, known_columns, path .. ":1", "column")
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
    errors.invalid("%s: its requests have the result hash %s, but it says %s; the file was cut or "
      .. "changed", path, records:hash(), tostring(header.figures.hash))
  end
  return records
end

--- Items of a list by their names, as results have them.
local function name_items(list)
  for _, item in ipairs(list) do list[item.name] = item end
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

--- The figures of a result that save wrote, with its requests if it kept them.
---@param path string
---@return table
function result_file.read(path)
  errors.check_path("load", path)
  local file <close>, problem = io.open(path, "r")
  if not file then errors.invalid("cannot read %s", problem) end
  local start, why = file:read(1)
  if not start then
    errors.invalid("cannot read %s: %s", path, why or "it is empty, not a result of blis")
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
  if figures.goodput then name_items(figures.goodput.classes) end
  are_read[figures] = true
  return figures
end

--- Whether a result is of a file, and not of a run of this script.
---@param r blis.Result
---@return boolean
function result_file.was_read(r) return are_read[r] == true end

-- What is known of a task.
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

--- A record with its tokens by tier as fields of their own.
local function with_tiers(record, names)
  for i, tokens in ipairs(record.tier_tokens or {}) do record[names[i]] = tokens end
  return record
end

--- Names of the columns of these: "tier_cpu_tokens".
local function tier_columns(tiers)
  local names = {}
  for i, tier in ipairs(tiers) do names[i] = "tier_" .. tier.name .. "_tokens" end
  return names
end

--- Writes the records of all requests for other programs: CSV in NAME.csv, JSON lines in
--- NAME.jsonl.
---@param result blis.Result
---@param path string
function result_file.export_requests(result, path)
  local records, names = result.requests, { "id", table.unpack(columns) }
  if rawget(result, "queue") then
    append(names, { "gateway_wait_us", "status_code" })
  end
  if rawget(result, "lora") then append(names, of_adapters) end
  if rawget(result, "speculation") then append(names, of_drafts) end
  local tiers = rawget(result, "kv_tiers")
  local of_each = tier_columns(tiers and tiers.tiers or {})
  if tiers then
    names[#names + 1] = "cached_tokens"
    append(names, of_each)
  end
  append_energy(names, result)
  if has_priorities(result) then names[#names + 1] = "priority" end
  if rawget(result, "cascade") then
    append(names, { "steps", "model_used", "verdict" })
  end
  if rawget(result, "tasks") then names[#names + 1] = "program" end
  row_file.write(path, names, #records, function(index)
    return with_tiers(records[index], of_each)
  end)
end

return result_file
