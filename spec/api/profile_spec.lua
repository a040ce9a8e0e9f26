local blis = require "blis"

local function run(cluster, workload, profile)
  return blis.run { cluster = cluster, workload = workload, profile = profile }
end

--- A cluster of one instance that runs one request at a time, in steps of 10 ms.
local function server(profile, workload)
  workload.timeout_us = 0
  return run({ max_num_seqs = 1, latency_model = function() return 10000 end }, workload, profile)
end

describe("profile design", function()
  it("has engines that are busy until their steps end", function()
    local traffic = { rate = 1000, requests = 2000, prompt_tokens = 16, output_tokens = 1 }
    local here, there = server("design", traffic), server("go-blis", traffic)
    assert.is_true(here.requests_per_sec <= 100 and here.requests_per_sec > 99.9)
    assert.is_true(there.requests_per_sec > 900)
  end)

  it("lets requests wait as long as theory says", function()
    for tokens = 1, 2 do
      local r = server("design", { rate = 80 / tokens, requests = 100000, tokens = "lazy",
        prompt_tokens = 16, output_tokens = tokens })
      local wait_ms = 0.8 * 10 * tokens / (2 * (1 - 0.8))
      assert.near(wait_ms, r.scheduling_delay_ms.mean, wait_ms * 0.04)
      assert.near(wait_ms + 10 * tokens, r.e2e_ms.mean, wait_ms * 0.04)
    end
  end)

  it("ends a request when its client has the last token", function()
    local traffic = { rate = 20, requests = 50, prompt_tokens = 300, output_tokens = 40 }
    for _, r in ipairs(run(nil, traffic).requests) do
      assert.equal(r.arrival_us + r.e2e_us, r.end_us)
    end
    for _, r in ipairs(run(nil, traffic, "go-blis").requests) do
      assert.is_true(r.end_us < r.arrival_us + r.e2e_us)
    end
  end)

  it("gives a preempted request its first token once, and goes on behind what it has", function()
    local function preempting(profile)
      local first, calls = {}, 0
      local r = blis.run {
        profile = profile, cluster = { kv_blocks = 60, async_scheduling = false },
        workload = { rate = 100, requests = 12, prompt_tokens = 100, output_tokens = 100 },
        on_first_token = function(request, _, ttft_us)
          calls = calls + 1
          first[request.id] = first[request.id] or ttft_us
        end,
      }
      assert.is_true(r.preemptions > 3)
      return r, first, calls
    end
    local here, first, calls = preempting "design"
    assert.equal(12, calls)
    for _, r in ipairs(here.requests) do
      assert.equal(first[r.id], r.ttft_us)
      assert.equal(99, r.itl_count)
    end
    local there, earlier, more = preempting "go-blis"
    assert.equal(12 + there.preemptions, more)
    local later = 0
    for _, r in ipairs(there.requests) do
      later = later + (r.ttft_us > earlier[r.id] and 1 or 0)
    end
    assert.is_true(later > 0)
    assert.is_true(here.e2e_ms.mean < there.e2e_ms.mean)
  end)

  it("has a hit rate that output does not change", function()
    local function rate(output, profile)
      return run({ instances = 1 }, { rate = 2, requests = 200, prompt_tokens = 512,
        output_tokens = output, prefixes = { groups = 1, tokens = 1024 } }, profile).cache_hit_rate
    end
    local share = 199 * 1024 / (200 * 1536)
    assert.near(share, rate(16), 1e-12)
    assert.near(share, rate(512), 1e-12)
    assert.is_true(rate(512, "go-blis") < 0.51)
  end)

  --- What the latency model is told of the steps of two equal prompts of 10 blocks.
  local function steps_of_twins(profile, own_tokens)
    local seen = {}
    local function model(batch)
      seen[#seen + 1] = batch.prefill_tokens .. " behind " .. batch.prefill_context_tokens
      return 1000
    end
    run({ latency_model = model }, coroutine.wrap(function()
      for i = 1, 2 do
        coroutine.yield { arrival_us = i * 1000000, output_tokens = 1,
          content = { { "the same", 160 }, own_tokens > 0 and own_tokens or nil } }
      end
    end), profile)
    return seen
  end

  it("computes the last block of a prompt that is in the cache", function()
    assert.same({ "160 behind 0", "16 behind 144" }, steps_of_twins("design", 0))
    assert.same({ "160 behind 0", "0 behind 0" }, steps_of_twins("go-blis", 0))
  end)

  it("needs no room for the KV of a last token", function()
    local traffic = { requests = 1, rate = 1, prompt_tokens = 16, output_tokens = 1 }
    local room = { kv_blocks = 1, max_model_len = 0 }
    assert.equal(0, run(room, traffic).kv_allocation_failures)
    assert.equal(1, run(room, traffic, "go-blis").kv_allocation_failures)
  end)

  it("lets a step know what its prefills find in the cache", function()
    assert.same({ "165 behind 0", "5 behind 160" }, steps_of_twins("design", 5))
    assert.same({ "165 behind 0", "5 behind 0" }, steps_of_twins("go-blis", 5))
  end)

  it("counts three matrices of a gated MLP, and projections as wide as the heads", function()
    local model = { id = "own/wide", layers = 2, hidden_size = 1024, attention_heads = 16,
      kv_heads = 4, head_dim = 128, vocab_size = 1000, intermediate_size = 4096,
      bytes_per_param = 2, max_model_tokens = 4096 }
    -- norms apart: q and output of 2048, k and v of 512; gate, up and down
    local layer = 1024 * (2 * 2048 + 2 * 512) + 3 * 1024 * 4096 + 2 * 1024
    local c = blis.kv_capacity { model = model, hardware = "H100", tp = 1 }
    assert.equal(2 * layer + 2 * 1000 * 1024 + 1024, c.params)
    local read = 2 * 2 * (layer - 2 * 1024) -- bytes of a decode, without its own
    local own = 2 * 2 * 1024 + 2 * 2 * 512 * 2 -- activations, and the KV of one token
    local m = blis.latency_model("roofline", { model = model, hardware = "H100", tp = 1 })
    local us = (read + own) / 3.35e12 * 1e6
    assert.near(us, m:step_time { { progress = 0, new = 1, prompt = 1, output = 1 } }, 1)
  end)

  it("has KV caches that fit on each GPU", function()
    local gib = 1 << 30
    for _, tp in ipairs { 1, 2, 4, 8 } do
      local options = { model = "qwen3-14b", hardware = "H100", tp = tp,
        gpu_memory_utilization = 0.9 }
      local tokens = (72 - 27.51 / tp - 5.5) * gib / (2 * 40 * 8 * 128 * 2 / tp)
      local c = blis.kv_capacity(options)
      assert.near(tokens, c.tokens, 0.03 * tokens)
      local traffic = { requests = 1, rate = 1 }
      assert.equal(c.blocks, run(options, traffic).setup.kv_blocks)
      local there = run(options, traffic, "go-blis").setup.kv_blocks
      assert.is_true(tp == 1 and there == c.blocks or there > 0.9 * tp * c.blocks)
    end
  end)
end)

describe("a recorded engine that preempts", function()
  -- Published by casys-kaist/LLMServingSim in bench/examples, at commit 5daddb2.
  local path = (os.getenv "BLIS_SHARED_DIR" or "../shared")
    .. "/truth/llmservingsim/rtx4090-llama-3.1-8b.csv"

  --- 300 requests at vLLM 0.19 on an RTX 4090: lengths, and when they were queued, had their first
  --- and their last token (seconds).
  local function recorded()
    local rows = {}
    for line in io.lines(path) do
      local fields = {}
      for field in line:gmatch "[^,]+" do fields[#fields + 1] = tonumber(field) end
      if #fields == 8 then
        rows[#rows + 1] = { prompt = fields[2], output = fields[3], queued = fields[5],
          first = fields[7], last = fields[8] }
      end
    end
    table.sort(rows, function(a, b) return a.queued < b.queued end)
    return rows
  end

  --- Mean relative errors of the requests' TTFT and E2E.
  local function errors_of(rows, profile)
    local function replay()
      for _, row in ipairs(rows) do
        coroutine.yield { arrival_us = math.floor(row.queued * 1e6), prompt_tokens = row.prompt,
          output_tokens = row.output }
      end
    end
    local r = run({ model = "llama-3.1-8b-instruct", hardware = "RTX 4090", tp = 1,
      kv_blocks = 2588, max_model_len = 32768, latency_model = "calibrated",
      async_scheduling = true }, coroutine.wrap(replay), profile)
    assert.is_true(r.preemptions > 100)
    local ttft, e2e = 0, 0
    for i, row in ipairs(rows) do
      ttft = ttft + math.abs(r.requests[i].ttft_us / 1e6 / (row.first - row.queued) - 1)
      e2e = e2e + math.abs(r.requests[i].e2e_us / 1e6 / (row.last - row.queued) - 1)
    end
    return ttft / #rows, e2e / #rows
  end

  it("has first tokens when design says, and not when BLIS in Go does", function()
    if not io.open(path) then
      pending(path .. " is missing: LLMServingSim publishes it in bench/examples, commit 5daddb2")
      return
    end
    local rows = recorded()
    assert.equal(300, #rows)
    local ttft, e2e = errors_of(rows, "design")
    assert.is_true(ttft < 0.12 and e2e < 0.08, ("%.3f, %.3f"):format(ttft, e2e))
    local late, longer = errors_of(rows, "go-blis")
    assert.is_true(late > 1 and longer > e2e, ("%.3f, %.3f"):format(late, longer))
  end)
end)

describe("async_scheduling", function()
  --- TTFTs of two requests, the second of which arrives when the first has been served, or
  --- while it decodes.
  local function ttfts(gap_us, async, profile)
    local r = run({ latency_model = "calibrated", async_scheduling = async }, {
      requests = 2, arrival = function() return gap_us end, timeout_us = 0,
      prompt_tokens = 100, output_tokens = 200 }, profile)
    return { r.requests[1].ttft_us, r.requests[2].ttft_us }, r
  end

  it("lets first tokens wait, the longer when a step is under way", function()
    local idle, idle_before = ttfts(60000000, true), ttfts(60000000, false)
    local delay_us = idle[1] - idle_before[1]
    assert.is_true(delay_us > 0)
    assert.equal(delay_us, idle[2] - idle_before[2])
    local busy, busy_before = ttfts(500000, true), ttfts(500000, false)
    assert.equal(delay_us, busy[1] - busy_before[1])
    local step_us = 6000 -- no step of qwen3-14b on an H100 is shorter
    assert.is_true(busy[2] - busy_before[2] > delay_us + step_us)
  end)

  it("moves all tokens of a request alike", function()
    local _, on = ttfts(500000, true)
    local _, off = ttfts(500000, false)
    for i = 1, 2 do
      assert.equal(off.requests[i].itl_sum_us, on.requests[i].itl_sum_us)
      assert.equal(on.requests[i].ttft_us - off.requests[i].ttft_us,
        on.requests[i].e2e_us - off.requests[i].e2e_us)
    end
  end)

  it("is what engines of today do, and those of BLIS in Go do not", function()
    assert.same(ttfts(500000, true), (ttfts(500000, nil)))
    assert.same(ttfts(500000, false, "go-blis"), (ttfts(500000, nil, "go-blis")))
  end)
end)
