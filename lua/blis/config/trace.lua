--- Options of traces: how one is read, processed and written.
local core = require "blis.core"

local format_names = {}
for i, format in ipairs(core.trace_formats()) do format_names[i] = format.name end

-- Modules of the formats in Lua that blis includes, by name. A file that needs one loads it.
local importers = {
  ["aiperf-records"] = "blis.traffic.importers.aiperf_records",
  ["aiperf-turns"] = "blis.traffic.importers.aiperf_turns",
  ["genai-perf"] = "blis.traffic.importers.genai_perf",
  ["mooncake-delta"] = "blis.traffic.importers.mooncake_delta",
}
table.move({ "aiperf-records", "genai-perf" }, 1, 2, #format_names + 1, format_names)

---@type blis.Section
local read = {
  name = "trace",
  summary = "Options to read a trace.",
  options = {
    {
      name = "format", type = "choice", choices = format_names, flag = "--trace-format",
      doc = "File format. Default: detected from the first lines.",
    },
    {
      name = "limit", type = "integer", min = 0, default = 0, unit = "rows", flag = "--limit",
      doc = "Read at most this many rows, 0 = all.",
    },
    {
      name = "hash_block_tokens", type = "integer", min = 0, max = 1048576, default = 0,
      unit = "tokens", flag = "--hash-block-tokens",
      doc = "Tokens per hash ID. 0: the default of the format.",
    },
    {
      name = "header", type = "path", flag = "--trace-header",
      doc = "tracev2: the header file, if it is in another folder than the data.",
    },
    {
      name = "keep_epoch", type = "boolean", default = false, flag = "--keep-epoch",
      doc = "tracev2, observed traces: requests arrive at the recorded send times.",
    },
    {
      name = "columns", type = "columns", flag = "--columns", metavar = "ROLE=COLUMN,...",
      doc = "The meaning of columns of any CSV or JSONL file. Roles: timestamp, prompt, output, "
        .. "max_output, session, turn, prefix, prefix_tokens, tenant, slo_class, model, client, "
        .. "adapter. Default: derived from the names of the columns, with a note.",
    },
    {
      name = "time_unit", type = "choice", choices = { "s", "ms", "us", "ns" },
      flag = "--time-unit",
      doc = "Unit of timestamps that are numbers. Default: the unit of the format, or detected "
        .. "from the values and their spacing, with a note.",
    },
  },
}

---@type blis.Section
local open = {
  name = "trace",
  summary = "Storage of a trace during a run.",
  options = {
    {
      name = "stream", type = "choice", choices = { "auto", "always", "never" }, default = "auto",
      flag = "--stream",
      doc = "Read requests from the file during the run, or read the whole trace into memory. The "
        .. "results are the same. auto: from the file above 64 MB (8 MB compressed), if possible.",
    },
  },
}

---@type blis.Section
local cut = {
  name = "cut",
  summary = "A part of a trace.",
  options = {
    {
      name = "start_us", type = "time_us", min = 0, default = 0, unit = "us", flag = "--start",
      doc = "Keep only requests that arrive at this time or later.",
    },
    {
      name = "end_us", type = "time_us", min = 0, default = 0, unit = "us", flag = "--end",
      doc = "Keep only requests that arrive before this time, 0 = no end.",
    },
    {
      name = "skip", type = "integer", min = 0, default = 0, unit = "requests", flag = "--skip",
      doc = "Skip this many of these requests.",
    },
    {
      name = "limit", type = "integer", min = 0, default = 0, unit = "requests", flag = "--count",
      doc = "Keep at most this many of the rest, 0 = all.",
    },
    {
      name = "from_zero", type = "boolean", default = false, flag = "--from-zero",
      doc = "Shift times so that the first request arrives at time 0.",
    },
  },
}

---@type blis.Section
local merge = {
  name = "merge",
  summary = "Options to merge traces.",
  options = {
    {
      name = "same_content", type = "boolean", default = false, flag = "--same-content",
      doc = "Treat equal sessions, prefix groups and hash ids of different traces as the same, as "
        .. "in parts of one trace.",
    },
  },
}

---@type blis.Section
local write = {
  name = "output",
  summary = "Options to write a trace.",
  options = {
    {
      name = "format", type = "choice", choices = core.trace_write_formats(), flag = "--to",
      doc = "Format of the new file. Default: by file name. .jsonl: routesim. .csv, .yaml, and "
        .. "names without a dot: tracev2.",
    },
    {
      name = "renumber", type = "boolean", default = false, flag = "--renumber",
      doc = "Renumber the requests 0, 1, 2, ...",
    },
  },
}

---@type blis.Section
local run = { name = "write_trace", summary = "Options to write the requests of a run.",
  options = { write.options[1] } }

---@type blis.Section
local format = {
  name = "trace_format",
  summary = "A format of trace files in Lua.",
  options = {
    {
      name = "name", type = "string", required = true,
      doc = "Name of the format: letters, digits, '.', '_', and '-'.",
    },
    {
      name = "read", type = "callback", required = true, arguments = "(file)",
      doc = "function(file) that receives a blis.TraceFile and returns a list of tables, or a "
        .. "function that returns the next table and nil at the end.",
    },
    {
      name = "recognize", type = "callback", arguments = "(head)",
      doc = "function(head) that receives up to 64 KiB of the start of a file and returns whether "
        .. "the file is of this format. Default: only files for which the format is stated.",
    },
    {
      name = "returns", type = "choice", choices = { "rows", "graphs" }, default = "rows",
      doc = "What read returns. rows: requests with arrival_us, prompt_tokens (or content), and "
        .. "output_tokens. graphs: session graphs, which are lists of requests.",
    },
    {
      name = "summary", type = "string",
      doc = "Description of the file in one line, for lists of formats.",
    },
  },
}

return {
  format = format, importers = importers, read = read, open = open, cut = cut, merge = merge,
  write = write, run = run,
}
