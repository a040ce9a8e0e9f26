--- The options of the gateway's queue, between admission and routing.
local policies = require "blis.config.queue_policies"

local group = "Queue of the gateway"

local function names(entries)
  local list = {}
  for i, entry in ipairs(entries) do list[i] = entry.name end
  return list
end

--- Values that are other ones where the reference is imitated.
local function go_blis(value) return { ["go-blis"] = value } end

---@type blis.Section
return {
  name = "queue",
  summary = "Gateway queue (flow control). Admitted requests wait in bands, one per priority of "
    .. "their SLO class, until instances have capacity. Sources: llm-d-router; BLIS (Go), "
    .. "--flow-control.",
  options = {
    {
      name = "dispatch", type = "choice", choices = names(policies.queue_dispatches),
      default = "cycle", profiles = go_blis "tick", flag = "--queue-dispatch", group = group,
      doc = "When requests leave the queue. cycle: one per arrival and one per cycle (llm-d). "
        .. "tick: one per arrival, one cycle later (BLIS, Go). event: all that fit, as soon as an "
        .. "instance has capacity (ideal).",
    },
    {
      name = "cycle_us", type = "time_us", min = 0, default = 1000, unit = "us",
      flag = "--dispatch-tick-interval", group = group,
      doc = "Time between two cycles; 0 = 1000.",
    },
    {
      name = "saturation", type = "any", default = "utilization", profiles = go_blis "never",
      flag = "--saturation-detector", metavar = "NAME", group = group,
      flag_doc = "Saturation detector; 'blis policies' lists detectors.",
      doc = "Saturation detector, 1 = full: a name, { name, parameter = value, ... }, or a "
        .. "function(instances) that returns the saturation. Instances have queue_depth, "
        .. "kv_utilization, in_flight, in_flight_tokens, and age_us. Routers read it as "
        .. "request.pool_saturation, from signals of the same age as their own; autoscalers as "
        .. "pool_saturation, from current signals. A function and soft-reflective return the "
        .. "latest evaluation. Without a queue it is the mean of max(queue_depth / 5, "
        .. "kv_utilization / 0.8).",
    },
    {
      name = "max_concurrency", type = "integer", min = 1, max = 1000000000, unit = "requests",
      flag = "--max-concurrency", group = group,
      doc = "Parameter of the detector concurrency; default: 100.",
    },
    {
      name = "queue_depth_threshold", type = "number", above = 0, max = 1e9, unit = "requests",
      flag = "--queue-depth-threshold", group = group,
      doc = "Parameter of the detector utilization; default: 5.",
    },
    {
      name = "kv_utilization_threshold", type = "number", above = 0, max = 1, unit = "0 to 1",
      flag = "--kv-cache-util-threshold", group = group,
      doc = "Parameter of the detector utilization; default: 0.8.",
    },
    {
      name = "usage_limit", type = "any", default = "static", profiles = go_blis "linear",
      flag = "--usage-limit", metavar = "NAME", group = group,
      flag_doc = "Saturation limit of each band; 'blis policies' lists usage limits.",
      doc = "Saturation limit of each band: a usage limit by name, { name, parameter = value, ... "
        .. "}, or a function(saturation, priorities) that returns a list of ceilings. priorities "
        .. "lists the bands, highest first.",
    },
    {
      name = "usage_limit_threshold", type = "number", above = 0, max = 1, unit = "0 to 1",
      flag = "--usage-limit-threshold", group = group,
      doc = "Ceiling of the lowest band. Requires usage limit linear.",
    },
    {
      name = "fairness", type = "choice",
      choices = names(policies.queue_fairness), default = "global-strict",
      flag = "--fairness-policy", group = group,
      scripted = "fun(flows: blis.Flow[], now_us: integer): integer",
      doc = "Order of tenants within a band. global-strict: arrival order. round-robin: one "
        .. "request per tenant. least-service: least recent service and longest wait first. "
        .. "Source: llm-d-router; least-service is its program-aware-fairness.",
    },
    {
      name = "service_half_life_s", type = "number", min = 0, max = 1e9, default = 60, unit = "s",
      flag = "--service-half-life", group = group,
      doc = "With least-service: half-life of attained service, which counts completed prompt "
        .. "tokens and twice the output tokens. 0: no decay.",
    },
    {
      name = "service_weight", type = "number", min = 0, max = 1e6, default = 0.8,
      flag = "--service-weight", group = group,
      doc = "With least-service: weight of low service, scaled to 0 to 1 over the queued tenants.",
    },
    {
      name = "wait_weight", type = "number", min = 0, max = 1e6, default = 0.2,
      flag = "--wait-weight", group = group,
      doc = "With least-service: weight of the wait of the tenant's first request.",
    },
    {
      name = "order", type = "choice", choices = names(policies.queue_orders),
      default = "fifo", flag = "--dispatch-order", group = group,
      scripted = "fun(request: blis.Request, now_us: integer): number",
      doc = "Order of a tenant's requests in a band. fifo and priority: oldest first. edf: "
        .. "earliest expiry first, which equals fifo because ttl_us is constant. slo-deadline: "
        .. "earliest TTFT deadline first, counted from arrival (go-blis: enqueue). Source: fcfs, "
        .. "edf, and slo-deadline of llm-d-router.",
    },
    {
      name = "band_selection", type = "choice", choices = { "strict" }, default = "strict",
      scripted = "fun(bands: blis.Band[], saturation: number, now_us: integer): integer?",
      doc = "Selection of the next band. strict: the highest band with requests; a closed band "
        .. "closes all lower bands (llm-d-router).",
    },
    {
      name = "slo_targets", type = "numbers_by_name", of = "integer", min = 1,
      doc = "TTFT targets by SLO class, in us, for order slo-deadline. A target in the request "
        .. "takes precedence.",
    },
    {
      name = "max_requests", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "requests", flag = "--max-gateway-queue-depth", group = group,
      doc = "Capacity of the queue, 0 = no limit. Further requests are rejected (429).",
    },
    {
      name = "max_bytes", type = "integer", min = 0, max = 1000000000000000, default = 0,
      unit = "bytes", flag = "--max-gateway-queue-bytes", group = group,
      doc = "Capacity of the queue in bytes, at 4 bytes per prompt token. 0: no limit.",
    },
    {
      name = "band_max_requests", type = "integer", min = 0, max = 1000000000, default = 5000,
      profiles = go_blis(0), unit = "requests", flag = "--per-band-capacity", group = group,
      doc = "Capacity of each band, 0 = no limit.",
    },
    {
      name = "band_max_bytes", type = "integer", min = 0, max = 1000000000000000,
      default = 1000000000, profiles = go_blis(0), unit = "bytes", flag = "--per-band-bytes",
      group = group, doc = "Capacity of each band in bytes. 0: no limit.",
    },
    {
      name = "bands", type = "any",
      doc = "Bands with separate capacity: a list of { priority =, max_requests =, max_bytes = }. "
        .. "Omitted values default to band_max_requests and band_max_bytes.",
    },
    {
      name = "sheds", type = "boolean", default = false, flag = "--queue-shedding", group = group,
      doc = "When max_requests are queued, shed the newest request of the lowest class below 0 for "
        .. "a request of a higher class (429). Byte limits and full bands do not shed.",
    },
    {
      name = "ttl_us", type = "time_us", min = 0, default = 60000000, profiles = go_blis(0),
      unit = "us", flag = "--request-ttl", group = group,
      doc = "Maximum wait while instances exist. A request that waits longer is rejected. 0: no "
        .. "limit.",
    },
    {
      name = "no_endpoint_ttl_us", type = "time_us", min = 0, unit = "us",
      flag = "--no-endpoint-ttl", group = group,
      doc = "Maximum wait while no instance is available (503). Default: ttl_us. When availability "
        .. "changes, the wait restarts. The total wait is at most the larger of the two limits.",
    },
    {
      name = "eviction", type = "boolean", default = false, flag = "--in-flight-eviction",
      group = group,
      doc = "Evict running requests of classes below 0 for waiting requests of higher classes. "
        .. "Evicted requests fail. At most two at a time, then none for 500 ms (go-blis: one per "
        .. "dispatch attempt).",
    },
  },
}
