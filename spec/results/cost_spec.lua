--- What a run costs, against figures worked out by hand.
local blis = require "blis"

describe("the cost of a run", function()
  -- 2 instances of 8 GPUs at 2.50 USD an hour for 30 minutes; of 10 requests with 900,000 tokens
  -- each, 8 get their first token in time.
  it("is that of all GPUs, by token and by request within its targets", function()
    local given = 0
    local function request()
      given = given + 1
      if given > 10 then return nil end
      return { arrival_us = given > 8 and 1000 or 0, prompt_tokens = 1000,
        output_tokens = 900000, slo_class = "standard" } -- the last two wait for a step
    end
    local r = blis.run {
      cluster = { instances = 2, tp = 8, gpu_price_per_hour = 2.5, kv_blocks = 1000000,
        max_model_len = 0, max_num_batched_tokens = 100000,
        latency_model = blis.latency_model { name = "even", from_sums = true,
          step_time = function(batch)
            return batch.prefill_tokens > 0 and 100001 or 2000
          end } },
      workload = { generator = request },
      slo_targets = { standard = { ttft_ms = 100.5 } },
    }
    assert.equal(10, r.completed)
    assert.is_near(r.duration_us / 3.6e9 * 16 * 2.5, r.cost.usd, 1e-9)
    assert.is_near(r.cost.usd / 9, r.cost.usd_per_million_output_tokens, 1e-9)
    assert.is_near(2.22, r.cost.usd_per_million_output_tokens, 0.01)
    assert.equal(0.8, r.goodput.attainment)
    assert.is_near(r.cost.usd / (0.8 * 10), r.cost.usd_per_good_request, 1e-12)
    assert.is_near(20, r.cost.usd, 0.01)
    local busy = r.instances[1].busy_us + r.instances[2].busy_us
    assert.is_near(1 - busy / (2 * r.duration_us), r.cost.idle_share, 1e-12)
    assert.equal(r.cost.gpu_hours, r.cost.billed_gpu_hours)
  end)

  it("says which share of its GPUs was idle", function()
    local r = blis.run { cluster = { instances = 4 }, routing = function() return 1 end,
      workload = { rate = 50, requests = 500 } }
    local idle = 1 - r.instances[1].busy_us / (4 * r.duration_us)
    assert.is_true(idle > 0.75)
    assert.is_near(idle, r.cost.idle_share, 1e-12)
    assert.matches(("%.1f %%%% of them without requests"):format(100 * idle), tostring(r))
  end)

  it("by good request is not told without targets", function()
    local r = blis.run { cluster = { gpu_price_per_hour = 2 }, workload = { requests = 5 } }
    assert.is_nil(r.cost.usd_per_good_request)
  end)
end)
