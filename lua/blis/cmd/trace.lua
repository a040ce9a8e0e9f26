--- blis trace: look at recorded requests, and make traces of others.
local command = require "blis.cli.command"
local tools = require "blis.cli.trace_tools"

return command.group({
  name = "trace",
  summary = "describe, convert, cut, scale, filter and merge traces",
  usage = "blis trace COMMAND FILE [FLAGS]",
}, { "info", "convert", "cut", "scale", "warp", "cap", "filter", "merge" }, tools)
