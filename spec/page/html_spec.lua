local charts = require "blis.page.charts"
local core = require "blis.core"
local document = require "blis.page.document"
local html = require "blis.page.html"
local parts = require "blis.page.parts"

describe("HTML", function()
  it("escapes every text and every attribute", function()
    assert.equal("<p class=\"&quot;&gt;&#39;\">&lt;/script&gt;&lt;b&gt; &amp; 5</p>",
      html.write(html.p({ class = "\">'" }, "</script><b> & ", 5)))
  end)

  it("shows bytes that are no text as question marks", function()
    assert.equal("a?b", html.escape("a\0b"))
    assert.equal("??x", html.escape("\xff\xc3x"))
    assert.equal("ä\n", html.escape "ä\n")
    assert.equal("ä?日本?ß", html.escape "ä\xff日本\xe6ß")
    assert.equal("???x", html.escape "\xed\xa0\x80x") -- half of a pair
  end)

  it("shows controls of the direction of writing as text", function()
    assert.equal("a[U+202E]b[U+202A][U+2066][U+2069]",
      html.escape "a\u{202e}b\u{202a}\u{2066}\u{2069}")
    assert.equal("\u{2029}\u{202f}\u{2065}\u{206a}", html.escape "\u{2029}\u{202f}\u{2065}\u{206a}")
    local list = charts.new()
    list:add { title = "t", x = { label = "x" }, y = { label = "y" }, data = { { 1 }, { 2 } },
      series = { { label = "a\u{202e}b" } } }
    assert.equal("a[U+202E]b", core.json_read(list:json(), "charts")[1].series[1].label)
    local text = document.text { title = "t", body = "b", data = { x = '["\u{202e}"]' },
      styles = {}, scripts = {} }
    assert.truthy(text:find('["\\u202e"]', 1, true))
  end)

  it("keeps words from right to left apart from what is beside them", function()
    assert.equal("<p>2 of <bdi>אב גד</bdi>, <bdi>م</bdi> &lt; é日</p>",
      html.write(html.p "2 of אב גד, م < é日"))
    assert.equal("<title>א 1</title>", html.write(html.title("א", { " 1" })))
    assert.equal('<p title="א"></p>', html.write(html.p { title = "א" }))
  end)

  it("nests elements and lists of them, and keeps what is HTML already", function()
    assert.equal("<ul><li>1</li><li>2</li></ul><br><a hidden href=\"#x\"></a>&<",
      html.write { html.ul { html.li "1", html.li(2) }, html.br(),
        html.a { href = "#x", hidden = true }, html.raw "&<" })
  end)

  it("breaks long names where they have joints, units and what is in parentheses being whole",
    function()
      for name, broken in pairs {
        ["arrived (s)"] = "arrived (s)",
        ["instance_2 (decode)"] = "instance_<wbr>2 (decode)",
        ["weighted(prefix-affinity:3,load:1)"] = "weighted<wbr>(prefix-affinity:3,<wbr>load:1)",
        ["prefix_weight=0.5"] = "prefix_<wbr>weight=<wbr>0.5",
        ["ttft_ms.p99."] = "ttft_<wbr>ms.<wbr>p99.",
      } do
        assert.equal(broken, html.write { parts.breakable(name, 5) })
      end
    end)

  it("writes the base64 of bytes", function()
    assert.equal("", document.base64 "")
    assert.equal("TQ==", document.base64 "4d")
    assert.equal("TWE=", document.base64 "4d61")
    assert.equal("TWFu/w==", document.base64 "4d616eff")
  end)

  it("has just the libraries that are noted", function()
    local found = 0
    for file, sum in core.embedded("page/vendor.tsv"):gmatch "\n([^#\t\n]+)\t[^\n]*\t(%x+)" do
      assert.equal(sum, (select(2, core.embedded("page/" .. file))), file)
      found = found + 1
    end
    assert.equal(3, found)
  end)

  it("lets no data end its element", function()
    local text = document.text { title = "</title>", body = "</body>",
      data = { x = '["</script><b>"]' }, styles = { "report.css" }, scripts = { "report.js" } }
    assert.truthy(text:find('["\\u003c/script>\\u003cb>"]', 1, true))
    assert.truthy(text:find("<title>&lt;/title&gt;</title>", 1, true))
    assert.equal(2, select(2, text:gsub("</script>", "")))
    assert.truthy(text:find("default-src &#39;none&#39;", 1, true))
  end)
end)
