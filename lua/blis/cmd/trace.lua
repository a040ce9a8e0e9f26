--- blis trace: look at recorded requests.
local core = require "blis.core"
local command = require "blis.cli.command"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local trace = require "blis.trace"
local trace_sections = require "blis.config.trace"
local workload = require "blis.workload"

local definition = {
  name = "trace",
  summary = "describe a trace: requests, lengths, reuse of prompts",
  usage = "blis trace info FILE [FLAGS]",
  description = "Reads a trace as blis replay does and tells how many requests there are, how long "
    .. "they are and how much of their prompts has been seen before.",
  positional = { name = "FILE", doc = "The trace; its format is recognised." },
  groups = {
    {
      title = "Trace", section = "trace", has_defaults = true, options = flags.all(trace_sections.read),
    },
    {
      title = "Output", section = "output", has_defaults = true,
      options = flag_sections.description.options,
    },
  },
}

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

local info = command.define(definition, function(parsed)
  if not parsed.positional then flags.fail(definition, "there is no FILE") end
  local list = command.checked(definition, trace.read, parsed.positional, parsed.values.trace)
  local is_json = parsed.values.output.format == "json"
  command.print((is_json and json_of(list) or workload.describe(list)) .. "\n")
end)

--- The first argument says what to do with a trace.
local function run(args)
  local name = args[1]
  if name == "info" then return info.run(table.move(args, 2, #args, 1, {})) end
  if name == "--help" or name == "-h" then return info.run { "--help" } end
  if not name then flags.fail(definition, "'info FILE' is missing") end
  flags.fail(definition, "'%s' is not allowed, expected 'info'", name)
end

return {
  summary = info.summary, definition = definition, run = run,
  subcommands = { { name = "info", definition = definition } },
}
