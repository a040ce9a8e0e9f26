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
    for _, text in ipairs { "x", "a=", "=5ms", "a=-5ms", "a=5ms,", "a=0s", "a=1e5ms",
      "a=5 ms", "a=5lightyears", "a=." } do
      local ok, problem = pcall(targets.of_flags, definition, { itl_ms = text })
      assert.is_false(ok, text)
      assert.matches("^try: %-%-slo%-itl: invalid value '.*': expected CLASS=DURATION such as",
        problem.message)
    end
  end)

  it("need a unit", function()
    local ok, problem = pcall(targets.of_flags, definition, { itl_ms = "a=5" })
    assert.is_false(ok)
    assert.matches("try: --slo-itl: invalid value 'a=5': missing unit; write 5ms or "
      .. "5s", problem.message,
      1, true)
  end)

  it("give results goodput", function()
    local flags = { "--num-requests", "60", "--rate", "30", "--slo-class", "critical",
      "--slo-ttft", "critical=80ms", "--slo-e2e", "critical=60s,batch=1s" }
    local got = core.json_read(commands.output_of("run", "--format", "json", table.unpack(flags)))
    local batch, critical = table.unpack(got.goodput.classes)
    assert.equal("critical", critical.name)
    assert.equal(60, critical.arrived)
    assert.same({ ttft_ms = 80, e2e_ms = 60000 }, critical.targets)
    assert.equal(got.goodput.attainment, critical.attainment)
    assert.equal(critical.ttft_met, critical.good)
    assert.equal(60, critical.e2e_met)
    assert.is_true(critical.attainment > 0 and critical.attainment < 1)
    assert.equal(0, batch.arrived)
    local csv = commands.output_of("run", "--format", "csv", table.unpack(flags))
    local columns, cluster = csv:match "^([^\n]+)\n([^\n]+)\n"
    local values = (cluster .. ","):gmatch "([^,]*),"
    for column in columns:gmatch "[^,]+" do
      local value = values()
      if column == "goodput.attainment" then
        assert.equal(got.goodput.attainment, tonumber(value))
        values = nil
        break
      end
    end
    assert.is_nil(values, "a column goodput.attainment")
    local text = commands.output_of("run", "--profile", "go-blis", table.unpack(flags))
    assert.matches('\n  "per_class": {\n    "batch": {\n      "count": 0,', text, 1, true)
    assert.matches("\n=== Per-SLO Metrics ===\n  critical:\n    TTFT: mean=", text, 1, true)
  end)
end)
