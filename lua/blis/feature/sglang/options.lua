--- The options of SGLang's scheduler, by the names of its server arguments.
local group = "SGLang"

---@type blis.Section
return {
  name = "sglang",
  summary = "The scheduler of SGLang, for backend = \"sglang\". Prompts are computed before "
    .. "decodes, and join by an estimate of the output. When KV cache runs out, requests are "
    .. "retracted to the end of the queue. Source: SGLang's server arguments.",
  options = {
    {
      name = "chunked_prefill_size", type = "integer", min = -1, max = 1000000000, unit = "tokens",
      flag = "--chunked-prefill-size", group = group,
      doc = "Maximum prompt tokens of a prefill batch; a longer prompt is split into chunks. -1: "
        .. "prompts are not split. Default by GPU memory: 2048 below 35 GiB, 4096 below 60 GiB, "
        .. "8192 below 160 GiB, otherwise 16384.",
    },
    {
      name = "max_prefill_tokens", type = "integer", min = 1, max = 1000000000, default = 16384,
      unit = "tokens", flag = "--max-prefill-tokens", group = group,
      doc = "Prompt tokens after which no further prompt joins a prefill batch.",
    },
    {
      name = "max_running_requests", type = "integer", min = 1, max = 1000000, unit = "requests",
      flag = "--max-running-requests", group = group,
      doc = "Maximum running requests. Default: 512 times the number of longest sequences that "
        .. "the KV cache stores, at least 2048 and at most 4096.",
    },
    {
      name = "schedule_policy", type = "choice",
      choices = { "fcfs", "lpm", "dfs-weight", "lof", "random" },
      flag = "--schedule-policy", group = group,
      doc = "Order of the wait queue. fcfs (default): by arrival. lpm: longest cached prefix "
        .. "first. dfs-weight: along the tree of cached prefixes. lof: longest output first. With "
        .. "lpm and more than 128 waiting requests, or without a prefix cache, the order is fcfs.",
    },
    {
      name = "schedule_conservativeness", type = "number", min = 0, max = 100, default = 1.0,
      flag = "--schedule-conservativeness", group = group,
      doc = "Factor of the estimated output of running requests. Requests join when 0.7 times this "
        .. "factor, and at most all, of the remaining output fits. The estimate sinks to 14% of "
        .. "this in 600 decode steps.",
    },
    {
      name = "enable_mixed_chunk", type = "boolean", default = false,
      flag = "--enable-mixed-chunk", group = group,
      doc = "Compute decodes in prefill batches. Otherwise they wait until no prompt is left.",
    },
    {
      name = "prefill_decode_interval", type = "integer", min = 0, max = 1000000, default = 0,
      unit = "steps", flag = "--prefill-decode-interval", group = group,
      doc = "Number of decode steps after each prefill batch.",
    },
    {
      name = "page_size", type = "integer", min = 1, max = 1048576, unit = "tokens",
      flag = "--page-size", group = group,
      doc = "Tokens in a page of the KV cache; default: 1. kv_blocks counts pages.",
    },
    {
      name = "disable_radix_cache", type = "boolean", default = false,
      flag = "--disable-radix-cache", group = group, doc = "Cache no prefixes.",
    },
    {
      name = "disable_overlap_schedule", type = "boolean", default = false,
      flag = "--disable-overlap-schedule", group = group,
      doc = "Form each batch after the result of the previous one. Otherwise a batch is formed "
        .. "while the previous one runs, and each request is computed once more after its end.",
    },
  },
}
