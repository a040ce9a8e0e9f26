-- Prefill/decode disaggregation: do long prompts slow down the decodes of others?
-- Both clusters have six GPUs. With pools, decodes never share a batch with a prefill.
local blis = require "blis"

local clusters = {
  { "together", { instances = 6 } },
  { "pools", { prefill_instances = 3, decode_instances = 3 } },
}

for _, one in ipairs(clusters) do
  local name, cluster = one[1], one[2]
  cluster.model, cluster.hardware = "qwen/qwen3-14b", "H100"
  local result = blis.run {
    cluster = cluster, routing = "least-loaded", seed = 42,
    workload = { rate = 14, requests = 1500, prompt_tokens = 3000, output_tokens = 150 },
  }
  print(("%-10s TTFT p99 %7.1f ms   ITL p99 %6.1f ms"):format(name, result.ttft_ms.p99,
    result.itl_ms.p99))
end
