local blis = require "blis"

local llama = "meta-llama/llama-3.1-8b-instruct"
local llama70 = "meta-llama/llama-3.1-70b-instruct"

local function model(options)
  local all = { hardware = "H100", tp = 1 }
  for key, value in pairs(options) do all[key] = value end
  return blis.latency_model("composed", all)
end

--- The same without kernel tables: what can be computed by hand.
local function closed(options)
  options.kernel_tables = false
  return model(options)
end

local function decodes(count, context)
  local batch = {}
  for i = 1, count do
    batch[i] = { progress = context, new = 1, prompt = context, output = 1 }
  end
  return batch
end

local function prompt(tokens) return { { progress = 0, new = tokens, prompt = tokens } } end

local function near(expected, got, tolerance)
  assert.is_true(math.abs(got / expected - 1) <= tolerance,
    ("expected %g, got %g"):format(expected, got))
end

local function run(cluster, engine)
  cluster.engine = engine
  return blis.run { cluster = cluster, seed = 7,
    workload = { rate = 12, num_requests = 200, prompt_tokens = 900, output_tokens = 120 } }
end

describe("latency model composed", function()
  it("has the step times of its specification", function()
    local plain = closed { model = llama }
    near(7471, plain:step_time(decodes(16, 700)), 0.01)
    near(56585, plain:step_time(prompt(2048)), 0.01)
    local qwen = { id = "qwen3-32b", layers = 64, hidden_size = 5120, attention_heads = 64,
      kv_heads = 8, head_dim = 128, vocab_size = 151936, intermediate_size = 25600,
      bytes_per_param = 2 }
    near(17277, closed { model = qwen, tp = 2 }:step_time(decodes(32, 1536)), 0.01)
    near(19481, closed { model = qwen, tp = 2, async_scheduling = false }
      :step_time(decodes(32, 1536)), 0.01)
  end)

  it("has them for models that were read from their files", function()
    local folder = "../shared/models/configs/"
    if not io.open(folder .. "openai--gpt-oss-120b/config.json") then
      return pending(folder .. " is not there")
    end
    local function step(name, tp, batch)
      return closed { model = folder .. name, hardware = "H200", tp = tp,
        max_num_batched_tokens = 8192 }:step_time(batch)
    end
    local llama_fp8, minimax = "nvidia--Llama-3.1-70B-Instruct-FP8", "MiniMaxAI--MiniMax-M2.7"
    near(14127, step(llama_fp8, 4, decodes(32, 4600)), 0.005)
    near(418711, step(llama_fp8, 4, prompt(8192)), 0.005)
    near(20441, step(minimax, 4, decodes(64, 1500)), 0.005)
    near(243159, step(minimax, 4, prompt(8192)), 0.005)
    near(15510, step("openai--gpt-oss-120b", 1, decodes(32, 1500)), 0.005)
  end)

  it("answers from sums", function()
    local one = model { model = llama }
    assert.is_true(one.from_sums)
    assert.equal("composed", one.name)
    assert.equal(one:step_time(decodes(4, 100)), one:step_time_from_sums {
      requests = 4, decode_requests = 4, decode_context_tokens = 400 })
  end)

  it("gives equal results in both engines", function()
    local clusters = {
      { model = llama, hardware = "H100", latency_model = "composed" },
      { model = llama, hardware = "L4", latency_model = "composed", async_scheduling = false },
      { model = "mistralai/mixtral-8x7b-v0.1", hardware = "H200", tp = 2,
        latency_model = "composed", expert_parallel = true },
      { model = "deepseek-ai/deepseek-v2-lite", hardware = "B200", tp = 1,
        latency_model = "composed", max_num_seqs = 8, kv_blocks = 600 },
    }
    for _, cluster in ipairs(clusters) do
      assert.equal(run(cluster, "stepwise").hash, run(cluster, "fast").hash)
    end
  end)

  it("refuses coefficients", function()
    assert.error_matches(function()
      model { model = llama, alpha_coeffs = { 0, 0, 0 }, beta_coeffs = { 1 } }
    end, "composed takes no alpha and no beta coefficients, got 3 and 1", 1, true)
  end)

  it("reads twice the weights in 16 bits", function()
    local function decode_us(bytes)
      local spec = { id = "large", layers = 80, hidden_size = 16384, attention_heads = 128,
        kv_heads = 8, head_dim = 128, vocab_size = 128256, intermediate_size = 53248,
        bytes_per_param = 2, weight_bytes_per_param = bytes }
      return model { model = spec, tp = 2 }:step_time(decodes(1, 16))
    end
    local ratio = decode_us(1) / decode_us(2)
    assert.is_true(ratio > 0.5 and ratio < 0.58, tostring(ratio))
  end)

  it("is faster on eight GPUs than on four, but not twice as fast", function()
    for _, gpu in ipairs { "H100", "H200", "B200" } do
      local four = model { model = llama70, hardware = gpu, tp = 4 }:step_time(decodes(4, 1000))
      local eight = model { model = llama70, hardware = gpu, tp = 8 }:step_time(decodes(4, 1000))
      assert.is_true(eight < four and eight > 0.5 * four, gpu)
    end
  end)

  it("is faster with asynchronous scheduling, by the time of the host", function()
    for _, count in ipairs { 1, 32, 256 } do
      local batch = decodes(count, 500)
      local sync = model { model = llama, async_scheduling = false }:step_time(batch)
      local async = model { model = llama }:step_time(batch)
      near(500 + 20.76 * count, sync - async, 0.02)
    end
  end)

  it("never prefills faster than the products at the peak of the data sheet", function()
    -- Models whose layers are all equal, with full attention.
    local plain = { ["codellama/codellama-34b-instruct-hf"] = true,
      ["meta-llama/llama-2-7b-hf"] = true, ["meta-llama/llama-2-70b-hf"] = true,
      ["meta-llama/llama-3.1-70b-instruct"] = true, ["meta-llama/llama-3.1-8b-instruct"] = true,
      ["mistralai/mistral-nemo-instruct-2407"] = true, ["qwen/qwen2.5-7b-instruct"] = true,
      ["qwen/qwen3-14b"] = true, ["01-ai/yi-34b"] = true, ["qwen/qwen3-30b-a3b"] = true,
      ["mistralai/mixtral-8x7b-v0.1"] = true }
    local count = 0
    for _, spec in ipairs(require("blis.core").models()) do
      local experts = spec.experts or 0
      if plain[spec.id:lower()] then
        local head = spec.head_dim or spec.hidden_size // spec.attention_heads
        local attention = 2 * spec.hidden_size * head * (spec.attention_heads + spec.kv_heads)
        local width = experts > 1
          and spec.experts_per_token * (spec.expert_intermediate_size or spec.intermediate_size)
          or spec.intermediate_size
        local weights = spec.layers * (attention + 3 * spec.hidden_size * width)
        local rate = (spec.weight_bytes_per_param or 2) < 2 and 1979e12 or 989.5e12
        local floor_us = 2 * weights * 8192 / rate * 1e6
        local us = model { model = spec.id, max_num_batched_tokens = 8192 }:step_time(prompt(8192))
        assert.is_true(us > floor_us, ("%s: %g us, floor %g us"):format(spec.id, us, floor_us))
        count = count + 1
      end
    end
    assert.is_true(count >= 10)
  end)

  it("uses the constants of no GPU in particular for others", function()
    local us = model { model = llama, hardware = "A10G" }:step_time(decodes(1, 100))
    assert.is_true(us > 16e9 / 0.6e12 * 1e6)
  end)

  it("shares experts between ranks of a group", function()
    local function step(dp)
      return model { model = "qwen/qwen3-30b-a3b", tp = 2, dp = dp }:step_time(decodes(64, 500))
    end
    assert.is_true(step(2) < step(1))
  end)

  describe("with a front end", function()
    local function burst(cluster)
      cluster.model, cluster.hardware = llama, "H100"
      cluster.latency_model = cluster.latency_model or "composed"
      cluster.kv_blocks = 30000
      local i = 0
      return blis.run { cluster = cluster, workload = function()
        i = i + 1
        if i <= 64 then return { arrival_us = 0, prompt_tokens = 1024, output_tokens = 1 } end
      end }
    end

    local function longest(result)
      local us = 0
      for _, one in ipairs(result.requests) do us = math.max(us, one.frontend_us or 0) end
      return us
    end

    it("serializes a burst and records it", function()
      near(446000, longest(burst { kernel_tables = false }), 0.01)
      near(64 * 7514 + 2400, longest(burst {}), 0.01)
      near(64 * 7514 + 45600, longest(burst { frontend = "chat" }), 0.01)
      near(8 * 7514 + 2400, longest(burst { api_servers = 8 }), 0.01)
      near(64 * 2024 + 2400, longest(burst { frontend_rate = 1000, frontend_us_per_token = 1 }),
        0.01)
    end)

    it("can be turned off, and is off with other latency models", function()
      assert.is_nil(burst({ frontend = "none" }).requests[1].frontend_us)
      assert.is_nil(burst({ latency_model = "calibrated" }).requests[1].frontend_us)
      near(446000, longest(burst { latency_model = "calibrated", frontend = "completions" }), 0.01)
    end)

    it("is part of TTFT", function()
      local with, without = burst {}, burst { frontend = "none" }
      local last, first = with.requests[64], without.requests[1]
      assert.is_true(last.ttft_us > last.frontend_us)
      assert.is_true(last.scheduling_delay_us >= last.frontend_us)
      assert.is_true(first.ttft_us > 0)
    end)

    it("is part of records: front end, queue, and prefill add up to TTFT", function()
      for _, one in ipairs(burst({}).requests) do
        local queue_us = one.scheduling_delay_us - one.frontend_us
        local prefill_us = one.ttft_us - one.scheduling_delay_us
        assert.is_true(one.frontend_us > 0 and queue_us >= 0 and prefill_us > 0)
        assert.equal(one.ttft_us, one.frontend_us + queue_us + prefill_us)
      end
    end)

    --- A burst of 64 prompts, sent by a router that reads signals, with the log of its steps.
    local function observed(frontend)
      local seen, i = {}, 0
      local result = blis.run { keep_steps = true, cluster = { model = llama, hardware = "H100",
        kv_blocks = 30000, frontend = frontend },
        routing = function(_, candidates)
          seen[#seen + 1] = { pending = candidates[1].pending,
            queue_depth = candidates[1].queue_depth,
            prefill = candidates[1].pending_prefill_tokens }
          return 1
        end,
        workload = function()
          i = i + 1
          if i <= 64 then return { arrival_us = i, prompt_tokens = 1024, output_tokens = 1 } end
        end }
      return seen, result.step_log.instances[1]
    end

    it("is part of signals: requests in it, in the queue, and tokens to compute", function()
      local seen = observed "completions"
      assert.same({ pending = 63, queue_depth = 0, prefill = 63 * 1024 }, seen[64])
    end)

    it("is part of the log of steps", function()
      local _, steps = observed "completions"
      assert.is_true(steps.in_front_end[1] >= 60)
      assert.equal(0, steps.in_front_end[#steps.steps])
      for k = 2, #steps.steps do
        assert.is_true(steps.in_front_end[k] <= steps.in_front_end[k - 1])
      end
      local _, others = observed "none"
      for k = 1, #others.steps do assert.equal(0, others.in_front_end[k]) end
    end)

    it("names an option without effect", function()
      assert.error_matches(function() burst { frontend = "none", frontend_rate = 3 } end,
        "cluster.frontend_rate has no effect without a front end", 1, true)
    end)
  end)

  describe("scheduling", function()
    -- A request that decodes, and another that arrives in the middle of a step.
    local function second(cluster)
      cluster.model, cluster.hardware, cluster.latency_model = llama, "H100", "composed"
      cluster.frontend = "none"
      local arrivals, i = { 0, 500000 }, 0
      local result = blis.run { cluster = cluster, workload = function()
        i = i + 1
        if arrivals[i] then
          return { arrival_us = arrivals[i], prompt_tokens = 64, output_tokens = 200 }
        end
      end }
      return result.requests[2].scheduling_delay_us
    end

    it("lets a request wait for one step more when it looks ahead", function()
      local step = model { model = llama }:step_time(decodes(1, 150))
      local ahead, sync = second {}, second { async_scheduling = false }
      assert.is_true(ahead > step and ahead <= 2 * step, tostring(ahead))
      assert.is_true(sync <= step + 600, tostring(sync))
    end)

    it("follows the version of the engine, unless it is given", function()
      local new, old = second { backend_version = "0.17.0" }, second { backend_version = "0.12.0" }
      assert.equal(second {}, new)
      assert.equal(second { async_scheduling = false }, old)
      assert.equal(second { async_scheduling = true },
        second { backend_version = "0.12.0", async_scheduling = true })
      assert.error_matches(function() second { backend_version = "latest" } end,
        "cluster.backend_version: invalid value 'latest'; expected a version of vLLM", 1, true)
    end)

    it("is part of the estimated TTFT", function()
      local estimates, count = 0, 0
      local result = blis.run {
        cluster = { model = llama, hardware = "H100", tp = 1, latency_model = "composed" },
        workload = { rate = 8, num_requests = 300, prompt_tokens = 800, output_tokens = 100 },
        routing = function(_, instances)
          estimates, count = estimates + instances[1].estimated_ttft_us, count + 1
          return 1
        end,
      }
      near(result.ttft_ms.mean * 1000, estimates / count, 0.15)
    end)

    it("scales layers by engine_scale", function()
      local one = model { model = llama }:step_time(decodes(8, 500))
      local two = model { model = llama, engine_scale = 2 }:step_time(decodes(8, 500))
      assert.is_true(two > 1.6 * one and two < 2 * one)
    end)
  end)
end)
