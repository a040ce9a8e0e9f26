--- The program as WebAssembly does what the native one does. BLIS_WEB is the folder of a build;
--- scripts/test makes one where emscripten is installed.
local files = require "spec.support.files"
local program = require "spec.support.program"

local web = os.getenv "BLIS_WEB"

local runner = "tests/web/run.cjs"

--- What the program prints, natively and as WebAssembly under node.
local function both(arguments)
  local native = program.shell(("$BLIS %s"):format(arguments))
  local as_wasm = program.shell(("node %s %s %s"):format(runner, program.quote(web), arguments))
  return native, as_wasm
end

describe("the program as WebAssembly #host", function()
  local function same(name, arguments, pattern)
    it(name, function()
      if not web then
        pending "BLIS_WEB names no build by emscripten (scripts/test makes one)"
        return
      end
      local native, as_wasm = both(arguments)
      assert.equal(0, native.status, native.err)
      assert.truthy(native.out:find(pattern))
      assert.equal(native.out, as_wasm.out)
      assert.equal(native.status, as_wasm.status)
    end)
  end

  local hash = "result hash %x+"

  for _, policy in ipairs { "round-robin", "least-loaded", "weighted", "random" } do
    same("has the native hash under " .. policy, "run --model qwen/qwen3-14b --num-instances 4 "
      .. "--rate 60 --num-requests 3000 --prefix-tokens 2000 --prefix-groups 40 "
      .. "--routing-policy " .. policy, hash)
  end

  same("has the native hash in profile go-blis", "run --profile go-blis --model qwen/qwen3-14b "
    .. "--num-instances 4 --rate 100 --num-requests 2000", "completed")

  for _, name in ipairs { "least_prefill", "learn_weights", "tenant_fairness", "token_budget" } do
    same("prints the same for the gallery's " .. name, ("examples/gallery/%s.lua"):format(name),
      "%d")
  end

  -- A store of an earlier program in this folder would stop it.
  same("sweeps without processes", "tests/web/sweep.lua", "replications")

  it("says what is wrong in the same words", function()
    if not web then
      pending "BLIS_WEB names no build by emscripten (scripts/test makes one)"
      return
    end
    files.with("local x = 1\nerror 'no good'\n", function(path)
      os.rename(path, "wrong.lua")
      local native, as_wasm = both "wrong.lua"
      os.remove "wrong.lua"
      assert.equal(1, as_wasm.status)
      assert.truthy(as_wasm.err:find("wrong.lua:2: no good", 1, true))
      assert.equal(native.err, as_wasm.err)
    end)
  end)
end)
