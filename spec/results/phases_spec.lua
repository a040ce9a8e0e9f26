local blis = require "blis"

local seconds = blis.seconds

local function run(phases, more)
  local spec = {
    cluster = { model = "qwen3-14b", tp = 1, instances = 1 }, phases = phases,
    workload = { rate = 20, requests = 400, prompt_tokens = 300, output_tokens = 100 },
    faults = { { at = seconds(10), instance = 1, kind = "slow", factor = 20,
      recover_after = seconds(2) } },
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local named = { { name = "before" }, { name = "slow", from_us = seconds(10) },
  { name = "after", from_us = seconds(13) }, { name = "never", from_us = seconds(500) } }

describe("phases", function()
  it("are parts of the traffic with figures of their own", function()
    local r = run(named, { slo_targets = { default = { ttft_ms = 300 } } })
    local arrived, good = 0, 0
    for i, phase in ipairs(r.phases) do
      assert.equal(named[i].name, phase.name)
      arrived, good = arrived + phase.arrived, good + phase.good
    end
    assert.equal(400, arrived)
    assert.equal(r.goodput.good, good)
    assert.is_true(r.phases[1].attainment > 0.99 and r.phases[2].attainment < 0.9)
    assert.is_true(r.phases[2].ttft_ms.p99 > 2 * r.phases[1].ttft_ms.p99)
    assert.equal(0, r.phases[4].arrived)
    assert.is_nil(r.phases[4].attainment)
    local text = tostring(r)
    assert.matches(("\n  phases      before: %d requests, "):format(r.phases[1].arrived), text, 1,
      true)
    assert.matches("% within their targets, TTFT p99 ", text, 1, true)
    assert.equal(r.hash, run(nil).hash)
  end)

  it("end with the run, so that their rates are those of the time there was", function()
    local r = run { { name = "all" }, { name = "never", from_us = seconds(4000) } }
    local alone = run { { name = "all" } }
    assert.equal(alone.phases[1].to_us, r.phases[1].to_us)
    assert.equal(alone.phases[1].requests_per_sec, r.phases[1].requests_per_sec)
    assert.near(r.requests_per_sec, r.phases[1].requests_per_sec, 0.01)
  end)

  it("need no targets", function()
    local r = run { { name = "all" } }
    assert.equal(400, r.phases[1].arrived)
    assert.is_nil(r.phases[1].good)
    assert.is_nil(rawget(run(nil), "phases"))
  end)

  it("are refused where they are wrong", function()
    local wrong = {
      { "night", "a list of phases" },
      { {}, "a list of phases" },
      { { { from_us = 0 } }, "phases[1]" },
      { { { name = "a", form_us = 3 } }, "did you mean 'from_us'" },
      { { { name = "a", from_us = -1 } }, "phases[1].from_us" },
      { { { name = "a" }, nil, { name = "b", from_us = 5 } }, "phases[2] is nil" },
      { { { name = "a" }, b = { name = "b" } }, "phases: got a value at [b]" },
      { { { name = "a", from_us = 5 }, { name = "b", from_us = 5 } },
        "phases[2]: 'b' begins at 5 us, expected more than the 5 us of 'a'" },
    }
    for _, one in ipairs(wrong) do
      local ok, message = pcall(run, one[1])
      assert.is_false(ok)
      assert.truthy(tostring(message):find(one[2], 1, true), tostring(message))
    end
    local ok, message = pcall(run, named, { keep_records = false })
    assert.is_false(ok)
    assert.matches("phases needs records", tostring(message), 1, true)
  end)
end)
