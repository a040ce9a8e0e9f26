--- A file of trace events, as chrome://tracing and ui.perfetto.dev read them (Google, "Trace Event
--- Format"): one event on a line, times in microseconds of the simulation.
local core = require "blis.core"

local writer = {}

---@class blis.timeline.Writer
---@field output userdata
---@field lines string[] that were not written yet
---@field has_any boolean
local Writer = {}
Writer.__index = Writer

local lines_at_once = 2000

-- Every text in quotes is made once: ids and names come again and again.
local quoted_max = 50000

local function quote(self, text)
  local known = self.quoted[text]
  if known then return known end
  if self.quoted_count == quoted_max then self.quoted, self.quoted_count = {}, 0 end
  local made = text:find "^[%w_ .:/%-(),=+]*$" and '"' .. text .. '"'
    or core.json_writer():item(text):take()
  self.quoted[text], self.quoted_count = made, self.quoted_count + 1
  return made
end

local function value_text(self, value)
  if type(value) == "string" then return quote(self, value) end
  if math.type(value) == "integer" then return tostring(value) end
  return type(value) == "number" and ("%.17g"):format(value) or tostring(value)
end

--- { name, value, name, value }: in that order; nil values are left out.
local function args_text(self, args)
  local parts = {}
  for i = 1, args.n, 2 do
    if args[i + 1] ~= nil then
      parts[#parts + 1] = ('"%s":%s'):format(args[i], value_text(self, args[i + 1]))
    end
  end
  return table.concat(parts, ",")
end

local function flush(self)
  self.output:write(table.concat(self.lines))
  self.lines = {}
end

local function add(self, line)
  local lines = self.lines
  lines[#lines + 1] = self.has_any and ",\n" .. line or line
  self.has_any = true
  if #lines >= lines_at_once then flush(self) end
end

--- Starts a file; the facts are about the whole of it.
---@param path string
---@param ... any names and values
---@return blis.timeline.Writer
function writer.new(path, ...)
  local self = setmetatable({ output = core.output(path), lines = {}, has_any = false,
    quoted = {}, quoted_count = 0 }, Writer)
  self.lines[1] = ('{"displayTimeUnit":"ms","otherData":{%s},"traceEvents":[\n')
    :format(args_text(self, table.pack(...)))
  return self
end

--- Something that takes a time, on a track.
---@param pid integer
---@param tid integer
---@param name string
---@param category string
---@param start_us integer
---@param end_us integer
---@param ... any names and values
function Writer:slice(pid, tid, name, category, start_us, end_us, ...)
  add(self, ('{"ph":"X","pid":%d,"tid":%d,"name":%s,"cat":"%s","ts":%d,"dur":%d,"args":{%s}}')
    :format(pid, tid, quote(self, name), category, start_us, end_us - start_us,
      args_text(self, table.pack(...))))
end

--- Something that happens at once, to all of a process.
function Writer:instant(pid, name, category, at_us, ...)
  add(self, ('{"ph":"i","pid":%d,"tid":0,"name":%s,"cat":"%s","ts":%d,"s":"p","args":{%s}}')
    :format(pid, quote(self, name), category, at_us, args_text(self, table.pack(...))))
end

--- Levels from then on.
function Writer:counter(pid, name, at_us, ...)
  add(self, ('{"ph":"C","pid":%d,"tid":0,"name":%s,"ts":%d,"args":{%s}}'):format(pid,
    quote(self, name), at_us, args_text(self, table.pack(...))))
end

--- An arrow from one slice to another one; at each end there is a slice at that time.
function Writer:flow(category, id, from, to)
  local text = '{"ph":"%s","pid":%d,"tid":%d,"name":"%s","cat":"%s","id":%s,"ts":%d%s}'
  add(self, text:format("s", from.pid, from.tid, category, category, quote(self, id), from.at_us,
    ""))
  add(self, text:format("f", to.pid, to.tid, category, category, quote(self, id), to.at_us,
    ',"bp":"e"'))
end

--- One of several things at once that need no lanes.
function Writer:span(pid, name, category, id, start_us, end_us, ...)
  local text = '{"ph":"%s","pid":%d,"tid":0,"name":%s,"cat":"%s","id":%s,"ts":%d,"args":{%s}}'
  local shown, key = quote(self, name), quote(self, id)
  add(self, text:format("b", pid, shown, category, key, start_us,
    args_text(self, table.pack(...))))
  add(self, text:format("e", pid, shown, category, key, end_us, ""))
end

--- What a process is called, and its place among them.
function Writer:process(pid, name)
  add(self, ('{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}'):format(pid,
    quote(self, name)))
  add(self, ('{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}')
    :format(pid, pid))
end

--- What a track is called.
function Writer:track(pid, tid, name)
  add(self, ('{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}'):format(pid,
    tid, quote(self, name)))
end

--- The file is whole and gets its name.
function Writer:commit()
  self.lines[#self.lines + 1] = "\n]}\n"
  flush(self)
  self.output:commit()
end

return writer
