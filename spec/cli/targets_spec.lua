local commands = require "spec.support.commands"
local core = require "blis.core"
local targets = require "blis.cli.targets"

local definition = { name = "try" }

describe("targets of flags", function()
  it("are durations by class", function()
    assert.same({
      critical = { ttft_ms = 200, e2e_ms = 90500 }, batch = { ttft_ms = 0.5 },
      default = { itl_ms = 5400000 },
    }, targets.of_flags(definition, {
      ttft_ms = "critical=200ms, batch=500us", itl_ms = "default=1.5h", e2e_ms = "critical=1m30.5s",
    }))
    assert.is_nil(targets.of_flags(definition, {}))
  end)

  it("are refused when they are none", function()
    for _, text in ipairs { "x", "a=", "=5ms", "a=5", "a=-5ms", "a=5ms,", "a=0s", "a=1e5ms",
      "a=5 ms", "a=5lightyears", "a=." } do
      local ok, problem = pcall(targets.of_flags, definition, { itl_ms = text })
      assert.is_false(ok, text)
      assert.matches("^try: %-%-slo%-itl: '.*' is not allowed, expected CLASS=DURATION such as",
        problem.message)
    end
  end)

  it("give results goodput", function()
    local flags = { "--num-requests", "60", "--rate", "30", "--slo-class", "critical",
      "--slo-ttft", "critical=45ms", "--slo-e2e", "critical=60s,batch=1s" }
    local got = core.json_read(commands.output_of("run", "--format", "json", table.unpack(flags)))
    local class = got.per_class.critical
    assert.equal(60, class.count)
    assert.equal(got.slo_attainment, class.slo_attainment)
    assert.equal(class.slo_attainment_by_dim.ttft, class.slo_attainment)
    assert.equal(1, class.slo_attainment_by_dim.e2e)
    assert.is_nil(class.slo_attainment_by_dim.itl)
    assert.is_true(class.slo_attainment > 0 and class.slo_attainment < 1)
    assert.equal(got.ttft_p99_ms, class.ttft_p99_ms)
    assert.equal(0, got.per_class.batch.count)
    local text = commands.output_of("run", "--profile", "go-blis", table.unpack(flags))
    assert.matches('\n  "per_class": {\n    "batch": {\n      "count": 0,', text, 1, true)
    assert.matches("\n=== Per-SLO Metrics ===\n  critical:\n    TTFT: mean=", text, 1, true)
  end)
end)
