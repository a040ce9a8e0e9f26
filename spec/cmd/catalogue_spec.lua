local commands = require "spec.support.commands"
local core = require "blis.core"
local engine_options = require "blis.engine"
local files = require "spec.support.files"

local function json_of(...)
  local arguments = { ... }
  arguments[#arguments + 1] = "--format"
  arguments[#arguments + 1] = "json"
  return core.json_read(commands.output_of(table.unpack(arguments)))
end

describe("blis models", function()
  it("knows the dimensions of every model", function()
    assert.is_nil(commands.output_of("models"):match "needs a config.json")
  end)

  it("shows a model of several kinds of layers by its published name, in any case", function()
    local model = json_of("models", "GOOGLE/gemma-3-27B-it", "--hardware", "H100", "--tp", "2")
    assert.equal("62 layers: 52 window 1,024, 10 full", model.summary)
    assert.equal(27008663808, model.parameters)
    assert.equal(40960, model.kv_bytes_per_token)
    assert.equal(218103808, model.window_bytes_per_sequence)
    assert.equal(0, model.state_bytes_per_sequence)
    local oss = json_of("models", "openai/gpt-oss-120b")
    assert.same({ "H100", 1 }, { oss.engine.hardware, oss.engine.tp })
    assert.near(65.25e9, oss.weight_bytes, 0.05e9)
  end)

  it("fits every model on its usual GPUs", function()
    for _, model in ipairs(core.models()) do
      if model.hardware and model.tp then
        local cluster = engine_options.read({ model = model.id }, "cluster")
        cluster.horizon_us = math.maxinteger
        assert.is_true(core.engine_facts(cluster).kv_blocks > 0)
      end
    end
  end)

  it("prints totals of a model that does not fit", function()
    local model = json_of("models", "deepseek-ai/DeepSeek-V3", "--hardware", "H100", "--tp", "1")
    assert.is_false(model.fits)
    assert.equal(0, model.kv_blocks)
    assert.near(671.03e9, model.parameters, 0.1e9)
    assert.matches("does not fit", model.notes[1], 1, true)
  end)

  it("sizes a model whose experts per token are unknown", function()
    files.with([[{"model_type": "minimax_m2", "num_hidden_layers": 4, "hidden_size": 256,
      "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 1000,
      "intermediate_size": 512, "num_local_experts": 8, "dtype": "bfloat16"}]], function(path)
      local model = json_of("models", path, "--hardware", "H100", "--tp", "1")
      assert.is_true(model.fits)
      assert.is_true(model.kv_blocks > 0 and model.kv_tokens == 16 * model.kv_blocks)
      assert.is_nil(model.engine)
      assert.matches("step times are unknown", model.notes[1], 1, true)
      assert.matches("\nKV cache\n  [%d,]+ blocks %([%d,]+ tokens%)",
        commands.output_of("models", path, "--hardware", "H100", "--tp", "1"))
    end, ".json")
  end)

  it("counts sequences of the longest length", function()
    local model = json_of("models", "google/gemma-3-27b-it", "--hardware", "H100", "--tp", "2",
      "--max-model-len", "8192", "--max-num-batched-tokens", "2048")
    -- One full group, and six groups of windows that keep 1,023 + 2,048 tokens and one block more.
    local blocks = 8192 // 16 + 6 * ((1023 + 2048 + 15) // 16 + 1)
    assert.equal(8192, model.engine.max_model_len)
    assert.near(model.kv_blocks / blocks, model.engine.max_concurrency, 1e-9)
  end)

  it("agrees with the sizes of published files", function()
    -- Bytes of the language model in the published files, in 1e9. Towers and draft layers are not
    -- counted.
    for name, gigabytes in pairs {
      ["moonshotai/Kimi-K3"] = 1559.9, ["XiaomiMiMo/MiMo-V2.5-Pro"] = 1031.0,
      ["MiniMaxAI/MiniMax-M3-MXFP8"] = 442.0, ["zai-org/GLM-5.1"] = 1488.0,
      ["RedHatAI/DeepSeek-V4-Flash-NVFP4-FP8"] = 164.0, ["deepseek-ai/DeepSeek-V4-Pro"] = 850.6,
    } do
      local bytes = json_of("models", name).weight_bytes
      assert.near(1, bytes / (gigabytes * 1e9), 0.002, name)
    end
  end)

  it("does not fit where the degree does not divide the query heads", function()
    local model = json_of("models", "qwen/qwen2.5-7b-instruct", "--hardware", "H100", "--tp", "8")
    assert.is_false(model.fits)
    assert.same({ 0, 0 }, { model.kv_blocks, model.kv_tokens })
    assert.matches("attention_heads (28) must be divisible by tp (8)", model.notes[1], 1, true)
  end)

  it("reads FP8 with scales of one byte as FP8", function()
    -- 1 + 1/16,384 bytes a weight. Read as INT8, it would have the rates of INT8.
    for _, name in ipairs { "deepseek-ai/DeepSeek-V3.1", "sgl-project/DeepSeek-V4-Pro-FP8" } do
      local text = commands.output_of("models", name, "--hardware", "B300")
      assert.matches("% fp8_block, ", text, 1, true)
      assert.not_matches("int8", text, 1, true)
    end
  end)

  it("counts the output matrix in the shares of the formats", function()
    -- The files of this model quantize the output matrix, and the name of a format does not.
    local name = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"
    assert.matches("GB of weights (99.5% nvfp4, 0.517% model)",
      commands.output_of("models", name, "--hardware", "B200"), 1, true)
    assert.matches("GB of weights (99% nvfp4, 0.962% model)",
      commands.output_of("models", name, "--hardware", "B200", "--quantization", "nvfp4"), 1, true)
  end)

  it("lists the catalogue in every form", function()
    assert.matches("\nmeta%-llama/llama%-3%.1%-8b%-instruct +32 +4,096 +32 +8 +%- +15%.0 +131,072 ",
      commands.output_of "models")
    assert.matches("\nmeta-llama/llama-3.1-8b-instruct,32,4096,32,8,,16060522496,131072,H100,1,",
      commands.output_of("models", "--format", "csv"), 1, true)
    local list = json_of "models"
    assert.is_true(#list > 12)
    assert.equal(48, list[1].layers)
  end)

  it("shows what one model means on a GPU", function()
    local text = commands.output_of("models", "llama-3.1-8b-instruct", "--hardware", "h100")
    assert.equal([[
32 layers: 32 full
  8.030 G parameters, 8.030 G of them active per token
  16.061 GB of weights (100% model); on each GPU at tp 1: 16.061 GB
  KV cache of 16 bits per element; on each GPU at tp 1: 131,072 bytes per token

meta-llama/llama-3.1-8b-instruct
  layers                               32
  hidden_size                       4,096
  attention_heads                      32
  kv_heads                              8
  vocab_size                      128,256
  intermediate_size                14,336
  bytes_per_param                       2
  activation                         silu
  max_model_tokens                131,072
]], text:match "^(.-\n\n.-\n)\n")
    for _, line in ipairs {
      "  27,947 blocks of 16 tokens (447,152 tokens): (72.9 GiB usable - 14.96 weights - 2.86 "
        .. "activations - 0.45 other) / 2,097,152 bytes a block\n",
      "  blocks at tp 1: 27,947, tp 2: 63,632, tp 4: 135,258, tp 8: 278,510\n",
      "step times on H100, tp 1, by composed\n",
      "    24,390 us  1 prefill of 1,000 tokens\n",
      "     7,340 us  8 decodes at 333 to 4,096 tokens\n",
      "    51,120 us  2 prefills, 2,048 tokens in total\n",
      "    30,414 us  2 prefills, 1,212 tokens in total, and 4 decodes\n",
    } do
      assert.matches(line, text, 1, true)
    end
    local old = commands.output_of("models", "llama-3.1-8b-instruct", "--hardware", "h100",
      "--defaults", "1.0-rc1")
    for _, line in ipairs {
      "  26,312 blocks of 16 tokens (420,992 tokens): (72.0 GiB usable - 14.96 weights - 5.50 "
        .. "activations - 0.15 other) / 2,097,152 bytes a block\n",
      "  blocks at tp 1: 26,312, tp 2: 59,823, tp 4: 127,304, tp 8: 262,268\n",
      "step times on H100, tp 1, by calibrated\n",
      "    20,876 us  1 prefill of 1,000 tokens\n",
      "     7,431 us  8 decodes at 333 to 4,096 tokens\n",
      "    39,072 us  2 prefills, 2,048 tokens in total\n",
      "    25,068 us  2 prefills, 1,212 tokens in total, and 4 decodes\n",
    } do
      assert.matches(line, old, 1, true)
    end
  end)

  it("works out blocks and step times as others have measured them", function()
    local function steps(...)
      local engine, times = json_of("models", "--defaults", "1.0-rc1", "--latency-model",
        "trained-physics", ...).engine, {}
      for i, example in ipairs(engine.step_times) do times[i] = example.step_us end
      return { engine.kv_blocks, table.unpack(times, 2) }
    end
    assert.same({ 15909, 13327, 21140, 17883 }, steps("qwen/qwen3-14b", "--hardware", "H100"))
    assert.same({ 11567, 26722, 36330, 32381 },
      steps("llama-3.1-8b-instruct", "--hardware", "L40S"))
    assert.same({ 21662, 20531, 24472, 22852 },
      steps("mixtral-8x7b-v0.1", "--hardware", "H100", "--tp", "2"))
    assert.same({ 26312, 4633, 66086, 39262 },
      steps("llama-3.1-8b-instruct", "--latency-model", "roofline"))
  end)

  it("shows what a model means on a group of ranks", function()
    local function engine_of(...)
      return json_of("models", "qwen3-30b-a3b", "--hardware", "H100", "--tp", "1", ...).engine
    end
    local alone, rank = engine_of(), engine_of("--dp-ranks", "4")
    -- 48 layers of 128 experts of 3 matrices of 2,048 x 768 in 16 bits; a quarter stays.
    local experts_gib = 48 * 128 * 3 * 2048 * 768 * 2 / (1 << 30)
    assert.near(experts_gib * 3 / 4, alone.capacity.weights_gib - rank.capacity.weights_gib, 1e-9)
    assert.same({ nil, 4 }, { alone.ranks, rank.ranks })
    assert.is_true(rank.kv_blocks > alone.kv_blocks)
    assert.is_true(rank.step_times[1].step_us < alone.step_times[1].step_us)
    assert.equal(rank.kv_blocks, rank.kv_blocks_by_tp[1].kv_blocks)
    -- Who does not meet at a barrier has all experts.
    local apart = engine_of("--dp-ranks", "4", "--dp-barrier=false")
    assert.equal(alone.kv_blocks, apart.kv_blocks)
    assert.same(alone.step_times, apart.step_times)
    local text = commands.output_of("models", "qwen3-30b-a3b", "--hardware", "H100", "--tp", "1",
      "--dp-ranks", "4")
    for _, line in ipairs {
      "\nKV cache on H100, tp 1, a rank of 4\n", "\nstep times on H100, tp 1, a rank of 4, by ",
      ("\n  %s blocks on the 4 GPUs of the group\n"):format(
        tostring(rank.kv_blocks * 4):gsub("(%d)(%d%d%d)$", "%1,%2")),
    } do
      assert.matches(line, text, 1, true)
    end
    local code, message = commands.error_of("models", "qwen3-14b", "--dp-barrier=false")
    assert.equal("usage", code)
    assert.matches("options of data-parallel ranks need --dp-ranks", message, 1, true)
    code, message = commands.error_of("models", "qwen3-14b", "--dp-ranks", "4", "--dp", "2")
    assert.equal("usage", code)
    assert.matches("dp is 2 and ranks 4", message, 1, true)
  end)

  it("says where step times were fitted", function()
    local text = commands.output_of("models", "qwen3-14b", "--latency-model", "calibrated")
    assert.matches("\n  fitted on vLLM 0.14 to 0.15, 5 models", text, 1, true)
    assert.matches("\n  valid for models of 7B to 71B parameters, TP up to 4, up to 8192 "
      .. "tokens a step", text, 1, true)
    text = commands.output_of("models", "qwen3-14b", "--latency-model", "calibrated",
      "--hardware", "MI300X", "--tp", "1")
    assert.matches("\n  extrapolated: data sheet", text, 1, true)
    assert.matches("\nnote: step times on MI300X are extrapolated: data sheet", text, 1, true)
    text = commands.output_of("models", "qwen3-14b", "--latency-model", "calibrated",
      "--hardware", "L40S", "--tp", "2")
    assert.matches("\nnote: step times on L40S were not fitted for this: 14.8B parameters "
      .. "(fitted up to 9B), TP 2 (fitted up to 1)", text, 1, true)
    local engine = json_of("models", "qwen3-14b", "--latency-model", "calibrated",
      "--hardware", "h200").engine
    assert.same({ fitted_on = "data sheet, shares of the H100", limits = "", extrapolated = true },
      engine.coverage)
    assert.is_nil(json_of("models", "qwen3-14b", "--latency-model", "roofline").engine.coverage)
  end)

  it("takes more models from files", function()
    files.with([[
models:
  - {id: own/tiny, hardware: Abacus, tp: 1, layers: 2, hidden_size: 64, attention_heads: 4,
     vocab_size: 100, intermediate_size: 128, bytes_per_param: 2}
hardware:
  - {name: Abacus, peak_tflops: 1, bandwidth_tb_s: 1, mfu_prefill: 0.5, mfu_decode: 0.5,
     memory_gib: 16}
]], function(path)
      local model = json_of("models", "TINY", "--catalogue", path)
      assert.equal("own/tiny", model.id)
      assert.equal("Abacus", model.engine.hardware)
      assert.equal(16, json_of("hardware", "abacus", "--catalogue", path)[1].memory_gib)
      assert.matches("1 instance of own/tiny on Abacus", commands.output_of("run", "--model",
        "own/tiny", "--catalogue", path, "--num-requests", "3"), 1, true)
    end)
  end)

  it("reads a model's own config.json", function()
    files.with([[{"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8,
      "vocab_size": 1000, "intermediate_size": 512, "torch_dtype": "bfloat16",
      "hidden_act": "silu", "max_position_embeddings": 2048}]], function(path)
      local text = commands.output_of("run", "--model", "my/own", "--model-config-folder", path,
        "--hardware", "H100", "--num-requests", "3")
      assert.matches("1 instance of my/own on H100, tp 1", text, 1, true)
    end)
  end)

  it("suggests the nearest name", function()
    local code, message = commands.error_of("models", "qwen3-14")
    assert.equal("usage", code)
    assert.matches("unknown model 'qwen3-14' (to add a model: --model FOLDER with its "
      .. "config.json); did "
      .. "you mean 'qwen3-14b'?", message, 1, true)
    message = select(2, commands.error_of("models", "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"))
    assert.matches("did you mean 'Llama-3.3-70B-Instruct-FP8'?", message, 1, true)
    message = select(2, commands.error_of("models", "llama-70b-fp8"))
    assert.matches("'llama-2-70b-hf'? Others that begin alike: llama-2-7b-hf, ", message, 1, true)
    message = select(2, commands.error_of("models", "zzzzzzzzzz"))
    assert.matches("config.json); nearest known: ", message, 1, true)
    assert.is_nil(message:find("?;", 1, true))
  end)
end)

describe("blis hardware", function()
  it("lists GPUs, or one of them by any name", function()
    assert.matches("\nH100 +80 +3%.35 +989%.5 +1,979 ", commands.output_of "hardware")
    assert.equal("A100-SXM", json_of("hardware", "a100-80")[1].name)
    local _, message = commands.error_of("hardware", "H10")
    assert.equal("hardware: unknown GPU 'H10'; did you mean 'H100'?", message)
  end)
end)

describe("blis policies", function()
  it("lists every policy that can be named", function()
    local names = {}
    for _, one in ipairs(json_of "policies") do names[one.kind .. " " .. one.name] = one end
    local catalogue = require "blis.policy.catalogue"
    for kind, list in pairs { ["routing policy"] = catalogue.routers, scorer = catalogue.scorers,
      ["admission policy"] = catalogue.admissions } do
      for _, entry in ipairs(list) do
        local shown = names[kind .. " " .. entry.name]
        assert.equal(entry.summary, shown.summary)
        assert.equal(#entry.options, #shown.parameters)
      end
    end
  end)

  it("shows one with its parameters and defaults", function()
    local text = commands.output_of("policies", "prefix-affinity")
    assert.matches("scorer prefix-affinity: matched leading blocks / blocks of the prompt", text,
      1, true)
    assert.matches("  capacity = 31250: ", text, 1, true)
    assert.matches("    an integer from 1 to 1073741824", text, 1, true)
    assert.equal(1, #json_of("policies", "b3.lmetric"))
    local _, message = commands.error_of("policies", "wheighted")
    assert.equal("policies: unknown policy 'wheighted'; did you mean 'weighted'?", message)
    message = select(2, commands.error_of("policies", "a\27[31m\n\u{2066}"))
    assert.matches("unknown policy 'a\\x1b[31m\\x0a\\xe2\\x81\\xa6'", message, 1, true)
  end)

  it("prints CSV", function()
    assert.matches("^kind,name,parameters,summary,aliases,source,signals,category\nrouting policy,"
      .. "round%-robin,",
      commands.output_of("policies", "--format", "csv"))
  end)
end)

describe("the flags of commands", function()
  it("cover every option that has one, once", function()
    local seen = {}
    for _, name in ipairs { "run", "replay" } do
      local own = {}
      for _, group in ipairs(require("blis.cmd." .. name).definition.groups) do
        for _, option in ipairs(group.options) do
          assert.is_nil(own[option.flag], option.flag)
          own[option.flag], seen[option.flag] = true, true
        end
      end
    end
    local workload = require "blis.config.workload"
    for _, section in ipairs { require "blis.config.cluster", require "blis.config.experiment",
      workload.short, workload.prefixes, require("blis.config.trace").read } do
      for _, option in ipairs(section.options) do
        assert.is_true(option.flag == nil or seen[option.flag], option.flag)
      end
    end
  end)
end)
