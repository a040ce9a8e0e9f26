--- LoRA adapters of instances that are gone: what was in their slots is loaded nowhere.
local blis = require "blis"

--- Steps take 1 ms; a load takes 1000 us + 8 * 10 MB / 20,000 bytes per us = 5 ms.
local function cluster(engine)
  return { engine = engine, instances = 2, kv_blocks = 1000, async_scheduling = false,
    latency_model = blis.latency_model { name = "even", step_time = function() return 1000 end },
    lora = { adapters = { "a", "b", "c" }, rank = 8, slots = 2, load_base_latency_us = 1000,
      footprint_bytes_per_rank = 10000000, load_bandwidth_bytes_us = 20000,
      step_overhead_tiers = {} } }
end

--- In turn to instance 1 and 2: requests of { arrival_ms, adapter, output tokens }.
local function traffic(list)
  local i = 0
  return { requests = #list, generator = function()
    i = i + 1
    local one = list[i]
    return one and { arrival_us = one[1] * 1000, adapter = one[2], output_tokens = one[3],
      prompt_tokens = 16 }
  end }
end

local function spec(engine, list, more)
  local all = { cluster = cluster(engine), workload = traffic(list), routing = "round-robin",
    series_interval_us = 1000 }
  for key, value in pairs(more or {}) do all[key] = value end
  return all
end

--- Loaded, loading and free slots at some times.
local function slots(result, times_ms)
  local lora, found = result.series.lora, {}
  for i, at_ms in ipairs(times_ms) do
    local row = at_ms + 1
    assert.equal(at_ms * 1000, result.series.t_us[row])
    found[i] = { lora.loaded[row], lora.loading[row], lora.free_slots[row] }
  end
  return found
end

local function instances_with(result)
  local found = {}
  for _, one in ipairs(result.lora.adapters) do found[one.name] = one.instances end
  return found
end

for _, engine in ipairs { "fast", "stepwise" } do
  describe("LoRA adapters of instances that are gone (" .. engine .. ")", function()
    it("are not loaded after a crash, and have no slots until they are back", function()
      -- A and B are there at 5 ms and C at 35; at 30 ms its load begins beside B. The first
      -- instance is down from 20 to 40 ms. A comes back at 60 ms, and is there at 65.
      local r = blis.run(spec(engine, { { 0, "a", 4 }, { 0, "b", 4 }, { 29, "c", 4 },
        { 60, "a", 4 } }, { faults = { { kind = "crash", at = 20000, instance = 1,
          recover_after = 20000 } }, routing = function(request, candidates)
          return request.adapter == "a" and 1 or #candidates
        end }))
      assert.same({ { 0, 2, 2 }, { 2, 0, 2 }, { 1, 0, 1 }, { 1, 1, 0 }, { 2, 0, 0 }, { 2, 0, 2 },
        { 2, 1, 1 }, { 3, 0, 1 } }, slots(r, { 1, 19, 21, 31, 35, 41, 61, 66 }))
      assert.same({ a = 1, b = 1, c = 1 }, instances_with(r))
      assert.equal(4, r.lora.slots)
      assert.equal(4, r.lora.loads)
    end)

    it("are not loaded in the end by one that does not come back", function()
      local r = blis.run(spec(engine, { { 0, "a", 4 }, { 0, "b", 4 }, { 40, "b", 4 } },
        { faults = { { kind = "crash", at = 20000, instance = 2 } } }))
      assert.same({ a = 1, b = 1 }, instances_with(r)) -- the first one has both
      assert.equal(2, r.lora.slots)
    end)

    it("are there while one drains, and not when it has drained", function()
      -- It drains from 8 ms on until its request ends at 15; from 30 ms on it is there again.
      local seen = {}
      local sim = blis.simulation(spec(engine, { { 0, "a", 4 }, { 0, "b", 10 }, { 50, "c", 4 } }))
      local second = sim.instances[2]
      sim:at(8000, function() second:drain() end)
      for _, at_us in ipairs { 14000, 16000, 31000 } do
        sim:at(at_us, function() seen[#seen + 1] = second.adapters_loaded end)
      end
      sim:at(30000, function() second:restart() end)
      local r = sim:run()
      assert.same({ { 2, 0, 2 }, { 2, 0, 2 }, { 1, 0, 1 }, { 1, 0, 1 }, { 1, 0, 3 } },
        slots(r, { 7, 14, 16, 29, 31 }))
      assert.same({ 1, 0, 0 }, seen)
      assert.equal(0, instances_with(r).b)
    end)
  end)
end
