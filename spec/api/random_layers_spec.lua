-- Models of random layers: both engines agree, no KV block is lost, and prefix hits never exceed
-- what windows and states allow.
local blis = require "blis"

local rng = blis.rng(35, "random layers")

local function pick(list) return list[rng:integer(1, #list)] end

local function draw_layer()
  local kind = pick { "full", "full", "window", "window", "chunk", "gdn", "shortconv" }
  local layer = { count = rng:integer(1, 6), attention = kind }
  if kind == "window" then layer.window = pick { 16, 100, 128, 1000 } end
  if kind == "chunk" then layer.chunk = pick { 64, 256, 1024 } end
  if kind == "gdn" then
    layer.linear_key_heads, layer.linear_value_heads = 4, 4
    layer.linear_key_head_dim, layer.linear_value_head_dim = 64, 64
    layer.conv_kernel = 4
  end
  if kind == "shortconv" then layer.conv_kernel = 3 end
  return layer
end

local function draw_model(number)
  local layers = { { count = rng:integer(1, 4) } }
  for i = 2, rng:integer(2, 4) do layers[i] = draw_layer() end
  return { id = "random/" .. number, hidden_size = 512, vocab_size = 1000, attention_heads = 8,
    kv_heads = 4, head_dim = 64, intermediate_size = 1024, bytes_per_param = 2, layers = layers }
end

local function has_states(model)
  for _, layer in ipairs(model.layers) do
    if layer.attention == "gdn" or layer.attention == "shortconv" then return true end
  end
  return false
end

local prefix_tokens = 700

local function options_of(model, engine)
  return {
    cluster = { model = model, hardware = "H100", tp = 1, kv_blocks = 900, engine = engine },
    workload = { rate = 60, requests = 40, seed = 5, prompt = { "gaussian", mean = 900,
      std_dev = 400, min = 20, max = 2000 }, output_tokens = 40,
      prefixes = { groups = 2, tokens = prefix_tokens } },
  }
end

describe("a model of random layers", function()
  for number = 1, 20 do
    local model = draw_model(number)

    it("keeps every KV block and every rule of its layers, number " .. number, function()
      local fast = blis.run(options_of(model, "fast"))
      assert.equal(fast.hash, blis.run(options_of(model, "stepwise")).hash)
      assert.equal(40, fast.completed + fast.unservable)
      -- The first request of a group of prefixes finds nothing; states are in no prefix cache.
      local most = has_states(model) and 0 or (40 - 2) * prefix_tokens // 16
      assert.is_true(fast.instances[1].cache_hits <= most)
      local sim = blis.simulation(options_of(model, "fast"))
      sim:run()
      assert.equal(0, sim.instances[1].used_kv_blocks)
    end)
  end
end)
