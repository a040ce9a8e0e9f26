--- The options of a pool of machines on which instances are placed.

---@type blis.Section
return {
  name = "node_pool",
  summary = "Nodes with equal GPUs. Each instance takes all its GPUs on the first node with enough "
    .. "free GPUs.",
  options = {
    { name = "name", type = "string", required = true, doc = "Name of the pool." },
    {
      name = "gpu", type = "string", required = true, aliases = { "gpu_type" },
      doc = "Type of its GPUs, as in hardware.",
    },
    {
      name = "gpus_per_node", type = "integer", min = 1, max = 4096, default = 8,
      doc = "GPUs per node.",
    },
    {
      name = "nodes", type = "integer", min = 0, max = 100000, default = 1,
      aliases = { "initial_nodes" }, doc = "Initial number of nodes.",
    },
    {
      name = "max_nodes", type = "integer", min = 0, max = 100000,
      doc = "Maximum number of nodes. The pool grows when an instance does not fit. Default: "
        .. "nodes.",
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
