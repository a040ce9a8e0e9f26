--- The playground in a real browser, where there is one: tests/web/playground.cjs uses it as a
--- person would.
local files = require "spec.support.files"
local program = require "spec.support.program"

local web = os.getenv "BLIS_WEB"
local has_browser = os.execute "command -v chromium >/dev/null 2>&1" == true

--- The script that the browser's test types.
local function typed_script()
  return files.read("tests/web/playground.cjs"):match "const typed = `(.-)`"
end

describe("the playground #host", function()
  it("does in a browser what it should, with the native hashes", function()
    if not web or not has_browser then
      pending "BLIS_WEB names no build by emscripten, or chromium is not installed"
      return
    end
    local seen = program.shell(("node tests/web/playground.cjs %s/site"):format(program.quote(web)))
    assert.is_nil(seen.out:match "not ok[^\n]*", seen.out)
    local _, count = seen.out:gsub("\nok ", "")
    assert.equal(12, count, seen.out .. seen.err)
    local native = program.feed(typed_script(), "-")
    assert.truthy(native.out:find "hashes\t%x+\t%x+")
    assert.equal(native.out:match "hashes[^\n]*", seen.out:match "typed: ([^\n]*)")
  end)

  it("has just the libraries whose sums are kept", function()
    assert.equal(0, program.shell("scripts/vendor --check").status)
  end)
end)
