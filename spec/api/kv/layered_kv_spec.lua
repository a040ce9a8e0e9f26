local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"

local function run(cluster, more)
  local options = { cluster = cluster, workload = { rate = 20, requests = 60, seed = 3,
    prompt_tokens = 3000, output_tokens = 40 } }
  for key, value in pairs(more or {}) do options[key] = value end
  return blis.run(options)
end

local oss = { model = "openai/gpt-oss-120b", hardware = "H200", tp = 1 }

local function with(base, more)
  local all = {}
  for key, value in pairs(base) do all[key] = value end
  for key, value in pairs(more) do all[key] = value end
  return all
end

local function engine_of(...)
  return core.json_read(commands.output_of("models", "--format", "json", ...))
end

describe("KV cache of a model with windows", function()
  it("counts the blocks of all KV groups", function()
    local model = engine_of("openai/gpt-oss-120b", "--hardware", "H200", "--tp", "1")
    -- 2 groups of 18 layers: blocks of 18 pages of 16 tokens of 2,048 bytes.
    assert.equal(18 * 16 * 2048, model.engine.capacity.bytes_per_block)
    assert.equal(model.kv_blocks // 2 * 16, model.kv_tokens)
    assert.is_true(model.fits)
    local c = model.engine.capacity
    local room = c.memory_gib - c.weights_gib - c.activations_gib - c.non_torch_gib
    assert.equal(math.floor(room * (1 << 30) / c.bytes_per_block), model.kv_blocks)
    assert.near(139.81 * 0.92, c.memory_gib, 1e-9)
  end)

  it("prints how the tokens follow from the blocks", function()
    local text = commands.output_of("models", "Qwen/Qwen3.5-27B", "--hardware", "H200")
    local blocks, tokens, groups, size = text:match(
      "\n  ([%d,]+) blocks %(([%d,]+) tokens: [%d,]+ / (%d+) KV groups, x (%d+) tokens a block%)")
    local function number(digits) return math.tointeger((digits:gsub(",", ""))) end
    assert.same({ "4", "784" }, { groups, size })
    assert.equal(number(blocks) // 4 * 784, number(tokens))
    local r = run(with(oss, { kv_blocks = nil }))
    assert.matches("KV cache of [%d,]+ blocks %([%d,]+ tokens%): ", tostring(r))
  end)

  it("gives both engines the same results", function()
    local fast = run(with(oss, { kv_blocks = 2000, engine = "fast" }))
    local stepwise = run(with(oss, { kv_blocks = 2000, engine = "stepwise" }))
    assert.equal(fast.hash, stepwise.hash)
  end)

  it("frees the blocks behind windows, unless hybrid_kv_cache is off", function()
    local layout = { { kind = "full" }, { kind = "window", tokens = 128 } }
    local own = run(with(oss, { kv_blocks = 2000 }))
    assert.equal(run(with(oss, { kv_blocks = 2000, kv_layout = layout })).hash, own.hash)
    local whole = run(with(oss, { hybrid_kv_cache = false }))
    assert.is_true(whole.setup.capacity.bytes_per_block == 36 * 16 * 2048)
  end)

  it("has one state per sequence and no hits in models with states", function()
    local r = run({ model = "Qwen/Qwen3.5-27B", hardware = "H200", tp = 1 })
    assert.equal(16 * 784 * 4096, r.setup.capacity.bytes_per_block)
    assert.equal(60, #r.requests)
  end)
end)

describe("a hand-off", function()
  it("moves windows and states once, beside the growing KV", function()
    local function bytes_of(prompt)
      local r = blis.run { cluster = { model = "openai/gpt-oss-120b", hardware = "H200", tp = 1,
        prefill_instances = 1, decode_instances = 1 },
        workload = { rate = 1, requests = 1, prompt_tokens = prompt, output_tokens = 4 } }
      return r.requests[1].moved_bytes
    end
    -- 18 full layers and 18 windows of 128 tokens; 2 x 8 heads x 64 x 2 bytes in each.
    assert.equal(18 * 2048 * 1600 + 18 * 2048 * 128, bytes_of(1600))
    -- The last token of a prompt is computed again. Its block moves, and 63 tokens of windows.
    assert.equal(18 * 2048 * 64 + 18 * 2048 * 63, bytes_of(64))
  end)
end)

describe("KV tiers", function()
  local function bytes_saved(cluster)
    local result = run(cluster, {
      workload = { rate = 1, requests = 1, prompt_tokens = 1600, output_tokens = 4 },
      kv_tiers = { { name = "cpu", gb = 10, read_gb_s = 20 } },
    })
    return result.kv_tiers.tiers[1].saved_gb * 1e9, result
  end

  it("keep every token of windows, as KV connectors need", function()
    local bytes, result = bytes_saved(oss)
    -- 36 layers, 2 x 8 heads x 64 x 2 bytes in each.
    assert.near(36 * 2048 * 1600, bytes, 1)
    local all = run(with(oss, { hybrid_kv_cache = false }))
    assert.equal(all.setup.kv_blocks, result.setup.kv_blocks)
  end)

  it("are refused for states, which no prefix contains", function()
    local _, problem = pcall(bytes_saved,
      { model = "Qwen/Qwen3.5-27B", hardware = "H200", tp = 1 })
    assert.matches("kv_tiers: Qwen/Qwen3.5-27B has layers with states (64 layers: 48 gdn, 16 "
      .. "full), which no cached prefix contains", problem.message, 1, true)
  end)
end)

describe("number formats", function()
  it("are those of vllm serve", function()
    local function weights(...)
      return engine_of("qwen/qwen3-14b", "--hardware", "H100", "--tp", "1", ...)
    end
    local bf16, fp8 = weights(), weights("--quantization", "fp8", "--kv-cache-dtype", "fp8")
    assert.is_true(fp8.weight_bytes < 0.6 * bf16.weight_bytes)
    assert.equal(bf16.kv_bytes_per_token / 2, fp8.kv_bytes_per_token)
  end)

  it("are refused where nothing would use them", function()
    local _, message = commands.error_of("run", "--model", "qwen/qwen3-14b", "--num-requests", "3",
      "--profile", "go-blis", "--quantization", "fp8")
    assert.matches("have no effect on qwen/qwen3%-14b; expected a model with known layers", message)
    _, message = commands.error_of("run", "--model", "qwen/qwen3-14b", "--num-requests", "3",
      "--quantization", "bogus")
    assert.matches("unknown quantization 'bogus'; expected none, fp8,", message)
  end)
end)
