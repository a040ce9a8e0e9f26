--- blis serve: evaluates policies for another program, over standard input and output.
local command = require "blis.cli.command"
local core = require "blis.core"
local processors = require "blis.processors"

local definition = {
  name = "serve",
  summary = "evaluate policies for another program, over standard input and output",
  usage = "blis serve (--stdio | --mcp) [FLAGS]",
  description = "Evaluates policies until its input ends. Requests are lines of JSON (--stdio) or "
    .. "tool calls (--mcp, for coding agents). Several run concurrently, each in a separate "
    .. "sandboxed process. docs/serve.md describes the protocol, and docs/python.md a client.",
  groups = {
    {
      title = "Server", section = "serve", has_defaults = true,
      options = {
        { name = "stdio", type = "boolean", default = false, flag = "--stdio",
          doc = "Lines of JSON, one request each." },
        { name = "mcp", type = "boolean", default = false, flag = "--mcp",
          doc = "The model context protocol." },
        { name = "workers", type = "integer", min = 1, max = 1024, flag = "--workers",
          doc = "Concurrent evaluations. Default: one per processor." },
        { name = "suite", type = "path", flag = "--suite", metavar = "FILE",
          doc = "A suite with additional named scenarios." },
      },
    },
  },
}

return command.define(definition, function(parsed)
  local values = parsed.values.serve
  if values.stdio == values.mcp then
    command.fail(definition, "specify --stdio or --mcp; %s", definition.usage)
  end
  local extra = values.suite and require("blis.eval.suite").read(values.suite)
  local known = require("blis.serve.request").scenarios(extra)
  local count = values.workers or processors.usable()
  if not core.jail_can_filter() then
    command.say("blis: serve: this build has no libseccomp: only resource limits restrict the "
      .. "processes of candidates")
  end
  local protocol = require(values.mcp and "blis.serve.mcp" or "blis.serve.stdio")
  return require("blis.serve.loop").run(count, protocol.opener(known, count))
end)
