--- The flags and files of `blis calibrate`.
local endings = require "blis.endings"

local function path(name, flag, doc)
  return { name = name, type = "path", flag = flag, doc = doc }
end

local function whole(name, flag, unit, doc)
  return { name = name, type = "integer", min = -1, max = 1 << 53, default = -1, unit = unit,
    flag = flag, doc = doc }
end

local function limit(name, flag, default, unit, doc)
  return { name = name, type = "number", min = 0, max = 1e12, default = default, unit = unit,
    flag = flag, doc = doc }
end

local files = {
  path("header", "--trace-header", "Header of the observed trace (YAML)."),
  path("data", "--trace-data", "Rows of the observed trace (CSV)."),
  path("results", "--sim-results", "Results of blis replay --results-path (JSON)."),
  {
    name = "report", type = "path", is_output = true, flag = "--report",
    doc = "The report to write (JSON).",
  },
  path("itl", "--itl-data", "Times of chunks (CSV: request_id,chunk_index,timestamp_us), for "
    .. "inter-token latencies."),
  path("metrics", "--sim-metrics", "Metrics of blis replay --metrics-path (JSON), for hit rates."),
  path("metrics_blind", "--sim-metrics-blind", "Metrics of blis replay --metrics-path for a run "
    .. "without adapters, for --adapter-reference."),
  path("adapters", "--adapter-reference", "Metrics of another simulator (JSON) to compare with "
    .. "--sim-metrics, instead of a trace."),
}

local by_name = {}
for _, option in ipairs(files) do by_name[option.name] = option end

local function any(name)
  return { name = name, type = "any", doc = "any value" }
end

---@type blis.Section
local header = {
  name = "header",
  summary = "Fields of the trace header that blis reads.",
  options = {
    any "trace_version", any "time_unit", any "created_at", any "mode",
    { name = "warm_up_requests", type = "integer", min = 0, doc = "Requests to omit." },
    any "workload_seed", any "workload_spec", any "session_context_growth", any "server",
    {
      name = "network", type = "section", doc = "Network between client and server.",
      section = {
        name = "network", summary = "Network between client and server.",
        options = {
          { name = "measured_rtt_ms", type = "number", min = 0, doc = "Round-trip time." },
        },
      },
    },
    { name = "goodput_slo_targets", type = "table", doc = "Targets by SLO class." },
    any "kv_offload",
    {
      name = "observed_kv_metrics", type = "section", doc = "Metrics of the server's KV cache.",
      section = {
        name = "observed_kv_metrics", summary = "Metrics of the server's KV cache.",
        options = {
          { name = "source", type = "string", doc = "Source of the metrics." },
          { name = "hit_rate", type = "number", min = 0, max = 1, doc = "Hits per query." },
          any "block_hits", any "block_queries", any "read_time_total", any "write_time_total",
          any "vllm_commit",
        },
      },
    },
  },
}

local function column(name, is_text, is_optional)
  return { name = name, is_text = is_text, is_optional = is_optional }
end

return {
  by_name = by_name,
  required = { by_name.header, by_name.data, by_name.results, by_name.report },
  header = header,
  files = { name = "files", summary = "Files.", options = files },
  comparison = {
    name = "comparison", summary = "Metrics to compare, and tolerances.",
    options = {
      whole("warm_up", "--warmup-requests", "requests",
        "Leave out requests with lower numbers, -1 = as the header says."),
      whole("rtt_us", "--network-rtt-us", "us",
        "Round trip that is added to simulated times, -1 = as the header says."),
      limit("mbps", "--network-bandwidth-mbps", 0, "Mbit/s",
        "Bandwidth of the network for 4 bytes a token, 0 = no delay."),
      limit("hit_rate_tolerance_pp", "--hit-rate-tolerance-pp", 5, "percentage points",
        "Maximum difference of hit rates."),
      limit("ttft_threshold", "--ttft-mape-threshold", 0.15, "",
        "Largest mean error of TTFT, as a fraction."),
      limit("adapter_threshold", "--adapter-mape-threshold", 0.2, "",
        "Largest error against --adapter-reference, as a fraction."),
    },
  },
  observation = {
    name = "observation", summary = "A workload for a real endpoint.",
    options = {
      { name = "target", type = "string", flag = "--observe", metavar = "URL",
        doc = "Send a workload to this endpoint (as blis observe does), and fit step times to the "
          .. "answers. The endpoint is one engine." },
      path("trace", "--observe-trace", "Trace to send. Default: prompts of 50 to 3,000 tokens and "
        .. "outputs of 20 to 400 tokens."),
      { name = "rate", type = "number", above = 0, max = 100000, default = 2, unit = "requests/s",
        flag = "--observe-rate", doc = "Arrivals per second, without --observe-trace." },
      { name = "requests", type = "integer", min = 40, max = 1000000, default = 200,
        flag = "--observe-requests", doc = "Number of requests, without --observe-trace." },
      { name = "max_send_delay_us", type = "time_us", min = 1, default = 5000, unit = "us",
        flag = "--observe-max-send-delay", doc = "Greatest 99th percentile of the delay between "
          .. "the time of a request and its sending. A longer delay is an error." },
      { name = "model", type = "string", flag = "--observe-model", metavar = "NAME",
        doc = "Model that the requests name. Default: none." },
      { name = "output", type = "string", is_output = true, flag = "--observe-output",
        metavar = "NAME", doc = "Keep the measurements as TraceV2: NAME.csv and NAME.yaml. "
          .. "Default: they are removed." },
    },
  },
  output = {
    name = "output", summary = "Printed output.",
    options = {
      { name = "coefficients", type = "path", is_output = true, flag = "--coefficients",
        endings = endings.yaml,
        doc = "Fitted coefficients (YAML), for --catalogue of blis run." },
      { name = "plot", type = "path", is_output = true, flag = "--plot",
        endings = endings.svg,
        doc = "Picture (SVG) of predicted over observed times." },
      { name = "quiet", type = "boolean", default = false, flag = "--quiet",
        doc = "No summary on standard error." },
    },
  },
  columns = {
    column "request_id", column("slo_class", true), column "input_tokens",
    column "output_tokens", column "server_input_tokens", column "send_time_us",
    column "first_chunk_time_us", column "last_chunk_time_us", column("status", true),
  },
  itl_columns = { column "request_id", column "chunk_index", column "timestamp_us" },
}
