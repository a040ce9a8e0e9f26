-- Every flag of `run` and `replay` of BLIS in Go (inference-sim f90a1e3a): it works here or is
-- refused by name.
local both = [[
  horizon seed metrics-path trace-output slo-ttft slo-itl slo-e2e detectors saturation-config
  saturation-report saturation-final-window fitness-weights defaults-filepath log trace-level
  counterfactual-k summarize-trace lazy-generation think-time-ms
  model hardware tp dp enable-expert-parallel moe-comm-backend latency-model model-config-folder
  hardware-config alpha-coeffs beta-coeffs total-kv-blocks block-size-in-tokens
  gpu-memory-utilization max-model-len max-num-seqs max-num-running-reqs max-num-batched-tokens
  max-num-scheduled-tokens long-prefill-token-threshold scheduler preemption-policy kv-cpu-blocks
  kv-offload-threshold kv-transfer-bandwidth kv-transfer-base-latency kv-offload-config lora-config
  lora-adapter-capacity lora-load-base-latency-us lora-load-bandwidth-bytes-us
  lora-footprint-bytes-per-rank lora-scorer-weight
  num-instances admission-policy admission-latency routing-latency token-bucket-capacity
  token-bucket-refill-rate routing-policy routing-scorers cache-signal-delay
  snapshot-refresh-interval policy-config slo-targets flow-control saturation-detector
  max-concurrency queue-depth-threshold kv-cache-util-threshold usage-limit-threshold dispatch-order
  dispatch-tick-interval fairness-policy max-gateway-queue-depth per-band-capacity queue-shedding
  in-flight-eviction request-ttl prefill-instances decode-instances prefill-decode-instances
  encode-instances pd-decider pd-prefix-threshold pd-transfer-bandwidth pd-transfer-base-latency
  pd-transfer-contention encode-decider prefill-hardware prefill-latency-model
  prefill-routing-scorers decode-hardware decode-latency-model decode-routing-scorers prefill-tp
  prefill-max-model-len decode-tp decode-max-model-len model-autoscaler-interval-us
]]

local own = {
  run = [[
    workload workload-spec rate concurrency num-requests timeout prefix-tokens prompt-tokens
    prompt-tokens-stdev prompt-tokens-min prompt-tokens-max output-tokens output-tokens-stdev
    output-tokens-min output-tokens-max
  ]],
  replay = "think-time-dist results-path trace-header trace-data session-mode",
}

--- What a flag of a command is: "works", "refused" or nil.
local function kinds_of(definition)
  local kinds = {}
  for _, refused in ipairs(definition.refused) do
    assert.is_nil(kinds[refused.flag], refused.flag .. " is there twice")
    kinds[refused.flag] = "refused"
  end
  for _, group in ipairs(definition.groups) do
    for _, option in ipairs(group.options) do
      assert.is_nil(kinds[option.flag], option.flag .. " is there twice")
      kinds[option.flag] = "works"
      for _, alias in ipairs(option.flag_aliases or {}) do kinds[alias] = "works" end
    end
  end
  return kinds
end

for _, name in ipairs { "run", "replay" } do
  local definition = require("blis.cmd." .. name).definition

  describe("the flags of BLIS in Go for " .. name, function()
    it("all work or are refused by name", function()
      local kinds = kinds_of(definition)
      for flag in (both .. own[name]):gmatch("%S+") do
        assert.is_truthy(kinds["--" .. flag], "--" .. flag)
      end
    end)

    it("are refused with a reason", function()
      for _, refused in ipairs(definition.refused) do
        local text = refused.type == "boolean" and "true" or "12345"
        local ok, problem = pcall(require("blis.cli.flags").parse, definition,
          { refused.flag .. "=" .. text })
        assert.is_false(ok, refused.flag)
        assert.equal(("%s: %s is not available: %s; 'blis %s --help' lists the flags"):format(name,
          refused.flag, refused.feature, name), problem.message)
      end
    end)

    it("may ask for nothing", function()
      for _, refused in ipairs(definition.refused) do
        for _, harmless in ipairs(refused.harmless) do
          require("blis.cli.flags").parse(definition, { refused.flag .. "=" .. tostring(harmless) })
        end
      end
    end)
  end)
end
