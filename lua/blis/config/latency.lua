--- The options of a latency model in Lua.
---@type blis.Section
return {
  name = "latency_model",
  summary = "A latency model in Lua.",
  options = {
    { name = "name", type = "string", default = "latency model", doc = "Its name." },
    {
      name = "step_time", type = "any", required = true, expected = "a function(batch)",
      doc = "function(batch) that returns the duration of an engine step in microseconds",
    },
    {
      name = "from_sums", type = "boolean", default = false,
      doc = "Pass sums over the batch to step_time, without single requests. Long decodes are then "
        .. "faster to simulate.",
    },
    {
      name = "queueing_time", type = "any", default = 0, unit = "us",
      doc = "Time from the arrival of a request to the wait queue: microseconds, or a "
        .. "function(prompt_tokens).",
    },
    {
      name = "output_token_time", type = "any", default = 0, unit = "us",
      doc = "Time in addition to every output token.",
    },
    {
      name = "fixed_overhead", type = "any", default = 0, unit = "us",
      doc = "Time in addition to the latency of a request, once.",
    },
  },
}
