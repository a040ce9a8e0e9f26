-- docs/vllm.md maps arguments of vLLM to flags of blis. The flags exist.
local files = require "spec.support.files"

describe("docs/vllm.md", function()
  local text = files.read "docs/vllm.md"
  local known = {}
  for flag in files.read("spec/cmd/golden/flags.txt"):gmatch "%-%-[%w-]+" do known[flag] = true end

  it("names flags of blis that exist", function()
    local count = 0
    for row in text:gmatch "\n(|[^\n]+)" do
      local cell = row:match "^|[^|]*|([^|]*)|"
      for flag in cell:gmatch "%-%-[%w-]+" do
        if not flag:find "^%-%-%-" then
          assert.is_true(known[flag], flag)
          count = count + 1
        end
      end
    end
    assert.truthy(count > 50, count)
  end)

  it("maps the arguments that decide about times and memory", function()
    for _, argument in ipairs { "--tensor-parallel-size", "--data-parallel-size",
      "--enable-expert-parallel", "--max-num-seqs", "--max-num-batched-tokens", "--max-model-len",
      "--gpu-memory-utilization", "--num-gpu-blocks-override", "--kv-cache-memory-bytes",
      "--block-size", "--kv-cache-dtype", "--dtype", "--quantization", "--async-scheduling",
      "--scheduling-policy", "--speculative-config", "--max-loras", "--kv-transfer-config",
      "--kv-offloading-size", "--request-rate", "--max-concurrency", "--goodput" } do
      assert.truthy(text:find("`" .. argument:gsub("%-", "%%-") .. "[` ]"), argument)
    end
  end)
end)
