--- Paid time that is rounded up, to a unit and a minimum, each time that an instance is there;
--- against sums worked out by hand.
local blis = require "blis"
local files = require "spec.support.files"
local program = require "spec.support.program"
local scaled = require "spec.support.scaled"
local small = require "spec.support.small"

local seconds = blis.seconds

local function near(expected, got) assert.is_near(expected, got, 1e-9 * math.abs(expected)) end

--- One request that ends 90.5 s after the start, at 3,600 USD an hour: 1 USD a second.
local function run(cluster, more)
  local is_given
  local spec = { cluster = { gpu_price_per_hour = 3600, tp = 1, async_scheduling = false,
    latency_model = blis.latency_model { name = "slow", from_sums = true,
      step_time = function() return 45000000 end } },
    workload = { generator = function()
      if is_given then return nil end
      is_given = true
      return { arrival_us = 500000, prompt_tokens = 64, output_tokens = 2 }
    end } }
  for key, value in pairs(cluster) do spec.cluster[key] = value end
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local function bill(unit_s, minimum_s)
  return { billing_granularity_us = seconds(unit_s), billing_minimum_us = seconds(minimum_s) }
end

local function usd(unit_s, minimum_s) return run(bill(unit_s, minimum_s)).cost.usd end

describe("a bill", function()
  it("is exact by default, and rounded up to units and a minimum", function()
    local r = run {}
    assert.equal(90500000, r.duration_us)
    near(90.5, r.cost.usd)
    near(91, usd(1, 60)) -- as a large cloud has it
    near(91, usd(1, 0))
    near(120, usd(60, 0))
    near(90.5, usd(0.5, 0))
    near(120, usd(1, 120))
    near(90.5, usd(0, 60))
    near(3600, usd(3600, 0))
    near(130, usd(100, 130)) -- no less than the minimum, whole units or not
    near(150, usd(100, 150))
  end)

  it("is of each instance, with all its GPUs; GPU-hours are as they were", function()
    local r = run { instances = 3, tp = 2, billing_granularity_us = seconds(60) }
    near(3 * 2 * 120, r.cost.usd)
    near(3 * 2 * 90.5 / 3600, r.cost.gpu_hours)
    near(3 * 2 * 120 / 3600, r.cost.billed_gpu_hours)
    near(3600, r.cost.usd_per_gpu_hour)
    near(r.cost.usd / 2 * 1e6, r.cost.usd_per_million_output_tokens)
    assert.equal(r.hash, run({ instances = 3, tp = 2 }).hash)
  end)

  it("may have other rules in a group", function()
    local r = run { billing_granularity_us = seconds(60), groups = {
      { instances = 1 }, { instances = 2, billing_granularity_us = 0, billing_minimum_us =
        seconds(100) } } }
    near(120 + 2 * 100, r.cost.usd)
  end)

  it("leaves energy alone", function()
    local with = run { gpu_watts = 400, billing_granularity_us = seconds(60) }
    near(400 * 90.5 / 3.6e6, with.energy.kwh)
  end)

  it("is of each time that an instance was there", function()
    local plan = scaled.plan(2, 1, 2, 1)
    local function spent(cluster, scaling)
      local spec = { cluster = { model = "qwen3-14b", tp = 1, instances = 1, max_num_seqs = 16,
        gpu_price_per_hour = 3600 }, autoscaler = plan, scaling = { drain = "immediate" } }
      for key, value in pairs(cluster) do spec.cluster[key] = value end
      for key, value in pairs(scaling or {}) do spec.scaling[key] = value end
      return scaled.run(spec)
    end
    -- The second is there from 5 to 10 s, the third from 15 to 20 s, both for 5 s.
    local plain = spent {}
    local whole = plain.scaling.end_us / 1e6
    near(whole + 2 * 5, plain.cost.usd)
    local r = spent(bill(1, 60))
    near(math.max(math.ceil(whole), 60) + 2 * 60, r.cost.usd)
    near(plain.scaling.replica_seconds, r.scaling.replica_seconds)
    near(plain.cost.gpu_hours, r.cost.gpu_hours)
    r = spent(bill(7, 0), { replica_price_per_hour = 7200 })
    near(2 * (math.ceil(whole / 7) * 7 + 2 * 7), r.cost.usd)
    r = spent(bill(1, 60), { node_pools = { { name = "a", gpu = "H100", cost_per_hour = 36000 } } })
    near(10 * (math.max(math.ceil(whole), 60) + 2 * 60), r.cost.usd)
  end)

  it("goes on through a failure that is known to end", function()
    local fault = { at = seconds(20), kind = "crash", instance = 1, recover_after = seconds(10),
      requests = "rerouted" }
    local r = run({ instances = 2, billing_granularity_us = seconds(1) }, { faults = { fault },
      routing = function() return 2 end })
    near(2 * 91, r.cost.usd)
    fault.recover_after = nil -- gone for good after 20 s
    r = run({ instances = 2, billing_minimum_us = seconds(60) }, { faults = { fault },
      routing = function() return 2 end })
    near(90.5 + 60, r.cost.usd)
  end)

  -- At 1 USD a second up to 30 s, at 2 from then on, at 3 from 60 s on. It is there for 25.5 s, and
  -- from 40.2 s to the end.
  it("of spot capacity rounds at the price of the time at which an instance goes", function()
    local function spot(more)
      local cluster = { instances = 2, gpu_price_per_hour = 3600, spot = { notice = 0,
        restart_time = 0, steps = {
          { at = 0, available = 2, gpu_price_per_hour = 3600 },
          { at = seconds(25.5), available = 1 },
          { at = seconds(30), gpu_price_per_hour = 7200 },
          { at = seconds(40.2), available = 2 },
          { at = seconds(60), gpu_price_per_hour = 10800 } } } }
      for key, value in pairs(more or {}) do cluster[key] = value end
      return run(cluster, { routing = function() return 1 end })
    end
    local first = 30 + 30 * 2 + 30.5 * 3
    local second = 25.5 + (60 - 40.2) * 2 + 30.5 * 3
    near(first + second, spot().cost.usd)
    local r = spot(bill(1, 40))
    -- 0.5 s at 3; 14.5 s at 1 to the minimum, 50.3 s are 51.
    near(first + 0.5 * 3 + second + 14.5 + 0.7 * 3, r.cost.usd)
    near(r.cost.usd, r.spot.usd)
    near(2 * 91, r.spot.on_demand_usd)
    near((2 * 90.5 - 14.7) / (2 * 90.5), r.spot.paid_share)
  end)

  it("has flags, groups in YAML and units", function()
    local function line(...)
      local out = program.run("run", "--num-instances", "2", "--rate", "5", "--num-requests", "20",
        "--gpu-price-per-hour", "36", ...)
      assert.equal(0, out.status)
      return out.out:match "cost[^\n]*"
    end
    small.says(line("--billing-granularity", "1h"), " 72.000 USD,")
    small.says(line("--billing-minimum", "30m"), " 36.000 USD,")
    files.with("groups:\n  - {instances: 2, billing_minimum_us: 900000000}\n", function(path)
      local out = program.run("run", "--policy-config", path, "--rate", "5", "--num-requests", "20",
        "--gpu-price-per-hour", "36")
      small.says(out.out, " 18.000 USD,")
    end)
    small.says(small.message_of(run, { billing_granularity_us = -1 }),
      "cluster.billing_granularity_us: invalid value -1")
  end)

  it("is in a file of results", function()
    files.with("", function(path)
      local r = run { billing_granularity_us = seconds(60) }
      r:save(path)
      assert.same(r.cost, blis.load_result(path).cost)
    end)
  end)
end)
