--- Residuals of the composed step-time model by regime: half of the rows are within the first
--- number of a pair, four fifths within the second. Relative errors of means.
---
--- Source: rows that took no part in the fit (models, GPUs, TP degrees, and formats of InferenceX,
--- stages of the accuracy study of inference-sim, GPUStack), as listed in docs/validation.md.
--- Synchronous rows do not state TTFT.

---@class blis.Residual
---@field gpus string[] names in the catalog
---@field weights string format
---@field has_experts? boolean nil = both
---@field is_async? boolean nil = both
---@field tpot number[]
---@field ttft? number[]

---@type blis.Residual[]
local residuals = {
  { gpus = { "H100", "H200" }, weights = "bf16", is_async = true,
    tpot = { 0.04, 0.09 }, ttft = { 0.09, 0.16 } },
  { gpus = { "H100", "H200" }, weights = "bf16", has_experts = false, is_async = false,
    tpot = { 0.03, 0.05 } },
  { gpus = { "H100", "H200" }, weights = "fp8", has_experts = false,
    tpot = { 0.03, 0.04 }, ttft = { 0.10, 0.18 } },
  { gpus = { "H100", "H200" }, weights = "fp8_block", has_experts = true,
    tpot = { 0.08, 0.14 }, ttft = { 0.24, 0.39 } },
  { gpus = { "H200" }, weights = "mxfp4", has_experts = true,
    tpot = { 0.05, 0.08 }, ttft = { 0.05, 0.12 } },
  { gpus = { "H100" }, weights = "mxfp4", has_experts = true,
    tpot = { 0.13, 0.18 }, ttft = { 0.12, 0.27 } },
  { gpus = { "H200" }, weights = "int4", has_experts = true,
    tpot = { 0.10, 0.11 }, ttft = { 0.05, 0.11 } },
  { gpus = { "B200", "B300" }, weights = "fp8", has_experts = false,
    tpot = { 0.05, 0.13 }, ttft = { 0.09, 0.16 } },
  { gpus = { "B200", "B300" }, weights = "nvfp4",
    tpot = { 0.07, 0.13 }, ttft = { 0.18, 0.36 } },
  { gpus = { "B200", "B300" }, weights = "fp8_block", has_experts = true,
    tpot = { 0.04, 0.10 }, ttft = { 0.10, 0.22 } },
  { gpus = { "B200", "B300" }, weights = "mxfp4", has_experts = true,
    tpot = { 0.07, 0.11 }, ttft = { 0.10, 0.16 } },
  { gpus = { "B200", "B300" }, weights = "int4", has_experts = true,
    tpot = { 0.22, 0.24 }, ttft = { 0.26, 0.32 } },
  { gpus = { "A100-SXM", "L40S" }, weights = "bf16",
    tpot = { 0.04, 0.12 }, ttft = { 0.11, 0.19 } },
}

return residuals
