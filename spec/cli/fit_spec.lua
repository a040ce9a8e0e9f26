--- Text for narrow terminals.
local fit = require "blis.fit"

local function width(text)
  local most = 0
  for line in text:gmatch "[^\n]+" do most = math.max(most, utf8.len(line) or #line) end
  return most
end

describe("text for a narrow terminal", function()
  it("is the same where it fits", function()
    for _, text in ipairs { "", "a\n", "\n\n  a  b\n", ("x"):rep(80) } do
      assert.equal(text, fit.text(text, 80))
    end
  end)

  it("breaks between words, behind the title of a line", function()
    assert.equal("  hand-offs  600 started,\n             600 completed\n",
      fit.text("  hand-offs  600 started, 600 completed\n", 27))
    assert.equal("one two\n    three",
      fit.text("one two three", 10))
  end)

  it("never breaks a word, and omits bars that do not fit", function()
    local long = ("x"):rep(50)
    assert.equal("a " .. long .. "\n    b", fit.text("a " .. long .. " b", 20))
    local table_text = "  latency  mean  min to p99\n  TTFT     56.3  ▁▂▅▇ ▁\n  E2E      1.0"
    assert.equal(table_text, fit.text(table_text, 30))
    assert.equal("  latency  mean\n  TTFT     56.3\n  E2E      1.0", fit.text(table_text, 20))
  end)

  it("keeps all words of random text within the width", function()
    local seed = 7
    local function random(most)
      seed = (seed * 48271) % 2147483647
      return seed % most + 1
    end
    for _ = 1, 200 do
      local words = {}
      for i = 1, random(30) do words[i] = ("w"):rep(random(12)) end
      local text = (" "):rep(random(4)) .. table.concat(words, (" "):rep(random(2)))
      local columns = 40 + random(40)
      local fitted = fit.text(text, columns)
      assert.is_true(width(fitted) <= columns, fitted)
      assert.equal((text:gsub("%s+", " ")), (fitted:gsub("%s+", " ")))
    end
  end)
end)
