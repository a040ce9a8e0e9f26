--- Trace formats in Lua: those of scripts (blis.trace_format), and importers that blis includes.
--- A run that reads no such file does not load this module.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local trace_file = require "blis.traffic.trace_file"
local trace_section = require "blis.config.trace"
local workload_section = require "blis.config.workload"

local trace_formats = {}

-- Formats of scripts, in the order in which they are tried, and by name.
local registered, by_name = {}, {}

local function add_choice(section, name)
  for _, option in ipairs(section.options) do
    if option.name == "format" then option.choices[#option.choices + 1] = name end
  end
end

local function check_name(name)
  if not name:find "^[%w][%w._%-]*$" then
    errors.invalid("trace_format.name: invalid value '%s': expected letters, digits, '.', '_', "
      .. "and '-'", errors.escaped(name))
  end
  for _, format in ipairs(trace_formats.list()) do
    if format.name == name then
      errors.invalid("trace_format.name: a format '%s' exists already", name)
    end
  end
end

--- Adds a format of traces. Afterwards, files that recognize accepts are traces wherever blis
--- takes the path of one: `blis.trace.read`, `workload = { trace = PATH }`, `blis replay`, `blis
--- trace`, and, for graphs, `--graphs` and `blis.session_graphs`. On the command line, `-l MODULE`
--- loads the script that adds it: `blis -l my_format replay FILE`.
---
--- recognize(head) is tried before built-in formats. A row has the fields of a request of a script:
--- arrival_us, prompt_tokens (or content), output_tokens, and others such as session and tenant. A
--- graph is a list of requests, as in `workload = { graphs = ... }`. Rows need no order: blis sorts
--- them by arrival, and the first one arrives at time 0.
---@param format blis.TraceFormatOptions
---@return string name
function trace_formats.add(format)
  local read = schema.read(trace_section.format, format, "trace_format")
  check_name(read.name)
  registered[#registered + 1], by_name[read.name] = read, read
  add_choice(read.returns == "graphs" and workload_section.graph_file or trace_section.read,
    read.name)
  return read.name
end

--- A format that blis includes.
local function builtin(name)
  local module = trace_section.importers[name]
  return module and require(module)
end

local function builtin_names()
  local names = {}
  for name in pairs(trace_section.importers) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- All formats that can be read: those of the core, included importers, and formats of scripts.
---@return { name: string, summary: string }[]
function trace_formats.list()
  local all = core.trace_formats()
  for _, format in ipairs(core.graph_formats()) do all[#all + 1] = format end
  for _, name in ipairs(builtin_names()) do
    all[#all + 1] = { name = name, summary = builtin(name).summary }
  end
  for _, format in ipairs(registered) do
    all[#all + 1] = { name = format.name, summary = format.summary or "a format of a script" }
  end
  return all
end

--- The formats of requests, without those of session graphs.
---@return { name: string, summary: string }[]
function trace_formats.rows()
  local rows, is_graph = {}, {}
  for _, format in ipairs(core.graph_formats()) do is_graph[format.name] = true end
  for _, format in ipairs(trace_formats.list()) do
    local in_lua = by_name[format.name] or builtin(format.name)
    local returns = in_lua and in_lua.returns
    if not is_graph[format.name] and returns ~= "graphs" then
      rows[#rows + 1] = core.printable(format)
    end
  end
  return core.printable(rows)
end

--- The format of a file: the one that options name, or the first one of candidates that recognizes
--- it; nil without one.
local function find(path, wanted, returns, candidates)
  if wanted then return by_name[wanted] or builtin(wanted) end
  local ok, head = pcall(core.file_head, path)
  if not ok then return nil end
  for _, format in ipairs(candidates) do
    if format.returns == returns and format.recognize and format.recognize(head) then
      return format
    end
  end
end

--- The format of a script that reads a file, or the format that options name.
---@param path string
---@param wanted? string
---@param returns "rows"|"graphs"
---@return blis.TraceFormatOptions?
function trace_formats.of_script(path, wanted, returns)
  return find(path, wanted, returns, path == "-" and {} or registered)
end

--- The included format that reads a file that the core does not recognize.
---@param path string
---@param returns "rows"|"graphs"
---@return blis.TraceFormatOptions?
function trace_formats.included(path, returns)
  local candidates = {}
  for i, name in ipairs(builtin_names()) do candidates[i] = builtin(name) end
  return find(path, nil, returns, path == "-" and {} or candidates)
end

--- Lines about why a file is of no format in Lua.
---@param returns "rows"|"graphs"
---@return string
function trace_formats.explain(returns)
  local lines = {}
  for _, name in ipairs(builtin_names()) do
    local format = builtin(name)
    if format.returns == returns then
      lines[#lines + 1] = ("  %s: needs %s"):format(name, format.needs)
    end
  end
  for _, format in ipairs(registered) do
    if format.returns == returns then
      lines[#lines + 1] = ("  %s: %s"):format(format.name, format.recognize
        and "its function 'recognize' returned false" or "it has no function 'recognize'")
    end
  end
  return table.concat(lines, "\n")
end

-- Content.

--- The tables that a format has read, as a list.
local function collect(format, file, limit)
  local path, result = file.path, format.read(file)
  if type(result) ~= "table" and type(result) ~= "function" then
    errors.invalid("%s: read of format '%s' returned %s, expected a list or a function", path,
      format.name, errors.show(result))
  end
  local is_list, list = type(result) == "table", {}
  for i = 1, limit > 0 and limit or math.maxinteger do
    local item
    if is_list then item = result[i] else item = result() end
    if item == nil then break end
    if type(item) ~= "table" then
      errors.invalid("%s: item %d of format '%s' is %s, expected a table", path, i, format.name,
        errors.show(item))
    end
    list[i] = item
  end
  if #list == 0 then
    errors.raise("parse", ("%s: the trace has no rows (format '%s')"):format(path, format.name))
  end
  return list
end

--- A time in whole microseconds.
local function time_of(item, key, path, number)
  local time = item[key]
  if math.type(time) == "integer" and time >= 0 then return time end
  local rounded = math.type(time) == "float" and time == time and math.tointeger((time + 0.5) // 1)
  if not rounded or rounded < 0 then
    errors.invalid("%s: item %d: %s is %s, expected microseconds of at least 0", path, number, key,
      errors.show(time))
  end
  return rounded
end

--- Orders items by their times, which then count from the first one.
local function order(list, key, path)
  local first, last, is_sorted = math.maxinteger, 0, true
  for i, item in ipairs(list) do
    local time = time_of(item, key, path, i)
    if time < last then is_sorted = false end
    if time < first then first = time end
    last, item[key] = time, time
  end
  if not is_sorted then
    local place = {}
    for i, item in ipairs(list) do place[item] = i end
    table.sort(list, function(a, b)
      if a[key] ~= b[key] then return a[key] < b[key] end
      return place[a] < place[b]
    end)
  end
  for _, item in ipairs(list) do item[key] = item[key] - first end
end

--- The requests of a file.
---@param format blis.TraceFormatOptions
---@param path string
---@param options table
---@return blis.Workload
function trace_formats.read_rows(format, path, options)
  local list = collect(format, trace_file.new(path, options), options.limit or 0)
  order(list, "arrival_us", path)
  local name, i = path:match "[^/]*$", 0
  return core.workload_of_function(function()
    i = i + 1
    return list[i]
  end, name, #list, 0, format.name, ("%s trace %s"):format(format.name, name))
end

--- Session graphs that a format in Lua has read; the methods of a blis.GraphFile.
---@class blis.ReadGraphs
local graph_methods = {}
graph_methods.__index = graph_methods

function graph_methods:about()
  return { format = self.format, graphs = #self.graphs, requests = self.requests,
    has_starts = self.has_starts }
end

function graph_methods:list(count)
  local list = {}
  for i = 1, math.min(count or #self.graphs, #self.graphs) do
    list[i] = core.show_graph(self.graphs[i], self.path, i)
  end
  return list
end

function graph_methods:notes() return table.move(self.given_notes, 1, #self.given_notes, 1, {}) end

function graph_methods:__len() return #self.graphs end

--- The graphs, without their starts if something else starts them.
---@param has_starter boolean
---@return table[]
function graph_methods:played(has_starter)
  if not has_starter or not self.has_starts then return self.graphs end
  local list = {}
  for i, graph in ipairs(self.graphs) do
    local copy = {}
    for key, value in pairs(graph) do copy[key] = key ~= "start_us" and value or nil end
    list[i] = copy
  end
  return list
end

--- Whether a value is what read_graphs returned.
---@param value any
---@return boolean
function trace_formats.are_graphs(value) return getmetatable(value) == graph_methods end

--- The starts of graphs, of which all have one or none.
local function order_starts(list, path)
  local with_start = 0
  for _, graph in ipairs(list) do
    if graph.start_us ~= nil then with_start = with_start + 1 end
  end
  if with_start ~= 0 and with_start ~= #list then
    errors.raise("parse", ("%s: start_us of %d of %d graphs is set, expected all or none"):format(
      path, with_start, #list))
  end
  if with_start > 0 then order(list, "start_us", path) end
  return with_start > 0
end

--- The session graphs of a file.
---@param format blis.TraceFormatOptions
---@param path string
---@param options table
---@return blis.ReadGraphs
function trace_formats.read_graphs(format, path, options)
  local file = trace_file.new(path, options)
  local limit = options.limit or 0
  local list = collect(format, file, 0)
  errors.located(core.check_graphs, list, path)
  local has_starts = order_starts(list, path)
  if limit > 0 then list = table.move(list, 1, math.min(limit, #list), 1, {}) end
  local requests = 0
  for _, graph in ipairs(list) do requests = requests + #graph end
  return setmetatable({ graphs = list, requests = requests, format = format.name, path = path,
    has_starts = has_starts, given_notes = trace_file.notes(file) }, graph_methods)
end

return trace_formats
