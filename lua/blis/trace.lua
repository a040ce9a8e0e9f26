--- Traces: recorded requests from files.
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local trace = {}

local format_names = {}
for i, format in ipairs(core.trace_formats()) do format_names[i] = format.name end

---@type blis.Section
trace.section = {
  name = "trace",
  summary = "How a trace is read.",
  options = {
    {
      name = "format", type = "choice", choices = format_names, flag = "--trace-format",
      doc = "Format of the file; left out, it is recognised by its first lines.",
    },
    {
      name = "limit", type = "integer", min = 0, default = 0, unit = "requests",
      flag = "--limit",
      doc = "Read at most this many requests, 0 = all.",
    },
    {
      name = "hash_block_tokens", type = "integer", min = 0, max = 1048576, default = 0,
      unit = "tokens", flag = "--hash-block-tokens",
      doc = "Tokens that one hash id stands for, 0 = as usual in the format.",
    },
    {
      name = "header", type = "path", flag = "--trace-header",
      doc = "tracev2: the header file, if not beside the data.",
    },
    {
      name = "keep_epoch", type = "boolean", default = false, flag = "--keep-epoch",
      doc = "tracev2, observed traces: requests arrive at the recorded send times.",
    },
  },
}

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
  local values = schema.read(trace.section, options, "trace")
  return errors.located(core.trace_read, path, values)
end

--- The formats that can be read: { { name =, summary = }, ... }.
---@return { name: string, summary: string }[]
function trace.formats()
  return core.trace_formats()
end

return trace
