--- The options of a latency model in Lua.
---@type blis.Section
return {
  name = "latency_model",
  summary = "A latency model in Lua.",
  options = {
    { name = "name", type = "string", default = "latency model", doc = "Its name." },
    {
      name = "step_time", type = "any", required = true, expected = "a function(batch)",
      doc = "a function(batch) that returns the microseconds of an engine step",
    },
    {
      name = "from_sums", type = "boolean", default = false,
      doc = "step_time sees sums over the batch, no single requests; long decodes cost less.",
    },
    {
      name = "queueing_time", type = "any", default = 0, unit = "us",
      doc = "From a request's arrival to the wait queue: microseconds, or a "
        .. "function(prompt_tokens).",
    },
    {
      name = "output_token_time", type = "any", default = 0, unit = "us",
      doc = "Added to the time of every output token.",
    },
    {
      name = "fixed_overhead", type = "any", default = 0, unit = "us",
      doc = "Added once to the latency of a request.",
    },
  },
}
