--- What `blis trace` does: a definition and a function for each of its commands.
local chunks = require "blis.chunk"
local core = require "blis.core"
local command = require "blis.cli.command"
local errors = require "blis.errors"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local format = require "blis.format"
local outputs = require "blis.cli.outputs"
local sections = require "blis.config.trace"
local trace = require "blis.traffic.trace"
local workload = require "blis.traffic.workload"

local trace_tools = {}

local file_argument = { name = "FILE", doc = "Trace file; its format is detected. - is standard "
  .. "input." }

local reading = {
  title = "Trace", section = "trace", has_defaults = true, options = flags.all(sections.read),
}

-- A command that goes through the requests in their order can leave them in the file.
local streaming = {
  title = "Memory", section = "open", has_defaults = true, options = flags.all(sections.open),
}

local writing = {
  title = "New trace", section = "write", has_defaults = true,
  options = flags.all(sections.write),
}
table.insert(writing.options, 1, {
  name = "path", type = "path", default = "-", is_output = true, flag = "--output",
  flag_aliases = { "-o" },
  doc = "Output file. It appears when it is complete. Compressed if the name ends in .gz or .zst. "
    .. "- is standard output, in format routesim. Short form: -o.",
})

local telling = {
  title = "Output", section = "output", has_defaults = true,
  options = {
    {
      name = "quiet", type = "boolean", default = false, flag = "--quiet",
      doc = "Print only errors.",
    },
  },
}

--- The trace of a file. The error about a file with session graphs names the commands for them.
local function open_trace(path, values, stream)
  local ok, list = pcall(trace.open, path, values, stream)
  if ok then return list end
  local has_graphs, file = pcall(require("blis.traffic.graphs").open, path)
  if has_graphs and type(list) == "table" then
    list.message = ("%s\nthe file has session graphs (%s): 'blis run --graphs %s' plays them")
      :format(list.message, file:about().format, path)
  end
  error(list, 0)
end

local function read(parsed, path)
  local open = parsed.values.open
  local list = open_trace(path, parsed.values.trace, open and open.stream or "never")
  for _, note in ipairs(list:notes()) do command.talk(parsed, "%s", note) end
  return list
end

local function write(parsed, list)
  local values = parsed.values.write
  list:write(values.path, { format = values.format, renumber = values.renumber })
  if values.path ~= "-" then
    command.talk(parsed, "%s requests written to %s", format.count(#list), values.path)
  end
end

--- Writes lines of the input as they are.
local function write_lines(parsed, lines)
  local path = parsed.values.write.path
  local output = core.output(path)
  for _, line in ipairs(lines) do output:write(line .. "\n") end
  output:commit()
  if path ~= "-" then
    command.talk(parsed, "%s requests written to %s", format.count(#lines), path)
  end
end

--- A command that derives a trace from another trace.
---@param name string
---@param about { summary: string, description?: string, usage?: string, group?: blis.cli.Group,
---  positional?: blis.cli.Positional, notes?: string, in_memory?: boolean }
---@param make fun(parsed: blis.cli.Parsed, definition: blis.cli.Command): blis.Workload
local function define(name, about, make)
  local groups = { about.group }
  groups[#groups + 1] = reading
  if not about.in_memory then groups[#groups + 1] = streaming end
  groups[#groups + 1] = writing
  groups[#groups + 1] = telling
  local definition = {
    name = "trace " .. name,
    summary = about.summary,
    usage = ("blis trace %s %s [FLAGS]"):format(name, about.usage or "FILE"),
    description = about.description,
    positional = about.positional or file_argument,
    groups = groups,
    notes = about.notes,
  }
  trace_tools[name] = command.define(definition, function(parsed)
    if not parsed.positional then flags.fail(definition, "FILE is missing") end
    command.checked(definition, function()
      outputs.check(definition, parsed)
      local list = make(parsed, definition)
      if list then write(parsed, list) end
    end)
  end)
end

local function group(title, section, options)
  return { title = title, section = section, has_defaults = true, options = options }
end

local time_note = "TIME is a number with a unit: 500us, 50ms, 30s, 5m, 1h."

-- info

--- A table of numbers and of tables of numbers as a JSON object, by name.
local function write_fields(writer, fields)
  local names = {}
  for name in pairs(fields) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = fields[name]
    if type(value) == "table" then
      write_fields(writer:object(name), value)
      writer:done()
    else
      writer:field(name, value)
    end
  end
end

local function json_of(list)
  local writer = core.json_writer(2):object():field("description", list:description())
  write_fields(writer, list:statistics())
  writer:array("notes")
  for _, note in ipairs(list:notes()) do writer:item(note) end
  return writer:done():done():take()
end

local info = {
  name = "trace info",
  summary = "describe a trace: requests, lengths, reuse of prompts",
  usage = "blis trace info FILE [FLAGS]",
  description = "Reads a trace like blis replay, and prints the number of requests, their lengths, "
    .. "and the reuse of their prompts.",
  positional = file_argument,
  groups = { reading, streaming, group("Output", "output", flag_sections.description.options) },
}

trace_tools.info = command.define(info, function(parsed)
  if not parsed.positional then flags.fail(info, "FILE is missing") end
  local is_json = parsed.values.output.format == "json"
  local text = command.checked(info, function()
    local list = open_trace(parsed.positional, parsed.values.trace, parsed.values.open.stream)
    return is_json and json_of(list) or workload.describe(list)
  end)
  command.print(text .. "\n")
end)

-- Subcommands that write traces.

define("convert", {
  summary = "write a trace in another format",
  description = "Data that a format cannot express is written to extra columns or keys, which "
    .. "other readers ignore. Reading the new trace gives the same requests.",
}, function(parsed) return read(parsed, parsed.positional) end)

define("cut", {
  summary = "keep part of a trace: a time window, a number of requests",
  description = "Keeps the requests of a time window, a number of requests, or both.",
  group = group("Part", "cut", flags.all(sections.cut)),
  notes = time_note,
}, function(parsed) return read(parsed, parsed.positional):cut(parsed.values.cut) end)

define("scale", {
  summary = "change the rate of a trace",
  description = "Arrival times are divided by a factor; the time from arrival to deadline and "
    .. "think times do not change.",
  group = group("Rate", "scale", {
    {
      name = "factor", type = "number", above = 0, flag = "--factor",
      doc = "2 sends twice as many requests per second.",
    },
    {
      name = "rate", type = "number", above = 0, unit = "requests/s", flag = "--rate",
      doc = "The resulting mean rate, instead of a factor.",
    },
  }),
}, function(parsed, definition)
  local given = parsed.values.scale
  if given.factor and given.rate then
    flags.fail(definition, "--factor cannot be combined with --rate")
  elseif not given.factor and not given.rate then
    flags.fail(definition, "expected either --factor or --rate")
  end
  local list = read(parsed, parsed.positional)
  if given.factor then return list:scale(given.factor) end
  local rate = list:statistics().requests_per_sec
  if rate == 0 then
    flags.fail(definition, "--rate: the requests of %s all arrive at the same time",
      parsed.positional)
  end
  return list:scale(given.rate / rate)
end)

--- "0:0,60s:30s" as { { 0, 0 }, { 60000000, 30000000 } }.
local function read_points(definition, text)
  local points = {}
  for item in (text .. ","):gmatch "([^,]*)," do
    local from, to = item:match "^([^:]+):([^:]+)$"
    local bare = {}
    local from_us = from and flags.duration(from, bare, "--points")
    local to_us = to and flags.duration(to, bare, "--points")
    if bare[1] then flags.fail(definition, "%s", bare[1]) end
    if not from_us or not to_us then
      flags.fail(definition, "--points: invalid value '%s': expected FROM:TO with two times", item)
    end
    points[#points + 1] = { from_us, to_us }
  end
  return points
end

define("warp", {
  summary = "stretch and compress the time of a trace",
  description = "A request at the first time of a point moves to its second time. Time is "
    .. "interpolated linearly between points, and shifted before the first and after the last.",
  group = group("Time", "warp", {
    {
      name = "points", type = "string", flag = "--points", metavar = "FROM:TO,...",
      doc = "0:0,60s:20s,120s:80s sends the first minute in 20 seconds.",
    },
  }),
  notes = time_note,
}, function(parsed, definition)
  local text = parsed.values.warp.points
  if not text then flags.fail(definition, "--points is missing") end
  local points = read_points(definition, text)
  return read(parsed, parsed.positional):warp(points)
end)

define("cap", {
  in_memory = true,
  summary = "limit the number of requests per session",
  description = "Shortens long conversations: later requests of a session are dropped. Without "
    .. "--to, the new file has the format of the input: JSONL lines whose rows name their session "
    .. "stay as they are, in order of their times; tracev2 stays tracev2.",
  group = group("Sessions", "cap", {
    {
      name = "max_turns", type = "integer", min = 1, flag = "--turns",
      doc = "Keep this many first requests of every session, and all requests without a session.",
    },
  }),
}, function(parsed, definition)
  local turns = parsed.values.cap.max_turns
  if not turns then flags.fail(definition, "--turns is missing") end
  local list = read(parsed, parsed.positional)
  local values = parsed.values.write
  if values.format then return list:cap(turns) end
  local lines = require("blis.traffic.cap_lines").of(parsed.positional, turns, parsed.values.trace)
  if lines then return write_lines(parsed, lines) end
  if values.path ~= "-" and list:description():find "^tracev2 " then values.format = "tracev2" end
  return list:cap(turns)
end)

define("merge", {
  in_memory = true,
  summary = "merge several traces into one",
  usage = "FILE FILE ...",
  description = "All requests in order of arrival, renumbered. Sessions, prefix groups, and "
    .. "prompts of different traces stay separate unless --same-content is set. Names used by two "
    .. "traces get the suffix \"#2\", \"#3\".",
  positional = { name = "FILE", doc = file_argument.doc, count = math.huge },
  group = group("Merging", "merge", flags.all(sections.merge)),
}, function(parsed)
  local lists = {}
  for i, path in ipairs(parsed.positionals) do lists[i] = read(parsed, path) end
  return trace.merge(lists, parsed.values.merge)
end)

-- Names that filter expressions can use.
local fields = { "adapter", "arrival_us", "client", "deadline_us", "id", "max_output_tokens",
  "model", "output_tokens", "prefix_group", "prefix_tokens", "prompt_tokens", "round_index",
  "session", "shared_tokens", "slo_class", "tenant" }

-- The most instructions of an expression for one request, as in the sandbox, and how often they are
-- counted.
local most_instructions <const>, instructions_at_once <const> = 20000000, 100000

--- pcall(test), which fails when it takes too long.
local function limited(test)
  local left = most_instructions
  debug.sethook(function()
    left = left - instructions_at_once
    if left < 0 then
      error(("it takes more than %d instructions"):format(most_instructions), 0)
    end
  end, "", instructions_at_once)
  local ok, result = pcall(test)
  debug.sethook()
  return ok, result
end

--- A function of a request from an expression in Lua.
local function read_test(definition, text)
  local request, is_field = nil, {}
  for _, name in ipairs(fields) do is_field[name] = true end
  local names = setmetatable({ math = math, string = string, tonumber = tonumber }, {
    __index = function(_, name)
      if is_field[name] then return request[name] end
      flags.fail(definition, "--where: a request has no '%s'%s", name,
        errors.suggestion(name, fields))
    end,
  })
  local test, problem = chunks.load("return " .. text, "=--where", names)
  if not test then
    flags.fail(definition, "--where: '%s' is not a Lua expression: %s", text,
      problem:gsub("^%-%-where:%d+: ", ""))
  end
  return function(one)
    request = one
    local ok, result = limited(test)
    if ok then return result end
    if type(result) == "table" then error(result, 0) end
    flags.fail(definition, "--where: %s, for %s", tostring(result):gsub("^%-%-where:%d+: ", ""),
      one.id)
  end
end

define("filter", {
  summary = "keep the requests for which an expression is true",
  description = "Keeps the requests for which an expression is true, with their numbers and times.",
  group = group("Requests", "filter", {
    {
      name = "test", type = "string", flag = "--where", metavar = "EXPRESSION",
      doc = "Keep the requests for which this is true: a Lua expression such as 'prompt_tokens > "
        .. "1000 and tenant == \"a\"'.",
    },
  }),
  notes = "A request has " .. table.concat(fields, ", ") .. ". Missing strings are \"\"; "
    .. "deadline_us is nil without a deadline.",
}, function(parsed, definition)
  local text = parsed.values.filter.test
  if not text then flags.fail(definition, "--where is missing") end
  local test = read_test(definition, text)
  return read(parsed, parsed.positional):filter(test)
end)

return trace_tools
