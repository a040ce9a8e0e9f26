--- Options of a live cluster: where it listens, how fast it runs, and what clients see of it.

local group = "Server"

---@type blis.Section
return {
  name = "live",
  summary = "Simulated instances as HTTP servers.",
  options = {
    {
      name = "gateway", type = "string", flag = "--gateway", metavar = "ADDRESS",
      group = group, expected = "ADDRESS:PORT",
      doc = "Address where the routing policy chooses the instance; port 0 is any free port. "
        .. "Default: 127.0.0.1:8000, unless --port-base or --listen is set.",
    },
    {
      name = "port_base", type = "integer", min = 1, max = 65535, flag = "--port-base",
      metavar = "PORT", group = group,
      doc = "Port of the first instance on 127.0.0.1. Each further instance has the next port.",
    },
    {
      name = "listen", type = "string", flag = "--listen", metavar = "ADDRESS",
      group = group,
      doc = "Addresses of the instances: 127.0.1.1+:8000 (an address for each instance) or "
        .. "127.0.0.1:8000+ (a port for each instance). Addresses outside of this machine are "
        .. "possible here and in --gateway; anyone can then send requests.",
    },
    {
      name = "write_endpoints", type = "path", is_output = true, flag = "--write-endpoints",
      metavar = "FILE",
      group = group,
      doc = "File with the addresses of the instances that serve, for the plugin file-discovery of "
        .. "llm-d's endpoint picker. It is replaced when an instance is added or removed.",
    },
    {
      name = "kv_events", type = "string", flag = "--kv-events", metavar = "ADDRESS", group = group,
      doc = "Addresses where the instances publish the changes of their prefix caches over ZeroMQ, "
        .. "in the layout of vLLM: 127.0.1.1+:5557 (an address for each instance) or "
        .. "127.0.0.1:5557+ (a port for each instance). Default: no events.",
    },
    {
      name = "kv_events_replay", type = "string", flag = "--kv-events-replay",
      metavar = "ADDRESS", group = group,
      doc = "Addresses where subscribers request events that they have missed, as for --kv-events.",
    },
    {
      name = "kv_events_topic", type = "string", flag = "--kv-events-topic", metavar = "TEXT",
      group = group,
      doc = "Topic of the events. Default: kv@ADDRESS:PORT@MODEL with the HTTP address of the "
        .. "instance, as llm-d's endpoint picker expects it. The default of vLLM is ''.",
    },
    {
      name = "kv_events_format", type = "choice", choices = { "array", "map" }, default = "array",
      flag = "--kv-events-format", metavar = "FORM", group = group,
      doc = "Form of an event: an array, or a map with the names of its fields, as in current "
        .. "versions of vLLM.",
    },
    {
      name = "kv_handoff_gb_s", type = "number", above = 0, max = 1e6, unit = "GB/s",
      flag = "--kv-handoff-bandwidth", metavar = "N", group = group,
      doc = "Bandwidth at which an instance loads KV that another instance has computed, for a "
        .. "router that sends a prompt first to a prefill and then to a decode instance "
        .. "(kv_transfer_params of vLLM). Default: kv_transfer_params are ignored.",
    },
    {
      name = "kv_handoff_latency_us", type = "time_us", min = 0, default = 0, unit = "us",
      flag = "--kv-handoff-latency", group = group,
      doc = "Simulated time of such a transfer in addition to its bytes.",
    },
    {
      name = "max_instances", type = "integer", min = 1, max = 10000, unit = "instances",
      flag = "--max-instances", group = group,
      doc = "Maximum number of instances that POST /admin/scale, add, and remove can set. Starts "
        .. "and removals follow the options of autoscaling, such as --loading-delay. Default: the "
        .. "number of instances is fixed.",
    },
    {
      name = "speed", type = "number", above = 0, max = 1000000, default = 1, flag = "--speed",
      metavar = "N", group = group,
      doc = "Simulated seconds per second.",
    },
    {
      name = "served_model_name", type = "string", flag = "--served-model-name",
      metavar = "NAME,...", group = group,
      doc = "Names of the model for clients, with commas between them. Default: --model.",
    },
    {
      name = "output_tokens", type = "integer", min = 1, max = 1000000, default = 256,
      unit = "tokens", flag = "--reply-tokens", group = group,
      doc = "Mean length of a response that ends by itself: without ignore_eos, below max_tokens.",
    },
    {
      name = "output_tokens_stddev", type = "integer", min = 0, max = 1000000, default = 128,
      unit = "tokens", flag = "--reply-tokens-stdev", group = group,
      doc = "Standard deviation of these lengths (normal distribution, at least 1).",
    },
    {
      name = "media_tokens", type = "integer", min = 0, max = 100000, default = 576,
      unit = "tokens", flag = "--media-tokens", group = group,
      doc = "Prompt tokens of an image or another part of a message without text.",
    },
    {
      name = "version", type = "string", default = "0.11.0", flag = "--report-version",
      metavar = "TEXT", group = group,
      doc = "Version that /version reports.",
    },
    {
      name = "metrics_flavor", type = "choice", default = "vllm",
      choices = { "vllm", "vllm-0.8", "sglang", "trtllm" }, flag = "--metrics-flavor",
      metavar = "ENGINE", group = group,
      doc = "Engine whose metrics /metrics exports. vllm: vLLM v1. vllm-0.8: with the names of "
        .. "version 0.8, which the router of production-stack reads.",
    },
    {
      name = "request_ids", type = "boolean", default = false, flag = "--enable-request-id-headers",
      group = group,
      doc = "Return the X-Request-Id of a request with its response.",
    },
    {
      name = "hide_cached", type = "boolean", default = false, flag = "--hide-cached-tokens",
      group = group,
      doc = "Omit prompt_tokens_details from usage, as vLLM does by default.",
    },
    {
      name = "stall_timeout_us", type = "time_us", min = 1, default = 60000000, unit = "us",
      flag = "--stall-timeout", group = group,
      doc = "Wall-clock time after which a client that reads nothing is dropped.",
    },
    {
      name = "duration_us", type = "time_us", min = 1, unit = "us", flag = "--duration",
      group = group,
      doc = "Wall-clock time after which the server ends by itself, with status 0. Default: never.",
    },
    {
      name = "grace_us", type = "time_us", min = 0, default = 10000000, unit = "us",
      flag = "--grace-period", group = group,
      doc = "Wall-clock time for open requests after Ctrl-C or --duration. A second Ctrl-C ends "
        .. "the program at once.",
    },
  },
}
