--- A file of trace events, as chrome://tracing and ui.perfetto.dev read them (Google, "Trace Event
--- Format"): one event on a line, times in microseconds of the simulation.
local core = require "blis.core"

local math_type, select = math.type, select

local writer = {}

---@class blis.timeline.Writer
---@field output userdata
---@field pieces (string|integer)[] of lines that were not written yet
---@field count integer of these
---@field separator string in front of the next line
local Writer = {}
Writer.__index = Writer

-- Lines stay in pieces until many are joined at once: no text is made for a line or a part of it.
local pieces_at_once = 40000

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

--- Integers are joined as they are.
local function piece_of(self, value)
  local kind = math_type(value)
  if kind == "integer" then return value end
  if kind == "float" then return ("%.17g"):format(value) end
  return type(value) == "string" and quote(self, value) or tostring(value)
end

--- Names of arguments in front of their values, behind others and as the first one.
local function keys(form)
  return setmetatable({}, { __index = function(known, name)
    local made = form:format(name)
    known[name] = made
    return made
  end })
end

local later_key, first_key = keys ',"%s":', keys '"%s":'

--- Appends { name, value, name, value } to the first `count` pieces, in that order, and omits nil
--- values. Returns the new number of pieces.
local function add_args(self, at, ...)
  local pieces, args, key = self.pieces, { ... }, first_key
  for i = 1, select("#", ...), 2 do
    local value = args[i + 1]
    if value ~= nil then
      pieces[at + 1], pieces[at + 2] = key[args[i]], piece_of(self, value)
      at, key = at + 2, later_key
    end
  end
  return at
end

local function flush(self)
  self.output:write(table.concat(self.pieces, "", 1, self.count))
  self.count = 0
end

--- Ends a line with this number of pieces.
local function done(self, at)
  self.count = at
  if at >= pieces_at_once then flush(self) end
end

--- A line of such a form.
local function add(self, form, ...)
  local pieces, at = self.pieces, self.count
  pieces[at + 1], pieces[at + 2] = self.separator, form:format(...)
  self.separator = ",\n"
  done(self, at + 2)
end

--- Starts a line with what all have; returns how many pieces there are.
local function begin(self, kind, pid, tid, name)
  local pieces, at = self.pieces, self.count
  pieces[at + 1], pieces[at + 2], pieces[at + 3] = self.separator, kind, pid
  pieces[at + 4], pieces[at + 5] = ',"tid":', tid
  pieces[at + 6], pieces[at + 7] = ',"name":', quote(self, name)
  self.separator = ",\n"
  return at + 7
end

--- Ends a line with its arguments.
local function finish(self, at, ...)
  local pieces = self.pieces
  pieces[at + 1] = ',"args":{'
  at = add_args(self, at + 1, ...)
  pieces[at + 1] = "}}"
  done(self, at + 1)
end

--- Starts a file; the facts are about the whole of it.
---@param path string
---@param ... any names and values
---@return blis.timeline.Writer
function writer.new(path, ...)
  local self = setmetatable({ output = core.output(path), pieces = {}, count = 0, separator = "",
    quoted = {}, quoted_count = 0 }, Writer)
  self.pieces[1] = '{"displayTimeUnit":"ms","otherData":{'
  local at = add_args(self, 1, ...)
  self.pieces[at + 1] = '},"traceEvents":[\n'
  self.count = at + 1
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
  local pieces, at = self.pieces, begin(self, '{"ph":"X","pid":', pid, tid, name)
  pieces[at + 1], pieces[at + 2], pieces[at + 3] = ',"cat":"', category, '","ts":'
  pieces[at + 4], pieces[at + 5], pieces[at + 6] = start_us, ',"dur":', end_us - start_us
  finish(self, at + 6, ...)
end

local function add_instant(self, pid, tid, scope, name, category, at_us, ...)
  local pieces, at = self.pieces, begin(self, '{"ph":"i","pid":', pid, tid, name)
  pieces[at + 1], pieces[at + 2], pieces[at + 3] = ',"cat":"', category, '","ts":'
  pieces[at + 4], pieces[at + 5] = at_us, scope
  finish(self, at + 5, ...)
end

--- Something that happens at once, to all of a process.
function Writer:instant(pid, name, category, at_us, ...)
  add_instant(self, pid, 0, ',"s":"p"', name, category, at_us, ...)
end

--- The same on one track of it.
function Writer:mark(pid, tid, name, category, at_us, ...)
  add_instant(self, pid, tid, ',"s":"t"', name, category, at_us, ...)
end

--- Levels after this time.
function Writer:counter(pid, name, at_us, ...)
  local at = begin(self, '{"ph":"C","pid":', pid, 0, name)
  self.pieces[at + 1], self.pieces[at + 2] = ',"ts":', at_us
  finish(self, at + 2, ...)
end

--- An arrow from one slice to another one; at each end there is a slice at that time.
function Writer:flow(category, id, from, to)
  local text = '{"ph":"%s","pid":%d,"tid":%d,"name":"%s","cat":"%s","id":%s,"ts":%d%s}'
  local key = quote(self, id)
  add(self, text, "s", from.pid, from.tid, category, category, key, from.at_us, "")
  add(self, text, "f", to.pid, to.tid, category, category, key, to.at_us, ',"bp":"e"')
end

--- What a process is called, and its place among them.
function Writer:process(pid, name)
  add(self, '{"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":%s}}', pid,
    quote(self, name))
  add(self, '{"ph":"M","pid":%d,"tid":0,"name":"process_sort_index","args":{"sort_index":%d}}', pid,
    pid)
end

--- What a track is called.
function Writer:track(pid, tid, name)
  add(self, '{"ph":"M","pid":%d,"tid":%d,"name":"thread_name","args":{"name":%s}}', pid, tid,
    quote(self, name))
end

--- The file is whole and gets its name.
function Writer:commit()
  self.count = self.count + 1
  self.pieces[self.count] = "\n]}\n"
  flush(self)
  self.output:commit()
end

return writer
