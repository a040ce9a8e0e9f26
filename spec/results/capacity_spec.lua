-- The most that a cluster takes while it keeps its targets.
local blis = require "blis"
local small = require "spec.support.small"
local targets = require "blis.capacity.targets"

local says = small.says

--- A cluster whose requests take 70 ms, so that runs settle soon.
local function experiment(changes)
  local given = {
    cluster = { instances = 1 },
    workload = { prompt_tokens = 256, output_tokens = 8 },
  }
  for key, value in pairs(changes or {}) do given[key] = value end
  return given
end

local function search(changes)
  local given = { targets = { ["ttft_ms.p90"] = 100 }, requests = 500, tolerance = 0.1,
    from = 8, quiet = true }
  for key, value in pairs(changes or {}) do given[key] = value end
  if not given.trial then given.experiment = given.experiment or experiment() end
  return blis.capacity(given)
end

describe("blis.capacity", function()
  local function numbers(changes)
    local given = { trial = function(p) return { y = p.rate ^ 2 + p.seed - 44 } end, metric = "y",
      limit = 100, quiet = true, jobs = 2 }
    for key, value in pairs(changes or {}) do given[key] = value end
    if given.targets and changes.trial then given.metric, given.limit = nil, nil end
    return blis.capacity(given)
  end

  it("finds the highest rate that keeps a limit, and how far seeds agree on it", function()
    local got = numbers()
    assert.is_true(math.abs(got.value - 10) < 0.1)
    assert.is_true(got.low < 9.95 and got.low > 9.7 and got.high > 10.05 and got.high < 10.3)
    assert.equal("95 % interval of 5 seeds", got.interval)
    for _, point in ipairs(got.curve) do
      local far = (point.value ^ 2 - 100) / (2.776 * math.sqrt(2.5 / 5))
      if point.met + point.missed == 5 then -- the others were the first seed's alone
        assert.equal(far > 1 and "missed" or far < -1 and "met" or "inconclusive", point.verdict)
      end
    end
    says(tostring(got), "10.0")
  end)

  it("says so when the answer lies outside of what was tried", function()
    local got = numbers { from = 11 }
    assert.is_nil(got.value)
    says(tostring(got), "targets missed at 11 requests/s, where the search started")
    got = numbers { to = 7 }
    assert.equal(7, got.low)
    assert.is_nil(got.value or got.high)
    says(tostring(got), "at least 7 requests/s")
    got = numbers { objective = "min", to = 7, trial = function(p) return { y = 200 - p.rate } end }
    says(tostring(got), "targets missed up to 7 requests/s, where the search ended")
    got = numbers { objective = "min", to = 7,
      trial = function(p) return { y = 94 + 2 * p.seed % 5 * 3 } end }
    says(tostring(got), "inconclusive up to 7 requests/s, where the search ended")
  end)

  it("says what the interval is of", function()
    local three = numbers { replications = 3 }
    assert.equal("95 % interval of 3 seeds", three.interval)
    assert.is_true(three.low < 9.9 and three.high > 10.1)
    assert.equal("one seed, so the noise is unknown", numbers { replications = 1 }.interval)
    local run = search { replications = 1, from = 40, tolerance = 0.5 }
    assert.equal("noise of one seed, not between seeds", run.interval)
    says(tostring(run), "seeds differ by more than one run shows, which 4 replications tell")
  end)

  it("has more noise in its interval the shorter runs are", function()
    local function width(requests)
      local got = search { replications = 4, targets = { ["ttft_ms.p90"] = 60 },
        trial = function(p)
          return blis.run { seed = p.seed, cluster = { instances = 1 }, workload = { rate = p.rate,
            requests = requests, prompt_tokens = 256, output_tokens = 8 } }
        end }
      return (got.high or math.huge) / (got.low or 0.001), got
    end
    local short, of_short = width(400)
    local long, of_long = width(8000)
    assert.is_true(short > long, of_short:headline() .. " / " .. of_long:headline())
    assert.is_true((of_short.low or 0) <= of_long.high and of_long.low <= of_short.high)
  end)

  it("finds the least whole number", function()
    local function found(changes)
      changes.trial = function(p) return { y = 1000 / (p.instances or p["cluster.tp"]) } end
      return numbers(changes)
    end
    assert.equal(10, found { parameter = "instances" }.value)
    assert.equal(1, found { parameter = "instances", limit = 1000 }.value)
    assert.equal(10, found { parameter = "cluster.tp", objective = "min", integer = true }.value)
  end)

  it("does not try more and more instances for what none will keep", function()
    local got = numbers { parameter = "instances", limit = -1,
      trial = function() return { y = 1 } end }
    says(tostring(got), "targets missed up to instances = 1,024, where the search ended")
    got = numbers { parameter = "instances", limit = 0.5, from = 2000,
      trial = function() return { y = 1 } end }
    says(tostring(got), "targets missed up to instances = 2,000, where the search ended")
    assert.equal(5000, numbers { parameter = "instances", limit = 0.5, to = 10000,
      trial = function(p) return { y = p.instances < 5000 and 1 or 0 } end }.value)
  end)

  it("takes a figure of which more is better from below", function()
    local got = numbers {
      targets = { cache_hit_rate = 0.5, y = 300 },
      trial = function(p) return { cache_hit_rate = 4 / p.rate, y = p.rate } end }
    assert.is_true(got.value > 7.8 and got.value < 8.2)
    assert.same({ "cache_hit_rate >= 0.5", "y <= 300" }, got.targets)
  end)

  it("gives the same answer from whatever length it starts", function()
    local short, long = search { requests = 100 }, search { requests = 4000 }
    assert.is_true(short.value > 8)
    assert.is_true(short.low < long.value and long.value < short.high,
      short:headline() .. " / " .. long:headline())
    -- Shorter runs know less: their interval is at least as wide.
    assert.is_true(short.high - short.low >= long.high - long.low)
  end)

  it("leaves the warm-up out of counts and rates, too", function()
    local result = blis.run(experiment { workload = { rate = 20, requests = 200,
      prompt_tokens = 256, output_tokens = 8 } })
    local window = result:window(2000000, 6000000)
    local function value(name, is_steady)
      local target = targets.read({ [name] = 1 })[1]
      return targets.value(target, { result = result, window = window, is_steady = is_steady })
    end
    for _, name in ipairs { "tokens_per_sec", "requests_per_sec", "completed" } do
      assert.not_equal(window[name], result[name])
      assert.equal(window[name], value(name, true))
      assert.equal(result[name], value(name, false))
    end
    assert.equal(result.cache_hit_rate, value("cache_hit_rate", true))
  end)

  it("is the same with any number of processes", function()
    assert.equal(tostring(search { jobs = 1 }), tostring(search { jobs = 3 }))
  end)

  it("counts requests that are not served as missed", function()
    local function headline(changes, workload)
      changes.workload = workload or { prompt_tokens = 256, output_tokens = 8 }
      return search { experiment = experiment(changes) }:headline()
    end
    local nothing = "targets missed at 8 requests/s, where the search started"
    assert.equal(nothing, headline { admission = "reject-all" })
    assert.equal(nothing, headline({}, { prompt_tokens = 200000, output_tokens = 8 }))
    assert.equal(nothing, headline({}, { prompt_tokens = 256, output_tokens = 8,
      timeout_us = 20000 }))
    local unfinished = search { from = 100, experiment = experiment { horizon_us = 200000 } }
    says(unfinished:headline(), "targets missed at 100 requests/s")
    assert.equal(nothing, headline {
      admission = { "token-bucket", bucket_size = 300, refill_rate = 1000 } })
  end)

  it("counts them as the slowest in percentiles", function()
    local function found(share)
      return search { max_missed = 1, targets = { ["ttft_ms.p90"] = 1e6 }, from = 8, to = 8,
        replications = 1, experiment = experiment {
          admission = function(request)
            local number = tonumber(request.id:match "%d+$")
            if number % 100 < share then return blis.reject() end
            return blis.admit()
          end,
        } }
    end
    assert.equal(1, found(8).curve[1].met)
    assert.equal(0, found(12).curve[1].met)
    assert.is_nil(found(12).curve[1].figures["ttft_ms.p90"])
  end)

  it("may allow no missed request", function()
    local got = search { max_missed = 0, targets = { ["ttft_ms.p90"] = 1e6 }, from = 8, to = 8,
      replications = 1 }
    assert.equal(1, got.curve[1].met)
  end)

  it("does not believe runs that are too short", function()
    local got = search { replications = 1, trial = function(p)
      return blis.run(experiment { seed = p.seed,
        workload = { rate = p.rate, requests = 100, prompt_tokens = 256, output_tokens = 8 } })
    end, targets = { ["ttft_ms.p99"] = 100 } }
    assert.is_nil(got.value)
    assert.is_true(got.is_unsettled)
    assert.is_nil(got.low)
    says(got:headline(), "runs are too short to")
    says(tostring(got), "run p.requests requests")
    got = search { max_requests = 500, targets = { ["ttft_ms.p99"] = 100 } }
    says(tostring(got), "runs of 500 requests do not converge there; raise max_requests to allow "
      .. "longer runs")
  end)

  it("judges a trace as a whole", function()
    local list = blis.workload { rate = 50, requests = 300, prompt_tokens = 256,
      output_tokens = 8 }
    local got = search { parameter = "instances", from = 1, replications = 2,
      experiment = { workload = list, routing = "least-loaded" } }
    assert.is_true(got.value >= 1)
    says(tostring(got), "runs are judged without a test for steady state")
  end)

  it("refuses an objective that every cluster meets", function()
    for _, case in ipairs { { "rate", "min", "'max', because low rates" },
      { "cluster.instances", "max", "'min', because many instances" } } do
      says(small.message_of(search, { parameter = case[1], objective = case[2],
        targets = { ["ttft_ms.p99"] = "50ms", ["e2e_ms.mean"] = "9s" } }), "expected " .. case[3])
    end
  end)

  it("accepts fractions of a millisecond in text only with their unit", function()
    local limit = require "blis.capacity.targets".limit
    for _, name in ipairs { "ttft_ms.p99", "itl_ms.mean", "e2e_ms.p50" } do
      for _, value in ipairs { "0.5", "0.001", "0.999" } do
        local number, expected = limit(name, value)
        assert.is_nil(number)
        says(expected, "a duration with its unit")
      end
      assert.equal(0.5, limit(name, "0.5ms"))
      assert.equal(500, limit(name, "0.5s"))
      assert.equal(0.5, limit(name, 0.5)) -- the name states the unit of a number in Lua
      assert.equal(1, limit(name, "1"))
      assert.equal(0, limit(name, 0))
    end
    assert.equal(0.5, limit("cache_hit_rate_overall", 0.5))
    assert.equal(0.5, limit("goodput.attainment", "0.5"))
  end)

  it("tells what is wrong", function()
    local message = small.message_of
    says(message(numbers, { metric = "z" }), "the trial returned no number 'z'; known are y")
    says(message(numbers, { from = 3, to = 2 }), "capacity: from = 3 is above to = 2")
    says(message(numbers, { trial = function() return "x" end }), "the trial returned 'x'")
    says(message(numbers, { targets = { y = 3 } }),
      "'targets' cannot be combined with 'metric' and 'limit'")
    says(message(search, { targets = {} }), "capacity.targets: the table is empty")
    says(message(search, { targets = { 5 } }), "capacity.targets: expected metrics with limits")
    says(message(search, { parameter = "cluster.instances.x" }), "is not an option of the "
      .. "experiment")
    says(message(search, { targets = { ttft_ms = 5 } }),
      "capacity.targets: ttft_ms contains count, mean, min, p50")
    says(message(search, { targets = { routing = 5 } }), "routing is not a number but a string")
    says(message(search, { targets = { by_tenant = 5 } }), "by_tenant is a list, not a number")
    says(message(search, { targets = { ["ttft_ms.p99"] = "0.5" } }), "ttft_ms.p99 = '0.5'; "
      .. "expected a duration with its unit, 0.5ms or 0.5s")
    says(message(blis.capacity, { limit = 3 }), "expected either a trial")
    says(message(search, { experiment = experiment { keep_records = false } }),
      "keeps no records")
  end)
end)
