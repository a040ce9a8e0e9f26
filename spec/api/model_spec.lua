local blis = require "blis"
local commands = require "spec.support.commands"
local core = require "blis.core"
local files = require "spec.support.files"
local old_defaults = require "spec.support.old_defaults"
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

local llama = "meta-llama/llama-3.1-8b-instruct"
local here = debug.getinfo(1, "S").source:match("^@(.*/)")

--- Options with the limits of a step and the memory of 1.0-rc1, which the worked numbers have.
local function limited(options)
  local all = old_defaults.pinned(options)
  all.kv_reserve = all.kv_reserve or "sized"
  return all
end

local function kv_capacity(options) return blis.kv_capacity(limited(options)) end

local function run(cluster)
  return blis.run(small.experiment { cluster = limited(cluster) })
end

local function error_of(cluster) return small.message_of(run, cluster) end

--- An own model with 4 layers: a number, or a list.
local function own_model(layers, formats)
  local model = { id = "own/model", hidden_size = 4096, vocab_size = 32000, attention_heads = 32,
    kv_heads = 8, head_dim = 128, intermediate_size = 12288, layers = layers }
  for key, value in pairs(formats) do model[key] = value end
  return model
end

describe("the formats of an own model", function()
  local function capacity_of(layers, formats)
    return kv_capacity { model = own_model(layers, formats), hardware = "H100", tp = 1 }
  end
  -- Weights of the layers, and two matrices for tokens in 16 bits.
  local inside = 4 * (4096 * 4096 * 2 + 4096 * 1024 * 2 + 3 * 4096 * 12288)
  local outside = 2 * 2 * 4096 * 32000

  for _, layers in ipairs { 4, { { count = 4 } } } do
    it("follow from quantization and kv_cache_dtype with layers as a " .. type(layers), function()
      for name, bytes in pairs { fp8 = 1, int8 = 1, nvfp4 = 0.5625, awq = 0.5 + 2.5 / 128,
        fp8_block = 1 + 4 / 16384, none = 2 } do
        local c = capacity_of(layers, { quantization = name })
        assert.near(outside + bytes * inside, c.weights_gib * (1 << 30), 1e6, name)
        assert.equal(4 * 2 * 8 * 128 * 2, c.bytes_per_token)
      end
      assert.equal(4 * 2 * 8 * 128, capacity_of(layers, { kv_cache_dtype = "fp8" }).bytes_per_token)
      local c = capacity_of(layers, { weights = { dense = "fp8" }, kv_cache_dtype = "fp8" })
      assert.near(outside + 2 * inside - 4 * 3 * 4096 * 12288, c.weights_gib * (1 << 30), 1e6)
    end)

    it("are never assumed, with layers as a " .. type(layers), function()
      assert.matches("unknown quantization 'fp9'; expected none, fp8, ",
        small.message_of(capacity_of, layers, { quantization = "fp9" }), 1, true)
    end)
  end

  it("accept enable_expert_parallel, as vllm serve spells it", function()
    local r = blis.run(small.experiment { cluster = { model = "qwen/qwen3-30b-a3b",
      hardware = "H100", tp = 2, enable_expert_parallel = true } })
    assert.is_true(#r.requests > 0)
  end)
end)

describe("blis.kv_capacity", function()
  it("gives every term of the calculation", function()
    local function flat(options)
      options.kv_reserve = "flat"
      return kv_capacity(options)
    end
    local c = flat { model = llama, hardware = "H100", tp = 1 }
    assert.same({
      model = llama, hardware = "H100", tp = 1, dp = 1, block_size = 16, blocks = 26312,
      tokens = 420992, logged_tokens = 420992, bytes_per_token = 131072.0,
      bytes_per_block = 2097152,
      params = 8030261248, weight_bytes = 16060522496, allocatable_bytes = 55182247526,
      memory_gib = 72.0, weights_gib = 14.957527160644531, activations_gib = 5.5,
      non_torch_gib = 0.15, reserved_gib = 0.0, overhead_gib = 20.60752716064453,
    }, c)
    local two = flat { model = llama, hardware = "H100", tp = 2 }
    assert.equal(59823, two.blocks)
    assert.near(
      (144 - 14.957527160644531 - 2 * 5.5 - 1.2) / 2 * (1 << 30), two.allocatable_bytes, 1)
    local qwen = flat {}
    assert.equal(15909, qwen.blocks)
    assert.equal(41706176102, qwen.allocatable_bytes)
  end)

  it("reserves memory by the sizes of the model", function()
    local c = kv_capacity { model = llama, hardware = "H100", tp = 2 }
    assert.equal(63957, c.blocks)
    assert.near(2 * 0.9 * 79.19, c.memory_gib, 1e-9)
    -- 2 bytes x 2,048 tokens x (4 x 4,096 + 3 x 14,336 / 2); 16 bytes x 128,256 words x 256.
    local bytes = 2 * 2048 * (4 * 4096 + 3 * 14336 / 2) + 16 * 128256 * 256
    assert.near(2 * bytes / (1 << 30), c.activations_gib, 1e-9)
    assert.equal(1.4, c.non_torch_gib)
    assert.equal(c.allocatable_bytes // c.bytes_per_block, c.blocks)
  end)

  it("has the blocks that vLLM reported", function()
    local function blocks(model, hardware, tp, sequences)
      return kv_capacity { model = model, hardware = hardware, tp = tp,
        max_num_seqs = sequences, max_num_batched_tokens = 2048 }.blocks
    end
    assert.near(1, blocks("codellama/CodeLlama-34b-Instruct-hf", "H100", 2, 128) / 26602, 0.01)
    assert.near(1, blocks("meta-llama/llama-2-70b-hf", "H100", 4, 128) / 31356, 0.01)
    assert.near(1, blocks(llama, "RTX 4090", 1, 256) / 2588, 0.01)
  end)

  it("can count all GPUs for each of them, as BLIS in Go does", function()
    local options = { model = llama, hardware = "H100", tp = 2, kv_capacity_per_gpu = false }
    local c = kv_capacity(options)
    assert.equal(125278, c.blocks)
    assert.equal(131364229939, c.allocatable_bytes)
    assert.equal(c.blocks, run(options).setup.kv_blocks)
  end)

  it("says on how many GPUs a model would fit", function()
    local message = small.message_of(kv_capacity,
      { model = "meta-llama/llama-3.1-70b-instruct", hardware = "H100", tp = 1 })
    says(message,
      "does not fit: each GPU needs 132.81 GiB (weights 131.42 + other 1.39) and has 71.27")
    says(message, "at least 2 GPUs are needed")
    says(small.message_of(kv_capacity, { model = llama, hardware = "custom", tp = 1 }),
      "memory_gib")
    says(small.message_of(kv_capacity, { model = llama, gpu_memory_utilization = 1.5 }),
      "invalid value 1.5: expected a number above 0 and up to 1")
    says(small.message_of(kv_capacity, { model = "qwen/qwen2.5-7b-instruct",
      hardware = "H100", tp = 3 }), "heads")
  end)
end)

describe("what a run is made of", function()
  it("is in its result: blocks as computed, with their terms, or as given", function()
    local r = run { model = llama, hardware = "H100", tp = 1 }
    assert.equal(28235, r.setup.kv_blocks)
    assert.is_true(r.setup.kv_blocks_computed)
    assert.equal(28235 * 2097152, r.setup.capacity.allocatable_bytes // 2097152 * 2097152)
    assert.equal(8030261248, r.setup.capacity.params)
    says(tostring(r), "KV cache of 28,235 blocks of 16 tokens (451,760 tokens): 71.3 GiB usable "
      .. "- 14.96 weights - 0.72 activations - 0.45 other")
    local given = run { model = llama, hardware = "H100", tp = 1, kv_blocks = 1234 }
    assert.equal(1234, given.setup.kv_blocks)
    assert.is_false(given.setup.kv_blocks_computed)
    assert.is_nil(given.setup.capacity)
    says(tostring(given), "KV cache of 1,234 blocks of 16 tokens (19,744 tokens), as given")
  end)

  it("takes the worked times of one request, end to end", function()
    local function one(latency_model)
      return blis.run {
        cluster = { model = llama, hardware = "H100", tp = 1, latency_model = latency_model },
        workload = { requests = 1, rate = 1, prompt_tokens = 1000, output_tokens = 4 },
      }
    end
    local trained, roofline = one "trained-physics", one "roofline"
    assert.same({ 24.709, 6.956, 46.354, 15.563 }, { trained.ttft_ms.mean, trained.itl_ms.mean,
      trained.e2e_ms.mean, trained.scheduling_delay_ms.mean })
    assert.same({ 31.942, 4.206, 44.56, 0.0 }, { roofline.ttft_ms.mean, roofline.itl_ms.mean,
      roofline.e2e_ms.mean, roofline.scheduling_delay_ms.mean })
  end)

  it("has a price when the GPU has one", function()
    local r = run { instances = 2, model = llama, hardware = "H100", tp = 2 }
    local cost = r.cost
    assert.equal(4, cost.gpus)
    assert.near(4 * r.duration_us / 3.6e9, cost.gpu_hours, 1e-12)
    assert.near(cost.gpu_hours * 3.5, cost.usd, 1e-12)
    assert.near(cost.usd / r.output_tokens * 1e6, cost.usd_per_million_output_tokens, 1e-9)
    says(tostring(r), " USD per million output tokens")
    local other = run { instances = 2, model = llama, hardware = "H100", tp = 2,
      gpu_price_per_hour = 7 }
    assert.near(2 * cost.usd, other.cost.usd, 1e-12)
    assert.equal(r.hash, other.hash)
    local unknown = run { model = llama, hardware = { name = "mine", memory_gib = 80,
      peak_tflops = 900, bandwidth_tb_s = 3, mfu_prefill = 0.4, mfu_decode = 0.3 }, tp = 1 }
    assert.is_nil(unknown.cost.usd)
    assert.is_true(unknown.cost.gpu_hours > 0)
    assert.is_nil(tostring(unknown):find("USD", 1, true))
  end)

  it("keeps sequences within the model and the KV cache", function()
    assert.equal(40960, run({}).setup.max_model_len)
    assert.equal(160, run({ kv_blocks = 10 }).setup.max_model_len)
    assert.equal(100, run({ kv_blocks = 10, max_model_len = 100 }).setup.max_model_len)
    local r = blis.simulation(small.experiment { -- blis.run tells a person
      cluster = { kv_blocks = 30, max_model_len = 1000 } }):run()
    assert.equal(480, r.setup.max_model_len)
    says(r.setup.notes, "max_model_len is 480, not 1000: that is what 30 KV blocks hold")
    assert.equal(0, run({ kv_blocks = 30, max_model_len = 0 }).setup.max_model_len)
    says(error_of { max_model_len = -1 }, "cluster.max_model_len: invalid value -1")
  end)
end)

describe("blis.run #host", function()
  it("tells what is known to be inaccurate, on standard error and once", function()
    program.with_file([[
      local blis = require "blis"
      for _ = 1, 2 do
        blis.run { cluster = { model = "deepseek-ai/deepseek-v2-lite", hardware = "H100", tp = 1,
          latency_model = "calibrated", moe_comm_backend = "pplx" },
          workload = { requests = 1, output_tokens = 2 } }
      end
    ]], function(path)
      local outcome = program.run(path)
      assert.equal("blis: note: deepseek-v2-lite uses latent attention (MLA): its step "
        .. "times have not been validated\nblis: note: the MoE communication backend has no effect "
        .. "with dp 1\n", outcome.err)
      assert.equal(0, outcome.status)
    end)
  end)
end)

describe("the folders models and hardware #host", function()
  it("may hold other things, of which a person is told", function()
    local outcome = program.shell([[
      folder=$(mktemp -d) && BLIS=$(realpath "$BLIS") && cd "$folder" || exit
      mkdir -p models/bad hardware
      echo '{"hidden_size": 64' >models/bad/config.json
      echo 'weights: 5' >models/other.yaml
      echo 'hardware: [{name: mine, memory_gib: 7}]' >hardware/mine.yaml
      "$BLIS" hardware mine --format csv
      "$BLIS" models --format csv | wc -l
      "$BLIS" models bad
      rm -r "$folder"]])
    says(outcome.out, "\nmine,7,,,,,,,,,,,,,,hardware/mine.yaml\n")
    says(outcome.out, "\n" .. #require("blis.core").models() + 1 .. "\n")
    says(outcome.err, "blis: note: skipped: models/bad/config.json:")
    says(outcome.err, "blis: note: skipped: models/other.yaml:1: 'weights' is unknown")
    says(outcome.err, "\nblis: models/bad/config.json:")
  end)
end)

describe("a model of one's own", function()
  local config = files.read(here .. "models/toy-fp8/config.json")

  it("is a config.json or the folder it is in", function()
    for _, path in ipairs { here .. "models/toy-fp8/config.json", here .. "models/toy-fp8",
      here .. "models/toy-fp8/" } do
      local r = run { model = path, hardware = "H100" }
      assert.equal("toy-fp8", r.setup.model)
      assert.equal(1, r.setup.tp)
      assert.equal(32768, r.setup.max_model_len)
      -- The file states no quantization, so the name of the folder does not count.
      assert.equal(16060522496, r.setup.capacity.weight_bytes)
      assert.equal(131072.0, r.setup.capacity.bytes_per_token)
    end
    local named = run { model_config = here .. "models/toy-fp8", hardware = "H100" }
    assert.equal("toy-fp8", named.setup.model)
    local as_llama = run { model = llama, model_config = here .. "models/toy-fp8" }
    assert.equal(llama, as_llama.setup.model)
    assert.equal("H100", as_llama.setup.hardware)
    assert.equal(16060522496, as_llama.setup.capacity.weight_bytes)
  end)

  it("runs on the smallest number of H100 that fits, if nothing else is stated", function()
    local wide = config:gsub('"num_hidden_layers": *%d+', '"num_hidden_layers": 300')
    for text, tp in pairs { [config] = 1, [wide] = 2 } do
      files.with(text, function(path)
        local r = run { model_config = path }
        assert.same({ "H100", tp }, { r.setup.hardware, r.setup.tp })
        local shown = core.json_read(commands.output_of("models", path, "--format", "json",
          "--max-num-seqs", "256", "--max-num-batched-tokens", "2048",
          "--gpu-memory-utilization", "0.9"))
        assert.same({ "H100", tp }, { shown.engine.hardware, shown.engine.tp })
        assert.equal(r.setup.kv_blocks, shown.kv_blocks)
      end)
    end
  end)

  it("needs hardware in profile go-blis, and everything that counts", function()
    local go_blis = small.experiment { cluster = { model = here .. "models/toy-fp8" } }
    go_blis.profile = "go-blis"
    says(small.message_of(blis.run, go_blis),
      "cluster.hardware is missing, and the catalogue has no default GPU for toy-fp8")
    for _, key in ipairs { "num_hidden_layers", "hidden_size", "num_attention_heads" } do
      files.with((config:gsub('"' .. key .. '"', '"other"')), function(path)
        os.rename(path, path .. ".json")
        local message = error_of { model = path .. ".json", hardware = "H100" }
        os.remove(path .. ".json")
        says(message, path .. ".json")
        says(message, key)
      end)
    end
    says(error_of { model = "./no-such/config.json", hardware = "H100" },
      "./no-such/config.json")
    says(error_of { model = here .. "models/toy-fp8", model_config = "x" },
      "both describe the model")
  end)

  it("is found beside the script, and so is a GPU", function()
    local r = run { model = "toys/toy-1b" }
    assert.equal("toy-gpu", r.setup.hardware)
    assert.equal(2 * 16 * 2 * 8 * 64, r.setup.capacity.bytes_per_token)
    assert.equal(r.hash, run({ model = "toy-1b" }).hash)
    assert.equal("toy-fp8", run({ model = "toy-fp8", hardware = "toy-gpu" }).setup.model)
    says(error_of { model = "toy-2b" }, "unknown model 'toy-2b'")
    says(error_of { model = "../api/models/toy-1b" }, "../api/models/toy-1b/config.json")
  end)

  it("is listed with those of the catalogue, and so is a GPU", function()
    local by_id = {}
    for _, model in ipairs(blis.models()) do by_id[model.id] = model end
    assert.equal(16, by_id["toys/toy-1b"].layers)
    assert.equal(16060522496, by_id["toy-fp8"].weight_bytes)
    assert.equal(32, by_id[llama].layers)
    assert.equal("toys/toy-1b", blis.models("toy-1b").id)
    assert.equal(here .. "models/toy-fp8/config.json", blis.models("toy-fp8").source)
    assert.equal(32, blis.models(here .. "models/toy-fp8").layers)
    local gpus = blis.hardware()
    assert.equal("toy-gpu", gpus[#gpus].name)
    assert.equal(24, blis.hardware("TOY-GPU").memory_gib)
    says(small.message_of(blis.models, "toy-fp9"), "unknown model 'toy-fp9'")
  end)

  it("is a table with runs of layers", function()
    local model = { id = "own/layers", hidden_size = 5376, vocab_size = 262208,
      attention_heads = 32, kv_heads = 16, head_dim = 128, intermediate_size = 21504,
      tie_word_embeddings = true,
      layers = { { count = 10 }, { count = 52, attention = "window", window = 1024 } } }
    local r = run { model = model, hardware = "H100", tp = 2 }
    assert.equal("own/layers", r.setup.model)
    model.layers[2].window = nil
    says(error_of { model = model, hardware = "H100", tp = 2 }, "needs window")
    model.layers[2] = { count = 52, windw = 1024 }
    says(error_of { model = model, hardware = "H100", tp = 2 }, "did you mean 'window'?")
    model.layers = {}
    assert.is_string(error_of { model = model, hardware = "H100", tp = 2 })
  end)

  it("runs from the catalogue on its usual GPU without a config.json", function()
    local r = run { model = "openai/gpt-oss-120b" }
    assert.same({ "H100", 1 }, { r.setup.hardware, r.setup.tp })
  end)

  it("is a table, and so is a GPU", function()
    local model = { id = "own/model", layers = 32, hidden_size = 4096, attention_heads = 32,
      kv_heads = 8, vocab_size = 128256, intermediate_size = 14336, bytes_per_param = 2,
      max_model_tokens = 131072 }
    local gpu = { name = "B200", aliases = { "b200-sxm" }, peak_tflops = 2250, fp8_tflops = 4500,
      bandwidth_tb_s = 8, mfu_prefill = 0.4, mfu_decode = 0.3, memory_gib = 192,
      price_per_hour = 5.5 }
    local r = run { model = model, hardware = gpu, tp = 1 }
    assert.equal("own/model", r.setup.model)
    assert.equal("B200", r.setup.hardware)
    assert.equal(5.5, r.setup.gpu_price_per_hour)
    local h100 = blis.hardware("h100")
    h100.source = nil
    assert.equal(run({ model = llama, hardware = "H100", tp = 1 }).hash,
      run({ model = model, hardware = h100, tp = 1 }).hash)
    gpu.peak_tflop = 5
    says(error_of { hardware = gpu }, "unknown key 'peak_tflop'; did you mean 'peak_tflops'?")
    says(error_of { hardware = { memory_gib = 5 } }, "cluster.hardware.name: invalid value nil")
    model.layers = "many"
    says(error_of { model = model, hardware = "H100", tp = 1 }, "cluster.model:1: ")
  end)
end)

describe("the catalogue", function()
  local text = [[
hardware:
  - {name: H100, memory_gib: 160, peak_tflops: 989.5, bandwidth_tb_s: 3.35, mfu_prefill: 0.45,
     mfu_decode: 0.3, price_per_hour: 1}
  - {name: X1, memory_gib: 80, peak_tflops: 500, bandwidth_tb_s: 2, mfu_prefill: 0.4,
     mfu_decode: 0.2}
]]

  it("is a list that prints as a table", function()
    local models, gpus = blis.models(), blis.hardware()
    assert.is_true(#models >= 13 and #gpus >= 3)
    says(tostring(gpus), "H100")
    says(tostring(models), llama)
    assert.equal(80, blis.hardware("A100").memory_gib)
    assert.equal(32, blis.models("llama-3.1-8b-instruct").layers)
    says(small.message_of(blis.hardware, "H10"), "unknown GPU 'H10'; did you mean 'H100'?")
    says(small.message_of(blis.models, "qwen3-13b"), "qwen3-14b")
    says(small.message_of(blis.models, { catalog = "x" }), "did you mean 'catalogue'?")
  end)

  it("takes files, which go before the rest, for this experiment alone", function()
    files.with(text, function(path)
      assert.equal(160, blis.hardware({ catalogue = path })[1].memory_gib)
      assert.equal("X1", blis.hardware({ catalogue = { path } })[#blis.hardware() + 1].name)
      local r = run { model = llama, hardware = "H100", tp = 1, catalogue = path }
      assert.equal(144.0, r.setup.capacity.memory_gib)
      assert.equal(1.0, r.setup.gpu_price_per_hour)
      assert.near(0.9 * 79.19, run({ model = llama, tp = 1 }).setup.capacity.memory_gib, 1e-9)
      assert.equal("X1", run({ hardware = "X1", catalogue = { path } }).setup.hardware)
      says(error_of { hardware = "X1" }, "unknown hardware")
    end)
    files.with("hardware:\n  - {name: a, memory: 5}\n", function(path)
      says(error_of { catalogue = path }, path .. ":2")
    end)
    says(error_of { catalogue = "/no/such.yaml" }, "/no/such.yaml")
    says(error_of { catalogue = { 5 } }, "expected the path of a file, or a list of them")
  end)
end)
