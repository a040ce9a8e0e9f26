-- Signals that come of what requests sent to an instance have met there.
local blis = require "blis"
local small = require "spec.support.small"

local says = small.says

local function spec(changes)
  local made = {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 3, kv_blocks = 2000,
      gpu_watts = 700, gpu_idle_watts = 100 },
    workload = { rate = 30, requests = 300, prompt_tokens = 400, output_tokens = 40,
      prefixes = { groups = 4, tokens = 256 } },
  }
  for key, value in pairs(changes or {}) do made[key] = value end
  for key, value in pairs(made.more or {}) do made.cluster[key] = value end
  made.more = nil
  return made
end

--- A router that looks at every candidate with fn and takes the first with the least of a signal.
local function looks(signal, fn)
  return { name = "looks", route = function(request, instances)
    local best = 1
    for i, instance in ipairs(instances) do
      if fn then fn(request, instance) end
      if instance[signal] < instances[best][signal] then best = i end
    end
    return best
  end }
end

describe("signals of what happened", function()
  it("are sums and moving means over the requests of an instance", function()
    local ongoing, decoding, ttft, tpot, served = {}, {}, {}, {}, {}
    local first = {}
    for i = 1, 3 do
      local id = "instance_" .. i - 1
      ongoing[id], decoding[id], ttft[id], tpot[id], served[id] = 0, 0, 0, 0, 0
    end
    local function moved(mean, value) return mean == 0 and value or mean + (value - mean) / 16 end
    local function over(request, instance)
      ongoing[instance.id] = ongoing[instance.id] - request.prompt_tokens
      if first[request.id] then
        decoding[instance.id] = decoding[instance.id] - request.prompt_tokens
      end
    end
    local checked = 0
    local result = blis.run(spec {
      routing = looks("ongoing_tokens", function(_, c)
        checked = checked + 1
        assert.equal(ongoing[c.id], c.ongoing_tokens)
        assert.equal(decoding[c.id], c.ongoing_decode_tokens)
        assert.equal(served[c.id], c.requests_served)
        assert.is_near(ttft[c.id], c.recent_ttft_us, 1e-6)
        assert.is_near(tpot[c.id], c.recent_tpot_us, 1e-6)
      end),
      on_routed = function(request, instance)
        ongoing[instance.id] = ongoing[instance.id] + request.prompt_tokens
      end,
      on_first_token = function(request, instance, ttft_us)
        first[request.id] = true
        decoding[instance.id] = decoding[instance.id] + request.prompt_tokens
        ttft[instance.id] = moved(ttft[instance.id], ttft_us)
      end,
      on_completion = function(request, instance, outcome)
        over(request, instance)
        served[instance.id] = served[instance.id] + 1
        tpot[instance.id] = moved(tpot[instance.id], outcome.mean_itl_us)
      end,
    })
    assert.equal(300, result.completed)
    assert.equal(900, checked)
  end)

  it("are the same with both engines, with and without room, live and late", function()
    local signals = { "ongoing_tokens", "ongoing_decode_tokens", "recent_ttft_us",
      "recent_tpot_us", "estimated_wait_us", "estimated_ttft_us", "utilization", "rolling_watts",
      "requests_served" }
    for _, more in ipairs { {}, { kv_blocks = 200 }, { snapshot_refresh_us = 200000 },
      { cache_signal_delay_us = 300000, snapshot_refresh_us = 100000 } } do
      for _, signal in ipairs(signals) do
        local hashes = {}
        for i, engine in ipairs { "fast", "stepwise" } do
          local changes = { engine = engine }
          for key, value in pairs(more) do changes[key] = value end
          hashes[i] = blis.run(spec { more = changes, routing = looks(signal),
            workload = { rate = 60, requests = 120, prompt_tokens = 400,
              output_tokens = 20 } }).hash
        end
        assert.equal(hashes[1], hashes[2], signal)
      end
    end
  end)

  it("predict the time to first token of an idle engine", function()
    local predicted = {}
    local result = blis.run(spec {
      more = { instances = 1, async_scheduling = false },
      workload = { rate = 0.2, requests = 5, prompt_tokens = 1500, output_tokens = 5 },
      routing = looks("estimated_ttft_us", function(request, c)
        assert.equal(0, c.estimated_wait_us)
        predicted[request.id] = c.estimated_ttft_us
      end),
    })
    for _, record in ipairs(result.requests) do
      assert.is_near(record.ttft_us, predicted[record.id], 0.1 * record.ttft_us)
    end
  end)

  it("make a good scorer", function()
    local burst = { rate = 40, requests = 400, prompt = { "gaussian", mean = 800,
      std_dev = 600, min = 20, max = 4000 }, output_tokens = 30 }
    local function p99(routing)
      return blis.run(spec { workload = burst, routing = routing }).ttft_ms.p99
    end
    local predicted = p99 { "weighted", scorers = "predicted-latency:1" }
    assert.is_true(predicted < p99 "round-robin")
    assert.is_true(p99 { "weighted", scorers = { { "predicted-latency", 1, scale = "ratio" } } }
      < p99 "round-robin")
  end)

  it("tell how busy an instance has been, and what it draws", function()
    local function at_end(rate)
      local last
      blis.run(spec { more = { instances = 1 },
        workload = { rate = rate, requests = math.floor(60 * rate), prompt_tokens = 400,
          output_tokens = 40 },
        routing = looks("utilization", function(_, c)
          last = c.utilization
          assert.is_true(last >= 0 and last <= 1)
          assert.is_near(100 + 600 * last, c.rolling_watts, 1e-9)
        end) })
      return last
    end
    assert.is_true(at_end(0.2) < 0.25)
    assert.is_true(at_end(20) > 0.95)
    local busy
    blis.run(spec { more = { instances = 1 }, -- one request, then nothing for a long time
      workload = function() -- three requests
        busy = (busy or -1) + 1
        if busy == 3 then return nil end
        return { arrival_us = busy * 20000000, prompt_tokens = 400, output_tokens = 1000 }
      end,
      routing = looks("utilization", function(request, c)
        if request.id == "request_0" then assert.equal(0, c.utilization) end
        if request.id == "request_1" then assert.is_near(12 / 20, c.utilization, 0.15) end
        if request.id == "request_2" then assert.is_near(12 / 29 , c.utilization, 0.2) end
      end) })
  end)

  it("are what Cognitora's score may be made of", function()
    local function run(engine, more)
      local routing = { "cognitora.score" }
      for key, value in pairs(more) do routing[key] = value end
      return blis.run(spec { more = { engine = engine }, routing = routing }).hash
    end
    local hashes = { run("fast", {}) }
    for _, more in ipairs { { utilization = "max" }, { power_from = "rolling" },
      { utilization = "max", power_from = "rolling", capacity_from = "hardware",
        heartbeat_us = 100000 } } do
      assert.equal(run("stepwise", more), run("fast", more))
      hashes[#hashes + 1] = run("fast", more)
    end
    assert.not_equal(hashes[1], hashes[4])
  end)

  it("are as late as the other signals of engines", function()
    local changes, last, last_us = 0, nil, 0
    blis.run(spec { more = { instances = 1, snapshot_refresh_us = 1000000 },
      routing = looks("recent_ttft_us", function(request, c)
        if c.recent_ttft_us ~= last then
          changes = changes + 1
          if changes > 2 then assert.is_true(request.now_us - last_us >= 1000000) end
          last, last_us = c.recent_ttft_us, request.now_us
        end
      end) })
    assert.is_true(changes > 3 and changes < 20)
  end)

  it("are kept where a policy might read them, and nowhere else", function()
    local sim = blis.simulation(spec { routing = "round-robin" })
    sim:run_until(2000000)
    says(small.message_of(function() return sim.instances[1].recent_ttft_us end), "is kept only")
    sim = blis.simulation(spec { routing = looks "recent_ttft_us" })
    sim:run_until(2000000)
    assert.is_true(sim.instances[1].recent_ttft_us > 0)
    assert.is_true(sim.instances[1].utilization > 0)
  end)
end)
