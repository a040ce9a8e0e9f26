--- The options of regions.

---@type blis.Section
return {
  name = "regions",
  summary = "Regions of clients, gateways, and instances, with the latency between them. Each "
    .. "group of instances has a region: cluster = { groups = { { instances = 4, region = "
    .. "\"us\" }, ... } }. Each region with instances has a gateway.",
  options = {
    {
      name = "rtt_ms", type = "any", required = true, unit = "ms",
      doc = "Round-trip times, ms: { us = { eu = 90, asia = 150 }, eu = { asia = 200 } }. Each "
        .. "pair is needed once. Within a region: 0, unless { us = { us = 2 } } sets it. Regions "
        .. "that appear only here have clients and no instances.",
    },
    {
      name = "routing", type = "any", default = "nearest",
      doc = "Choice of the region of a request, before the policy `routing` chooses an instance "
        .. "there: nearest (least RTT to the client), least-cost (least mean cost_per_hour of its "
        .. "instances), weighted (in rotation, by `weights`), prefix (the region that last "
        .. "received the first shared segment of the prompt, or the nearest one), or a "
        .. "function(request, regions) that returns one of the regions.",
    },
    {
      name = "weights", type = "numbers_by_name", min = 0, max = 1e9,
      doc = "With routing weighted: weight of each region. Default: 1.",
    },
    {
      name = "origin", type = "any", default = "tenant",
      doc = "Region of the client of a request: tenant or client (this field of the request has "
        .. "the name of the region), or a function(request) that returns the name.",
    },
    {
      name = "default_origin", type = "string",
      doc = "Region of clients if that field names no region. Default: an error.",
    },
    {
      name = "residency", type = "texts_by_name",
      doc = "Regions that may serve requests, by region of the client: { eu = { \"eu\" } }. "
        .. "Default: all.",
    },
    {
      name = "spill_above", type = "number", min = 0, max = 1e6, default = 0, unit = "requests",
      doc = "A region is full with this many requests per instance in service. Full regions are "
        .. "avoided while another region is not full. 0: never full.",
    },
    {
      name = "max_hops", type = "integer", min = 0, max = 8, default = 1,
      doc = "Number of times that gateways may forward a request to another region, because their "
        .. "region is full or has no instance for it.",
    },
    {
      name = "handshakes", type = "integer", min = 0, max = 10, default = 0, unit = "round trips",
      doc = "Round trips before each request: 2 for a new connection (TCP and TLS 1.3), 0 for a "
        .. "connection that is kept alive.",
    },
    {
      name = "egress_usd_per_gb", type = "any", unit = "USD/GB",
      doc = "Price of data that leaves a region for another one, paid by the sending region: a "
        .. "number, or { us = 0.02, ... }. Default: 0.",
    },
    {
      name = "bytes_per_prompt_token", type = "number", min = 0, max = 1e6, default = 4,
      unit = "bytes", doc = "Size of a forwarded request.",
    },
    {
      name = "bytes_per_output_token", type = "number", min = 0, max = 1e6, default = 200,
      unit = "bytes", doc = "Size of a response; server-sent events take about 200.",
    },
    {
      name = "health_interval_us", type = "time_us", min = 0, max = 3600000000, default = 0,
      unit = "us",
      doc = "Interval of health checks. A region without instances in service is seen as down "
        .. "after unhealthy_after failed checks. 0: at once.",
    },
    {
      name = "unhealthy_after", type = "integer", min = 1, max = 1000, default = 3,
      unit = "checks", doc = "Failed checks until a region is seen as down.",
    },
    {
      name = "dns_ttl_us", type = "time_us", min = 0, max = 86400000000, default = 0, unit = "us",
      doc = "Additional time until clients act on a change of health.",
    },
  },
}
