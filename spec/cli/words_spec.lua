local words = require "blis.cli.words"

describe("words of a text", function()
  it("are parted by spaces that are in no quotes", function()
    for text, expected in pairs {
      [""] = {}, [" \t"] = {}, ["a"] = { "a" }, [" --a  b\n"] = { "--a", "b" },
      ["a 'b c'"] = { "a", "b c" }, ['--x="b \'c" d'] = { "--x=b 'c", "d" },
      ["'' \"\"x"] = { "", "x" }, ["a'b'\"c\"\\d"] = { "abc\\d" },
    } do
      assert.same(expected, words.split(text), text)
    end
  end)

  it("are none where a quote is not closed", function()
    for _, text in ipairs { '"', "a 'b", 'a "b\' c', "'a''" } do
      assert.is_nil(words.split(text), text)
    end
  end)
end)
