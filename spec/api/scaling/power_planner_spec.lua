--- Pools within a budget: of power (dynamo.power) and of GPUs (dynamo.planner), and what
--- autoscalers see of both pools.
local blis = require "spec.support.old_defaults"
local small = require "spec.support.small"

local seconds = blis.seconds

-- The worked example: replicas of 4 GPUs of 700 W for prefill and of 8 GPUs of 250 W for decode.
local planner = { "dynamo.power", budget_watts = 10000, prefill_watts = 700, decode_watts = 250,
  ttft_ms = 5000, itl_ms = 100, interval_seconds = 5 }

local function with(base, more)
  local made = {}
  for key, value in pairs(base) do made[key] = value end
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function apart(more, cluster)
  return blis.run(with({
    cluster = with({ model = "qwen3-14b", prefill_instances = 2, prefill_tp = 4,
      decode_instances = 1, decode_tp = 8 }, cluster),
    disaggregation = "always", scaling = { max_replicas = 8 },
    workload = { rate = 4, requests = 200, prompt_tokens = 400, output_tokens = 100 },
  }, more))
end

--- How many it had at the end.
local function last_of(pool) return pool.levels[#pool.levels].wanted end

describe("dynamo.power", function()
  it("shares its budget as in the worked example", function()
    local r = apart { autoscaler = planner }
    assert.equal(200, r.completed)
    local pools = r.scaling.pools
    assert.equal(1, last_of(pools.prefill))
    assert.equal(3, last_of(pools.decode))
    local reason = "10000 W allow 1 prefill and 3 decode replicas, of 700 and 250 W a GPU"
    local first = {}
    for _, event in ipairs(r.scaling.events) do first[event.pool] = event end
    assert.same({ 2, 1, seconds(5), reason }, { first.prefill.from, first.prefill.to,
      first.prefill.time_us, first.prefill.reason })
    assert.same({ 1, 3, seconds(5), reason }, { first.decode.from, first.decode.to,
      first.decode.time_us, first.decode.reason })
    assert.equal(2, #r.scaling.events)
  end)

  it("has the most decode and the least prefill replicas without a budget", function()
    local r = apart { autoscaler = "dynamo.power" }
    assert.equal(1, last_of(r.scaling.pools.prefill))
    assert.equal(8, last_of(r.scaling.pools.decode))
  end)

  -- 375 W are one and a half times the estimate: 1.15 times after a look, 288 W; after another one
  -- 1.255 times, 314 W, of which floor((10,000 - 4 x 700) / (8 x 314)) = 2 have room. First tokens
  -- come late at every look.
  it("corrects its estimates by what steps draw, in either engine", function()
    local function run(engine)
      return apart({ autoscaler = with(planner, { misses = 1, plan_gap_seconds = 0, ttft_ms = 30 }),
        workload = { rate = 40, requests = 600, prompt_tokens = 400, output_tokens = 100 } },
        { gpu_decode_watts = 375, gpu_prefill_watts = 700, gpu_idle_watts = 0, engine = engine })
    end
    local r, decisions = run "fast", {}
    for _, event in ipairs(r.scaling.events) do
      if event.pool == "decode" then
        decisions[#decisions + 1] = { event.time_us, event.to, event.reason }
      end
    end
    assert.same({
      { seconds(5), 3, "10000 W allow 1 prefill and 3 decode replicas, of 700 and 288 W a GPU" },
      { seconds(10), 2, "10000 W allow 1 prefill and 2 decode replicas, of 700 and 314 W a GPU" },
    }, decisions)
    local stepwise = run "stepwise"
    assert.equal(r.hash, stepwise.hash)
    assert.same(r.scaling.events, stepwise.scaling.events)
  end)

  -- GPUs draw what is expected. Two replicas of prefill, which it begins with, beside the three of
  -- decode that are planned would draw 2 x 2,800 + 3 x 2,000 = 11,600 W.
  local function most_watts(scaling)
    local r = apart({ scaling = scaling,
      autoscaler = with(planner, { misses = 1, plan_gap_seconds = 0, ttft_ms = 30 }),
      workload = { rate = 40, requests = 1200, prompt_tokens = 400, output_tokens = 100 } },
      { gpu_decode_watts = 250, gpu_prefill_watts = 700, gpu_idle_watts = 0 })
    local most, have = 0, { prefill = 2, decode = 1 }
    for _, event in ipairs(r.scaling.events) do
      have[event.pool] = event.to
      most = math.max(most, 2800 * have.prefill + 8 * 250 * have.decode)
    end
    return most, r
  end

  it("keeps its budget where each pool is looked at in its own time", function()
    for _, case in ipairs { { 15, 5 }, { 5, 15 }, { 7, 3 } } do
      local most, r = most_watts({ max_replicas = 8, prefill = { interval_us = seconds(case[1]) },
        decode = { interval_us = seconds(case[2]) } })
      assert.is_true(most <= 10000, most)
      assert.equal(1, last_of(r.scaling.pools.prefill))
      assert.equal(3, last_of(r.scaling.pools.decode))
    end
  end)

  it("keeps its budget where a queue has one pool looked at", function()
    local most, r = most_watts({ max_replicas = 8, prefill = { interval_us = seconds(15) },
      decode = { interval_us = seconds(15), trigger_queue_depth = 1 } })
    assert.is_true(most <= 10000, most)
    assert.equal(3, last_of(r.scaling.pools.decode))
  end)

  it("says once why it is off", function()
    local r = apart { autoscaler = with(planner, { ttft_ms = 0.001 }) }
    assert.same({}, r.scaling.events)
    local note = "autoscaler: its first plan does not keep ttft_ms and itl_ms with one engine "
      .. "alone: nothing is scaled\n"
    local told = 0
    for line in r.setup.notes:gmatch "[^\n]+\n" do told = told + (line == note and 1 or 0) end
    assert.equal(1, told)
    assert.not_matches("autoscaler:", apart { autoscaler = planner }.setup.notes)
  end)

  it("says that functions of step times cannot be asked, as dynamo.planner does", function()
    local latency = blis.latency_model { name = "slow", step_time = function() return 20000 end }
    local function notes(autoscaler)
      local r = apart({ autoscaler = autoscaler }, { latency_model = latency })
      assert.same({}, r.scaling.events)
      return r.setup.notes
    end
    small.says(notes(planner), "autoscaler: step times are a function of the script")
    small.says(notes { "dynamo.planner", optimization_target = "sla", load_scaling = true },
      "autoscaler: step times are a function of the script")
  end)

  it("plans for instances that do both by the mean of both", function()
    local r = blis.run { cluster = { model = "qwen3-14b", tp = 2, instances = 1 },
      autoscaler = with(planner, { budget_watts = 5000 }), scaling = { max_replicas = 8 },
      workload = { rate = 4, requests = 200, prompt_tokens = 400, output_tokens = 100 } }
    assert.equal("5000 W allow 5 replicas, of 475 W a GPU", r.scaling.events[1].reason)
    assert.equal(5, r.scaling.events[1].to)
  end)

  it("has flags and policy bundles", function()
    local files = require "spec.support.files"
    local program = require "spec.support.program"
    local out = program.run("run", "--num-instances", "1", "--rate", "4", "--num-requests", "200",
      "--autoscaler", "dynamo.power", "--autoscaler-parameter", "budget_watts=3000",
      "--autoscaler-parameter", "prefill_watts=700", "--autoscaler-parameter", "decode_watts=250")
    assert.equal(0, out.status)
    small.says(out.out, "3000 W allow 6 replicas, of 475 W a GPU")
    files.with("autoscale: {policy: dynamo.power, params: {budget_watts: 100}}\n", function(path)
      small.says(program.run("run", "--policy-config", path).err,
        "budget_watts needs prefill_watts and decode_watts")
    end)
  end)
end)

describe("max_gpus of dynamo.planner", function()
  -- Each wants one more whenever it has anything to do.
  local greedy = { "dynamo.planner", optimization_target = "load", interval_seconds = 5,
    prefill_scale_up_queue_tokens = 0, prefill_scale_down_queue_tokens = 0,
    decode_scale_up_kv_rate = 0, decode_scale_down_kv_rate = 0 }

  --- How many of prefill and decode it had at the end, and the most GPUs that it ever had.
  local function wanted(max_gpus)
    local r = apart({ autoscaler = with(greedy, { max_gpus = max_gpus }) },
      { prefill_instances = 1 })
    local pools = r.scaling.pools
    local most, p, d = 0, 1, 1
    for _, event in ipairs(r.scaling.events) do
      if event.pool == "prefill" then p = event.to else d = event.to end
      most = math.max(most, 4 * p + 8 * d)
    end
    return last_of(pools.prefill), last_of(pools.decode), most, r
  end

  it("holds of both pools together", function()
    assert.is_true(select(3, wanted(0)) > 60)
    local _, _, most, r = wanted(30)
    assert.is_true(most <= 30 and most > 20, most)
    assert.equal(200, r.completed)
    local reasons = {}
    for _, event in ipairs(r.scaling.events) do reasons[event.reason] = true end
    assert.is_true(reasons["max_gpus allows no more"])
  end)

  it("leaves the minimum", function()
    assert.same({ 1, 1 }, { table.unpack({ wanted(5) }, 1, 2) })
  end)
end)

describe("an autoscaler of a script", function()
  it("sees its own pool and the other one", function()
    local seen = {}
    apart({ autoscaler = { prefill = blis.autoscaler { name = "watch", interval_us = seconds(5),
      metrics = {}, decide = function(context)
        seen[#seen + 1] = context
        return { target = 2, unconstrained_target = 7 }
      end }, decode = blis.autoscaler { name = "other", interval_us = seconds(5),
      decide = function(context) seen.decode = context end } } },
      { gpu_watts = 400, gpu_idle_watts = 50 })
    local own, other = seen[2].own, seen[2].other
    assert.same({ 2, 4, 1, 8 }, { own.replicas, own.gpus_per_replica, own.min, own.max })
    assert.same({ 1, 8, 1 },
      { other.replicas, other.gpus_per_replica, other.unconstrained_target })
    assert.is_near(400, own.prefill_watts, 1e-6)
    assert.is_near(400, other.decode_watts, 1e-6)
    assert.equal(7, seen[2].own.unconstrained_target)
    assert.equal(7, seen.decode.other.unconstrained_target)
    assert.equal(4, seen.decode.other.gpus_per_replica)
    small.says(select(2, pcall(function() return own.watts end)), "a pool of a context")
    small.says(select(2, pcall(function() own.max = 1 end)),
      "a pool of a context cannot be changed")
  end)

  it("sees what was drawn since its last look", function()
    local drawn = {}
    apart({ autoscaler = { prefill = blis.autoscaler { name = "watch", interval_us = seconds(1),
      decide = function(context)
        drawn[#drawn + 1] = { context.own.prefill_watts or "none",
          context.other.decode_watts or "none" }
      end } }, workload = { rate = 50, requests = 4, prompt_tokens = 400,
        output_tokens = 1000 } },
      { gpu_prefill_watts = 600, gpu_decode_watts = 300, gpu_idle_watts = 50 })
    assert.same({ { 600, 300 }, { "none", 300 } }, { drawn[1], drawn[2] })
  end)

  it("knows no draw without figures of power, and no other pool where there is one", function()
    local seen
    blis.run { cluster = { instances = 1 }, workload = { rate = 5, requests = 100 },
      autoscaler = function(context) seen = context end }
    assert.is_nil(seen.other)
    assert.is_nil(seen.own.prefill_watts)
    assert.equal(1, seen.own.gpus_per_replica)
  end)

  it("counts the GPUs of ranks and of data-parallel engines", function()
    local function gpus(cluster)
      local seen
      blis.run { cluster = cluster, workload = { rate = 5, requests = 100 },
        routing = "least-loaded", autoscaler = function(context) seen = context end }
      return seen.own.gpus_per_replica
    end
    local mixtral = { model = "mixtral-8x7b-v0.1", hardware = "H100", tp = 2, instances = 1 }
    assert.equal(4, gpus(with(mixtral, { dp = 2 })))
    assert.equal(6, gpus(with(mixtral, { ranks = 3 })))
  end)

  it("sees a pool that nothing scales", function()
    local seen
    apart({ autoscaler = { prefill = function(context) seen = context end },
      scaling = { max_replicas = 3 } }, { decode_instances = 2 })
    local other = seen.other
    assert.same({ 2, 2, 2, 2 },
      { other.replicas, other.min, other.max, other.unconstrained_target })
  end)

  it("reports invalid unconstrained targets", function()
    local function message(wish)
      return small.message_of(apart, { autoscaler = function()
        return { target = 1, unconstrained_target = wish }
      end })
    end
    small.says(message(1.5),
      "it returned the unconstrained_target 1.5, expected a whole number of instances")
    small.says(message(-1),
      "it returned the unconstrained_target -1, expected a whole number of instances of at "
      .. "least 0, or nil for the target")
  end)
end)
