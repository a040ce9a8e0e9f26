--- Descriptions of the gateway queue's policies, for help and `blis policies`. The core has no
--- entries for these. Parameters are options of the queue (blis.feature.queue.options).

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
    entry("event", "dispatches all requests that fit, 1 us after any activity of an instance. Uses "
      .. "current signals and counts requests in flight. An upper bound for "
      .. "gateways.", "this program; an ideal, no gateway's"),
  },
  queue_fairness = {
    entry("global-strict", "arrival order across all tenants of the band",
      "llm-d-router, global-strict-fairness-policy; BLIS (Go)"),
    entry("round-robin", "one request per tenant of the band, by tenant name; tenants without "
      .. "queued requests are skipped", "llm-d-router, round-robin-fairness-policy; BLIS (Go)"),
    entry("least-service", "the tenant with the highest service_weight x (1 - service) + "
      .. "wait_weight x wait of its first request. Both are scaled to 0 to 1 over the queued "
      .. "tenants. Service counts completed prompt tokens and twice the output tokens, and decays "
      .. "over time.",
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
    entry("slo-deadline", "the request with the earliest TTFT deadline, counted from arrival "
      .. "(go-blis: from enqueue); requests without a TTFT target are last",
      "llm-d-router, slo-deadline-ordering-policy; BLIS (Go)"),
  },
}
