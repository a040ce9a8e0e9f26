--- The options of a KV group: layers of a model that keep the same tokens.

---@type blis.Section
return {
  name = "kv_layout",
  summary = "KV groups of a model. The layers of a group keep the same tokens. All groups take "
    .. "their blocks from the kv_blocks of the instance. Source: hybrid KV cache manager of vLLM.",
  options = {
    {
      name = "kind", type = "choice", required = true,
      choices = { "full", "window", "chunk", "state" },
      doc = "Tokens that the layers keep. full: all tokens. window: the last `tokens` tokens. "
        .. "chunk: the tokens of the current chunk of `tokens` tokens. state: one state of a fixed "
        .. "size.",
    },
    {
      name = "tokens", type = "integer", min = 1, max = 1 << 40, unit = "tokens",
      doc = "Length of a window or a chunk.",
    },
    {
      name = "block_size", type = "integer", min = 1, max = 1048576, unit = "tokens",
      doc = "Tokens in a block of the group. Must be a multiple of the block_size of the cluster. "
        .. "Default: block_size of the cluster.",
    },
    {
      name = "count", type = "integer", min = 1, max = 128, default = 1, unit = "groups",
      doc = "Number of equal groups.",
    },
    {
      name = "states", type = "choice", choices = { "none", "steps", "blocks" },
      doc = "States that the prefix cache keeps, for kind state. none (default): one state per "
        .. "sequence; prefixes never hit. steps: the states at block borders where a step ends, at "
        .. "most two per sequence. blocks: the states at all block borders.",
    },
  },
}
