--- Prefill and decode on separate instances: disaggregation policies and KV transfers.
local group = "Hand-off of the KV"

---@type blis.Section
return {
  name = "disaggregation",
  summary = "Prefill/decode disaggregation: policies and KV transfers. prefill_instances and "
    .. "decode_instances of the cluster, or role of its groups, set the roles of instances. See "
    .. "'blis help blis.StageContext' for the context of policies, 'blis recommend --help' to size "
    .. "the pools, and docs/disaggregation.md for details and limits.",
  options = {
    {
      name = "decider", type = "any", default = "always", profiles = { ["go-blis"] = "never" },
      flag = "--pd-decider", group = group, metavar = "NAME",
      flag_doc = "Policy that decides which requests use the prefill pool; 'blis policies' lists "
        .. "deciders.",
      doc = "Policy that decides which requests use the prefill pool: a name, { name, parameter = "
        .. "value, ... }, or a function(request, context). The function returns \"local\", "
        .. "\"split\", or { prefill = index, decode = index } with indexes of instances.",
    },
    {
      name = "prefix_threshold", type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--pd-prefix-threshold", group = group,
      doc = "Parameter threshold of the decider prefix-threshold; default: 16.",
    },
    {
      name = "prefill_routing", type = "any",
      doc = "Routing policy of the prefill stage. The experiment's routing policy routes the "
        .. "decode stage. Default: the same policy with separate state (go-blis: shared state).",
    },
    {
      name = "decode_routing", type = "any",
      doc = "Routing policy of the decode stage; default: routing of the experiment.",
    },
    {
      name = "stage_order", type = "choice", choices = { "decode-first", "prefill-first" },
      default = "decode-first", flag = "--pd-stage-order", group = group,
      doc = "Stage that is routed first. The policy of the second stage sees the choice. "
        .. "prefill-first requires decider always, as in llm-d.",
    },
    {
      name = "encode_decider", type = "choice", choices = { "never", "always", "multimodal" },
      profiles = { ["go-blis"] = "never" }, flag = "--encode-decider", group = group,
      doc = "Requests that instances of role encode process first. multimodal: requests with "
        .. "images, sound, or video. Default: multimodal if the cluster has encode instances.",
    },
    {
      name = "encode_base_us", type = "number", min = 0, max = 1e12, unit = "us",
      flag = "--encode-base-us", group = group,
      doc = "Fixed time to encode a request, in addition to the time of its tokens. An instance "
        .. "encodes one request at a time. Required with encode instances.",
    },
    {
      name = "encode_us_per_token", type = "number", min = 0, max = 1e12, unit = "us",
      flag = "--encode-us-per-token", group = group,
      doc = "Time to encode a non-text token. Required with encode instances.",
    },
    {
      name = "encode_routing", type = "any",
      doc = "Routing policy of the encode stage, in the form of prefill_routing.",
    },
    {
      name = "order", type = "choice", choices = { "source", "destination" }, default = "source",
      flag = "--pd-order", group = group,
      doc = "Order of a hand-off. source: prefill, then reserve KV blocks at the destination "
        .. "(vLLM). destination: reserve first, then prefill (SGLang).",
    },
    {
      name = "first_token", type = "choice", choices = { "decode", "prefill" }, default = "decode",
      flag = "--pd-first-token", group = group,
      doc = "Instance that produces the first token. decode: the decode instance, which recomputes "
        .. "the last prompt token (vLLM). prefill: the prefill instance (SGLang); a request with "
        .. "one output token then needs no hand-off.",
    },
    {
      name = "on_destination_full", type = "choice", choices = { "wait", "drop", "local" },
      default = "wait", profiles = { ["go-blis"] = "drop" }, flag = "--pd-on-destination-full",
      aliases = { "on_no_room" }, flag_aliases = { "--pd-on-no-room" }, group = group,
      deprecated = { on_no_room = "2.0.0", ["--pd-on-no-room"] = "2.0.0" },
      doc = "Action when the destination has no free KV blocks. wait: queue in FIFO order. drop: "
        .. "fail the request. local: compute the whole request on the destination.",
    },
    {
      name = "kv_limit", type = "number", above = 0, max = 1, default = 1, unit = "0 to 1",
      flag = "--pd-kv-limit", group = group,
      doc = "Maximum fraction of the destination's KV cache that transfers may fill.",
    },
    {
      name = "transfer_timeout_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      flag = "--pd-transfer-timeout", group = group,
      doc = "Time limit from the reservation request at the destination to the arrival of the KV. "
        .. "0: no limit.",
    },
    {
      name = "on_failure", type = "choice", choices = { "fail", "recompute", "retry" },
      default = "fail", flag = "--pd-on-failure", group = group,
      doc = "Action after a failed hand-off (a timeout or a lost instance). fail: fail the "
        .. "request. recompute: compute it on the destination or another instance. retry: route it "
        .. "again.",
    },
    {
      name = "retries", type = "integer", min = 0, max = 10000, default = 1, flag = "--pd-retries",
      group = group, doc = "Maximum number of retries per request, with on_failure retry.",
    },
    {
      name = "retry_pause_us", type = "time_us", min = 0, default = 200000, unit = "us",
      flag = "--pd-retry-pause", group = group, doc = "Pause before the hand-off is repeated.",
    },
    {
      name = "bandwidth_gb_s", type = "number", min = 0, max = 1e9, default = 25, unit = "GB/s",
      flag = "--pd-transfer-bandwidth", group = group, suffixes = { ["GB/s"] = 1, ["MB/s"] = 1e-3 },
      doc = "Bandwidth between two GPUs, in and out of each instance, shared fairly by concurrent "
        .. "transfers. 0: only the latency counts. With tensor parallelism, each GPU moves its "
        .. "part.",
    },
    {
      name = "fabric_gb_s", type = "number", min = 0, max = 1e9, default = 0, unit = "GB/s",
      flag = "--pd-fabric-bandwidth", group = group,
      doc = "Additional bandwidth limit shared by all transfers. 0: no limit.",
    },
    {
      name = "base_latency_ms", type = "number", min = 0, max = 1e9, default = 0.05, unit = "ms",
      flag = "--pd-transfer-base-latency", group = group,
      flag_aliases = { "--pd-transfer-latency" },
      doc = "Fixed time of every transfer, in addition to its bytes.",
    },
    {
      name = "handshake_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--pd-handshake", group = group,
      doc = "Additional latency of the first transfer between two instances (vLLM: about 5 s).",
    },
    {
      name = "transfer_content", type = "choice", choices = { "all", "missing" },
      default = "missing", profiles = { ["go-blis"] = "all" },
      flag = "--pd-transfer-content", group = group,
      aliases = { "charged" }, flag_aliases = { "--pd-charged" },
      renamed = { full_prompt = "all", destination_missing = "missing" },
      deprecated = { charged = "2.0.0", ["--pd-charged"] = "2.0.0" },
      doc = "Blocks to transfer. all: the whole prompt. missing: blocks that the destination has "
        .. "not cached.",
    },
    {
      name = "source_cache", type = "choice", choices = { "keep", "drop" }, default = "keep",
      flag = "--pd-source-cache", group = group,
      doc = "Prefix cache of the source after a transfer. keep: the KV stays cached until the "
        .. "source evicts it (vLLM). drop: the source forgets every cached block that no request "
        .. "holds, so that a block has one owner.",
    },
    {
      name = "overlap", type = "choice", choices = { "none", "chunks", "layers" },
      default = "none", flag = "--pd-overlap", group = group,
      doc = "Start of the KV transfer, with order destination. none: after the whole prompt. "
        .. "chunks: after the step of each chunk. layers: during a step, in groups of layers.",
    },
    {
      name = "layer_groups", type = "integer", min = 1, max = 1000, default = 8, unit = "groups",
      flag = "--pd-layer-groups", group = group,
      doc = "Number of equal groups of layers per step, with overlap layers.",
    },
    {
      name = "overlap_min_tokens", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "tokens", flag = "--pd-overlap-min-tokens", group = group,
      doc = "Prompts below this length are sent after they are computed.",
    },
    {
      name = "contention", type = "boolean", default = false, flag = "--pd-transfer-contention",
      group = group,
      doc = "Only profile go-blis: the bandwidth of a transfer is divided by the number of active "
        .. "transfers at its start. Other profiles always share links.",
    },
  },
}
