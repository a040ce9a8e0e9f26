local blis = require "blis"

local rng = blis.rng(5, "shortage")

local function one_of(list) return list[rng:integer(1, #list)] end

--- A random experiment whose requests do not fit into the KV caches together.
local function short_experiment()
  local output = rng:integer(150, 400)
  local longest = 220 + 2 * output
  return {
    cluster = { instances = rng:integer(1, 3), latency_model = "trained-physics",
      kv_blocks = rng:integer(longest // 16 + 1, longest // 5),
      preemption_policy = one_of { "fcfs", "fcfs", "priority" },
      scheduler = one_of { "fcfs", "fcfs", "sjf", "priority-fcfs" },
      long_prefill_token_threshold = one_of { 0, 0, 32 },
      kv_cpu_blocks = one_of { 0, 0, 0, 60 } },
    workload = { rate = one_of { 40, 150 }, requests = 60, seed = 1,
      prompt = { "gaussian", mean = 90, std_dev = 40, min = 2, max = 140 },
      output = { "gaussian", mean = output, std_dev = 60, min = 2, max = 2 * output },
      prefixes = one_of { false, { groups = 3, tokens = 64 } } or nil,
      timeout_us = one_of { 0, 0, 3000000 } },
    routing = one_of { "round-robin", "least-loaded", "weighted" },
    profile = one_of { "design", "go-blis" },
    seed = rng:integer(1, 1000),
  }
end

local function with_engine(spec, engine)
  local changed = {}
  for key, value in pairs(spec.cluster) do changed[key] = value end
  changed.engine = engine
  local copy = {}
  for key, value in pairs(spec) do copy[key] = value end
  copy.cluster = changed
  return copy
end

describe("a shortage of KV blocks", function()
  it("has the same results with both engines, looked at, and cloned #slow", function()
    local preemptions = 0
    for _ = 1, 40 do
      local spec = short_experiment()
      local expected = blis.run(with_engine(spec, "stepwise"))
      preemptions = preemptions + expected.preemptions
      assert.equal(expected.hash, blis.run(spec).hash)
      local sim = blis.simulation(spec)
      for _ = 1, rng:integer(1, 4) do
        sim:run_until(sim.now_us + rng:integer(0, 1500000))
        assert.is_true(sim.instances[1].used_kv_blocks <= sim.instances[1].kv_blocks)
      end
      local clone = sim:clone()
      local result = sim:run()
      assert.equal(expected.hash, result.hash)
      assert.equal(expected.itl_ms.p99, result.itl_ms.p99)
      assert.equal(expected.hash, clone:run().hash)
    end
    assert.is_true(preemptions > 1000, preemptions)
  end)
end)
