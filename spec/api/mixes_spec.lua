-- All optional parts of a cluster together, at random: session graphs, KV tiers, adapters,
-- speculation, ranks, pools, faults, spot capacity, the gateway's queue, autoscalers, both
-- profiles. Whatever meets whatever, both engines and a clone from the middle of the run agree, no
-- request is lost, and what does not go together is refused before the run.
--
-- BLIS_CASES=5000 tries more of them, BLIS_FIRST_CASE is where they begin.
local blis = require "blis"
local mixes = require "spec.support.mixes"
local pairs_of = require "spec.support.feature_pairs"

-- Under sanitizers, where a case takes ten times as long, a third (tests/support/check.h).
local usual = os.getenv "BLIS_SANITIZED" and 134 or 400
local cases = tonumber(os.getenv "BLIS_CASES") or usual
local first = tonumber(os.getenv "BLIS_FIRST_CASE") or 1

-- Parts of what is said of those that do not go together.
local refusals = {
  "spot capacity cannot be combined with an autoscaler",
  "cannot be combined with kv_cpu_blocks", "a fault of kind flap requires a time (at)",
  "every request is split; remove the decider", "hand-offs require one instance of each stage",
  "the cluster starts with",
}

local function is_known(message)
  for _, part in ipairs(refusals) do
    if message:find(part, 1, true) then return true end
  end
  return false
end

-- Figures of parts, which both engines have to agree on as well.
local parts = { "kv_tiers", "lora", "speculation", "handoffs", "faults", "queue", "tasks",
  "scaling", "spot", "cost", "ranks", "cache_prediction" }

local function same(seed, what, a, b)
  assert.equal(a.hash, b.hash, ("case %d: hash, %s"):format(seed, what))
  for _, name in ipairs(parts) do
    assert.same(rawget(a, name), rawget(b, name), ("case %d: %s, %s"):format(seed, name, what))
  end
end

--- Every load of a tier is over or under way, and every block of a hit is in one of them.
local function check_tiers(tiers)
  assert.equal(tiers.requests, tiers.completed + tiers.failed + tiers.canceled + tiers.in_flight)
  local loaded = 0
  for _, tier in ipairs(tiers.tiers) do
    loaded = loaded + tier.loaded_blocks
    assert.is_true(tier.used_blocks <= tier.capacity_blocks)
  end
  assert.equal(tiers.loaded_blocks, loaded)
end

--- Of whoever was served it is known where its prompt was found, also if it was preempted.
local function check_hits(requests)
  for _, one in ipairs(requests) do
    if one.state == "completed" then
      local found = one.cached_tokens
      for _, tokens in ipairs(one.tier_tokens) do found = found + tokens end
      assert.is_true(found >= 0 and found <= one.prompt_tokens)
    end
  end
end

local path = { "queue_us", "prefill_us", "decode_us", "tool_us", "delay_us" }

--- No request was sent before those that it waited for had ended.
local function check_tasks(requests)
  for _, task in ipairs(requests:tasks()) do
    local sum_us = 0
    for _, name in ipairs(path) do
      assert.is_true(task[name] >= 0, name)
      sum_us = sum_us + task[name]
    end
    assert.equal(task.end_us - task.start_us, sum_us)
  end
end

--- Tasks have found what their requests have, in caches and in tiers; with a warm-up, not all are
--- told.
local function check_found(requests)
  local of_tasks, of_requests = 0, 0
  for _, task in ipairs(requests:tasks()) do of_tasks = of_tasks + task.cached_tokens end
  for _, one in ipairs(requests) do
    if one.state == "completed" or one.state == "length_capped" then
      of_requests = of_requests + one.cached_tokens
      for _, tokens in ipairs(one.tier_tokens) do of_requests = of_requests + tokens end
    end
  end
  assert.equal(of_requests, of_tasks)
end

--- Runs a case; nil when it is refused.
local function try(seed, seen)
  local spec, names = mixes.experiment(seed)
  local ok, sim = pcall(blis.simulation, spec)
  if not ok then
    local message = type(sim) == "table" and sim.message or tostring(sim)
    assert.is_true(is_known(message), ("case %d is refused: %s"):format(seed, message))
    return
  end
  sim:run_until(500000 + seed % 7 * 700000)
  local clone = sim:clone()
  local fast, cloned = sim:run(), clone:run()
  sim:close()
  clone:close()
  same(seed, "clone", fast, cloned)
  same(seed, "stepwise", fast, blis.run((mixes.experiment(seed, "stepwise"))))
  pairs_of.check_endings(fast)
  if rawget(fast, "kv_tiers") then
    check_tiers(fast.kv_tiers)
    check_hits(fast.requests)
    local workload = mixes.experiment(seed).workload
    if workload.graphs and not workload.warm_up_requests then check_found(fast.requests) end
  end
  check_tasks(fast.requests)
  seen.ran = seen.ran + 1
  seen.loads = seen.loads + (rawget(fast, "kv_tiers") and fast.kv_tiers.loaded_blocks or 0)
  seen.preemptions = seen.preemptions + fast.preemptions
  for _, name in ipairs(names) do seen[name] = (seen[name] or 0) + 1 end
end

describe("all parts together, at random", function()
  it("agree in both engines and in a clone #slow", function()
    local seen = { ran = 0, loads = 0, preemptions = 0 }
    for seed = first, first + cases - 1 do
      local ok, problem = pcall(try, seed, seen)
      if not ok then error(("case %d: %s"):format(seed, tostring(problem)), 0) end
    end
    if cases < 400 then return end
    assert.is_true(seen.ran > cases * 0.7 and seen.loads > 0 and seen.preemptions > 0)
    for _, name in ipairs { "pools", "lora", "speculation", "ranks", "kv_tiers", "graphs", "faults",
      "spot", "queue", "autoscaler", "go-blis" } do
      assert.is_true((seen[name] or 0) > 0, name .. " was in none")
    end
  end)
end)
