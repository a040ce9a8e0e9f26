-- KV groups of a model: what scripts say about them, and what follows in a run.
local blis = require "blis"

local gpt_oss = { { kind = "full" }, { kind = "window", tokens = 128 } }
local states = { { kind = "full" }, { kind = "state", count = 3, states = "steps" } }

local function cluster_with(more)
  local cluster = { kv_blocks = 4000, kv_layout = gpt_oss }
  for key, value in pairs(more or {}) do cluster[key] = value end
  if not cluster.prefill_instances then cluster.instances = cluster.instances or 2 end
  return cluster
end

local function run(more, workload)
  return blis.run {
    seed = 7, cluster = cluster_with(more),
    workload = workload or { rate = 8, requests = 120, prompt = 700, output = 120 },
  }
end

local sessions = {
  rate = 2, requests = 120, prompt = 300, output = 60,
  prefixes = { groups = 3, tokens = 512 },
}

local function error_of(more)
  local ok, message = pcall(run, more)
  assert.is_false(ok)
  return tostring(message)
end

describe("kv_layout", function()
  it("gives the same results in both engines", function()
    for _, layout in ipairs { gpt_oss, states, { { kind = "chunk", tokens = 256 } } } do
      for _, workload in ipairs { false, sessions } do
        local fast = run({ kv_layout = layout }, workload or nil)
        local stepwise = run({ kv_layout = layout, engine = "stepwise" }, workload or nil)
        assert.equal(120, fast.completed)
        assert.equal(stepwise.hash, fast.hash)
      end
    end
  end)

  it("changes nothing with one group of full attention", function()
    assert.equal(run({ kv_layout = { { kind = "full" } } }).hash,
      blis.run {
        seed = 7, cluster = { instances = 2, kv_blocks = 4000 },
        workload = { rate = 8, requests = 120, prompt = 700, output = 120 },
      }.hash)
  end)

  it("returns the blocks behind a window", function()
    local few = { kv_blocks = 260, instances = 1, max_num_batched_tokens = 256 }
    local kept = { kv_blocks = 260, instances = 1, max_num_batched_tokens = 256,
      hybrid_kv_cache = false }
    local workload = { rate = 6, requests = 60, prompt = 1000, output = 200 }
    assert.is_true(run(few, workload).preemptions < run(kept, workload).preemptions)
  end)

  it("finds prefixes only where states are kept", function()
    local function hit_rate(mode, workload, block_size)
      local layout = { { kind = "full", block_size = block_size },
        { kind = "state", block_size = block_size, states = mode } }
      return run({ kv_layout = layout }, workload).cache_hit_rate
    end
    -- A prompt ends at token 812, so its steps end at 800, beyond the shared 512 tokens.
    assert.equal(0, hit_rate("none", sessions))
    assert.equal(0, hit_rate("steps", sessions))
    assert.is_true(hit_rate("blocks", sessions) > 0.5)
    local short = { rate = 2, requests = 120, prompt = 8, output = 60,
      prefixes = sessions.prefixes }
    assert.is_true(hit_rate("steps", short) > 0.8)
    assert.equal(hit_rate("steps", short), hit_rate("steps", short, 256))
    assert.is_true(hit_rate("steps", short, 192) < 0.75) -- 384 of 520 tokens
  end)

  it("works with tiers, drafts, adapters and hand-offs", function()
    assert.equal(120, run({ kv_layout = states,
      speculation = { method = "mtp", tokens = 2, acceptance = 0.7, draft_base_us = 500 } })
      .completed)
    assert.equal(120, blis.run {
      seed = 7, workload = sessions,
      cluster = cluster_with { prefill_instances = 2, decode_instances = 2 },
      disaggregation = { bandwidth_gb_s = 10, decider = "always" },
    }.completed)
    assert.equal(120, blis.run {
      seed = 7, workload = sessions,
      cluster = cluster_with { instances = 1, kv_blocks = 300, max_num_batched_tokens = 512 },
      kv_tiers = { { name = "cpu", blocks = 4000, read_gb_s = 50 } },
    }.completed)
  end)

  it("reports what is wrong with a group", function()
    local cases = {
      { { kv_layout = 3 }, "cluster.kv_layout" },
      { { kv_layout = { { kind = "ring" } } }, "cluster.kv_layout[1].kind" },
      { { kv_layout = { { kind = "window" } } }, "cluster.kv_layout[1].tokens is missing" },
      { { kv_layout = { { kind = "full", tokens = 9 } } }, "kind full has no length" },
      { { kv_layout = { { kind = "full", states = "steps" } } }, "kind full has no states" },
      { { kv_layout = { { kind = "full", block_size = 24 } } }, "multiple of the engine's block" },
      { { kv_layout = {} }, "0 kinds of groups" },
      { { kv_cpu_blocks = 100 }, "a CPU tier" },
      { { kv_layout = states, block_size = 4096, max_num_batched_tokens = 2048 },
        "expected at least 4096" },
    }
    for _, case in ipairs(cases) do
      assert.matches(case[2], error_of(case[1]), 1, true)
    end
    local ok, message = pcall(blis.run, { profile = "go-blis", cluster = cluster_with(),
      workload = { rate = 8, requests = 10, prompt = 100, output = 10 } })
    assert.is_false(ok)
    assert.matches("profile go-blis", tostring(message), 1, true)
  end)
end)
