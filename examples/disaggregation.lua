#!/usr/bin/env blis
-- Prefill/decode disaggregation: how many instances of each, when is it worth it, which network?
--
--   blis examples/disaggregation.lua            a few GPUs, two seeds: seconds
--   blis examples/disaggregation.lua 16         16 GPUs, all degrees, ten seeds: minutes
--
-- 'blis recommend' asks the first question from flags, and docs/disaggregation.md says what is
-- modelled. Layouts are as 3P TP 1 + 5D TP 1: three instances that prefill, five that decode.
local blis = require "blis"

local gpus = math.tointeger(arg[1])
local models = gpus and {
  { name = "qwen/qwen3-14b", gpus = gpus, tp_degrees = { 1, 2, 4, 8 } },
  { name = "meta-llama/llama-3.1-70b-instruct", gpus = gpus, tp_degrees = { 4, 8 } },
} or {
  { name = "qwen/qwen3-14b", gpus = 4, tp_degrees = { 1 } },
  { name = "meta-llama/llama-3.1-70b-instruct", gpus = 16, tp_degrees = { 4 } },
}

--- Requests/s with which the first token comes within two seconds and the others tpot_ms apart, of
--- nine requests in ten.
local function recommend(model, tpot_ms)
  local spec = {
    gpus = model.gpus, tp_degrees = model.tp_degrees, quiet = true, jobs = "auto",
    replications = gpus and 10 or 2, max_requests = gpus and 16000 or 4000,
    tolerance = gpus and 0.05 or 0.1,
    targets = { ["ttft_ms.p90"] = 2000, ["itl_ms.p90"] = tpot_ms },
    experiment = {
      cluster = { model = model.name, hardware = "H100" }, routing = "least-loaded",
      workload = { prompt_tokens = 2000, output_tokens = 200 },
    },
  }
  return blis.recommend(spec)
end

--- A layout in a line.
local function line_of(layout)
  if not layout then return "none keeps the targets" end
  if not layout.per_gpu then return layout.name .. " (runs were too short to tell more)" end
  return ("%-22s %5.2f requests/s per GPU"):format(layout.name, layout.per_gpu)
end

for _, model in ipairs(models) do
  print(("\n%s: 2,000 tokens of prompt and 200 of output on %d H100"):format(model.name,
    model.gpus))

  print "\n1. How many of each? TTFT p90 within 2 s, TPOT p90 within 50 ms:\n"
  local found = recommend(model, 50)
  print(found)
  local apart = found:best "disaggregated"

  print "\n2. When is it worth it? By the target of TPOT:\n"
  for _, tpot_ms in ipairs { 25, 100 } do
    local at = recommend(model, tpot_ms)
    print(("  %3d ms  together  %s"):format(tpot_ms, line_of(at:best "aggregated")))
    print(("          apart     %s"):format(line_of(at:best "disaggregated")))
  end

  print(("\n3. Over which network? %s with a network card of so much for each GPU:\n"):format(
    apart.name))
  for _, gb_s in ipairs { 50, 25, 5, 1 } do
    local cluster = { model = model.name, hardware = "H100" }
    for name, value in pairs(apart.options) do cluster[name] = value end
    local result = blis.run {
      cluster = cluster, disaggregation = { bandwidth_gb_s = gb_s }, routing = "least-loaded",
      workload = { rate = apart.bound / 2, requests = 1000, prompt_tokens = 2000,
        output_tokens = 200 },
    }
    local handoffs = result.handoffs
    print(("  %3d GB/s  TTFT p90 %6.0f ms, transfers of %6.1f ms, busiest link busy %3.0f %%")
      :format(gb_s, result.ttft_ms.p90, handoffs.mean_transfer_ms, 100 * handoffs.busiest_link))
  end
end
