-- Spot capacity: instances that are taken away and come back, at prices that change.
local blis = require "blis"
local files = require "spec.support.files"
local program = require "spec.support.program"
local small = require "spec.support.small"

local seconds = blis.seconds

local function run(spot, more)
  local spec = { cluster = { instances = 3, gpu_price_per_hour = 3, spot = spot },
    workload = { rate = 5, requests = 1000, prompt_tokens = 200, output_tokens = 50 },
    routing = "least-loaded" }
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

--- Three instances from 0 on, one from 50 s, three from 100 s.
local function dip(more)
  local spot = { notice = seconds(10), restart_time = seconds(20), steps = {
    { at = 0, available = 3, gpu_price_per_hour = 1 },
    { at = seconds(50), available = 1, gpu_price_per_hour = 2 },
    { at = seconds(100), available = 3, gpu_price_per_hour = 1.5 } } }
  for key, value in pairs(more or {}) do spot[key] = value end
  return spot
end

describe("spot capacity", function()
  it("takes the last instances away at its time, and gives them back", function()
    local r = run(dip())
    assert.equal(2, r.spot.reclaims)
    for _, fault in ipairs(r.faults) do
      assert.equal("reclaim", fault.kind)
      assert.equal(seconds(40), fault.time_us)
    end
    assert.equal("instance_1", r.faults[1].instance)
    assert.equal("instance_2", r.faults[2].instance)
    assert.equal(1000, r.completed)
    for _, request in ipairs(r.requests) do
      local is_between = request.arrival_us > seconds(40) and request.arrival_us < seconds(120)
      if is_between then assert.equal("instance_0", request.instance) end
    end
  end)

  it("costs its price of the time, while it is there and while it starts", function()
    local r = run(dip { notice = 0 })
    local end_s = r.duration_us / 1e6
    -- The first one all the time; two more up to 50 s, and from 100 s on, 20 s of it starting.
    local first = 50 * 1 + 50 * 2 + (end_s - 100) * 1.5
    local others = 50 * 1 + (end_s - 100) * 1.5
    assert.is_true(math.abs(r.spot.usd * 3600 - (first + 2 * others)) < 1e-6)
    assert.is_true(math.abs(r.spot.usd - r.cost.usd) < 1e-12)
    assert.is_true(math.abs(r.spot.on_demand_usd * 3600 - 3 * 3 * end_s) < 1e-6)
    assert.is_true(math.abs(r.spot.saved_share - (1 - r.spot.usd / r.spot.on_demand_usd)) < 1e-12)
    assert.near((end_s + 2 * (end_s - 50)) / (3 * end_s), r.spot.paid_share, 1e-9)
    assert.is_true(math.abs(r.cost.gpu_hours * 3600 - (3 * end_s - 100)) < 1e-6)
  end)

  it("tells what was there and paid apart from what took requests", function()
    local r = run(dip { notice = 0 })
    local end_s = r.duration_us / 1e6
    -- Two of three are away from 50 to 100 s, and start until 120 s.
    assert.near((end_s + 2 * (end_s - 50)) / (3 * end_s), r.spot.paid_share, 1e-9)
    assert.near((end_s + 2 * (end_s - 70)) / (3 * end_s), r.spot.serving_share, 1e-9)
    assert.near((end_s - 70) / end_s, r.spot.availability, 1e-9)
    assert.truthy(tostring(r):find(("full capacity %.1f %% of the time, billed "
      .. "%.1f %%, taking requests %.1f %%"):format(100 * r.spot.availability,
      100 * r.spot.paid_share, 100 * r.spot.serving_share), 1, true))
    -- One that has been told to go is paid, and takes no requests.
    local told = run(dip())
    assert.near((told.duration_us / 1e6 - 80) / (told.duration_us / 1e6), told.spot.availability,
      1e-9)
  end)

  --- Twenty requests in 4 s, for two instances with so many from when on.
  local function short(steps, more)
    local spec = { cluster = { instances = 2, gpu_price_per_hour = 2,
        spot = { notice = 0, restart_time = 0, steps = steps } },
      workload = { arrival = "constant", rate = 5, requests = 20, prompt_tokens = 100,
        output_tokens = 20 } }
    for key, value in pairs(more or {}) do spec.cluster[key] = value end
    return blis.run(spec)
  end

  it("takes nothing away that was never there", function()
    local r = short { { at = 0, available = 0, gpu_price_per_hour = 1 } }
    local last_s = r.requests[20].arrival_us / 1e6
    assert.same({ 0, 20, 0 }, { r.completed, r.rejected, r.spot.reclaims })
    assert.same({}, r.faults)
    assert.same({ 0.0, 0.0, 0.0, 0.0 }, { r.spot.availability, r.spot.paid_share,
      r.spot.serving_share, r.spot.usd })
    assert.near(2 * 2 * last_s / 3600, r.spot.on_demand_usd, 1e-12)
    -- Nor does an instance that comes at 2 s.
    r = short { { at = 0, available = 1, gpu_price_per_hour = 1 },
      { at = seconds(2), available = 2 } }
    local end_s = r.duration_us / 1e6
    assert.same({ 20, 0, 0 }, { r.completed, r.rerouted, r.spot.reclaims })
    assert.near((end_s - 2) / end_s, r.spot.availability, 1e-9)
    assert.near((end_s - 1) / end_s, r.spot.serving_share, 1e-9)
    assert.near((2 * end_s - 2) / 3600, r.spot.usd, 1e-12)
    for _, request in ipairs(r.requests) do
      local is_early = request.arrival_us < seconds(2)
      if is_early then assert.equal("instance_0", request.instance) end
    end
  end)

  it("is not available while requests are refused for want of it", function()
    for _, more in ipairs { {}, { gpu_watts = 300 } } do
      local r = short({ { at = 0, available = 2, gpu_price_per_hour = 1 },
        { at = seconds(1), available = 0 } }, more)
      local last_s = r.requests[20].arrival_us / 1e6
      assert.is_true(r.rejected > 10 and r.completed + r.rejected == 20)
      assert.equal(2, r.spot.reclaims)
      assert.near(1 / last_s, r.spot.availability, 1e-9)
      assert.near(1 / last_s, r.spot.serving_share, 1e-9)
      assert.near(1 / last_s, r.spot.paid_share, 1e-9)
      assert.near(2 / 3600, r.spot.usd, 1e-12)
      assert.near(r.cost.usd, r.spot.usd, 1e-12)
      assert.near(2 * 2 * last_s / 3600, r.spot.on_demand_usd, 1e-12)
      if r.energy.kwh then assert.near(600 / 3.6e6, r.energy.kwh, 1e-12) end
    end
  end)

  it("counts the instances of the market alone", function()
    local spot = { notice = 0, restart_time = 0, steps = { { at = seconds(1), available = 1 } } }
    local function with_crash(instance)
      return blis.run { faults = { { kind = "crash", at = seconds(0.5), instance = instance,
          requests = "rerouted" }, { kind = "reclaim", at = seconds(2), instance = "instance_0",
          notice = 0, requests = "rerouted" } },
        cluster = { groups = { { instances = 2 }, { instances = 2, spot = spot } } },
        workload = { arrival = "constant", rate = 5, requests = 20, prompt_tokens = 100,
          output_tokens = 20 } }
    end
    -- A failure among the others makes no difference, and one of theirs does.
    local r = with_crash "instance_1"
    local end_s = r.duration_us / 1e6
    assert.near(1 / end_s, r.spot.availability, 1e-9)
    assert.near((end_s + 1) / (2 * end_s), r.spot.serving_share, 1e-9)
    assert.equal(1, r.spot.reclaims)
    r = with_crash "instance_2"
    assert.near(0.5 / (r.duration_us / 1e6), r.spot.availability, 1e-9)
  end)

  --- Requests with 30, 100 and 400 s left when their instance, one of two, hears that it goes.
  local function with_notice(notice_s, engine)
    local r = blis.run { cluster = { instances = 2, engine = engine,
      latency_model = function(batch) return batch.decode_requests > 0 and 100000 or 1000 end,
      spot = { notice = seconds(notice_s), restart_time = 0, steps = {
        { at = 0, available = 2 }, { at = seconds(200), available = 1 } } } },
      workload = coroutine.wrap(function()
        for _, tokens in ipairs { 301, 1001, 4001 } do
          coroutine.yield { arrival_us = seconds(200 - notice_s) - 1000, prompt_tokens = 16,
            output_tokens = tokens }
        end
      end),
      routing = { "weighted", scorers = { { blis.scorer { name = "last", score = function(_, one)
        return one.id == "instance_1" and 1 or 0
      end }, 1 } } } }
    assert.equal(3, r.completed)
    return r
  end

  it("has requests finish that are done within the notice, to the microsecond", function()
    assert.equal(seconds(30) + 1000, with_notice(120).requests[1].e2e_us)
    local function moved(notice_s) return with_notice(notice_s).spot.rerouted end
    assert.equal(1, moved(120)) -- 2 of 3 finish
    assert.equal(1, moved(100))
    assert.equal(2, moved(99.999999))
    assert.equal(2, moved(30)) -- 30 <= 30
    assert.equal(3, moved(29.999999))
    local function recomputed(notice_s, engine)
      return with_notice(notice_s, engine).spot.recomputed_tokens
    end
    for _, engine in ipairs { "fast", "stepwise" } do
      -- Prompts of 16, the first token at the notice, and one more after each 0.1 s.
      assert.equal(16 + 1201, recomputed(120, engine))
      assert.equal(2 * (16 + 301), recomputed(30, engine))
      assert.equal(3 * (16 + 300), recomputed(29.95, engine))
    end
    for _, notice_s in ipairs { 120, 30 } do
      assert.equal(with_notice(notice_s, "fast").hash, with_notice(notice_s, "stepwise").hash)
    end
  end)

  it("leaves an instance away that would have to go before it has started", function()
    local steps = { { at = 0, available = 3 }, { at = seconds(50), available = 2 },
      { at = seconds(80), available = 3 }, { at = seconds(105), available = 2 },
      { at = seconds(150), available = 3 } }
    local r = run { notice = seconds(10), restart_time = seconds(20), steps = steps }
    assert.equal(1, r.spot.reclaims)
    r = run { notice = 0, restart_time = seconds(20), steps = steps }
    assert.equal(2, r.spot.reclaims)
  end)

  it("gives the same in both engines, and with faults beside it", function()
    local faults = { { at = seconds(20), instance = 1, kind = "crash", requests = "rerouted",
      recover_after = seconds(5) } }
    local function hash(engine)
      local spec = { faults = faults, cluster = { instances = 3, engine = engine, spot = dip() } }
      return run(nil, spec).hash
    end
    assert.equal(hash "fast", hash "stepwise")
    assert.not_equal(hash "fast", run(nil, { cluster = { instances = 3, spot = dip() } }).hash)
  end)

  it("is of one group or all, and of a file", function()
    local csv = "\xEF\xBB\xBFtime_s,available,gpu_price_per_hour\n0,2,1\n50,1,\n100,2,1.5\n"
    files.with(csv, function(path)
      local r = run(nil, { cluster = { gpu_price_per_hour = 3, groups = {
        { instances = 1 }, { instances = 2, spot = path } } } })
      assert.equal(1, r.spot.reclaims)
      assert.equal("instance_2", r.faults[1].instance)
      assert.is_true(r.cost.usd > r.spot.usd)
      local out = program.run("run", "--num-instances", "2", "--rate", "5", "--num-requests", "500",
        "--spot", path)
      assert.equal(0, out.status)
      small.says(out.out, "spot        1 reclaim,")
    end)
  end)

  it("keeps an instance away that would hear of the next reclaim before it serves", function()
    local function spot_with(notice_s)
      return run({ notice = seconds(notice_s), restart_time = seconds(20), steps = {
        { at = seconds(50), available = 1 }, { at = seconds(90), available = 3 },
        { at = seconds(120), available = 1 } } }).spot
    end
    assert.equal(4, spot_with(5).reclaims)
    assert.equal(2, spot_with(15).reclaims)
    assert.is_true(spot_with(15).paid_share < spot_with(5).paid_share)
  end)

  it("takes in its document what is told there", function()
    local file <close> = assert(io.open "docs/energy.md")
    local text = file:read "a"
    local example, prints = text:match "## Spot capacity.-```lua\n(.-)```.-It prints (.-)%. "
    local shown
    local env = setmetatable({ print = function(...)
      shown = ("%d, %.3f, and %.3f"):format(...)
    end }, { __index = _G })
    assert(load(example, "=docs/energy.md", "t", env))()
    assert.equal(prints, shown)
  end)

  it("says what is wrong with it", function()
    local function says(part, spot, more)
      small.says(small.message_of(run, spot, more), part)
    end
    says("expected one of trace and steps", {})
    says("steps[1]: expected 'available' or 'gpu_price_per_hour'", { steps = { { at = 0 } } })
    says("at = 5 us is not after 5 us", { steps = { { at = "5us", available = 1 },
      { at = "5us", available = 2 } } })
    says("expected at least one step", { steps = {} })
    says("at is missing", { steps = { { available = 1 } } })
    says("restart_time: invalid value 9223372036854775807", { restart_time = math.maxinteger })
    says("at: invalid value 9223372036854775807", { steps = { { at = math.maxinteger,
      available = 1 } } })
    says("unknown option 'noticed'; did you mean 'notice'?", { noticed = 1 })
    says("No such file", "/no/such.csv")
    says("with an autoscaler", dip(), { autoscaler = "hpa" })
    files.with("time_s,availible\n0,1\n", function(path)
      says("unknown column 'availible'; did you mean 'available'?", path)
    end)
    files.with("time_s,available\nsoon,1\n", function(path)
      says(path .. ":2: time_s: invalid value 'soon'", path)
    end)
    files.with("time_s\n0\n", function(path)
      small.says(program.run("run", "--spot", path).err,
        "expected 'available' or 'gpu_price_per_hour'")
    end)
    files.with("time_s,gpu_price_per_hour\n0,1\n5,-1\n", function(path)
      says(path .. ":3: gpu_price_per_hour: invalid value '-1'", path)
    end)
  end)
end)
