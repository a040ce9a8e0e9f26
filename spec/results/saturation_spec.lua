local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local saturation = require "blis.results.saturation"
local small = require "spec.support.small"

local says = small.says

-- A recorded run of BLIS in Go (--detectors all, two instances).
local recorded = [[
version: "2"
seed: 3
aggregate_rate: 20
num_requests: 60
clients:
  - id: a
    slo_class: critical
    tenant_id: A
    rate_fraction: 1
    arrival: {process: poisson}
    input_distribution: {type: exponential, params: {mean: 100}}
    output_distribution: {type: exponential, params: {mean: 30, min: 2, max: 90}}
  - id: b
    slo_class: batch
    tenant_id: B
    rate_fraction: 1
    arrival: {process: gamma, cv: 3}
    input_distribution: {type: lognormal, params: {mu: 4, sigma: 1}}
    output_distribution:
      {type: pareto_lognormal, params: {alpha: 2, xm: 10, mu: 3, sigma: 0.5, mix_weight: 0.3}}
]]

local function recorded_run()
  local result
  files.with(recorded, function(spec_path)
    files.with(nil, function(path)
      commands.output_of("run", "--profile", "go-blis", "--num-instances", "2", "--quiet",
        "--workload-spec", spec_path, "--save", path)
      result = blis.load_result(path)
    end)
  end)
  return result
end

--- Records with the given arrivals and latencies, in ms.
local function records_of(list)
  local records = {}
  for i, one in ipairs(list) do
    records[i] = { id = "request_" .. i - 1, arrival_us = one[1] * 1000,
      e2e_us = one[2] and one[2] * 1000 }
  end
  return records
end

describe("saturation detectors", function()
  it("give the recorded verdicts", function()
    local found = recorded_run():saturation { keep_records = true }
    assert.equal(360, #found.records)
    assert.same({ time_us = 117179, detector = "composite", result = { level = "BACKLOGGED",
      score = 1, confidence = 0.05, signals = { latency_trend = 0, latency_trend_raw = 0,
        noise_floor = 1, quartile_monotone = 0, rate_deficit = 1 } } }, found.records[1])
    assert.same({ level = "STABLE", score = 0, confidence = 0, signals = {} },
      found.records[2].result)
    assert.same({ level = "STABLE", score = 0, confidence = 0.1, signals = { arrivals = 2,
      completions = 0, in_flight = 2, noise_floor = 0.7071067811865475, running_slope = 0 } },
      found.records[6].result)
    assert.same({ time_us = 2587301, detector = "composite", result = { level = "STABLE",
      score = 0, confidence = 1, signals = { latency_trend = 0,
        latency_trend_raw = 0.45894543046677333, noise_floor = 0.12909944487358055,
        quartile_monotone = 0, rate_deficit = 0 } } }, found.records[358])
    assert.same({ level = "STABLE", score = 0.034294178333333335,
      confidence = 0.8719631200671041, signals = { mean_e2e = 342.9417833333333,
        threshold = 5000 } }, found.records[359].result)
    assert.same({ level = "STABLE", score = 0, confidence = 1, signals = { arrivals = 60,
      completions = 60, in_flight = 0, noise_floor = 0.12909944487358055, running_slope = 0 } },
      found.records[360].result)
  end)

  it("see a backlog that grows", function()
    local list = {}
    for i = 1, 400 do list[i] = { i * 1000, 2000 + i * i } end
    local found = saturation.examine(records_of(list), { threshold_ms = 10000,
      final_window_us = blis.seconds(100) })
    assert.same({ composite = "OVERLOADED", threshold = "OVERLOADED",
      ["backlog-drift"] = "OVERLOADED" }, found.final)
  end)

  it("see nothing in a steady state", function()
    local list = {}
    for i = 1, 400 do list[i] = { i * 1000, 3000 } end
    assert.same({ composite = "STABLE", threshold = "STABLE", ["backlog-drift"] = "STABLE" },
      saturation.examine(records_of(list)).final)
  end)

  it("compute the slope of the number in flight over windows", function()
    local rng = blis.rng(3)
    local list = {}
    for i = 1, 120 do list[i] = { rng:integer(0, 900000), rng:integer(1000, 300000) } end
    local found = saturation.examine(records_of(list), { detectors = "backlog-drift",
      keep_records = true })
    local values, first, last = {}, nil, nil
    for _, record in ipairs(found.records) do
      local bucket = record.time_us // 60000000
      first, last = first or bucket, last or bucket
      for missing = last + 1, bucket do values[missing] = values[missing - 1] end
      values[bucket], last = record.result.signals.in_flight, bucket
      local n, x_mean, y_mean = bucket - first + 1, (bucket + first) / 2, 0
      for b = first, bucket do y_mean = y_mean + values[b] / n end
      local above, below = 0, 0
      for b = first, bucket do
        above = above + (b - x_mean) * (values[b] - y_mean)
        below = below + (b - x_mean) ^ 2
      end
      local slope = below > 0 and above / below or 0
      assert.is_true(math.abs(slope - record.result.signals.running_slope) < 1e-9)
    end
  end)

  it("leave out what was not completed", function()
    local found = saturation.examine(records_of { { 1, nil }, { 2, 0 } }, { keep_records = true })
    assert.equal(0, #found.records)
    assert.same({ composite = "STABLE", threshold = "STABLE", ["backlog-drift"] = "STABLE" },
      found.final)
  end)

  it("are chosen by name", function()
    local result = blis.run(small.experiment())
    local found = result:saturation { detectors = "threshold, composite,threshold" }
    assert.same({ "composite", "threshold" }, found.detectors)
    assert.is_nil(found.records)
    local function message(text)
      return small.message_of(result.saturation, result, { detectors = text })
    end
    says(message "treshold", "unknown detector 'treshold'; did you mean 'threshold'?")
    says(message "composite,all", "unknown detector 'all'")
    says(message "", "invalid value '': expected 'all' or some of composite")
    says(small.message_of(result.saturation, result, { window_us = 0 }),
      "saturation.window_us: invalid value 0")
  end)

  it("are written to a file", function()
    local found = blis.run(small.experiment()):saturation { keep_records = true }
    files.with(nil, function(path)
      saturation.save(found, path)
      local got = core.json_read(files.read(path))
      assert.same(found.final, got.final)
      assert.equal(#found.records, #got.trace)
      assert.same(found.records[50].result, got.trace[50].result)
    end)
  end)
end)
