--- blis diff: what differs between two saved results.
local command = require "blis.cli.command"
local core = require "blis.core"
local csv = require "blis.csv"
local diff = require "blis.results.diff"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local json = require "blis.json"

local definition = {
  name = "diff",
  summary = "compare two saved results, by metric and by request",
  usage = "blis diff A B [FLAGS]",
  description = "Reads two results saved with result:save(path), and prints the metrics and "
    .. "requests that differ. Exit status: 0 if nothing differs, 1 otherwise.",
  positional = { name = "A B", count = 2, doc = "Result files." },
  groups = {
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        flag_sections.listing.options[1],
        {
          name = "requests", type = "integer", min = 0, max = 1000000000, default = 10,
          flag = "--requests", doc = "Number of requests to show, largest change first.",
        },
      },
    },
  },
}

local function write_metric(writer, one)
  writer:object()
  for _, key in ipairs { "name", "a", "b", "change", "relative" } do
    if one[key] ~= nil then writer:field(key, one[key]) end
  end
  writer:done()
end

--- Everything, whatever --requests says.
local function json_of(found)
  local writer = core.json_writer(2):object():field("is_equal", found.is_equal):array("metrics")
  for _, one in ipairs(found.metrics) do write_metric(writer, one) end
  writer:done()
  local requests = found.requests
  if requests then
    writer:object("requests"):field("common", requests.common):array("changed")
    for _, one in ipairs(requests.changed) do
      writer:object():field("id", one.id)
      json.write_object(writer, "a", diff.request_fields, one.a)
      json.write_object(writer, "b", diff.request_fields, one.b)
      writer:done()
    end
    writer:done()
    json.write_list(writer, "only_a", requests.only_a)
    json.write_list(writer, "only_b", requests.only_b)
    writer:done()
  end
  return writer:done():take() .. "\n"
end

--- The metrics, one line each.
local function csv_of(found)
  local lines = { "name,a,b,change,relative" }
  for _, one in ipairs(found.metrics) do
    lines[#lines + 1] = table.concat({ csv.field(one.name), csv.field(one.a), csv.field(one.b),
      csv.field(one.change), csv.field(one.relative) }, ",")
  end
  return table.concat(lines, "\n") .. "\n"
end

return command.define(definition, function(parsed)
  if #parsed.positionals ~= 2 then
    flags.fail(definition, "expected two result files, got %d", #parsed.positionals)
  end
  local found = command.checked(definition, diff.compare, table.unpack(parsed.positionals))
  local output = parsed.values.output
  if output.format == "json" then
    command.print(json_of(found))
  elseif output.format == "csv" then
    command.print(csv_of(found))
  else
    command.print(found:text(output.requests) .. "\n")
  end
  return found.is_equal and 0 or 1
end)
