--- What is known to go up or down with KV tiers, drafts, adapters and ranks, whatever the numbers
--- are: small runs that show it.
local blis = require "spec.support.old_defaults"

describe("directions of KV tiers", function()
  --- Prompts of 3000 tokens of 12 texts, on caches of 1000 blocks.
  local function run(tier, workload)
    return blis.run {
      cluster = { instances = 2, kv_blocks = 1000 }, seed = 3,
      workload = workload or { rate = 8, requests = 200, prompt = 100, output = 20,
        prefixes = { groups = 12, tokens = 3000 } },
      kv_tiers = tier and { tier } or nil,
    }
  end
  local function cpu(blocks, more)
    local tier = { name = "cpu", blocks = blocks, read_gb_s = 32 }
    for key, value in pairs(more or {}) do tier[key] = value end
    return tier
  end

  it("host memory helps when it is larger than the cache, and only then", function()
    local without = run()
    for _, blocks in ipairs { 250, 500, 1000 } do
      local small = run(cpu(blocks))
      assert.near(without.cache_hit_rate_overall, small.cache_hit_rate_overall, 0.01)
      assert.near(1, small.ttft_ms.mean / without.ttft_ms.mean, 0.01)
    end
    local large, larger = run(cpu(2000)), run(cpu(4000))
    assert.is_true(large.cache_hit_rate_overall > without.cache_hit_rate_overall + 0.25)
    assert.is_true(larger.cache_hit_rate_overall > large.cache_hit_rate_overall + 0.1)
    assert.is_true(large.ttft_ms.mean < 0.75 * without.ttft_ms.mean)
    assert.is_true(larger.ttft_ms.mean < large.ttft_ms.mean)
  end)

  it("a shared pool has more reuse, and a worse TTFT where its link has queues", function()
    local function pair(gb_s)
      return run(cpu(1500, { read_gb_s = gb_s })),
        run { name = "pool", scope = "cluster", blocks = 3000, read_gb_s = gb_s }
    end
    local own, pool = pair(4)
    assert.is_true(pool.cache_hit_rate_overall > own.cache_hit_rate_overall + 0.3)
    assert.is_true(pool.ttft_ms.mean > 2 * own.ttft_ms.mean)
    own, pool = pair(32)
    assert.is_true(pool.cache_hit_rate_overall > own.cache_hit_rate_overall + 0.3)
    assert.is_true(pool.ttft_ms.mean < own.ttft_ms.mean)
  end)

  it("storing on second use saves writes at a small loss of hits", function()
    local traffic = { rate = 8, requests = 600, prompt = 600, output = 20,
      prefixes = { groups = 12, tokens = 3000 } }
    local first, second = run(cpu(200000), traffic), run(cpu(200000, { threshold = 2 }), traffic)
    assert.is_true(second.kv_tiers.tiers[1].saved_blocks < first.kv_tiers.tiers[1].saved_blocks / 5)
    local loss = first.cache_hit_rate_overall - second.cache_hit_rate_overall
    assert.is_true(loss > 0 and loss < 0.05)
  end)

  it("longer sessions gain most", function()
    --- How many times as long the first token takes without the tier.
    local function gain(rounds)
      local function session()
        local calls = { { id = "c1", prompt_tokens = 2000, output_tokens = 40 } }
        for k = 2, rounds do
          calls[k] = { id = "c" .. k, after = "c" .. k - 1, tool_us = 3000000, prompt_tokens = 400,
            output_tokens = 40 }
        end
        return calls
      end
      local traffic = { graphs = session, rate = 8 / rounds, count = 480 // rounds }
      return run(nil, traffic).ttft_ms.mean / run(cpu(20000), traffic).ttft_ms.mean
    end
    local last = 1.2
    for _, rounds in ipairs { 2, 4, 8, 16 } do
      local now = gain(rounds)
      assert.is_true(now > 1.05 * last, rounds)
      last = now
    end
  end)
end)

describe("directions of speculative decoding", function()
  local function run(rate, acceptance)
    return blis.run {
      cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, speculation = acceptance
        and { method = "draft", acceptance = acceptance, draft_base_us = 900,
          draft_per_sequence_us = 10 } or nil },
      workload = { rate = rate, requests = 150, prompt_tokens = 300, output_tokens = 150 },
    }
  end

  it("it gains less as the batch grows, and loses where drafts fail", function()
    local gains, losses = {}, {}
    for i, rate in ipairs { 1, 8, 48 } do
      local plain, good = run(rate), run(rate, { 0.8, 0.7, 0.6 })
      local poor = run(rate, { 0.3, 0.2, 0.1 })
      gains[i] = plain.itl_ms.mean / good.itl_ms.mean
      losses[i] = plain.itl_ms.mean / poor.itl_ms.mean
      -- Time per output token falls, and the 99th percentile of what a client sees rises.
      if i > 1 then
        assert.is_true(good.itl_ms.mean < plain.itl_ms.mean)
        assert.is_true(good.itl_ms.p99 > 1.2 * plain.itl_ms.p99)
      end
    end
    assert.is_true(gains[1] > gains[2] and gains[2] > 1.5 * gains[3] and gains[3] > 1)
    assert.is_true(losses[1] > 1 and losses[1] > losses[2] and losses[2] > losses[3])
    assert.is_true(losses[3] < 0.6)
  end)
end)

describe("directions of LoRA adapters", function()
  local function by(load)
    return { "weighted", scorers = { { "lora-affinity", 1 }, { "queue-depth", load } } }
  end
  local function run(routing, lora, rate)
    return blis.run {
      cluster = { model = "qwen3-14b", hardware = "H100", tp = 1, instances = 4, lora = lora },
      workload = { rate = rate or 20, requests = 1000, prompt_tokens = 300, output_tokens = 100 },
      routing = routing,
    }
  end

  it("affinity lowers loads, and worsens the balance", function()
    local lora = { adapters = 128, slots = 8, zipf = 1 }
    local blind, some, most = run("least-loaded", lora), run(by(1), lora), run(by(0.1), lora)
    assert.is_true(blind.lora.loads_per_100 > 1.3 * some.lora.loads_per_100)
    assert.is_true(some.lora.loads_per_100 > most.lora.loads_per_100)
    assert.is_true(blind.balance > some.balance and some.balance > most.balance)
    assert.is_true(most.ttft_ms.p99 < blind.ttft_ms.p99 / 2)
  end)

  it("an adapter that is too hot for an instance has to spill", function()
    local lora = { slots = 2, adapters = { { id = "hot", weight = 90 }, { id = "a", weight = 5 },
      { id = "b", weight = 5 } } }
    local function spread(load)
      local r, instances, count = run(by(load), lora, 90), {}, 0
      for _, request in ipairs(r.requests) do
        if request.adapter == "hot" and not instances[request.instance] then
          instances[request.instance], count = true, count + 1
        end
      end
      return count, r.ttft_ms.p99
    end
    local kept, kept_ms = spread(0.1)
    local spilt, spilt_ms = spread(2)
    assert.same({ 1, 4 }, { kept, spilt })
    assert.is_true(spilt_ms < 0.7 * kept_ms)
  end)

  it("a rare adapter behind hot ones waits for long, or a bounded time", function()
    local function rare_ms(more)
      local lora = { slots = 2, adapters = { { id = "hot", weight = 60 },
        { id = "warm", weight = 39 }, { id = "rare", weight = 1 } } }
      for key, value in pairs(more) do lora[key] = value end
      local r = run("least-loaded", lora)
      return r.by_adapter.rare.ttft_ms.max, r.ttft_ms.p99
    end
    local passed_ms, passed_all_ms = rare_ms {}
    local bounded_ms, bounded_all_ms = rare_ms { max_skip_us = 500000 }
    local first_ms, first_all_ms = rare_ms { order = "head-of-line" }
    assert.is_true(passed_ms > 5 * bounded_ms and bounded_ms > first_ms)
    assert.is_true(passed_all_ms < bounded_all_ms and bounded_all_ms < first_all_ms)
  end)

  it("fewer slots than adapters in use are loaded all the time", function()
    local function thrash(slots, mode)
      local r = run("least-loaded", { adapters = 32, zipf = 0, slots = slots, mode = mode })
      return r.lora.loads_per_100, r.ttft_ms.p99, r.itl_ms.p99
    end
    local few, few_ms, beside_ms = thrash(4, "overlap")
    local enough, enough_ms = thrash(32, "overlap")
    assert.is_true(few > 4 * enough and few_ms > 20 * enough_ms)
    local _, _, in_the_way_ms = thrash(4, "block") -- every step waits for its loads
    assert.is_true(in_the_way_ms > beside_ms)
  end)
end)

describe("directions of data-parallel ranks", function()
  it("aligned prefills lose less at the barrier, at the price of the first token", function()
    local last
    for _, interval in ipairs { 1, 4, 8 } do
      local r = blis.run {
        cluster = { model = "qwen3-30b-a3b", hardware = "H100", tp = 1,
          ranks = { count = 4, prefill_interval = interval }, max_num_batched_tokens = 8192 },
        routing = "least-loaded",
        workload = { rate = 40, requests = 400, prompt_tokens = 1500,
          output = { "gaussian", mean = 200, std_dev = 120, min = 5, max = 800 } },
      }
      if last then
        assert.is_true(r.ranks.barrier_loss < last.ranks.barrier_loss)
        assert.is_true(r.itl_ms.mean < last.itl_ms.mean)
        assert.is_true(r.ttft_ms.p50 > last.ttft_ms.p50)
      end
      last = r
    end
  end)
end)
