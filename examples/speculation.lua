#!/usr/bin/env blis
-- Speculative decoding at low and high load: three tokens are drafted and verified together with
-- one more. A step then yields 2.7 tokens per request and takes a little longer, which pays while
-- the GPU is underused. In large batches, verification costs as much as the saved tokens, and
-- drafts that mostly fail never pay. Tokens of one step arrive together, with no time between them.
-- The mean time per token therefore falls, and the 99th percentile rises. A client that treats such
-- tokens as one chunk measures the times between chunks.
--
-- Then two kinds of requests: answers about long documents quote them, others do not. A function
-- says whose drafts hold.
local blis = require "blis"

local settings = {
  { "no drafts" },
  { "0.8, 0.7, 0.6", { method = "draft", acceptance = { 0.8, 0.7, 0.6 }, draft_base_us = 900,
    draft_per_sequence_us = 10 } },
  { "0.3, 0.2, 0.1", { method = "draft", acceptance = { 0.3, 0.2, 0.1 }, draft_base_us = 900,
    draft_per_sequence_us = 10 } },
  { "0.8, ... up to 16", { method = "draft", acceptance = { 0.8, 0.7, 0.6 }, draft_base_us = 900,
    draft_per_sequence_us = 10, max_batch = 16 } },
}

print("requests/s  drafts hold          tokens/step  TPOT ms  ITL p99 ms  per chunk ms  E2E p50 ms")
for _, rate in ipairs { 1, 8, 48 } do
  for _, one in ipairs(settings) do
    local r = blis.run {
      cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, speculation = one[2] },
      workload = { rate = rate, requests = 300, prompt_tokens = 300, output_tokens = 200 },
    }
    local speculation = one[2] and r.speculation
    local per_chunk = speculation and speculation.itl_per_chunk_ms or r.itl_ms
    print(("%10d  %-20s %11.2f %8.2f %11.1f %13.2f %11.0f"):format(rate, one[1],
      speculation and speculation.drafts > 0 and speculation.mean_acceptance_length or 1,
      r.itl_ms.mean, r.itl_ms.p99, per_chunk.mean, r.e2e_ms.p50))
  end
end

local long_tokens = 1000
local r = blis.run {
  cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, speculation = { method = "ngram",
    tokens = 4, acceptance = function(request, position)
      return request.prompt_tokens >= long_tokens and 0.8 or 0.3 / position
    end } },
  workload = { rate = 4, requests = 300, output_tokens = 200,
    prompt = { "gaussian", mean = 1000, std_dev = 800, min = 50, max = 8000 } },
}
local kinds = { long = { drafted = 0, accepted = 0 }, short = { drafted = 0, accepted = 0 } }
for _, request in ipairs(r.requests) do
  local kind = kinds[request.prompt_tokens >= long_tokens and "long" or "short"]
  kind.drafted = kind.drafted + request.drafted_tokens
  kind.accepted = kind.accepted + request.accepted_tokens
end
print "\nprompts  drafts that hold"
for _, name in ipairs { "long", "short" } do
  print(("%-7s  %.2f"):format(name, kinds[name].accepted / kinds[name].drafted))
end
