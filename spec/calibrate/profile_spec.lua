local core = require "blis.core"
local files = require "spec.support.files"
local kernels = require "blis.calibrate.kernels"
local program = require "spec.support.program"

local python = os.execute "command -v python3 >/dev/null 2>&1"

--- Runs share/profile with the stand-in; returns status, output, and the folder.
local function profile(...)
  local folder = os.tmpname()
  os.remove(folder)
  finally(function() os.execute("rm -rf " .. folder) end)
  local line = { "PYTHONDONTWRITEBYTECODE=1", "python3", "share/profile/profile.py", "--stand-in",
    "--output", folder }
  for _, word in ipairs { ... } do line[#line + 1] = ("'%s'"):format(word) end
  local run = program.shell(table.concat(line, " "))
  return run, folder
end

describe("share/profile", function()
  if not python then return it("needs python3", function() pending "python3 is missing" end) end

  it("writes tables that blis reads", function()
    local run, folder = profile("--gpu", "H100")
    assert.equal("", run.err)
    assert.equal(0, run.status)
    for _, name in ipairs { "gemm.csv", "moe.csv", "allreduce.csv" } do
      local text = files.read(folder .. "/" .. name)
      core.check_kernel_table(name, name, text)
      assert.matches("^# Kernel times in us of Stand%-in, measured on %d%d%d%d%-%d%d%-%d%d", text)
    end
    assert.matches("\nH100,bf16,6144,4096,34.6,34.7,", files.read(folder .. "/gemm.csv"), 1, true)
    local fitted = kernels.fit(folder, "H100")
    assert.equal(4, #fitted.fits)
    assert.is_true(fitted.fits[1].gap < 0.01)
    local facts = core.json_read(files.read(folder .. "/profile.json"), "profile.json")
    assert.equal("H100", facts.gpu)
    assert.equal(0, facts.left_out)
  end)

  it("measures the shapes of a model at its degrees", function()
    local config = os.tmpname()
    finally(function() os.remove(config) end)
    local file = assert(io.open(config, "w"))
    file:write [[{ "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
      "head_dim": 128, "vocab_size": 32000, "num_experts": 64, "num_experts_per_tok": 8,
      "moe_intermediate_size": 1024 }]]
    file:close()
    local run, folder = profile("--gpu", "X", "--model", config, "--tp", "1,8")
    assert.equal(0, run.status)
    local text = files.read(folder .. "/gemm.csv")
    assert.matches("\nX,bf16,3072,2048,", text, 1, true)
    assert.matches("\nX,bf16,512,2048,", text, 1, true) -- 2 query heads and 1 KV head
    assert.matches("\nX,bf16,4000,2048,", text, 1, true)
    assert.matches("\nX,fp8,64,8,2048,128,64,", files.read(folder .. "/moe.csv"), 1, true)
  end)

  it("leaves out what the time does not allow", function()
    local run, folder = profile("--gpu", "H100", "--seconds", "0")
    assert.equal(0, run.status)
    assert.matches("measurements were left out", run.out)
    assert.is_nil(io.open(folder .. "/gemm.csv"))
  end)

  it("reports what is wrong", function()
    local run = profile("--gpu", "H100", "--tp", "0")
    assert.equal(2, run.status)
    assert.matches("'0' is not a list of whole numbers above 0", run.err, 1, true)
    run = profile("--gpu", "H100", "--model", "/nowhere.json")
    assert.equal(1, run.status)
    assert.matches("profile: /nowhere.json: ", run.err, 1, true)
  end)
end)
