-- docs/disaggregation.md says what its example shows.
local files = require "spec.support.files"
local program = require "spec.support.program"

describe("docs/disaggregation.md #host", function()
  it("has the lines of examples/disaggregation_directions.lua", function()
    local text, count = assert(files.read "docs/disaggregation.md"), 0
    local outcome = program.run "examples/disaggregation_directions.lua"
    assert.equal(0, outcome.status, outcome.err)
    for line in outcome.out:gmatch "[^\n]+" do
      assert.is_truthy(text:find(line, 1, true), line)
      count = count + 1
    end
    assert.equal(9, count)
  end)
end)
