-- calibrate/ holds a trace that BLIS in Go (inference-sim f90a1e3a) observed at a stub server, the
-- results of its replay, and the report it made of them.
local calibration = require "blis.calibrate.trace_comparison"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

local folder = "spec/cmd/calibrate/"

local function equal_trees(expected, got, place)
  assert.equal(type(expected), type(got), place)
  if type(expected) ~= "table" then
    assert.equal(expected, got, place)
    return
  end
  for key, value in pairs(expected) do equal_trees(value, got[key], place .. "." .. key) end
  for key in pairs(got) do assert.is_not_nil(expected[key], place .. "." .. key) end
end

local function arguments(report, changes, ...)
  local list = {}
  local given = {
    ["--trace-header"] = folder .. "o.yaml", ["--trace-data"] = folder .. "o.csv",
    ["--sim-results"] = folder .. "results.json", ["--report"] = report,
  }
  for flag, value in pairs(changes) do given[flag] = value end
  for flag, value in pairs(given) do
    if value then table.move({ flag, value }, 1, 2, #list + 1, list) end
  end
  return table.unpack(table.move({ ... }, 1, select("#", ...), #list + 1, list))
end

--- The report of a call, what was said, and the problem if there was one.
local function calibrate(changes, ...)
  local report, said, problem
  local more = { ... }
  files.with(nil, function(path)
    local outcome = commands.call("calibrate", arguments(path, changes, table.unpack(more)))
    assert.equal("", outcome.out)
    said, problem = table.concat(outcome.said, "\n"), outcome.problem
    local text = files.read(path)
    report = text and core.json_read(text)
  end)
  return report, said, problem
end

describe("blis calibrate", function()
  it("makes the report of the worked example, to the last bit", function()
    files.with('{"cache_hit_rate": 0.32}', function(metrics)
      local report, said, problem = calibrate {
        ["--itl-data"] = folder .. "o.itl.csv", ["--sim-metrics"] = metrics,
      }
      assert.is_nil(problem)
      assert.equal(4, #report.known_limitations)
      report.known_limitations = nil
      equal_trees(core.json_read(files.read(folder .. "expected.json")), report, "report")
      assert.matches("5 requests: 5 compared, 0 omitted as warm-up, 0 unmatched", said, 1, true)
      assert.matches("warning: hit rates, 40.0 % real and 32.0 % simulated", said, 1, true)
      assert.matches("critical   5      38.8 %     59.0 %", said, 1, true)
    end)
  end)

  it("leaves out what it is told", function()
    local report = calibrate { ["--warmup-requests"] = "4" }
    assert.equal(2, report.metrics.ttft.count)
    assert.equal(3, report.trace_info.warm_up_excluded)
    assert.equal(0, report.metrics.ttft.request_level.pearson_r)
    assert.is_nil(report.metrics.itl)
    assert.is_true(report.goodput.skipped_itl)
    assert.equal(0, report.goodput.per_class.critical.real_slo_attainment)
  end)

  it("adds the network to simulated times", function()
    local plain = calibrate { ["--network-rtt-us"] = "0" }
    local far = calibrate { ["--network-rtt-us"] = "100", ["--network-bandwidth-mbps"] = "32" }
    local function mean(report, name) return report.metrics[name].workload_level.sim_mean end
    assert.equal(mean(plain, "ttft") + 100 + 70, mean(far, "ttft"))
    assert.equal(mean(plain, "e2e") + 100 + 70 + 4, mean(far, "e2e"))
  end)

  it("takes targets of flags before those of the header", function()
    local report = calibrate({}, "--slo-ttft", "critical=1ms,batch=1s", "--slo-itl",
      "critical=1h")
    assert.same({ TTFTMs = 1, ITLMs = 3600000, E2EMs = 1000 }, report.goodput.targets.critical)
    assert.equal(0, report.goodput.per_class.critical.sim_slo_attainment)
    assert.equal(0, report.goodput.per_class.batch.count)
  end)

  it("says nothing with --quiet", function()
    local _, said = calibrate({}, "--quiet")
    assert.equal("", said)
  end)

  it("compares with another simulator", function()
    local function with_files(body)
      files.with('{"model": "m", "adapter_aware": {"ttft": 20, "output_throughput": 100}, '
        .. '"adapter_blind": {"ttft": 10, "output_throughput": 110}}', function(reference)
        files.with('{"ttft_mean_ms": 25, "total_output_tokens": 500, '
          .. '"vllm_estimated_duration_s": 5}', function(metrics) body(reference, metrics) end)
      end)
    end
    with_files(function(reference, metrics)
      local report, said = calibrate {
        ["--trace-header"] = false, ["--trace-data"] = false, ["--sim-results"] = false,
        ["--adapter-reference"] = reference, ["--sim-metrics"] = metrics,
        ["--sim-metrics-blind"] = metrics,
      }
      assert.same({
        model = "m", mape_threshold = 0.2, all_within_threshold = false,
        metrics = {
          { metric = "ttft", dt_value = 20, blis_value = 25, mape = 0.25,
            within_threshold = false, delta_mape = 0.5 },
          { metric = "throughput", dt_value = 100, blis_value = 100.0, mape = 0.0,
            within_threshold = true, delta_mape = math.abs(1 - 100 / 110) / (100 / 110) },
        },
      }, report)
      assert.matches("warning: ttft: 25, reference 20, error 25.0 %", said, 1, true)
    end)
  end)

  it("names what is wrong", function()
    local function message(changes)
      local report, _, problem = calibrate(changes)
      assert.is_nil(report)
      return problem.message
    end
    local function message_of_file(flag, text)
      local got
      files.with(text, function(path)
        got = message({ [flag] = path }):gsub(path:gsub("%p", "%%%0"), "FILE")
      end)
      return got
    end
    assert.matches("calibrate: --report is missing", message { ["--report"] = false }, 1, true)
    assert.matches("--network-rtt-us: invalid value -2: expected an integer from -1",
      message { ["--network-rtt-us"] = "-2" }, 1, true)
    assert.matches("/nosuch.json", message { ["--sim-results"] = "/nosuch.json" }, 1, true)
    for _, case in ipairs {
      { "--sim-results", "[]", "FILE: no results" },
      { "--sim-results", "5", "FILE" },
      { "--sim-results", '[{"request_id": 1}]',
        "FILE: [1]: ttft_us: invalid value nil: expected a number" },
      { "--sim-results", '[{"request_id": 99, "ttft_us": 1, "e2e_us": 2, "input_tokens": 1, '
        .. '"output_tokens": 1}]', "no request of spec/cmd/calibrate/o.csv occurs in FILE" },
      { "--trace-header", "warmup_requests: 1\n",
        "FILE:1: unknown option 'warmup_requests'; did you mean 'warm_up_requests'?" },
      { "--trace-header", "mode: real\nwarm_up_requests: -1\n",
        "FILE:2: warm_up_requests: invalid value -1" },
      { "--trace-data", "request_id\n1\n", "FILE: no column 'slo_class'" },
      { "--itl-data", "request_id,chunk_index,timestamp_us\n1,0,x\n",
        "FILE:2: column 'timestamp_us': 'x' is not a number" },
    } do
      local got = message_of_file(case[1], case[2])
      assert.equal(case[3], got:sub(1, #case[3]))
    end
  end)
end)

describe("two lists of times", function()
  it("that are equal are excellent", function()
    local one = calibration.compare({ 1, 2, 4 }, { 1, 2, 4 })
    assert.equal("excellent", one.quality)
    assert.equal("neutral", one.bias)
    assert.equal(0, one.mape)
  end)

  it("may be empty, or zero on the real side", function()
    assert.is_nil(calibration.compare({}, {}))
    local one = calibration.compare({ 0, 0 }, { 1, 1 })
    assert.equal("", one.bias)
    assert.equal(0, one.mape)
    assert.equal(0, one.figures[4][2])
  end)
end)
