local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"

local small = { "--num-requests", "60", "--rate", "30", "--output-tokens", "20",
  "--output-tokens-stdev", "5" }

local function with(...)
  return table.unpack(table.move({ ... }, 1, select("#", ...), #small + 1, { table.unpack(small) }))
end

describe("blis run", function()
  -- The worked example of goodput, detectors, fitness and decisions that BLIS in Go (inference-sim
  -- f90a1e3a) printed, from the object of the cluster on.
  it("prints the worked example of BLIS in Go, to the last byte", function()
    local text = commands.output_of("run", "--profile", "go-blis", "--workload-spec",
      "spec/cmd/worked/spec.yaml", "--num-instances", "2", "--routing-policy", "weighted",
      "--detectors", "all", "--fitness-weights", "throughput:0.5,p99_ttft:0.5", "--trace-level",
      "decisions", "--summarize-trace")
    assert.equal(files.read "spec/cmd/worked/expected.txt",
      text:match('{\n(  "instance_id": "cluster".*)$'))
  end)
end)

describe("detectors of flags", function()
  it("judge a run in every form", function()
    local text = commands.output_of("run", with("--detectors", "threshold,composite"))
    assert.matches("\nsaturation composite %u+, threshold STABLE\n$", text)
    files.with(nil, function(path)
      local got = core.json_read(commands.output_of("run", with("--detectors", "all", "--format",
        "json", "--metrics-path", path)))
      assert.equal("STABLE", got.saturation.threshold)
      assert.same(got.saturation, core.json_read(files.read(path)).saturation)
    end)
  end)

  it("write every verdict", function()
    files.with(nil, function(path)
      commands.output_of("run", with("--detectors", "backlog-drift", "--saturation-report", path))
      local report = core.json_read(files.read(path))
      assert.equal(120, #report.trace)
      assert.equal("backlog-drift", report.trace[1].detector)
    end)
  end)

  it("take parameters from a file", function()
    files.with("threshold: {threshold_ms: 1}\nbacklog_drift: {window_size_sec: 1, min_windows: 3}",
      function(path)
        local outcome = commands.call("run", with("--detectors", "all", "--format", "json",
          "--saturation-config", path))
        assert.equal("OVERLOADED", core.json_read(outcome.out).saturation.threshold)
        assert.same({ ("blis: %s: backlog_drift.min_windows has no effect"):format(path) },
          outcome.said)
      end)
  end)

  it("are refused when something is wrong", function()
    local function message_of(...)
      local _, message = commands.error_of("run", with(...))
      return message
    end
    assert.matches("run: --detectors: unknown detector 'thresold'; did you mean 'threshold'?",
      message_of("--detectors", "thresold"), 1, true)
    assert.matches("--saturation-final-window needs --detectors",
      message_of("--saturation-final-window", "5s"), 1, true)
    for _, case in ipairs {
      { "threshold: {threshold_ms: 0}", ":1: threshold.threshold_ms: invalid value 0" },
      { "treshold: {}", ":1: unknown option 'treshold'; did you mean 'threshold'?" },
      { "backlog_drift: {window_size_sec: 5}",
        ":1: backlog_drift: detector backlog-drift is not in --detectors" },
    } do
      files.with(case[1], function(path)
        assert.matches(case[2], message_of("--detectors", "threshold", "--saturation-config", path),
          1, true)
      end)
    end
  end)
end)
