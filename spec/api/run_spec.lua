local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

describe("blis.run", function()
  it("runs with nothing but defaults", function()
    local result = blis.run {}
    assert.equal(100, result.completed)
    assert.equal("round-robin", result.routing)
    assert.equal("qwen/qwen3-14b", result.setup.model)
    assert.equal("H100", result.setup.hardware)
  end)

  it("gives the figures of a run", function()
    local result = blis.run(small.experiment())
    assert.equal(60, result.arrived)
    assert.equal(60, result.completed)
    assert.equal(0, result.rejected)
    assert.equal(60 * 264, result.prompt_tokens)
    assert.equal(60 * 20, result.output_tokens)
    for _, name in ipairs { "ttft_ms", "itl_ms", "e2e_ms", "scheduling_delay_ms" } do
      local d = result[name]
      assert.is_true(d.min <= d.p50 and d.p50 <= d.p90 and d.p90 <= d.p99 and d.p99 <= d.max, name)
    end
    assert.equal("20 20 20", tostring(result.requests_per_instance))
    assert.is_truthy(result.hash:match("^%x+$"))
    assert.equal(16, #result.hash)
  end)

  it("lists every request and what became of it", function()
    local result = blis.run(small.experiment())
    assert.equal(60, #result.requests)
    local sum_us, last_us = 0, 0
    for i, request in ipairs(result.requests) do
      assert.equal("completed", request.state)
      assert.is_true(request.arrival_us >= last_us)
      last_us, sum_us = request.arrival_us, sum_us + request.ttft_us
      assert.equal(i, math.tointeger(tonumber(request.id:match("%d+"))) + 1)
    end
    assert.is_true(math.abs(sum_us / 60 / 1000 - result.ttft_ms.mean) < 1e-9)
    assert.is_nil(result.requests[61])
  end)

  it("prints a summary with every kind of figure", function()
    local text = tostring(blis.run(small.experiment()))
    for _, word in ipairs { "3 instances of qwen/qwen3-14b on H100, tp 1",
      "60 arrived = 60 completed", "TTFT",
      "ITL", "E2E", "requests/s", "tokens/s", "KV cache", "routing round-robin", "result hash " } do
      says(text, word)
    end
  end)

  it("groups by SLO class and tenant", function()
    local distribution = { "constant", value = 50 }
    local result = blis.run {
      workload = { num_requests = 40, aggregate_rate = 20, clients = {
        { id = "a", tenant_id = "x", slo_class = "critical", rate_fraction = 1,
          input_distribution = distribution, output_distribution = distribution },
        { id = "b", tenant_id = "y", slo_class = "batch", rate_fraction = 3,
          input_distribution = distribution, output_distribution = distribution },
      } },
    }
    assert.equal(2, #result.by_slo_class)
    assert.equal("batch", result.by_slo_class[1].name)
    assert.equal(40, result.by_slo_class.batch.completed + result.by_slo_class.critical.completed)
    assert.equal(result.by_slo_class.batch.completed, result.by_tenant.y.completed)
    assert.is_truthy(tostring(result):find("critical"))
  end)

  it("stops at a horizon and says what was left", function()
    local result = blis.run(small.experiment { horizon_us = blis.seconds(1) })
    assert.equal(result.arrived, result.completed + result.still_running + result.still_queued
      + result.still_arriving)
    assert.is_true(result.still_running > 0)
    assert.is_true(result.duration_us <= 1000000)
  end)

  it("tells which field a result does not have", function()
    local result = blis.run(small.experiment())
    says(small.message_of(function() return result.ttft end), "no field 'ttft'")
    says(small.message_of(function() return result.complted end),
      "no field 'complted'; did you mean 'completed'?")
    says(small.message_of(function() return result.write_trac end), "mean 'write_trace'?")
    says(small.message_of(function() return result.zzzzzzzz end), "pairs(result) lists them")
  end)

  it("gives the same bytes every time", function()
    local first, second = blis.run(small.experiment()), blis.run(small.experiment())
    assert.equal(tostring(first), tostring(second))
    assert.not_equal(first.hash, blis.run(small.experiment { seed = 43 }).hash)
  end)

  it("computes step by step what it computes by fast-forward", function()
    local fast = blis.run(small.experiment())
    local slow = blis.run(small.experiment { cluster = { instances = 3, engine = "stepwise" } })
    assert.equal(fast.hash, slow.hash)
  end)

  it("has other defaults under the profile go-blis", function()
    local design = blis.run(small.experiment { routing = "weighted" })
    local go = blis.run(small.experiment { routing = "weighted", profile = "go-blis" })
    assert.not_equal(design.hash, go.hash)
  end)
end)

describe("blis.compare", function()
  it("runs every policy on the same requests", function()
    local comparison = blis.compare(small.experiment {
      routing = { "round-robin", { "weighted", scorers = "queue-depth:1" } },
    })
    assert.equal(2, #comparison)
    assert.equal(comparison[1].prompt_tokens, comparison[2].prompt_tokens)
    assert.equal(comparison[1].hash, blis.run(small.experiment()).hash)
    local text = tostring(comparison)
    says(text, "round-robin")
    says(text, "weighted ")
    says(text, "  queue-depth:1")
    says(text, "TTFT")
  end)

  it("wants a list of policies", function()
    local message = small.message_of(blis.compare, small.experiment { routing = "round-robin" })
    says(message, "expected a list of policies")
    local one = { "weighted", scorers = "queue-depth:1" }
    says(small.message_of(blis.compare, small.experiment { routing = one }),
      "got one with 'scorers'")
    local none = small.experiment { routing = {} }
    says(small.message_of(blis.compare, none), "routing: the list is empty")
  end)
end)

describe("blis", function()
  it("suggests the name that was meant", function()
    local message = small.message_of(function() return blis.workloads end)
    says(message, "did you mean 'workload'?")
  end)

  it("has times with units", function()
    assert.equal(30000000, blis.seconds(30))
    assert.equal(1500000, blis.seconds(1.5))
    assert.equal(250, blis.milliseconds(0.25))
    assert.equal(60000000, blis.minutes(1))
    assert.equal("integer", math.type(blis.seconds(0.1)))
    says(small.message_of(blis.seconds, "x"), "expected a number")
    says(small.message_of(blis.seconds, 1e300), "exceeds the maximum simulated time")
  end)
end)
