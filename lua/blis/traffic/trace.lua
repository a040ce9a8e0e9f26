--- Traces: recorded requests from files, and what can be done with requests in memory, however they
--- were made.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local sections = require "blis.config.trace"
local told = require "blis.traffic.told"

local trace = {}

local function check_path(name, path)
  if type(path) ~= "string" then
    errors.invalid("blis.trace.%s: %s: expected the path of a file", name,
      errors.invalid_value(path))
  end
end

--- The module of formats in Lua, if a script has added one or options name one.
local function formats_of(wanted)
  if sections.importers[wanted] then return require "blis.traffic.trace_formats" end
  return package.loaded["blis.traffic.trace_formats"]
end

--- Adds to an error about an unknown format why the file is of none, and whether it has session
--- graphs.
local function explain(object, path, values)
  local has_reasons, reasons = pcall(core.trace_explain, path, values)
  if not has_reasons then return end
  object.message = ("%s\nother formats:\n%s\n%s"):format(object.message,
    (reasons:gsub("\n$", "")), require("blis.traffic.trace_formats").explain "rows")
end

--- The requests of a file in a format in Lua, which are read at once.
local function read_in_lua(formats, format, reader, path, values)
  if reader == core.trace_stream then
    errors.invalid("%s: format '%s' is read in Lua, so its requests cannot stay in the file; use "
      .. "blis.trace.read (stream = \"auto\", --stream auto)", path, format.name)
  end
  return told.remember(formats.read_rows(format, path, values), path)
end

--- Calls a reader of the core, or reads the rows of a format in Lua.
local function read_with(reader, path, options)
  local values = schema.read(sections.read, options, "trace")
  local formats = formats_of(values.format)
  local format = formats and formats.of_script(path, values.format, "rows")
  if format then return read_in_lua(formats, format, reader, path, values) end
  local ok, result = pcall(errors.located, reader, path, values)
  if ok then return told.remember(result, path) end
  local is_readable = type(result) == "table" and type(result.message) == "string" and path ~= "-"
  if not is_readable or values.format or values.columns then error(result, 0) end
  if result.message:find("not recognized as a trace", 1, true) then
    formats = require "blis.traffic.trace_formats"
    format = formats.included(path, "rows")
    if format then return read_in_lua(formats, format, reader, path, values) end
    explain(result, path, values)
  end
  error(result, 0)
end

--- Reads a trace: `blis.trace.read("conversation.jsonl", { limit = 2000 })`. Formats are
--- recognised; files may be packed (gzip, zstd). The result can be printed, looped over and run.
---@param path string
---@param options? blis.TraceOptions
---@return blis.Workload
function trace.read(path, options)
  check_path("read", path)
  return read_with(core.trace_read, path, options)
end

--- A trace that stays in its file, for files that are too large for a list. A script can loop over
--- it, describe, cut, scale, warp, filter, write, and run it; each use reads the file again.
--- Requests have the form of blis.trace.read; `stream:list()` returns this list.
---@param path string
---@param options? blis.TraceOptions
---@return blis.TraceStream
function trace.stream(path, options)
  check_path("stream", path)
  return read_with(core.trace_stream, path, options)
end

local openers = { auto = core.trace_open, always = core.trace_stream, never = core.trace_read }

--- A list or a stream, which can both be run: "auto", the default, is what is best for the size of
--- the file.
---@param path string
---@param options? blis.TraceOptions
---@param mode? "auto"|"always"|"never" whether it is a stream
---@return blis.Workload|blis.TraceStream
function trace.open(path, options, mode)
  check_path("open", path)
  mode = schema.check_value(sections.open.options[1], mode or "auto", "stream")
  return read_with(openers[mode], path, options)
end

--- The formats that can be read: { { name =, summary = }, ... }.
---@return { name: string, summary: string }[]
function trace.formats()
  return require("blis.traffic.trace_formats").rows()
end

--- All requests of several workloads in order of arrival, with new numbers:
--- `blis.trace.merge { chat, batch }`.
---@param lists blis.Workload[]
---@param options? blis.MergeOptions
---@return blis.Workload
function trace.merge(lists, options)
  if type(lists) ~= "table" then schema.raise_value("merge", lists, "a list of workloads") end
  local in_memory = {}
  for i = 1, #lists do
    local one = lists[i]
    if core.is_trace_stream(one) then one = one:list() end
    if not core.is_workload(one) then
      schema.raise_value(("merge[%d]"):format(i), one,
        "what blis.workload or blis.trace.read returned")
    end
    in_memory[i] = one
  end
  local values = schema.read(sections.merge, options, "merge")
  return errors.located(core.trace_merge, in_memory, values.same_content)
end

-- The methods that make a workload of another one, and a stream of another one; their contracts
-- are in meta/traffic.lua.
local methods = {}

--- What arrives in a window.
function methods.cut(list, options)
  return errors.located(core.trace_cut, list, schema.read(sections.cut, options, "cut"))
end

local factor = { name = "factor", type = "number", above = 0 }

--- The same at another rate.
function methods.scale(list, by)
  return errors.located(core.trace_scale, list, schema.check_value(factor, by, "factor"))
end

local time = { name = "time", type = "time_us", min = 0 }

--- { from_us, to_us } with its place in messages.
local function read_point(point, path)
  if type(point) ~= "table" or #point ~= 2 then
    schema.raise_value(path, point, "two times, { from_us, to_us }")
  end
  return {
    schema.check_value(time, point[1], path .. "[1]"),
    schema.check_value(time, point[2], path .. "[2]"),
  }
end

--- The same in a time that bends.
function methods.warp(list, points)
  if type(points) ~= "table" then
    schema.raise_value("warp", points, "a list of points, { { from_us, to_us }, ... }")
  end
  local copy = {}
  for i = 1, #points do copy[i] = read_point(points[i], ("warp[%d]"):format(i)) end
  return errors.located(core.trace_warp, list, copy)
end

local turns = { name = "turns", type = "integer", min = 1 }

--- The first requests of every session; as a list for streams.
function methods.cap(list, max_turns)
  if core.is_trace_stream(list) then list = list:list() end
  return errors.located(core.trace_cap, list,
    schema.check_value(turns, max_turns, "max_turns"))
end

--- Those that a function is true for.
function methods.filter(list, test)
  if type(test) ~= "function" then
    schema.raise_value("filter", test, "a function(request) that is true for those to keep")
  end
  return core.trace_filter(list, test)
end

--- Writes a trace.
function methods.write(list, path, options)
  if type(path) ~= "string" then schema.raise_value("path", path, "the path of a file") end
  errors.located(core.trace_write, list, path,
    schema.read(sections.write, options, "write"))
end

for _, of_type in ipairs { core.workload_methods(), core.stream_methods() } do
  for name, fn in pairs(methods) do of_type[name] = fn end
end

return trace
