--- In BLIS (Go), an instance whose blocks are all reserved makes empty steps of 1 us until their
--- content has come. The fast engine does many at once, and counts the same.
local blis = require "blis"

--- The prompt fills 57 blocks, and what decodes wants one more: with 114, one that has come waits
--- for the other.
local function run(engine, routing, changes)
  local i = 0
  local spec = {
    profile = "go-blis",
    cluster = { prefill_instances = 2, decode_instances = 2, kv_blocks = 114, engine = engine,
      scheduler = changes.scheduler },
    disaggregation = { decider = "always", bandwidth_gb_s = 2, contention = true },
    routing = routing,
    workload = function()
      i = i + 1
      if i > 60 then return nil end
      local arrival_us = i * 43777
      return { arrival_us = arrival_us, prompt_tokens = 912, output_tokens = 40,
        slo_class = i % 3 == 0 and "critical" or "batch",
        deadline_us = i % 4 == 0 and changes.timeout_us and arrival_us + changes.timeout_us or 0 }
    end,
    horizon_us = changes.horizon_us,
  }
  return blis.run(spec)
end

local counted = { "steps", "busy_us", "queue_depth_sum", "end_us", "completed", "timed_out" }

local function tell(result)
  local words = { result.hash }
  for _, instance in ipairs(result.instances) do
    for _, name in ipairs(counted) do words[#words + 1] = instance[name] end
  end
  return table.concat(words, " ")
end

describe("go-blis", function()
  for _, routing in ipairs { "round-robin", "weighted", "least-loaded" } do
    it("waits for KV without a free block, routed by " .. routing, function()
      local steps = 0
      for _, changes in ipairs { {}, { timeout_us = 150000 }, { horizon_us = 1234567 },
        { scheduler = "priority-fcfs" } } do
        local result = run("fast", routing, changes)
        assert.equal(tell(run("stepwise", routing, changes)), tell(result))
        steps = steps + result.steps
      end
      assert.is_true(steps > 100000, steps)
    end)
  end
end)
