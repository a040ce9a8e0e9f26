-- Whether a capacity search notices a cluster with two states.
local blis = require "blis"
local small = require "spec.support.small"
local surge = require "blis.capacity.surge"

local says = small.says

--- A run whose mean TTFT in each of four parts is given; requests arrive every millisecond.
local function run_of(means, completed)
  local requests = { course = function() return { from_us = 0, to_us = 7000, requests = 8 } end }
  for i = 1, 8 do requests[i] = { arrival_us = (i - 1) * 1000 } end
  return {
    requests = requests, e2e_ms = { mean = 20 },
    window = function(_, from_us)
      local k = from_us // 2000 + 1
      return { arrived = 2, completed = completed and completed[k] or 2,
        ttft_ms = { count = 2, mean = means[k], p99 = means[k] } }
    end,
  }
end

local calm = run_of { 10, 10, 10, 10 }

describe("the surge test", function()
  --- Tries a surge; runs(value, seed, requests) returns the run with the surge.
  local function try(runs, changes)
    local lengths, question = {}, {
      targets = { { name = "ttft_ms.p99", latency = "ttft", limit = 50 } }, max_missed = 0,
      seeds = { 1, 2 }, requests = 1000, max_requests = 4000,
    }
    for key, value in pairs(changes or {}) do question[key] = value end
    question.run = function(value, seed, requests, shape)
      if not shape then return calm end
      lengths[#lengths + 1] = requests
      return runs(value, seed, requests, shape)
    end
    return surge.test(question, 100, calm, function(value, factor) return value * factor end),
      lengths
  end

  it("ends after one run of each seed if the targets are met again", function()
    local found, lengths = try(function() return run_of { 900, 300, 60, 40 } end)
    assert.is_true(found.recovers)
    assert.same({ 1000, 1000 }, lengths)
    assert.is_nil(found.recovers_at)
  end)

  it("makes 5 times the rate of as many requests as five systems hold", function()
    local given
    local found = try(function(_, _, _, shape)
      given = shape
      return run_of { 10, 10, 10, 10 }
    end)
    -- 1,000 requests/s for 20 ms are 20 requests in the system.
    assert.equal(100, found.surge_requests)
    assert.same({ "ramp", from = 5, to = 1, start_us = 20000, duration_us = 1000 }, given)
  end)

  it("recovers if no request is later than twice the calm mean", function()
    local found, lengths = try(function() return run_of { 900, 300, 60, 19 } end,
      { targets = { { name = "ttft_ms.p99", latency = "ttft", limit = 5 } } })
    assert.is_true(found.recovers)
    assert.same({ 1000, 1000 }, lengths)
  end)

  it("sees an overload that grows, with any seed", function()
    local values = {}
    local found = try(function(value, seed)
      values[#values + 1] = value
      return run_of(value > 75 and seed == 2 and { 500, 600, 800, 1000 } or { 900, 300, 60, 40 })
    end)
    assert.is_false(found.recovers)
    assert.equal(1000, found.ttft_ms)
    assert.equal(10, found.calm_ttft_ms)
    assert.is_true(math.abs(found.recovers_at - 72.9) < 1e-9) -- after 90 and 81
    assert.is_true(values[1] == 100 and values[2] == 100 and values[3] == 90) -- no longer runs
  end)

  it("waits for a backlog that drains", function()
    local found, lengths = try(function(_, _, requests)
      return run_of(requests < 6400 and { 1000, 900, 870, 860 } or { 1000, 500, 100, 40 })
    end)
    assert.is_true(found.recovers)
    assert.same({ 1000, 2000, 4000, 6400 }, { table.unpack(lengths, 1, 4) })
  end)

  it("waits where one part is high by chance", function()
    local found = try(function(_, _, requests)
      return run_of(requests == 1000 and { 500, 600, 550, 1000 } or { 500, 300, 60, 40 })
    end)
    assert.is_true(found.recovers)
  end)

  it("takes a backlog that still falls in the longest run for one that drains", function()
    local found, lengths = try(function() return run_of { 1000, 900, 500, 300 } end)
    assert.is_true(found.recovers)
    assert.equal(8, #lengths)
  end)

  it("passes errors on, except that traffic takes no shape", function()
    local errors = require "blis.errors"
    local function attempt(raise)
      local question = { targets = {}, max_missed = 0, seeds = { 1 }, requests = 10,
        max_requests = 10, run = raise }
      return pcall(surge.attempt, question, 100, calm)
    end
    assert.same({ true }, { attempt(function() errors.invalid "no shape" end) })
    local ok, message = attempt(function() error("interrupted", 0) end)
    assert.is_false(ok)
    assert.equal("interrupted", message)
    assert.is_false(attempt(function() errors.raise("memory", "none left") end))
  end)

  it("calls an overload that does not fall in the longest run two states", function()
    local found, lengths = try(function() return run_of { 1000, 900, 870, 860 } end)
    assert.is_false(found.recovers)
    assert.equal(6400, math.max(table.unpack(lengths))) -- 64 times the surge
    assert.is_nil(found.recovers_at)
  end)

  it("counts requests that are lost", function()
    local found = try(function() return run_of({ 10, 10, 10, 10 }, { 1, 1, 1, 1 }) end)
    assert.is_false(found.recovers)
  end)

  it("says what it has seen", function()
    local finding = surge.finding({ value = 33, surge_requests = 1200, ttft_ms = 5000.25,
      calm_ttft_ms = 40, recovers_at = 27 }, function(v) return v .. " requests/s" end)
    assert.equal("surge", finding.code)
    says(finding.text, "After 1,200 requests at 5 times the rate, mean TTFT is 5,000.2 ms")
  end)
end)

describe("blis.capacity with two states", function()
  --- Prefixes that fit into the caches while requests go where their prefix is, and not otherwise.
  local function search(routing)
    return blis.capacity {
      experiment = { cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
        workload = { prompt_tokens = 500, output_tokens = 100,
          prefixes = { groups = 50, tokens = 8000, zipf = 0.8 } }, routing = routing },
      targets = { ["ttft_ms.p99"] = 2000 }, tolerance = 0.2, replications = 2, requests = 2000,
      from = 16, quiet = true,
    }
  end

  it("gives a warning, and no interval of seeds but one from where the cluster recovers", function()
    local got = search "lmetric"
    assert.is_false(got.surge.recovers)
    assert.equal(got.surge.recovers_at, got.low)
    assert.is_true(got.value > got.low and got.high > got.value)
    assert.is_true(got.surge.recovers_at < got.surge.value)
    assert.equal("surge", got.verdict.reasons[1].code)
    assert.equal("warning", got.verdict.status)
    says(got:headline(), "it recovers from a surge at the lower end only)")
    says(tostring(got), "does not recover from a surge")
  end)
end)

describe("blis.capacity with one state", function()
  local function search(changes)
    local given = { targets = { ["ttft_ms.p90"] = 100 }, requests = 500, tolerance = 0.5,
      max_requests = 8000, from = 32, quiet = true }
    for key, value in pairs(changes) do given[key] = value end
    return blis.capacity(given)
  end
  local function experiment(workload)
    workload.prompt_tokens, workload.output_tokens = 256, 8
    return { cluster = { instances = 1 }, workload = workload }
  end

  it("keeps the interval", function()
    local got = search { experiment = experiment {} }
    assert.is_true(got.surge.recovers)
    assert.is_true(got.low < got.value and got.value < got.high)
  end)

  it("states that it tried no surge, and what the seeds can miss", function()
    local got = search { trial = function(p)
      return blis.run { cluster = { instances = 1 }, seed = p.seed,
        workload = { rate = p.rate, requests = p.requests, prompt_tokens = 256,
          output_tokens = 8 } }
    end }
    assert.is_nil(got.surge)
    says(tostring(got), "no surge was tried, since the search cannot change the traffic of this "
      .. "trial. 5 seeds can miss a state of overload that fewer than 45 % of the runs enter")
    local closed = { max_rounds = 2, think_time_us = 100000 }
    got = search { experiment = experiment { sessions = closed }, from = 4, to = 4,
      replications = 2 }
    assert.is_nil(got.surge)
    says(tostring(got), "no surge was tried")
    got = search { experiment = experiment { shape = "ramp" }, from = 4, to = 4,
      replications = 2 }
    assert.is_nil(got.surge)
  end)
end)
