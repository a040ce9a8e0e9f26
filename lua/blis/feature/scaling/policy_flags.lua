--- The flags of autoscaling among the parameters of policies, which only command lines have.
---@type blis.Option[]
return {
  {
    name = "autoscaler_parameters", type = "string", is_list = true,
    flag = "--autoscaler-parameter", metavar = "NAME=VALUE",
    doc = "A parameter of the autoscaler.",
  },
  {
    name = "autoscaler_enabled", type = "boolean", flag = "--autoscaler-enabled",
    doc = "Short for --autoscaler threshold.",
  },
  {
    name = "autoscaler_interval_us", type = "integer", min = 0, max = 1000000000000, unit = "us",
    flag = "--model-autoscaler-interval-us",
    doc = "Evaluation interval of the autoscaler saturation-pipeline, which this flag enables. 0: "
      .. "never. Default: autoscaler.interval_us of the bundle.",
  },
}
