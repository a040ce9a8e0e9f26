--- Traces: recorded requests from files, and what can be done with requests in memory, however they
--- were made.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local sections = require "blis.config.trace"

local trace = {}

--- Reads a trace: `blis.trace.read("conversation.jsonl", { limit = 2000 })`. Formats are
--- recognised; files may be packed (gzip, zstd). The result can be printed, looped over and run.
---@param path string
---@param options? blis.TraceOptions
---@return blis.Workload
function trace.read(path, options)
  if type(path) ~= "string" then
    errors.invalid("blis.trace.read: %s is not allowed, expected the path of a file",
      errors.show(path))
  end
  local values = schema.read(sections.read, options, "trace")
  return errors.located(core.trace_read, path, values)
end

--- The formats that can be read: { { name =, summary = }, ... }.
---@return { name: string, summary: string }[]
function trace.formats()
  return core.trace_formats()
end

--- All requests of several workloads in order of arrival, with new numbers:
--- `blis.trace.merge { chat, batch }`.
---@param lists blis.Workload[]
---@param options? blis.MergeOptions
---@return blis.Workload
function trace.merge(lists, options)
  if type(lists) ~= "table" then schema.raise_value("merge", lists, "a list of workloads") end
  for i = 1, #lists do
    if not core.is_workload(lists[i]) then
      schema.raise_value(("merge[%d]"):format(i), lists[i],
        "what blis.workload or blis.trace.read returned")
    end
  end
  local values = schema.read(sections.merge, options, "merge")
  return errors.located(core.trace_merge, lists, values.same_content)
end

-- The methods that make a workload of another one; their contracts are in meta/core.lua.
local methods = core.workload_methods()

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

--- The first requests of every session.
function methods.cap(list, max_turns)
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

return trace
