--- Prefill and decode on instances of their own: who decides it, and how the KV gets from one to
--- the other.
local group = "Hand-off of the KV"

---@type blis.Section
return {
  name = "disaggregation",
  summary = "Prefill and decode apart: who decides it, and the way of the KV. Instances have "
    .. "roles: see prefill_instances and decode_instances of the cluster, and role of its groups. "
    .. "'blis help blis.StageContext' has what deciders and routing policies are told, 'blis "
    .. "recommend --help' finds out how many instances of each role are best, and "
    .. "docs/disaggregation.md says what is modelled and what is not.",
  options = {
    {
      name = "decider", type = "any", default = "always", profiles = { ["go-blis"] = "never" },
      flag = "--pd-decider", group = group, metavar = "NAME",
      flag_doc = "Whether the prompt of a request is computed by the prefill pool; 'blis policies' "
        .. "lists deciders.",
      doc = "Whether the prompt of a request is computed by the prefill pool: a policy by name, "
        .. "{ name, parameter = value, ... }, or a function(request, context) that returns "
        .. "\"local\", \"split\" or { prefill = index, decode = index }, numbers of instances.",
    },
    {
      name = "prefix_threshold", type = "integer", min = 0, max = 1000000000, unit = "tokens",
      flag = "--pd-prefix-threshold", group = group,
      doc = "Parameter threshold of the decider prefix-threshold; default: 16.",
    },
    {
      name = "prefill_routing", type = "any",
      doc = "Routing policy of the prefill stage, as routing of the experiment, which is that of "
        .. "the decode stage; default: the same policy, with a memory of its own (go-blis: one for "
        .. "both).",
    },
    {
      name = "decode_routing", type = "any",
      doc = "Routing policy of the decode stage; default: routing of the experiment.",
    },
    {
      name = "stage_order", type = "choice", choices = { "decode-first", "prefill-first" },
      default = "decode-first", flag = "--pd-stage-order", group = group,
      doc = "Which stage is routed first, so that the policy of the other one knows its choice. "
        .. "With prefill-first the decider has to be always, as in llm-d.",
    },
    {
      name = "encode_decider", type = "choice", choices = { "never", "always", "multimodal" },
      profiles = { ["go-blis"] = "never" }, flag = "--encode-decider", group = group,
      doc = "Which requests the instances of role encode get before all others: those with images, "
        .. "sound or video, all, or none; default: multimodal where there are such instances.",
    },
    {
      name = "encode_base_us", type = "number", min = 0, max = 1e12, unit = "us",
      flag = "--encode-base-us", group = group,
      doc = "Time to encode a request, one at a time on an instance, beside that of its tokens; "
        .. "needed with instances that encode, there is no default.",
    },
    {
      name = "encode_us_per_token", type = "number", min = 0, max = 1e12, unit = "us",
      flag = "--encode-us-per-token", group = group,
      doc = "Time to encode a token that is not text; needed as well.",
    },
    {
      name = "encode_routing", type = "any",
      doc = "Routing policy of the encode stage, as prefill_routing.",
    },
    {
      name = "order", type = "choice", choices = { "source", "destination" }, default = "source",
      flag = "--pd-order", group = group,
      doc = "Where a hand-off begins: source, prefill first and then room at the destination "
        .. "(vLLM); or destination, room first and then the prefill (SGLang).",
    },
    {
      name = "first_token", type = "choice", choices = { "decode", "prefill" }, default = "decode",
      flag = "--pd-first-token", group = group,
      doc = "Who gives the first token: the instance that decodes, which computes the last token "
        .. "of the prompt again (vLLM), or the one that prefills (SGLang); there, a request of one "
        .. "output token needs no hand-off.",
    },
    {
      name = "on_no_room", type = "choice", choices = { "wait", "drop", "local" },
      default = "wait", profiles = { ["go-blis"] = "drop" }, flag = "--pd-on-no-room",
      group = group,
      doc = "What becomes of a hand-off for which the destination has no room: it waits, first "
        .. "come, first served; the request fails; or the destination computes all of it.",
    },
    {
      name = "kv_limit", type = "number", above = 0, max = 1, default = 1, unit = "0 to 1",
      flag = "--pd-kv-limit", group = group,
      doc = "Back-pressure: no room is reserved that fills more of the destination's KV cache.",
    },
    {
      name = "transfer_timeout_us", type = "time_us", min = 0, default = 300000000, unit = "us",
      flag = "--pd-transfer-timeout", group = group,
      doc = "Limit from when room is first wanted at the destination until the KV is there, "
        .. "0 = none.",
    },
    {
      name = "on_failure", type = "choice", choices = { "fail", "recompute", "retry" },
      default = "fail", flag = "--pd-on-failure", group = group,
      doc = "What becomes of a request whose hand-off has failed, by a timeout or with an "
        .. "instance: it fails; the destination, or another instance, computes all of it; or it is "
        .. "routed again.",
    },
    {
      name = "retries", type = "integer", min = 0, max = 10000, default = 1, flag = "--pd-retries",
      group = group, doc = "How often a request is routed again, with on_failure retry.",
    },
    {
      name = "retry_pause_us", type = "time_us", min = 0, default = 200000, unit = "us",
      flag = "--pd-retry-pause", group = group, doc = "Pause before that.",
    },
    {
      name = "bandwidth_gb_s", type = "number", min = 0, max = 1e9, default = 25, unit = "GB/s",
      flag = "--pd-transfer-bandwidth", group = group, suffixes = { ["GB/s"] = 1, ["MB/s"] = 1e-3 },
      doc = "Bandwidth between two GPUs, in and out of each instance, shared fairly by the "
        .. "transfers under way; 0 = transfers take no time but the latency. Of a model that is "
        .. "split over GPUs each moves its part.",
    },
    {
      name = "fabric_gb_s", type = "number", min = 0, max = 1e9, default = 0, unit = "GB/s",
      flag = "--pd-fabric-bandwidth", group = group,
      doc = "Bandwidth that all transfers share beside, 0 = none.",
    },
    {
      name = "base_latency_ms", type = "number", min = 0, max = 1e9, default = 0.05, unit = "ms",
      flag = "--pd-transfer-base-latency", group = group,
      flag_aliases = { "--pd-transfer-latency" }, suffixes = { us = 1e-3, ms = 1, s = 1e3 },
      doc = "Time of every transfer that needs no bandwidth.",
    },
    {
      name = "handshake_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--pd-handshake", group = group,
      doc = "Time of the first transfer between two instances beside (vLLM: about 5 s).",
    },
    {
      name = "charged", type = "choice", choices = { "full_prompt", "destination_missing" },
      default = "destination_missing", profiles = { ["go-blis"] = "full_prompt" },
      flag = "--pd-charged", group = group,
      doc = "What is moved: the KV of the whole prompt, or of the blocks that the destination has "
        .. "not cached.",
    },
    {
      name = "overlap", type = "choice", choices = { "none", "chunks", "layers" },
      default = "none", flag = "--pd-overlap", group = group,
      doc = "When KV goes, with order destination: when the whole prompt is computed; each chunk "
        .. "of it when its step has ended; or while a step goes on, its layers in groups.",
    },
    {
      name = "layer_groups", type = "integer", min = 1, max = 1000, default = 8, unit = "groups",
      flag = "--pd-layer-groups", group = group,
      doc = "In how many equal groups the layers of a step go, with overlap layers.",
    },
    {
      name = "overlap_min_tokens", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "tokens", flag = "--pd-overlap-min-tokens", group = group,
      doc = "Shorter prompts go when they are computed.",
    },
    {
      name = "contention", type = "boolean", default = false, flag = "--pd-transfer-contention",
      group = group,
      doc = "Under profile go-blis, the bandwidth of a transfer is divided by the transfers under "
        .. "way when it starts. In the design, links are always shared.",
    },
  },
}
