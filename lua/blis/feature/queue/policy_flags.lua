--- The flags of the gateway queue among the parameters of policies, which only command lines have.
---@type blis.Option[]
return {
  {
    name = "flow_control", type = "boolean", flag = "--flow-control",
    doc = "Requests wait in a queue of the gateway, between admission and routing, until the "
      .. "instances have room.",
  },
  {
    name = "slo_targets", type = "string", flag = "--slo-targets", metavar = "CLASS=US,...",
    path = "queue.slo_targets",
    doc = "Wanted times to first token by SLO class, for --dispatch-order slo-deadline.",
  },
  {
    name = "queue_bands", type = "string", flag = "--queue-bands",
    metavar = "PRIORITY=REQUESTS[:BYTES],...", path = "queue.bands",
    doc = "Bands of the gateway's queue with room of their own; a priority is the value of its "
      .. "SLO classes.",
  },
  {
    name = "saturation_parameters", type = "string", is_list = true,
    flag = "--saturation-parameter", metavar = "NAME=VALUE",
    doc = "A parameter of the saturation detector.",
  },
  {
    name = "usage_limit_parameters", type = "string", is_list = true,
    flag = "--usage-limit-parameter", metavar = "NAME=VALUE",
    doc = "A parameter of the usage limit.",
  },
}
