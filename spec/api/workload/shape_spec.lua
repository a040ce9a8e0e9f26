local blis = require "blis"

local hour, minutes, seconds = blis.minutes(60), blis.minutes, blis.seconds

--- Arrivals in each of n parts of a time.
local function counts(list, length_us, n)
  local parts = {}
  for i = 1, n do parts[i] = 0 end
  for _, request in list:requests() do
    local part = math.min(request.arrival_us * n // length_us + 1, n)
    parts[part] = parts[part] + 1
  end
  return parts
end

local function traffic(options)
  options.prompt_tokens, options.output_tokens = 10, 5
  return blis.workload(options)
end

local function near_counts(expected, found)
  assert.equal(#expected, #found)
  for i, count in ipairs(expected) do
    assert.near(count, found[i], 5 * math.sqrt(count) + 2, "part " .. i)
  end
end

describe("traffic with a shape", function()
  it("follows a day whose mean is the rate", function()
    local list = traffic { rate = 0.2, shape = { "diurnal", peak_to_trough = 3 } }
    local expected = {}
    for h = 0, 23 do
      local m = (1 + math.cos(2 * math.pi * (h + 0.5 - 14) / 24)) / 2 * (2 / 3) + 1 / 3
      expected[h + 1] = 0.2 * 3600 * m / (2 / 3)
    end
    near_counts(expected, counts(list, 24 * hour, 24))
    assert.near(0.2 * 86400, #list, 5 * math.sqrt(0.2 * 86400))
  end)

  it("may have another length, another peak and run faster", function()
    local list = traffic { rate = 40, horizon_us = minutes(2), shape = { "diurnal",
      period_us = minutes(10), peak_us = minutes(5), peak_to_trough = 4, speed = 10 } }
    local parts = counts(list, minutes(2), 4) -- a day is a minute, and there are two
    near_counts({ 1200, 1200, 1200, 1200 }, parts)
    local halves = counts(list, minutes(2), 8) -- a quarter of a day each: low, high, high, low
    assert.is_true(halves[2] > 1.5 * halves[1] and halves[3] > 1.5 * halves[4])
    assert.is_true(halves[6] > 1.5 * halves[5])
  end)

  it("goes straight from one rate to another, and stays there", function()
    local list = traffic { rate = 20, horizon_us = minutes(5),
      shape = { "ramp", from = 0.5, to = 2.5, start_us = minutes(1), duration_us = minutes(2) } }
    near_counts({ 600, 1200, 2400, 3000, 3000 }, counts(list, minutes(5), 5))
  end)

  it("has surges", function()
    local list = traffic { rate = 20, horizon_us = minutes(4),
      shape = { "surges", every_us = minutes(2), duration_us = minutes(1), height = 6 } }
    near_counts({ 1200, 7200, 1200, 7200 }, counts(list, minutes(4), 4))
  end)

  it("has the hours of ServeGen, none in some of them", function()
    local list = traffic { rate = 500, shape = { "servegen", days = 2, speed = 3600 } }
    local parts = counts(list, seconds(48), 48)
    near_counts({ 500 * 0.51, 500 * 0.17 }, { parts[1], parts[2] })
    assert.near(500 * 2.79, parts[10], 200)
    local whole = traffic { rate = 5, shape = { "servegen", speed = 1008 } }
    assert.near(6000, #whole, 400)
    assert.is_true(whole:last_arrival_us() <= minutes(20))
  end)

  local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end

  it("has the windows of a folder of ServeGen data, of all clients together", function()
    local folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    write(folder .. "/chunk-a-trace.csv", "0,1,0.5,Gamma,1,1\n600,3,1,Gamma,1,1\n")
    write(folder .. "/chunk-b-trace.csv", "0,1,1,,0,0\n600,0,1,,0,0\n1200,1,1,,0,0\n")
    write(folder .. "/chunk-b-dataset.json", "{}")
    local list = traffic { rate = 2, shape = { "servegen", path = folder } }
    near_counts({ 1200, 1800, 600 }, counts(list, minutes(30), 3)) -- 2, 3 and 1 a second
    local days = traffic { rate = 2, shape = { "servegen", path = folder, speed = 10 } }
    near_counts({ 120, 180, 60 }, counts(days, minutes(3), 3))
    write(folder .. "/chunk-a-trace.csv", "0,0,0,,0,0\n")
    write(folder .. "/chunk-b-trace.csv", "no row\n")
    local ok, message = pcall(traffic, { rate = 2, shape = { "servegen", path = folder } })
    assert.is_false(ok)
    assert.matches("has no requests in any window", tostring(message), 1, true)
    os.execute("rm -r " .. folder)
  end)

  it("sends as many requests as are asked for", function()
    for _, shape in ipairs { "diurnal", "ramp", "surges", "servegen" } do
      local list = traffic { rate = 50, requests = 300, shape = shape }
      assert.equal(300, #list, shape)
      local before = 0
      for _, request in list:requests() do
        assert.is_true(request.arrival_us >= before)
        before = request.arrival_us
      end
    end
  end)

  it("keeps how requests are spaced, and all else of them", function()
    local function gaps(options)
      options.rate, options.requests = 10, 4000
      local list, before, sum, squares = traffic(options), 0, 0, 0
      for _, request in list:requests() do
        local gap = request.arrival_us - before
        sum, squares, before = sum + gap, squares + gap * gap, request.arrival_us
      end
      return math.sqrt(squares / #list / (sum / #list) ^ 2 - 1)
    end
    local even = { "ramp", from = 2, to = 2 }
    assert.near(gaps { arrival = { "gamma", cv = 3 } },
      gaps { arrival = { "gamma", cv = 3 }, shape = even }, 0.01)
    assert.near(0, gaps { arrival = "constant", shape = even }, 1e-3)
    local plain, moved = {}, { rate = 10, requests = 50, seed = 3, shape = even }
    for i, request in blis.workload({ rate = 10, requests = 50, seed = 3 }):requests() do
      plain[i] = { request.arrival_us, request.prompt_tokens }
    end
    for i, request in blis.workload(moved):requests() do
      assert.near(plain[i][1] / 2, request.arrival_us, 2)
      assert.equal(plain[i][2], request.prompt_tokens)
    end
  end)

  it("is a preset as well, and goes with others", function()
    local day = blis.workload { preset = "diurnal", rate = 0.05 }
    assert.near(0.05 * 86400, #day, 400)
    assert.near(256, day:statistics().prompt_tokens.mean, 10)
    local days = blis.workload { preset = "servegen-days", rate = 0.002 }
    assert.near(0.002 * 14 * 86400, #days, 250)
    for _, given in ipairs {
      { preset = "mixed-slo", rate = 20, shape = "surges", horizon_us = minutes(1) },
      { clients = { { id = "a", rate_fraction = 1, prompt = 10, output = 5 } },
        aggregate_rate = 20, horizon = minutes(1), shape = "surges" },
      { rate = 20, prefixes = { groups = 3, tokens = 64 }, shape = "surges",
        horizon_us = minutes(1) },
      { rate = 20, sessions = { max_rounds = 3, closed_loop = false }, shape = "surges",
        horizon_us = minutes(1) },
    } do
      assert.is_true(#blis.workload(given) > 800)
    end
  end)

  it("moves recorded and generated requests", function()
    local list = traffic { rate = 10, requests = 600, arrival = "constant" }
    local moved = blis.workload { trace = list, shape = { "ramp", from = 4, to = 4 } }
    assert.near(list:last_arrival_us() / 4, moved:last_arrival_us(), 2)
    local n = 0
    local generated = blis.workload { shape = { kind = "ramp", from = 4, to = 4 },
      generator = function()
        n = n + 1
        if n > 10 then return nil end
        return { arrival_us = seconds(n), prompt_tokens = 5, output_tokens = 5 }
      end }
    assert.near(seconds(2.5), generated:last_arrival_us(), 2)
  end)

  it("continues the last rate for longer than the shape", function()
    local n = 0
    local list = blis.workload { generator = function()
      n = n + 1
      if n > 100 then return nil end
      return { arrival_us = seconds(n), prompt_tokens = 5, output_tokens = 5 }
    end, shape = { "ramp", from = 1, to = 2, duration_us = seconds(10) } }
    for i, request in list:requests() do -- the 15 s of requests during the change take 10 s
      if i >= 15 then assert.near(seconds(10) + seconds(i - 15) / 2, request.arrival_us, 2) end
    end
    assert.equal(100, #list)
  end)

  it("gives the same run every time", function()
    local function run()
      return blis.run { cluster = { model = "qwen3-14b", tp = 1, instances = 2 },
        workload = { preset = "surges", rate = 5, horizon_us = minutes(6) } }
    end
    local r = run()
    assert.equal(r.hash, run().hash)
    assert.is_true(r.arrived > 1500)
  end)

  it("is refused where it is wrong", function()
    local wrong = {
      { { shape = "diurnel" }, "workload.shape" },
      { { shape = { "diurnal", peak = 3 } }, "unknown option 'peak'" },
      { { shape = { "diurnal", peak_to_trough = 0 } }, "workload.shape.peak_to_trough" },
      { { shape = { "diurnal", peak_to_trough = 0.9 } }, "invalid value 0.9: expected a number" },
      { { shape = { "surges", duration_us = minutes(9) } }, "the next one starts after" },
      { { shape = { "diurnal", speed = 1e6, period_us = 5000 } }, "it lasts 0.005 us" },
      { { shape = { "diurnal", period_us = 5 } }, "workload.shape.period_us: invalid value 5" },
      { { shape = { "surges", every_us = 0 } }, "workload.shape.every_us: invalid value 0" },
      { { shape = { "servegen", days = 15 } }, "workload.shape.days: invalid value 15" },
      { { shape = { "servegen", path = "spec/api" } },
        "workload.shape.path: 'spec/api' has no file chunk-<id>-trace.csv" },
      { { shape = { "diurnal", period_us = minutes(1), speed = 1e4 }, horizon_us = 24 * hour },
        "changes more than 1000000 times" },
      { { shape = "ramp", sessions = { max_rounds = 2 } }, "closed_loop = false" },
      { { shape = "ramp", horizon_us = "1 parsec" }, "workload.horizon_us" },
    }
    for _, one in ipairs(wrong) do
      local ok, message = pcall(blis.workload, one[1])
      assert.is_false(ok)
      assert.truthy(tostring(message):find(one[2], 1, true), tostring(message))
    end
  end)
end)
