--- One rule for durations: a number with a unit, on every flag and for every key. The cases come
--- from the schema, so that a new option is covered without a change here.
local blis = require "blis"
local commands = require "spec.support.commands"
local flags = require "blis.cli.flags"
local program = require "blis.cli.program"
local schema = require "blis.config.schema"
local types = require "blis.config.types"
local units = require "blis.units"

local function is_number_with_unit(option)
  return (option.type == "number" or option.type == "integer") and units.scale(option.unit) ~= nil
end

local function is_duration(option)
  return option.type == "time_us" or option.type == "delay_us" or option.type == "warm_up_us"
    or is_number_with_unit(option)
end

--- Calls visit(definition, option, form's words) for each flag that is a duration.
local function each_duration_flag(visit)
  for _, one in ipairs(program.describe().commands) do
    for _, form in ipairs(one.forms) do
      for _, group in ipairs(form.definition.groups) do
        for _, option in ipairs(group.options) do
          if option.flag and is_duration(option) and not option.from_text then
            visit(form.definition, option, form.words)
          end
        end
      end
    end
  end
end

local function parse(definition, ...)
  local ok, result = pcall(flags.parse, definition, { ... })
  return ok and result or nil, not ok and result.message or nil
end

local function value_of(parsed, option)
  for _, values in pairs(parsed.values) do
    if values[option.name] ~= nil then return values[option.name] end
  end
end

--- What an option stores for one second.
local function second_of(option)
  if option.type == "delay_us" then
    return { mean_us = 1000000, stddev_us = 0, distribution = "normal" }
  end
  return is_number_with_unit(option) and 1000000 / units.scale(option.unit) or 1000000
end

local function allows(option, us)
  local value = is_number_with_unit(option) and us / units.scale(option.unit) or us
  return value >= (option.min or -math.huge) and value <= (option.max or math.huge)
end

describe("a duration on a command line #host", function()
  it("is a number with a unit, on every flag", function()
    local count = 0
    each_duration_flag(function(definition, option, words)
      if not allows(option, 1000000) then return end
      count = count + 1
      local where = words .. " " .. option.flag
      local parsed, problem = parse(definition, option.flag, "1s")
      assert.is_nil(problem, where)
      assert.same(second_of(option), value_of(parsed, option), where)
      assert.same(second_of(option),
        value_of(parse(definition, option.flag .. "=1000ms"), option), where)
      parsed, problem = parse(definition, option.flag, "5 parsecs")
      assert.is_nil(parsed, where)
      assert.matches("invalid value '5 parsecs': expected ", problem, 1, true)
    end)
    assert.is_true(count > 150, count)
  end)

  it("is no bare number, unless the flag states the unit", function()
    local refused = 0
    each_duration_flag(function(definition, option, words)
      if not allows(option, 7000000) then return end
      local where = words .. " " .. option.flag
      local parsed, problem = parse(definition, option.flag, "7")
      if option.bare_unit or units.of_name(option.flag) then
        assert.is_nil(problem, where)
        assert.equal(7, value_of(parsed, option), where)
        return
      end
      refused = refused + 1
      assert.is_nil(parsed, where)
      local text = ("%s: '7' has no unit; write %s 7s (units: us, ms, s, m, h, d)"):format(
        option.flag, option.flag)
      assert.matches(text, problem, 1, true)
      parsed = parse(definition, option.flag, "0")
      assert.is_true(parsed ~= nil or not allows(option, 0) or option.above ~= nil, where)
    end)
    assert.is_true(refused > 100, refused)
  end)

  it("may be a bare number of microseconds in profile go-blis", function()
    each_duration_flag(function(definition, option, words)
      local in_ms = is_number_with_unit(option)
      if words ~= "run" or option.bare_unit or in_ms or not allows(option, 5000000) then return end
      for _, args in ipairs { { option.flag, "5000000", "--profile", "go-blis" },
        { "--profile=go-blis", option.flag .. "=5000000" } } do
        local value = value_of(parse(definition, table.unpack(args)), option)
        assert.equal(5000000, type(value) == "table" and value.mean_us or value, option.flag)
      end
    end)
  end)

  it("is a number with a unit as a part of a value, too", function()
    for _, case in ipairs {
      { { "run", "--phases", "a=0,b=6" }, "--phases: 'b=6' has no unit; write b=6s" },
      { { "run", "--shape", "diurnal:period=2" },
        "--shape: 'period=2' has no unit; write period=2s" },
      { { "trace", "warp", "--points", "0:0,60:30", "x" }, "--points: '60' has no unit" },
      { { "run", "--slo-ttft", "default=500" },
        "--slo-ttft: invalid value 'default=500': missing unit; write 500ms or 500s" },
      { { "run", "--slo-ttft", "default=5parsecs" }, "expected CLASS=DURATION" },
      { { "capacity", "--target", "ttft_ms.p99=5 parsecs" },
        "expected a number of ms, or a duration such as 500ms" },
      { { "capacity", "--target", "requests_per_sec=5s" }, "expected a number" },
      { { "run", "--horizon", "10000000" }, "write --horizon 10s" },
      { { "run", "--horizon", "1.5" }, "write --horizon 1.5s" },
    } do
      local name = table.remove(case[1], 1)
      local code, message = commands.error_of(name, table.unpack(case[1]))
      assert.equal("usage", code)
      assert.matches(case[2], message, 1, true)
    end
  end)

  it("gives the same run in any spelling", function()
    local function hash_of(...)
      return commands.output_of("run", "--num-requests", "20", "--quiet", ...):match "hash (%x+)"
    end
    assert.equal(hash_of("--timeout", "2"), hash_of("--timeout", "2000ms"))
    assert.equal(hash_of("--timeout", "-1"), hash_of("--timeout", "10h"))
    assert.not_equal(hash_of("--timeout", "5ms"), hash_of("--timeout", "10h"))
    assert.equal(hash_of("--think-time-ms", "1500", "--concurrency", "2"),
      hash_of("--think-time-ms", "1.5s", "--concurrency", "2"))
    assert.equal(hash_of("--routing-latency", "1m30s"), hash_of("--routing-latency", "90s"))
  end)

  it("is reported with the flag as it was typed", function()
    for _, case in ipairs { { "--pd-transfer-latency", "5" }, { "--admission-bucket-size", "0" },
      { "--prefill-replicas", "9" } } do
      local _, message = commands.error_of("run", table.unpack(case))
      assert.matches(case[1], message, 1, true)
    end
  end)
end)

describe("a duration in a script", function()
  it("may have a unit in every option of the schema", function()
    local count = 0
    for _, name in ipairs { "cluster", "experiment", "workload", "trace", "flags" } do
      for _, section in pairs(require("blis.config." .. name)) do
        for _, option in ipairs(type(section) == "table" and section.options or {}) do
          if is_duration(option) and allows(option, 1000000) then
            count = count + 1
            assert.same(second_of(option), schema.check_value(option, "1s", option.name))
            assert.has_error(function() schema.check_value(option, "5 parsecs", option.name) end)
            assert.has_error(function() schema.check_value(option, "10", option.name) end)
          end
        end
      end
    end
    assert.is_true(count > 20, count)
  end)

  it("is equal to its number of microseconds", function()
    local function run(horizon, target)
      return blis.run { cluster = { instances = 1 }, workload = { rate = 5 }, horizon_us = horizon,
        slo_targets = { default = target } }
    end
    local a, b = run(2000000, { ttft_ms = 500 }), run("2s", { ttft_ms = "0.5s" })
    assert.equal(a.hash, b.hash)
    assert.equal(a.goodput.attainment, b.goodput.attainment)
    assert.equal(a.hash, run(blis.seconds(2), { tpot_ms = "50ms" }).hash)
    assert.equal(a.itl_ms.p99, a.tpot_ms.p99)
  end)

  it("has a unit where the name states none", function()
    local at = { name = "at", type = "time_us", min = 0 }
    local function error_of(value)
      local ok, problem = pcall(schema.check_value, at, value, "faults[1].at")
      assert.is_false(ok)
      return problem.message
    end
    assert.truthy(error_of(30):find('faults[1].at: 30 has no unit; write at = "30s" (units: us, '
      .. 'ms, s, m, h, d)', 1, true))
    assert.matches("999 has no unit", error_of(999))
    assert.equal(1000, schema.check_value(at, blis.milliseconds(1), "faults[1].at"))
    assert.equal(30, schema.check_value(at, "30us", "faults[1].at"))
    assert.equal(0, schema.check_value(at, 0, "faults[1].at"))
    assert.equal(30000000, schema.check_value(at, blis.seconds(30), "faults[1].at"))
    assert.equal(30, schema.check_value({ name = "at_us", type = "time_us" }, 30, "at_us"))
  end)

  it("is described with its limits", function()
    local option = { name = "x_us", type = "time_us", min = 1000, max = 3600000000 }
    assert.equal("a duration from 1ms to 1h such as \"30s\", or a whole number of microseconds "
      .. "(as blis.seconds(n) returns)", types.time_us.expected(option))
  end)
end)

describe("a duration in a workload specification", function()
  local function run(horizon, timeout)
    return blis.run { cluster = { instances = 1 }, workload = { aggregate_rate = 5,
      horizon = horizon, clients = { { id = "a", rate_fraction = 1, arrival = "poisson",
        timeout = timeout, input_distribution = 100, output_distribution = 20 } } } }
  end

  it("may have a unit, and is otherwise in microseconds", function()
    assert.equal(run(3000000, 5000000).hash, run("3s", "5000ms").hash)
    assert.not_equal(run("3s", "5s").hash, run("3s", "50ms").hash)
    for _, wrong in ipairs { "10 parsecs", "10", "soon" } do
      local ok, message = pcall(run, wrong, 5000000)
      assert.is_false(ok, wrong)
      assert.matches("workload.horizon: '" .. wrong .. "' ", message.message or message, 1, true)
    end
  end)
end)
