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
    assert.is_true(math.abs(steps[5].front_end_us - (1e6 / 296 + 3.449 * 2048 + 3998)) < 0.01)
  end)

  it("prints a table", function()
    local text = commands.output_of("models", "qwen3-14b", "--steps")
    assert.matches("step +products +experts +attention +all%-reduces +other +host +total", text)
    assert.matches("16 decodes +[%d,]+ +0 +", text)
    assert.matches("Host time is hidden", text, 1, true)
  end)

  it("refuses other latency models", function()
    local _, errors = commands.error_of("models", "qwen3-14b", "--steps", "--latency-model",
      "roofline")
    assert.matches("remove --latency-model roofline", errors, 1, true)
  end)
end)
