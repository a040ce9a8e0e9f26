#!/usr/bin/env blis
-- Why did a policy decide as it did, and what would another one have changed? Traces every
-- decision, looks at the one with the most regret, and compares the results of two policies.
local blis = require "blis"

local spec = {
  cluster = { instances = 4 },
  workload = { rate = 40, requests = 400, prompt_tokens = 600, output_tokens = 120,
    prefixes = { groups = 12, tokens = 3000 } },
  routing = "round-robin",
  trace_level = "decisions",
  slo_targets = { default = { ttft_ms = 150, itl_ms = 25 } },
}

local blind = blis.run(spec)
print(blind.decisions)

-- Regret of a policy without scores is in requests: how much shorter the shortest queue was.
local worst
for _, decision in ipairs(blind.decisions) do
  if decision.regret and (not worst or decision.regret > worst.regret) then worst = decision end
end
print(("\n%s went to %s, regret %.0f:"):format(worst.request, worst.chosen, worst.regret))
for _, candidate in ipairs(worst.candidates) do
  print(("  %s: %d waiting, %d running, %.1f %% of the KV cache in use"):format(candidate.instance,
    candidate.queue_depth, candidate.batch_size, 100 * candidate.kv_utilization))
end

-- Results can be kept in files and compared, here or with 'blis diff A B'.
spec.routing = "weighted"
local seeing = blis.run(spec)
local path = os.tmpname()
seeing:save(path)
print()
print(blis.diff(blind, blis.load_result(path)):text(3))
os.remove(path)
print(("\ngoodput %.1f and %.1f requests/s"):format(blind.goodput.requests_per_sec,
  seeing.goodput.requests_per_sec))

-- Scores are the policy's own view. What would really have come of the other choices? Each is a run
-- in which that one request goes elsewhere and everything else is left to the policy.
spec.trace_level = nil
print()
print(blis.regret { experiment = spec, decisions = 3, metric = "ttft_ms.p99" })
