--- The width of text for a terminal.
local core = require "blis.core"
local terminal = require "blis.terminal"

describe("the width of text", function()
  it("is that of the terminal, from 40 to 120 columns, and 100 without one", function()
    local size_of = core.terminal_size
    for _, case in ipairs { { 1, 40 }, { 40, 40 }, { 41, 41 }, { 119, 119 }, { 120, 120 },
      { 500, 120 }, { nil, 100 } } do
      core.terminal_size = function() return case[1] end
      local width = terminal.width()
      core.terminal_size = size_of
      assert.equal(case[2] or 100, width)
    end
  end)
end)
