--- The options of spot capacity: instances that come and go, at prices that change.

---@type blis.Section
local step = {
  name = "step",
  summary = "Spot capacity and price from a point in time.",
  options = {
    { name = "at", type = "time_us", min = 0, max = 1000000000000000, required = true, unit = "us",
      doc = "Start time of the row." },
    {
      name = "available", type = "integer", min = 0, max = 1000000, unit = "instances",
      doc = "Number of instances of the group that can run. The highest indexes are reclaimed "
        .. "first. With data-parallel ranks, an instance is a group of ranks. Default: unchanged; "
        .. "initially all instances.",
    },
    {
      name = "gpu_price_per_hour", type = "number", min = 0, max = 1e9, unit = "USD/h",
      doc = "Price of one GPU. Default: unchanged; initially the price of the cluster.",
    },
  },
}

---@type blis.Section
local section = {
  name = "spot",
  summary = "Spot capacity: a trace of the number of available instances and their price.",
  options = {
    {
      name = "trace", type = "path",
      doc = "CSV with the column time_s and at least one of available and gpu_price_per_hour. "
        .. "Alternatively:",
    },
    {
      name = "steps", type = "table",
      doc = "A list of { at = blis.seconds(600), available = 2, gpu_price_per_hour = 1.1 }, in "
        .. "order of time.",
    },
    {
      name = "notice", type = "time_us", min = 0, default = 120000000, unit = "us",
      doc = "Notice before an instance is reclaimed. In this time, the instance finishes its "
        .. "requests and receives no new ones.",
    },
    {
      name = "restart_time", type = "time_us", min = 0, max = 1000000000000000,
      default = 60000000, unit = "us",
      doc = "Time from available capacity until the instance serves. It is billed in this time.",
    },
    {
      name = "requests", type = "choice", choices = { "failed", "rerouted", "retried" },
      default = "rerouted",
      doc = "How to handle requests that are unfinished after the notice. Same values as requests "
        .. "of a fault.",
    },
    {
      name = "retry_after", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "With requests = \"retried\": pause before requests are sent again.",
    },
  },
}

return { section = section, step = step }
