local blis = require "blis"
local small = require "spec.support.small"
local program = require "spec.support.program"
local windows = require "blis.results.windows"

local says = small.says

local function traffic(requests, rate)
  return blis.workload { rate = rate or 40, requests = requests, prompt_tokens = 200,
    output_tokens = 20 }
end

local function run(list, routing)
  return blis.run { cluster = { instances = 3 }, workload = list, routing = routing }
end

describe("windows of one run", function()
  it("draw every window as often as there are windows, on average", function()
    local drawn = windows.new(2000)
    assert.equal(20, drawn.count)
    for _, weights in ipairs(drawn.weights) do
      local sum = 0
      for _, weight in ipairs(weights) do sum = sum + weight end
      assert.equal(20, sum)
    end
    assert.equal("block bootstrap over 20 windows", tostring(drawn))
    assert.is_nil(windows.new(100))
    assert.equal(5, windows.new(125).count)
  end)

  it("cover the mean of many runs about as often as they say", function()
    local drawn, sum, intervals = windows.new(1000), 0, {}
    for seed = 1, 40 do
      local r = blis.run { cluster = { instances = 1 }, seed = seed,
        workload = { rate = 3, requests = 1000, prompt_tokens = 100, output_tokens = 4 } }
      sum = sum + r.e2e_ms.mean
      intervals[seed] = drawn:estimate(r.e2e_ms.mean, drawn:figures(r, "e2e_ms.mean"), 0.95)
    end
    local covered = 0
    for _, one in ipairs(intervals) do
      if one.low <= sum / 40 and sum / 40 <= one.high then covered = covered + 1 end
    end
    assert.is_true(covered >= 33, covered .. " of 40") -- 38 are expected
  end)

  it("see a difference that is there, and none between equal runs", function()
    local list, drawn = traffic(1000), windows.new(1000)
    local a, b = run(list, "round-robin"), run(list, function() return 1 end)
    local function side(r, metric)
      return { value = r[metric].mean, figures = drawn:figures(r, metric .. ".mean") }
    end
    local pair = drawn:paired(side(a, "e2e_ms"), side(b, "e2e_ms"), { level = 0.95 })
    assert.is_true(pair.is_shown and pair.low > 0 and pair.low < pair.change
      and pair.change < pair.high)
    local none = drawn:paired(side(a, "e2e_ms"), side(a, "e2e_ms"), { level = 0.95 })
    assert.is_false(none.is_shown)
    assert.equal(0, none.change)
  end)

  it("give no interval that is not around what was measured", function()
    local drawn = windows.new(200)
    local draws = { 5, 6, 7, 8, 9 }
    local function estimate(value) return drawn:estimate(value, draws, 0.95) end
    assert.same({ 5.1, 8.9 }, { estimate(7).low, estimate(7).high })
    assert.same({ 5.1, 8.9 }, { estimate(8.905).low, estimate(8.905).high })
    assert.is_nil(estimate(9.5).low)
    assert.is_nil(estimate(9.5).half_width)
    local function paired(value)
      return drawn:paired({ value = 10, figures = { 10, 10, 10, 10, 10 } },
        { value = value, figures = draws }, { level = 0.95 })
    end
    assert.is_true(paired(7).is_shown)
    assert.is_nil(paired(4).low)
    assert.is_nil(paired(4).is_shown)
    assert.equal("-60.0 % (1 pair, no interval)", tostring(paired(4)))
  end)

  it("know what is made of requests alone", function()
    local r, drawn = run(traffic(200)), windows.new(200)
    local metrics = { "ttft_ms.mean", "ttft_ms.p99", "e2e_ms.p50", "scheduling_delay_ms.p90" }
    for _, metric in ipairs(metrics) do
      assert.equal(999, #drawn:figures(r, metric))
    end
    for _, metric in ipairs { "tokens_per_sec", "ttft_ms.max", "cache_hit_rate", "itl_ms.mean" } do
      assert.is_nil(drawn:figures(r, metric))
    end
  end)
end)

describe("blis.compare with replications", function()
  local policies = { "round-robin", "least-loaded" }

  it("runs fixed traffic once, with intervals from windows", function()
    local c = blis.compare { cluster = { instances = 3 }, workload = traffic(400), quiet = true,
      routing = policies, replications = 5, report = { "e2e_ms.mean", "tokens_per_sec" } }
    assert.is_true(c.is_one_run)
    assert.equal(1, c.replications)
    assert.equal(16, c.windows)
    local pair = c.against[2]["e2e_ms.mean"]
    assert.equal(16, pair.windows)
    assert.is_nil(pair.p_value)
    assert.is_true(pair.high > pair.low)
    local text = tostring(c)
    says(text, "replications would be copies: one run per policy")
    says(text, "block bootstrap over 16 windows")
    assert.not_matches("±%s+0%s", text)
    assert.not_matches("p <", text)
  end)

  it("notices that no seed changes anything", function()
    local c = blis.compare { cluster = { instances = 3 }, quiet = true, replications = 4,
      workload = { rate = 40, requests = 200, prompt_tokens = 200, output_tokens = 20, seed = 5 },
      routing = policies, report = { "e2e_ms.mean" } }
    assert.is_true(c.is_one_run)
    local other = blis.compare { cluster = { instances = 3 }, quiet = true, replications = 4,
      workload = { rate = 40, requests = 200, prompt_tokens = 200, output_tokens = 20 },
      routing = policies, report = { "e2e_ms.mean" } }
    assert.is_nil(other.is_one_run)
    assert.equal(4, other.replications)
  end)

  it("has no interval where the traffic is too short", function()
    local c = blis.compare { cluster = { instances = 3 }, workload = traffic(50), quiet = true,
      routing = policies, replications = 5, report = { "e2e_ms.mean" } }
    says(tostring(c), "too short for intervals")
    says(tostring(c), "in one run, without an interval")
  end)

  it("shows mean and range of few replications, and how many are needed", function()
    local text = tostring(blis.compare { cluster = { instances = 3 }, quiet = true,
      workload = { rate = 40, requests = 100, prompt_tokens = 200, output_tokens = 20 },
      routing = policies, replications = 3, report = { "e2e_ms.mean" } })
    says(text, "mean and range, because this is too few for intervals")
    says(text, "intervals require at least 4 replications")
    says(text, "too few for an interval)")
    assert.not_matches("±", text)
    assert.not_matches("p =", text)
  end)
end)

describe("a sweep with three replications", function()
  it("prints its table, without intervals that three runs cannot give", function()
    local path = os.tmpname()
    local file <close> = assert(io.open(path, "w"))
    file:write [[
local blis = require "blis"
print(blis.sweep {
  parameters = { { "rate", { 20, 40 } } }, replications = 3,
  trial = function(p)
    return blis.run { seed = p.seed,
      workload = { rate = p.rate, requests = 50, output_tokens = 8 } }
  end,
  report = { "ttft_ms.p99", "tokens_per_sec" },
}:run { jobs = 1, quiet = true })
]]
    file:flush()
    local done = program.run(path)
    os.remove(path)
    assert.equal(0, done.status, done.err)
    says(done.out, "mean and range, because this is too few for intervals")
    assert.matches("\n20%s+[%d.,]+ %([%d.,]+ to [%d.,]+%)", done.out)
    says(done.out, "(blis.statistics.power)")
  end)
end)

describe("a comparison of single runs", function()
  local function compare(changes)
    local spec = { cluster = { instances = 2 }, workload = traffic(300),
      routing = { "round-robin", "least-loaded" } }
    for key, value in pairs(changes or {}) do spec[key] = value end
    return tostring(blis.compare(spec))
  end

  it("says how sure differences are", function()
    local text = compare { routing = { "round-robin", "round-robin" } }
    says(text, "against round-robin (95 % intervals from one run: block bootstrap over 12 windows)")
    says(text, "round-robin #2: TTFT p99 no difference seen (0 % to 0 %); "
      .. "E2E mean no difference seen")
    assert.matches("funct[^\n]*E2E mean %d", (compare { routing = { "round-robin",
      function() return 1 end } }:gsub("\nfunction[^\n]*", "", 1)))
  end)

  it("tells what became of requests, and of whom latencies are", function()
    local text = compare { admission = { "token-bucket", bucket_size = 4000, refill_rate = 2000 } }
    says(text, "arrived  completed")
    assert.matches("\n  %d+ rejected %(token%-bucket[^\n]*%); latencies cover the %d+ that "
      .. "completed",
      text)
    assert.matches("\n  %d+ unservable %(too long for an instance, the shortest with a prompt of",
      compare { cluster = { instances = 2, max_model_len = 210 } })
  end)

  it("has no latencies where nothing completed", function()
    local text = compare { admission = "reject-all" }
    says(text, "300 rejected (reject-all); nothing completed")
    says(text, "least-loaded: no intervals and no winner: round-robin is invalid: "
      .. "nothing-served")
    assert.matches("\nround%-robin%s+%-%s+%-%s+%-%s+%-%s+%-%s", text)
    local summary = tostring(blis.run { workload = traffic(20), admission = "reject-all" })
    assert.matches("TTFT%s+%-%s+%-%s+%-%s+%-%s+%-\n", summary)
  end)

  it("leaves nothing after a warm-up that is longer than any run", function()
    local r = blis.run { workload = traffic(20), warm_up_us = math.maxinteger }
    assert.equal(0, r.steady.completed)
  end)
end)
