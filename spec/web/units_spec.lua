--- The parts of the playground's page that need no browser, and its own examples.
local files = require "spec.support.files"
local program = require "spec.support.program"

local has_node = os.execute "command -v node >/dev/null 2>&1" == true

describe("the page of the playground #host", function()
  it("names runs and changes", function()
    if not has_node then
      pending "node is not installed (scripts/setup --web)"
      return
    end
    local seen = program.shell "node tests/web/units.mjs 2>/dev/null"
    assert.is_nil(seen.out:match "not ok[^\n]*")
    assert.equal(2, select(2, seen.out:gsub("ok ", "")))
  end)

  it("has examples that run", function()
    for _, name in ipairs { "disaggregation", "queue", "autoscaling", "router_replicas" } do
      local path = ("web/%s.lua"):format(name)
      assert.matches("^%-%- %u[^\n]+%?\n%-%- ", files.read(path))
      local seen = program.run(path)
      assert.equal(0, seen.status, seen.err)
      assert.equal("", seen.err)
    end
  end)
end)
