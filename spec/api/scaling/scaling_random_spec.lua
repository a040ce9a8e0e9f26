-- Random autoscalers, life cycles and faults: a clone from the middle of a run ends as the run
-- does, by both engines.
local blis = require "blis"

local seconds = blis.seconds
local cases = 60

local kinds = { "crash", "hang", "slow", "partition", "stale", "lost-cache", "reclaim" }

local ends = { crash = true, hang = true, reclaim = true }
local words = { "rerouted", "retried", "failed" } -- or none

local function random_faults(pick)
  local faults = {}
  for i = 1, pick(0, 3) do
    local kind = kinds[pick(1, #kinds)]
    local recover_us, requests = seconds(pick(1, 6)), words[pick(1, 4)]
    local fault = { kind = kind, recover_after = kind ~= "lost-cache" and recover_us or nil,
      requests = ends[kind] and requests or nil,
      notice = kind == "reclaim" and seconds(pick(0, 3)) or nil }
    if pick(0, 2) == 0 then
      fault.mtbf = seconds(pick(4, 20))
    else
      fault.at, fault.instance = seconds(pick(1, 14)), pick(1, 2)
    end
    faults[i] = fault
  end
  return faults
end

local function random_experiment(seed)
  local rng = blis.rng(seed, "scaling")
  local function pick(low, high) return rng:integer(low, high) end
  local wishes = {}
  for i = 1, 20 do wishes[i] = pick(0, 6) end
  return {
    seed = seed, routing = ({ "round-robin", "least-loaded", "weighted" })[pick(1, 3)],
    cluster = { model = "qwen3-14b", tp = 1, instances = 2, max_num_seqs = pick(4, 32) },
    workload = { rate = 15, requests = 220, prompt_tokens = 200, output_tokens = 60 },
    queue = pick(0, 3) == 0 or nil,
    faults = random_faults(pick),
    autoscaler = pick(0, 4) > 0 and blis.autoscaler {
      name = "wishes", interval_us = seconds(1) + pick(0, 900000),
      decide = function(context) return wishes[context.now_us // 1000000 % #wishes + 1] end,
    } or nil,
  }, pick
end

local function experiment(seed)
  local spec, pick = random_experiment(seed)
  if spec.autoscaler then
    spec.scaling = { min_replicas = pick(0, 2), max_replicas = 5, loading_delay_us = seconds(1),
      start_failure = pick(0, 2) / 4, start_retries = pick(0, 2),
      warmup_duration_us = pick(0, 1) * seconds(1),
      drain = ({ "wait", "redirect", "immediate" })[pick(1, 3)], grace_us = seconds(pick(1, 9)),
      trigger_queue_depth = pick(0, 1) == 0 and 4 or nil }
  end
  return spec, seconds(1) + pick(0, 12000000)
end

describe("scaling at random", function()
  it("is the same for a clone, and by both engines", function()
    for seed = 1, cases do
      local spec, clone_at_us = experiment(seed)
      local sim = blis.simulation(spec)
      sim:run_until(clone_at_us)
      local clone = sim:clone()
      local whole, cloned = sim:run(), clone:run()
      spec.cluster.engine = "stepwise"
      local stepwise = blis.run(spec)
      for _, r in ipairs { cloned, stepwise } do
        assert.equal(whole.hash, r.hash, "seed " .. seed)
        assert.same(rawget(whole, "scaling"), rawget(r, "scaling"), "seed " .. seed)
        assert.same(whole.faults, r.faults, "seed " .. seed)
        assert.same(whole.cost, r.cost, "seed " .. seed)
      end
      assert.equal(220, whole.completed + whole.rejected + whole.timed_out + whole.unservable
        + whole.failed + whole.still_running + whole.still_queued + whole.still_arriving)
    end
  end)
end)
