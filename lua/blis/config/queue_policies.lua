--- What the words mean that say how the gateway's queue works, for help and `blis policies`: the
--- core has no entries of these. Parameters are options of the queue (blis.feature.queue.options).

local function entry(name, summary, source, options)
  return { name = name, summary = summary, source = source, aliases = {}, options = options or {} }
end

local function parameter(name, usual, unit, min, max, doc)
  return { name = name, type = "number", usual = usual, unit = unit, min = min, max = max,
    doc = doc .. "; an option of the queue" }
end

return {
  queue_dispatches = {
    entry("cycle", "one request may leave when one comes, and one per cycle_us, by signals as old "
      .. "as snapshot_refresh_us makes them", "llm-d-router, flow control: ticker of 1 ms"),
    entry("tick", "one request may leave for each that comes, and one cycle_us after a try",
      "BLIS (Go), --flow-control"),
    entry("event", "all that may leave do so, 1 us after an instance has done anything, by "
      .. "instances as they are and with those on their way counted: what a gateway could do at "
      .. "best", "this program; an ideal, no gateway's"),
  },
  queue_fairness = {
    entry("global-strict", "whoever is first in order of all tenants of the band",
      "llm-d-router, global-strict-fairness-policy; BLIS (Go)"),
    entry("round-robin", "tenants of the band one after the other by name, a request each, those "
      .. "that wait for nothing left out", "llm-d-router, round-robin-fairness-policy; BLIS (Go)"),
    entry("least-service", "the tenant with the highest service_weight x (1 - service) + "
      .. "wait_weight x wait of its first request, both from 0 to 1 between those that wait; "
      .. "service is prompt tokens and twice the output tokens of what is completed, and fades",
      "llm-d-router, program-aware-fairness (strategy las)", {
        parameter("service_half_life_s", 60, "s", 0, 1e9, "time until service counts half; "
          .. "0 = it never fades"),
        parameter("service_weight", 0.8, "", 0, 1e6, "of the least service"),
        parameter("wait_weight", 0.2, "", 0, 1e6, "of the longest wait"),
      }),
  },
  queue_orders = {
    entry("fifo", "the oldest request of a tenant",
      "llm-d-router, fcfs-ordering-policy; BLIS (Go)"),
    entry("priority", "the oldest request: bands are priorities already", "BLIS (Go)"),
    entry("edf", "the request that expires first, which is the oldest, as ttl_us is the same for "
      .. "all", "llm-d-router, edf-ordering-policy"),
    entry("slo-deadline", "the request whose wanted time to first token, from its arrival "
      .. "(go-blis: from its enqueue), is over first; one that wants none is last",
      "llm-d-router, slo-deadline-ordering-policy; BLIS (Go)"),
  },
}
