--- Autoscalers of several pools, and of unequal instances.
local blis = require "blis"
local scaled = require "spec.support.scaled"

local experiment, run, plan, seconds = scaled.experiment, scaled.run, scaled.plan, blis.seconds

describe("an autoscaler", function()
  local function apart(more)
    local spec = {
      cluster = { model = "qwen3-14b", tp = 1, prefill_instances = 1, decode_instances = 2,
        max_num_seqs = 16 },
      disaggregation = "always",
    }
    for key, value in pairs(more) do spec[key] = value end
    return run(spec)
  end

  it("scales prefill and decode each on its own", function()
    local seen = {}
    local function watch(context)
      seen[context.pool] = context
      if context.pool == "prefill" then return 2 end
      return { target = 4, reason = "decode" }
    end
    local r = apart { autoscaler = watch, scaling = { loading_delay_us = seconds(1),
      prefill = { max_replicas = 2 }, decode = { max_replicas = 3, drain = "redirect" } } }
    assert.equal(400, r.completed)
    assert.equal(2, seen.prefill.replicas)
    assert.equal(3, seen.decode.replicas)
    assert.same({ 2, 3 }, { seen.prefill.max, seen.decode.max })
    assert.is_true(#seen.prefill.instances == 2 and #seen.decode.instances == 3)
    local pools = r.scaling.pools
    assert.same({ 1, 1 }, { pools.prefill.started, pools.decode.started })
    assert.equal(2, pools.prefill.levels[#pools.prefill.levels].ready)
    assert.equal(5, r.scaling.levels[#r.scaling.levels].ready)
    assert.equal("decode", r.scaling.events[2].pool)
    assert.equal(2, r.scaling.scale_ups)
    local prefills = {}
    for i = 1, #r.requests do
      local record = r.requests[i]
      prefills[record.prefill_instance] = (prefills[record.prefill_instance] or 0) + 1
    end
    assert.is_true(prefills.instance_003 > 0)
  end)

  it("may leave one of two pools as it is", function()
    local r = apart { autoscaler = { decode = plan(3, 1) } }
    assert.equal(400, r.completed)
    assert.same({ "decode" }, require("blis.sorted").names(r.scaling.pools))
    assert.same({ 1, 1 }, { r.scaling.scale_ups, r.scaling.scale_downs })
    assert.equal(1, r.scaling.levels[#r.scaling.levels].ready)
    -- The prefill instance is paid as well, but it is not one of those that are scaled.
    assert.is_true(r.scaling.mean_paid > 1 and r.scaling.mean_paid < r.scaling.most_paid)
    assert.equal(3, r.scaling.most_paid)
  end)

  it("starts the cheapest of unequal instances, and lets the dearest go first", function()
    local groups = { { instances = 1, hardware = "H100", cost_per_hour = 4 },
      { instances = 1, hardware = "L40S", cost_per_hour = 1 } }
    local r = run { cluster = { model = "qwen3-14b", tp = 1, groups = groups },
      autoscaler = plan(3, 2) }
    assert.equal(400, r.completed)
    local states, gpus = {}, {}
    local sim = blis.simulation(experiment {
      cluster = { model = "qwen3-14b", tp = 1, groups = groups }, autoscaler = plan(3, 2) })
    sim:run()
    for i = 1, 3 do states[i], gpus[i] = sim.instances[i].state, sim.instances[i].gpu end
    assert.same({ "drained", "active", "active" }, states)
    assert.same({ "H100", "L40S", "L40S" }, gpus)
    sim:close()
  end)
end)
