local commands = require "spec.support.commands"
local core = require "blis.core"

local kernels = { "products_us", "experts_us", "attention_us", "links_us", "other_us" }

local function steps_of(...)
  return core.json_read(commands.output_of("models", ...)).engine.step_parts
end

local function gpu_us(step)
  local sum = 0
  for _, name in ipairs(kernels) do sum = sum + step[name] end
  return sum
end

describe("blis models --steps", function()
  it("shows parts that add up", function()
    for _, step in ipairs(steps_of("mixtral-8x7b-v0.1", "--hardware", "H100", "--tp", "2",
      "--steps", "--format", "json")) do
      assert.is_true(math.abs(step.total_us - math.max(gpu_us(step), step.host_us)) < 0.01)
      assert.is_true(step.experts_us > 0 and step.links_us > 0)
    end
    local steps = steps_of("qwen3-14b", "--tp", "1", "--steps", "--async-scheduling=false",
      "--format", "json")
    assert.equal(7, #steps)
    for _, step in ipairs(steps) do
      assert.is_true(math.abs(step.total_us - gpu_us(step) - step.host_us) < 0.01)
      assert.is_true(step.experts_us == 0 and step.links_us == 0)
    end
  end)

  it("shows the front end of steps with a prompt", function()
    local steps = steps_of("qwen3-14b", "--steps", "--format", "json")
    assert.is_nil(steps[1].front_end_us)
    assert.is_true(math.abs(steps[5].front_end_us - (1e6 / 248 + 3.4 * 2048 + 2400)) < 0.01)
  end)

  it("works for every model of the catalog, on GPUs that hold it", function()
    local count = 0
    for _, spec in ipairs(core.models()) do
      local has_table, problem = false, nil
      for _, tp in ipairs { "8", "4", "2", "1", "16", "32", "64" } do
        local outcome = commands.call("models", spec.id, "--hardware", "H200", "--tp", tp,
          "--steps")
        problem = outcome.problem and outcome.problem.message or outcome.out
        has_table = problem:find "step +products" ~= nil
        if has_table then break end
      end
      assert.is_true(has_table, spec.id .. ": " .. problem)
      count = count + 1
    end
    assert.is_true(count > 100)
  end)

  it("prints a table", function()
    local text = commands.output_of("models", "qwen3-14b", "--steps")
    assert.matches("step +products +experts +attention +all%-reduces +other +host +total", text)
    assert.matches("16 decodes +[%d,]+ +0 +", text)
    assert.matches("Host time is hidden", text, 1, true)
  end)

  it("shows where the time of each kernel comes from", function()
    local function engine_of(...)
      return core.json_read(commands.output_of("models", "--steps", "--format", "json", ...)).engine
    end
    local closed = engine_of("llama-3.1-8b-instruct", "--hardware", "H100", "--tp", "1",
      "--kernel-tables", "false")
    assert.is_false(closed.kernel_tables)
    assert.equal(0, #closed.kernels)
    local engine = engine_of("llama-3.1-8b-instruct", "--hardware", "H200", "--tp", "1",
      "--kernel-tables", "true")
    assert.is_true(engine.kernel_tables)
    assert.equal(5, #engine.kernels)
    local qkv, gate_up = engine.kernels[1], engine.kernels[3]
    assert.same({ kernel = "product", format = "bf16", shape = { n = 6144, k = 4096 },
      source = "measured", gpu = "H100", weight = 1, nearest = { n = 6144, k = 4096 } }, qkv)
    assert.same({ n = 28672, k = 4096 }, gate_up.shape)
    assert.equal("near", gate_up.source)
    assert.is_true(gate_up.weight > 0.5 and gate_up.weight < 1)
    local mixtral = engine_of("mixtral-8x7b-v0.1", "--hardware", "H100", "--tp", "2",
      "--kernel-tables", "true")
    local experts
    for _, one in ipairs(mixtral.kernels) do
      if one.kernel == "experts" then experts = one end
    end
    assert.same({ experts = 8, chosen = 2, hidden = 4096, width = 7168, ["local"] = 8 },
      experts.shape)
    local text = commands.output_of("models", "llama-3.1-8b-instruct", "--hardware", "H200",
      "--steps", "--kernel-tables", "true")
    assert.matches("product  bf16    6144 x 4096 +measured on H100", text)
    assert.matches("28672 x 4096 +near [%d x]+, measured on H100 %(weight 0.%d%d%)", text)
    text = commands.output_of("models", "llama-3.1-8b-instruct", "--hardware", "A10G", "--steps",
      "--kernel-tables", "true")
    assert.matches("6144 x 4096 +closed form", text)
  end)

  it("refuses other latency models", function()
    local _, errors = commands.error_of("models", "qwen3-14b", "--steps", "--latency-model",
      "roofline")
    assert.matches("remove --latency-model roofline", errors, 1, true)
  end)
end)
