-- Options of the gateway's queue that would change nothing are told, not passed over.
local blis = require "blis"

local function problem(options)
  local ok, message = pcall(blis.queue, options)
  assert.is_false(ok)
  return tostring(message)
end

local first = function() return 1 end

describe("options of a queue that change nothing", function()
  it("are errors that name what they go with", function()
    for _, case in ipairs {
      { { dispatch = "event", cycle_us = 500 },
        "queue.cycle_us has no effect without dispatch 'cycle' or 'tick'" },
      { { slo_targets = { critical = 5 } },
        "queue.slo_targets has no effect without queue.order = 'slo-deadline'" },
      { { slo_targets = { critical = 5 }, order = first },
        "queue.slo_targets has no effect without queue.order = 'slo-deadline'" },
      { { service_half_life_s = 3 },
        "queue.service_half_life_s has no effect without fairness = 'least-service'" },
      { { service_weight = 1 },
        "queue.service_weight has no effect without fairness = 'least-service'" },
      { { wait_weight = 1, fairness = first },
        "queue.wait_weight has no effect without fairness = 'least-service'" },
      { { saturation = { "concurrency", max_concurrency = 3 }, max_concurrency = 5 },
        "queue.max_concurrency is a parameter of the detector in queue.saturation" },
      { { sheds = true }, "queue.sheds has no effect without max_requests" },
    } do
      assert.matches(case[2], problem(case[1]), 1, true)
    end
  end)

  it("are taken with it, and in profile go-blis as that takes them", function()
    for _, options in ipairs {
      { dispatch = "tick", cycle_us = 500 }, { sheds = false }, { sheds = true, max_requests = 2 },
      { slo_targets = { gold = 5, batch = 7 }, order = "slo-deadline" },
      { fairness = first, service_half_life_s = 3 },
      { fairness = "least-service", service_weight = 1, wait_weight = 0 },
    } do
      assert.is_truthy(blis.queue(options))
    end
    local result = blis.run { profile = "go-blis", cluster = { model = "qwen3-14b",
      hardware = "H100", tp = 1 }, workload = { rate = 10, requests = 5 },
      queue = { sheds = true, slo_targets = { critical = 7 } } }
    assert.equal(5, result.completed)
  end)

  it("are SLO classes that are misspelt", function()
    assert.matches("queue.slo_targets: unknown SLO class 'critcal'; did you mean 'critical'?",
      problem { order = "slo-deadline", slo_targets = { critcal = 5 } }, 1, true)
  end)

  it("are holes and names in a list of bands", function()
    local expected = "queue.bands: invalid value of type table: expected a list of { priority ="
    assert.matches(expected, problem { bands = { [1] = { priority = 1 }, [3] = { priority = 2 } } },
      1, true)
    assert.matches(expected, problem { bands = { { priority = 1 }, default = 3 } }, 1, true)
  end)
end)
