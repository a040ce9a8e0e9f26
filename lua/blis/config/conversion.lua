--- Options of blis convert and blis compose.
local presets = require "blis.config.presets"

---@type blis.Section
local preset = {
  name = "preset",
  summary = "A preset as a specification.",
  options = {
    {
      name = "name", type = "choice", choices = presets.names, flag = "--name",
      doc = "Which preset.",
    },
    {
      name = "rate", type = "number", above = 0, max = 1e9, default = 1, unit = "requests/s",
      flag = "--rate", doc = "Requests per second.",
    },
    {
      name = "requests", type = "integer", min = 0, default = 100, unit = "requests",
      flag = "--num-requests",
      doc = "Number of requests. A preset with a shape sends at most this many; by default it has "
        .. "no end.",
    },
  },
}

---@type blis.Section
local servegen = {
  name = "servegen",
  summary = "ServeGen data as a specification.",
  options = {
    {
      name = "path", type = "path", flag = "--path",
      doc = "Folder with chunk-<id>-trace.csv and chunk-<id>-dataset.json.",
    },
    {
      name = "window_s", type = "integer", min = 1, max = 1000000000, default = 600, unit = "s",
      flag = "--window-duration-seconds", doc = "Length of each selected window.",
    },
    {
      name = "drain_s", type = "integer", min = 1, max = 1000000000, default = 180, unit = "s",
      flag = "--drain-timeout-seconds", doc = "From the end of a window to the next.",
    },
    {
      name = "time", type = "choice", choices = { "midnight", "morning", "afternoon" },
      flag = "--time", doc = "Only this part of the day, of language data.",
    },
  },
}

---@type blis.Section
local inference_perf = {
  name = "inference_perf",
  summary = "A configuration of inference-perf, or an inference_perf block, as clients.",
  options = {
    {
      name = "spec", type = "path", flag = "--spec",
      doc = "Configuration of inference-perf (load, data), or specification with an inference_perf "
        .. "block.",
    },
    {
      name = "stage", type = "integer", min = 1, max = 10000, flag = "--stage",
      doc = "Only this stage of the load of a configuration. Default: all.",
    },
  },
}

---@type blis.Section
local compose = {
  name = "compose",
  summary = "Several specifications as one.",
  options = {
    {
      name = "from", type = "path", is_list = true, flag = "--from",
      doc = "Workload specification. Its clients and cohorts keep their rates.",
    },
  },
}

return {
  preset = preset, servegen = servegen, inference_perf = inference_perf, compose = compose,
}
