#!/usr/bin/env blis
-- One workload under three serving engines.
--
-- Long prompts among short ones: vLLM computes a chunk of a long prompt together with the decodes,
-- so every answer becomes slower while a prompt is computed (ITL p99). SGLang computes prompts
-- before all decodes: most tokens are as fast as without long prompts, and a few wait until several
-- long prompts are computed (ITL max). Mixed chunks are what vLLM does. A decode between two
-- batches of prompts bounds the wait. TensorRT-LLM rejects a prompt that is longer than a step,
-- unless prompts are split, and then resembles vLLM.
--
-- Short of KV cache: vLLM admits what fits now and preempts later. SGLang estimates the output of
-- all requests, admits fewer, and takes fewer requests back. These go to the end of its queue, so
-- the pause in their answers is longer. TensorRT-LLM reserves the blocks of whole answers: nothing
-- is preempted, no answer pauses, and requests wait longer for their first token. With
-- MAX_UTILIZATION it resembles vLLM.
local blis = require "blis"

local model = "qwen/qwen3-14b"

local engines = {
  { "vLLM", { backend = "vllm" } },
  { "SGLang", { backend = "sglang" } },
  { "SGLang, mixed chunks", { backend = "sglang", sglang = { enable_mixed_chunk = true } } },
  { "SGLang, a decode between", { backend = "sglang", sglang = { prefill_decode_interval = 1 } } },
  { "TensorRT-LLM, chunks", { backend = "trtllm", trtllm = { enable_chunked_prefill = true } } },
  { "TensorRT-LLM, utilization", { backend = "trtllm", trtllm = { enable_chunked_prefill = true,
    capacity_scheduler_policy = "MAX_UTILIZATION" } } },
}

local workloads = {
  { "Long prompts among short ones", {}, { num_requests = 600, clients = {
    { rate_fraction = 0.95, prompt = 500, output = 200 },
    { rate_fraction = 0.05, prompt = 20000, output = 200 } }, rate = 4 } },
  { "Short of KV cache", { kv_tokens = 30000 },
    { num_requests = 400, rate = 1.2, prompt_tokens = 1000, output_tokens = 1000 } },
}

for _, one in ipairs(workloads) do
  local title, limits, workload = table.unpack(one)
  print(title)
  print(("  %-25s %10s %10s %10s %10s %12s"):format("", "TTFT p50", "TTFT p99", "ITL p99",
    "ITL max", "preemptions"))
  for _, engine in ipairs(engines) do
    local cluster = { model = model, hardware = "H100" }
    for key, value in pairs(engine[2]) do cluster[key] = value end
    if limits.kv_tokens then
      local block = { vllm = 16, sglang = 1, trtllm = 32 }
      cluster.kv_blocks = limits.kv_tokens // block[cluster.backend]
    end
    local r = blis.run { cluster = cluster, workload = workload }
    print(("  %-25s %7.0f ms %7.0f ms %7.0f ms %7.0f ms %12d"):format(engine[1], r.ttft_ms.p50,
      r.ttft_ms.p99, r.itl_ms.p99, r.itl_ms.max, r.preemptions))
  end
  print()
end
