--- The options of spot capacity: instances that come and go, at prices that change.

---@type blis.Section
local step = {
  name = "step",
  summary = "Spot capacity from a time on.",
  options = {
    { name = "at", type = "time_us", min = 0, max = 1000000000000000, required = true, unit = "us",
      doc = "From when on." },
    {
      name = "available", type = "integer", min = 0, max = 1000000, unit = "instances",
      doc = "How many instances of the group may run; those with the highest numbers go first. "
        .. "With data-parallel ranks, an instance is a group of these. Default: as before, all of "
        .. "them at first.",
    },
    {
      name = "gpu_price_per_hour", type = "number", min = 0, max = 1e9, unit = "USD/h",
      doc = "Price of one GPU; default: as before, at first the price of the cluster.",
    },
  },
}

---@type blis.Section
local section = {
  name = "spot",
  summary = "Spot capacity: how many instances may run at which price, as a trace.",
  options = {
    {
      name = "trace", type = "path",
      doc = "CSV with the columns time_s, available and gpu_price_per_hour, one of the last two at "
        .. "least; or:",
    },
    {
      name = "steps", type = "table",
      doc = "A list of { at = blis.seconds(600), available = 2, gpu_price_per_hour = 1.1 }, in "
        .. "order of time.",
    },
    {
      name = "notice", type = "time_us", min = 0, default = 120000000, unit = "us",
      doc = "How long before it is taken away an instance hears of it, gets no more requests and "
        .. "may finish what it has.",
    },
    {
      name = "restart_time", type = "time_us", min = 0, max = 1000000000000000,
      default = 60000000, unit = "us",
      doc = "From when there is room again until the instance serves; it is paid meanwhile.",
    },
    {
      name = "requests", type = "choice", choices = { "failed", "rerouted", "retried" },
      default = "rerouted",
      doc = "What becomes of requests that are not finished by then; as of a fault.",
    },
    {
      name = "retry_after", type = "time_us", min = 0, default = 1000000, unit = "us",
      doc = "With requests = \"retried\": the pause until they are sent again.",
    },
  },
}

return { section = section, step = step }
