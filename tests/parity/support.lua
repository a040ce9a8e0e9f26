-- What the comparisons of commands with recorded cases share.
local command = require "blis.cli.command"
local core = require "blis.core"

local support = { shared = os.getenv("BLIS_SHARED_DIR") or "../shared" }

--- The text of a file, or nil.
function support.read_file(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

function support.differ(what, key, expected, got)
  return ("%s %s: expected %s, got %s"):format(what, key, tostring(expected), tostring(got))
end

--- The first metric that is not equal, apart from the rows of requests.
function support.compare_metrics(expected, got)
  for key, value in pairs(expected) do
    if key ~= "requests" and got[key] ~= value then
      return support.differ("metric", key, value, got[key])
    end
  end
end

local row_fields = { "ttft_ms", "itl_ms", "e2e_ms", "scheduling_delay_ms", "handled_by" }

--- rows are { id, ttft_ms, itl_ms, e2e_ms, scheduling_delay_ms, handled_by } in any order.
function support.compare_requests(rows, requests)
  if #rows ~= #requests then
    return support.differ("number of", "requests", #rows, #requests)
  end
  local by_id = {}
  for _, request in ipairs(requests) do by_id[request.requestID] = request end
  for _, row in ipairs(rows) do
    local request = by_id[row[1]]
    if not request then return ("request %s is missing"):format(row[1]) end
    for i, field in ipairs(row_fields) do
      if request[field] ~= row[i + 1] then
        return support.differ(row[1], field, row[i + 1], request[field])
      end
    end
  end
end

local function write_value(writer, key, value)
  if type(value) ~= "table" then
    if key then writer:field(key, value) else writer:item(value) end
    return
  end
  if #value > 0 then
    writer:array(key)
    for _, item in ipairs(value) do write_value(writer, nil, item) end
  else
    writer:object(key)
    local names = {}
    for name in pairs(value) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do write_value(writer, name, value[name]) end
  end
  writer:done()
end

local function to_json(value)
  local writer = core.json_writer(2)
  write_value(writer, nil, value)
  return writer:take()
end

--- Writes a text as it is, any other value as JSON, which is YAML, too.
function support.write_file(path, value)
  local output <close> = core.output(path)
  output:write(type(value) == "string" and value or to_json(value)):commit()
end

--- Sections of printed text by title.
function support.sections_of(text)
  local sections, lines = {}, nil
  for line in text:gmatch("[^\n]+") do
    local title = line:match("^=== (.*) ===$")
    if title then
      lines = {}
      sections[title] = lines
    elseif lines then
      lines[#lines + 1] = line
    end
  end
  return sections
end

--- Calls a command; returns what it printed, or nil and the message of its error.
function support.call(module, arguments)
  local parts, print_out = {}, command.print
  command.print = function(text) parts[#parts + 1] = text end
  local ok, problem = pcall(module.run, arguments)
  command.print = print_out
  if ok then return table.concat(parts) end
  return nil, type(problem) == "table" and problem.message or tostring(problem)
end

return support
