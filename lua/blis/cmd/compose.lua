--- blis compose: several workload specifications as one.
local command = require "blis.cli.command"
local core = require "blis.core"
local flags = require "blis.cli.flags"
local sections = require "blis.config.conversion"

local definition = {
  name = "compose",
  summary = "combine several workload specifications into one",
  usage = "blis compose --from FILE --from FILE ...",
  description = "Prints a workload specification (YAML, version 2) with the clients and cohorts of "
    .. "all files. Each keeps its rate. The seed, number of requests, and horizon are kept if all "
    .. "files agree.",
  groups = {
    { title = "Input", section = "input", has_defaults = true, options = sections.compose.options },
  },
}

local function read(paths)
  local parts = {}
  for i, path in ipairs(paths) do
    parts[i] = { path, core.workload_spec(path, "from", { seed = 0, is_only_read = true }) }
  end
  return parts
end

return command.define(definition, function(parsed)
  local paths = parsed.values.input.from
  if not paths or #paths == 0 then flags.fail(definition, "--from is missing") end
  local text, notes = command.checked(definition, function()
    return core.workload_compose(read(paths))
  end)
  for _, note in ipairs(notes) do command.talk(parsed, "%s", note) end
  command.print(text)
end)
