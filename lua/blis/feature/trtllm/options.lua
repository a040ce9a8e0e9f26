--- The options of TensorRT-LLM's scheduler, by the names of its LLM API.
local group = "TensorRT-LLM"

---@type blis.Section
return {
  name = "trtllm",
  summary = "The scheduler of TensorRT-LLM, for backend = \"trtllm\". Requests start when the KV "
    .. "cache has blocks for their prompt and largest output, and contexts and decodes share "
    .. "steps. Source: the LLM API of TensorRT-LLM.",
  options = {
    {
      name = "capacity_scheduler_policy", type = "choice", default = "GUARANTEED_NO_EVICT",
      choices = { "GUARANTEED_NO_EVICT", "MAX_UTILIZATION", "STATIC_BATCH" },
      flag = "--capacity-scheduler-policy", group = group,
      doc = "Blocks that requests need. GUARANTEED_NO_EVICT: of the prompt and the largest "
        .. "output; without a limit of the client, of the longest sequence. Nothing is preempted. "
        .. "MAX_UTILIZATION: of the next steps; the last request pauses when they do not fit. "
        .. "STATIC_BATCH: as the first, and new requests start only when none runs.",
    },
    {
      name = "max_batch_size", type = "integer", min = 1, max = 1000000, default = 2048,
      unit = "requests", flag = "--max-batch-size", group = group,
      doc = "Maximum running requests.",
    },
    {
      name = "max_num_tokens", type = "integer", min = 1, max = 1000000000, default = 8192,
      unit = "tokens", flag = "--max-num-tokens", group = group,
      doc = "Maximum tokens of a step. Without chunks, a longer prompt is rejected (reason "
        .. "max-num-tokens).",
    },
    {
      name = "enable_chunked_prefill", type = "boolean", default = false,
      flag = "--enable-chunked-context", group = group,
      doc = "Split prompts into chunks of whole blocks. Otherwise a prompt waits until a step has "
        .. "room for all of it.",
    },
    {
      name = "context_chunking_policy", type = "choice", default = "FIRST_COME_FIRST_SERVED",
      choices = { "FIRST_COME_FIRST_SERVED", "EQUAL_PROGRESS" },
      needs = "enable_chunked_prefill", flag = "--context-chunking-policy", group = group,
      doc = "Chunks of prompts that do not fit a step together: the first ones take what they "
        .. "need, or each takes a block in turn.",
    },
    {
      name = "tokens_per_block", type = "integer", min = 1, max = 1048576, unit = "tokens",
      flag = "--tokens-per-block", group = group, doc = "Tokens in a KV block; default: 32.",
    },
    {
      name = "enable_block_reuse", type = "boolean", default = true,
      flag = "--enable-block-reuse", group = group, doc = "Find blocks of earlier requests.",
    },
    {
      name = "enable_prefix_aware_scheduling", type = "boolean", default = true,
      flag = "--enable-prefix-aware-scheduling", group = group,
      doc = "Let a prompt wait for a step while another one computes the block that it needs next.",
    },
    {
      name = "disable_overlap_scheduler", type = "boolean", default = false,
      flag = "--disable-overlap-scheduler", group = group,
      doc = "Form each batch after the previous one has ended. Otherwise MAX_UTILIZATION counts "
        .. "the blocks of two steps.",
    },
  },
}
