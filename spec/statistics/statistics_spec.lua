local blis = require "blis"
local statistics = blis.statistics

-- TTFT p99 in ms under two policies, eight seeds.
local a = { 812, 640, 955, 701, 1210, 588, 774, 903 }
local b = { 689, 561, 842, 655, 1004, 537, 690, 781 }

describe("quantiles of distributions", function()
  it("are those of tables", function()
    for df, expected in pairs { [2] = 4.3027, [3] = 3.1824, [4] = 2.7764, [7] = 2.3646,
      [9] = 2.2622, [15] = 2.1314, [19] = 2.0930, [29] = 2.0452, [1] = 12.7062 } do
      assert.near(expected, statistics.t_quantile(0.975, df), 5e-5)
    end
    assert.near(1.959963984540054, statistics.normal_quantile(0.975), 1e-12)
    assert.near(2.866515718791939e-07, statistics.normal_probability(-5), 1e-19)
    assert.near(0.5, statistics.t_probability(0, 5), 1e-15)
    for _, p in ipairs { 0.01, 0.3, 0.9 } do
      assert.near(p, statistics.t_probability(statistics.t_quantile(p, 6.5), 6.5), 1e-12)
    end
  end)
end)

describe("a mean", function()
  it("has an interval from two values on", function()
    local estimate = statistics.estimate(a)
    assert.near(822.875, estimate.mean, 1e-9)
    assert.near(655.7566, estimate.low, 1e-3)
    assert.near(989.9934, estimate.high, 1e-3)
    assert.equal("822.875 (95 % CI 655.757 to 989.993, 8 values)", tostring(estimate))
    assert.equal("1 (1 value)", tostring(statistics.estimate { 1 }))
    assert.equal("no values", tostring(statistics.estimate {}))
    assert.is_nil(statistics.estimate({ 1 }).half_width)
    assert.is_nil(statistics.estimate({}).mean)
    assert.equal(0, statistics.estimate({ 3, 3, 3 }).half_width)
  end)

  it("has a bootstrap interval that is always the same #slow", function()
    local one = statistics.estimate(a, { method = "bootstrap" })
    assert.same(one, statistics.estimate(a, { method = "bootstrap" }))
    assert.is_true(one.low < one.mean and one.mean < one.high)
    assert.near(statistics.estimate(a).half_width, one.half_width, 30)
  end)
end)

describe("pairs", function()
  it("show what means cannot", function()
    local pair = statistics.paired(a, b)
    assert.equal("ratio", pair.kind)
    assert.near(0.8795 - 1, pair.change, 5e-5)
    assert.near(0.8518 - 1, pair.low, 5e-5)
    assert.near(0.9081 - 1, pair.high, 5e-5)
    assert.near(-3.357, pair.effect, 5e-4)
    assert.near(0.031975, pair.half_width, 5e-7)
    assert.near(3.0066e-5, pair.p_value, 1e-8)
    assert.same({ 8, 0, 0 }, { pair.lower, pair.higher, pair.ties })
  end)

  it("are differences where a value is not positive", function()
    local pair = statistics.paired({ 0, 1, 2 }, { 1, 2, 3 })
    assert.equal("difference", pair.kind)
    assert.equal(1, pair.change)
    assert.equal(0, pair.p_value)
    assert.equal(1, statistics.paired({ 1, 2 }, { 1, 2 }).p_value)
  end)

  it("tell of typical runs, or of what many runs have on average", function()
    -- ln 2, and ln 3 and ln 1 without one of the two: 2 ln 2 - ln 3 and 2 ln 2
    local pair = statistics.paired({ 1, 1 }, { 1, 3 }, { kind = "ratio-of-means" })
    assert.near(4 / math.sqrt(3) - 1, pair.change, 1e-12)
    assert.near(math.sqrt(3) - 1, statistics.paired({ 1, 1 }, { 1, 3 }).change, 1e-12)
    assert.same({ 0, 1, 1 }, { pair.lower, pair.higher, pair.ties })
    -- b is lognormal with median 1: a typical b / a is 1, that of the means is exp (0.6^2 / 2).
    local rng, one, spread = blis.rng(7, "pairs"), {}, {}
    for i = 1, 4000 do
      one[i] = 1
      spread[i] = math.exp(0.6 * statistics.normal_quantile((i - rng:number()) / 4000))
    end
    local typical = statistics.paired(one, spread)
    local means = statistics.paired(one, spread, { kind = "ratio-of-means" })
    assert.near(0, typical.change, 1e-3)
    assert.near(math.exp(0.18) - 1, means.change, 2e-3)
    assert.is_true(typical.high < means.low)
    -- Twice as much in every run is so by any measure.
    local twice = statistics.paired({ 1, 2, 4 }, { 2, 4, 8 }, { kind = "ratio-of-means" })
    assert.near(1, twice.change, 1e-12)
    assert.near(1, twice.high, 1e-12)
    assert.matches("100.0 %", tostring(twice), 1, true)
    local ok, problem = pcall(statistics.paired, a, b, { kind = "ratios" })
    assert.is_false(ok)
    assert.matches("kind: invalid value 'ratios': expected ratio, ratio-of-means or difference",
      problem.message, 1, true)
    local boot = { kind = "ratio-of-means", method = "bootstrap", seed = 3 }
    assert.same(statistics.paired(a, b, boot).low, statistics.paired(a, b, boot).low)
    assert.not_equal(statistics.paired(a, b).low, statistics.paired(a, b, boot).low)
  end)

  it("of shares are differences", function()
    assert.equal("difference", statistics.kind_of("cache_hit_rate"))
    assert.equal("difference", statistics.kind_of("goodput.attainment"))
    assert.is_nil(statistics.kind_of("ttft_ms.p99"))
    assert.is_nil(statistics.kind_of("tokens_per_sec"))
  end)

  it("are needed in a certain number", function()
    assert.equal(22, statistics.needed_pairs(0.05, 0.03))
  end)

  it("of many comparisons need smaller p-values", function()
    local adjusted = statistics.holm { 0.01, 0.04, 0.03 }
    assert.near(0.03, adjusted[1], 1e-12)
    assert.near(0.06, adjusted[2], 1e-12)
    assert.near(0.06, adjusted[3], 1e-12)
  end)
end)

describe("a quantile", function()
  it("is interpolated, and has an interval of ranks", function()
    local values = {}
    for i = 1, 100 do values[i] = i end
    local got = statistics.quantile_interval(values, 0.5)
    assert.same({ 50.5, 40, 61 }, { got.value, got.low, got.high })
    assert.is_nil(statistics.quantile_interval({ 1, 2, 3 }, 0.99).high)
  end)

  it("is covered as often as is said #slow", function()
    local stream, hits, n = blis.rng(7), 0, 1000
    for _ = 1, n do
      local values = {}
      for i = 1, 60 do values[i] = stream:exponential(1) end
      local got = statistics.quantile_interval(values, 0.9)
      if got.low <= math.log(10) and math.log(10) <= got.high then hits = hits + 1 end
    end
    assert.is_true(hits >= 945, hits)
  end)
end)

describe("warm-up", function()
  it("is found where a series settles", function()
    local stream, series = blis.rng(3), {}
    for i = 1, 1000 do series[i] = 10 + 50 * math.exp(-i / 20) + stream:normal() end
    local found = statistics.mser5(series)
    assert.is_true(found.cut >= 50 and found.cut <= 200, found.cut)
    assert.near(10, found.mean, 0.3)
    assert.is_true(found.is_settled)
    for i = 1, 100 do series[i] = i end
    assert.is_false(statistics.mser5(table.move(series, 1, 100, 1, {})).is_settled)
    assert.same({ cut = 0, is_settled = false }, statistics.mser5 {})
  end)
end)

-- M/M/1: the mean time in the system of customers that meet a queue in its steady state.
describe("intervals of simulations #host", function()
  local customers, replications, cases = 150, 20, 1000

  --- Mean response of one run that starts in the steady state (Lindley's recursion).
  local function response(seed, arrival_rate, service_rate)
    local arrivals, services = blis.rng(seed, "arrivals"), blis.rng(seed, "services")
    local start = blis.rng(seed, "start")
    local wait, sum = 0.0, 0.0
    if start:number() < arrival_rate / service_rate then
      wait = start:exponential(1 / (service_rate - arrival_rate))
    end
    for _ = 1, customers do
      local service = services:exponential(1 / service_rate)
      sum = sum + wait + service
      wait = math.max(0, wait + service - arrivals:exponential(1 / arrival_rate))
    end
    return sum / customers
  end

  it("cover the truth as often as they say #slow", function()
    local mean_hits, bootstrap_hits, pair_hits, bootstrap_cases = 0, 0, 0, 40
    for case = 1, cases do
      local slow, fast = {}, {}
      for r = 1, replications do
        local seed = case * replications + r
        slow[r], fast[r] = response(seed, 0.5, 1), response(seed, 0.5, 1.25)
      end
      local estimate = statistics.estimate(slow)
      if estimate.low <= 2 and 2 <= estimate.high then mean_hits = mean_hits + 1 end
      if case <= bootstrap_cases then
        local resampled = statistics.estimate(slow, { method = "bootstrap", seed = case })
        if resampled.low <= 2 and 2 <= resampled.high then bootstrap_hits = bootstrap_hits + 1 end
      end
      local pair = statistics.paired(slow, fast, { kind = "difference" })
      if pair.low <= 4 / 3 - 2 and 4 / 3 - 2 <= pair.high then pair_hits = pair_hits + 1 end
    end
    assert.is_true(mean_hits >= 920 and mean_hits <= 980, "mean " .. mean_hits)
    assert.is_true(pair_hits >= 920 and pair_hits <= 980, "pairs " .. pair_hits)
    assert.is_true(bootstrap_hits >= 34, "bootstrap " .. bootstrap_hits)
  end)
end)

describe("group-sequential tests #host", function()
  local stopping = require "blis.statistics.stopping"

  it("have the boundaries of the tables, as levels of z", function()
    local distribution = require "blis.statistics.distribution"
    local tables = { ["obrien-fleming"] = { { 2.796, 1.977 }, { 3.471, 2.454, 2.004 },
      { 4.048, 2.862, 2.337, 2.024 }, { 4.562, 3.226, 2.634, 2.281, 2.040 } },
      pocock = { { 2.178, 2.178 }, { 2.289, 2.289, 2.289 }, { 2.361, 2.361, 2.361, 2.361 },
        { 2.413, 2.413, 2.413, 2.413, 2.413 } } }
    for name, of_rule in pairs(tables) do
      for i, wanted in ipairs(of_rule) do
        local rule = { rule = name, min = 4, max = 4 * (i + 1), level = 0.95 }
        assert.equal(i + 1, #stopping.looks(rule))
        for look, z in ipairs(wanted) do
          assert.near(2 * distribution.normal_probability(z) - 1, stopping.level_at(rule, look),
            1e-12)
        end
      end
    end
  end)

  it("have intervals that cover the truth although they stop when they like #slow", function()
    for _, name in ipairs { "obrien-fleming", "pocock" } do
      local rule = { rule = name, min = 5, max = 20, level = 0.95 }
      local stream, repeated, plain, cases, truth = blis.rng(12), 0, 0, 1500, 0.6
      for _ = 1, cases do
        local x, y, last = {}, {}, nil
        for look, n in ipairs(stopping.looks(rule)) do
          for i = #x + 1, n do x[i], y[i] = 0.0, truth + stream:normal() end
          last = look
          if stopping.is_decided(rule, look, statistics.paired(x, y)) then break end
        end
        local function covers(level)
          local pair = statistics.paired(x, y, { level = level })
          return pair.low <= truth and truth <= pair.high and 1 or 0
        end
        repeated = repeated + covers(stopping.level_at(rule, last))
        plain = plain + covers(0.95)
      end
      assert.is_true(repeated / cases >= 0.94, name .. " " .. repeated)
      assert.is_true(plain < repeated, name .. " " .. plain)
      assert.equal(0.9, stopping.level_at({ rule = "precision", min = 5, max = 9, level = 0.9 }, 1))
    end
  end)

  it("find a difference that is not there in 5 % of the cases #slow", function()
    for _, name in ipairs { "obrien-fleming", "pocock" } do
      local rule = { rule = name, min = 5, max = 20, level = 0.95 }
      assert.same({ 5, 10, 15, 20 }, stopping.looks(rule))
      local stream, found, cases = blis.rng(11), 0, 1500
      for _ = 1, cases do
        local x, y, is_found = {}, {}, false
        for look, n in ipairs(stopping.looks(rule)) do
          for i = #x + 1, n do x[i], y[i] = 0.0, stream:normal() end
          is_found = is_found or stopping.is_decided(rule, look, statistics.paired(x, y))
        end
        if is_found then found = found + 1 end
      end
      assert.is_true(found / cases > 0.035 and found / cases < 0.067, name .. " " .. found)
    end
  end)
end)

describe("a pilot", function()
  it("tells how many replications are needed", function()
    -- 7.849 (s / change)^2, rounded up, and 2 for Student's t
    local d = { 0.95, 1.05 } -- s = 0.0707 of a mean of 1
    local power = statistics.power(d)
    assert.is_true(math.abs(power.std_dev - 0.0707107) < 1e-6)
    assert.same({ 395, 101, 18, 6 }, { power.needed[0.01], power.needed[0.02],
      power.needed[0.05], power.needed[0.1] })
    assert.equal("a change shows, of 1 % with 395, 2 % with 101, 5 % with 18, "
      .. "10 % with 6 replications",
      tostring(power))
    assert.is_nil(statistics.power({ 3 }).std_dev)
    assert.equal("too few values to tell", tostring(statistics.power { 3 }))
    local paired = statistics.power({ 10, 20, 30 }, { 11, 22, 33 })
    assert.is_true(paired.std_dev < 1e-9)
    assert.equal(4, paired.needed[0.1])
  end)
end)
