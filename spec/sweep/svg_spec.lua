-- SVG files of sweeps: well-formed, with what the picture says.
local blis = require "blis"
local files = require "spec.support.files"
local svg = require "blis.sweep.svg"

--- Raises unless every element that begins ends, in that order.
local function check_form(text)
  local open = {}
  for close, name, empty in text:gmatch "<(/?)(%a+)[^>]-(/?)>" do
    if close == "/" then
      assert.equal(name, table.remove(open))
    elseif empty == "" then
      open[#open + 1] = name
    end
  end
  assert.same({}, open)
end

local function points(list)
  local all = {}
  for i, one in ipairs(list) do all[i] = { x = one[1], y = one[2], low = one[3], high = one[4] } end
  return all
end

describe("an SVG of a sweep", function()
  it("has marks and intervals where the numbers are", function()
    local text = svg.text { x = "rate", y = "ttft_ms.p99", log = "", series = {
      { name = "", points = points { { 0, 0, 0, 0 }, { 10, 100, 50, 100 } } } } }
    check_form(text)
    assert.matches('<circle cx="70.0" cy="380.0" r="4"/>', text, 1, true)
    assert.matches('<circle cx="700.0" cy="30.0" r="4"/>', text, 1, true)
    assert.matches('d="M700.0 205.0V30.0"', text, 1, true)
    assert.matches('d="M70.0 380.0L700.0 30.0"', text, 1, true)
  end)

  it("has logarithmic axes", function()
    local text = svg.text { x = "rate", y = "tokens", log = "xy", series = {
      { name = "", points = points { { 1, 1 }, { 10, 100 }, { 100, 10000 } } } } }
    check_form(text)
    assert.matches('<circle cx="385.0" cy="205.0" r="4"/>', text, 1, true)
    assert.matches(">rate (log)</text>", text, 1, true)
    assert.matches(">100</text>", text, 1, true)
  end)

  it("tells series apart by mark and in a legend, and escapes their names", function()
    local series = {}
    for i = 1, 5 do
      series[i] = { name = ("p=</svg><b> & %d"):format(i), points = points { { i, i } } }
    end
    local text = svg.text { x = "a<b", y = "y", log = "", series = series }
    check_form(text)
    assert.not_matches("<b>", text, 1, true)
    assert.matches("p=&lt;/svg&gt;&lt;b&gt; &amp; 5</text>", text, 1, true)
    assert.equal(2, select(2, text:gsub("h8v8h%-8z", ""))) -- the square, and in the legend
  end)

  it("is written for a table", function()
    local result = blis.sweep { parameters = { { "x", { 1, 2, 4 } } }, replications = 2,
      report = { "square" }, trial = function(p) return { square = p.x * p.x } end }:run {}
    local path = os.tmpname()
    result:write_svg(path, { log = "xy" })
    local text = files.read(path)
    os.remove(path)
    check_form(text)
    assert.equal(3, select(2, text:gsub("<circle", "")))
    assert.is_false(pcall(result.write_svg, result, path, { log = "z" }))
  end)

  it("draws one point, and equal ones", function()
    for _, log in ipairs { "", "xy" } do
      check_form(svg.text { x = "x", y = "y", log = log, series = {
        { name = "", points = points { { 3, 7 } } } } })
    end
  end)
end)
