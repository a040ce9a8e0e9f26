--- blis import: the configuration of a router as an experiment.
local command = require "blis.cli.command"
local core = require "blis.core"
local import = require "blis.production.import"
local outputs = require "blis.cli.outputs"
local versions = require "blis.production.epp.versions"

local definition = {
  name = "import",
  summary = "turn the configuration of a router into an experiment",
  usage = "blis import FILE [FLAGS]",
  description = "Reads an EndpointPickerConfig of llm-d, or a command line of Dynamo, SMG, or the "
    .. "vLLM router, and writes an experiment with the same policies, in Lua. Reports imported, "
    .. "ignored, and unsupported settings on standard error.",
  positional = { name = "FILE", doc = "A configuration, or a file with a command line." },
  groups = {
    {
      title = "Input", section = "input", has_defaults = true,
      options = {
        {
          name = "from", type = "choice", choices = import.systems, flag = "--from",
          doc = "System of the file. Default: detected from its content.",
        },
        {
          name = "version", type = "choice", choices = versions.list, flag = "--version",
          doc = "Version of llm-d-router that must accept the file. Default: any version.",
        },
        {
          name = "allow_missing", type = "boolean", default = false, flag = "--allow-missing",
          doc = "Omit settings that affect routing but are not simulated. Without this flag, they "
            .. "are errors.",
        },
      },
    },
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        {
          name = "output", type = "path", is_output = true, flag = "--output",
          doc = "Output file. Default: standard output.",
        },
        {
          name = "format", type = "choice", choices = { "lua", "json" }, default = "lua",
          flag = "--format", doc = "json: the script and the report in an object.",
        },
        {
          name = "quiet", type = "boolean", default = false, flag = "--quiet",
          doc = "Print no report.",
        },
      },
    },
  },
}

local function json_of(found)
  local writer = core.json_writer(2):object()
  writer:field("system", found.system):field("source", found.findings.source)
  writer:field("read_as", found.findings.what):field("lua", found.lua)
  found.findings:write(writer)
  return writer:done():take() .. "\n"
end

return command.define(definition, function(parsed)
  if not parsed.positional then
    command.fail(definition, "which file? %s", definition.usage)
  end
  local input, output = parsed.values.input, parsed.values.output
  command.checked(definition, outputs.check, definition, parsed)
  local found = command.checked(definition, import.read, parsed.positional, input)
  local text = output.format == "json" and json_of(found) or found.lua
  if output.output then
    local file <close> = core.output(output.output)
    file:write(text)
    file:commit()
  else
    command.print(text)
  end
  if not output.quiet then command.say((found.findings:text():gsub("\n$", ""))) end
end)
