--- Which requests a metric is of: classes and their targets, the steady state, and comparisons.
local blis = require "blis"
local small = require "spec.support.small"
local warm_up = require "blis.results.warm_up"
local windows = require "blis.results.windows"
local words = require "blis.statistics.words"

local says = small.says

local function has_reason(result, code)
  for _, reason in ipairs(result.verdict.reasons) do
    if reason.code == code then return reason.text end
  end
end

--- Requests of one SLO class, as a script describes them.
local function of_class(class, targets, version)
  return blis.run { cluster = { instances = 2 }, slo_targets = targets, workload = {
    version = version, num_requests = 50, aggregate_rate = 10,
    clients = { { id = "a", slo_class = class, prompt = 200, output = 50 } } } }
end

describe("SLO classes of a script", function()
  it("keep their names without a version, and with version 2", function()
    for _, version in ipairs { false, "2" } do
      for _, class in ipairs { "realtime", "critical" } do
        local r = of_class(class, { [class] = { ttft_ms = 1000 } }, version or nil)
        assert.equal(class, r.by_slo_class[1].name)
        assert.equal(1, r.goodput.attainment)
        assert.equal(50, r.goodput.arrived)
      end
    end
  end)

  it("have the names of version 2 with version 1", function()
    assert.equal("critical", of_class("realtime", nil, "1").by_slo_class[1].name)
    assert.equal("standard", of_class("interactive", nil, "1").by_slo_class[1].name)
    assert.equal("standard", of_class("interactive").by_slo_class[1].name)
  end)

  it("without requests make a warning of their targets", function()
    local text = has_reason(of_class("batch", { realtime = { ttft_ms = 9 } }), "unmatched-target")
    says(text, "slo_targets has class realtime, but no request has this class. The classes of the "
      .. "requests are batch.")
    assert.is_nil(has_reason(of_class("batch", { batch = { ttft_ms = 9 } }), "unmatched-target"))
    assert.is_nil(has_reason(of_class("batch", { batch = { ttft_ms = 9 },
      default = { ttft_ms = 9 } }), "unmatched-target"))
  end)
end)

describe("the steady state", function()
  local function run(rate, requests, more)
    local spec = { cluster = { instances = 1 }, warm_up_us = 1000000, workload = { rate = rate,
      requests = requests, prompt_tokens = 200, output_tokens = 20 } }
    for key, value in pairs(more or {}) do spec[key] = value end
    return blis.run(spec)
  end

  it("ends with the last arrival, where as many complete as arrive", function()
    local r = run(10, 400)
    assert.equal(r.requests[#r.requests].arrival_us + 1, r.steady.to_us)
    local completed = 0
    for i = 1, #r.requests do
      local end_us = r.requests[i].end_us
      if end_us >= r.steady.from_us and end_us < r.steady.to_us then completed = completed + 1 end
    end
    local seconds = (r.steady.to_us - r.steady.from_us) / 1e6
    assert.near(completed / seconds, r.steady.requests_per_sec, 1e-9)
    assert.near(r.steady.arrived / seconds, r.steady.requests_per_sec, 0.3)
  end)

  it("ends before the cool-down", function()
    local r = run(10, 200, { cool_down_us = 3000000 })
    local to_us, arrived = r.requests[200].arrival_us - 3000000, 0
    for i = 1, 200 do
      local at = r.requests[i].arrival_us
      if at >= 1000000 and at <= to_us then arrived = arrived + 1 end
    end
    assert.equal(to_us + 1, r.steady.to_us)
    assert.equal(arrived, r.steady.arrived)
  end)

  it("is empty where warm-up or cool-down take the whole run", function()
    for _, options in ipairs { { warm_up_us = 10 ^ 12 // 1 }, { cool_down_us = 10 ^ 12 // 1 } } do
      local r = run(10, 20, options)
      assert.equal(0, r.steady.arrived)
      assert.equal(0, r.steady.requests_per_sec)
    end
  end)

  it("is not settled in an overloaded run, and where a queue drains", function()
    local function fake(arrived, per_sec, is_overloaded)
      local r = { setup = { notes = "" }, verdict = { reasons = is_overloaded
        and { { code = "overload" } } or { { code = "short" } } }, steady = { from_us = 0,
        to_us = 100000000, arrived = arrived, requests_per_sec = per_sec, is_settled = true } }
      return warm_up.check_load(r)
    end
    assert.is_true(fake(10000, 100).steady.is_settled)
    assert.is_true(fake(10000, 96).steady.is_settled)
    assert.is_true(fake(10000, 104).steady.is_settled)
    assert.is_true(fake(100, 1.29).steady.is_settled) -- of so few, by chance
    assert.is_false(fake(100, 1.31).steady.is_settled)
    assert.is_false(fake(10000, 106).steady.is_settled)
    says(fake(10000, 106).setup.notes, "10000 requests arrived in the window, and 10600 completed "
      .. "in it: the initial queue drains")
    says(fake(10000, 94).setup.notes, "a queue grows")
    assert.is_false(fake(10000, 100, true).steady.is_settled)
    assert.is_nil(fake(0, 0).steady.is_settled == false or nil)
    local r = run(400, 4000, { warm_up_us = "auto" })
    assert.is_false(r.steady.is_settled)
    assert.is_true(run(10, 2000, { warm_up_us = "auto" }).steady.is_settled)
  end)
end)

describe("blis.compare", function()
  local function compare(more)
    local spec = { cluster = { instances = 2 }, workload = { rate = 20, requests = 300,
      prompt_tokens = 200, output_tokens = 20 }, routing = { "random", "round-robin" },
      quiet = true, replications = 4, jobs = 1 }
    for key, value in pairs(more) do spec[key] = value end
    return blis.compare(spec)
  end

  it("has one population in its columns, which its last line names", function()
    local c = compare { warm_up_us = 2000000,
      report = { "ttft_ms.p99", "cache_hit_rate_overall", "steady.ttft_ms.p99" } }
    assert.same({ "steady.ttft_ms.p99", "cache_hit_rate_overall" }, { table.unpack(c.table.shown) })
    says(tostring(c), "steady: without the requests of the first 2.0 s; of all requests: "
      .. "cache_hit_rate_overall")
    c = compare { report = { "ttft_ms.p99" } }
    assert.same({ "ttft_ms.p99" }, { table.unpack(c.table.shown) })
    assert.is_nil(tostring(c):find("steady", 1, true))
    c = compare { warm_up_us = 2000000 }
    assert.is_nil(tostring(c):find("of all requests", 1, true))
  end)

  it("shows attainment and goodput with latency targets", function()
    local targets = { default = { ttft_ms = 30 } }
    local c = compare { slo_targets = targets }
    assert.truthy(tostring(c):find("goodput.attainment", 1, true))
    assert.is_number(c.against[2]["goodput.requests_per_sec"].change)
    assert.is_nil(tostring(compare {}):find("goodput", 1, true))
    local spec = small.experiment { routing = { "random", "round-robin" }, slo_targets = targets }
    local single = blis.compare(spec)
    local header, row = tostring(single):match "(routing[^\n]*)\n([^\n]*)"
    assert.truthy(header:find("in targets  goodput/s", 1, true), header)
    assert.truthy(row:find(("%.1f %%"):format(100 * single[1].goodput.attainment), 1, true), row)
    spec.slo_targets = nil
    assert.is_nil(tostring(blis.compare(spec)):find("goodput", 1, true))
  end)

  it("names no winner of a difference below 1 %", function()
    local function text(change)
      local c = compare {}
      c.against[2]["e2e_ms.mean"] = { kind = "ratio", change = change, low = change - 0.0005,
        high = change + 0.0005, p_value = 0.001, adjusted_p = 0.001, n = 4, ties = 0 }
      return tostring(c)
    end
    says(text(0.002), "e2e_ms.mean: round-robin is higher than random by 0.2 %")
    says(text(0.002), "too little to matter (below 1 %)")
    says(text(-0.002), "e2e_ms.mean: round-robin is lower than random by 0.2 %")
    says(text(0.02), "e2e_ms.mean: round-robin loses to random by 2.0 %")
    assert.is_nil(text(0.02):find("too little", 1, true))
  end)

  it("prints the median of draws around an estimate at the edge of its interval", function()
    local drawn = windows.new(200)
    local function pair(value)
      return drawn:paired({ value = 10, figures = { 10, 10, 10, 10, 10 } },
        { value = value, figures = { 5, 6, 7, 8, 9 } }, { level = 0.95 })
    end
    assert.is_nil(pair(7).median)
    assert.equal("", words.skew(pair(7)))
    assert.near(-0.3, pair(8.9).median, 1e-9)
    assert.near(-0.3, pair(5.1).median, 1e-9)
    assert.equal(", median of the draws -30.0 %", words.skew(pair(8.9)))
  end)
end)

describe("a sweep", function()
  local function sweep(report, trial)
    return blis.sweep { parameters = { { "policy", { "plain", "mine" } } }, report = report,
      trial = trial }:run { quiet = true, jobs = 1 }
  end

  local function run_of(p, warm_up_us)
    return blis.run(small.experiment { seed = p.seed, warm_up_us = warm_up_us,
      routing = p.policy == "mine" and { name = "mine", route = function() return 1 end,
        custom_metrics = function() return { x_mean_ms = 7 } end } or "random" })
  end

  it("shows a metric of one policy as '-' elsewhere", function()
    local found = sweep({ "custom_metrics.x_mean_ms", "ttft_ms.mean" }, run_of)
    assert.same({}, found.failures)
    assert.is_nil(found.points[1].metrics["custom_metrics.x_mean_ms"])
    assert.equal(7, found.points[2].metrics["custom_metrics.x_mean_ms"].mean)
    assert.truthy(tostring(found):find "plain +%- ", tostring(found))
  end)

  it("fails trials whose report has an unknown metric", function()
    assert.equal(2, #sweep({ "ttft_ms.p98" }, run_of).failures)
    assert.equal(1, #sweep({ "a" }, function(p)
      return { [p.policy == "mine" and "a" or "b"] = 1 }
    end).failures)
  end)

  it("shows the steady state by default, if the runs have one", function()
    assert.equal("ttft_ms.mean", sweep(nil, function(p) return run_of(p) end).shown[1])
    local found = sweep(nil, function(p) return run_of(p, 100000) end)
    assert.equal("steady.ttft_ms.mean", found.shown[1])
  end)
end)
