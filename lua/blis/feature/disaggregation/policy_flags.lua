--- The flags of prefill/decode disaggregation among the parameters of policies, which only command
--- lines have.
---@type blis.Option[]
return {
  {
    name = "prefill_scorers", type = "string", flag = "--prefill-routing-scorers",
    path = "disaggregation.prefill_routing.scorers", metavar = "NAME:WEIGHT,...",
    doc = "Scorers of policy weighted for the prefill stage. Default: --routing-policy.",
  },
  {
    name = "decode_scorers", type = "string", flag = "--decode-routing-scorers",
    metavar = "NAME:WEIGHT,...",
    doc = "Scorers of policy weighted for the decode stage. Default: --routing-policy.",
  },
}
