--- The options of a pool of machines on which instances are placed.

---@type blis.Section
return {
  name = "node_pool",
  summary = "Machines with equal GPUs, on which instances are placed: each takes its GPUs on one "
    .. "machine, the first with room.",
  options = {
    { name = "name", type = "string", required = true, doc = "Name of the pool." },
    {
      name = "gpu", type = "string", required = true, aliases = { "gpu_type" },
      doc = "Type of its GPUs, as in hardware.",
    },
    {
      name = "gpus_per_node", type = "integer", min = 1, max = 4096, default = 8,
      doc = "GPUs of a machine.",
    },
    {
      name = "nodes", type = "integer", min = 0, max = 100000, default = 1,
      aliases = { "initial_nodes" }, doc = "Machines at first.",
    },
    {
      name = "max_nodes", type = "integer", min = 0, max = 100000,
      doc = "To how many it grows when an instance finds no room; default: nodes.",
    },
    {
      name = "provisioning_delay_us", type = "delay_us", min = 0, unit = "us",
      doc = "Delay from the order of a node until it is available, in the form of other scaling "
        .. "delays. Default: 0.",
    },
    {
      name = "cost_per_hour", type = "number", min = 0, max = 1e9, unit = "USD",
      doc = "Price of an instance in this pool, for autoscalers and billing. Default: the price of "
        .. "its GPUs.",
    },
  },
}
