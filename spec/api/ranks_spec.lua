--- Data-parallel ranks: how many targets there are, and what is refused.
local blis = require "blis"

--- A decode step takes 20 ms, one with a prompt 120 ms.
local function model()
  return blis.latency_model { name = "two speeds", step_time = function(batch)
    for _, item in ipairs(batch) do
      if item.progress_tokens < item.prompt_tokens then return 120000 end
    end
    return 20000
  end }
end

local function run(cluster, requests)
  local all = { kv_blocks = 1000, async_scheduling = false, latency_model = model() }
  for key, value in pairs(cluster) do all[key] = value end
  local i = 0
  return blis.run { cluster = all, routing = "round-robin", workload = { requests = #requests,
    generator = function()
      i = i + 1
      local r = requests[i]
      return r and { arrival_us = r[1], prompt_tokens = r[2] or 16, output_tokens = r[3] or 4 }
    end } }
end

local function says(pattern, ranks, more)
  local cluster = { ranks = ranks }
  for key, value in pairs(more or {}) do cluster[key] = value end
  local ok, message = pcall(run, cluster, { { 0 } })
  assert.is_false(ok)
  assert.truthy(tostring(message):find(pattern, 1, true), tostring(message))
end

describe("data-parallel ranks", function()
  it("are targets: instances times ranks", function()
    local requests = {}
    for i = 1, 8 do requests[i] = { i * 1000000 } end
    local r = run({ instances = 2, ranks = 4 }, requests)
    assert.equal(8, #r.instances)
    for i, request in ipairs(r.requests) do
      assert.equal("instance_" .. i - 1, request.instance)
    end
    r = run({ groups = { { instances = 1, ranks = 3 }, { instances = 2 } } }, { { 0 } })
    assert.equal(5, #r.instances)
    assert.equal(1, r.instances[3].group)
    assert.equal(2, r.instances[4].group)
  end)

  it("refuse what cannot be", function()
    says("cluster.ranks: '4' is not allowed, expected a number of ranks", "4")
    says("cluster.ranks.count", 0)
    says("cluster.ranks.count", { barrier = true })
    says("cluster.ranks.prefill_interval", { count = 2, prefill_interval = 0 })
    says("unknown option 'size'", { count = 2, size = 3 })
    says("dp is 2 and ranks 2", 2, { dp = 2 })
    says("expert_imbalance needs expert_share", { count = 2, expert_imbalance = 1.5 })
    says("expert_share: has no effect", { count = 2, expert_share = 0.5 })
    says("cluster.ranks.expert_imbalance: 0.5", { count = 2, expert_imbalance = 0.5,
      expert_share = 0.5 })
    says("cluster.ranks.expert_imbalance[2]: -1", { count = 2, expert_imbalance = { 1, -1 },
      expert_share = 0.5 })
    says("all loads are 0", { count = 2, expert_imbalance = { 0, 0 }, expert_share = 0.5 })
    says("are 2000000 targets, expected at most 1000000", 2, { instances = 1000000 })
  end)
end)
