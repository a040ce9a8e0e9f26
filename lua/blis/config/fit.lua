--- The options of blis.calibrate.
---@type blis.Section
return {
  name = "calibrate",
  summary = "Step times fitted to a measured deployment.",
  options = {
    {
      name = "observed", type = "path", required = true, flag = "--fit", metavar = "OBSERVED",
      doc = "Measurements: a table (CSV) of requests or of means by rate, TraceV2, or a report of "
        .. "vllm bench serve, GuideLLM, or inference-perf.",
    },
    {
      name = "kernels", type = "folder", flag = "--kernels", metavar = "DIR",
      doc = "Folder of kernel times (gemm.csv, moe.csv, allreduce.csv; share/profile measures "
        .. "them). Fits the closed form of the kernels to them, and the scales of composed to the "
        .. "observed requests in place of the coefficients of calibrated.",
    },
    {
      name = "cluster", type = "table", required = true,
      doc = "The measured engine: model, hardware, tp, max_num_seqs, max_num_batched_tokens, "
        .. "kv_blocks, ... as for blis.run.",
    },
    {
      name = "until_gap", type = "number", min = 0, max = 1, flag = "--until", metavar = "GAP",
      doc = "Fit repeatedly, with more coefficients each time. Stop when the mean E2E error on "
        .. "held-out requests is at most this fraction, or when no more coefficients are "
        .. "available.",
    },
    {
      name = "trials", type = "integer", min = 20, max = 100000, default = 400,
      flag = "--fit-trials", unit = "replays",
      doc = "Maximum number of replays per round.",
    },
    {
      name = "tell", type = "callback",
      doc = "Called with the progress of the search: tell(round, trials, most).",
    },
  },
}
