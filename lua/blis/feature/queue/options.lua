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
  summary = "The queue of the gateway: admitted requests wait in bands, one per value of their SLO "
    .. "class, until the instances have room. Sources: llm-d-router; BLIS (Go), --flow-control.",
  options = {
    {
      name = "dispatch", type = "choice", choices = names(policies.queue_dispatches),
      default = "cycle", profiles = go_blis "tick", flag = "--queue-dispatch", group = group,
      doc = "When a request may leave. cycle: one when one comes, and one per cycle (llm-d); "
        .. "tick: one for each that comes, and one a cycle later (BLIS, Go); event: all that may, "
        .. "as soon as an instance has room (ideal).",
    },
    {
      name = "cycle_us", type = "time_us", min = 0, default = 1000, unit = "us",
      flag = "--dispatch-tick-interval", group = group,
      doc = "Time between two cycles; 0 = 1000.",
    },
    {
      name = "saturation", type = "any", default = "utilization", profiles = go_blis "never",
      flag = "--saturation-detector", metavar = "NAME", group = group,
      flag_doc = "How full the instances are; 'blis policies' lists detectors.",
      doc = "How full the instances are, 1 = full: a saturation detector by name, "
        .. "{ name, parameter = value, ... }, or a function(instances) that returns it; each of "
        .. "these has queue_depth, kv_utilization, in_flight, in_flight_tokens, age_us. Routers "
        .. "read it as request.pool_saturation, by signals as old as theirs, autoscalers as "
        .. "pool_saturation, as of now; a function's and soft-reflective's is that of the last "
        .. "look. Without a queue it is max(queue_depth / 5, kv_utilization / 0.8), the mean of "
        .. "all instances.",
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
      flag_doc = "Up to which saturation each band may leave; 'blis policies' lists usage limits.",
      doc = "Up to which saturation each band may leave: a usage limit by name, "
        .. "{ name, parameter = value, ... }, or a function(saturation, priorities) that returns a "
        .. "list of ceilings; priorities are those of the bands, the highest first.",
    },
    {
      name = "usage_limit_threshold", type = "number", above = 0, max = 1, unit = "0 to 1",
      flag = "--usage-limit-threshold", group = group,
      doc = "The ceiling of the lowest band, with usage limit linear, which it asks for.",
    },
    {
      name = "fairness", type = "choice",
      choices = names(policies.queue_fairness), default = "global-strict",
      flag = "--fairness-policy", group = group,
      scripted = "fun(flows: blis.Flow[], now_us: integer): integer",
      doc = "Which tenant of a band is next. global-strict: whoever is first of all; round-robin: "
        .. "one after the other, a request each; least-service: the one with the least attained "
        .. "service of late, and the longest wait. All of llm-d-router; the last one is its "
        .. "program-aware-fairness.",
    },
    {
      name = "service_half_life_s", type = "number", min = 0, max = 1e9, default = 60, unit = "s",
      flag = "--service-half-life", group = group, suffixes = { s = 1, m = 60, h = 3600 },
      doc = "With least-service: service, prompt tokens and twice the output tokens of what is "
        .. "completed, counts half after this time, 0 = it never fades.",
    },
    {
      name = "service_weight", type = "number", min = 0, max = 1e6, default = 0.8,
      flag = "--service-weight", group = group,
      doc = "With least-service: what the least service counts for, from 0 to 1 between the "
        .. "tenants that wait.",
    },
    {
      name = "wait_weight", type = "number", min = 0, max = 1e6, default = 0.2,
      flag = "--wait-weight", group = group,
      doc = "With least-service: what the longest wait counts for.",
    },
    {
      name = "order", type = "choice", choices = names(policies.queue_orders),
      default = "fifo", flag = "--dispatch-order", group = group,
      scripted = "fun(request: blis.Request, now_us: integer): number",
      doc = "Who is next of a tenant's requests in a band. fifo and priority: the oldest; edf: by "
        .. "when they expire, which is as fifo, as ttl_us is the same for all; slo-deadline: by "
        .. "arrival (go-blis: enqueue) and wanted time to first token (fcfs, edf and slo-deadline "
        .. "of llm-d-router).",
    },
    {
      name = "band_selection", type = "choice", choices = { "strict" }, default = "strict",
      scripted = "fun(bands: blis.Band[], saturation: number, now_us: integer): integer?",
      doc = "Which band with requests is next. strict: the highest, and a closed one closes those "
        .. "below it (llm-d-router).",
    },
    {
      name = "slo_targets", type = "numbers_by_name", of = "integer", min = 1,
      doc = "Wanted times to first token by SLO class, in us, for order slo-deadline and requests "
        .. "without one of their own.",
    },
    {
      name = "max_requests", type = "integer", min = 0, max = 1000000000, default = 0,
      unit = "requests", flag = "--max-gateway-queue-depth", group = group,
      doc = "Room of the queue, 0 = no limit; who comes then is rejected (429).",
    },
    {
      name = "max_bytes", type = "integer", min = 0, max = 1000000000000000, default = 0,
      unit = "bytes", flag = "--max-gateway-queue-bytes", group = group,
      doc = "The same in bytes, 4 for a token of a prompt.",
    },
    {
      name = "band_max_requests", type = "integer", min = 0, max = 1000000000, default = 5000,
      profiles = go_blis(0), unit = "requests", flag = "--per-band-capacity", group = group,
      doc = "Room of each band, 0 = no limit.",
    },
    {
      name = "band_max_bytes", type = "integer", min = 0, max = 1000000000000000,
      default = 1000000000, profiles = go_blis(0), unit = "bytes", flag = "--per-band-bytes",
      group = group, doc = "The same in bytes.",
    },
    {
      name = "bands", type = "any",
      doc = "Bands with room of their own: a list of { priority =, max_requests =, max_bytes = }; "
        .. "what one leaves out is band_max_requests and band_max_bytes.",
    },
    {
      name = "sheds", type = "boolean", default = false, flag = "--queue-shedding", group = group,
      doc = "When max_requests wait, the newest request of the lowest class below 0 is given up "
        .. "for one of a higher class (429); not for want of bytes, nor in a full band.",
    },
    {
      name = "ttl_us", type = "time_us", min = 0, default = 60000000, profiles = go_blis(0),
      unit = "us", flag = "--request-ttl", group = group,
      doc = "Longest wait while there are instances, 0 = no limit; then a request is rejected.",
    },
    {
      name = "no_endpoint_ttl_us", type = "time_us", min = 0, unit = "us",
      flag = "--no-endpoint-ttl", group = group,
      doc = "Longest wait while there are none (503); default: as ttl_us. When instances come or "
        .. "go, the wait is counted anew, up to the larger of both in all.",
    },
    {
      name = "eviction", type = "boolean", default = false, flag = "--in-flight-eviction",
      group = group,
      doc = "Requests of classes below 0 are taken from their instances for higher ones that wait, "
        .. "and fail: two at once and not before 500 ms again (go-blis: one per try).",
    },
  },
}
