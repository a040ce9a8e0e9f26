--- The flags of LoRA adapters among the parameters of policies, which only command lines have.
---@type blis.Option[]
return {
  {
    name = "lora_config", type = "path", flag = "--lora-config",
    doc = "LoRA adapters, as BLIS (Go) describes them: a YAML file lora: { adapter_capacity, "
      .. "adapters: [{ id, rank }], ... }; flags take precedence.",
  },
  {
    name = "lora_scorer_weight", type = "number", above = 0, max = 1e9,
    flag = "--lora-scorer-weight",
    doc = "Adds the scorer lora-affinity with this weight to those of routing policy weighted.",
  },
}
