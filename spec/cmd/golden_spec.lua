-- The helper of specs that compare text with committed files.
local files = require "spec.support.files"
local golden = require "spec.support.golden"

describe("a golden file", function()
  it("equals the text that it was written from", function()
    assert.is_nil(golden.difference("", ""))
    assert.is_nil(golden.difference("a\n\nb\n", "a\n\nb\n"))
  end)

  it("shows the first line that differs, and no other", function()
    for _, case in ipairs {
      { "a\nb\nc\n", "a\nx\ny\n", "line 2 differs\n  expected: b\n  actual:   x" },
      { "a\n", "a\nb\n", "line 2 differs\n  expected: (end of the file)\n  actual:   b" },
      { "a\n\n", "a\n", "line 2 differs\n  expected: \n  actual:   (end of the text)" },
      { "a\n", "a", "line 1 differs\n  expected: a\n  actual:   a (no newline at the end)" },
      { "", "a\n", "line 1 differs\n  expected: (end of the file)\n  actual:   a" },
    } do
      assert.equal(case[3], golden.difference(case[1], case[2]))
    end
  end)

  it("fails with its path and with the way to accept the text", function()
    if os.getenv "BLIS_UPDATE_GOLDEN" then return end
    files.with("a\nb\n", function(path)
      golden.check(path, "a\nb\n")
      local ok, problem = pcall(golden.check, path, "a\nc\n")
      assert.is_false(ok)
      assert.matches(path .. ": line 2 differs\n  expected: b\n  actual:   c\n", problem, 1, true)
      assert.matches("BLIS_UPDATE_GOLDEN=1", problem, 1, true)
    end)
    local ok, problem = pcall(golden.check, "spec/no_such_file.txt", "a\n")
    assert.is_false(ok)
    assert.matches("spec/no_such_file.txt: the file is missing\n", problem, 1, true)
  end)
end)
