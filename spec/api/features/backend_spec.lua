-- The serving engine of instances: vLLM or SGLang.
local blis = require "blis"

local model = "qwen/qwen3-14b"

local function run(cluster, more)
  local spec = { workload = { rate = 12, num_requests = 60 }, cluster = { model = model } }
  for key, value in pairs(cluster) do spec.cluster[key] = value end
  for key, value in pairs(more or {}) do spec[key] = value end
  return blis.run(spec)
end

local function refuses(text, ...)
  local ok, message = pcall(run, ...)
  assert.is_false(ok)
  assert.truthy(tostring(message):find(text, 1, true), tostring(message))
end

describe("cluster.backend", function()
  it("is vllm by default, and then changes nothing", function()
    local plain = run {}
    assert.equal(plain.hash, run({ backend = "vllm" }).hash)
    assert.not_equal(plain.hash, run({ backend = "sglang" }).hash)
  end)

  it("serves every request with sglang, and gives the same results again", function()
    local r = run { backend = "sglang" }
    assert.equal(60, r.completed)
    assert.equal(r.hash, run({ backend = "sglang", engine = "stepwise" }).hash)
  end)

  it("computes prompts before decodes, which wait longer", function()
    local long = { workload = { num_requests = 40, rate = 1, prompt_tokens = 20000,
      output_tokens = 100 } }
    local function worst(own)
      return run({ backend = own and "sglang" or "vllm", sglang = own }, long).itl_ms.max
    end
    assert.truthy(worst {} > 1.5 * worst(nil))
    assert.truthy(worst { prefill_decode_interval = 1 } < worst {})
  end)

  it("finds prefixes by the token, and in pages", function()
    local shared = { workload = { num_requests = 60, rate = 12,
      prefixes = { groups = 3, tokens = 500 } } }
    local by_token = run({ backend = "sglang" }, shared)
    local in_pages = run({ backend = "sglang", sglang = { page_size = 64 } }, shared)
    local without = run({ backend = "sglang", sglang = { disable_radix_cache = true } }, shared)
    assert.truthy(by_token.cache_hit_rate > 0.3)
    assert.truthy(in_pages.cache_hit_rate > 0.3)
    assert.equal(0, without.cache_hit_rate)
  end)

  it("may differ between groups, by the name of the engine that reads the options", function()
    local r = run { groups = { { backend = "sglang", sglang = { schedule_policy = "lpm" } },
      { backend = "vllm", max_num_seqs = 64 } } }
    assert.equal(60, r.completed)
  end)

  it("has an order of the queue in Lua, unless schedule_policy is set", function()
    local order = { "sjf" }
    assert.equal(60, run({ backend = "sglang" }, { scheduler = order[1] }).completed)
    refuses("both order the wait queue", { backend = "sglang",
      sglang = { schedule_policy = "lpm" } }, { scheduler = order[1] })
    refuses("both order the wait queue", { backend = "sglang", scheduler = "sjf",
      sglang = { schedule_policy = "lpm" } })
  end)

  it("reserves blocks for whole answers with trtllm, or pauses requests", function()
    local short = { workload = { num_requests = 60, rate = 12, prompt_tokens = 300,
      output_tokens = 300 } }
    local function of(own)
      return run({ backend = "trtllm", trtllm = own, kv_blocks = 120 }, short)
    end
    local reserved, utilized = of {}, of { capacity_scheduler_policy = "MAX_UTILIZATION" }
    assert.equal(60, reserved.completed)
    assert.equal(60, utilized.completed)
    assert.equal(0, reserved.preemptions)
    assert.truthy(utilized.preemptions > 0)
  end)

  it("rejects prompts longer than a step with trtllm, unless they are split", function()
    local long = { workload = { num_requests = 5, rate = 1, prompt_tokens = 9000,
      output_tokens = 10 } }
    assert.equal(5, run({ backend = "trtllm" }, long).rejected)
    assert.equal(5, run({ backend = "trtllm", trtllm = { enable_chunked_prefill = true } },
      long).completed)
  end)

  it("refuses options of others with trtllm", function()
    refuses("cluster.max_num_seqs: has no effect with backend = \"trtllm\"; expected "
      .. "trtllm.max_batch_size", { backend = "trtllm", max_num_seqs = 4 })
    refuses("cluster.sglang: requires backend = \"sglang\"; the backend is 'trtllm'",
      { backend = "trtllm", sglang = {} })
    refuses("no hand-offs of KV", { backend = "trtllm", prefill_instances = 1,
      decode_instances = 1 })
    refuses("requires profile design", { backend = "trtllm" }, { profile = "go-blis" })
  end)

  it("admits whole prompts with scheduler_reserve_full_isl, which preempts less", function()
    local short = { workload = { num_requests = 80, rate = 12, prompt_tokens = 3000,
      output_tokens = 100 } }
    local function preemptions(is_whole)
      return run({ kv_blocks = 600, max_num_batched_tokens = 512,
        scheduler_reserve_full_isl = is_whole }, short).preemptions
    end
    assert.truthy(preemptions(true) < preemptions(nil))
    refuses("scheduler_reserve_full_isl: has no effect", { backend = "sglang",
      scheduler_reserve_full_isl = true })
    refuses("requires profile design", { scheduler_reserve_full_isl = true },
      { profile = "go-blis" })
  end)

  it("names the engines that exist", function()
    refuses("cluster.backend: invalid value 'triton': expected one of vllm, sglang, trtllm",
      { backend = "triton" })
  end)

  it("refuses options of another engine", function()
    refuses("cluster.sglang: requires backend = \"sglang\"; the backend is 'vllm'", { sglang = {} })
    refuses("cluster.max_num_seqs: has no effect with backend = \"sglang\"; expected "
      .. "sglang.max_running_requests", { backend = "sglang", max_num_seqs = 4 })
    refuses("cluster.engine_preset: has no effect", { backend = "sglang",
      engine_preset = "routesim" })
    refuses("cluster.backend_version: invalid value '0.17.0'", { backend = "sglang",
      backend_version = "0.17.0" })
  end)

  it("refuses wrong values", function()
    refuses("cluster.sglang: invalid value 4: expected a table", { backend = "sglang",
      sglang = 4 })
    refuses("did you mean 'schedule_policy'", { backend = "sglang",
      sglang = { schedule_polic = 1 } })
    refuses("chunked_prefill_size: invalid value 0", { backend = "sglang",
      sglang = { chunked_prefill_size = 0 } })
    refuses("chunked_prefill_size: invalid value 8: expected at least the page size, 16",
      { backend = "sglang", sglang = { chunked_prefill_size = 8, page_size = 16 } })
    refuses("block_size is 16 and sglang.page_size 8", { backend = "sglang", block_size = 16,
      sglang = { page_size = 8 } })
  end)

  it("refuses what SGLang's module does not model", function()
    refuses("requires profile design", { backend = "sglang" }, { profile = "go-blis" })
    refuses("no hand-offs of KV", { backend = "sglang", prefill_instances = 1,
      decode_instances = 1 })
    refuses("cannot be combined with speculative decoding", { backend = "sglang",
      speculation = { method = "ngram", acceptance = 0.5 } })
    refuses("cannot be combined with a CPU tier", { backend = "sglang", kv_cpu_blocks = 100 })
    refuses("cannot be combined with another preemption policy", { backend = "sglang" },
      { preemption = "priority" })
  end)

  it("has chunks by GPU memory", function()
    local read = require "blis.feature.sglang.read"
    local function chunk(hardware, given)
      return read.read(given or {}, "cluster.sglang", nil, { model = model, hardware = hardware,
        block_size = 1, scheduler = "fcfs", is_usual = {} }).chunk_tokens
    end
    assert.same({ 2048, 4096, 8192, 16384 },
      { chunk "L4", chunk "L40S", chunk "H100", chunk "B200" })
    assert.equal(0, chunk("H100", { chunked_prefill_size = -1 }))
  end)
end)
